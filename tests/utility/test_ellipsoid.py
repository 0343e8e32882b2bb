"""Ellipsoid overlap: closed forms, four million draws, invariances, and the measure on tables."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special, stats

from sfumato import EllipsoidOverlap, Microdata, Model, Noise, NotApplicable, ParameterError
from sfumato.utility.overlap import FIRST, SECOND, Posterior, computed, drawn
from tables import incomes, numbers, weighted

Floats = NDArray[np.float64]
MODEL = "earnings ~ tax + rent + savings"


def scales(p: int, seed: int, far: float, ratio: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Two centres about ``far`` standard deviations apart, and scale matrices of relative variances up to ``ratio``."""
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.uniform(-3, 3, p)  # coefficients come in all units
    loads = rng.normal(size=(p, p)) + np.eye(p)
    first = loads @ loads.T
    root = np.linalg.cholesky(first) @ np.linalg.qr(rng.normal(size=(p, p)))[0]
    variances = ratio ** rng.uniform(-0.5, 0.5, p)
    second = (root * variances) @ root.T
    shift = root @ (np.sqrt(variances) * rng.normal(size=p)) * far / np.sqrt(p)
    scale = np.multiply.outer(units, units)
    centre = units * rng.normal(size=p)
    return centre, first * scale, centre + units * shift, second * scale


def both(p: int, seed: int, far: float, ratio: float, df: float, other: float) -> tuple[Posterior, Posterior]:
    centre, first, shifted, second = scales(p, seed, far, ratio)
    return Posterior.of(centre, first, df), Posterior.of(shifted, second, other)


def overlap(one: Posterior, two: Posterior, level: float = 0.95) -> float:
    return (computed(one, level, two).value + computed(two, level, one).value) / 2


# By reference: how many of 4,000,000 draws fell inside, drawn once by the textbook:
#   def inside(m1, S1, df1, m2, S2, df2, seed):  # S: scale matrices; radius: p F(0.95; p, df1), or the chi-square's
#       rng = np.random.default_rng(seed)
#       forty times: z = rng.standard_normal((100_000, p)) @ np.linalg.cholesky(S2).T
#                    if df2 is finite: z /= np.sqrt(rng.chisquare(df2, 100_000) / df2)[:, None]
#                    d = m2 + z - m1; count += (einsum("ij,jk,ik->i", d, np.linalg.inv(S1), d) <= radius).sum()
#   m1, S1, m2, S2 = scales(p, seed, far, ratio)
#   inside(m1, S1, df, m2, S2, other, seed), inside(m2, S2, other, m1, S1, df, 100 + seed)
@pytest.mark.parametrize(
    ("case", "counts"),
    [
        ((2, 1, 0.5, 1.5, 9994, 9994), (3736533, 3813826)),
        ((2, 2, 3, 10, 12, 20), (3631987, 2562417)),
        ((2, 3, 1, 100, 3, 3), (3832193, 3713941)),
        ((3, 4, 2, 2, math.inf, math.inf), (1217598, 1485794)),
        ((6, 5, 0.5, 1.2, 9994, 9994), (3758850, 3788167)),
        ((6, 6, 2, 4, 50, 40), (2788122, 3441026)),
        ((6, 7, 5, 2, math.inf, math.inf), (995537, 854076)),
        ((10, 8, 1, 1.5, 1069, 1069), (3570647, 3617681)),
        ((10, 9, 3, 30, 15, 1e4), (3533359, 598333)),
        ((20, 10, 1, 1.1, 1e5, 1e5), (3677797, 3665612)),
        ((20, 11, 2, 3, 40, 60), (3636260, 3183987)),
        ((30, 12, 1, 2, math.inf, math.inf), (3605709, 3717421)),
    ],
)
def test_four_million_draws_by_reference(
    case: tuple[int, int, float, float, float, float], counts: tuple[int, int]
) -> None:
    one, two = both(*case)
    found = computed(one, 0.95, two), computed(two, 0.95, one)
    for probability, count in zip(found, counts, strict=True):
        value = probability.value
        # 24 comparisons: one beyond 3.3 standard errors would be a surprise (2 %)
        assert abs(count / 4e6 - value) < 3.3 * math.sqrt(value * (1 - value) / 4e6)
        assert probability.error < 1e-10


