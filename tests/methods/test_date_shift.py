"""Date shifting: one shift for each unit, whole days, at most so many, evenly drawn."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import DateShift, Microdata, NotApplicable, ParameterError, Schema, VariableRemoval


def stays(n: int = 50, seed: int = 0) -> Microdata:
    rng = np.random.default_rng(seed)
    came = [dt.datetime(2020, 1, 1) + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 500_000, n)]
    left = [
        None if i % 7 == 3 else day + dt.timedelta(days=int(d))
        for i, (day, d) in enumerate(zip(came, rng.integers(0, 30, n), strict=True))
    ]
    table = pa.table(
        {"person": np.arange(n) // 3, "came": came, "left": pa.array(left, pa.timestamp("us")), "cost": rng.random(n)}
    )
    return Microdata.from_frame(table)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.integers(0, 2**32), st.booleans())
def test_a_unit_moves_as_one_by_whole_days(days: int, seed: int, several: bool) -> None:
    data = stays()
    if several:
        data = Microdata.from_frame(data, Schema(household="person"))
    moved = DateShift(days).protect(data, rng=seed)
    shift = moved.columns["came"] - data.columns["came"]
    assert np.abs(shift - np.round(shift)).max() < 1e-9  # the time of day stays
    shift = np.round(shift)
    assert np.abs(shift).max() <= days
    both = ~np.isnan(data.columns["left"])
    assert np.array_equal(both, ~np.isnan(moved.columns["left"]))
    assert np.allclose((moved.columns["left"] - data.columns["left"])[both], shift[both], rtol=0, atol=1e-9)
    assert np.array_equal(moved.columns["cost"], data.columns["cost"])
    if several:
        assert all(len(set(shift[data.columns["person"] == person])) == 1 for person in range(17))
    frame, before = moved.to_frame(), data.to_frame()
    assert frame["came"].type == before["came"].type
    for one, other in zip(frame["came"].to_pylist(), before["came"].to_pylist(), strict=True):
        assert one.time() == other.time()


def test_shifts_are_drawn_evenly() -> None:
    """21,000 draws of seven values: each 3,000 times, with a standard deviation of 51; five of these are allowed."""
    data = Microdata.from_frame(pa.table({"day": pa.array(np.zeros(21_000, dtype=np.int32)).cast(pa.date32())}))
    shift = DateShift(3).protect(data, rng=5).columns["day"]
    values, counts = np.unique(shift, return_counts=True)
    assert values.tolist() == [-3, -2, -1, 0, 1, 2, 3]
    assert np.abs(counts - 3000).max() < 5 * np.sqrt(21_000 * (1 / 7) * (6 / 7))


def test_it_is_told_that_values_need_not_be_true_and_only_named_dates_move() -> None:
    data = stays()
    moved = DateShift(30, variables=("came",)).protect(data, rng=1)
    assert moved.schema["came"].treatment.perturbed and not moved.schema["left"].treatment
    assert np.array_equal(moved.columns["left"], data.columns["left"], equal_nan=True)
    assert moved.notes == ("DateShift: came moved by at most 30 days",)


def test_what_cannot_be() -> None:
    with pytest.raises(ParameterError, match="days must be a whole number of at least 1"):
        DateShift(0)
    with pytest.raises(NotApplicable, match="DateShift: the table has no date variable"):
        DateShift(3).protect(pa.table({"a": [1]}))
    with pytest.raises(NotApplicable, match="DateShift: variable 'cost' is numeric; it must be date"):
        DateShift(3, variables=("cost",)).protect(stays())


def interviewed(days: list[dt.date], n: int = 20) -> pa.Table:
    """Return births a day apart, and interviews on the days given, then each on a day of its own."""
    own = [dt.date(2020, 3, 1) + dt.timedelta(days=i) for i in range(n)]
    born = [dt.date(1960, 1, 1) + dt.timedelta(days=i) for i in range(n)]
    return pa.table({"born": born, "interview": [*days, *own[len(days) :]]})


def test_a_day_that_many_share_is_refused_because_it_gives_the_shift_away() -> None:
    """5 of 20 are more than a fifth, 4 are not."""
    table = interviewed([dt.date(2020, 1, 1)] * 5)
    with pytest.raises(NotApplicable, match=r"25% of the units have the same day in 'interview', 2020-01-01; .*remove"):
        DateShift(30).protect(table, rng=1)
    DateShift(30).protect(interviewed([dt.date(2020, 1, 1)] * 4), rng=1)
    DateShift(30, variables=("born",)).protect(table, rng=1)
    (VariableRemoval(variables=("interview",)) + DateShift(30)).protect(table, rng=1)


def test_a_day_is_shared_by_units_and_not_by_records() -> None:
    """Ten persons with two records each: one person with a day twice shares it with nobody."""
    came = [dt.date(2020, 1, 1) + dt.timedelta(days=i // 2) for i in range(20)]
    table = pa.table({"person": np.arange(20) // 2, "came": came})
    DateShift(30).protect(Microdata.from_frame(table, Schema(household="person")), rng=1)
    crossed = pa.table({"person": np.arange(20) % 10, "came": [*came[:10], *[dt.date(2020, 5, 1)] * 10]})
    with pytest.raises(NotApplicable, match="100% of the units"):
        DateShift(30).protect(Microdata.from_frame(crossed, Schema(household="person")), rng=1)


@pytest.mark.parametrize("day", [dt.date(9999, 12, 31), dt.date(9999, 1, 1), dt.date(1, 1, 1), dt.date(9998, 12, 1)])
def test_dates_at_the_end_of_the_calendar_are_refused(day: dt.date) -> None:
    table = pa.table({"day": [dt.date(2020, 1, 1), day]})
    with pytest.raises(NotApplicable, match=rf"{day} in row 2, at the end of the calendar, .*declare it as missing"):
        DateShift(400).protect(table, rng=3)
