"""Classes of the rows of a node, and what they come to, in numpy; sums run in the order of the compiled twin."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import plain_numbered

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

DENSE = 2**22  # classes times values beyond which the compiled twin, which counts those that occur, is the quicker
_MAX_CELLS = 2**20  # of classes and values at a time


def numbered(
    codes: Codes, rows: Codes, maps: Codes, columns: Integers, starts: Integers, factors: Integers, class_of: Codes
) -> int:
    """Number the classes of these rows in ``class_of``, in the order of first appearance; return how many there are."""
    packed = class_of.astype(np.int64)
    for column, start, factor in zip(columns, starts, factors[1:], strict=True):
        packed = packed * factor + maps[start + codes[rows, column]]
    number, sizes = plain_numbered(packed)
    class_of[:] = number
    return len(sizes)


def gathered(rows: Codes, counts: Integers, class_of: Codes, first: Codes, sizes: Integers) -> None:
    """Set the first row of each class, and the records in it."""
    first[class_of[::-1]] = rows[::-1]  # of several the one written last stays
    np.add.at(sizes, class_of, counts)


def totals(
    codes: Codes, first: Codes, sizes: Integers, bad: Flags, starts: Integers, gains: Floats
) -> tuple[int, int, int, float]:
    """Return the records, the classes, the squared sizes and the penalty of the classes that are bad."""
    size = sizes[bad]
    each = np.zeros(len(size))
    for column, start in enumerate(starts):
        each += gains[start + codes[first[bad], column]]
    penalty = np.cumsum(size * each)[-1] if len(size) else 0.0
    return int(size.sum()), len(size), int((size * size).sum()), float(penalty)


def figures(
    class_of: Codes,
    values: Codes,
    counts: Integers,
    hidden: Flags,
    extra: Integers,
    number: int,
    whole: Floats,
    kind: int,
) -> tuple[Floats, Integers]:
    """Return a figure of the values of each class, and how many values it has."""
    figure, total = np.zeros(number), np.zeros(number, dtype=np.int64)
    step = max(1, _MAX_CELLS // max(len(whole), 1))
    for low in range(0, number, step):
        high = min(low + step, number)
        there = (class_of >= low) & (class_of < high) & ~hidden
        cells = np.zeros((high - low, len(whole)), dtype=np.int64)
        np.add.at(cells, (class_of[there] - low, values[there]), counts[there])
        cells += extra
        total[low:high] = cells.sum(axis=1)
        share = cells / np.maximum(total[low:high], 1)[:, None]
        figure[low:high] = _figure(share, whole, kind)
    figure[total == 0] = 0.0
    return figure, total


def _figure(share: Floats, whole: Floats, kind: int) -> Floats:
    if kind == 0:
        return np.asarray(np.count_nonzero(share, axis=1), dtype=np.float64)
    if kind == 1:
        logs = np.log(share, out=np.zeros_like(share), where=share > 0)
        return np.asarray(np.exp(-(share * logs).sum(axis=1)))
    if kind == 2:
        return np.asarray(np.abs(share - whole).sum(axis=1) / 2)
    if len(whole) < 2:
        return np.zeros(len(share))
    return np.asarray(np.abs(np.cumsum(share - whole, axis=1)[:, :-1]).sum(axis=1) / (len(whole) - 1))
