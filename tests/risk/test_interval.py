import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import ParameterError, RankInterval, SpreadInterval
from sfumato.risk.interval import Places
from tables import numbers


def test_by_hand_rank_intervals() -> None:
    # ten records; 10 % of 10 is one rank: the interval runs from the next lower to the next higher protected value
    after = np.arange(10.0, 110.0, 10)  # 10, 20, ..., 100
    before = np.array([10, 31, 30, 20, 55, 60, 49, 80, 100.5, 89])
    # 10 in [10,20]; 31 not in [10,30]; 30 in [20,40]; 20 not in [30,50]; 55 in [40,60]; 60 in [50,70]; 49 not in
    # [60,80]; 80 in [70,90]; 100.5 not in [80,100]; 89 not in [90,100]
    found = RankInterval(percents=(10,)).evaluate(numbers(x=before), numbers(x=after))
    assert found.value == pytest.approx(5 / 10)
    assert found.by_record is not None
    assert found.by_record.tolist() == [1, 0, 1, 0, 1, 1, 0, 1, 0, 0]
    # 20 %: two ranks; also 31 in [10,40], 20 in [20,60] and 89 in [80,100], but 49 not in [50,90] and 100.5 not
    wider = RankInterval(percents=(10, 20)).evaluate(numbers(x=before), numbers(x=after))
    assert wider.parts == pytest.approx({"10 %": 0.5, "20 %": 0.8})
    assert wider.value == pytest.approx(0.65)


def test_by_hand_tied_values_share_the_mean_of_their_ranks() -> None:
    # protected 1, 5, 5, 5, 9: the fives have ranks 1, 2, 3 (from 0), mean 2; with reach 1 the interval is [5, 5], with
    # reach 2 it is [1, 9]
    after = numbers(x=[1.0, 5.0, 5.0, 5.0, 9.0])
    before = numbers(x=[1.0, 4.0, 5.0, 6.0, 9.0])
    assert RankInterval(percents=(20,)).evaluate(before, after).value == pytest.approx(3 / 5)
    assert RankInterval(percents=(40,)).evaluate(before, after).value == pytest.approx(1)


def test_by_hand_tied_values_take_the_last_of_their_ranks() -> None:
    # protected 1, 5, 5, 5, 9: the fives have the rank 3 (from 0). 30 % of 5 is 1.5: two ranks down, to the five of rank
    # 1, and one up, to 9. The interval of 1 is [1, 5], that of the fives [5, 9], that of 9 [5, 9].
    after = numbers(x=[1.0, 5.0, 5.0, 5.0, 9.0])
    before = numbers(x=[1.0, 4.0, 5.0, 6.0, 9.5])
    found = RankInterval(percents=(30,), ties="last").evaluate(before, after)
    assert found.by_record is not None
    assert found.by_record.tolist() == [1, 0, 1, 1, 0]
    # mean rank 2, one rank to either side: [5, 5] around the fives, and 1 and 9 as before
    assert RankInterval(percents=(30,)).evaluate(before, after).value == pytest.approx(2 / 5)


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=40), st.integers(0, 999), st.floats(1, 50))
def test_with_the_last_rank_the_interval_is_that_of_the_sorted_column(
    values: list[int], seed: int, percent: float
) -> None:
    after = np.array(values, dtype=float)
    before = np.random.default_rng(seed).integers(-22, 23, len(after)).astype(float)
    v, n = np.sort(after), len(after)
    rank = np.searchsorted(v, after, "right") - 1
    low = v[np.maximum(rank - int(np.ceil(percent * n / 100 - 1e-9)), 0)]
    high = v[np.minimum(rank + int(percent * n / 100 + 1e-9), n - 1)]
    expected = ((low <= before) & (before <= high)).mean()
    found = RankInterval(percents=(percent,), ties="last").evaluate(numbers(x=before), numbers(x=after))
    assert found.value == pytest.approx(expected)


def test_a_rule_for_ties_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ParameterError, match="ties must be one of 'mean', 'last'; got 'first'"):
        RankInterval(ties="first")  # type: ignore[arg-type]


def test_by_hand_spread_intervals() -> None:
    # protected 0, 2, 4, 6: sd = sqrt(20/3) = 2.582; 100 % of it is the whole width, so half is 1.291
    after = numbers(x=[0.0, 2.0, 4.0, 6.0])
    before = numbers(x=[1.29, 3.3, 4.0, 4.6])
    found = SpreadInterval(percents=(100,)).evaluate(before, after)
    assert found.by_record is not None
    assert found.by_record.tolist() == [1, 0, 1, 0]


def test_values_too_large_for_a_standard_deviation_lie_in_an_endless_interval() -> None:
    before, after = numbers(x=[1.7e308, 1.6e308, -1.7e308, 2.0]), numbers(x=[1.6e308, 1.7e308, -1.7e308, 3.0])
    assert SpreadInterval().evaluate(before, after).value == 1
    assert RankInterval(percents=(10,)).evaluate(before, after).value == pytest.approx(1 / 4)


