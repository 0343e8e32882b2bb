import re
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.compare.examine import Examination, examine
from sfumato.compare.examine.findings import OverRecords, Resampled
from sfumato.compare.examine.variables import original_variables
from sfumato.compare.experiment import Experiment
from sfumato.compare.results import Results
from sfumato.compare.score import Recipe
from sfumato.core import Measure, Method
from sfumato.errors import ParameterError
from sfumato.methods import MDAV, Noise, RankSwapping
from sfumato.report.lines import range_text
from sfumato.report.summarise import summarise, summarise_pair
from sfumato.report.verdict import SweepFacts
from sfumato.risk import DistanceLinkage, KAnonymity
from sfumato.table.microdata import Microdata
from sfumato.utility import InformationLoss

AXES: dict[str, Any] = {"risk": DistanceLinkage, "utility": InformationLoss}
MEASURES: tuple[Measure, ...] = (InformationLoss(), DistanceLinkage())


@pytest.fixture(scope="module")
def data() -> Microdata:
    rng = np.random.default_rng(11)
    values = rng.lognormal(size=(60, 3)) + 1
    return Microdata.from_frame(pa.table({name: values[:, j] for j, name in enumerate("abc")}))


@pytest.fixture(scope="module")
def results(data: Microdata) -> Results:
    methods = (Noise(0.01), RankSwapping(0.3), MDAV(5), MDAV(1000))  # the last has more to a group than records
    recipe = Recipe(name="Mine", terms=((InformationLoss(), 0.5), (DistanceLinkage(), 50.0)))
    return Experiment(data, methods=methods, measures=MEASURES, replicates=2, seed=1).run().with_score(recipe)


def test_the_chosen_one_is_first_and_every_candidate_is_there(results: Results) -> None:
    choice = results.choose(utility=InformationLoss, at_most={DistanceLinkage: 0.6})
    summary = summarise(results, **AXES, at_most={DistanceLinkage: 0.6})
    frontier = results.frontier(**AXES)
    assert summary.chosen is not None
    assert summary.chosen.label == choice.chosen == summary.candidates[0].label
    assert [line.rank for line in summary.candidates] == [1, 2, 3, 4]
    assert summary.sentence == choice.sentence
    assert {line.label for line in summary.candidates if line.on_frontier} == set(frontier.on)
    assert summary.bounds[0].text == "at most 60 %"


def test_what_stands_in_the_facts_is_still_taken_as_a_parameter_and_warned_of(results: Results) -> None:
    with pytest.warns(DeprecationWarning, match="summarise: released is deprecated"):
        old = summarise(results, **AXES, released="a.csv")
    assert old.released == summarise(results, **AXES, facts=SweepFacts(released="a.csv")).released == "a.csv"
    with pytest.raises(TypeError), pytest.warns(DeprecationWarning):
        summarise(results, **AXES, unknown=1)


def test_a_candidate_that_failed_is_last_with_its_reason(results: Results) -> None:
    summary = summarise(results, **AXES)
    assert [line.label for line in summary.failed] == [summary.candidates[-1].label] == ["MDAV(k=1000)"]
    assert summary.detail is None
    assert "No bound was given" in summary.sentence


def test_ranked_by_the_score_where_there_is_no_bound(results: Results) -> None:
    summary = summarise(results, **AXES)
    scores = [line.figures["Mine"].value for line in summary.candidates if line.figures]
    assert scores == sorted(scores)
    first = summary.candidates[0]
    assert sum(first.score_parts.values()) == pytest.approx(first.figures["Mine"].value)
    assert summary.measure("Mine").recipe.startswith("Mine = 0.5 InformationLoss")


@pytest.fixture(scope="module")
def looked_at(results: Results) -> Examination:
    chosen = results.choose(utility=InformationLoss, at_most={DistanceLinkage: 1.0}).chosen
    return examine(results, str(chosen), **AXES)


def test_the_detail_agrees_with_the_table_it_describes(results: Results, looked_at: Examination) -> None:
    summary = summarise(results, looked_at, **AXES, at_most={DistanceLinkage: 1.0})
    assert summary.detail is not None
    protected = results.protect(looked_at.candidate)
    first = summary.detail.variables[0]
    assert first.after is not None
    assert first.after.mean == pytest.approx(protected.columns["a"].mean())
    loss = results.row(looked_at.candidate).by_variable["InformationLoss()"]["a"]
    assert first.figures["InformationLoss()"].value == loss
    worst = summary.detail.records[0]
    by_record = results.measurement(looked_at.candidate, DistanceLinkage).by_record
    assert by_record is not None
    assert worst.risks["DistanceLinkage()"].value == by_record.max() == by_record[worst.record - 1]
    parts = results.row(looked_at.candidate).parts["DistanceLinkage()"]
    assert {part: f.value for part, f in summary.detail.parts["DistanceLinkage()"].items()} == parts


