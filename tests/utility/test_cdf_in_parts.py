"""Joint distribution functions of tables in parts, at a sample of their records."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import sfumato
from scanned import scanned
from sfumato import CDFMaximum, CDFSquares, Engine, Measure, Microdata
from sfumato.engine.engine import NESTED
from sfumato.pair import Pair
from sfumato.testing.of_measures import agree as same
from tables import numbers, persons
from test_contract_parts import cut, with_gaps

Floats = NDArray[np.float64]
DATA = with_gaps(persons(200), 0.05, seed=2)
MASKED = sfumato.Noise(0.4, variables=("income", "age")).protect(DATA, rng=1)
UNWEIGHTED = tuple(replace(table, schema=replace(table.schema, weight=None)) for table in (DATA, MASKED))


def gaps(x: Floats, y: Floats) -> Floats:
    """The difference of the two functions at all records, the original's first, pair by pair."""
    at = np.concatenate([x, y])
    shares = [(side[None, :, :] <= at[:, None, :]).all(axis=2).mean(axis=1) for side in (x, y)]
    return np.asarray(shares[0] - shares[1])


def two_numbers(records: int, others: int) -> tuple[Microdata, Microdata, Floats]:
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(records, 2)).round(1), rng.normal(0.4, size=(others, 2)).round(1)
    return numbers(a=x[:, 0], b=x[:, 1]), numbers(a=y[:, 0], b=y[:, 1]), gaps(x, y)


@pytest.mark.parametrize("measure", [CDFMaximum(), CDFSquares(total=True, variables=("education", "age"))], ids=str)
@pytest.mark.parametrize("number", [3, 17])
@pytest.mark.parametrize("tables", [(DATA, MASKED), UNWEIGHTED], ids=["weighted", "unweighted"])
def test_all_records_on_disk_give_the_figure_in_memory(
    measure: Measure, number: int, tables: tuple[Microdata, Microdata], tmp_path: Path
) -> None:
    before, after = scanned(tables[0], tmp_path / "original", number), scanned(tables[1], tmp_path / "after", number)
    NESTED.clear()
    with Engine("here", memory="64 MiB"):
        same(measure.evaluate(*tables), measure.evaluate(before, after))
    assert not NESTED


@pytest.mark.parametrize("ends", [[90], [0, 3, 3, 120]])
@pytest.mark.parametrize("cls", [CDFMaximum, CDFSquares])
def test_points_are_the_same_however_the_tables_are_cut(
    cls: type[CDFMaximum] | type[CDFSquares], ends: list[int]
) -> None:
    # records of weight zero are no points, wherever they lie
    weights = np.where(np.arange(200) % 7 == 0, 0.0, DATA.columns["weight"])
    before, after = DATA.replace({"weight": weights}), MASKED.replace({"weight": weights[::-1].copy()})
    for measure in (cls(points=30), cls(points=30, variables=("income",))):
        whole = measure.evaluate(before, after, rng=3)
        found = measure.evaluate_pair(Pair.of(cut(before, ends), cut(after, ends)), rng=3)
        assert any("weight zero" in note for note in found.notes)
        same(whole, found)


def test_by_hand_a_sample_of_points() -> None:
    before, after, apart = two_numbers(60, 40)
    drawn = np.random.default_rng(2).choice(100, 25, replace=False)
    pair = Pair.of(cut(before, [11]), cut(after, [30]))
    largest = CDFMaximum(points=25).evaluate_pair(pair, rng=2)
    assert largest.value == pytest.approx(np.abs(apart[drawn]).max(), rel=1e-12)
    assert largest.value <= np.abs(apart).max() + 1e-12
    assert largest.parts["share that may exceed it"] == pytest.approx(1 - 0.05 ** (1 / 25))
    assert any("a lower bound, from 25 of 100 records" in note for note in largest.notes)
    squares = apart[drawn] ** 2
    mean = CDFSquares(points=25).evaluate_pair(pair, rng=2)
    assert mean.value == pytest.approx(squares.mean(), rel=1e-12)
    assert mean.parts["standard error"] == pytest.approx(np.sqrt(squares.var(ddof=1) / 25 * 0.75), rel=1e-9)
    total = CDFSquares(total=True, points=25).evaluate_pair(pair, rng=2)
    assert total.value == pytest.approx(100 * squares.mean(), rel=1e-12)
    # each variable alone is compared at all records
    assert dict(mean.by_variable) == pytest.approx(dict(CDFSquares().evaluate(before, after).by_variable), rel=1e-12)


def test_over_many_samples_the_mean_is_unbiased_and_its_standard_error_right() -> None:
    before, after, apart = two_numbers(60, 40)
    pair = Pair.of(cut(before, [11]), cut(after, [11]))
    found = [CDFSquares(points=25).evaluate_pair(pair, rng=seed) for seed in range(200)]
    variance = (apart**2).var(ddof=1) / 25 * (1 - 25 / 100)
    assert abs(np.mean([one.value for one in found]) - (apart**2).mean()) < 4 * np.sqrt(variance / 200)
    # by theory the variance of a sample is unbiased; over 200 samples its mean lies within 4 of its standard errors
    errors = np.array([one.parts["standard error"] ** 2 for one in found])
    assert abs(errors.mean() - variance) < 4 * errors.std(ddof=1) / np.sqrt(200)


def test_a_default_sample_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.utility.cdf.SIZE", 20)
    before, after, _ = two_numbers(60, 40)
    pair = Pair.of(cut(before, [11]), cut(after, [11]))
    assert any("from 20 of 100 records" in note for note in CDFMaximum().evaluate_pair(pair, rng=1).notes)
    assert "standard error" in CDFSquares().evaluate_pair(pair, rng=1).parts
    assert "standard error" not in CDFSquares(points=100).evaluate_pair(pair, rng=1).parts


def test_what_takes_parts_how() -> None:
    assert CDFMaximum().about.parts == "sample" and CDFMaximum(points=9, variables=("a",)).about.parts == "sample"
    assert CDFMaximum(variables=("a",)).about.parts == "summaries"
