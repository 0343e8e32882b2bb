"""Pitman's sampling formula: by brute force, by closed forms, by the two equations in print; uniques by name."""

from functools import cache
from math import comb, exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import betaln, gammaln
from scipy.stats import binom, hypergeom, nbinom

from sfumato.kernels.population import (
    Pitman,
    Spectrum,
    dankar,
    digamma_rise,
    fitted,
    log_rise,
    pitman,
    poisson_inverse,
    shlosser,
    snb,
    zayatz,
)


def spectrum(**number: int) -> Spectrum:
    """``spectrum(one=3, two=1)``: three classes of one unit and one of two."""
    words = {"one": 1, "two": 2, "three": 3, "four": 4, "nine": 9}
    return Spectrum(np.array([float(words[w]) for w in number]), np.array([float(n) for n in number.values()]))


# brute force: every sequence of classes that an urn can draw


def sequences(theta: float, a: float, units: int) -> dict[tuple[int, ...], float]:
    """The probability of the class sizes, in the order in which classes appeared, after so many units."""
    found: dict[tuple[int, ...], float] = {(1,): 1.0}
    for n in range(1, units):
        then: dict[tuple[int, ...], float] = {}
        for sizes, p in found.items():
            opened = (*sizes, 1)
            then[opened] = then.get(opened, 0.0) + p * (theta + a * len(sizes)) / (theta + n)
            for k, f in enumerate(sizes):
                joined = (*sizes[:k], f + 1, *sizes[k + 1 :])
                then[joined] = then.get(joined, 0.0) + p * (f - a) / (theta + n)
        found = then
    return found


@cache
def continued(theta: float, a: float, sizes: tuple[int, ...], more: int) -> dict[tuple[int, ...], float]:
    """The same for units that come after a sample with these classes."""
    found = {sizes: 1.0}
    for n in range(sum(sizes), sum(sizes) + more):
        then: dict[tuple[int, ...], float] = {}
        for have, p in found.items():
            opened = (*have, 1)
            then[opened] = then.get(opened, 0.0) + p * (theta + a * len(have)) / (theta + n)
            for k, f in enumerate(have):
                joined = (*have[:k], f + 1, *have[k + 1 :])
                then[joined] = then.get(joined, 0.0) + p * (f - a) / (theta + n)
        found = then
    return found


MODELS = [(1.0, 0.0), (2.5, 0.3), (-0.2, 0.5), (0.7, 0.9)]


@pytest.mark.parametrize(("theta", "a"), MODELS)
def test_the_likelihood_is_that_of_every_sequence(theta: float, a: float) -> None:
    # ratios of the likelihoods of two sets of class sizes, where the number of orders is the same for both models
    model, units = Pitman(theta, a), 5
    every = sequences(theta, a, units)
    assert sum(every.values()) == pytest.approx(1)
    flat = Pitman(1.0, 0.0)
    other = sequences(1.0, 0.0, units)
    for one, two in (((2, 2, 1), (3, 1, 1)), ((1, 1, 1, 1, 1), (5,)), ((4, 1), (2, 1, 1, 1))):
        by_hand = np.log(every[one] / every[two]) - np.log(other[one] / other[two])
        first, second = (Spectrum.of(np.array(sizes)) for sizes in (one, two))
        ours = model.log_likelihood(first) - model.log_likelihood(second)
        ours -= flat.log_likelihood(first) - flat.log_likelihood(second)
        assert ours == pytest.approx(by_hand, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("theta", "a"), MODELS)
@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (3, 1, 1)])
def test_what_is_expected_after_a_sample_is_that_of_every_sequence(
    theta: float, a: float, sizes: tuple[int, ...]
) -> None:
    model, n, more = Pitman(theta, a), sum(sizes), 5
    every = continued(theta, a, sizes, more)
    for k, f in enumerate(sizes):
        inverse = sum(p / after[k] for after, p in every.items())
        found = model.expected_inverse(np.array([float(f)]), n, n + more)[0]
        assert found == pytest.approx(inverse, rel=1e-12)
        if f == 1:
            alone = sum(p for after, p in every.items() if after[k] == 1)
            assert model.alone(n, n + more) == pytest.approx(alone, rel=1e-12)
    new = sum(p * (len(after) - len(sizes)) for after, p in every.items())
    assert model.new_classes(n, len(sizes), more) == pytest.approx(new, rel=1e-12)
    once = sum(p * sum(size == 1 for size in after) for after, p in every.items())
    seen = Spectrum.of(np.array(sizes))
    fit = fitted(seen)
    if fit is not None:  # the same with the model in place of the fitted one
        exact = pitman(type(fit)(seen, model, 0.0), n + more)
        assert exact == pytest.approx(once, rel=1e-9)


