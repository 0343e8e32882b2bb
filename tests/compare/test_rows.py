import math
from dataclasses import replace

import pytest
from scipy import stats

from sfumato.compare.rows import Row, half_width, standard_error
from sfumato.compare.rows import row as summarised
from sfumato.compare.store import Cell, Key
from sfumato.measurement import Measurement


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


def test_the_error_of_a_sample_is_an_error_of_the_figure() -> None:
    once = replace(row((1.0,), 0.5), sampling={"m": 0.5})
    assert half_width(once, "m") == pytest.approx(0.98)  # many records: normal, not Student's
    thrice = replace(row((1.0, 1.0, 1.0), 0.5), sampling={"m": 0.5})
    assert half_width(thrice, "m") == pytest.approx(4.302653 * 0.5, rel=1e-6)


def test_draws_that_lie_together_by_chance_are_as_unsure_as_their_samples() -> None:
    parts = {"standard error": 0.3}
    cells = [Cell(key=Key("a", "m", draw), value=value, parts=parts) for draw, value in enumerate((1.0, 1.1, 1.0))]
    found = summarised("a", None, {"m": cells}, random={"m"}, read=unread)
    assert found.sampling["m"] == pytest.approx(0.3 / math.sqrt(3))  # each draw has a sample of its own
    assert found.errors["m"] == found.sampling["m"] > standard_error((1.0, 1.1, 1.0))
    far = [Cell(key=Key("a", "m", draw), value=value, parts=parts) for draw, value in enumerate((1.0, 3.0, 8.0))]
    assert summarised("a", None, {"m": far}, random={"m"}, read=unread).errors["m"] == standard_error((1.0, 3.0, 8.0))
    once = summarised("a", None, {"m": cells[:1]}, random=set(), read=unread)
    assert once.errors["m"] == 0.3
    assert math.isnan(summarised("a", None, {"m": cells[:1]}, random={"m"}, read=unread).errors["m"])


def unread(measure: str, key: Key) -> Measurement:
    raise AssertionError("nothing but the cells is needed")
