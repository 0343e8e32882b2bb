"""Divergence of kernel densities: against quadrature, by theory for normal data, and what must always hold."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gaussian_kde, norm

from sfumato import DensityDivergence, KullbackLeibler, NotApplicable, ParameterError
from sfumato.table.microdata import Microdata
from tables import census, numbers, weighted


def table(values: np.ndarray) -> Microdata:
    return numbers(**{f"v{j}": column for j, column in enumerate(values.T)})


@pytest.mark.parametrize("direction", ["protected to original", "original to protected"])
def test_by_reference_two_records_each_against_quadrature(direction: Any) -> None:
    # originals 0 and 2, protected 1 and 5: mean 1, standard deviation 1, so h = 2^(-1/5)
    h = 2 ** (-1 / 5)

    def density(z: float, centres: tuple[float, float]) -> float:
        return float(np.mean([norm.pdf(z, centre, h) for centre in centres]))

    first, second = ((1.0, 5.0), (0.0, 2.0)) if direction == "protected to original" else ((0.0, 2.0), (1.0, 5.0))
    expected = quad(lambda z: density(z, first) * math.log(density(z, first) / density(z, second)), -8, 13, limit=200)
    found = DensityDivergence(direction, draws=400_000).evaluate(numbers(a=[0.0, 2.0]), numbers(a=[1.0, 5.0]), rng=1)
    assert found.parts["standard error"] < 0.01
    assert found.value == pytest.approx(expected[0], abs=4 * found.parts["standard error"])


def test_by_reference_densities_are_scipys_at_weighted_points() -> None:
    from sfumato.utility.divergence import log_density

    rng = np.random.default_rng(0)
    x, w = rng.lognormal(size=200), rng.uniform(0.5, 4, 200)
    w /= w.sum()
    spread = math.sqrt(w @ (x - w @ x) ** 2)
    unbiased = spread / math.sqrt(1 - w @ w)  # scipy's covariance divides by 1 - sum of squares
    h = (1 / (w @ w)) ** (-1 / 5) * spread
    theirs = gaussian_kde(x, bw_method=h / unbiased, weights=w)
    points = np.linspace(-1, 12, 50)
    ours = np.exp(log_density(points[:, None] / h, x[:, None] / h, w)) / (h * math.sqrt(2 * math.pi))
    np.testing.assert_allclose(ours, theirs(points), rtol=1e-9)


@pytest.mark.parametrize("p", [1, 2])
def test_by_theory_normal_data_diverge_as_their_smoothed_normals(p: int) -> None:
    # a normal smoothed by a normal kernel is normal: variances 1 + h^2 and 1.5 + h^2, means 0.5 apart
    n = 20_000
    rng = np.random.default_rng(3)
    before, after = rng.normal(size=(n, p)), rng.normal(0.5, math.sqrt(1.5), size=(n, p))
    h = n ** (-1 / (p + 4))
    ratio = (1.5 + h * h) / (1 + h * h)
    expected = p * (0.25 / (1 + h * h) + ratio - 1 - math.log(ratio)) / 2
    found = DensityDivergence(draws=4_000).evaluate(table(before), table(after), rng=1)
    # to the noise of the draws and of the samples, in which a fresh pair alone differs by 0.01 in two dimensions
    assert found.value == pytest.approx(expected, abs=3 * found.parts["standard error"] + 0.015)


def test_shapes_show_that_moments_hide() -> None:
    rng = np.random.default_rng(4)
    skewed = rng.exponential(size=4_000)
    normal = rng.normal(size=4_000)
    normal = (normal - normal.mean()) / normal.std() * skewed.std() + skewed.mean()
    pair = numbers(a=skewed), numbers(a=normal)
    assert KullbackLeibler().evaluate(*pair).value < 1e-12
    assert DensityDivergence().evaluate(*pair, rng=1).value > 0.1


values = st.lists(st.floats(-50, 50, allow_nan=False), min_size=4, max_size=12)


@settings(max_examples=40)
@given(values, values, st.integers(0, 5))
def test_it_is_never_negative_and_free_of_units(first: list[float], second: list[float], seed: int) -> None:
    if np.std(first) < 1e-3:
        return
    measure = DensityDivergence(draws=100)
    found = measure.evaluate(numbers(a=first), numbers(a=second), rng=seed).value
    assert found >= 0
    assert measure.evaluate(numbers(a=first), numbers(a=first), rng=seed).value == 0
    scaled = [numbers(a=1000.0 * np.array(column) + 7) for column in (first, second)]
    assert measure.evaluate(*scaled, rng=seed).value == pytest.approx(found, rel=1e-6, abs=1e-7)


def test_weights_stand_for_records_but_for_the_bandwidth() -> None:
    a, b = np.array([0.0, 1.0, 5.0, 7.0]), np.array([1.0, 1.0, 2.0, 9.0])
    equal = [weighted(numbers(x=column), np.full(4, 3.0)) for column in (a, b)]
    plain = DensityDivergence().evaluate(numbers(x=a), numbers(x=b), rng=2).value
    assert DensityDivergence().evaluate(*equal, rng=2).value == pytest.approx(plain, rel=1e-12)
    unequal = [weighted(numbers(x=column), np.array([1.0, 3.0, 2.0, 1.0])) for column in (a, b)]
    assert DensityDivergence().evaluate(*unequal, rng=2).value != pytest.approx(plain, rel=1e-6)


def test_a_total_and_its_parts_do_no_harm() -> None:
    data = census()
    found = DensityDivergence(variables=("PTOTVAL", "PEARNVAL", "POTHVAL")).evaluate(data, data, rng=1)
    assert found.value == 0 and "standard error 0" in found.notes[-1]


def test_gaps_and_constants() -> None:
    x = np.arange(10.0)
    holed = np.where(x == 3, np.nan, x)
    notes = DensityDivergence().evaluate(numbers(a=x, c=np.ones(10)), numbers(a=holed, c=np.ones(10)), rng=1).notes
    assert "1 records of the protected table left out: a value is missing" in notes
    assert "left out, the same constant in both tables: c" in notes
    with pytest.raises(NotApplicable, match="'a' is constant in the original only"):
        DensityDivergence().evaluate(numbers(a=0 * x), numbers(a=x))
    with pytest.raises(NotApplicable, match="a constant: there is no density"):
        DensityDivergence().evaluate(numbers(a=0 * x), numbers(a=0 * x))
    with pytest.raises(NotApplicable, match="no record of the protected table has all of a"):
        DensityDivergence().evaluate(numbers(a=x), numbers(a=np.full(10, np.nan)))
    with pytest.raises(ParameterError, match="draws"):
        DensityDivergence(draws=3)