@pytest.mark.parametrize("case", [(2, 1, 1, 3, 9994, 9994), (6, 2, 2, 4, 50, 40), (20, 3, 2, 1.5, math.inf, 1e3)])
def test_our_draws_agree_with_what_is_computed(case: tuple[int, int, float, float, float, float]) -> None:
    one, two = both(*case)
    found = drawn(one, 0.95, two, 200_000, np.random.default_rng(7))
    assert abs(found.value - computed(one, 0.95, two).value) < 4 * found.error


@pytest.mark.parametrize("p", [1, 2, 6, 10, 20, 30])
@pytest.mark.parametrize("df", [3.0, 50.0, 1e4, 1e7, math.inf])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_equal_posteriors_give_the_level_by_theory(p: int, df: float, level: float) -> None:
    one, _ = both(p, p, 1.0, 1.0, df, df)
    # with 1e7 degrees of freedom scipy's quantile of F is good to 1e-11 only
    assert computed(one, level, one).value == pytest.approx(level, abs=1e-10 if df == 1e7 else 1e-12)


@pytest.mark.parametrize("p", [2, 6, 20])
@pytest.mark.parametrize("df", [5.0, 200.0, math.inf])
@pytest.mark.parametrize("c", [0.1, 0.8, 1.5, 40.0])
def test_one_centre_and_proportional_scales_by_theory(p: int, df: float, c: float) -> None:
    # b = m + sqrt(c) S^(1/2) t, so the form is c p F(p, df): inside with the probability that F <= quantile / c
    centre, first, _, _ = scales(p, 3, 0.0, 1.0)
    one, two = Posterior.of(centre, first, df), Posterior.of(centre, c * first, df)
    if math.isinf(df):
        expected = special.chdtr(p, special.chdtri(p, 0.05) / c)
    else:
        expected = special.fdtr(p, df, special.fdtri(p, df, 0.95) / c)
    assert computed(one, 0.95, two).value == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("shift", "deviation"), [(0.0, 1.0), (1.5, 0.7), (4.0, 2.0), (30.0, 1.0)])
@pytest.mark.parametrize(("df", "other"), [(8.0, 8.0), (1000.0, 30.0), (math.inf, math.inf)])
def test_one_coefficient_is_an_interval_by_theory(shift: float, deviation: float, df: float, other: float) -> None:
    one = Posterior.of(np.array([2.0]), np.array([[9.0]]), df)
    two = Posterior.of(np.array([2.0 + 3 * shift]), np.array([[9.0 * deviation**2]]), other)
    half = stats.t(df).ppf(0.975) if math.isfinite(df) else stats.norm.ppf(0.975)  # in units of 3
    t = stats.t(other) if math.isfinite(other) else stats.norm
    expected = t.sf((shift - half) / deviation) - t.sf((shift + half) / deviation)
    assert computed(one, 0.95, two).value == pytest.approx(expected, rel=1e-10)


def test_far_apart_to_full_digits_by_theory() -> None:
    # two normals of unit covariance, 12 apart in six dimensions: the non-central chi-square at 12.59, about 6e-19
    one = Posterior.of(np.zeros(6), np.eye(6), math.inf)
    two = Posterior.of(np.full(6, 12 / math.sqrt(6)), np.eye(6), math.inf)
    expected = stats.ncx2.cdf(special.chdtri(6, 0.05), 6, 144.0)
    assert 1e-19 < expected < 1e-18
    assert overlap(one, two) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(0, 10**6),
    st.floats(-2, 1.5).map(lambda x: 10**x),
    st.floats(0, 3).map(lambda x: 10**x),
    st.sampled_from([3.0, 30.0, 1e7, math.inf]),
)
def test_invariances(p: int, seed: int, far: float, ratio: float, df: float) -> None:
    rng = np.random.default_rng(seed)
    turns = [np.linalg.qr(rng.normal(size=(p, p)))[0] for _ in range(3)]
    first = turns[0] * 3 ** rng.uniform(-1, 1, p)  # square roots of the scale matrices
    second = first @ turns[1] * np.sqrt(ratio ** rng.uniform(-0.5, 0.5, p))
    shift = second @ rng.normal(size=p) * far

    def posteriors(contrasts: Floats) -> tuple[Posterior, Posterior]:
        one, two = contrasts @ first, contrasts @ second
        return (
            Posterior.of(np.zeros(p), one @ one.T, df),
            Posterior.of(contrasts @ shift, two @ two.T, 20.0),
        )

    one, two = posteriors(np.eye(p))
    value = overlap(one, two)
    assert 0 <= value <= 1
    assert overlap(two, one) == value  # the files may change places
    # other contrasts of the same coefficients, in other units; matrices of condition 1e5 keep some ten digits
    moved = posteriors(10.0 ** rng.uniform(-8, 8, p)[:, None] * (turns[2] * 2 ** rng.uniform(-1, 1, p)))
    assert overlap(*moved) == pytest.approx(value, rel=1e-6, abs=1e-15)


