"""Ranks and quantiles from the different values alone, against the records themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.pair.statistics import Values

few = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=40)
any_numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


def test_by_hand_counts_below_and_up_to_numbers() -> None:
    found = Values.of(np.array([5.0, 1.0, 5.0, np.nan, 9.0]))
    asked = np.array([0.0, 1.0, 5.0, 6.0, 9.0, 10.0])
    assert found.below(asked).tolist() == [0, 0, 1, 3, 3, 4]
    assert found.not_above(asked).tolist() == [0, 1, 3, 3, 4, 4]
    assert found.ranks(asked).tolist() == [-0.5, 0.0, 1.5, 2.5, 3.0, 3.5]
    assert np.isnan(Values.of(np.array([np.nan])).quantiles(np.array([0.5]))).all()


@given(few, few, st.floats(-4, 4))
def test_counts_of_merged_parts_are_those_of_all_records(one: list[float], two: list[float], asked: float) -> None:
    found = Values.of(np.array(one)).merge(Values.of(np.array(two)))
    number, every = np.array([asked]), np.array([*one, *two])
    assert found.below(number)[0] == (every < asked).sum()
    assert found.not_above(number)[0] == (every <= asked).sum()


@given(st.one_of(few, any_numbers), st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_by_reference_quantiles_are_numpys_to_the_last_digit(numbers: list[float], shares: list[float]) -> None:
    found = Values.of(np.array(numbers)).quantiles(np.array(shares))
    np.testing.assert_array_equal(found, np.quantile(np.array(numbers), shares))
