"""Whole numbers of 2^53 and more beside fractions, over the types of files: kept to the digit."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Microdata, read, scan, write

WIDE = [2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1, 7]
PART = [0.5, 1.25, -3.75, 1e-3, 2.5e10, 0.1]
AS_TEXT = ["9007199254740993", "0.5", "-9007199254740993", "1.25", "7", "123456789012345678901"]


def table() -> pa.Table:
    return pa.table({"wide": pa.array(WIDE, pa.int64()), "part": PART})


def numbers(data: Microdata, name: str) -> list[Any]:
    """Return a column as a file or a frame of this table would have it."""
    return [None if value is None else Decimal(str(value)) for value in data.to_arrow()[name].to_pylist()]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet"])
def test_a_column_of_whole_numbers_beside_one_of_fractions_reads_back_to_the_digit(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"t{suffix}"
    write(Microdata.from_frame(table()), file)
    found = read(file)
    assert numbers(found, "wide") == [Decimal(value) for value in WIDE]
    assert numbers(found, "part") == [Decimal(str(value)) for value in PART]


@pytest.mark.parametrize("suffix", [".xlsx", ".sav", ".zsav", ".dta", ".xpt"])
def test_a_format_of_floats_keeps_them_as_text_and_says_so(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"t{suffix}"
    said = write(Microdata.from_frame(table()), file)
    assert suffix == ".xlsx" or said == ("values of a type the format does not have are written as text: wide",)
    found = read(file)
    assert numbers(found, "wide") == [Decimal(value) for value in WIDE]
    assert numbers(found, "part") == [Decimal(str(value)) for value in PART]


@pytest.mark.parametrize(("suffix", "mark"), [(".csv", ","), (".tsv", "\t"), (".txt", ";")])
def test_text_of_both_in_one_column_is_written_as_it_came(suffix: str, mark: str, tmp_path: Path) -> None:
    lines = [f"x{mark}g", *(f"{text}{mark}a" for text in AS_TEXT)]
    file, again = tmp_path / f"t{suffix}", tmp_path / f"again{suffix}"
    file.write_text("\n".join(lines) + "\n")
    write(read(file), again)
    assert again.read_text() == file.read_text()


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_names_of_many_digits_are_text_also_where_a_float_would_hold_them(mark: str, tmp_path: Path) -> None:
    # 10^25 as a float prints as 1e+25, and 2^53 + 2, which is even, is a float too
    names = ["10000000000000000000000000", "9007199254740994000000", "7"]
    file, again = tmp_path / "t.txt", tmp_path / "again.txt"
    file.write_text("\n".join([f"name{mark}x", *(f"{name}{mark}1.5" for name in names)]) + "\n")
    for data in (read(file), scan(file).loaded()):
        assert data.schema["name"].kind == "nominal"
        assert data.to_arrow()["name"].to_pylist() == names
    write(read(file), again)
    assert again.read_text() == file.read_text()


def test_numbers_written_with_a_point_or_an_exponent_are_numbers_however_large(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,y\n1e25,1.5\n10000000000000000.5,2e30\n")
    assert [variable.kind for variable in read(file).schema] == ["numeric", "numeric"]


def test_decimals_of_a_parquet_file_are_written_as_they_came(tmp_path: Path) -> None:
    values = [Decimal("9007199254740993.5"), Decimal("0.5"), None, Decimal("-9007199254740993.0"), Decimal("1.2")]
    file, again = tmp_path / "t.parquet", tmp_path / "again.parquet"
    pq.write_table(pa.table({"x": pa.array(values, pa.decimal128(20, 1))}), file)
    write(read(file), again)
    assert pq.read_table(again)["x"].to_pylist() == values