def test_a_beta_binomial_by_hand() -> None:
    # n = 2 in two classes, N = 3, theta = 1, a = 1/2: the third joins either class with probability (1 - 1/2) / 3 = 1/6
    # so E(1/F) = 5/6 + 1/6 / 2 = 11/12, and of the class alone P(F = 1) = 5/6
    model = Pitman(1.0, 0.5)
    assert model.expected_inverse(np.array([1.0]), 2, 3)[0] == pytest.approx(11 / 12)
    assert model.alone(2, 3) == pytest.approx(5 / 6)
    assert model.new_classes(2, 2, 1) == pytest.approx((1 + 0.5 * 2) / 3)


@pytest.mark.parametrize(("f", "n", "more"), [(1, 50, 20_000), (7, 300, 100_000), (49, 900, 60_000), (60, 400, 30_000)])
@pytest.mark.parametrize(("theta", "a"), [(40.0, 0.0), (25.0, 0.6), (3.0, 0.95)])
def test_the_mean_inverse_is_the_sum_over_all_class_sizes(f: int, n: int, more: int, theta: float, a: float) -> None:
    j = np.arange(more + 1)
    first, other = f - a, n - f + theta + a
    logs = gammaln(more + 1) - gammaln(j + 1) - gammaln(more - j + 1) + betaln(first + j, other + more - j)
    mass = np.exp(logs - betaln(first, other))
    assert mass.sum() == pytest.approx(1, rel=1e-8)
    found = Pitman(theta, a).expected_inverse(np.array([float(f)]), n, n + more)[0]
    assert found == pytest.approx(float((mass / (f + j)).sum()), rel=1e-7)


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(1, 400), st.integers(0, 5_000), st.floats(0.01, 500), st.floats(0, 0.99))
def test_a_chance_is_between_its_bounds(f: int, rest: int, more: int, theta: float, a: float) -> None:
    n = f + rest
    found = Pitman(theta, a).expected_inverse(np.array([f, f + 1.0]), n, n + more)
    # Jensen: E(1/F) >= 1/E(F), E(F) = f + more (f - a) / (n + theta)
    assert 1 / (f + more * (f - a) / (n + theta)) * (1 - 1e-9) <= found[0] <= 1 / f * (1 + 1e-12)
    assert found[1] <= found[0] * (1 + 1e-9)


# the fit


def test_the_gradient_is_that_of_the_likelihood_and_the_two_equations_in_print() -> None:
    found = spectrum(one=30, two=9, three=4, nine=2)
    fit = fitted(found)
    assert fit is not None and fit.model.a > 0
    theta, a, u, n = fit.model.theta, fit.model.a, int(found.classes), int(found.units)
    # Pitman 1996, as in Hoshino 2001: both sums are equal at the estimates
    first = sum(1 / (theta + i * a) for i in range(1, u)) - sum(1 / (theta + i) for i in range(1, n))
    joined = sum(c * sum(1 / (i - a) for i in range(1, int(s))) for s, c in zip(found.sizes, found.number, strict=True))
    second = sum(i / (theta + i * a) for i in range(1, u)) - joined
    assert first == pytest.approx(0, abs=1e-9)
    assert second == pytest.approx(0, abs=1e-7)
    for model in (Pitman(5.0, 0.3), Pitman(-0.1, 0.4), Pitman(12.0, 0.0)):
        by_theta, by_a = model.gradient(found)
        h = 1e-6
        up, down = Pitman(model.theta + h, model.a), Pitman(model.theta - h, model.a)
        slope = (up.log_likelihood(found) - down.log_likelihood(found)) / (2 * h)
        assert by_theta == pytest.approx(slope, rel=1e-5, abs=1e-6)
        low = max(model.a - h, 0.0)
        slope = (Pitman(model.theta, model.a + h).log_likelihood(found)) - Pitman(model.theta, low).log_likelihood(
            found
        )
        assert by_a == pytest.approx(slope / (model.a + h - low), rel=1e-3, abs=1e-4)


