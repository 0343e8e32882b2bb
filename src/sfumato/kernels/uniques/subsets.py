"""How many records are alone on each of several sets of keys, counted from the combinations that occur."""

from collections.abc import Iterable
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import class_sums, classes

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST = 2**62  # combinations that one number tells apart


def alone_on(cells: Codes, sizes: Integers, sets: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    """Return how many records are alone on each set of columns.

    ``cells`` are different combinations of codes from 0, and ``sizes`` the records that have each.

    >>> alone_on(np.array([[0, 0], [0, 1], [1, 1]]), np.array([1, 1, 2]), [(0,), (1,), (0, 1)])
    {(0,): 0, (1,): 1, (0, 1): 2}
    """
    columns = [column.astype(np.int64) for column in cells.T]
    values = [int(column.max()) + 1 for column in columns]
    weights, several = sizes.astype(np.float64), np.flatnonzero(sizes > 1)
    alone = {}
    for chosen in sets:
        number = prod(values[j] for j in chosen)
        if number > MOST:
            class_of, found = classes(cells[:, list(chosen)])
            alone[chosen] = int((class_sums(class_of, weights, len(found)) == 1).sum())
            continue
        packed = columns[chosen[0]] if chosen else np.zeros(len(cells), dtype=np.int64)
        for j in chosen[1:]:
            packed = packed * values[j] + columns[j]
        alone[chosen] = _once(packed, number, weights, several)
    return alone


def _once(packed: Integers, number: int, weights: Floats, several: NDArray[np.intp]) -> int:
    """Return how many numbers below ``number`` stand for one record; those of ``several`` places stand for more."""
    if number <= 4 * len(packed):
        return int((np.bincount(packed, weights=weights) == 1).sum())
    packed = np.sort(np.concatenate([packed, packed[several]]))  # what several records have comes up twice
    differs = np.concatenate([[True], packed[1:] != packed[:-1], [True]])
    return int((differs[1:] & differs[:-1]).sum())
