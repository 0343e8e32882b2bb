"""Distance linkage of tables in parts: a sample of records looked for among all records of the other table."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato
from scanned import scanned
from sfumato import DistanceLinkage, Engine, NotApplicable, ParameterError
from sfumato.engine.engine import NESTED
from sfumato.pair import Pair
from sfumato.pair.sample import Sample, taken
from sfumato.testing.of_measures import agree as same
from tables import numbers, persons
from test_contract_parts import cut, with_gaps
from unseen import error_of_sample, variance_of_unseen

DATA = with_gaps(persons(200), 0.05, seed=2)
MASKED = (sfumato.Rounding(10, variables=("age",)) + sfumato.Noise(0.4, variables=("income",))).protect(DATA, rng=1)
MEASURES: list[DistanceLinkage] = [
    DistanceLinkage(variables=("age", "income"), second=True),
    DistanceLinkage(variables=("age", "income"), direction="protected to original", standardise="original"),
    DistanceLinkage(distance="gower", known=("income", "region", "age", "health")),
    DistanceLinkage(distance="gower", known=("income", "region"), direction="protected to original", ties="linked"),
]


@pytest.mark.parametrize("measure", MEASURES, ids=range(4))
def test_a_sample_is_a_sample_of_the_links_of_all(measure: DistanceLinkage) -> None:
    whole = measure.evaluate(DATA, MASKED)
    assert whole.by_record is not None
    rows = Sample.drawn(200, 50, np.random.default_rng(4)).rows
    drawn = replace(measure, sample=50)
    for ends in ([90], [0, 3, 3, 120]):
        found = drawn.evaluate_pair(Pair.of(cut(DATA, ends), cut(MASKED, ends)), rng=4)
        assert found.value == pytest.approx(whole.by_record[rows].mean(), rel=1e-12)
        error = error_of_sample(whole.by_record[rows], 200)
        assert found.parts["standard error"] == pytest.approx(error, rel=1e-9)
        assert found.by_record is None
        same(drawn.evaluate(DATA, MASKED, rng=4), found)


@pytest.mark.parametrize("measure", MEASURES, ids=range(4))
def test_on_disk(measure: DistanceLinkage, tmp_path: Path) -> None:
    before, after = scanned(DATA, tmp_path / "original", 3), scanned(MASKED, tmp_path / "protected", 7)
    NESTED.clear()
    with Engine("here", memory="64 MiB"):
        same(measure.evaluate(DATA, MASKED), measure.evaluate(before, after))
    assert not NESTED


def test_by_hand() -> None:
    # z-scores by the original's spread keep the order: 0, 1 and 11 find their own, but 10.1 is nearer to 10 than 9.4
    before = numbers(x=[0.0, 1.0, 10.0, 11.0])
    after = numbers(x=[0.1, 1.2, 9.4, 10.1])
    measure = DistanceLinkage(standardise="original", sample=3)
    rows = Sample.drawn(4, 3, np.random.default_rng(0)).rows
    expected = np.array([1.0, 1.0, 0.0, 1.0])
    found = measure.evaluate_pair(Pair.of(cut(before, [1, 3]), cut(after, [1, 3])), rng=0)
    assert found.value == expected[rows].mean()


def test_over_many_samples_the_standard_error_is_right() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2, 100))
    before = numbers(x=x[0], y=x[1])
    after = numbers(x=x[0] + rng.normal(scale=0.2, size=100), y=x[1] + rng.normal(scale=0.2, size=100))
    truth = DistanceLinkage(known=(("x", "y"),)).evaluate(before, after)
    assert truth.by_record is not None
    pair = Pair.of(cut(before, [30]), cut(after, [30]))
    found = [DistanceLinkage(known=(("x", "y"),), sample=25).evaluate_pair(pair, rng=seed) for seed in range(300)]
    variance = truth.by_record.var(ddof=1) / 25 * (1 - 25 / 100)
    unseen = np.mean([variance_of_unseen(one.value, 25, 100) for one in found])
    assert abs(np.mean([one.value for one in found]) - truth.value) < 4 * np.sqrt(variance / 300)
    assert np.mean([one.parts["standard error"] ** 2 for one in found]) == pytest.approx(variance + unseen, rel=0.1)


def test_records_by_number_from_any_parts() -> None:
    from sfumato.pair import Half

    rows = np.array([0, 5, 99, 100, 199])
    for ends in ([], [100], [1, 2, 2, 150]):
        found = taken(Half.of(cut(DATA, ends)), ("age", "region"), rows)
        assert np.array_equal(found["age"], DATA.columns["age"][rows], equal_nan=True)
        assert np.array_equal(found["region"], DATA.columns["region"][rows])


@pytest.mark.parametrize("wrong", [{"sample": 0}, {"sample": 9, "links": "one to one"}])
def test_what_is_no_sample_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="sample"):
        DistanceLinkage(**wrong)


def test_pairs_one_to_one_need_all_records() -> None:
    with pytest.raises(NotApplicable, match="needs all records at once"):
        DistanceLinkage(links="one to one").evaluate_pair(Pair.of(cut(DATA, [9]), cut(MASKED, [9])))
