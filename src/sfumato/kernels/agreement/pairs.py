"""Pairs of records that agree in every key when a missing value matches any value."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import classes

Codes = NDArray[np.integer]
Integers = NDArray[np.int64]


def agreeing_pairs(codes: Codes) -> tuple[Integers, Integers]:
    """Return every ordered pair of rows that agree in all columns, each row with itself included; -1 matches any value.

    >>> agreeing_pairs(np.array([[0, 1], [0, -1], [2, 1]]))
    (array([0, 0, 1, 1, 2]), array([0, 1, 0, 1, 2]))
    """
    shown = codes >= 0
    pattern_of, sizes = classes(shown.view(np.int8))
    patterns = np.split(np.argsort(pattern_of, kind="stable"), np.cumsum(sizes)[:-1])
    ones, others = [], []
    for rows in patterns:
        for candidates in patterns:
            both = np.flatnonzero(shown[rows[0]] & shown[candidates[0]])
            group = classes(np.concatenate([codes[np.ix_(candidates, both)], codes[np.ix_(rows, both)]]))[0]
            theirs, mine = group[: len(candidates)], group[len(candidates) :]
            order = np.argsort(theirs, kind="stable")
            start = np.searchsorted(theirs[order], mine, "left")
            length = np.searchsorted(theirs[order], mine, "right") - start
            ones.append(np.repeat(rows, length))
            others.append(candidates[order[spans(start, length)]])
    one, other = np.concatenate(ones), np.concatenate(others)
    order = np.lexsort((other, one))
    return one[order], other[order]


def spans(start: Integers, length: Integers) -> Integers:
    """Return the whole numbers start, start + 1, ..., start + length - 1 of each span, one after the other.

    >>> spans(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    within = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    numbers: Integers = np.repeat(start, length) + within
    return numbers
