"""The same table, written at another time, is the same file: nothing in it tells when it was made."""

import time
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato

TABLE = pa.table({"sex": [1.0, 2.0, 1.0], "town": ["Bonn", "Köln", ""], "pay": [1200.5, 800.0, None]})
NAMES = (
    "t.csv",
    "t.csv.gz",
    "t.csv.zip",
    "t.csv.bz2",
    "t.csv.xz",
    "t.csv.zst",
    "t.parquet",
    "t.xlsx",
    "t.sav",
    "t.zsav",
    "t.dta",
    "t.xpt",
)


@pytest.fixture(scope="module")
def written_twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two folders with a file of every form, the second written later."""
    before, after = (tmp_path_factory.mktemp(name) for name in ("before", "after"))
    for folder in (before, after):
        for name in NAMES:
            sfumato.write(TABLE, folder / name)
        time.sleep(2.1 if folder == before else 0)  # zip files count in steps of two seconds
    return before, after


@pytest.mark.parametrize("name", NAMES)
def test_a_file_does_not_tell_when_it_was_written(name: str, written_twice: tuple[Path, Path]) -> None:
    before, after = written_twice
    assert (before / name).read_bytes() == (after / name).read_bytes()
    again = sfumato.read(after / name)
    assert again.columns["pay"][:2].tolist() == [1200.5, 800.0]


@pytest.mark.parametrize("version", [8, 10, 12, 13, 14, 15])
def test_every_version_of_stata_is_read_by_its_own_library(version: int, tmp_path: Path) -> None:
    import polars as pl
    import pyreadstat

    from sfumato.table.formats.labelled.writing import without_time

    path = tmp_path / "t.dta"
    pyreadstat.write_dta(pl.DataFrame(TABLE.to_pydict()), path, version=version, file_label="A survey")
    without_time(path, "stata")
    frame, told = pyreadstat.read_dta(path)
    assert frame["pay"].tolist()[:2] == [1200.5, 800.0]
    assert told.file_label == "A survey"
    assert told.creation_time is None or told.creation_time.year == 1980
