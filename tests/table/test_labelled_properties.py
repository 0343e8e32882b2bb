"""Whatever a table holds, a labelled file gives it back."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.table.files import read, write
from sfumato.table.formats.labelled.variables import from_dates, to_dates
from sfumato.table.frames import Family, Moment
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable
from waiting import SLOW_OR_SHARED

QUICK = settings(max_examples=40, suppress_health_check=SLOW_OR_SHARED)
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda text: text == text.rstrip(" ")  # blanks at the end mean nothing in SPSS and SAS
)
NUMBER = st.floats(-1e60, 1e60).filter(lambda x: x == 0 or abs(x) > 1e-60)
ROW = st.tuples(
    st.none() | NUMBER,
    st.none() | st.integers(1, 5),
    st.none() | TEXT,
    st.none() | st.dates(dt.date(1600, 1, 1)),
    st.none() | st.datetimes(dt.datetime(1600, 1, 1), dt.datetime(2500, 1, 1)).map(lambda t: t.replace(microsecond=0)),
    st.none() | st.times().map(lambda t: t.replace(microsecond=0, fold=0)),
)
LABELS = st.dictionaries(st.integers(1, 9), TEXT, max_size=6)
SUFFIXES = st.sampled_from([".sav", ".zsav", ".dta", ".xpt"])


@QUICK
@given(st.lists(ROW, min_size=1, max_size=8), SUFFIXES, LABELS, TEXT, st.sampled_from(["nominal", "ordinal"]))
def test_a_table_comes_back(
    tmp_path: Path, rows: list[tuple[Any, ...]], suffix: str, labels: dict[int, str], label: str, kind: Any
) -> None:
    number, code, text, day, moment, time = (list(column) for column in zip(*rows, strict=True))
    table = pa.table(
        {
            "number": pa.array(number, pa.float64()),
            "code": pa.array(code, pa.int64()),
            "town": pa.array(text, pa.string()),
            "day": pa.array(day, pa.date32()),
            "moment": pa.array(moment, pa.timestamp("us")),
            "clock": pa.array(time, pa.time64("us")),
        }
    )
    coded = Variable("code", kind=kind, labels=tuple(labels.items()), label=label)
    data = Microdata.from_frame(table, Schema((coded,)))
    notes = write(data, tmp_path / f"t{suffix}")
    found = read(tmp_path / f"t{suffix}")
    assert found.names == data.names
    frame = found.to_frame()
    for name in ("number", "town", "day", "moment", "clock"):
        expected = table[name].to_pylist()
        if frame[name].null_count < len(frame):  # of nothing but gaps the type is not known
            assert frame[name].to_pylist() == expected, name
        else:
            assert expected == [None] * len(rows)
    assert [None if x is None else int(x) for x in frame["code"].to_pylist()] == code
    assert found.schema["code"].label == label
    if suffix != ".xpt":
        assert dict(found.schema["code"].labels) == labels
    assert bool(labels and suffix == ".xpt") == any("no value labels" in note for note in notes)
    if suffix in (".sav", ".zsav"):
        assert found.schema["code"].kind == kind


@QUICK
@given(
    st.lists(st.none() | st.sampled_from([1.0, 2.0, 3.5, -1.0, -2.0, -8.0, 98.0, 99.0]), min_size=1, max_size=12),
    st.lists(st.booleans(), min_size=12, max_size=12),
    st.data(),
)
def test_codes_stay_with_their_cells(
    tmp_path: Path, values: list[float | None], hidden: list[bool], draw: st.DataObject
) -> None:
    import polars as pl
    import pyreadstat

    from labelled_tables import raw

    file, again = tmp_path / "a.sav", tmp_path / "b.sav"
    missing: list[Any] = [{"lo": -10.0, "hi": -2.0}, 99.0]
    pyreadstat.write_sav(pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)}), file, missing_ranges={"x": missing})
    data = read(file)
    rows = np.array(draw.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=8)))
    taken = data.take(rows)
    column = taken.columns["x"].copy()
    gone = np.array(hidden[: len(rows)])
    column[gone] = np.nan
    assert write(taken.replace({"x": column}), again) == ()

    def coded(value: float | None) -> bool:
        return value is not None and (value == 99 or -10 <= value <= -2)

    # a cell that was missing keeps its code; a value that was made missing has none
    expected = [
        values[i] if coded(values[i]) or not hide else None for i, hide in zip(rows, gone.tolist(), strict=True)
    ]
    assert raw(again)[0]["x"] == expected


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**13), 10**13).map(float), max_size=6),
    st.sampled_from(["spss", "stata", "sas"]),
    st.sampled_from(["date", "datetime", "time"]),
)
def test_numbers_become_dates_only_if_they_come_back(numbers: list[float], family: Family, moment: Moment) -> None:
    values = np.array([*numbers, np.nan])
    dates = to_dates(family, moment, values)
    if dates is not None:
        assert dates.null_count == 1
        assert from_dates(family, moment, tuple(dates.drop_null().to_pylist())).tolist() == numbers


@given(st.datetimes(dt.datetime(1583, 1, 1), dt.datetime(3000, 1, 1)), st.sampled_from(["spss", "stata", "sas"]))
def test_every_moment_has_a_number(moment: dt.datetime, family: Family) -> None:
    whole = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    numbers = from_dates(family, "datetime", (whole,))
    found = to_dates(family, "datetime", numbers)
    assert found.to_pylist() == [whole]
    days = from_dates(family, "date", (moment.date(),))
    assert to_dates(family, "date", days).to_pylist() == [moment.date()]


def test_dates_by_hand() -> None:
    # 1 January 1970 is day 141,428 after 14 October 1582 and day 3,653 after 1 January 1960
    day = (dt.date(1970, 1, 1),)
    assert from_dates("spss", "date", day).tolist() == [141_428 * 86_400]
    assert from_dates("stata", "date", day).tolist() == from_dates("sas", "date", day).tolist() == [3653]
    assert from_dates("stata", "datetime", (dt.datetime(1970, 1, 1),)).tolist() == [3653 * 86_400_000]
    assert from_dates("sas", "time", (dt.time(1, 0, 0, 500_000),)).tolist() == [3600.5]
    assert to_dates("spss", "date", np.array([43_200.0])) is None, "half a day"
    assert to_dates("sas", "time", np.array([86_400.0])) is None, "24 hours"
    assert to_dates("stata", "date", np.array([1e300])) is None
