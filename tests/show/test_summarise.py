from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.compare.experiment import Experiment
from sfumato.compare.results import Results
from sfumato.compare.score import Recipe
from sfumato.core import Measure
from sfumato.data.microdata import Microdata
from sfumato.methods import MDAV, Noise, RankSwapping
from sfumato.risk import DistanceLinkage
from sfumato.show.summarise import summarise, summarise_pair
from sfumato.show.summary import to_json
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


def test_the_detail_agrees_with_the_table_it_describes(results: Results) -> None:
    choice = results.choose(utility=InformationLoss, at_most={DistanceLinkage: 1.0})
    summary = summarise(results, **AXES, at_most={DistanceLinkage: 1.0})
    assert summary.detail is not None
    protected = results.protect(str(choice.chosen))
    after = summary.detail.variables[0].after
    assert after is not None
    assert after.mean == pytest.approx(protected.columns["a"].mean())
    worst = summary.detail.records[0]
    by_record = results.measurement(str(choice.chosen), DistanceLinkage).by_record
    assert by_record is not None
    assert worst.risks["DistanceLinkage()"].value == by_record.max() == by_record[worst.record - 1]


def test_a_pair_tells_what_could_not_be_measured(data: Microdata) -> None:
    shorter = data.take(np.arange(50))
    results = Experiment(data, measures=MEASURES, candidates={"p.csv": shorter}).run()
    summary = summarise_pair(results, file="o.csv", protected="p.csv")
    assert "0 of 2 measures could be computed" in summary.sentence
    assert "50 and 60 records" in next(iter(summary.candidates[0].reasons.values()))


def test_a_summary_is_json(results: Results) -> None:
    plain = to_json(summarise(results, **AXES))
    assert plain["run"]["seed"] == 1
    assert plain["measures"][1]["better"] == "lower"
