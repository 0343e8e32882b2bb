"""The distributions of Kolmogorov's and Smirnov's largest gap."""

import warnings
from itertools import combinations
from math import gcd

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.kernels.kolmogorov import one_sample_p, plain_share_outside, two_sample_p
from sfumato.kernels.kolmogorov.compiled import share_outside


def by_all_orders(gap: int, m: int, n: int) -> float:
    """The share of the orders of m and n records in which the distribution functions come so far apart."""
    strayed = every = 0
    for places in combinations(range(m + n), m):
        steps = np.full(m + n, -m)
        steps[list(places)] = n
        strayed += int(np.abs(np.cumsum(steps)).max() >= gap)
        every += 1
    return strayed / every


@pytest.mark.parametrize(("m", "n"), [(1, 1), (4, 4), (3, 5), (6, 4), (1, 7), (5, 5)])
def test_two_samples_by_counting_all_orders(m: int, n: int) -> None:
    for gap in range(0, m * n + 1, gcd(m, n)):
        assert two_sample_p(gap, m, n) == pytest.approx(by_all_orders(gap, m, n), rel=1e-12)


@settings(deadline=None)
@given(st.integers(2, 700), st.integers(2, 700), st.booleans(), st.integers(0, 2**31))
def test_two_samples_as_scipy_does(m: int, n: int, equal: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = m if equal else n
    x, y = rng.normal(size=m), rng.normal(rng.choice([0.0, 0.1, 1.0]), size=n)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            theirs = stats.ks_2samp(x, y)  # where rounding takes its exact P above 1, it gives another
        except RuntimeWarning:  # its exact way fails for some sizes, and it falls back to the asymptotic one
            assume(False)
    assert two_sample_p(round(theirs.statistic * m * n), m, n) == pytest.approx(theirs.pvalue, rel=1e-12, abs=1e-300)


@settings(deadline=None)
@given(st.integers(2, 120), st.integers(2, 120), st.floats(0.0, 1.0))
def test_both_ways_of_counting_paths_are_the_same(m: int, n: int, share: float) -> None:
    long, short, common = max(m, n), min(m, n), gcd(m, n)
    sizes = long, short, short // common, long // common, 1 + int(share * (m * n // common - 1))
    assert plain_share_outside(*sizes) == pytest.approx(share_outside(*sizes), rel=1e-12)


@pytest.mark.parametrize(
    ("m", "n", "gap"), [(2_600, 2_390, 0.12), (4_000, 900, 0.3), (2_450, 2_500, 0.01), (2_499, 3, 0.6)]
)
def test_many_paths_in_numpy_are_as_many_as_in_the_kernel(m: int, n: int, gap: float) -> None:
    common = gcd(m, n)
    sizes = max(m, n), min(m, n), min(m, n) // common, max(m, n) // common, int(gap * m * n / common)
    assert plain_share_outside(*sizes) == pytest.approx(share_outside(*sizes), rel=1e-12)


@settings(deadline=None)
@given(st.integers(1, 2_400), st.floats(0.0, 3.0))
def test_one_sample_as_scipy_does(n: int, size: float) -> None:
    gap = size / np.sqrt(n)
    assert one_sample_p(gap, n) == pytest.approx(stats.kstwo.sf(gap, n), rel=1e-12, abs=1e-300)


@settings(deadline=None)
@given(st.integers(2_500, 10**6), st.floats(0.16, 1.48))  # below, scipy overflows; beyond, one side is added as arrays
def test_one_sample_of_many_records_as_scipy_does(n: int, size: float) -> None:
    gap = size / np.sqrt(n)
    assert one_sample_p(gap, n) == pytest.approx(stats.kstwo.sf(gap, n), rel=1e-12)


@pytest.mark.parametrize("n", [3_000, 50_000])
@pytest.mark.parametrize("size", [1.6, 3.0, 8.0])
def test_the_tail_of_many_records_is_near_to_what_scipy_adds_one_by_one(n: int, size: float) -> None:
    gap = size / np.sqrt(n)
    assert one_sample_p(gap, n) == pytest.approx(stats.kstwo.sf(gap, n), rel=1e-9)


@pytest.mark.parametrize("n", [141, 1_000])
def test_the_ends_of_one_sample(n: int) -> None:
    assert one_sample_p(0.0, n) == one_sample_p(0.5 / n, n) == one_sample_p(0.1 / np.sqrt(n), n) == 1
    assert stats.kstwo.sf(0.15 / np.sqrt(n), n) == 1  # what is taken for 1 is 1
    assert one_sample_p(1.0, n) == 0
    for size in (0.51, 0.9, 1.0, 1.01):  # n! / n^n (2 n x - 1)^n up to 1 / n
        assert one_sample_p(size / n, n) == pytest.approx(stats.kstwo.sf(size / n, n), rel=1e-12)
    assert one_sample_p(0.6, n) == pytest.approx(stats.kstwo.sf(0.6, n), rel=1e-12, abs=1e-300)
