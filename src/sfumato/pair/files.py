"""Long rows of numbers in files, of which nothing is held in memory: for one process, or for the parts of a table."""

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol
from weakref import finalize

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sfumato.errors import FileError
from sfumato.kernels.stretches import mapped
from sfumato.table.atomic import reason
from sfumato.table.schema import Variable

Array = NDArray[Any]


class MemoryAndFolder(Protocol):
    """How much memory a merged statistic may take, and the folder for what is more; an engine is one."""

    @property
    def memory(self) -> int:
        """Bytes."""

    @property
    def folder(self) -> Path:
        """The folder, which is made when it is asked for."""


@dataclass(frozen=True)
class Workspace:
    """So much memory, and a folder for what is more."""

    memory: int
    folder: Path


def dtype_of(variable: Variable) -> np.dtype[Any]:
    """Return the type of a variable's column: numbers and dates are floats, categories codes."""
    return np.dtype(np.float64 if variable.quantitative else np.int32)


class NumbersInFile:
    """A long row of numbers, or of rows of several, in a file without a name, written and read a stretch at a time.

    The file goes with the object, and with the process however that ends. ``what`` the numbers are is said where the
    disk is full.
    """

    def __init__(self, folder: Path, dtype: DTypeLike, what: str) -> None:
        self.dtype = np.dtype(dtype)
        self._folder, self._what = folder, what
        self._count = 0
        try:
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - it stays open as long as this
        except OSError as error:
            raise self._refused(error) from error
        self.close = finalize(self, self._file.close)  # what was mapped stays as long as somebody looks at it

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """The memory it takes: none to speak of, whatever lies in the file."""
        return 0

    def append(self, numbers: Array) -> None:
        """Write numbers behind those that are there."""
        self.write(self._count, numbers)

    def write(self, start: int, numbers: Array) -> None:
        """Write numbers from a place on; places that were left out hold zeros."""
        left = np.ascontiguousarray(numbers, dtype=self.dtype).view(np.uint8).data
        try:
            self._file.seek(start * self.dtype.itemsize)
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise self._refused(error) from error
        self._count = max(self._count, start + len(numbers))

    def read(self, start: int, stop: int) -> Array:
        """Read the numbers from one place up to another."""
        numbers = np.empty(max(min(stop, self._count) - start, 0), dtype=self.dtype)
        if not len(numbers):
            return numbers
        left = numbers.view(np.uint8).data
        try:
            self._file.seek(start * self.dtype.itemsize)
            while left:
                count = self._file.readinto(left)
                if not count:
                    raise FileError(f"{self._what}: a file in {self._folder} is shorter than what was written to it")
                left = left[count:]
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"{self._what} cannot be read in {self._folder}: {reason(error)}") from error
        return numbers

    def mapped(self) -> Array:
        """Return all numbers as an array that is mapped into memory: the system reads what is looked at."""
        if not self._count:
            return np.empty(0, dtype=self.dtype)
        return mapped(self._file, self.dtype, (self._count,), "r")

    def _refused(self, error: OSError) -> FileError:
        return FileError(f"{self._what} cannot be put into {self._folder}: {reason(error)}")


@dataclass(frozen=True)
class InFile:
    """Numbers in a file, one for each record, and a digest of them."""

    path: Path = field(compare=False)
    dtype: str
    digest: str

    def read(self, first: int, count: int) -> Array:
        """Read those of some records."""
        return read_numbers(self.path, self.dtype, first, count)


class FileOfNumbers:
    """A file of a folder that numbers are put into, a stretch at a time; it is open only meanwhile."""

    def __init__(self, dtype: np.dtype[Any], folder: Path) -> None:
        self._dtype, self._folder, self._digest = dtype, folder, sha256()
        try:
            with tempfile.NamedTemporaryFile(dir=folder, prefix="masked-", delete=False) as out:
                self._path = Path(out.name)
        except OSError as error:
            raise self._refused(error) from error

    def add(self, stretch: Array) -> None:
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


def in_file(column: Iterable[Array], dtype: np.dtype[Any], folder: Path) -> InFile:
    """Put numbers, which come in stretches, into a file of this folder."""
    filled = FileOfNumbers(dtype, folder)
    for stretch in column:
        filled.add(stretch)
    return filled.done()


def write_numbers(path: Path, numbers: Array, mode: Literal["ab", "wb"]) -> None:
    """Write numbers to a file that is its owner's alone, behind those that are there or anew."""
    with open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
        out.write(np.ascontiguousarray(numbers).data)


def read_numbers(path: Path, dtype: str, first: int, count: int) -> Array:
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