# the measure


def test_identical_tables_give_the_level() -> None:
    data = incomes()
    for level in (0.8, 0.95, 0.99):
        found = EllipsoidOverlap(MODEL, level=level).evaluate(data, data)
        assert found.value == pytest.approx(level, abs=1e-12)
        assert found.range == (0.0, level)
        assert found.parts == {FIRST: pytest.approx(level), SECOND: pytest.approx(level)}
        assert found.notes == ()


def test_against_the_textbook_from_the_tables_on() -> None:
    # least squares and posteriors by their formulas, probabilities by draws
    data, masked = incomes(), Noise(0.3).protect(incomes(), rng=3)
    found = EllipsoidOverlap(MODEL).evaluate(data, masked)
    fits = []
    for table in (data, masked):
        y = table.columns["earnings"]
        X = np.column_stack([np.ones(200), *(table.columns[n] for n in ("tax", "rent", "savings"))])
        b = np.linalg.lstsq(X, y, rcond=None)[0]
        fits.append((b, X.T @ X * 196 / ((y - X @ b) @ (y - X @ b))))
    rng = np.random.default_rng(4)
    for (centre, precision), (other, others), part in ((fits[0], fits[1], FIRST), (fits[1], fits[0], SECOND)):
        z = rng.multivariate_normal(np.zeros(4), np.linalg.inv(others), 200_000)
        d = other + z / np.sqrt(rng.chisquare(196, 200_000) / 196)[:, None] - centre
        share = (np.einsum("ij,jk,ik->i", d, precision, d) <= 4 * stats.f.ppf(0.95, 4, 196)).mean()
        assert found.parts[part] == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 200_000) + 1e-5)
    assert found.value == pytest.approx((found.parts[FIRST] + found.parts[SECOND]) / 2)
    assert 0 < found.value < 0.95


def test_drawing_agrees_and_says_its_error() -> None:
    data, masked = incomes(), Noise(0.1).protect(incomes(), rng=3)
    exact = EllipsoidOverlap(MODEL).evaluate(data, masked).value
    measure = EllipsoidOverlap(MODEL, monte_carlo=50_000)
    assert measure.about.random and not EllipsoidOverlap(MODEL).about.random
    found = measure.evaluate(data, masked, rng=1)
    assert found.value == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 100_000))
    assert measure.evaluate(data, masked, rng=1).value == found.value
    assert any("50,000 draws" in note and "standard error" in note for note in found.notes)
    assert repr(measure) == f"EllipsoidOverlap(model={MODEL!r}, monte_carlo=50000)"


def test_several_models_are_averaged_by_their_weights() -> None:
    data, masked = incomes(), Noise(0.2).protect(incomes(), rng=3)
    single = [EllipsoidOverlap(m).evaluate(data, masked).value for m in (MODEL, "tax ~ rent")]
    found = EllipsoidOverlap((MODEL, Model("tax ~ rent", weight=3))).evaluate(data, masked)
    assert found.value == pytest.approx((single[0] + 3 * single[1]) / 4)
    assert found.parts[MODEL] == pytest.approx(single[0])
    assert found.parts["tax ~ rent"] == pytest.approx(single[1])


