import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.kernels.spread import mean_and_spread, standardised

NAN = np.nan


def test_by_hand() -> None:
    mean, spread = mean_and_spread(np.array([[1.0, 5.0, NAN, NAN], [3.0, 5.0, 7.0, NAN], [5.0, NAN, NAN, NAN]]))
    np.testing.assert_array_equal(mean, [3, 5, 7, NAN])
    np.testing.assert_array_equal(spread, [2, 0, 0, 0])


@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1e300, -2.7])
def test_a_constant_has_exactly_its_mean_and_no_spread(constant: float) -> None:
    mean, spread = mean_and_spread(np.full((1000, 1), constant))
    assert mean[0] == constant and spread[0] == 0
    assert (standardised(np.full((1000, 1), constant), mean, spread) == 0).all()


@given(arrays(np.float64, (9, 2), elements=st.floats(-1e6, 1e6, width=32)))
def test_by_reference_it_is_numpys_where_values_vary(values: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    mean, spread = mean_and_spread(values)
    np.testing.assert_allclose(mean, values.mean(axis=0), rtol=1e-12, atol=1e-9)
    varies = np.ptp(values, axis=0) > 1e-9 * np.abs(values).max(axis=0)
    np.testing.assert_allclose(spread[varies], values.std(axis=0, ddof=1)[varies], rtol=1e-9)
