"""A disk that is full while a file is written: refused, and no part of a file is left, whatever byte it was."""

import resource
from pathlib import Path

import pyarrow as pa
import pytest

from sfumato import FileError, Microdata, write

DATA = Microdata.from_frame(pa.table({"a": [1.0, 2.0, 3.0] * 9, "t": ["x", "y", "z"] * 9}))


@pytest.mark.parametrize("kind", ["sav", "zsav", "dta", "xpt", "csv", "parquet"])
def test_a_file_is_whole_or_not_there(kind: str, tmp_path: Path) -> None:
    whole, path = tmp_path / f"whole.{kind}", tmp_path / f"t.{kind}"
    write(DATA, whole)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in range(0, whole.stat().st_size, 13):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            with pytest.raises(FileError, match=f"cannot write .*{kind}"):
                write(DATA, path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert [entry.name for entry in tmp_path.iterdir()] == [whole.name]
