import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import GroupedMicroaggregation, GroupedSwapping, NotApplicable, ParameterError
from tables import numbers


def test_by_hand_groups_of_neighbouring_ranks() -> None:
    # alpha 0.3 of 7 is 2.1, so ranks at most 2 apart share a group: sizes 3, 3, 1; the lone 100 joins its neighbours
    data = numbers(x=[7.0, 1.0, 100.0, 3.0, 8.0, 2.0, 9.0])
    averaged = GroupedMicroaggregation(0.3).protect(data).columns["x"]
    assert averaged.tolist() == [31, 2, 31, 2, 31, 2, 31]  # (1 + 2 + 3) / 3 and (7 + 8 + 9 + 100) / 4
    swapped = GroupedSwapping(0.3).protect(data, rng=3).columns["x"]
    assert swapped[2] == 100  # alone in its group
    assert sorted(swapped[[1, 3, 5]]) == [1, 2, 3] and sorted(swapped[[0, 4, 6]]) == [7, 8, 9]


@given(st.lists(st.integers(0, 99), min_size=2, max_size=50), st.floats(0.05, 1), st.integers(0, 99))
def test_swapping_keeps_the_marginal_and_no_value_moves_alpha_n_ranks(
    values: list[int], alpha: float, seed: int
) -> None:
    x = np.array(values, dtype=float)
    try:
        masked = GroupedSwapping(alpha).protect(numbers(x=x), rng=seed).columns["x"]
    except NotApplicable:
        assert np.ceil(alpha * x.size - 1e-9) < 2
        return
    assert np.array_equal(np.sort(masked), np.sort(x))
    ordered = np.sort(x)
    for before, after in zip(x, masked, strict=True):
        left = np.searchsorted(ordered, [before, after], "left")
        right = np.searchsorted(ordered, [before, after], "right") - 1
        assert max(left[0] - right[1], left[1] - right[0]) < alpha * x.size


def test_by_theory_every_order_within_a_group_is_equally_likely() -> None:
    data = numbers(x=[1.0, 2.0, 3.0])
    seen = [tuple(GroupedSwapping(1.0).protect(data, rng=seed).columns["x"]) for seed in range(1200)]
    counts = [seen.count(order) for order in set(seen)]
    assert len(counts) == 6
    assert max(abs(count - 200) for count in counts) < 5 * np.sqrt(1200 * 1 / 6 * 5 / 6)


def test_alpha_is_a_share_and_must_make_groups() -> None:
    with pytest.raises(
        ParameterError, match=r"GroupedSwapping: alpha must be in \(0, 1\]; got 6 \(did you mean 0.06\?\)"
    ):
        GroupedSwapping(6)
    with pytest.raises(NotApplicable, match="leaves groups of one"):
        GroupedMicroaggregation(0.1).protect(numbers(x=[1.0, 2.0, 3.0]))
