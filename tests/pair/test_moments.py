"""Means, covariances and correlations with gaps: by hand, beside numpy, and from parts in any cut."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sfumato.pair.statistics import Moments, merged

Floats = NDArray[np.float64]
NAN = float("nan")
TABLES = arrays(np.float64, (12, 3), elements=st.floats(-100, 100, width=16))
GAPS = arrays(np.bool_, (12, 3))


def holed(values: Floats, gaps: NDArray[np.bool_]) -> Floats:
    return np.where(gaps, NAN, values)


def test_by_hand() -> None:
    # x = 1, 2, 3 and y = 4, missing, 8: means 2 and 6; variances 1 and (4 + 4) / 1 = 8
    # over the two records that have both, x is 1, 3 and y is 4, 8: covariance (-1)(-2) + (1)(2) = 4, correlation 1
    found = Moments.of(np.array([[1.0, 4.0], [2.0, NAN], [3.0, 8.0]]))
    assert found.present.tolist() == [3, 2]
    assert found.mean.tolist() == [2, 6] and found.size.tolist() == [2, 6]
    assert found.spread == pytest.approx([1, np.sqrt(8)], rel=1e-15)
    assert found.covariances == pytest.approx(np.array([[1, 4], [4, 8]]), rel=1e-15)
    assert found.correlations == pytest.approx(np.ones((2, 2)), rel=1e-15)


def test_two_parts_by_hand() -> None:
    # 0, 2 and then 4, 6, 8: mean 4, squares 16 + 4 + 0 + 4 + 16 = 40, variance 10
    found = Moments.of(np.array([[0.0], [2.0]])).merge(Moments.of(np.array([[4.0], [6.0], [8.0]])))
    assert found.mean.tolist() == [4] and found.covariances.tolist() == [[10]]
    assert (found.low[0], found.high[0], found.size[0]) == (0, 8, 4)


def test_constants_and_empty_variables() -> None:
    # 0.1 is no binary fraction: its mean is 0.1 itself, and it has no spread, in one part or in two
    values = np.column_stack([np.full(7, 0.1), np.full(7, NAN), np.arange(7.0)])
    for found in (Moments.of(values), Moments.of(values[:3]).merge(Moments.of(values[3:]))):
        assert found.mean[0] == 0.1 and found.spread[0] == 0 and np.isnan(found.mean[1])
        assert found.covariances[0, 0] == 0 and found.covariances[0, 2] == 0 and np.isnan(found.covariances[1, 2])
        assert np.isnan(found.correlations[0, 2]) and np.isnan(found.correlations[1, 2])


def test_a_far_mean_loses_no_digits() -> None:
    # the variance of 1, 2, 3 is 1 wherever it stands
    values = 1e12 + np.array([[1.0], [2.0], [3.0]])
    whole = Moments.of(values)
    parts = Moments.of(values[:1]).merge(Moments.of(values[1:]))
    assert whole.spread[0] == 1 and parts.spread[0] == pytest.approx(1, rel=1e-15)


@given(TABLES, GAPS)
def test_by_reference_they_equal_numpy_on_complete_pairs(values: Floats, gaps: NDArray[np.bool_]) -> None:
    x = holed(values, gaps)
    found = Moments.of(x)
    for j in range(3):
        for k in range(3):
            both = ~np.isnan(x[:, j]) & ~np.isnan(x[:, k])
            one, two = x[both, j], x[both, k]
            if both.sum() < 2:
                assert np.isnan(found.covariances[j, k])
                continue
            assert found.covariances[j, k] == pytest.approx(np.cov(one, two)[0, 1], rel=1e-9, abs=1e-8)
            if np.ptp(one) < 1e-3 or np.ptp(two) < 1e-3:
                continue  # nearly constant: rounding decides
            assert found.correlations[j, k] == pytest.approx(np.corrcoef(one, two)[0, 1], abs=1e-8)


@given(TABLES, GAPS, st.lists(st.integers(0, 12), max_size=5))
def test_any_cut_gives_the_moments_of_the_whole(values: Floats, gaps: NDArray[np.bool_], ends: list[int]) -> None:
    x = holed(values, gaps)
    whole = Moments.of(x)
    places = [0, *sorted(ends), len(x)]
    parts = merged(Moments.of(x[low:high]) for low, high in pairwise(places))
    np.testing.assert_array_equal(parts.counts, whole.counts)
    np.testing.assert_array_equal(parts.low, whole.low)
    np.testing.assert_array_equal(parts.high, whole.high)
    size = np.nan_to_num(whole.size)
    np.testing.assert_allclose(parts.mean - whole.mean, np.where(np.isnan(whole.mean), NAN, 0), atol=1e-14 * size.max())
    largest = float(np.nan_to_num(whole.spread).max())
    np.testing.assert_allclose(parts.spread, whole.spread, atol=1e-13 * largest)
    np.testing.assert_allclose(parts.covariances, whole.covariances, rtol=1e-12, atol=1e-12 * largest**2)
    for j, k in ((0, 1), (0, 2), (1, 2)):
        both = ~np.isnan(x[:, j]) & ~np.isnan(x[:, k])
        if both.sum() > 1 and min(np.ptp(x[both, j]), np.ptp(x[both, k])) > 1e-3:
            assert parts.correlations[j, k] == pytest.approx(whole.correlations[j, k], abs=1e-9)