@pytest.mark.parametrize("family", ["logistic", "poisson"])
def test_other_families_have_normal_posteriors(family: str) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=400)
    y = rng.binomial(1, 1 / (1 + np.exp(-x))) if family == "logistic" else rng.poisson(np.exp(0.5 * x))
    data, masked = numbers(y=y.astype(float), x=x), numbers(y=y.astype(float), x=x + 0.1 * rng.normal(size=400))
    model = Model("y ~ x", family=family)  # type: ignore[arg-type]
    assert EllipsoidOverlap(model).evaluate(data, data).value == pytest.approx(0.95, abs=1e-12)
    exact = EllipsoidOverlap(model).evaluate(data, masked).value
    drawn_value = EllipsoidOverlap(model, monte_carlo=100_000).evaluate(data, masked, rng=1).value
    assert exact == pytest.approx(drawn_value, abs=0.005)
    assert 0 < exact < 0.95


def test_it_falls_with_the_noise_and_with_the_number_of_records() -> None:
    def value(scale: float, n: int = 200) -> float:
        data = incomes(n)
        return EllipsoidOverlap(MODEL).evaluate(data, Noise(scale).protect(data, rng=1)).value

    assert 0.95 > value(0.05) > value(0.2) > value(0.8) > 0
    assert value(0.3, 5000) < value(0.3, 200)


def test_survey_weights_count() -> None:
    data, masked = incomes(), Noise(0.3).protect(incomes(), rng=3)
    w = np.random.default_rng(0).uniform(1, 5, 200)
    found = EllipsoidOverlap(MODEL).evaluate(weighted(data, w), weighted(masked, w))
    assert found.value != pytest.approx(EllipsoidOverlap(MODEL).evaluate(data, masked).value, rel=1e-3)
    assert any("robust" in note for note in found.notes)


def test_more_than_the_level_is_noted() -> None:
    # means of 4 and of 10,000 records: 3 and 9,999 degrees of freedom. Standard errors sqrt(1/3) and 1.4 sqrt(1/3)
    few, many = [-1.0, -1.0, 1.0, 1.0], np.tile([-1.0, 1.0], 5000) * 1.4 * math.sqrt(9999 / 3)
    found = EllipsoidOverlap("y ~ 1").evaluate(numbers(y=few), numbers(y=many))
    first = 1 - 2 * stats.t.sf(stats.t.ppf(0.975, 3) / 1.4, 9999)  # 0.977
    second = 1 - 2 * stats.t.sf(stats.t.ppf(0.975, 9999) * 1.4, 3)  # 0.929
    assert found.parts == {FIRST: pytest.approx(first), SECOND: pytest.approx(second)}
    assert found.value == 0.95
    assert f"the mean is {(first + second) / 2:.4g};" in found.notes[-1]  # 0.953


def test_refusals() -> None:
    for level in (0.0, 1.0, 95):
        with pytest.raises(ParameterError, match="EllipsoidOverlap: level must be"):
            EllipsoidOverlap(MODEL, level=level)
    for draws in (10, 1e5, True):
        with pytest.raises(ParameterError, match="EllipsoidOverlap: monte_carlo must be a whole number"):
            EllipsoidOverlap(MODEL, monte_carlo=draws)  # type: ignore[arg-type]
    data = incomes()
    with pytest.raises(NotApplicable, match=r"EllipsoidOverlap: .*savings"):
        EllipsoidOverlap(MODEL).evaluate(data, Microdata.from_frame(data.to_arrow().drop_columns(["savings"])))


def test_a_fit_without_residuals_has_no_ellipsoid() -> None:
    exact = Microdata.from_frame(pa.table({"y": [0.0] * 8, "x": np.arange(8.0)}))
    noisy = Microdata.from_frame(pa.table({"y": np.arange(8.0) % 3, "x": np.arange(8.0)}))
    with pytest.raises(NotApplicable, match=r"EllipsoidOverlap: .*y ~ x.* protected table"):
        EllipsoidOverlap("y ~ x").evaluate(noisy, exact)
