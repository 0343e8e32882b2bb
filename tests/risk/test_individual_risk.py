"""Individual risk: the negative binomial by closed forms, by summation and by integration; households; the file."""

from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from sfumato import IndividualRisk, Microdata, NotApplicable
from sfumato.kernels.expected_inverse import expected_inverse
from sfumato.pair.statistics import UnitSums
from sfumato.risk.individual import any_member
from tables import persons

SHARES = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.3, 0.49, 0.5, 0.51, 0.7, 0.9, 0.999, 1 - 1e-9]


def one(f: float, p: float) -> float:
    return float(expected_inverse(np.array([float(f)]), np.array([f / p]))[0])


@pytest.mark.parametrize("p", SHARES)
def test_closed_forms(p: float) -> None:
    a = p / (1 - p)
    # a ln(1 + 1/a) = a ln(1/p); near p = 1 the printed form of f = 2 loses digits, so it is tested below 0.999
    assert one(1, p) == pytest.approx(a * np.log1p(1 / a), rel=1e-12)
    if p < 0.999:
        assert one(2, p) == pytest.approx(a - a**2 * np.log(1 / p), rel=1e-10)


@pytest.mark.parametrize("f", [1, 2, 3, 5, 10, 20, 39, 40, 41, 100, 1_000, 100_000, 1_000_000])
@pytest.mark.parametrize("p", SHARES)
def test_numerical_integration(f: int, p: float) -> None:
    # E(1/F) = integral of v^(f-1) / (1 + a v) over [0, 1], a = q/p; with v = exp(-t/f) it is smooth for any f
    a = (f / p - f) / f

    def integrand(t: float) -> float:
        return float(np.exp(-t) / (f * (1 + a * np.exp(-t / f))))

    pieces = ((0, 1), (1, 5), (5, 20), (20, 100), (100, 700))
    total = sum(integrate.quad(integrand, low, high, epsabs=0, epsrel=1e-13, limit=500)[0] for low, high in pieces)
    assert one(f, p) == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize(("f", "p"), [(1, 0.5), (2, 0.3), (3, 0.25), (7, 0.6), (45, 0.5), (60, 0.9)])
def test_summation_of_the_negative_binomial_in_exact_fractions(f: int, p: float) -> None:
    share = Fraction(p).limit_denominator(100)
    total = sum(
        Fraction(comb(F - 1, f - 1), F) * share**f * (1 - share) ** (F - f) for F in range(f, f + 60 + int(8 * f / p))
    )
    assert one(f, float(share)) == pytest.approx(float(total), rel=1e-9)


@given(st.integers(1, 500), st.floats(1e-6, 1.0))
def test_risk_is_between_the_share_and_its_bounds(f: int, p: float) -> None:
    # Jensen: E(1/F) >= 1/E(F) = p/f; F >= f: E(1/F) <= 1/f; and one record more in the cell is less risk
    risk = one(f, p)
    assert p / f * (1 - 1e-12) <= risk <= 1 / f * (1 + 1e-12)
    assert one(f + 1, p) <= risk * (1 + 1e-12)


def test_a_census() -> None:
    np.testing.assert_array_equal(
        expected_inverse(np.array([1.0, 2.0, 50.0]), np.array([1.0, 2.0, 50.0])), [1.0, 0.5, 0.02]
    )


def test_households_by_hand() -> None:
    # 1 - 0.5 * 0.8 = 0.6; alone: its own; a certain member makes the household certain
    risk = np.array([0.5, 0.2, 0.1, 1.0, 0.3])
    with np.errstate(divide="ignore"):
        found = UnitSums.of(np.array([0, 0, 1, 2, 2]), np.array([7.0, 7.0, 8.0, 9.0, 9.0]), np.log1p(-risk))
    np.testing.assert_allclose(any_member(found.sums), [0.6, 0.1, 1.0])


def test_households_of_a_file_and_missing_ones() -> None:
    data = persons()
    found = IndividualRisk(variables=("region", "sex", "education")).evaluate(data, data)
    assert found.by_record is not None
    pairs = found.by_record.reshape(-1, 2)  # households are pairs of neighbours
    together = np.repeat(1 - (1 - pairs).prod(axis=1), 2)
    assert found.parts["records, with their household"] == pytest.approx(together.mean(), rel=1e-12)
    assert found.parts["largest of a household"] == pytest.approx(together.max(), rel=1e-12)
    alone = replace(data, columns={**data.columns, "household": np.full(240, np.nan)})
    parts = IndividualRisk(variables=("region", "sex", "education")).evaluate(data, alone).parts
    assert parts["records, with their household"] == pytest.approx(found.value, rel=1e-12)


def test_unique_records_of_a_weighted_file_by_hand() -> None:
    data = persons()
    found = IndividualRisk().evaluate(data, data)
    frame = data.to_arrow().to_pandas()
    keys = ["region", "sex", "education", "age"]
    size = frame.groupby(keys, observed=True)["id"].transform("size").to_numpy()
    units = frame.groupby(keys, observed=True)["weight"].transform("sum").to_numpy()
    p = size / units
    q = 1 - p
    expected = np.where(size == 1, p / q * np.log(1 / p), p / q - (p / q) ** 2 * np.log(1 / p))
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record[size <= 2], expected[size <= 2], rtol=1e-10)
    assert found.value == pytest.approx(found.by_record.mean())


def test_rescaled_weights_are_brought_back_to_the_population() -> None:
    data = persons()
    whole = IndividualRisk().evaluate(data, data)
    total = float(data.weights().sum())
    small = replace(data, columns={**data.columns, "weight": data.weights() / data.weights().mean()})
    with pytest.raises(NotApplicable, match=r"IndividualRisk\(population=...\)"):
        IndividualRisk().evaluate(small, small)
    found = IndividualRisk(population=total).evaluate(small, small)
    assert found.value == pytest.approx(whole.value, rel=1e-12)
    assert any("were scaled to" in note for note in found.notes)
    bare = data.without(["weight"])
    even = replace(data, columns={**data.columns, "weight": np.full(len(data), total / len(data))})
    assert IndividualRisk(population=total).evaluate(bare, bare).value == pytest.approx(
        IndividualRisk().evaluate(even, even).value, rel=1e-12
    )
    with pytest.raises(NotApplicable, match="smaller than the file of 240 records"):
        IndividualRisk(population=100).evaluate(data, data)


def test_the_bound_above_which_records_are_counted_can_be_set() -> None:
    data = Microdata.from_frame(pa.table({"town": ["A", "B", "B", "C", "C", "C", "C", "C"]}))
    for above, share in ((0.1, 1.0), (0.3, 3 / 8), (0.6, 1 / 8), (1.0, 0.0)):  # risks 1, 1/2, 1/5
        found = IndividualRisk(above=above, variables=("town",)).evaluate(data, data)
        assert found.parts[f"records above {above:g}"] == pytest.approx(share)