def test_variables_that_only_changed_places_are_told_apart(data: Microdata) -> None:
    turned = data.replace({"a": data.columns["a"][::-1]})
    results = Experiment(data, measures=MEASURES, candidates={"p.csv": turned}).run()
    summary = summarise_pair(results, examine(results, "p.csv"), file="o.csv", protected="p.csv")
    assert summary.detail is not None
    assert [v.name for v in summary.detail.same] == ["a"]


def test_an_examination_of_another_candidate_is_refused(results: Results, looked_at: Examination) -> None:
    other = next(row.candidate for row in results.rows if row.candidate != looked_at.candidate)
    with pytest.raises(ParameterError, match=re.escape(f"{other} was examined, but {looked_at.candidate} is chosen")):
        summarise(results, Examination(other), **AXES, at_most={DistanceLinkage: 1.0})


def test_the_chosen_one_without_an_examination_has_no_detail_but_its_cautions(results: Results) -> None:
    summary = summarise(results, **AXES, at_most={DistanceLinkage: 1.0})
    assert summary.chosen is not None and summary.detail is None
    assert any(caution.startswith(summary.chosen.family) for caution in summary.cautions)


def test_how_many_repetitions_an_interval_rests_on_is_said(results: Results, looked_at: Examination) -> None:
    made = Resampled(0.01, (0.1, 0.9), "pairs", 84, 100, shifted=False)
    shifted = Resampled(0.01, (0.1, 0.2), "tables", 20, 100, shifted=True)
    figures = {"InformationLoss()": made, "DistanceLinkage()": shifted}
    summary = summarise(
        results,
        replace(looked_at, bootstrap=OverRecords(figures, {}, 10.0)),
        **AXES,
        at_most={DistanceLinkage: 1.0},
    )
    assert summary.over_records == {"InformationLoss()": (0.1, 0.9)}
    assert summary.resampling == (
        "InformationLoss: after 10 s, 84 of 100 repetitions.",
        "DistanceLinkage has no broad bar: resampled tables differ more than the tables themselves (20 of 100 "
        "repetitions were made).",
    )
    slow = OverRecords(
        {}, {"InformationLoss()": "one evaluation takes 40 s, and 10 s are allowed for resampling"}, 10.0
    )
    told = summarise(results, replace(looked_at, bootstrap=slow), **AXES, at_most={DistanceLinkage: 1.0})
    assert told.resampling[0].startswith("InformationLoss has no broad bar: one evaluation takes 40 s")


def test_a_pair_tells_what_could_not_be_measured(data: Microdata) -> None:
    shorter = data.take(np.arange(50))
    results = Experiment(data, measures=MEASURES, candidates={"p.csv": shorter}).run()
    summary = summarise_pair(results, file="o.csv", protected="p.csv")
    assert summary.uncomputed[0][1] == ("InformationLoss", "DistanceLinkage")  # one reason for both
    assert "0 of 2 measures could be computed" in summary.sentence
    assert "50 and 60 records" in str(next(iter(summary.candidates[0].reasons.values())))


def test_ranges_of_numbers_and_categories() -> None:
    table = pa.table({"x": [1.0, 20000.0], "k": ["a", "b"], "none": pa.array([None, None], pa.float64())})
    x, k, none = (range_text(found) for found in original_variables(Microdata.from_frame(table)))
    assert (x, k, none) == ("1 to 20,000", "a, b", "all missing")
    many = Microdata.from_frame(pa.table({"k": list("abcdef")}))
    assert range_text(original_variables(many)[0]) == "a, b, c, d, … 2 more"


def test_parts_that_count_are_not_written_as_shares() -> None:
    about = KAnonymity.about
    assert (about.unit_of("classes"), about.unit_of("violating 3")) == ("number", "share")


def test_another_bound_is_chosen_by_at_once(data: Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    methods = [RankSwapping(round(0.005 * (i + 1), 3)) for i in range(100)]
    results = Experiment(data, methods, MEASURES, replicates=2, seed=1).run()
    summarise(results, **AXES, at_most={DistanceLinkage: 0.5})
    for cls, name in ((Method, "protect"), (Measure, "evaluate_pair")):
        monkeypatch.setattr(cls, name, lambda *_, **__: pytest.fail("made again"))
    times = []
    for bound in (0.1, 0.2, 0.3, 0.4, 0.6):
        start = process_time()
        summary = summarise(results, **AXES, at_most={DistanceLinkage: bound})
        times.append(process_time() - start)
        choice = results.choose(utility=InformationLoss, at_most={DistanceLinkage: bound})
        assert len(summary.candidates) == 100
        assert (summary.chosen.label if summary.chosen else None) == choice.chosen
    assert min(times) < 0.05
