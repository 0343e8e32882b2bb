"""Masked numbers and dates have the decimals of the original: by hand, and the laws that hold of any table."""

import datetime as dt
from functools import reduce

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato import Microdata, Schema, Variable
from sfumato.table.resolution import FINER, Resolution, at_resolution_of, resolution, rounded
from tables import numbers

WHOLE = st.integers(-(10**9), 10**9)


def test_by_hand_the_fewest_decimals_that_hold_every_value() -> None:
    assert resolution(np.array([3.0, -20.0, np.nan])) == 0
    assert resolution(np.array([3.0, 0.1 + 0.2])) == FINER  # 0.30000000000000004 was computed
    assert resolution(np.array([1234567.89, 0.5])) == 2
    assert resolution(np.array([0.000001])) == 6 and resolution(np.array([0.0000001])) == FINER
    assert resolution(np.array([np.nan])) == 0
    rare = np.zeros(5_000)
    rare[4_321] = 0.03  # one value in thousands: it would become zero
    assert resolution(rare) == 2


def test_by_hand_what_has_no_such_decimals_stays() -> None:
    x = np.array([1e300, 9.1e15, np.nan, -0.4, 2.675])
    np.testing.assert_array_equal(rounded(x, 2), [1e300, 9.1e15, np.nan, -0.4, 2.68])
    assert not np.signbit(rounded(np.array([-0.2]), 0))[0]  # no file shows -0


@pytest.mark.parametrize(
    ("times", "words", "text"),
    [
        ([dt.datetime(2024, 3, 1), dt.datetime(2024, 3, 9)], "days", "2024-03-05 00:00:00"),
        ([dt.datetime(2024, 3, 1, 10, 20), dt.datetime(2024, 3, 9)], "minutes", "2024-03-05 07:47:00"),
        ([dt.datetime(2024, 3, 1, 10, 20, 7), dt.datetime(2024, 3, 9)], "seconds", "2024-03-05 07:46:40"),
    ],
)
def test_by_hand_dates_keep_the_unit_of_the_original(times: list[dt.datetime], words: str, text: str) -> None:
    data = Microdata.from_frame(pa.table({"at": pa.array(times, pa.timestamp("s"))}))
    masked = np.full(2, 19787 + 0.324074)  # 5 March 2024, 0.324074 days of 86,400 seconds = 28,000 s = 7:46:40
    made = at_resolution_of(data, data.replace({"at": masked}))
    assert made.to_arrow()["at"].type == pa.timestamp("s")
    assert {str(value) for value in made.to_arrow()["at"].to_pylist()} == {text}
    assert made.notes == (f"rounded to the decimals of the original: at to whole {words}",)


def test_days_come_back_as_days() -> None:
    days = [dt.date(2024, 3, day) for day in (1, 2, 3, 4, 5, 9)]
    data = Microdata.from_frame(pa.table({"day": days}))
    masked = data.replace({"day": data.columns["day"] + 0.3})
    assert at_resolution_of(data, masked).to_arrow()["day"].to_pylist() == days


def test_what_is_left_as_it_is() -> None:
    third = 1 / 3
    schema = Schema((Variable("w"), Variable("x", treatment=sfumato.Treatment())), weight="w")
    table = pa.table({"w": [1.5, 2.5], "x": [1, 2], "computed": [third, 2 * third], "kept": [1, 2]})
    data = Microdata.from_frame(table, schema)
    new = {"w": np.array([1.1234567, 2.0]), "x": np.array([1.4, 1.6]), "computed": np.array([0.1234567, 0.7])}
    made = at_resolution_of(data, data.replace(new))
    assert made.columns["w"].tolist() == [1.1234567, 2.0] and made.columns["computed"].tolist() == [0.1234567, 0.7]
    assert made.columns["kept"] is data.columns["kept"] and made.columns["x"].tolist() == [1.0, 2.0]
    said = "rounded to the decimals of the original: x to whole numbers; computed not, it has more than 6 decimals"
    assert made.notes == (said,)
    assert at_resolution_of(data, data) is data


def test_numbers_in_single_precision_keep_it_and_their_decimals() -> None:
    # the float of Stata, R's packages and many Parquet files: 12.35 is 12.350000381469727 when it is read
    table = pa.table({"x": pa.array(np.array([12.35, 7.1, 3.3, 8.25], dtype=np.float32))})
    made = sfumato.Noise(0.2).protect(table, rng=1, rounded=True)["x"]
    assert made.type == pa.float32() and made != table["x"]
    np.testing.assert_array_equal(made.to_numpy(), np.round(made.to_numpy().astype(float), 2).astype(np.float32))
    data = Microdata.from_frame(table)
    np.testing.assert_array_equal(rounded(data.columns["x"], 22), data.columns["x"])


def test_numbers_rounded_to_a_base_keep_it() -> None:
    data = numbers(x=[1.0, 2.0, 4.0, 5.0])
    made = sfumato.Rounding(1.5, random=True).protect(data, rng=1, rounded=True)  # whole numbers would be no multiples
    np.testing.assert_array_equal(made.columns["x"] % 1.5, 0)
    assert (made.columns["x"] % 1 != 0).any()


