"""Numbers of all records of a table in a file that the parts read, wherever they are computed."""

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.atomic import reason
from sfumato.errors import FileError

Column = NDArray[Any]


@dataclass(frozen=True)
class InFile:
    """Numbers in a file, one for each record, and a digest of them."""

    path: Path = field(compare=False)
    dtype: str
    digest: str

    def read(self, first: int, count: int) -> Column:
        """Read those of some records."""
        return read_numbers(self.path, self.dtype, first, count)


class Filled:
    """A file of a folder that numbers are put into, a stretch at a time; it is open only meanwhile."""

    def __init__(self, dtype: np.dtype[Any], folder: Path) -> None:
        self._dtype, self._folder, self._digest = dtype, folder, sha256()
        try:
            with tempfile.NamedTemporaryFile(dir=folder, prefix="masked-", delete=False) as out:
                self._path = Path(out.name)
        except OSError as error:
            raise self._refused(error) from error

    def add(self, stretch: Column) -> None:
        """Write numbers behind those that are there."""
        whole = np.ascontiguousarray(stretch, dtype=self._dtype)
        try:
            with self._path.open("ab") as out:
                out.write(whole.data)
        except OSError as error:
            raise self._refused(error) from error
        self._digest.update(whole.data)

    def done(self) -> InFile:
        """Return what was written."""
        return InFile(self._path, self._dtype.str, self._digest.hexdigest())

    def _refused(self, error: OSError) -> FileError:
        return FileError(f"a masked variable cannot be put into {self._folder}: {reason(error)}")


def in_file(column: Iterable[Column], dtype: np.dtype[Any], folder: Path) -> InFile:
    """Put numbers, which come in stretches, into a file of this folder."""
    filled = Filled(dtype, folder)
    for stretch in column:
        filled.add(stretch)
    return filled.done()


def write_numbers(path: Path, numbers: Column, mode: Literal["ab", "wb"]) -> None:
    """Write numbers to a file that is its owner's alone, behind those that are there or anew."""
    with open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
        out.write(np.ascontiguousarray(numbers).data)


def read_numbers(path: Path, dtype: str, first: int, count: int) -> Column:
    """Read some numbers of a file; where it cannot be seen, say what to do."""
    try:
        found = np.fromfile(path, dtype=dtype, count=count, offset=np.dtype(dtype).itemsize * first)
    except OSError as error:
        raise FileError(
            f"a masked variable cannot be read from {path}: {reason(error)}; on a cluster give Engine a folder that "
            "all workers see"
        ) from None
    if len(found) < count:
        raise FileError(f"{path} is shorter than what was written to it")
    return found
