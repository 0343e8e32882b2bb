"""A long row of numbers in a file without a name, written and read a stretch at a time.

Nothing of it is held in memory. The file goes with the object, and with the process however that ends.
"""

import tempfile
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sfumato.data.atomic import reason
from sfumato.errors import FileError

Array = NDArray[Any]


class NumbersOnDisk:
    """Numbers, or rows of several, in a file of a folder; ``what`` they are is said where the disk is full."""

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
        whole: Array = np.memmap(self._file, dtype=self.dtype, mode="r", shape=(self._count,))
        return whole

    def _refused(self, error: OSError) -> FileError:
        return FileError(f"{self._what} cannot be put into {self._folder}: {reason(error)}")