def test_missing_values_are_neither_inside_nor_outside() -> None:
    nan = float("nan")
    before = numbers(x=[1.0, nan, 3.0, nan], y=[1.0, nan, 9.0, 4.0])
    after = numbers(x=[1.0, 2.0, nan, nan], y=[1.0, nan, 3.0, 4.0])
    found = RankInterval(percents=(1,)).evaluate(before, after)
    # compared: x[0] inside; y[0] inside, y[2] not, y[3] inside
    assert found.value == pytest.approx(3 / 4)
    assert found.by_variable == pytest.approx({"x": 1, "y": 2 / 3})
    assert found.by_record is not None
    np.testing.assert_array_equal(found.by_record, [1, nan, 0, 1])
    assert found.notes == ("4 of 8 values left out: missing in one table",)


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=40), st.integers(0, 999), st.floats(1, 50))
def test_the_interval_holds_exactly_the_protected_values_within_reach_in_rank(
    values: list[int], seed: int, percent: float
) -> None:
    rng = np.random.default_rng(seed)
    after = np.array(values, dtype=float)
    before = rng.permutation(after)
    n, reach = len(after), int(percent * len(after) / 100 + 1e-9)
    mean_rank = np.array([(np.flatnonzero(np.sort(after) == v)).mean() for v in after])
    inside = 0
    for i in range(n):
        within = np.sort(after)[[r for r in range(n) if abs(r - mean_rank[i]) <= reach]]
        inside += bool(within.size and within.min() <= before[i] <= within.max())
        if not within.size:  # between two ranks and no reach: the value itself
            inside += before[i] == after[i]
    found = RankInterval(percents=(percent,)).evaluate(numbers(x=before), numbers(x=after))
    assert found.value == pytest.approx(inside / n)


def test_by_theory_independent_draws_fall_inside_as_often_as_the_interval_is_wide() -> None:
    # away from the ends an interval of +- p % holds 2p % of the values; cut at the ends: 2p - p^2 (as shares)
    rng = np.random.default_rng(1)
    before, after = rng.normal(size=20_000), rng.normal(size=20_000)
    for p in (1, 10):
        expected = 2 * p / 100 - (p / 100) ** 2
        found = RankInterval(percents=(p,)).evaluate(numbers(x=before), numbers(x=after)).value
        assert found == pytest.approx(expected, abs=5 * np.sqrt(expected / 20_000))


@pytest.mark.parametrize("percents", [(), (0,), (-1,), (101,), ("1",)])
def test_sizes_that_cannot_be_right_are_refused(percents: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match=r"percents must be numbers in \(0, 100\]"):
        RankInterval(percents=percents)


def test_ranks_that_come_from_files_by_hand() -> None:
    """Protected 10, 20, 30, 40 of ranks 0 to 3; 5 and 50 lie beyond all, and no interval reaches there.

    From the 20 down to the 10 is one rank, and 35 lies between 30 and the 40 beside it: one rank as well.
    """
    # how many protected values are smaller than 5, 50, 10, 35 and a blank, and how many are not larger
    before = Places(np.array([0, 4, 0, 3, -1]), np.array([0, 4, 1, 3, -1]))
    after = Places(np.array([0, 3, 1, 3, 0]), np.array([1, 4, 2, 4, 1]))  # of 10, 40, 20, 40, 10
    found = RankInterval()._inside(before, after, 4, [0, 1, 4], [0, 1, 4])
    assert found.hits.tolist() == [0, 2, 2]
    assert found.compared == 4
    assert found.sizes is not None
    assert found.sizes.tolist() == [0, 0, 2, 2, 0]


def test_an_interval_of_all_ranks_ends_with_the_values_there_are() -> None:
    # 9 is beyond the greatest protected value and 0 before the least, however many ranks away an interval ends
    before, after = numbers(x=[0.0, 2.0, 9.0]), numbers(x=[1.0, 2.0, 3.0])
    for ties in ("mean", "last"):
        found = RankInterval(percents=(100,), ties=ties).evaluate(before, after)
        assert found.by_record is not None and found.by_record.tolist() == [0, 1, 0]


def test_a_whole_number_of_ranks_reaches_as_far_down_as_up() -> None:
    # 20 % of 10 are two ranks: the interval of 5 is [3, 7]. 29 % of 100 are 29, though the product is 28.999...
    after = numbers(x=np.arange(10.0))
    for moved, inside in ((-2.0, 1.0), (-3.0, 0.0), (2.0, 1.0), (3.0, 0.0)):
        before = numbers(x=np.where(np.arange(10) == 5, 5 + moved, np.arange(10.0)))
        found = RankInterval(percents=(20,), ties="last").evaluate(before, after)
        assert found.by_record is not None and found.by_record[5] == inside
    hundred = numbers(x=np.arange(100.0))
    for moved, inside in ((-29.0, 1.0), (-30.0, 0.0), (29.0, 1.0), (30.0, 0.0)):
        before = numbers(x=np.where(np.arange(100) == 50, 50 + moved, np.arange(100.0)))
        found = RankInterval(percents=(29,), ties="last").evaluate(before, hundred)
        assert found.by_record is not None and found.by_record[50] == inside
