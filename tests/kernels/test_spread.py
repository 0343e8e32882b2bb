import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.kernels import stretches
from sfumato.kernels.spread import mean_and_spread, mean_and_spread_of_long, standardised

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


@given(st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)), min_size=1, max_size=50), st.integers(1, 9))
def test_a_long_column_has_the_mean_and_spread_of_any_other(values: list[float], length: int) -> None:
    column = np.array(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "LENGTH", length)
        mean, spread = mean_and_spread_of_long(column)
        halved = mean_and_spread_of_long(column, 1)
    expected = [float(one[0]) for one in mean_and_spread(column[:, None])]
    size = max(float(np.nanmax(np.abs(column), initial=0.0)), 1e-300)
    assert mean == pytest.approx(expected[0], rel=1e-12, abs=1e-13 * size, nan_ok=True)
    assert spread == pytest.approx(expected[1], rel=1e-9, abs=1e-12 * size)
    assert np.array_equal(halved, (mean / 2, spread / 2), equal_nan=True)
