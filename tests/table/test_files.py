"""Files out and in again: the same text, whole or not at all."""

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError, FileError, ParameterError, SfumatoError
from sfumato.table import atomic
from sfumato.table.files import read, write
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable
from waiting import SLOW_OR_SHARED

TABLE = pa.table({"income": [1.5, None, 2e-7], "age": [30, 41, None], "region": ["north", "south", None]})


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,x\n2,y\n",
        "a;b;c\r\n1234,50;NA;00123\r\n-0,10;2;00001\r\n",
        '\ufeff"a","b c"\r\n"x, ""y""",1.0\r\n"z",.\r\n',
        '"id","x"\n9007199254740993,"north"\n9007199254740995,NA\n',
        "a\tb\n1,5\t\n2,25\tz\n",
        "x|y\n0.1|2.00\n0.25|-3.50\n",
        'only\n1\n""\n3\n',
        'text\n" padded "\nother\n'.replace('" padded "', " padded "),
        "big,small\n12345678.125,0.00001\n0.5,0.30000000000000004\n",
    ],
)
def test_an_untouched_table_comes_back_as_the_same_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "in.csv").write_bytes(text.encode())
    write(read(tmp_path / "in.csv"), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes().decode() == text


def test_other_encodings_come_back(tmp_path: Path) -> None:
    for encoding in ("latin-1", "utf-16"):
        content = "name;x\nRené;1\n".encode(encoding)
        (tmp_path / "in.csv").write_bytes(content)
        data = read(tmp_path / "in.csv", encoding=encoding)
        write(data, tmp_path / "out.csv")
        assert (tmp_path / "out.csv").read_bytes() == content
    (tmp_path / "in.csv").write_bytes("name;x\nRené;1\n".encode("latin-1"))
    data = read(tmp_path / "in.csv", encoding="latin-1")
    name = Variable("name", kind="nominal", categories=("Łódź",))
    odd = Microdata(data.schema.replace(name), data.columns, data.origin)
    with pytest.raises(FileError, match=r"the text 'Ł.*' is not in latin-1"):
        write(odd, tmp_path / "out.csv")
    assert "René" in (tmp_path / "out.csv").read_bytes().decode("utf-16"), "the file before must be left"


def test_masked_numbers_are_written_in_the_dialect(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("age;pay\n30;1,50\n40;NA\n50;2,50\n")
    data = read(tmp_path / "in.csv")
    masked = data.replace({"age": np.array([30.5, 40.0, np.nan]), "pay": np.array([1.0, 0.125, np.nan])})
    write(masked, tmp_path / "out.csv")
    # ages are no longer whole; pay keeps at least two decimals, and the marker of its file
    assert (tmp_path / "out.csv").read_text() == "age;pay\n30,5;1,00\n40;0,125\nNA;NA\n"


def test_a_schema_keeps_the_dialect(tmp_path: Path) -> None:
    text = "sex;pay\n1;1,50\n2;2,50\n"
    (tmp_path / "in.csv").write_text(text)
    data = read(tmp_path / "in.csv")
    again = Microdata.from_frame(data, Schema((Variable("sex", kind="nominal"),)))
    assert again.schema["sex"].kind == "nominal"
    write(again, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == text


def test_rows_and_columns_may_be_fewer(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a;b;c\n1;0,5;x\n2;1,5;y\n")
    data = read(tmp_path / "in.csv").take(np.array([1]))
    less = Microdata(data.schema.only(["b", "c"]), {n: data.columns[n] for n in ("b", "c")}, data.origin)
    write(less, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "b;c\n1,5;y\n"


@settings(max_examples=60, suppress_health_check=SLOW_OR_SHARED)
@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(allow_nan=False, allow_infinity=False),
            st.none() | st.integers(-(2**53), 2**53),
            st.none() | st.text(max_size=8),
        ),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from([".csv", ".tsv", ".parquet"]),
)
def test_what_was_written_reads_back(tmp_path: Path, rows: list[tuple[Any, ...]], suffix: str) -> None:
    numbers, wholes, texts = (list(column) for column in zip(*rows, strict=True))
    marked = [None if text is None else f"<{text}>" for text in texts]  # so that no text looks like a number or marker
    table = pa.table({"x": pa.array(numbers, pa.float64()), "i": pa.array(wholes, pa.int64()), "t": marked})
    table = table.append_column("row", pa.array(range(len(rows))))
    file = tmp_path / f"t{suffix}"
    write(table, file)
    found = read(file).to_frame()
    for name in ("i", "row"):
        assert found[name].to_pylist() == table[name].to_pylist()
    assert [None if x is None else float(x) for x in found["x"].to_pylist()] == numbers
    assert found["t"].to_pylist() == marked


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".CSV", ".parquet", ".pq"])
def test_the_suffix_tells_the_format(tmp_path: Path, suffix: str) -> None:
    write(TABLE, tmp_path / f"t{suffix}")
    assert read(tmp_path / f"t{suffix}").to_frame().to_pydict() == TABLE.to_pydict()


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    import datetime as dt
    from decimal import Decimal

    table = pa.table(
        {
            "f32": pa.array([0.1, None], pa.float32()),
            "i8": pa.array([1, None], pa.int8()),
            "wide": pa.array([2**60 + 1, None]),
            "category": pa.array(["b", "a"]).dictionary_encode(),
            "day": pa.array([dt.date(2024, 2, 29), None]),
            "money": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    write(read(tmp_path / "a.parquet"), tmp_path / "b.parquet")
    assert pq.read_table(tmp_path / "b.parquet").equals(pq.read_table(tmp_path / "a.parquet"))


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read .*none\.csv: there is no such file"):
        read(tmp_path / "none.csv")
    for name in ("folder.csv", "folder.parquet"):
        (tmp_path / name).mkdir()
        with pytest.raises(FileError, match="it is a folder, not a file"):
            read(tmp_path / name)
    write(TABLE, tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    for length in (len(whole) // 2, len(whole) - 1, 4):
        (tmp_path / "cut.parquet").write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"cut\.parquet (is a truncated Parquet file|cannot be read as Parquet)"):
            read(tmp_path / "cut.parquet")
    (tmp_path / "cut.parquet").write_bytes(b"")
    with pytest.raises(FileError, match="is empty"):
        read(tmp_path / "cut.parquet")
    (tmp_path / "text.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(FileError, match="cannot be read as Parquet"):
        read(tmp_path / "text.parquet")
    with pytest.raises(FileError, match=r"has the suffix '\.ods'; Sfumato reads \.csv"):
        read(tmp_path / "t.ods")
    with pytest.raises(FileError, match="has no suffix"):
        write(TABLE, tmp_path / "t")
    with pytest.raises(ParameterError, match="for text files, not Parquet"):
        read(tmp_path / "t.parquet", delimiter=";")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / "t.csv").write_text("a\n1\n")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(FileError, match="no permission"):
        read(tmp_path / "t.csv")


def test_parquet_without_records(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet: the table has no records"):
        read(tmp_path / "t.parquet")


def test_the_file_read_is_not_overwritten_unasked(tmp_path: Path) -> None:
    file, link = tmp_path / "t.csv", tmp_path / "link.csv"
    file.write_text("a,b\n1,2\n")
    link.symlink_to(file)
    data = read(file)
    for target in (file, link, tmp_path / "." / "t.csv"):
        with pytest.raises(FileError, match="is the file the table was read from"):
            write(data, target)
    write(data.replace({"a": np.array([7.0])}), link, overwrite=True)
    assert file.read_text() == "a,b\n7,2\n"
    assert link.is_symlink()


class _FullDisk:
    """A file on a disk with room for a few bytes."""

    def __init__(self, file: Any) -> None:
        self.file, self.room = file, 10

    def write(self, content: Any) -> int:
        self.room -= len(content)
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(self.file.write(content))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> "_FullDisk":
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    write(TABLE, tmp_path / name)
    before = (tmp_path / name).read_bytes()
    monkeypatch.setattr(atomic, "open", lambda *how, **more: _FullDisk(open(*how, **more)), raising=False)  # noqa: PTH123, SIM115
    with pytest.raises(FileError, match="the disk is full"):
        write(TABLE.slice(0, 2), tmp_path / name)
    assert (tmp_path / name).read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_an_interruption_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic.replacing(tmp_path / "t.txt") as out:
        out.write(b"half")
        raise KeyboardInterrupt
    assert (tmp_path / "t.txt").read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["t.txt"]


def test_unwritable_places(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for target, why in (
        (tmp_path / "file" / "t.csv", "a part of its path is a file"),
        (tmp_path / "nowhere" / "t.csv", "there is no such file or folder"),
        (tmp_path / ("x" * 300 + ".csv"), "its name is too long"),
    ):
        with pytest.raises(FileError, match=why):
            write(TABLE, target)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        write(TABLE, tmp_path / "folder.csv")
    (tmp_path / "device.csv").symlink_to("/dev/full")
    with pytest.raises(FileError, match="device or pipe"):
        write(TABLE, tmp_path / "device.csv")


def test_the_mode_of_a_replaced_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    write(TABLE, file)
    file.chmod(0o600)
    write(TABLE, file)
    assert file.stat().st_mode & 0o777 == 0o600


@settings(max_examples=150, suppress_health_check=SLOW_OR_SHARED)
@given(st.binary(max_size=40) | st.text(alphabet='a1,;"\n\r\t. -N', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused_in_words(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    try:
        data = read(tmp_path / "t.csv")
    except SfumatoError:
        return
    write(data, tmp_path / "u.csv")
    dialect = data.origin.dialect
    assert dialect is not None
    assert len(read(tmp_path / "u.csv", delimiter=dialect.delimiter, decimal=dialect.decimal)) == len(data)
