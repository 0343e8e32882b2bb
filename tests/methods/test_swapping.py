from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import NotApplicable, ParameterError, RankSwapping
from sfumato.kernels.rank_swapping import compiled, partners_by_stretch, plain_pair_up, swap_partners
from tables import incomes, numbers


def test_by_hand_partners_of_given_draws() -> None:
    # six ranks, window 2; from rank 0 up, each takes floor(draw * m) of the m free ranks in its window
    # 0: free 1, 2; floor(0.9 * 2) = 1 -> 2.   1: free 3 (2 is taken); -> 3.   4: free 5; -> 5.
    draws = np.array([0.9, 0.0, 0.5, 0.5, 0.99, 0.5])
    assert swap_partners(draws, 2).tolist() == [2, 3, 0, 1, 5, 4]
    # window 1, five ranks: neighbours in pairs, the last one stays
    assert swap_partners(np.zeros(5), 1).tolist() == [1, 0, 3, 2, 4]


@settings(deadline=None)  # the first call compiles
@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 10_000))
def test_the_kernel_equals_the_plain_version(n: int, window: int, seed: int) -> None:
    draws = np.random.default_rng(seed).random(n)
    free, partner = np.ones(n, dtype=bool), np.arange(n)
    compiled.pair_up(draws, free, partner, window)
    assert np.array_equal(partner, swap_partners(draws, window))


@pytest.mark.parametrize("pair_up", [plain_pair_up, compiled.pair_up])
@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 70), st.integers(1, 70), st.integers(0, 10_000))
def test_partners_do_not_depend_on_the_stretch(
    pair_up: Callable[..., None], n: int, window: int, width: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.kernels.rank_swapping.plain_pair_up", pair_up)
        found = np.concatenate(list(partners_by_stretch(rng.random, n, window, width)))
    assert np.array_equal(found, swap_partners(np.random.default_rng(seed).random(n), window))


@given(st.lists(st.integers(0, 30), min_size=2, max_size=60), st.floats(0.02, 1), st.integers(0, 99))
def test_marginals_are_kept_and_no_value_moves_beyond_its_window(values: list[int], p: float, seed: int) -> None:
    x = np.array(values, dtype=float)
    if int(p * x.size + 1e-9) < 1:
        return
    masked = RankSwapping(p).protect(numbers(x=x), rng=seed).columns["x"]
    assert np.array_equal(np.sort(masked), np.sort(x))
    ordered, window = np.sort(x), int(p * x.size + 1e-9)
    for before, after in zip(x, masked, strict=True):  # ranks of ties: the nearest ones they can have
        left, right = (
            np.searchsorted(ordered, [before, after], "left"),
            np.searchsorted(ordered, [before, after], "right"),
        )
        assert max(left[0] - (right[1] - 1), left[1] - (right[0] - 1)) <= window


def test_by_theory_ranks_move_further_as_p_grows() -> None:
    # a partner is even over the free ranks of its window, so the mean distance is near half the window (some less: the
    # nearer ranks are free more often)
    data = incomes(20_000)
    order = np.argsort(np.argsort(data.columns["earnings"]))
    for p in (0.01, 0.1):
        masked = RankSwapping(p).protect(data, rng=1)
        moved = np.abs(np.argsort(np.argsort(masked.columns["earnings"])) - order)
        assert moved.max() <= p * 20_000
        assert 0.4 * p * 20_000 < moved.mean() < 0.6 * p * 20_000
        assert (moved == 0).mean() < 0.01


def test_a_product_that_rounding_leaves_short_of_a_whole_number_is_that_number() -> None:
    x = np.arange(100.0)  # 0.29 * 100 is 28.999999999999996
    furthest = max(
        np.abs(RankSwapping(0.29).protect(numbers(x=x), rng=seed).columns["x"] - x).max() for seed in range(60)
    )
    assert furthest == 29


@pytest.mark.parametrize(("p", "hint"), [(15, r"did you mean 0\.15\?"), (0, "got 0"), (-0.1, "got -0.1"), ("a", "'a'")])
def test_p_is_a_share_and_a_percentage_is_refused_with_a_hint(p: object, hint: str) -> None:
    with pytest.raises(ParameterError, match=rf"RankSwapping: p must be in \(0, 1\]; got .*{hint}|{hint}"):
        RankSwapping(p)  # type: ignore[arg-type]


def test_a_window_of_less_than_one_rank_is_refused() -> None:
    with pytest.raises(NotApplicable, match=r"RankSwapping: variable .x.: p=0\.1 of 4 values is less than one rank"):
        RankSwapping(0.1).protect(numbers(x=[1.0, 2.0, 3.0, 4.0]))
