"""The heat map of pairs: in a notebook, and in the report if a measure says something of pairs."""

from pathlib import Path

import sfumato
from sfumato import DistanceLinkage, Experiment, RankSwapping, TableUtility
from sfumato.about import Directed
from sfumato.compare.examine import examine
from sfumato.report.plots import pair_map, worst_first
from sfumato.report.report import write_report
from sfumato.report.summarise import summarise
from sfumato.report.summary import from_json, to_json
from tables import incomes

PAIRS = {("a", "b"): 4.0, ("a", "c"): 1.0, ("b", "c"): 1.0}
LOWER, HIGHER = Directed(), Directed()
LOWER.better, HIGHER.better = "lower", "higher"


def test_the_worst_variables_come_first_whichever_way_is_better() -> None:
    assert worst_first(PAIRS, LOWER) == ["a", "b", "c"]  # means 2.5, 2.5, 1: ties by name
    assert worst_first(PAIRS, HIGHER) == ["c", "a", "b"]


def test_every_pair_has_two_squares() -> None:
    spec = pair_map("ratio", PAIRS | {("c", "d"): float("nan")}, LOWER)
    cells = spec["data"]["values"]
    assert {(cell["a"], cell["b"]): cell["value"] for cell in cells} == {
        **PAIRS,
        **{(second, first): value for (first, second), value in PAIRS.items()},
    }
    assert "ratio (lower is better)" in str(spec["encoding"]["color"])


def test_a_measurement_of_pairs_is_drawn_as_bars_and_a_map() -> None:
    data = incomes()
    found = TableUtility().evaluate(data, RankSwapping(0.2).protect(data, rng=1))
    drawn = sfumato.plot(found).to_dict()
    kinds = [part["mark"] if isinstance(part["mark"], str) else part["mark"]["type"] for part in drawn["hconcat"]]
    assert kinds == ["bar", "rect"]


def test_the_report_has_the_map(tmp_path: Path) -> None:
    results = Experiment(incomes(), [RankSwapping(0.1)], [DistanceLinkage(known=2), TableUtility()]).run()
    looked = examine(results, "RankSwapping(p=0.1)", what=("detail", "release"))
    bound = {"DistanceLinkage": 1.0}
    summary = summarise(results, looked, risk="DistanceLinkage", utility="TableUtility", at_most=bound)
    assert summary.detail is not None
    (told,) = summary.detail.by_pair
    assert told.key == "TableUtility()" and len(told.figures) == len(results.rows[0].by_pair["TableUtility()"])
    assert from_json(to_json(summary)) == summary
    page = write_report(summary, tmp_path).read_text(encoding="utf-8")
    assert 'id="by-pair"' in page and 'data-spec="spec-by-pair-1"' in page
    assert (tmp_path / "plots" / "by-pair-1.svg").stat().st_size > 0
