"""Any frame in, the same frame out: pandas, polars and pyarrow, all of their types."""

import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable

TIME, DAY = dt.datetime(2024, 1, 2, 3, 4, 5), dt.date(2024, 1, 2)
MOMENTS: Any = [TIME, None, TIME]
PANDAS: dict[str, Any] = {
    "int64": pd.Series([1, 2, 3]),
    "int8": pd.Series([1, 2, 3], dtype="int8"),
    "uint64": pd.Series([1, 2, 2**64 - 1], dtype="uint64"),
    "nullable": pd.Series([1, None, 3], dtype="Int64"),
    "wide": pd.Series([2**60 + 1, 2, 3]),
    "wide nullable": pd.Series([2**60 + 1, None, 3], dtype="Int64"),
    "float32": pd.Series([0.1, np.nan, 3], dtype="float32"),
    "Float64": pd.Series([0.1, None, 3], dtype="Float64"),
    "whole floats": pd.Series([1.0, np.nan, 2.0]),
    "str": pd.Series(["a", None, "b"]),
    "object": pd.Series(["a", None, "b"], dtype="object"),
    "string": pd.Series(["a", None, "b"], dtype="string"),
    "category": pd.Series(pd.Categorical(["b", None, "a"], categories=["b", "a", "unused"])),
    "ordered": pd.Series(pd.Categorical(["low", "high", None], categories=["low", "high", "unused"], ordered=True)),
    "whole category": pd.Series(pd.Categorical([3, 1, None])),
    "bool": pd.Series([True, False, True]),
    "boolean": pd.Series([True, None, False], dtype="boolean"),
    "date": pd.Series([DAY, None, DAY], dtype="object"),
    "datetime": pd.Series(pd.to_datetime(MOMENTS)),
    "zoned": pd.Series(pd.to_datetime(MOMENTS)).dt.tz_localize("Europe/Vienna"),
    "duration": pd.Series(pd.to_timedelta([1, None, 2], unit="h")),
    "missing": pd.Series([np.nan] * 3),
    "arrow": pd.Series([1, None, 2], dtype="int64[pyarrow]"),
}
POLARS: dict[str, Any] = {
    "int": pl.Series([1, None, 3]),
    "uint8": pl.Series([1, None, 3], dtype=pl.UInt8),
    "uint64": pl.Series([1, None, 2**64 - 1], dtype=pl.UInt64),
    "wide": pl.Series([2**60 + 1, None, 1]),
    "float32": pl.Series([0.1, None, 3], dtype=pl.Float32),
    "text": pl.Series(["a", None, "b"]),
    "categorical": pl.Series(["b", None, "a"], dtype=pl.Categorical),
    "enum": pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "a", "c"])),
    "bool": pl.Series([True, None, False]),
    "date": pl.Series([DAY, None, DAY]),
    "datetime": pl.Series([TIME, None, TIME]),
    "time": pl.Series([dt.time(1), None, dt.time(2)]),
    "decimal": pl.Series([Decimal("1.50"), None, Decimal("2.25")]),
}
ARROW: dict[str, Any] = {
    "int32": pa.array([1, None, 2], pa.int32()),
    "uint64": pa.array([1, None, 2**64 - 1], pa.uint64()),
    "float16": pa.array([np.float16(1), None, np.float16(0.5)], pa.float16()),
    "float32": pa.array([0.1, None, 2], pa.float32()),
    "decimal": pa.array([Decimal("1.50"), None, Decimal("2.25")]),
    "text": pa.array(["a", None, "b"]),
    "large text": pa.array(["a", None, "b"], pa.large_string()),
    "text view": pa.array(["a", None, "b"], pa.string_view()),
    "dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
    "ordered": pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1], pa.int8()), pa.array(["b", "a", "c"], pa.large_string()), ordered=True
    ),
    "whole dictionary": pa.array([3, None, 1]).dictionary_encode(),
    "bool": pa.array([True, None, False]),
    "date": pa.array([DAY, None, DAY]),
    "seconds": pa.array([TIME, None, TIME], pa.timestamp("s")),
    "nanoseconds": pa.array([1, None, 2]).cast(pa.timestamp("ns")),
    "zoned": pa.array([TIME, None, TIME], pa.timestamp("us", tz="Europe/Vienna")),
}


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_comes_back(name: str) -> None:
    frame = pd.DataFrame({"x": PANDAS[name], "y": [1, 2, 3]}).set_axis(["r1", "r2", "r3"])
    frame.index.name = "row"
    before = frame.copy()
    pd.testing.assert_frame_equal(Microdata.from_frame(frame).to_frame(), frame)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("name", POLARS)
def test_polars_comes_back(name: str) -> None:
    frame = pl.DataFrame({"x": POLARS[name], "y": [1, 2, 3]})
    found = Microdata.from_frame(frame).to_frame()
    assert found.schema == frame.schema
    assert found.equals(frame)


@pytest.mark.parametrize("name", ARROW)
def test_arrow_comes_back(name: str) -> None:
    table = pa.table({"x": ARROW[name], "y": [1, 2, 3]})
    assert Microdata.from_frame(table).to_frame().equals(table)


COLUMNS = st.sampled_from(
    [
        (st.integers(-(2**53), 2**53), pa.int64()),
        (st.integers(-(2**63), 2**63 - 1), pa.int64()),
        (st.integers(0, 255), pa.uint8()),
        (st.floats(allow_nan=False, allow_infinity=False), pa.float64()),
        (st.floats(allow_nan=False, allow_infinity=False, width=32), pa.float32()),
        (st.text(), pa.string()),
        (st.booleans(), pa.bool_()),
        (st.dates(dt.date(1700, 1, 1)), pa.date32()),
    ]
).flatmap(lambda pair: st.tuples(st.just(pair[1]), st.lists(st.none() | pair[0], min_size=4, max_size=4)))


