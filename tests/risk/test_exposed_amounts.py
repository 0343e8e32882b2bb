"""Extreme amounts that stand: by hand, ties and gaps, and what methods do to them."""

import numpy as np
import pytest

from sfumato import ExposedAmounts, Noise, ParameterError, TopBottomCoding
from sfumato.pair import Pair
from sfumato.risk.exposed_amounts import Farthest
from tables import numbers, persons

PAY = np.array([*range(100, 138), 900.0, 5000.0])  # 40 records: two extremes at most, 900 and 5000


def test_by_hand() -> None:
    data = numbers(pay=PAY)
    assert ExposedAmounts().evaluate(data, data).value == 1
    after = PAY.copy()
    after[-1] = 5049.0  # within 1 %
    after[-2] = 910.0  # 1.1 % away
    found = ExposedAmounts().evaluate(data, numbers(pay=after))
    assert found.value == 0.5
    assert found.by_variable == {"pay": 0.5}
    # 900 has 910 nearest and 5000 has 5049: both are found
    assert found.parts == {"variables whose farthest value stands": 1, "nearest to its own": 1, "extreme values": 2}
    assert found.by_record is not None and np.flatnonzero(found.by_record).tolist() == [39]
    after[-1] = np.nan
    assert ExposedAmounts().evaluate(data, numbers(pay=after)).value == 0
    assert ExposedAmounts(within=0.02).evaluate(data, numbers(pay=after)).value == 0.5
    with pytest.raises(ParameterError, match="within"):
        ExposedAmounts(within=2)


def extremes(values: list[float], most: int) -> tuple[list[int], list[int]]:
    """The rows of the extremes, and those of the farthest."""
    column = np.array(values)
    half = float(np.median(column[~np.isnan(column)])) / 2
    found = Farthest.of(column, column, half, 0.01, most)
    far, first = found.extremes(most)
    return sorted(found.rows[far].tolist()), sorted(found.rows[first].tolist())


def test_extremes_are_on_both_sides_and_never_shared() -> None:
    # from the median 0: 70, then 50 twice, which ties with the next
    assert extremes([-70.0, 0, 0, 0, 0, 50, 50, np.nan], 2) == ([0], [0])
    assert extremes([7.0] * 30, 10) == ([], [])
    assert extremes([np.nan, 3.0], 10) == ([], [])


def test_parts_of_which_one_has_no_value_and_one_no_record() -> None:
    data = persons(60)
    income = data.columns["income"].copy()
    income[:20] = np.nan
    data = data.replace({"income": income})
    whole = ExposedAmounts().evaluate(data, data)
    parts = [data.take(np.arange(*ends)) for ends in ((0, 20), (20, 20), (20, 60))]
    found = ExposedAmounts().evaluate_pair(Pair.of(parts, parts))
    assert (found.value, dict(found.parts)) == (whole.value, dict(whole.parts))
    assert found.by_record is None


def test_confidential_amounts_are_looked_at() -> None:
    data = persons()
    assert list(ExposedAmounts().evaluate(data, data).by_variable) == ["income"]
    assert list(ExposedAmounts(variables=("age",)).evaluate(data, data).by_variable) == ["age"]


def test_methods_that_remove_them() -> None:
    data = persons()
    coded = TopBottomCoding(0.05, variables=("income",)).protect(data)
    left = ExposedAmounts().evaluate(data, coded).value
    assert left < ExposedAmounts().evaluate(data, Noise(0.001, variables=("income",)).protect(data, rng=1)).value


def test_extremes_moved_by_a_factor_do_not_stand_but_are_found_by_the_nearest() -> None:
    # 900 becomes 886.5 and 5000 becomes 4925: 1.5 % away, and no other value is as near
    data = numbers(pay=PAY)
    found = ExposedAmounts().evaluate(data, numbers(pay=0.985 * PAY))
    assert (found.value, found.parts["nearest to its own"]) == (0, 1)


def test_the_nearest_by_hand() -> None:
    # 900 and 5000 both become 2950: nearest to 5000 are the two, each right by 1/2; nearest to 900 is 137
    # (763 away, 2950 is 2050 away): (1/2 + 0) / 2
    after = np.where(PAY >= 900, 2950.0, PAY)
    data = numbers(pay=PAY)
    assert ExposedAmounts().evaluate(data, numbers(pay=after)).parts["nearest to its own"] == 0.25
    # made missing, they are found by nobody
    gone = np.where(PAY >= 900, np.nan, PAY)
    assert ExposedAmounts().evaluate(data, numbers(pay=gone)).parts["nearest to its own"] == 0
    # by parts as by the whole: the two that are equal lie in different ones
    ends = ((0, 39), (39, 40))
    halves = [[t.take(np.arange(*e)) for e in ends] for t in (data, numbers(pay=after))]
    assert ExposedAmounts().evaluate_pair(Pair.of(*halves)).parts["nearest to its own"] == 0.25


def test_values_as_near_from_both_sides_share_the_hit() -> None:
    # 5000 becomes 4990, and 900 becomes 5010, as near to 5000: 1/2; nearest to 900 is 137: (1/2 + 0) / 2
    after = PAY.copy()
    after[-2:] = 5010.0, 4990.0
    data = numbers(pay=PAY)
    assert ExposedAmounts().evaluate(data, numbers(pay=after)).parts["nearest to its own"] == 0.25
