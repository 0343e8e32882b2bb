"""One candidate looked at: each piece is found once, kept, and can be left out."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato import (
    DistanceLinkage,
    Experiment,
    GlobalDataUtility,
    IndividualRisk,
    InformationLoss,
    IntervalOverlap,
    Measure,
    Method,
    RankSwapping,
    Reidentification,
    Results,
)
from sfumato.compare.examine import PIECES, Examination, ProtectedTable, examine
from sfumato.compare.examine.findings import MoreKnown, OverRecords
from sfumato.errors import ParameterError

pytestmark = pytest.mark.usefixtures("all_repetitions")
CANDIDATE = "RankSwapping(p=0.2)"
ALWAYS = tuple(piece for piece in PIECES if piece != "knowing")  # which goes with Reidentification
AXES: dict[str, Any] = {"risk": "DistanceLinkage", "utility": "InformationLoss"}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Count what is masked and measured."""
    counted: Counter[str] = Counter()
    protect, evaluate = Method.protect, Measure.evaluate_pair

    def masking(self: Method, *args: Any, **kwargs: Any) -> Any:
        counted["protect"] += 1
        return protect(self, *args, **kwargs)

    def measuring(self: Measure, *args: Any, **kwargs: Any) -> Any:
        counted[type(self).__name__] += 1
        return evaluate(self, *args, **kwargs)

    monkeypatch.setattr(Method, "protect", masking)
    monkeypatch.setattr(Measure, "evaluate_pair", measuring)
    yield counted


def run(store: Path | None = None, *more: Measure) -> Results:
    survey = sfumato.household_survey(60)
    measures = [DistanceLinkage(known=2), InformationLoss(), IndividualRisk(), *more]
    return Experiment(survey, [RankSwapping(0.2)], measures, seed=5).run(store=store)


def test_all_of_it_masks_once_and_measures_only_what_was_not(calls: Counter[str]) -> None:
    results = run()
    calls.clear()
    table = ProtectedTable(results, CANDIDATE)
    found = examine(results, CANDIDATE, **AXES, table=table)
    assert table.made is table.made
    assert calls == {"protect": 1, "GlobalDataUtility": 1, "InformationLoss": 100}  # the last resampled
    assert all(getattr(found, piece) is not None for piece in ALWAYS)


def test_a_measure_that_was_measured_is_not_measured_again(calls: Counter[str]) -> None:
    results = run(None, GlobalDataUtility())
    calls.clear()
    found = examine(results, CANDIDATE, what=["usefulness", "records"], **AXES)
    assert found.usefulness is not None
    assert found.usefulness.value == results.row(CANDIDATE).means["GlobalDataUtility()"]
    assert calls == {"protect": 1}  # whether the records are the same is seen in the table


def test_a_second_time_nothing_is_made(tmp_path: Path, calls: Counter[str]) -> None:
    store = tmp_path / "store.sqlite"
    first = examine(run(store), CANDIDATE, **AXES)
    calls.clear()
    assert examine(run(store), CANDIDATE, **AXES) == first
    assert calls == {}


