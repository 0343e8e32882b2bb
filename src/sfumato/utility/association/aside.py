"""Arrays of as many numbers as there are records, put aside in files of a folder where memory is short.

They are mapped: the system reads what is looked at, and may forget it again. The files have no name, so that they go
with the arrays.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.atomic import reason
from sfumato.errors import FileError
from sfumato.kernels.ranks import Placed
from sfumato.kernels.ranks.ranked import centred_ranks

Floats = NDArray[np.float64]
CHUNK = 1 << 20  # records at a time


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
    placed = Placed.of(values)
    ranks, _, squares = centred_ranks(np.diff(placed.upto, prepend=0).astype(np.int64))
    found = put_aside((len(values),), np.float64, folder)
    for start in range(0, len(values), CHUNK):
        rows = slice(start, start + CHUNK)
        found[rows] = ranks[placed.places[rows]]
    return found, squares
