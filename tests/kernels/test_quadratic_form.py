"""The distribution of quadratic forms: closed forms, R's Farebrother, 40-digit arithmetic, Ruben's series as a twin."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special, stats

from sfumato.kernels.quadratic_form import ellipsoid_probability

Floats = NDArray[np.float64]
DEGREES = (3.0, 10.0, 1e3, 1e5, math.inf)


def value(variances: object, offsets: object, bound: float, df: float = math.inf) -> float:
    """The probability; what is claimed of its error is checked on the way."""
    found = ellipsoid_probability(np.asarray(variances, dtype=float), np.asarray(offsets, dtype=float), bound, df)
    assert 0 <= found.value <= 1
    assert 0 <= found.error <= max(2e-11 * found.value, 1e-307)
    return found.value


@pytest.mark.parametrize("p", [1, 2, 6, 10, 20, 30])
@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e3, 1e6])
def test_equal_variances_without_offsets_by_theory(p: int, df: float, scale: float) -> None:
    # scale * chi-square(p) / v is scale * p * F(p, df); the tail 1e-83 of p = 30 at scale 1e6 included
    bound = stats.chi2.ppf(0.95, p)
    expected = stats.chi2.cdf(bound / scale, p) if math.isinf(df) else special.fdtr(p, df, bound / scale / p)
    assert value(np.full(p, scale), np.zeros(p), bound, df) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("offset", "deviation"), [(0.0, 1.0), (0.5, 0.3), (3.0, 1.0), (20.0, 1.0), (7.0, 200.0)])
@pytest.mark.parametrize("df", DEGREES)
def test_one_axis_by_theory(offset: float, deviation: float, df: float) -> None:
    # |o + d t| <= r is an interval of t; upper tails, where the digits of small probabilities are
    radius, t = 1.96, stats.norm if math.isinf(df) else stats.t(df)
    expected = t.sf((offset - radius) / deviation) - t.sf((offset + radius) / deviation)
    assert value([deviation**2], [offset], radius**2, df) == pytest.approx(expected, rel=2e-11)


@pytest.mark.parametrize(("p", "offset"), [(2, 1.0), (6, 4.0), (6, 10.0), (20, 12.0)])
def test_non_central_chi_square_by_theory(p: int, offset: float) -> None:
    bound = stats.chi2.ppf(0.95, p)
    offsets = np.full(p, offset / math.sqrt(p))
    assert value(np.ones(p), offsets, bound) == pytest.approx(stats.ncx2.cdf(bound, p, offset**2), rel=1e-9)


# R 4.2.2 and the routine behind CompQuadForm 1.4.2's farebrother (src/ruben.cpp, Algorithm AS 204), copied without its
# checks of arguments and built by R CMD SHLIB, the package itself not being at hand; called as
# farebrother(q, lambda, h = rep(1, n), delta, maxit = 100000, eps = 1e-15, mode = 1); delta is offset^2 / lambda.
# Imhof's integral by R's integrate(..., 0, Inf, rel.tol = 1e-11) agrees to 4e-8 or better in all of them
@pytest.mark.parametrize(
    ("q", "weights", "delta", "expected"),
    [
        (1, [6, 3, 1], [0, 0, 0], 0.05421384606705),
        (7, [6, 3, 1], [0, 0, 0], 0.4935617665302),
        (20, [6, 3, 1], [0, 0, 0], 0.8760409258377),
        (10, [7, 3], [6, 2], 0.04512718989761),
        (60, [7, 3], [6, 2], 0.592434567599),
        (150, [7, 3], [6, 2], 0.9776568711997),
        (12.59, [0.5, 0.8, 1, 1.2, 1.5, 3], [0.1, 0.4, 0, 1, 0.25, 2], 0.4578732479045),
        (18.31, np.linspace(0.2, 4, 10), np.full(10, 0.5), 0.195129634971),
        (31.41, 1.2 ** np.arange(20) / 10, np.arange(20) / 10, 0.203748282544),
        (5.99, [1, 100], [0, 1], 0.1065976758977),
        (5.99, [1, 0.01], [9, 1], 0.2888867637406),
        (9.49, [1e-3, 1e-1, 1, 10], [0, 1, 1, 3], 0.1832267979071),
        (43.77, np.linspace(0.5, 2, 30), np.ones(30), 0.02345633000503),
    ],
)
def test_weighted_sums_by_reference(q: float, weights: object, delta: object, expected: float) -> None:
    variances = np.asarray(weights, dtype=float)
    offsets = np.sqrt(variances * np.asarray(delta, dtype=float))
    assert value(variances, offsets, q) == pytest.approx(expected, abs=1e-12)


# mpmath 1.4.1, mp.dps = 40: the contour integral of the module's docstring on another hyperbola, step 1/20, until
# terms fall below 1e-26 of the largest: s = a + b (1j * sinh(u) - 0.3 (cosh(u) - 1)), a and 1/b^2 at the least of the
# transform on the axis and its second derivative there
@pytest.mark.parametrize(
    ("variances", "offsets", "bound", "df", "expected"),
    [
        ([1, 1e3, 1e6], [1, 2, 3], 7.8, 3, 0.000094369159413060279402),
        ([1e-3, 1, 1e3], [4, -4, 100], 7.8, 50, 2.7307079586260403963e-43),
        (np.geomspace(1e-3, 1e3, 6), np.full(6, 2.0), 12.6, 1e7, 0.00047318334191745915731),
        (np.linspace(0.5, 2, 10), np.full(10, 4.0), 18.3, math.inf, 4.0962202865308834028e-18),
        ([1, 2], [12, 5], 5.99, 1e4, 1.0083909290839183281e-24),
        (np.geomspace(0.01, 100, 20), np.full(20, 3.0), 31.4, 1e3, 6.6138285252460389006e-49),
        (np.ones(30), np.tile([1.0, -2.0], 15), 43.8, 30, 0.000033642368644711444789),
    ],
)
def test_small_probabilities_by_reference(
    variances: object, offsets: object, bound: float, df: float, expected: float
) -> None:
    assert value(variances, offsets, bound, df) == pytest.approx(expected, rel=2e-13)


def ruben(variances: Floats, offsets: Floats, bound: float) -> float:
    """Ruben's (1962) mixture of central chi-squares, all of whose terms are positive: the plain twin, for a normal."""
    least = variances.min()
    gamma, delta = 1 - least / variances, offsets**2 / variances
    weights = [math.exp(0.5 * (np.log(least / variances).sum() - delta.sum()))]
    terms: list[float] = []
    while sum(weights) < 1 - 1e-15 and len(weights) < 2000:
        k = len(weights)
        terms.append(float((gamma**k + k * delta * (1 - gamma) * gamma ** (k - 1)).sum()) / 2)
        weights.append(float(np.dot(terms, weights[::-1])) / k)
    return float(np.dot(weights, special.chdtr(len(variances) + 2 * np.arange(len(weights)), bound / least)))


