import math

import pytest
from scipy import stats

from sfumato.compare.rows import Row, half_width, standard_error


def row(values: tuple[float, ...], error: float) -> Row:
    return Row(
        candidate="a", method=None, means={"m": 0.0}, errors={"m": error}, values={"m": values}, replicates=len(values)
    )


def test_by_hand_the_interval_of_three_draws_is_students() -> None:
    draws = (1.0, 2.0, 6.0)  # mean 3, sd sqrt((4 + 1 + 9) / 2) = 2.6458, standard error 1.5275
    error = standard_error(draws)
    assert error == pytest.approx(math.sqrt(7 / 3))
    assert half_width(row(draws, error), "m") == pytest.approx(4.302653 * error, rel=1e-6)  # t(0.975, 2)
    low, high = stats.t.interval(0.95, 2, loc=3.0, scale=error)
    assert (high - low) / 2 == pytest.approx(half_width(row(draws, error), "m"))


def test_what_does_not_vary_or_is_not_known_has_no_width() -> None:
    assert half_width(row((1.0,), math.nan), "m") == 0
    assert half_width(row((1.0, 1.0), 0.0), "m") == 0
