"""Sums over the rows that agree with a record: every pair compared, or down a sorted table."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@compiled
def agreeing_sums(wanted: Codes, rows: Codes, values: Floats, found: Floats) -> None:
    """Add to each record of ``wanted`` the values of the rows that agree with it; -1 matches any value.

    Every pair is compared: for the few records with a rare pattern of missing keys.
    """
    for i in range(len(wanted)):
        for k in range(len(rows)):
            agree = True
            for j in range(wanted.shape[1]):
                mine, theirs = wanted[i, j], rows[k, j]
                if mine != theirs and mine >= 0 and theirs >= 0:
                    agree = False
                    break
            if agree:
                found[i] += values[k]


@compiled
def _first(column: Codes, low: int, high: int, value: int) -> int:
    """Return the first place in an ascending part of a column that holds at least a value."""
    while low < high:
        middle = (low + high) // 2
        if column[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _meet(row: int, low: int, high: int, complete: Flags, values: Floats, found: Floats) -> None:
    for other in range(low, high):
        if complete[other]:
            found[other] += values[row]
            found[row] += values[other]
        elif other != row:
            found[row] += values[other]


@compiled
def add_to_each_other(columns: Codes, values: Floats, asking: Integers, found: Floats) -> None:
    """Add up what agrees with rows that have gaps, and these to what they agree with that has none.

    ``columns`` holds the keys of different rows in ascending order, a key after the other; ``found`` has the values.
    """
    keys, rows = columns.shape
    complete = np.ones(rows, dtype=np.bool_)
    complete[asking] = False
    begin, end = np.empty(keys, dtype=np.int64), np.empty(keys, dtype=np.int64)
    for row in asking:
        last = keys  # behind the last key that is shown: below it everything agrees
        while last > 0 and columns[last - 1, row] < 0:
            last -= 1
        if last == 0:
            _meet(row, 0, rows, complete, values, found)
            continue
        level, begin[0], end[0] = 0, 0, rows
        while level >= 0:
            low, high = begin[level], end[level]
            if low >= high:
                level -= 1
                continue
            column, wanted = columns[level], columns[level, row]
            value = column[low]
            if wanted >= 0 and value >= 0 and value != wanted:
                low = _first(column, low, high, wanted) if value < wanted else high
                if low == high or column[low] != wanted:
                    begin[level] = high
                    continue
                value = wanted
            after = _first(column, low, high, value + 1)
            begin[level] = high if wanted >= 0 and value >= 0 else after
            if level + 1 == last:
                _meet(row, low, after, complete, values, found)
            else:
                level += 1
                begin[level], end[level] = low, after
