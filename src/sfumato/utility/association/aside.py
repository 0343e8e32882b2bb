"""Arrays of as many numbers as there are records, put aside in files of a folder where memory is short.

They are mapped: the system reads what is looked at, and may forget it again. The files have no name, so that they go
with the arrays.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.atomic import reason
from sfumato.errors import FileError
from sfumato.kernels.ranks import Placed
from sfumato.kernels.stretches import stretches
from sfumato.pair.numbers_on_disk import NumbersOnDisk
from sfumato.pair.sorting import Runs, SortedColumn
from sfumato.pair.statistics import Room

Floats = NDArray[np.float64]
LONG = 1 << 24  # records beyond which a column is sorted on disk: slower, in memory that does not grow with it
MEMORY = 512 << 20  # bytes, of which an eighth is for what is sorted at a time


def put_aside(shape: tuple[int, ...], dtype: Any, folder: Path | None) -> NDArray[Any]:
    """Return room for an array: in memory, or in a file of this folder."""
    if folder is None:
        return np.empty(shape, dtype=dtype)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not size:
        return np.empty(shape, dtype=dtype)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(size)
            return np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    except OSError as error:
        raise FileError(f"what does not fit into memory cannot be put into {folder}: {reason(error)}") from error


def ranks_aside(values: NDArray[Any], folder: Path) -> tuple[Floats, float]:
    """Return the doubled, centred rank of each record of a column without gaps, and the sum of their squares."""
    found, records = put_aside((len(values),), np.float64, folder), len(values)
    if records > LONG:
        ties = _sorted_aside(values, folder, found)
    else:
        # with b records below a value and u up to it, 2R - (n + 1) = b + u - n
        placed = Placed.of(values)
        upto = np.concatenate([np.zeros(1, dtype=np.int32), placed.upto])
        for rows in stretches(records):
            places = placed.places[rows].astype(np.intp)
            found[rows] = upto[places].astype(np.float64) + upto[places + 1] - records
        several = (np.diff(upto[rows.start : rows.stop + 1]) for rows in stretches(len(upto) - 1))
        ties = sum(map(_tied, several), start=0.0)
    return found, (float(records) ** 3 - records - ties) / 3


def _tied(counts: NDArray[np.integer]) -> float:
    """Return the sum of t^3 - t over values that t records have."""
    size = counts.astype(np.float64)
    return float((size**3 - size).sum())


def _sorted_aside(values: NDArray[Any], folder: Path, found: Floats) -> float:
    """Write the ranks of a column that is sorted on disk, and return the sum of t^3 - t over its ties."""
    room, what, records = Room(MEMORY, lambda: folder), "the ranks of a variable", len(values)
    runs = Runs(room, what, records, np.int64)
    for rows in stretches(records):
        runs.add(values[rows].astype(np.float64), np.arange(rows.start, rows.stop))
    column = SortedColumn.of(runs, room, what)
    ranks, reached, tied = NumbersOnDisk(folder, np.float64, what), 0, 0.0  # of each different value
    for _, counts in column.counts():
        upto = reached + np.cumsum(counts)
        ranks.append(2.0 * upto - counts - records)
        reached, tied = int(upto[-1]), tied + _tied(counts)
    start = 0
    for stretch in column.by_record(_of_each(column, ranks)):
        found[start : start + len(stretch)] = stretch
        start += len(stretch)
    column.close()
    ranks.close()
    return tied


def _of_each(column: SortedColumn, ranks: NumbersOnDisk) -> Iterator[Floats]:
    """Yield the rank of every record in ascending order, from that of every different value."""
    last, value = -1, np.nan  # the different value seen last, by its place
    for values, _ in column.pieces():
        which = last + np.cumsum(np.append(values[0] != value, values[1:] != values[:-1]))
        yield ranks.read(int(which[0]), int(which[-1]) + 1)[which - which[0]]
        last, value = int(which[-1]), float(values[-1])
