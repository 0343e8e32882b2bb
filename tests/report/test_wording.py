import math

from hypothesis import given
from hypothesis import strategies as st

from sfumato.compare.figures import figure
from sfumato.report.wording import number


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_every_number_can_be_written(value: float) -> None:
    assert number(value)


def test_an_unknown_or_zero_error_is_not_written() -> None:
    assert figure(0.042, "share", math.nan).text == "4.2 %"
    assert figure(0.042, "share", 0.0).error is None


def test_a_share_and_its_error_are_percentages() -> None:
    assert figure(0.0312, "share", 0.0021).text == "3.12 ± 0.21 %"  # 100 x each, two digits of the error


def test_what_rounding_leaves_of_zero_is_zero() -> None:
    assert figure(5.4e-14, "number").text == "0"
