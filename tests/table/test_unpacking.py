"""Files made to fill a memory: what is unpacked is limited while it is read, and who watches may end the reading."""

import bz2
import gzip
import io
import lzma
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from sfumato import FileError, LackOfMemory, read, scan, write
from sfumato.errors import Cancelled, ParameterError
from sfumato.table import capacity
from sfumato.table.capacity import watched
from small_survey import run

LINES = b"a,b\n" + b"1,2\n" * 500_000  # 2 MB


def zipped(content: bytes) -> bytes:
    with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", content)
    return packed.getvalue()


def zstd(content: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(content)
    return bytes(out.getvalue().to_pybytes())


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd,
    "zip": zipped,
}


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "MIN_UNPACKED", 100_000)
    monkeypatch.setattr(capacity, "MAX_RATIO", 10)
    monkeypatch.delenv(capacity.ALLOWED, raising=False)


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.usefixtures("low")
def test_what_unpacks_to_far_more_than_its_size_is_refused_unless_it_is_allowed(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"t.csv.{ending}"
    file.write_bytes(PACKED[ending](LINES))
    with pytest.raises(FileError, match=r"unpacks to more than 1 MB, .* allow more: max_unpacked='\d+ GB'"):
        read(file)
    with pytest.raises(FileError, match="unpacks to more than 1 MB"):
        read(file, max_unpacked="1 MB")
    assert len(read(file, max_unpacked="3 MB")) == 500_000
    file.write_bytes(PACKED[ending](b"a,b\n1,2\n"))
    assert len(read(file)) == 1


def test_a_small_file_of_gigabytes_is_refused_before_they_are_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "t.csv.gz"
    with gzip.open(file, "wb", compresslevel=9) as out:
        for _ in range(40):
            out.write(b"1,2\n" * 5_000_000)
    assert file.stat().st_size < 1_000_000  # and it would be 800 MB
    tracemalloc.start()
    with pytest.raises(FileError, match=r"has 1 MB and unpacks to more than 134 MB"):
        read(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 250e6


@pytest.mark.usefixtures("low")
def test_memory_that_is_not_there_ends_the_unpacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(LINES))
    monkeypatch.setattr(capacity, "MIN_BYTES_CHECKED", 10**6)
    monkeypatch.setattr(capacity, "free", lambda: 4 * 10**6)
    with pytest.raises(LackOfMemory, match=r"unpacked, as one table needs about 8 MB of memory, and 4 MB are free"):
        read(file, max_unpacked="1 GB")


@pytest.mark.usefixtures("low")
def test_a_workbook_is_held_to_the_same_rule(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    file = tmp_path / "t.xlsx"
    write(pa.table({"a": [1] * 20_000, "b": ["x"] * 20_000}), file)
    with pytest.raises(FileError, match="unpacks to more than"):
        read(file)
    assert len(read(file, max_unpacked=10**7)) == 20_000


def test_a_cell_in_the_last_corner_of_a_sheet_is_no_table_of_17_000_million(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for cell, value in {"A1": "a", "A2": 1, "XFD1": "b", "XFD1048576": 2}.items():
        book.active[cell] = value
    book.save(tmp_path / "t.xlsx")
    found = read(tmp_path / "t.xlsx").to_arrow().to_pydict()
    assert found == {"a": [1, None], "b": [None, 2]}


@pytest.mark.usefixtures("low")
def test_text_that_is_converted_in_parts_is_held_to_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(LINES))
    with pytest.raises(FileError, match="unpacks to more than"):
        scan(file, folder=tmp_path / "parts")
    monkeypatch.setenv(capacity.ALLOWED, "1 GB")
    assert len(scan(file, folder=tmp_path / "parts")) == 500_000


def test_a_size_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(ParameterError, match="max_unpacked must be a number of bytes, or text such as '2 GB'"):
        read(tmp_path / "t.csv", max_unpacked="much")


@pytest.mark.parametrize("ending", ["csv.gz", "csv", "xlsx", "sav"])
def test_who_watches_hears_how_far_it_is_and_may_end_it(tmp_path: Path, ending: str) -> None:
    if ending in ("xlsx", "sav"):
        pytest.importorskip("openpyxl" if ending == "xlsx" else "pyreadstat")
    file = tmp_path / f"t.{ending}"
    write(pa.table({"a": range(3000), "b": ["x"] * 3000}), file)
    heard: list[tuple[str, int, int]] = []
    with watched(lambda *told: heard.append(told)):
        whole = read(file)
    assert heard
    assert all(0 <= done <= total for _, done, total in heard)
    assert len(read(file)) == len(whole)  # and nobody hears it any more

    def stop(*_: object) -> None:
        raise Cancelled("stopped by the reader")

    with watched(stop), pytest.raises(Cancelled, match="stopped by the reader"):
        read(file)


def test_a_name_that_a_spreadsheet_would_compute_is_said_where_the_file_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,=cmd|' /C calc'!A0,plain-name\n1,2,3\n2,3,4\n")
    said = "a spreadsheet that opens a text file with the name \"=cmd|' /C calc'!A0\" computes it"
    assert [said in note for note in read(tmp_path / "t.csv").notes] == [True]
    assert [said in note for note in scan(tmp_path / "t.csv").parts[0].notes] == [True]
    done = run("inspect", tmp_path / "t.csv", "--out", tmp_path / "schema.toml")
    assert done.exit_code == 0
    assert said in " ".join(done.stderr.split())


@pytest.mark.usefixtures("low")
def test_the_command_line_allows_more_by_an_option_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(capacity.ALLOWED, "1 MB")
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(LINES))
    done = run("inspect", file, "--out", tmp_path / "schema.toml")
    assert done.exit_code == 2
    assert 'allow more: sfumato --max-unpacked "' in " ".join(done.stderr.split())
    done = run("--max-unpacked", "1 GB", "inspect", file, "--out", tmp_path / "schema.toml")
    assert done.exit_code == 0, done.stderr
    assert os.environ[capacity.ALLOWED] == "1000000000"
    done = run("--max-unpacked", "much", "inspect", file)
    assert done.exit_code == 2
    assert "--max-unpacked must be a number of bytes" in done.stderr


@pytest.mark.usefixtures("low")
def test_a_file_of_r_is_held_to_the_same_rule(tmp_path: Path) -> None:
    rdata = pytest.importorskip("rdata")
    pandas = pytest.importorskip("pandas")
    file = tmp_path / "t.rds"
    rdata.write_rds(file, pandas.DataFrame({"a": [1.0] * 300_000}), compression="gzip")
    with pytest.raises(FileError, match="unpacks to more than"):
        read(file)
    assert len(read(file, max_unpacked="1 GB")) == 300_000


def test_a_labelled_file_of_more_cells_than_memory_holds_is_refused_by_its_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyreadstat")
    file = tmp_path / "t.zsav"
    write(pa.table({"a": [1] * 200_000, "b": [2] * 200_000}), file)
    monkeypatch.setattr(capacity, "MIN_BYTES_CHECKED", 10**6)
    monkeypatch.setattr(capacity, "free", lambda: 2 * 10**6)
    with pytest.raises(LackOfMemory, match=r"needs about 3 MB of memory, and 2 MB are free"):
        read(file)
