"""Units and weights: which records belong together, and what each counts."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.table.households import counted, units
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema
from sfumato.table.weights import normalised, unequal


def table(homes: pa.Array, named: bool = True) -> Microdata:
    frame = pa.table({"home": homes, "age": list(range(len(homes)))})
    return Microdata.from_frame(frame, Schema(household="home" if named else None))


def test_without_households_each_record_is_a_unit() -> None:
    unit = units(table(pa.array([5, 5, 5]), named=False))
    assert unit.tolist() == [0, 1, 2] and unit.dtype == np.int64
    assert counted(unit) == 3


@pytest.mark.parametrize("homes", [pa.array([9.0, 4.0, 9.0, 6.0]), pa.array(["x", "b", "x", "c"])])
def test_households_are_numbered_by_their_values(homes: pa.Array) -> None:
    unit = units(table(homes))
    assert unit.tolist() == [2, 0, 2, 1] and unit.dtype == np.int64


@pytest.mark.parametrize("homes", [pa.array([None, 4.0, None, 4.0, 1.0]), pa.array([None, "b", None, "b", "a"])])
def test_a_record_whose_household_is_missing_is_a_unit_of_its_own(homes: pa.Array) -> None:
    assert units(table(homes)).tolist() == [2, 1, 3, 1, 0]


def test_categories_that_no_record_has_leave_no_gap() -> None:
    survey = table(pa.array(["a", "b", "c", "d"])).take(np.array([3, 1, 3]))
    assert units(survey).tolist() == [1, 0, 1]


@given(st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=1, max_size=30).filter(lambda h: set(h) != {None}))
def test_two_records_share_a_unit_only_if_they_share_a_known_household(homes: list[int | None]) -> None:
    unit = units(table(pa.array(homes, type=pa.float64())))
    assert sorted(set(unit.tolist())) == list(range(counted(unit)))
    for i, one in enumerate(homes):
        for j, other in enumerate(homes):
            assert (unit[i] == unit[j]) == (i == j or (one is not None and one == other))


def test_no_records_have_no_units() -> None:
    assert counted(np.empty(0, dtype=np.int64)) == 0


def test_normalised_weights_sum_to_the_number_of_records() -> None:
    assert normalised(np.array([1.0, 2.0, 5.0])).tolist() == [0.375, 0.75, 1.875]  # 3 / 8 of each
    assert normalised(np.array([0.0, 4.0])).tolist() == [0.0, 2.0]
    assert normalised(np.empty(0)).size == 0


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=50).filter(lambda w: max(w) > 1e-300))
def test_normalising_keeps_the_ratios_of_any_weights(weights: list[float]) -> None:
    found = normalised(np.array(weights))
    assert found.sum() == pytest.approx(len(weights), rel=1e-12)
    largest = int(np.argmax(weights))
    assert found / found[largest] == pytest.approx(np.array(weights) / weights[largest], rel=1e-12)


@given(st.floats(1e-300, 1e300), st.integers(1, 1000))
def test_equal_weights_become_exactly_one(weight: float, records: int) -> None:
    equal = np.full(records, weight)
    assert (normalised(equal) == 1.0).all() and not unequal(equal)


def test_weights_differ_or_not() -> None:
    assert unequal(np.array([1.0, 1.0, 1.5])) and not unequal(np.empty(0))
