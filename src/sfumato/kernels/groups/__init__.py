"""Records that agree in several coded variables: which class each is in, and how many there are of each.

The codes of a record are packed into one 64-bit number, and those numbers are hashed once.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
K = TypeVar("K", bound=np.generic)

MIN_TABLE_ROWS = 2**16  # rows that are counted in a table of them all, however few there are
MAX_PACKED = 2**62  # different packed numbers: leaves room for one more sum
_HALF = 2**31  # different packed numbers that 32 bits hold
_EXACT = 2**53  # whole numbers that a float holds


def classes(codes: NDArray[np.integer]) -> tuple[Integers, Integers]:
    """Return the class of each record, numbered from 0 in the order of first appearance, and the size of each class.

    Records are in one class when they agree in every column of ``codes`` (n x q whole numbers, where -1, a missing
    value, is a value like any other). Without columns all records agree.

    >>> classes(np.array([[0, 1], [2, 0], [0, 1]]))
    (array([0, 1, 0]), array([2, 1]))
    """
    packed, number = _packed(codes)
    return _numbered(packed, number)


def class_sizes(codes: NDArray[np.integer]) -> Integers:
    """Return, for each record, how many records agree with it in every column, itself included.

    >>> class_sizes(np.array([[0, 1], [2, 0], [0, 1]]))
    array([2, 1, 2])
    """
    class_of, sizes = classes(codes)
    return np.take(sizes, class_of, out=class_of, mode="clip")  # in place: one array of n less


def class_sums(class_of: Integers, values: NDArray[np.generic], number: int) -> Floats:
    """Return the sum of ``values`` (such as survey weights) over the records of each of ``number`` classes.

    >>> class_sums(np.array([0, 1, 0]), np.array([2.5, 1.0, 3.0]), 2)
    array([5.5, 1. ])
    """
    return np.asarray(np.bincount(class_of, weights=values, minlength=number), dtype=np.float64)


def class_totals(
    codes: NDArray[np.integer], figures: Sequence[NDArray[Any] | None]
) -> tuple[NDArray[np.integer], list[NDArray[Any]]]:
    """Return the different rows of ``codes``, and for each of them the sums of some figures; None: how many rows.

    Nothing is said of single rows, so that nothing has to be compiled: a table of all possible rows where it is small,
    a sort where it is not. The rows come in no particular order.

    >>> rows, (records, weights) = class_totals(np.array([[0, 1], [2, 0], [0, 1]]), [None, np.array([0.5, 1.0, 2.0])])
    >>> rows.tolist(), records.tolist(), weights.tolist()
    ([[0, 1], [2, 0]], [2, 1], [2.5, 1.0])
    """
    packed, number = _packed(codes)
    if number <= max(2 * len(packed), MIN_TABLE_ROWS):
        row = np.full(number, -1, dtype=np.int64)
        row[packed] = np.arange(len(packed))
        there = np.flatnonzero(row >= 0)
        tables = [_bincount(packed, values, number)[there] for values in figures]
        return some_rows(codes, row[there]), tables
    order = np.argsort(packed)
    in_order = packed[order]
    starts = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1]))
    sums = [
        np.diff(np.append(starts, len(order))) if values is None else np.add.reduceat(values[order], starts)
        for values in figures
    ]
    return some_rows(codes, order[starts]), sums


def _bincount(packed: Integers, values: NDArray[Any] | None, number: int) -> NDArray[Any]:
    if values is None or values.dtype.kind == "f":
        return np.bincount(packed, values, minlength=number)
    if values.min(initial=0) >= 0 and values.sum(dtype=np.float64) < _EXACT:  # so that no sum of them is rounded
        return np.bincount(packed, values, minlength=number).astype(values.dtype)
    table = np.zeros(number, dtype=values.dtype)  # whole numbers are added as such
    np.add.at(table, packed, values)
    return table


def some_rows(codes: NDArray[K], rows: NDArray[np.intp]) -> NDArray[K]:
    """Return some rows, one column after the other in memory; column by column is much faster than at once.

    >>> some_rows(np.array([[0, 1], [2, 0], [0, 1]]), np.array([1, 0])).tolist()
    [[2, 0], [0, 1]]
    """
    found = np.empty((codes.shape[1], len(rows)), dtype=codes.dtype)
    for place, column in enumerate(codes.T):
        np.take(column, rows, out=found[place], mode="clip")  # which writes where it is to be
    return found.T


def first_records(class_of: Integers) -> NDArray[np.intp]:
    """Return the first record of each class of ``classes``.

    >>> first_records(np.array([0, 1, 0, 2, 1]))
    array([0, 1, 3])
    """
    # classes are numbered as they appear, so a record is the first of its class when no number so far was as high
    highest = np.maximum.accumulate(class_of)
    first = np.ones(len(class_of), dtype=bool)
    np.greater(highest[1:], highest[:-1], out=first[1:])
    return np.flatnonzero(first)


def first_in_order(columns: Sequence[NDArray[Any]], most: int) -> NDArray[np.intp]:
    """Return the first rows in the order of the columns, the first of them deciding first; rows alike as they stand.

    Only the rows that tie for the last place are compared in the next column, so that long tables need no sorting.

    >>> first_in_order([np.array([2, 1, 1, 1]), np.array([0, 9, 5, 7])], 2)
    array([2, 3])
    """
    rows, left = np.arange(len(columns[0])), most
    chosen = []
    for column in columns:
        if len(rows) <= left or not left:
            break
        values = column[rows]
        limit = np.partition(values, left - 1)[left - 1]
        chosen.append(rows[values < limit])
        left -= len(chosen[-1])
        rows = rows[values == limit]
    found = np.concatenate([*chosen, rows[:left]])
    return found[np.lexsort([column[found] for column in reversed(columns)])]


def _packed(codes: NDArray[np.integer]) -> tuple[Integers, int]:
    """Return one number below the second result per record, equal for records that agree and for no others."""
    number = 1
    if not len(codes):
        return np.zeros(0, dtype=np.int64), number
    ends = [(int(column.min()), int(column.max())) for column in codes.T]
    small = codes.dtype == np.int32 and math.prod(high - low + 1 for low, high in ends) <= _HALF
    packed: NDArray[Any] = np.zeros(len(codes), dtype=np.int32 if small else np.int64)
    for column, (least, most) in zip(codes.T, ends, strict=True):
        values = most - least + 1
        if number > MAX_PACKED // values:  # too many for 64 bits: number what there is anew, at most n classes
            packed, sizes = _numbered(packed, number)
            number = len(sizes)
        if number > MAX_PACKED // values:
            column, sizes = _numbered(column.astype(np.int64), MAX_PACKED)
            least, values = 0, len(sizes)
        if values > 1:
            packed *= values
            packed += column
            packed -= least
            number *= values
    return packed.astype(np.int64, copy=False), number


def _numbered(packed: Integers, number: int) -> tuple[Integers, Integers]:
    """Number different values in the order of first appearance, and count them; ``packed`` may be overwritten."""
    if not worth_compiling(len(packed)):
        return plain_numbered(packed)
    from sfumato.kernels.groups import compiled

    few = number <= max(2 * len(packed), MIN_TABLE_ROWS)  # a table of all is then no larger than that of a hash
    sizes = compiled.number_few(packed, number) if few else compiled.number_many(packed)
    return packed, sizes


def plain_numbered(packed: Integers) -> tuple[Integers, Integers]:
    """Number different values in the order of first appearance, and count them: by sorting."""
    _, first, inverse, counts = np.unique(packed, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[inverse], counts[order].astype(np.int64, copy=False)