def test_every_piece_is_kept_as_soon_as_it_is_found(
    tmp_path: Path, calls: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store.sqlite"
    look = "sfumato.compare.examine.look"
    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):

        def stopped(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        killed.setattr(f"{look}.over_records", stopped)
        examine(run(store), CANDIDATE, **AXES)
    with monkeypatch.context() as looked:
        for again in ("caution_facts", "release_facts", "distributions", "records_at_risk"):
            looked.setattr(f"{look}.{again}", lambda *_, **__: pytest.fail("made again"))
        calls.clear()
        found = examine(run(store), CANDIDATE, **AXES)
    assert calls["GlobalDataUtility"] == 0
    assert found.bootstrap is not None and found.bootstrap.figures


@pytest.mark.parametrize("piece", ALWAYS)
def test_every_piece_can_be_had_alone_and_left_out(piece: Any) -> None:
    results = run()
    alone = examine(results, CANDIDATE, what=[piece], **AXES)
    assert [name for name in PIECES if getattr(alone, name) is not None] == [piece]
    assert examine(results, CANDIDATE, what=(), **AXES) == Examination(CANDIDATE)


def test_who_knows_more_is_looked_for_where_persons_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    results = run(tmp_path / "store.sqlite", Reidentification())
    found = examine(results, CANDIDATE, what=["knowing"]).knowing
    everything = Reidentification(knows="everything")
    assert found == MoreKnown(everything.evaluate(results.original, results.protect(CANDIDATE), rng=5).value)
    monkeypatch.setattr(Measure, "evaluate", lambda *_, **__: pytest.fail("looked for again"))
    again = run(tmp_path / "store.sqlite", Reidentification())
    assert examine(again, CANDIDATE, what=["knowing"]).knowing == found


def test_what_is_not_there_is_refused_by_name() -> None:
    results = run()
    with pytest.raises(ParameterError, match="there is no 'poem'; there are cautions, release"):
        examine(results, CANDIDATE, what=["poem"])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="there is no candidate MDAV"):
        examine(results, "MDAV(k=3)")


def test_the_bootstrap_ends_when_its_time_is_up_and_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    results = run()
    now = iter(range(10_000))
    # every look at the clock takes a second, one before each repetition, and a little less than 50 seconds are left
    monkeypatch.setattr(import_module("sfumato.compare.bootstrap"), "perf_counter", lambda: float(next(now)))
    found = examine(results, CANDIDATE, what=["bootstrap"], utility="InformationLoss", seconds=50.0).bootstrap
    assert isinstance(found, OverRecords) and found.seconds == 50.0
    made = found.figures["InformationLoss()"]
    assert (made.repetitions, made.wanted) == (48, 100)


def test_a_measure_slower_than_the_time_allowed_is_not_resampled() -> None:
    results = run()
    (row,) = results.rows
    slow = replace(results, rows=(replace(row, measure_seconds={"InformationLoss()": 40.0}),))
    found = examine(slow, CANDIDATE, what=["bootstrap"], utility="InformationLoss").bootstrap
    assert found is not None and not found.figures
    assert found.left_out["InformationLoss()"] == "one evaluation takes 40 s, and 10 s are allowed for resampling"


def test_contributions_are_resampled_without_the_table(calls: Counter[str]) -> None:
    results = run()
    calls.clear()
    found = examine(results, CANDIDATE, what=["bootstrap"], risk="DistanceLinkage").bootstrap
    assert found is not None and found.figures["DistanceLinkage(known=2)"].way == "contributions"
    assert calls == {}
    straight = results.bootstrap(CANDIDATE, "DistanceLinkage", repetitions=100, rng=5)
    assert found.figures["DistanceLinkage(known=2)"].interval == straight.interval


def test_regressions_are_those_of_the_measure_asked_for() -> None:
    results = run(None, IntervalOverlap("income ~ age"))
    found = examine(results, CANDIDATE, what=["regressions"]).regressions
    assert found is not None and {change.model for change in found.coefficients} == {"income ~ age"}


def test_a_table_protected_elsewhere_is_examined_as_it_was_given(calls: Counter[str]) -> None:
    survey = sfumato.household_survey(60)
    given = {"theirs.csv": RankSwapping(0.1).protect(survey, rng=1)}
    results = Experiment(survey, measures=[InformationLoss()], candidates=given).run()
    calls.clear()
    found = examine(results, "theirs.csv", what=["detail", "cautions", "release"])
    assert found.detail is not None and found.release is not None and found.release.records == len(survey)
    assert calls == {}


def test_results_put_together_by_hand_can_be_examined() -> None:
    results = replace(run(), archive=None)
    assert examine(results, CANDIDATE, what=["detail"]).detail is not None
