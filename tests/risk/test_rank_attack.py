import numpy as np
import pytest

from sfumato import DistanceLinkage, Noise, ParameterError, RankSwapping, RankSwappingAttack
from tables import census, incomes, numbers


def test_by_hand_windows_are_intersected() -> None:
    original = numbers(a=[1.0, 2.0, 3.0, 4.0], b=[1.0, 2.0, 3.0, 4.0])
    swapped = numbers(a=[2.0, 1.0, 4.0, 3.0], b=[1.0, 3.0, 2.0, 4.0])
    found = RankSwappingAttack(known=2).evaluate(original, swapped)
    # values move by one rank at most. Knowing a: the first, 1, may be 1 or 2: record 2, which has not moved from there,
    # or record 1, which has: record 1. The second, 2, may be 1, 2 or 3: records 2, 1, 4, and of those that have moved,
    # 2 and 4, one is right; the third likewise; the last, 4, may be 4 or 3: record 4. (1 + 1/2 + 1/2 + 1) / 4.
    # With b as well: {1}; {1, 2}, of which 2 has moved in both; {3, 4}, 3 likewise; {4}: all.
    assert found.parts["knows a"] == pytest.approx(3 / 4)
    assert found.parts["knows a, b"] == 1
    assert found.value == pytest.approx(7 / 8)
    assert found.parts["own record a candidate"] == 1
    assert found.parts["candidates"] == pytest.approx((10 / 4 + 6 / 4) / 2)
    assert found.parts["own record the only candidate"] == pytest.approx((0 + 2 / 4) / 2)
    assert found.parts["random guess"] == pytest.approx((5 / 12 + 3 / 4) / 2)
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, [1, 3 / 4, 3 / 4, 1])
    assert found.table("known")["candidates"].tolist() == [2.5, 1.5]


def test_by_hand_a_window_that_is_too_small_loses_the_record() -> None:
    original = numbers(a=[1.0, 2.0, 3.0, 4.0])
    found = RankSwappingAttack(known=1, p=0.25).evaluate(original, numbers(a=[3.0, 2.0, 1.0, 4.0]))
    # one rank: the first and the third moved two, and are not looked for where they are; the second and the last have
    # not moved, and others in their windows have
    assert found.value == 0
    assert found.parts["own record a candidate"] == 0.5
    assert found.parts["random guess"] == pytest.approx((1 / 3 + 1 / 2) / 4)


def test_by_hand_equal_values_are_one_place_and_values_that_do_not_occur_have_neighbours() -> None:
    tied = RankSwappingAttack(known=1, p=0.2).evaluate(
        numbers(a=[0.0, 0.0, 0.0, 5.0, 9.0]), numbers(a=[0.0, 0.0, 5.0, 0.0, 9.0])
    )
    # mean ranks 1, 1, 3, 1, 4 from 0. One rank around the zeros (ranks 0 to 2) reaches up to 5: of the four, the third
    # record has moved. Around 5 (rank 3) lie everyone, for one zero is as good as the other: the zeros have moved by 2,
    # 9 by 1. Around 9: 5 has moved.
    assert tied.by_record is not None
    np.testing.assert_allclose(tied.by_record, [0, 0, 1, 1 / 3, 0])
    between = RankSwappingAttack(known=1, p=0.5).evaluate(numbers(a=[2.0, 4.0]), numbers(a=[1.0, 5.0]))
    # 2 and 4 both lie between 1 and 5: one rank down and one up
    assert between.by_record is not None and between.by_record.tolist() == [0.5, 0.5]


def test_missing_values_are_looked_for_among_the_missing() -> None:
    gap = float("nan")
    found = RankSwappingAttack(known=1).evaluate(numbers(a=[gap, gap, 3.0, 4.0]), numbers(a=[gap, gap, 3.0, gap]))
    # two of three missing are theirs; 3 stands alone; 4 was made missing and is looked for among those present
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, [1 / 3, 1 / 3, 1, 0])
    nothing = RankSwappingAttack(known=1).evaluate(numbers(a=[1.0, 2.0]), numbers(a=[gap, gap]))
    assert nothing.value == 0