@settings(max_examples=150, deadline=None)
@given(st.lists(COLUMNS, min_size=1, max_size=4), st.sampled_from(["pyarrow", "polars", "pandas"]))
def test_every_table_comes_back(columns: list[tuple[Any, list[Any]]], kind: str) -> None:
    table = pa.table({f"v{j}": pa.array(values, kind) for j, (kind, values) in enumerate(columns)})
    if kind == "pyarrow":
        assert Microdata.from_frame(table).to_frame().equals(table)
    elif kind == "polars":
        frame: Any = pl.from_arrow(table)
        assert Microdata.from_frame(frame).to_frame().equals(frame)
    else:
        frame = table.to_pandas()
        pd.testing.assert_frame_equal(Microdata.from_frame(frame).to_frame(), frame)


def test_types_that_no_longer_hold_give_way() -> None:
    frame = pd.DataFrame(
        {
            "age": pd.Series([30, 40], dtype="int8"),
            "region": pd.Categorical(["north", "south"]),
            "day": pd.to_datetime(["2024-01-01", "2024-06-01"]),
            "short": np.array([1.5, 2.5], dtype="float32"),
        }
    )
    data = Microdata.from_frame(frame)
    merged = Variable("region", kind="nominal", categories=("north or south",))
    year = Variable("day", kind="nominal", categories=("2024",))
    codes = np.zeros(2, dtype=np.int32)
    values = {"age": np.array([300.0, np.nan]), "region": codes, "day": codes, "short": np.array([0.1, 0.2])}
    for kind in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        data = Microdata.from_frame(kind)
        recoded = Microdata(data.schema.replace(merged, year), {**data.columns, **values}, data.origin)
        back = recoded.to_frame()
        assert list(back["region"]) == ["north or south"] * 2 or str(back["region"][0]) == "north or south"
        assert str(back["day"][0]) == "2024"
        assert str(back["age"][0]) == "300"
        assert pytest.approx(float(str(back["short"][0])), rel=1e-7) == 0.1


def test_columns_may_be_gone() -> None:
    table = pa.table({"a": pa.array([1, 2], pa.int8()), "b": ["x", "y"], "c": pa.array([0.5, 1], pa.float32())})
    for frame in (table, pl.from_arrow(table), table.to_pandas()):
        data = Microdata.from_frame(frame)
        less = Microdata(data.schema.only(["b", "c"]), {n: data.columns[n] for n in ("b", "c")}, data.origin)
        assert list(less.to_frame("pyarrow").column_names) == ["b", "c"]
        back = less.to_frame()
        assert type(back) is type(frame)


def test_one_kind_into_another() -> None:
    data = Microdata.from_frame(pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
    assert data.to_frame("polars").to_dict(as_series=False) == {"a": [1, 2], "b": ["x", None]}
    assert data.to_frame("pyarrow").to_pydict() == {"a": [1, 2], "b": ["x", None]}


def test_rows_taken_lose_their_labels() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=["x", "y", "z"])
    assert Microdata.from_frame(frame).take(np.array([2, 0])).to_frame()["a"].tolist() == [3, 1]


def test_microdata_pickles_and_keeps_its_fingerprint() -> None:
    data = Microdata.from_frame(pd.DataFrame({"a": [1.5, None], "b": ["x", "y"]}))
    again = pickle.loads(pickle.dumps(data))
    assert again.fingerprint == data.fingerprint
    pd.testing.assert_frame_equal(again.to_frame(), data.to_frame())
    with pytest.raises(ValueError, match="read-only"):
        again.columns["a"][0] = 3


def test_numbers_a_schema_says_stay_numbers() -> None:
    for frame in (pd.DataFrame({"x": ["1.5", "7"]}), pl.DataFrame({"x": ["1.5", "7"]}), pa.table({"x": ["1.5", "7"]})):
        back = Microdata.from_frame(frame, Schema((Variable("x"),))).to_frame()
        assert [float(str(value)) for value in back["x"]] == [1.5, 7.0]
        assert not isinstance(back["x"][0], str)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"x": [1, "a"]}), "variable 'x' mixes values of different types"),
        (pd.DataFrame({0: [1]}), "column names must be text; got 0"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns of the same name"),
        (pa.table([[1], [2]], names=["a", "a"]), "two columns of the same name"),
        (pd.DataFrame({"x": [[1], [2]]}), "variable 'x' holds values of type list"),
        (pd.DataFrame({"x": pd.cut(pd.Series([1.0, 2.0]), 2)}), "variable 'x' holds .*turn it into text"),
        (pd.DataFrame({"x": [1j]}), "variable 'x' cannot be read"),
        (pl.DataFrame({"x": [{"a": 1}]}), "variable 'x' holds values of type struct"),
        (pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object)}), "turn it into text"),
        (pl.DataFrame({"x": [1]}).lazy(), r"got LazyFrame; call its collect\(\) first"),
        (np.eye(2), "expected a Microdata or a pandas, polars or pyarrow table; got ndarray"),
        ({"x": [1]}, "got dict"),
        (pd.DataFrame({"x": []}), "no records"),
        (pd.DataFrame(), "no records"),
        (pd.DataFrame({"x": [1.0, np.inf, -np.inf]}), r"'x' has 2 infinite values \(first in row 2\)"),
        (pd.DataFrame({"": [1]}), "name must be text, and not empty"),
    ],
)
def test_frames_that_are_no_table(frame: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Microdata.from_frame(frame)
