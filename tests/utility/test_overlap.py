"""Interval overlap and changed conclusions: by hand, by theory, and what is refused."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from propensity_tables import by_formula
from scipy import stats

from sfumato import (
    ConclusionChanges,
    IntervalOverlap,
    Microdata,
    Model,
    Noise,
    NotApplicable,
    ParameterError,
    catalogue,
    find,
)
from sfumato.utility.models import BothFits, Fit
from sfumato.utility.overlap import combined
from tables import incomes, numbers, weighted

Y = Model("y ~ 1")


def posterior(low: float, high: float, free: float = math.inf) -> Fit:
    """A fit of one coefficient with this 95 % interval."""
    quantile = stats.t.ppf(0.975, free)
    error = (high - low) / 2 / quantile
    return Fit(Y, ("Intercept",), np.array([(low + high) / 2]), np.array([[error**2]]), free, 100)


def overlap(first: tuple[float, float], second: tuple[float, float], **parameters: Any) -> float:
    measure = IntervalOverlap(**parameters)
    return float(measure._overlaps(BothFits(posterior(*first), posterior(*second)))[0])


def test_the_papers_example_ranks_as_it_says() -> None:
    wide, narrower = overlap((8, 10), (-12, 30)), overlap((8, 10), (3, 15))
    assert narrower > wide
    # by hand, for (3, 15): the original's mean is 9 and its error 1 / 1.95996: nearly all of it lies in (3, 15);
    # the release has error 6 / 1.95996, and (8, 10) is 1/6 of its half-length either side
    z = stats.norm.ppf(0.975)
    assert narrower == pytest.approx((1 + 2 * stats.norm.cdf(z / 6) - 1) / 2, abs=1e-12)
    assert wide == pytest.approx((1 + 2 * stats.norm.cdf(z / 21) - 1) / 2, abs=1e-12)


def test_lengths_by_hand() -> None:
    # (0, 4) and (3, 5): one in common, 1/4 and 1/2
    assert overlap((0, 4), (3, 5), kind="length") == pytest.approx(0.375, rel=1e-12)
    # (0, 4) and (6, 8): minus two in common, -2/4 and -2/2
    assert overlap((0, 4), (6, 8), kind="length") == pytest.approx(-0.75, rel=1e-12)
    assert overlap((0, 4), (6, 8), kind="length", clip=True) == 0.0


def test_probabilities_of_a_t_against_its_integral() -> None:
    from scipy.integrate import quad

    before, after = posterior(0, 4, 5), posterior(1, 9, 7)
    found = IntervalOverlap()._overlaps(BothFits(before, after))[0]
    by_integral = [
        quad(stats.t(f.degrees_of_freedom, f.coefficients[0], f.standard_errors[0]).pdf, low, high)[0]
        for f, low, high in ((before, 1, 9), (after, 0, 4))
    ]
    assert found == pytest.approx(np.mean(by_integral), abs=1e-9)


def test_the_penalty_tells_the_bad_from_the_worse() -> None:
    near, far = ((20, 22), (40, 42))
    assert overlap((0, 2), near) == pytest.approx(0, abs=1e-12) == overlap((0, 2), far)
    assert overlap((0, 2), near, penalty=True) == pytest.approx(-9)  # a gap of 18, in lengths of 2
    assert overlap((0, 2), far, penalty=True) == pytest.approx(-19)
    assert overlap((0, 2), (1, 3), penalty=True) == overlap((0, 2), (1, 3))
    # the estimates are 1 and 21, 1 and 41: 20 and 40 apart, in lengths of 2
    assert overlap((0, 2), near, penalty=True, distance="estimates") == pytest.approx(-10)
    assert overlap((0, 2), far, penalty=True, distance="estimates") == pytest.approx(-20)
    assert overlap((0, 2), (1, 3), penalty=True, distance="estimates") == overlap((0, 2), (1, 3))
    # far in the tail a probability keeps its digits instead of vanishing
    assert 0 < overlap((0, 2), near) < 1e-60


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("model", [None, "earnings ~ tax + C(region)", Model("I(tax > 20) ~ rent", family="logistic")])
def test_identical_tables_have_the_level_and_whole_lengths(level: float, model: Any) -> None:
    data = incomes()
    found = IntervalOverlap(model, level=level).evaluate(data, data)
    assert found.value == pytest.approx(level, abs=1e-12) and found.range == (0.0, level)
    length = IntervalOverlap(model, kind="length", level=level).evaluate(data, data)
    assert length.value == pytest.approx(1.0, abs=1e-12) and length.range == (-np.inf, 1.0)
    changes = ConclusionChanges(model, level=level).evaluate(data, data)
    assert changes.value == 0.0


def test_a_regression_by_hand() -> None:
    # means of four: 2 and 3, variances 20/3 / 4 = 5/3 in both (0, 1, 2, 5 has squares 4 + 1 + 0 + 9 = 14, 14/12 = 7/6)
    before, after = numbers(y=[0.0, 1.0, 2.0, 5.0]), numbers(y=[1.0, 2.0, 3.0, 6.0])
    error, quantile = math.sqrt(7 / 6), stats.t.ppf(0.975, 3)
    inside = stats.t.cdf(quantile + 1 / error, 3) - stats.t.cdf(-quantile + 1 / error, 3)
    found = IntervalOverlap("y ~ 1").evaluate(before, after)
    assert found.value == pytest.approx(inside, rel=1e-9)
    assert found.parts == {"b[Intercept]": pytest.approx(inside, rel=1e-9)}
    # lengths 2 q s, of which 1 is not in common
    length = IntervalOverlap("y ~ 1", kind="length").evaluate(before, after)
    assert length.value == pytest.approx(1 - 1 / (2 * quantile * error), rel=1e-12)
    table = IntervalOverlap("y ~ 1").table(before, after, kind="pyarrow").to_pylist()
    assert table[0]["original estimate"] == pytest.approx(2) and table[0]["protected estimate"] == pytest.approx(3)
    assert table[0]["original high"] == pytest.approx(2 + quantile * error)
    assert table[0]["overlap"] == pytest.approx(inside)


def test_several_models_are_averaged_by_their_weights() -> None:
    data, masked = incomes(), Noise(0.3).protect(incomes(), rng=1)
    first, second = Model("earnings ~ tax", weight=3.0), Model("rent ~ savings + C(region)")
    together = IntervalOverlap([first, second]).evaluate(data, masked)
    alone = [IntervalOverlap(model).evaluate(data, masked) for model in (first, second)]
    assert together.value == pytest.approx((3 * alone[0].value + alone[1].value) / 4, rel=1e-12)
    assert together.parts["earnings ~ tax"] == pytest.approx(alone[0].value)
    assert together.parts["earnings ~ tax: b[tax]"] == pytest.approx(alone[0].parts["b[tax]"])
    assert alone[1].value == pytest.approx(np.mean(list(alone[1].parts.values())))  # (4)


def test_the_default_compares_each_variable_with_each_other() -> None:
    data, masked = incomes(), Noise(0.3).protect(incomes(), rng=1)
    names = ("earnings", "tax", "rent")
    listed = [f"{a} ~ {b}" for a in names for b in names if a != b]
    plain = IntervalOverlap(variables=names).evaluate(data, masked)
    assert plain.value == pytest.approx(IntervalOverlap(listed).evaluate(data, masked).value, rel=1e-12)
    assert set(plain.by_variable) == set(names)


def test_weights_are_used_and_said() -> None:
    data, masked = incomes(), Noise(0.3).protect(incomes(), rng=1)
    w = np.random.default_rng(0).uniform(1, 9, len(data))
    found = IntervalOverlap("earnings ~ tax").evaluate(weighted(data, w), weighted(masked, w))
    assert found.value != pytest.approx(IntervalOverlap("earnings ~ tax").evaluate(data, masked).value, rel=1e-6)
    assert any("robust standard errors" in note for note in found.notes)


def test_copies_are_combined_by_the_rule_named() -> None:
    # estimates 1, 2, 3 with variances 0.5 each: mean 2, within 0.5, between 1, m = 3, four thirds and a third of it
    fits = [Fit(Y, ("Intercept",), np.array([q]), np.array([[0.5]]), math.inf, 50) for q in (1.0, 2.0, 3.0)]
    rubin, partially, fully = (combined(fits, r, 100) for r in ("rubin", "reiter partially", "reiter fully"))
    assert all(one.coefficients[0] == 2.0 for one in (rubin, partially, fully))
    assert rubin.covariance[0, 0] == pytest.approx(0.5 + 4 / 3)
    assert rubin.degrees_of_freedom == pytest.approx(2 * (1 + 0.5 / (4 / 3)) ** 2)
    assert partially.covariance[0, 0] == pytest.approx(0.5 + 1 / 3)
    assert partially.degrees_of_freedom == pytest.approx(2 * (1 + 0.5 / (1 / 3)) ** 2)
    assert fully.covariance[0, 0] == pytest.approx(4 / 3 - 0.5)
    assert fully.degrees_of_freedom == pytest.approx(2 * (1 - 0.5 / (4 / 3)) ** 2)
    # the between variance too small for the third rule: u times 50 / 100
    close = [Fit(Y, ("Intercept",), np.array([q]), np.array([[0.5]]), 40.0, 50) for q in (2.0, 2.1)]
    assert combined(close, "reiter fully", 100).covariance[0, 0] == pytest.approx(0.25)
    half = stats.t.ppf(0.975, rubin.degrees_of_freedom) * math.sqrt(0.5 + 4 / 3)
    assert [float(end[0]) for end in rubin.interval()] == pytest.approx([2 - half, 2 + half])


@pytest.mark.parametrize("rule", ["rubin", "reiter partially", "reiter fully"])
def test_copies_equal_to_the_original_overlap_wholly(rule: Any) -> None:
    data = incomes()
    found = IntervalOverlap("earnings ~ tax").evaluate_copies(data, [data, data, data], combine=rule)
    assert found.value == pytest.approx(0.95, abs=1e-12) and any(rule in note for note in found.notes)
    noisy = [Noise(0.2).protect(data, rng=seed) for seed in range(5)]
    assert IntervalOverlap("earnings ~ tax").evaluate_copies(data, noisy, combine=rule).value < 0.95
    with pytest.raises(ParameterError, match="at least two copies"):
        IntervalOverlap("earnings ~ tax").evaluate_copies(data, [data], combine=rule)
    with pytest.raises(ParameterError, match="combine must be one of"):
        IntervalOverlap().evaluate_copies(data, noisy, combine="mean")  # type: ignore[arg-type]


def test_conclusions_that_change() -> None:
    rng = np.random.default_rng(0)
    x = {name: rng.normal(size=500) for name in "abcd"}
    noise = rng.normal(size=500)
    before = pa.table({**x, "y": 2 * x["a"] + 2 * x["b"] + 2 * x["c"] + noise + 10})
    after = pa.table({**x, "y": 2 * x["a"] - 2 * x["b"] + 2 * x["d"] + noise + 10})
    measure = ConclusionChanges("y ~ a + b + c + d")
    found = measure.evaluate(before, after)
    assert found.value == pytest.approx(3 / 5)
    assert found.parts == {
        "sign switched": pytest.approx(1 / 5),
        "significance lost": pytest.approx(1 / 5),
        "significance gained": pytest.approx(1 / 5),
    }
    rows = measure.table(before, after).to_pylist()
    assert {row["coefficient"]: row["change"] for row in rows} == {
        "Intercept": "same",
        "a": "same",
        "b": "sign switched",
        "c": "significance lost",
        "d": "significance gained",
    }
    assert sum("b[b]" in note for note in found.notes) == 1


def test_a_switched_estimate_need_not_be_significant() -> None:
    # estimate 3 with (1, 5), then: -1 with (-3, 1), -3 with (-5, -1), 1 with (-1, 3); and (-1, 5), then (-5, 1)
    before = [posterior(1, 5), posterior(1, 5), posterior(1, 5), posterior(-1, 5)]
    after = [posterior(-3, 1), posterior(-5, -1), posterior(-1, 3), posterior(-5, 1)]
    expected = {
        "significant in both": ["significance lost", "sign switched", "significance lost", "same"],
        "estimate": ["sign switched", "sign switched", "significance lost", "same"],
    }
    for switch, changes in expected.items():
        measure = ConclusionChanges(switch=switch)  # type: ignore[arg-type]
        found = [measure._changes(BothFits(*fits))[0] for fits in zip(before, after, strict=True)]
        assert found == changes


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.1, 5)), min_size=2, max_size=2))
def test_what_counts_as_a_switch_does_not_change_how_much_changes(fits: list[tuple[float, float]]) -> None:
    both = BothFits(*(posterior(centre - half, centre + half) for centre, half in fits))
    first, second = (ConclusionChanges(switch=s)._changes(both)[0] for s in ("significant in both", "estimate"))
    assert (first == "same") == (second == "same")
    assert second == first or (first, second) == ("significance lost", "sign switched")
    turned = BothFits(both.protected, both.original)
    gaps = [IntervalOverlap(penalty=True, distance=d)._overlaps(both)[0] for d in ("gap", "estimates")]
    # estimates are never nearer than the gap between their intervals
    assert gaps[1] <= gaps[0] + 1e-12 and np.isfinite(IntervalOverlap(penalty=True)._overlaps(turned)[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"distance": "estimates"}, "give penalty=True"),
        ({"penalty": True, "distance": "far"}, "distance must be one of"),
        ({"model": "y ~ x", "variables": ("x",)}, "model or variables, not both"),
        ({"model": ()}, "the list of models is empty"),
        ({"model": 3}, "model must be a formula text"),
        ({"model": ["y ~ x", 3]}, "a model is a formula text or a Model; got 3"),
        ({"model": ["y ~ x", "y ~ x"]}, "is listed twice"),
        ({"model": "y ~ +* x"}, "IntervalOverlap: cannot read the model"),
        ({"level": 95}, r"level must be in \(0, 1\]; got 95 \(did you mean 0.95\?\)"),
        ({"level": 1.0}, "below 1"),
        ({"kind": "area"}, "kind must be one of"),
        ({"kind": "length", "penalty": True}, "the penalty is for"),
        ({"clip": True}, "clip is for"),
    ],
)
def test_parameters_that_cannot_be_right(parameters: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        IntervalOverlap(**parameters)


def test_texts_build_models_too() -> None:
    for made in (
        IntervalOverlap("a ~ b"),
        IntervalOverlap(Model("a ~ b", family="poisson", weight=2.0), kind="length"),
        ConclusionChanges(("a ~ b", Model("c ~ b", family="logistic"))),
    ):
        assert catalogue.parse(repr(made)) == [made]
        assert hash(made) == hash(catalogue.parse(repr(made))[0])
    with pytest.raises(ParameterError, match=r"Model got .*famly.*its parameters are formula, family, weight"):
        catalogue.parse("IntervalOverlap(Model('a ~ b', famly='poisson'))")
    assert find("IntervalOverlap") is IntervalOverlap


def test_refusals_name_the_measure_the_model_and_the_term() -> None:
    data = incomes()
    masked = Microdata.from_frame(data.to_arrow().drop_columns(["tax"]))
    with pytest.raises(NotApplicable, match="IntervalOverlap: model 'earnings ~ tax': the protected table has no"):
        IntervalOverlap("earnings ~ tax").evaluate(data, masked)
    with pytest.raises(NotApplicable, match=r"ConclusionChanges: model 'earnings ~ taxx': .* did you mean 'tax'"):
        ConclusionChanges("earnings ~ taxx").evaluate(data, data)


def test_the_ci_overlap_of_synthpop() -> None:
    """By reference: R 4.2, the formulas of ``compare.fit.synds`` and ``compare.CI`` (synthpop 1.8).

    i <- 1:2000; r <- as.numeric(i > 1000); x <- (i * 7919) %% 10007 / 100; y <- (i * i) %% 9973 / 100 * (1 + 0.25 * r)
    z <- (i * 31) %% 17 + r * (i %% 2); d <- data.frame(x, y, z, h = as.numeric(y + z > 60))
    o <- d[1:1000, ]; m <- d[1001:1400, ]
    overlap <- function(real, syn, level = 0.95) { z <- qnorm(1 - (1 - level) / 2)
      b <- real$coefficients; s <- syn$coefficients[, 1]
      lo <- pmax(b[, 1] - z * b[, 2], s - z * b[, 2]); up <- pmin(b[, 1] + z * b[, 2], s + z * b[, 2])
      0.5 * ((up - lo) / (2 * z * b[, 2]) + (up - lo) / (2 * z * b[, 2])) }
    overlap(summary(lm(y ~ x + z, o)), summary(lm(y ~ x + z, m)))
    logit <- function(d) summary(glm(h ~ x + z, binomial, d, control = list(epsilon = 1e-14)))
    overlap(logit(o), logit(m))
    """
    original, protected = by_formula()
    few = protected.take(np.arange(400))
    measures = [
        IntervalOverlap(model, kind="length", errors="original", posterior="normal")
        for model in ("y ~ x + z", Model("I(y + z > 60) ~ x + z", family="logistic"))
    ]
    expected = [
        (-0.745230434671, 0.365886306377, 0.210666824616),
        (0.214228757206, 0.190400970844, 0.369261752699),
    ]
    for measure, numbers_ in zip(measures, expected, strict=True):
        found = measure.evaluate(original, few)
        assert list(found.parts.values()) == pytest.approx(numbers_, rel=1e-9)
        assert found.value == pytest.approx(np.mean(numbers_), rel=1e-9)


def test_the_originals_errors_leave_the_estimates_alone_to_decide() -> None:
    """By hand: intervals (0, 4) and (3, 5) have the middles 2 and 4; with the first's length, 2 of 4 are in common."""
    before, after = posterior(0, 4), posterior(3, 5)
    fits = IntervalOverlap(kind="length", errors="original")._with_errors(BothFits(before, after))
    low, high = fits.protected.interval()
    assert (low[0], high[0]) == (pytest.approx(2), pytest.approx(6))
    assert IntervalOverlap(kind="length")._overlaps(fits)[0] == pytest.approx(0.5)
    wide = IntervalOverlap(posterior="normal")._with_errors(BothFits(posterior(0, 4, 3), posterior(0, 4, 3)))
    quantiles = stats.norm.ppf(0.975) / stats.t.ppf(0.975, 3)
    assert wide.original.interval()[1][0] == pytest.approx(2 + 2 * quantiles)
    data, masked = incomes(), Noise(0.2).protect(incomes(), rng=1)
    table = IntervalOverlap("earnings ~ tax", errors="original").table(data, masked)
    assert list(table["protected standard error"]) == pytest.approx(list(table["original standard error"]))
    with pytest.raises(ParameterError, match="errors must be one of"):
        IntervalOverlap(errors="both")  # type: ignore[arg-type]
