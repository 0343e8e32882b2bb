"""The levels that were chosen, from the search to the report."""

from pathlib import Path

import pyarrow as pa
import pytest

from sfumato import CertaintyPenalty, Experiment, KAnonymity, LocalRecoding, LocalSuppression, OptimalRecoding
from sfumato.compare.examine import examine
from sfumato.compare.examine.findings import KeyLevel
from sfumato.compare.examine.look import levels_beside
from sfumato.compare.naming import in_words
from sfumato.report.plots import level_plot
from sfumato.report.report import write_report
from sfumato.report.summarise import summarise
from sfumato.table.microdata import Microdata

TABLE = Microdata.from_frame(pa.table({"town": ["A", "B", "B", "C", "D", "D", "D"], "sex": ["f"] * 3 + ["m"] * 4}))
TOWNS = {"A": ["AB", "*"], "B": ["AB", "*"], "C": ["CD", "*"], "D": ["CD", "*"]}
METHOD = OptimalRecoding(3, 0.0, hierarchy={"town": TOWNS}, variables=("town", "sex"))


def test_neighbours_of_the_chosen_levels_by_hand() -> None:
    # AB and CD go with the sexes; one level less leaves A, B and C in classes of fewer than 3, four of seven records
    sex, town = levels_beside(METHOD, TABLE)
    assert (sex.level, town.level, town.levels) == (0, 1, 2)
    assert town.less_suppressed == pytest.approx(4 / 7) and town.less_kept is False
    # every town stands for one other of three, the sexes for themselves; then for three others
    assert town.loss == pytest.approx(1 / 6) and town.more_loss == pytest.approx(1 / 2)
    assert levels_beside(METHOD + LocalSuppression(3), TABLE) == (sex, town)
    assert levels_beside(LocalSuppression(3) + METHOD, TABLE) == levels_beside(None, TABLE) == ()
    assert levels_beside(OptimalRecoding(3, 0.0, CertaintyPenalty(), variables=("sex",)), TABLE) == ()


def test_the_picture_has_a_rung_for_each_level_and_the_figures_beside_the_one_chosen() -> None:
    spec = level_plot([KeyLevel("age", 1, 3, 0.02, 0.1, 0.3, False, 0.01, 0.25)])
    rungs, chosen, less, more = (spec["layer"][place]["data"]["values"] for place in (1, 2, 3, 4))
    assert [row["x"] for row in rungs] == [0, 1, 2, 3] and chosen == [{"key": "age", "x": 1}]
    assert less[0]["said"] == "30.0 %" and less[0]["kept"] is False and more[0]["said"] == "+0.15"


def test_the_report_shows_them(tmp_path: Path) -> None:
    keys = ("town", "sex")
    results = Experiment(TABLE, [METHOD], [KAnonymity(3, variables=keys), CertaintyPenalty(variables=keys)]).run()
    found = examine(results, repr(METHOD), what=["detail"])
    summary = summarise(results, found, risk="KAnonymity", utility="CertaintyPenalty", at_most={"KAnonymity": 0.0})
    page = write_report(summary, tmp_path).read_text(encoding="utf-8")
    assert "The levels that were chosen" in page and "57.1 %, not kept" in page
    assert "| town | 1 | 2 |" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_what_is_done_is_said_in_words() -> None:
    assert in_words(OptimalRecoding(5, 0.05, variables=("age", "sex"))) == (
        "Age and sex are given at the levels that lose least while at least 5 records look alike, at most 5 % of the "
        "records blanked."
    )
    assert in_words(OptimalRecoding(sets="scenarios", suppression=0.0, t=0.2, risk=0.1)) == (
        "The keys are given at the levels that lose least while every scenario finds enough records alike and what a "
        "class tells of confidential values is bounded and no individual risk is above 0.1."
    )
    assert in_words(LocalRecoding(5)) == (
        "The keys are made coarser record by record, as far as 5 records must look alike."
    )