def test_nothing_is_more_likely_than_the_fit() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        sizes = np.minimum(rng.zipf(1.5 + rng.random(), 60), 50)
        found = Spectrum.of(sizes)
        fit = fitted(found)
        assert fit is not None
        for theta in (0.1, 1.0, 10.0, 100.0, 1000.0):
            for a in (0.0, 0.2, 0.5, 0.8, 0.95):
                assert Pitman(theta, a).log_likelihood(found) <= fit.log_likelihood + 1e-9
        for edge in fit.likely():
            assert edge.log_likelihood(found) >= fit.log_likelihood - 1.9208 - 1e-3


def test_ewens_is_the_boundary() -> None:
    # classes that are too even for any a > 0: a = 0, and theta solves u = sum of theta / (theta + i) for i below n
    found = spectrum(three=20, four=20)
    fit = fitted(found)
    assert fit is not None and fit.model.a == 0
    theta, n = fit.model.theta, 140
    assert sum(theta / (theta + i) for i in range(n)) == pytest.approx(40, rel=1e-9)
    # of Ewens the uniques expected in N units are N theta / (theta + N - 1); from a sample of one they are those of all
    model, population = Pitman(7.0, 0.0), 500
    alone = type(fit)(Spectrum(np.ones(1), np.ones(1)), model, 0.0)
    assert pitman(alone, population) == pytest.approx(population * 7 / (7 + population - 1))


def test_extremes() -> None:
    assert fitted(spectrum(one=50)) is None, "all alone: a -> 1, and nothing can be estimated"
    fit = fitted(spectrum(nine=1))
    assert fit is not None
    assert fit.model.expected_inverse(np.array([9.0]), 9, 900)[0] == pytest.approx(1 / 900)  # one class, that is all
    assert fit.model in fit.likely()
    large = fitted(Spectrum(np.array([1.0, 2.0]), np.array([1e6, 3.0])))
    assert large is not None and 0.9 < large.model.expected_inverse(np.ones(1), 1e6 + 6, 1e7)[0] <= 1
    big = fitted(Spectrum(np.array([1e3, 1e6, 1e8]), np.array([10.0, 3.0, 1.0])))
    assert big is not None
    inverse = big.model.expected_inverse(big.spectrum.sizes, big.spectrum.units, 100 * big.spectrum.units)
    assert inverse == pytest.approx(1 / (100 * big.spectrum.sizes), rel=0.01)


