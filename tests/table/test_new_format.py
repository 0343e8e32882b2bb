"""A new format of files is a module and its line: this one is the module of a toy format, one JSON text to a file."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import (
    FileError,
    LackOfMemory,
    Microdata,
    ParameterError,
    RankSwapping,
    Schema,
    Variable,
    read,
    scan,
    write,
)
from sfumato.table import capacity, formats
from sfumato.table.files import tables_in
from sfumato.table.formats.format import OPTIONS, Format, ReadOptions, content_of, labels_lost, under_schema
from small_survey import run

COLUMNS = {"income": [10.5, 20.0, None, 40.25], "region": ["north", "south", "north", None]}


def _held(file: Path) -> pa.Table:
    return pa.table(json.loads(content_of(file)))


def _read(file: Path, options: ReadOptions) -> Microdata:
    return under_schema(file, _held(file), options)


def _write(table: Microdata, _: Path, out: BinaryIO) -> tuple[str, ...]:
    out.write(json.dumps(table.to_arrow().to_pydict()).encode())
    return ("the order of categories is not in the file", *labels_lost(table))


def _stream(files: Sequence[Path], folder: Path | None, records: int, _: ReadOptions) -> list[Path]:
    assert folder is not None
    for file in files:
        pq.write_table(_held(file), folder / f"{file.stem}.parquet", row_group_size=records)
    return [folder / f"{file.stem}.parquet" for file in files]


TOY = Format("Toy", (".toy",), _read, _write, stream=_stream, options=("missing",), memory=1000.0)
READ_ONLY = Format("Sealed", (".sealed",), _read, library="a_library_of_nobody", extra="sealed")
FORMATS = (TOY, READ_ONLY)


@pytest.fixture(autouse=True)
def _listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(formats, "MODULES", (*formats.MODULES, __name__))
    yield


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """Return a toy file of four records."""
    path = tmp_path / "survey.toy"
    path.write_text(json.dumps(COLUMNS))
    return path


def test_it_is_read_under_a_schema_and_written(toy: Path, tmp_path: Path) -> None:
    found = read(toy, Schema((Variable("region", kind="nominal", role="key"),)))
    assert found.to_arrow().to_pydict() == COLUMNS
    assert found.schema["region"].role == "key" and found.origin.path == toy
    lost = write(found, tmp_path / "out.TOY")
    assert lost == ("the order of categories is not in the file",)
    assert json.loads((tmp_path / "out.TOY").read_text()) == COLUMNS
    with pytest.raises(FileError, match="is the file the table was read from"):
        write(found, toy)


def test_text_becomes_it_and_it_becomes_text(toy: Path, tmp_path: Path) -> None:
    write(read(toy), tmp_path / "survey.csv")
    assert (tmp_path / "survey.csv").read_text() == "income,region\n10.5,north\n20,south\n,north\n40.25,\n"
    write(read(tmp_path / "survey.csv"), tmp_path / "again.toy")
    assert json.loads((tmp_path / "again.toy").read_text()) == COLUMNS


def test_it_is_read_in_parts(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    table = scan(toy, records=3, folder=tmp_path / "parts")
    assert table.sizes == (3, 1)
    assert [value for part in table.parts for value in part.to_arrow()["income"].to_pylist()] == COLUMNS["income"]


def test_a_command_protects_it_in_its_own_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    incomes = [float(10 * number) for number in range(1, 41)]
    Path("survey.toy").write_text(json.dumps({"income": incomes}))
    done = run("protect", "survey.toy", "--method", repr(RankSwapping(0.2)), "--on-undeclared", "accept", "--seed", "1")
    assert done.exit_code == 0, done.output
    protected = json.loads(Path("survey.protected.toy").read_text())["income"]
    assert sorted(protected) == incomes and protected != incomes


def test_what_it_has_no_use_for_is_refused(toy: Path) -> None:
    with pytest.raises(ParameterError, match="delimiter, decimal and encoding are for text files, not Toy"):
        read(toy, decimal=",")
    with pytest.raises(ParameterError, match="table is for Excel and R files"):
        read(toy, table="persons")
    assert read(toy, missing=["-9"]).names == ("income", "region")
    assert tables_in(toy) == ()


def test_a_format_that_is_only_read_names_its_library_and_its_extra(toy: Path, tmp_path: Path) -> None:
    sealed = toy.rename(tmp_path / "survey.sealed")
    with pytest.raises(FileError, match=r"Sealed files need a_library_of_nobody.*'sfumato\[sealed\]'"):
        read(sealed)
    with pytest.raises(FileError, match=r"Sealed files are only read; write \.csv or \.parquet"):
        write(pa.table(COLUMNS), tmp_path / "out.sealed")
    with pytest.raises(FileError, match=r"cannot be read in parts; that can be done with Parquet, \.csv.*, \.toy, "):
        scan(sealed)
    assert formats.protected_path(sealed).name == "survey.protected.csv"


def test_what_is_known_is_listed(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"Sfumato reads \.csv, .*\.rdata, .*\.xpt, \.toy, \.sealed, and text"):
        read(tmp_path / "survey.odt")
    with pytest.raises(FileError, match=r"Sfumato writes \.csv, .*\.xlsm, \.sav, .*\.xpt, \.toy, and text"):
        write(pa.table(COLUMNS), tmp_path / "survey.odt")
    assert {".toy", ".sealed", ".csv", ".gz"} <= formats.known_suffixes()
    assert formats.format_of(Path("survey.toy.gz")) is None  # only text may be compressed


def test_its_need_of_memory_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = tmp_path / "survey.toy"
    large.write_bytes(b" " * 200_000)  # which reading takes 200 MB for, by the figure above
    monkeypatch.setattr(capacity, "free", lambda: 100_000_000)
    with pytest.raises(LackOfMemory, match=r"needs about 200 MB of memory"):
        read(large)


def test_every_format_has_suffixes_of_its_own_and_options_that_exist() -> None:
    found = formats.every_format()
    suffixes = [suffix for entry in found for suffix in entry.suffixes]
    assert len(suffixes) == len(set(suffixes)) and all(suffix == suffix.lower() for suffix in suffixes)
    assert all(set(entry.options) <= set(OPTIONS) and bool(entry.library) == bool(entry.extra) for entry in found)