axes = st.integers(1, 8).flatmap(
    lambda p: st.tuples(
        st.lists(st.floats(0.3, 3), min_size=p, max_size=p), st.lists(st.floats(-2, 2), min_size=p, max_size=p)
    )
)


@settings(max_examples=30, deadline=None)
@given(axes, st.floats(0.1, 30))
def test_ruben_twin(drawn: tuple[list[float], list[float]], bound: float) -> None:
    variances, offsets = map(np.array, drawn)
    assert value(variances, offsets, bound) == pytest.approx(ruben(variances, offsets, bound), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("variances", "offsets", "bound", "df"),
    [([1.0], [0.7], 4.0, 3.0), ([0.5, 2.0], [1.0, -1.0], 9.0, 8.0), ([0.7, 1.0, 1.8, 0.4], [0.5, 0, 2, 1], 10.0, 40.0)],
)
def test_ruben_twin_over_the_scale_of_t(variances: Floats, offsets: Floats, bound: float, df: float) -> None:
    # P = E over v of Ruben's series with offsets sqrt(v) o and bound v c; Gauss-Legendre in sqrt(v), where it is smooth
    variances, offsets = np.array(variances), np.array(offsets)
    x, w = np.polynomial.legendre.leggauss(60)
    most = math.sqrt(special.chdtri(df, 1e-14) / df)
    r, w = most * (x + 1) / 2, most * w / 2
    w = w * 2 * r * df * stats.chi2.pdf(df * r * r, df)
    expected = math.fsum(
        wi * ruben(variances, ri * offsets, ri * ri * bound) for ri, wi in zip(r, w, strict=True) if wi > 1e-15
    )
    assert value(variances, offsets, bound, df) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-6, 6), min_size=1, max_size=30),
    st.floats(-3, 4),
    st.floats(-6, 6),
    st.sampled_from([1.0, 3.0, 1e2, 1e7, 1e12, math.inf]),
    st.integers(0, 2**32 - 1),
)
def test_properties(logs: list[float], far: float, units: float, df: float, seed: int) -> None:
    variances, bound = 10.0 ** np.array(logs), 10.0
    offsets = 10**far * np.random.default_rng(seed).normal(size=len(logs))
    found = value(variances, offsets, bound, df)
    assert value(variances[::-1], -offsets[::-1], bound, df) == pytest.approx(found, rel=1e-9, abs=1e-300)
    scaled = value(10 ** (2 * units) * variances, 10**units * offsets, 10 ** (2 * units) * bound, df)
    assert scaled == pytest.approx(found, rel=1e-9, abs=1e-300)  # no unit of measurement matters
    assert value(variances, offsets, 1.1 * bound, df) >= found * (1 - 1e-9)
    assert value(variances, offsets, 0.0, df) == 0


def test_many_degrees_of_freedom_are_normal() -> None:
    variances, offsets = np.array([0.5, 1.0, 4.0]), np.array([1.0, -2.0, 0.0])
    normal = value(variances, offsets, 7.8)
    assert value(variances, offsets, 7.8, 1e13) == pytest.approx(normal, rel=1e-11)
    assert value(variances, offsets, 7.8, 1e7) == pytest.approx(normal, rel=1e-6)


def test_what_no_number_can_hold_is_zero() -> None:
    assert value([1.0, 1.0], [1e6, 0.0], 5.99) == 0
