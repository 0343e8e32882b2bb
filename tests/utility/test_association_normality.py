"""Lilliefors' test: statistic and P against statsmodels, against simulation, and in the corners."""

import math

import numpy as np
import pytest
from scipy.special import ndtr
from statsmodels.stats.diagnostic import lilliefors

from sfumato.utility.association import normal
from sfumato.utility.association.columns import LARGER, QUANTILES, SIZES, _larger


@pytest.mark.parametrize("n", [4, 5, 7, 10, 20, 50, 100, 200, 400, 800, 1600])
def test_equals_statsmodels_at_the_sizes_of_its_table(n: int) -> None:
    # statsmodels interpolates P linearly between 14 levels, and keeps it within 0.001 and 0.99. Between the sizes of
    # its table it interpolates linearly in n, and beyond 1,600 it extrapolates: there it is off by up to 0.1, which the
    # simulation below shows
    rng = np.random.default_rng(n)
    for skew in np.linspace(0, 8 / math.sqrt(n), 40):
        values = rng.normal(size=n) + skew * rng.exponential(size=n)
        statistic, p = normal(values)
        theirs, expected = lilliefors(values)
        assert statistic == pytest.approx(theirs, abs=1e-13)
        if 0.0011 < expected < 0.989:
            assert p == pytest.approx(expected, abs=0.025)
            assert 0.8 < (p / expected) < 1.25
        else:
            assert (p < 0.0015) if expected < 0.01 else (p > 0.98)


@pytest.mark.parametrize(("n", "samples"), [(4, 40_000), (12, 40_000), (35, 40_000), (130, 20_000), (3_000, 2_000)])
def test_p_is_uniform_for_normal_samples(n: int, samples: int) -> None:
    rng = np.random.default_rng(n)
    found = np.array([normal(rng.normal(5, 3, n))[1] for _ in range(samples // 10)])
    # the statistic in bulk, the P of its quantiles one by one
    x = np.sort(rng.normal(size=(samples, n)), axis=1)
    below = ndtr((x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, ddof=1, keepdims=True))
    steps = np.arange(n + 1) / n
    distance = np.maximum((steps[1:] - below).max(axis=1), (below - steps[:-1]).max(axis=1))
    for level in (0.9, 0.5, 0.2, 0.1, 0.05, 0.01):
        error = math.sqrt(level * (1 - level) / samples)
        assert _larger(float(np.quantile(distance, 1 - level)), n) == pytest.approx(level, abs=4 * error + 0.004)
        assert (found <= level).mean() == pytest.approx(level, abs=4 * error * math.sqrt(10) + 0.004)


def test_the_table_is_in_order() -> None:
    assert QUANTILES.shape == (len(SIZES), len(LARGER))
    assert (np.diff(QUANTILES, axis=1) > 0).all()
    assert (np.diff(LARGER) < 0).all()


def test_large_samples() -> None:
    rng = np.random.default_rng(1)
    assert normal(rng.normal(size=100_000))[1] > 0.01
    statistic, p = normal(rng.exponential(size=100_000))
    # the exponential distribution's own distance: at the mean less a standard deviation, 0, where Phi(-1) = 0.1587
    assert statistic == pytest.approx(ndtr(-1), abs=0.003)
    assert p == 0.0
    assert normal(np.round(rng.normal(size=100_000), 1))[1] < 1e-6  # rounded: not continuous


def test_p_falls_with_the_distance() -> None:
    for n in (4, 9, 100, 10**5):
        found = [_larger(x / math.sqrt(n), n) for x in np.linspace(0, 3, 400)]
        assert found[0] == 1.0
        assert (np.diff(found) <= 0).all()


def test_corners() -> None:
    assert normal(np.array([])) == normal(np.array([1.0, 2.0, np.nan, 3.0])) == (0.0, 1.0)
    assert normal(np.full(9, 0.1)) == (0.5, 0.0)
    values = np.random.default_rng(2).normal(size=50)
    found = normal(values)
    assert normal(np.append(values, [np.nan, np.nan])) == found
    for factor in (1e-300, 1e300, -1.0):
        assert normal(values * factor) == pytest.approx(found)
    # not NaN where the values are as large as they can be
    assert normal(np.array([-1.7e308, -1e308, 0.0, 1e308, 1.7e308]))[1] > 0.5