@pytest.mark.parametrize("p", [0.02, 0.1, 0.3])
def test_the_own_record_is_always_a_candidate_when_p_is_the_methods(p: float) -> None:
    data = incomes(400)
    masked = RankSwapping(p).protect(data, rng=3)
    for attack in (RankSwappingAttack(p=p), RankSwappingAttack(p=1.0), RankSwappingAttack()):
        assert attack.evaluate(data, masked).parts["own record a candidate"] == 1
    narrow = RankSwappingAttack(p=p / 2).evaluate(data, masked)
    assert narrow.parts["own record a candidate"] < 1
    told, found = (
        a.evaluate(data, masked).parts["candidates"] for a in (RankSwappingAttack(p=p), RankSwappingAttack())
    )
    assert found <= told  # the largest move there is cannot be larger than the window
    assert RankSwappingAttack().evaluate(data, Noise(0.1).protect(data, rng=1)).parts["own record a candidate"] == 1


def test_a_copy_is_found_whole_and_strangers_are_not() -> None:
    data = incomes()
    assert RankSwappingAttack().evaluate(data, data).value == 1
    assert RankSwappingAttack().evaluate(data, incomes(seed=9)).value < 0.03


def test_large_tables_take_the_kernel_and_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    data = incomes(5_200)
    masked = RankSwapping(0.02).protect(data, rng=1)
    by_kernel = RankSwappingAttack(known=3).evaluate(data, masked)
    monkeypatch.setattr("sfumato.kernels.rank_windows.worth_compiling", lambda _: False)
    plain = RankSwappingAttack(known=3).evaluate(data, masked)
    assert by_kernel.parts == plain.parts
    assert by_kernel.by_record is not None and plain.by_record is not None
    np.testing.assert_array_equal(by_kernel.by_record, plain.by_record)


@pytest.mark.parametrize(("p", "times"), [(0.05, 1.2), (0.10, 1.6), (0.15, 2.0), (0.20, 2.5)])
def test_by_reference_it_finds_far_more_swapped_census_records_than_distance_linkage(p: float, times: float) -> None:
    data = census()
    attack, distance = [], []
    for seed in range(3):
        masked = RankSwapping(p).protect(data, rng=seed)
        attack.append(RankSwappingAttack(p=p).evaluate(data, masked).value)
        distance.append(DistanceLinkage().evaluate(data, masked).value)
    assert np.mean(attack) > times * np.mean(distance)


def test_by_theory_rank_swapping_moves_values_by_d_with_a_frequency_of_two_to_the_d_over_w() -> None:
    # of the ranks s ahead of the one to be swapped a share g(s) is free; half of all ranks draw, evenly from the free
    # ones, so that g' = g / (2 G) with G the integral of g over the window, and g(w) = 1: g = 2^(s/w - 1)
    n, w = 20_000, 1_000
    x = np.arange(float(n))
    moves = np.abs(RankSwapping(w / n).protect(numbers(x=x), rng=1).columns["x"] - x)[2 * w : -2 * w]
    counts = np.bincount((moves[moves > 0] * 5 / (w + 1)).astype(int))
    expected = 2 ** (np.arange(1, 6) / 5) - 2 ** (np.arange(5) / 5)
    np.testing.assert_allclose(counts / counts.sum(), expected, atol=4 * np.sqrt(0.16 / len(moves)) * 2)


def test_the_farthest_candidate_is_a_better_choice_than_a_random_or_the_nearest_one() -> None:
    data = census()
    name = data.schema.analysed("numeric")
    masked = RankSwapping(0.15).protect(data, rng=4)
    found = RankSwappingAttack(known=(name[:7],), p=0.15).evaluate(data, masked)
    assert (
        found.value
        > 1.2 * found.parts["random guess"]
        > DistanceLinkage(known=(name[:7],)).evaluate(data, masked).value
    )


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"RankSwappingAttack: p must be in \(0, 1\]; got 15 \(did you mean 0.15\?\)"
    ):
        RankSwappingAttack(p=15)
    with pytest.raises(ParameterError, match="RankSwappingAttack: known must be"):
        RankSwappingAttack(known=0)
