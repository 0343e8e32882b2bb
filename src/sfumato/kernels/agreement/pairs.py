"""Pairs of records that agree in every key when a missing value matches any value."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import classes

Codes = NDArray[np.integer]
Integers = NDArray[np.int64]


def agreeing_pairs(codes: Codes, others: Codes | None = None) -> tuple[Integers, Integers]:
    """Return every ordered pair of rows that agree in all columns; -1 matches any value.

    Each row is held against all of the ``others``, or of its own table, itself included.

    >>> agreeing_pairs(np.array([[0, 1], [0, -1], [2, 1]]))
    (array([0, 0, 1, 1, 2]), array([0, 1, 0, 1, 2]))
    >>> agreeing_pairs(np.array([[0], [1]]), np.array([[1], [-1], [1]]))
    (array([0, 1, 1, 1]), array([1, 0, 1, 2]))
    """
    theirs_too = codes if others is None else others
    ones, found = [], []
    patterns = _patterns(theirs_too)
    for rows in patterns if others is None else _patterns(codes):
        for candidates in patterns:
            both = np.flatnonzero((codes[rows[0]] >= 0) & (theirs_too[candidates[0]] >= 0))
            group = classes(np.concatenate([theirs_too[np.ix_(candidates, both)], codes[np.ix_(rows, both)]]))[0]
            theirs, mine = group[: len(candidates)], group[len(candidates) :]
            order = np.argsort(theirs, kind="stable")
            start = np.searchsorted(theirs[order], mine, "left")
            length = np.searchsorted(theirs[order], mine, "right") - start
            ones.append(np.repeat(rows, length))
            found.append(candidates[order[spans(start, length)]])
    one, other = np.concatenate(ones), np.concatenate(found)
    order = np.lexsort((other, one))
    return one[order], other[order]


def _patterns(codes: Codes) -> list[Integers]:
    """Return the records of each pattern of missing keys."""
    pattern_of, sizes = classes((codes >= 0).view(np.int8))
    return np.split(np.argsort(pattern_of, kind="stable"), np.cumsum(sizes)[:-1])


def spans(start: Integers, length: Integers) -> Integers:
    """Return the whole numbers start, start + 1, ..., start + length - 1 of each span, one after the other.

    >>> spans(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    within = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    numbers: Integers = np.repeat(start, length) + within
    return numbers
