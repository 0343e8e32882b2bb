"""Key classes of which there are too many for memory: put into files by the hash of their keys, merged file by file.

Equal combinations have equal hashes, so that all parts of a class meet in one file. What comes out lies in files too,
mapped into memory: only what is looked at is read.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import FileError
from sfumato.pair.statistics import Gathering, KeyClasses, Workspace
from sfumato.table.atomic import reason

FILES = 64
SHARE = 8  # of the memory, one part in so many is for the combinations
FIGURES = ("cells", "sizes", "weights")


class ClassGathering(Gathering[KeyClasses]):
    """Merges key classes in memory as long as they are few, and in files from then on."""

    def __init__(self, room: Workspace | None) -> None:
        super().__init__()
        self._room = room
        self._files: _Files | None = None

    def add(self, statistic: KeyClasses) -> None:
        """Take the classes of the next part."""
        if self._files is not None:
            self._files.add(statistic)
            return
        super().add(statistic)
        if self._room is not None and sum(len(held) for held in self._held) > _most(statistic, self._room):
            whole = self._fold()
            if len(whole) > _most(statistic, self._room):
                self._files = _Files(self._room.folder, whole)
                self._held = []

    def result(self) -> KeyClasses:
        """Return the classes of all parts."""
        return super().result() if self._files is None else self._files.merged()


def _most(classes: KeyClasses, room: Workspace) -> int:
    """Return how many combinations may be held in memory: as many with weights as without, so that they go alike."""
    keys: int = classes.cells.shape[1]
    return room.memory // SHARE // (4 * keys + 16)


class _Files:
    def __init__(self, folder: Path, first: KeyClasses) -> None:
        self._keys, self._weighted = first.cells.shape[1], first.weights is not None
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="classes-", dir=folder))
        except OSError as error:
            raise _unwritable(folder, error) from error
        self.add(first)

    def add(self, classes: KeyClasses) -> None:
        """Put combinations into the files of their hashes."""
        file = _hashed(classes.cells) % np.uint64(FILES)
        order = np.argsort(file, kind="stable")
        ends = np.searchsorted(file[order], np.arange(FILES + 1, dtype=np.uint64))
        arrays = self._arrays(classes)
        for number in range(FILES):
            rows = order[ends[number] : ends[number + 1]]
            if len(rows):
                self._append(number, {name: np.ascontiguousarray(array[rows]) for name, array in arrays.items()})

    def merged(self) -> KeyClasses:
        """Merge file by file, and return all combinations, mapped from the files that come of it."""
        for number in range(FILES):
            found = self._read(number)
            if found is None:
                continue
            whole = KeyClasses.together((found,))
            self._append(FILES, self._arrays(whole))
            for name in FIGURES:
                self._path(name, number).unlink(missing_ok=True)
        return self._mapped()

    def _arrays(self, classes: KeyClasses) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {"cells": classes.cells, "sizes": classes.sizes}
        return arrays if classes.weights is None else {**arrays, "weights": classes.weights}

    def _append(self, number: int, arrays: dict[str, NDArray[Any]]) -> None:
        for name, array in arrays.items():
            path = self._path(name, number)
            try:
                with path.open("ab") as out:
                    out.write(np.ascontiguousarray(array).data)
            except OSError as error:
                raise _unwritable(path, error) from error

    def _read(self, number: int) -> KeyClasses | None:
        if not self._path("sizes", number).exists():
            return None
        cells = np.fromfile(self._path("cells", number), dtype=np.int32).reshape(-1, self._keys)
        weights = np.fromfile(self._path("weights", number)) if self._weighted else None
        sizes = np.fromfile(self._path("sizes", number), dtype=np.int64)
        return KeyClasses(np.asfortranarray(cells), sizes, weights)

    def _mapped(self) -> KeyClasses:
        cells = np.memmap(self._path("cells", FILES), dtype=np.int32, mode="r").reshape(-1, self._keys)
        sizes = np.memmap(self._path("sizes", FILES), dtype=np.int64, mode="r")
        weights = np.memmap(self._path("weights", FILES), dtype=np.float64, mode="r") if self._weighted else None
        return KeyClasses(cells, sizes, weights)

    def _path(self, name: str, number: int) -> Path:
        return self._folder / f"{name}-{number}"


def _hashed(cells: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a number for each combination that is the same for the same keys, and evenly spread."""
    found = np.zeros(len(cells), dtype=np.uint64)
    for column in cells.T:
        found ^= column.astype(np.int64).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        found *= np.uint64(0xBF58476D1CE4E5B9)
        found ^= found >> np.uint64(31)
    return found


def _unwritable(path: Path, error: OSError) -> FileError:
    return FileError(f"key classes that do not fit into memory cannot be written to {path}: {reason(error)}")