def restaurant(theta: float, a: float, units: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The class of each unit of a Chinese restaurant: that of a unit before, accepted with probability (f - a) / f."""
    rng = np.random.default_rng(seed)
    label, sizes, u = np.empty(units, dtype=np.int64), np.zeros(units), 0
    opens, accepts = rng.random(units), rng.random
    for n in range(units):
        if n == 0 or opens[n] * (theta + n) < theta + a * u:
            k, u = u, u + 1
        else:
            k = label[rng.integers(n)]
            while accepts() >= (sizes[k] - a) / sizes[k]:
                k = label[rng.integers(n)]
        label[n] = k
        sizes[k] += 1
    return label


def test_the_parameters_of_a_population_are_found_again() -> None:
    label = restaurant(50.0, 0.5, 100_000, 1)
    sizes = np.bincount(label)
    whole = fitted(Spectrum.of(sizes))
    # the standard error of a is about 1 / sqrt of the classes, some 2 %; that of theta some 20 %
    assert whole is not None
    assert whole.model.a == pytest.approx(0.5, abs=0.02)
    assert whole.model.theta == pytest.approx(50, rel=0.4)
    drawn = np.random.default_rng(2).choice(len(label), 10_000, replace=False)
    f = np.bincount(label[drawn], minlength=len(sizes))
    seen = Spectrum.of(f[f > 0])
    fit = fitted(seen)
    assert fit is not None
    alone = seen.of_size(1) * fit.model.alone(seen.units, len(label))
    assert alone == pytest.approx(((f == 1) & (sizes == 1)).sum(), rel=0.15)
    matches = (seen.sizes * seen.number) @ fit.model.expected_inverse(seen.sizes, seen.units, len(label))
    assert matches == pytest.approx((f[f > 0] / sizes[f > 0]).sum(), rel=0.1)
    assert pitman(fit, len(label)) == pytest.approx((sizes == 1).sum(), rel=0.25)


# what the rest stands on


@given(st.floats(1e-3, 1e9), st.integers(0, 1000))
def test_rises_are_sums(z: float, more: int) -> None:
    i = np.arange(more)
    assert log_rise(z, more) == pytest.approx(float(np.log(z + i).sum()), rel=1e-10, abs=1e-9)
    assert digamma_rise(z, more) == pytest.approx(float((1 / (z + i)).sum()), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("f", [1, 2, 5, 60])
@pytest.mark.parametrize("h", [0.0, 0.3, 4.0, 300.0])
def test_the_poisson_inverse_is_its_series(f: int, h: float) -> None:
    # sum over j of e^-h h^j / j! / (f + j)
    j = np.arange(2000)
    mass = np.exp(-h + j * np.log(h) - gammaln(j + 1)) if h else (j == 0).astype(float)
    found = poisson_inverse(np.array([float(f)]), np.array([h]))[0]
    assert found == pytest.approx(float((mass / (f + j)).sum()), rel=1e-9)
    if f == 1 and h:
        assert found == pytest.approx((1 - exp(-h)) / h, rel=1e-9)
    by_integral = integrate.quad(lambda t: t ** (f - 1) * exp(-h * (1 - t)), 0, 1, epsabs=0, epsrel=1e-10)[0]
    assert found == pytest.approx(by_integral, rel=1e-8)


# uniques by name


def test_zayatz_by_hand() -> None:
    # 4 classes of one and 3 of two; n = 10 of N = 40. The probability that one of a class of s is drawn is
    # Hyp(1; 40, s, 10): of 1 it is 1/4, of 2 it is 2 * 10 * 30 / (40 * 39) = 0.384615
    found, share = spectrum(one=4, two=3), 0.25
    assert hypergeom.pmf(1, 40, 2, 10) == pytest.approx(comb(2, 1) * 10 * 30 / (40 * 39))
    first = (4 / 7) * share / (4 / 7 * 0.25 + 3 / 7 * 600 / 1560)
    assert zayatz(found, 40) == pytest.approx(4 * first / share)


def test_snb_finds_the_shifted_negative_binomial_again() -> None:
    # F - 1 negative binomial with al = 2, b = .4, K = 20,000 classes: expected classes of s in a sample of share .3
    al, b, classes, share = 2.0, 0.4, 20_000.0, 0.3
    extra = np.arange(200)
    population = classes * nbinom.pmf(extra, al, b)
    s = np.arange(1, 60)
    number = np.array([(population * binom.pmf(size, extra + 1, share)).sum() for size in s])
    found = Spectrum(s.astype(float), number)
    total = float((population * (extra + 1)).sum())
    assert found.units / total == pytest.approx(share)
    exact = classes * b**al
    assert snb(found, total, classes) == pytest.approx(exact, rel=1e-6)
    # by hand, K of Shlosser's third: u + c_1 (sum of s pi^2 (1 - pi^2)^(s-1) c_s / sum of (1-pi)^s ((1+pi)^s - 1) c_s)
    # times the square of (sum of (1-pi)^s c_s / sum of s pi (1-pi)^(s-1) c_s), for c_1 = 2, c_2 = 1 and pi = 1/2:
    # (2 / 4 + 2 (3/4) / 4) / (2 (1/2)(1/2) + (1/4)(5/4)) = .875 / .8125; (2/2 + 1/4) / (2/2 + 2/4) = 1.25 / 1.5
    by_hand = 3 + 2 * (0.875 / 0.8125) * (1.25 / 1.5) ** 2
    assert shlosser(spectrum(one=2, two=1), 8) == pytest.approx(by_hand)
    assert np.isnan(snb(spectrum(one=5, three=2), 100)), "no class of two: nothing to solve"


def test_dankars_rule() -> None:
    assert dankar(10.0, 20.0, 30.0, 0.05) == (10.0, "Pitman")
    assert dankar(float("nan"), 20.0, 30.0, 0.05) == (20.0, "Zayatz")
    assert dankar(10.0, 20.0, 30.0, 0.2) == (20.0, "Zayatz")
    assert dankar(10.0, 20.0, 15.0, 0.2) == (15.0, "SNB")
    assert dankar(10.0, 20.0, float("nan"), 0.2) == (20.0, "Zayatz")
