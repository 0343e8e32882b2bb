"""Declared missing codes: numbers are compared as numbers, in every type of column and kind of file."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.table.files import read, write
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable

# codes that print with an exponent in some type or other, and plain ones
CODES = (-9, 99.5, 10_000_000, 10**10, 1e-05, 1e20)
TYPES = [pa.float64(), pa.float32(), pa.decimal128(38, 6), pa.decimal256(60, 8)]


def read_with(column: Any, *codes: Any, kind: Any = "numeric") -> Any:
    return Microdata.from_frame(pa.table({"x": column}), Schema((Variable("x", kind=kind, missing=codes),)))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_code_is_recognised_in_every_type_of_number(kind: pa.DataType, code: float) -> None:
    column = pa.array([Decimal(repr(code)), Decimal(3), None, Decimal(repr(code))]).cast(pa.string()).cast(kind)
    assert np.isnan(read_with(column, code).columns["x"]).tolist() == [True, False, True, True]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()], ids=str)
def test_a_code_is_recognised_in_whole_numbers(kind: pa.DataType) -> None:
    column = pa.array([99, 3, None], kind)
    for code in (99, 99.0, "99"):
        assert np.isnan(read_with(column, code, 99.5, -1, 1e30).columns["x"]).tolist() == [True, False, True]


@pytest.mark.parametrize("code", [10_000_000, 10**10, 1e-05, -9])
def test_a_code_is_recognised_in_frames_and_files(code: float, tmp_path: Path) -> None:
    schema = Schema((Variable("x", kind="numeric", missing=(code,)),))
    values = [float(code), 1.5, float(code)]
    tables: list[Any] = [pd.DataFrame({"x": values}), pl.DataFrame({"x": values}), pa.table({"x": values})]
    for name in ("t.csv", "t.parquet", "t.xlsx", "t.sav", "t.dta"):
        write(pa.table({"x": values}), tmp_path / name)
        tables.append(read(tmp_path / name, schema))
    for table in tables:
        assert np.isnan(Microdata.from_frame(table, schema).columns["x"]).tolist() == [True, False, True]


WRITTEN = [(-9.0, "-9"), (-9.0, "-9.0"), (-9.0, " -9e0 "), (1e10, "1e10"), (1e-05, "0.00001"), (99.0, "099")]


@pytest.mark.parametrize(("code", "written"), WRITTEN)
@pytest.mark.parametrize("kind", ["numeric", "nominal"])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx", "sav", "dta", "xpt"])
def test_a_code_written_as_text_is_its_number_in_every_file(
    code: float, written: str, kind: Any, suffix: str, tmp_path: Path
) -> None:
    write(pa.table({"x": [code, 1.5, code]}), tmp_path / f"t.{suffix}")
    data = read(tmp_path / f"t.{suffix}", Schema((Variable("x", kind=kind, missing=(written,)),)))
    assert data.missing("x").tolist() == [True, False, True]
    assert pa.array([None, 1.5, None]).equals(data.to_arrow()["x"].combine_chunks())


@pytest.mark.parametrize("suffix", ["sav", "dta", "xpt"])
def test_text_of_labelled_files_holds_codes_as_text_and_as_numbers(suffix: str, tmp_path: Path) -> None:
    write(pa.table({"x": ["9", "09", "3"]}), tmp_path / f"t.{suffix}")
    named = read(tmp_path / f"t.{suffix}", Schema((Variable("x", kind="nominal", missing=(9,)),)))
    assert named.missing("x").tolist() == [True, False, False]
    counted = read(tmp_path / f"t.{suffix}", Schema((Variable("x", kind="numeric", missing=("9.0",)),)))
    assert counted.missing("x").tolist() == [True, True, False]


@pytest.mark.parametrize("suffix", ["parquet", "sav", "dta", "xpt"])
def test_a_date_that_stands_for_missing_is_compared_as_a_date(suffix: str, tmp_path: Path) -> None:
    write(pa.table({"x": [date(2020, 1, 1), date(2999, 12, 31)]}), tmp_path / f"t.{suffix}")
    data = read(tmp_path / f"t.{suffix}", Schema((Variable("x", kind="date", missing=("2999-12-31",)),)))
    assert data.missing("x").tolist() == [False, True]


def test_a_code_written_as_text_is_put_back_into_the_file(tmp_path: Path) -> None:
    write(pa.table({"x": [99.0, 1.5, 2.0]}), tmp_path / "in.sav")
    data = read(tmp_path / "in.sav", Schema((Variable("x", kind="numeric", missing=("99",)),)))
    write(data, tmp_path / "out.sav")
    again = read(tmp_path / "out.sav")  # which now declares the code itself
    assert again.missing("x").tolist() == [True, False, False] and again.schema["x"].missing == (99,)


@pytest.mark.parametrize("written", ["-9", "-9.0", "-9.00", " -9 ", "-09", "-0.9e1"])
def test_text_that_a_schema_says_are_numbers_holds_codes_as_numbers(written: str) -> None:
    assert np.isnan(read_with(pa.array([written, "3"]), -9).columns["x"]).tolist() == [True, False]


def test_text_is_compared_as_text() -> None:
    found = read_with(pa.array(["9", "09", "9.0", "x"]), 9, "x", kind="nominal")
    assert found.columns["x"].tolist() == [-1, 0, 1, -1] and found.schema["x"].categories == ("09", "9.0")


def test_categories_of_numbers_keep_their_order_without_the_code() -> None:
    column = pa.DictionaryArray.from_arrays([0, 1, 2, 1], pa.array([3.0, 1e10, 1.0]), ordered=True)
    found = read_with(column, 10**10, kind="ordinal")
    assert found.schema["x"].categories == (3.0, 1.0) and found.columns["x"].tolist() == [0, -1, 1, -1]


@pytest.mark.parametrize("kind", ["numeric", "nominal"])
@pytest.mark.parametrize("code", [0, 0.0, -0.0, "0", "-0", "-0.0"])
def test_zero_has_no_sign(code: Any, kind: Any, tmp_path: Path) -> None:
    schema = Schema((Variable("x", kind=kind, missing=(code,)),))
    values = [1.5, -0.0, 0.0]
    tables: list[Any] = [pd.DataFrame({"x": values}), pl.DataFrame({"x": values})]
    tables += [pa.table({"x": pa.array(values, width)}) for width in (pa.float32(), pa.float64())]
    tables.append(pa.table({"x": pa.array(values).dictionary_encode()}))
    (tmp_path / "t.csv").write_text("x\n1.5\n-0.0\n0\n")
    tables.append(read(tmp_path / "t.csv", schema))
    for table in tables:
        assert Microdata.from_frame(table, schema).missing("x").tolist() == [False, True, True]


@given(
    code=st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False)),
    others=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5),
)
def test_exactly_the_equal_numbers_are_missing(code: float, others: list[float]) -> None:
    values = [float(code), *others]
    found = read_with(pa.array(values), code).columns["x"]
    assert np.isnan(found).tolist() == [value == code for value in values]
