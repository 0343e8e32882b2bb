"""Text files that are compressed: read by any of their suffixes, and written so that they tell nothing more."""

import bz2
import gzip
import lzma
import shutil
import subprocess
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from sfumato import FileError, Microdata, read, write
from sfumato.table.formats import protected_path

TEXT = 'id;income;town\n1;1,50;"Aix"\n2;NA;"Bonn; west"\n'
TABLE = pa.table({"id": [1, 2, 3], "income": [1.5, None, 3.25], "town": ["Aix", "Bonn, west", None]})
ENDINGS = (".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst", ".csv.zip", ".zip", ".tsv.gz", ".txt.xz", ".CSV.GZ")


def rows(data: Microdata) -> list[dict[str, object]]:
    found: list[dict[str, object]] = data.to_arrow().to_pylist()
    return found


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_reads_back(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"t{ending}"
    write(TABLE, file)
    found = read(file)
    assert rows(found) == TABLE.to_pylist()
    assert found.origin.path == file
    whole = file.read_bytes()
    write(TABLE, file)
    assert file.read_bytes() == whole  # nothing in it tells when it was written
    assert str(tmp_path).encode() not in whole


def test_files_of_other_programs_are_read_in_their_dialect_and_written_in_it(tmp_path: Path) -> None:
    raw = TEXT.encode("cp1252")
    packed = {".gz": gzip.compress(raw), ".bz2": bz2.compress(raw), ".xz": lzma.compress(raw)}
    for ending, content in packed.items():
        file = tmp_path / f"survey.csv{ending}"
        file.write_bytes(content)
        found = read(file, encoding="cp1252")
        assert rows(found) == [{"id": 1, "income": 1.5, "town": "Aix"}, {"id": 2, "income": None, "town": "Bonn; west"}]
        write(found, tmp_path / f"again.csv{ending}")
        again = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}[ending]
        assert again((tmp_path / f"again.csv{ending}").read_bytes()) == raw
        write(found, tmp_path / "again.csv")
        assert (tmp_path / "again.csv").read_bytes() == raw


def test_several_streams_in_one_file_are_one_text(tmp_path: Path) -> None:
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n"))  # cat of two files
    assert rows(read(file)) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


@pytest.mark.skipif(shutil.which("gzip") is None, reason="gzip is not installed")
def test_gzip_itself_reads_what_was_written(tmp_path: Path) -> None:
    write(TABLE, tmp_path / "t.csv.gz")
    text = subprocess.run(["gzip", "-cd", tmp_path / "t.csv.gz"], capture_output=True, check=True).stdout
    write(TABLE, tmp_path / "t.csv")
    assert text == (tmp_path / "t.csv").read_bytes()


def test_zip_files_hold_one_text(tmp_path: Path) -> None:
    file = tmp_path / "survey.zip"
    write(TABLE, file)
    with zipfile.ZipFile(file) as archive:
        assert archive.namelist() == ["survey.csv"]
        assert archive.infolist()[0].date_time == (1980, 1, 1, 0, 0, 0)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("folder/", "")
        archive.writestr("folder/data.tsv", "a\tb\n1\t2\n")
        archive.writestr("__MACOSX/folder/._data.tsv", "x")
    assert rows(read(file)) == [{"a": 1, "b": 2}]
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.csv", "a\n1\n")
        archive.writestr("b.csv", "b\n1\n")
    with pytest.raises(FileError, match=r"holds 2 files \(a\.csv, b\.csv\); .* unpack it"):
        read(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.sav", "x")
    with pytest.raises(FileError, match=r"holds a\.sav; of compressed files only text is read"):
        read(file)
    with zipfile.ZipFile(file, "w"):
        pass
    with pytest.raises(FileError, match="holds no file"):
        read(file)


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst", ".zip"])
def test_damaged_and_mistaken_files_are_refused(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"t{ending}"
    write(TABLE, file)
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], b"a,b\n1,2\n"):
        file.write_bytes(content)
        with pytest.raises(FileError, match="cannot be unpacked"):
            read(file)
    file.write_bytes(b"")
    with pytest.raises(FileError, match="is empty"):
        read(file)


def test_what_is_not_text_is_not_compressed_here(tmp_path: Path) -> None:
    for name in ("t.parquet.gz", "t.gz", "t.sav.zip"):
        with pytest.raises(FileError, match=r"Sfumato writes \.csv, .*, and text compressed: \.gz"):
            write(TABLE, tmp_path / name)
        assert not (tmp_path / name).exists()


def test_the_protected_file_keeps_both_suffixes() -> None:
    names = {
        "a.csv": "a.protected.csv",
        "a.b.csv.gz": "a.b.protected.csv.gz",
        "a.tsv.zst": "a.protected.tsv.zst",
        "a.zip": "a.protected.csv.zip",
        "a.csv.zip": "a.protected.csv.zip",
        "a.rds": "a.protected.csv",
        "a.RData#d": "a.protected.csv",
        "a.xlsx#Sheet 1": "a.protected.xlsx",
        "a.sav": "a.protected.sav",
    }
    assert {name: protected_path(Path("folder") / name).name for name in names} == names


def test_a_zip_of_two_files_is_refused_in_its_own_words(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "x\n1\n")
        archive.writestr("b.csv", "x\n1\n")
    with pytest.raises(FileError) as refused:
        read(tmp_path / "two.zip")
    assert "holds 2 files (a.csv, b.csv)" in str(refused.value) and "cannot be unpacked" not in str(refused.value)
