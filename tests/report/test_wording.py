import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.compare.figures import figure, written
from sfumato.report.wording import number, percentage


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_every_number_can_be_written(value: float) -> None:
    assert number(value)


@given(st.floats(min_value=1e-9, max_value=1.0))
def test_a_share_is_the_same_figure_in_sentences_and_tables(share: float) -> None:
    sentence, table = (float(text.removesuffix(" %")) for text in (percentage(share), written(share, "share")))
    assert sentence == pytest.approx(table, rel=0.06, abs=0.0051 if share > 0.0001 else 0)
    assert "e" not in percentage(share) + written(share, "share")


def test_an_unknown_or_zero_error_is_not_written() -> None:
    assert figure(0.042, "share", math.nan).text == "4.2 %"
    assert figure(0.042, "share", 0.0).error is None


def test_a_share_and_its_error_are_percentages() -> None:
    assert figure(0.0312, "share", 0.0021).text == "3.12 ± 0.21 %"  # 100 x each, two digits of the error


def test_what_rounding_leaves_of_zero_is_zero() -> None:
    assert figure(5.4e-14, "number").text == "0"
