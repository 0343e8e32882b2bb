"""Damage inside a file that shows only while its values are read: told in a sentence that names the file."""

import gzip
import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
import rdata

from sfumato import FileError, Microdata, read, scan


def sheet(path: Path, damaged: Callable[[bytes], bytes]) -> Path:
    """Write a workbook whose only sheet is damaged."""
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, 2], [3, 4]):
        book.active.append(row)
    book.save(whole := io.BytesIO())
    with zipfile.ZipFile(whole) as came, zipfile.ZipFile(path, "w") as out:
        for name in came.namelist():
            held = came.read(name)
            out.writestr(name, damaged(held) if name.endswith("sheet1.xml") else held)
    return path


def test_a_sheet_whose_xml_breaks_off(tmp_path: Path) -> None:
    path = sheet(tmp_path / "t.xlsx", lambda held: held[: len(held) * 2 // 3])
    with pytest.raises(FileError, match=r"t\.xlsx cannot be read as an Excel workbook"):
        read(path)


@pytest.mark.parametrize("reader", [read, lambda path: scan(path).parts[0].loaded()], ids=["whole", "in parts"])
def test_codes_of_texts_that_a_parquet_file_does_not_have(tmp_path: Path, reader: Callable[[Path], Microdata]) -> None:
    path = tmp_path / "t.parquet"
    towns = pa.array([f"town {place % 5}" for place in range(12)]).dictionary_encode()
    pq.write_table(pa.table({"town": towns}), path, compression="none", write_statistics=False)
    whole = path.read_bytes()
    codes = whole.index(b"town 4") + len(b"town 4")  # behind the texts, each code in three bits
    refused = 0
    for place in range(codes, whole.index(b"schema")):
        path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        try:
            assert len(reader(path).to_arrow()) == 12
        except FileError as error:
            refused += "out of bounds" in str(error)
    assert refused > 0


def spss(path: Path) -> bytes:
    pyreadstat.write_sav(pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("place", "number"),
    [
        (176, 5),  # the first record of the dictionary is of no known type
        (176, -1),
        (208, 2**31 - 1),  # and so is the second
    ],
)
def test_a_dictionary_that_does_not_hold_together(tmp_path: Path, place: int, number: int) -> None:
    path = tmp_path / "t.sav"
    whole = spss(path)
    path.write_bytes(whole[:place] + struct.pack("<i", number) + whole[place + 4 :])
    with pytest.raises(FileError, match=r"t\.sav is damaged: its dictionary does not hold together; fetch it again"):
        read(path)


def test_a_dictionary_that_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    path.write_bytes(spss(path)[:300])
    with pytest.raises(FileError, match=r"t\.sav is damaged: its dictionary does not hold together; fetch it again"):
        read(path)


@pytest.mark.parametrize("place", [192, 196])  # the format that a number is shown with, and that it is written with
def test_a_number_that_is_said_to_be_text(tmp_path: Path, place: int) -> None:
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(pl.DataFrame({"a": [1.0, 2.0]}), path, variable_value_labels={"a": {1.0: "one"}})
    whole = bytearray(path.read_bytes())
    assert whole[place + 2] == 5  # a number as F
    whole[place + 2] = 1
    path.write_bytes(whole)
    with pytest.raises(FileError, match=r"t\.sav is damaged: its dictionary does not hold together; fetch it again"):
        read(path)


def test_a_labelled_text_that_is_not_in_the_encoding_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    labels: Any = {"b": {"x": "first", "y": "second"}}
    pyreadstat.write_sav(pl.DataFrame({"b": ["x", "y"]}), path, variable_value_labels=labels)
    assert read(path).schema["b"].labels == (("x", "first"), ("y", "second"))
    path.write_bytes(path.read_bytes().replace(b"x       \x05first", b"x\xff      \x05first"))
    with pytest.raises(FileError, match=r"t\.sav labels a text that cannot be read .*; name its encoding"):
        read(path)
    assert dict(read(path, encoding="cp1252").schema["b"].labels)["y"] == "second"


def test_text_of_r_that_is_not_in_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "t.rds"
    rdata.write_rds(path, pd.DataFrame({"a": pd.Series(["Köln", "Bonn"], dtype=object)}, index=pd.RangeIndex(1, 3)))
    held = gzip.decompress(path.read_bytes()) if path.read_bytes()[:2] == b"\x1f\x8b" else path.read_bytes()
    assert b"Bonn" in held
    path.write_bytes(gzip.compress(held.replace(b"Bonn", b"B\xec\xecn")))
    with pytest.raises(FileError, match=r"t\.rds cannot be read as a file of R: .*can't decode"):
        read(path)


@pytest.mark.parametrize(
    ("mark", "why"), [(b"\x00\x04\x00\x08", "BUILTIN"), (b"\x00\x04\x40\x09", "latin-1 and ascii")]
)
def test_texts_of_r_that_are_marked_as_something_else(tmp_path: Path, mark: bytes, why: str) -> None:
    path = tmp_path / "t.rds"
    rdata.write_rds(path, pd.DataFrame({"sex": pd.Series(["mm", "ff"], dtype=object)}, index=pd.RangeIndex(1, 3)))
    whole = gzip.decompress(path.read_bytes())
    text = whole.index(b"\x00\x00\x00\x02ff")
    path.write_bytes(gzip.compress(whole[: text - 4] + mark + whole[text:]))
    with pytest.raises(FileError, match=rf"t\.rds cannot be read as a file of R: a text is marked as {why}"):
        read(path)


def test_a_stata_file_whose_list_of_contents_points_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(pl.DataFrame({"pay": [1.0, 2.0], "town": ["x", "y"]}), path)
    whole = path.read_bytes()
    assert read(path).names == ("pay", "town")
    first = whole.index(b"<map>") + len(b"<map>")
    for entry in range(13):
        place = first + 8 * entry
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(FileError, match=r"t\.dta is damaged: its list of contents says that '.*' begins at byte"):
            read(path)


def test_a_parquet_file_whose_names_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"town": [1, 2]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"town", b"to\xe5\xe5"))
    with pytest.raises(FileError, match=r"t\.parquet"):
        read(path)
    with pytest.raises(FileError, match=r"t\.parquet"):
        scan(path)


def test_a_sheet_with_a_row_that_stands_twice(tmp_path: Path) -> None:
    path = sheet(tmp_path / "t.xlsx", lambda held: held.replace(b'<row r="3"', b'<row r="2"'))
    with pytest.raises(FileError, match="row 2 stands behind row 2"):
        read(path)