def test_a_base_tells_the_decimals_of_what_has_too_many() -> None:
    data = numbers(rate=np.random.default_rng(1).random(50))
    made = (sfumato.Rounding({"rate": 0.01}) + sfumato.Noise(0.1)).protect(data, rng=1, rounded=True)
    np.testing.assert_array_equal(made.columns["rate"], np.round(made.columns["rate"], 2))
    assert made.notes[-1] == "rounded to the decimals of the original: rate to 2 decimals"


def test_the_mean_beyond_a_limit_is_rounded_and_nothing_else() -> None:
    data = numbers(x=[1.0, 2, 3, 4, 5, 50, 60, 71])
    top = sfumato.TopBottomCoding(top={"x": 4.5}, by="mean")
    assert top.protect(data).columns["x"].tolist() == [1, 2, 3, 4] + [46.5] * 4  # (5 + 50 + 60 + 71) / 4
    assert top.protect(data, rounded=True).columns["x"].tolist() == [1, 2, 3, 4] + [46.0] * 4


def test_a_total_linked_to_its_parts_adds_up() -> None:
    cents = np.random.default_rng(3).integers(0, 10_000, (60, 2))
    a, b = cents.T / 100
    total = (cents.sum(axis=1)) / 100
    schema = Schema((Variable("total", linked=("a", "b")),))
    data = Microdata.from_frame(pa.table({"a": a, "b": b, "total": total}), schema)
    made = sfumato.Noise(0.2, variables=("a", "b")).protect(data, rng=1, rounded=True)
    assert (made.columns["a"] != a).any()
    hundreds = {name: np.rint(100 * made.columns[name]) for name in made.names}
    np.testing.assert_array_equal(hundreds["a"] + hundreds["b"], hundreds["total"])
    for name in made.names:  # to the last digit: 0.1 + 0.2 goes out as 0.3
        np.testing.assert_array_equal(made.columns[name], hundreds[name] / 100)


def test_without_being_asked_a_method_gives_what_its_formula_says() -> None:
    data = numbers(x=[1.0, 2.0, 4.0])
    np.testing.assert_allclose(sfumato.MDAV(3).protect(data).columns["x"], 7 / 3, rtol=1e-12)
    assert sfumato.MDAV(3).protect(data, rounded=True).columns["x"].tolist() == [2.0] * 3


@given(st.data(), st.lists(WHOLE, min_size=2, max_size=40), st.integers(0, 6))
def test_laws_of_rounding(data: st.DataObject, ticks: list[int], decimals: int) -> None:
    original = np.array([float(f"{tick}e-{decimals}") for tick in ticks])
    low, high = original.min(), original.max()
    masked = st.lists(st.floats(low, high), min_size=len(ticks), max_size=len(ticks))
    x = np.array(data.draw(masked))
    untouched = np.array(data.draw(st.lists(st.booleans(), min_size=len(ticks), max_size=len(ticks))))
    x[untouched] = original[untouched]
    table = numbers(x=original)
    y = at_resolution_of(table, table.replace({"x": x})).columns["x"]
    np.testing.assert_array_equal(y[untouched], original[untouched])  # what was true is written as it was
    assert (y >= low).all() and (y <= high).all()  # nothing leaves the range of the original
    order = np.argsort(x, kind="stable")
    assert (np.diff(y[order]) >= 0).all()  # order is kept, so equal values stay equal: a group stays a group
    assert all(
        len(repr(value).partition(".")[2].rstrip("0")) <= decimals for value in y.tolist() if "e" not in repr(value)
    )
    assert (np.abs(y - x) <= 0.5 * 10.0 ** -resolution(original) * (1 + 1e-9) + 1e-15 * np.abs(x)).all()
    again = at_resolution_of(table, table.replace({"x": y})).columns["x"]
    np.testing.assert_array_equal(again, y)


@given(st.data(), st.lists(st.tuples(WHOLE, st.integers(0, 8)), min_size=1, max_size=40))
def test_the_resolution_of_a_table_is_the_finest_of_its_parts(
    data: st.DataObject, values: list[tuple[int, int]]
) -> None:
    single = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    x = np.array([float(f"{tick}e-{decimals}") for tick, decimals in values])
    x = np.where(single, x.astype(np.float32), x)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(x)), max_size=4)))
    assert resolution(x) == max(resolution(part) for part in np.split(x, cuts))
    halves = [numbers(x=part) for part in np.split(x, cuts) if len(part)]
    found = [Resolution.of(part, "x") for part in halves]
    assert reduce(Resolution.merge, found) == Resolution.of(numbers(x=x), "x")


@given(st.lists(st.integers(0, 86_400 * 20_000), min_size=1, max_size=20), st.floats(0, 1))
def test_moments_read_as_seconds_stay_the_numbers_they_were(seconds: list[int], by: float) -> None:
    column = pa.array([dt.datetime(1970, 1, 1) + dt.timedelta(seconds=second) for second in seconds], pa.timestamp("s"))
    data = Microdata.from_frame(pa.table({"at": column}))
    days = data.columns["at"]
    level = resolution(days, date=True)
    assert level <= 3
    np.testing.assert_array_equal(rounded(days, level, date=True), days)
    moved = rounded(days + by, level, date=True)
    np.testing.assert_array_equal(rounded(moved, level, date=True), moved)
    assert (np.abs(moved - days - by) <= 0.5 + 1e-9).all()
