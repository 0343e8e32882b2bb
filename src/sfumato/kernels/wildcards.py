"""How many records agree with each one when a missing value matches any value.

Two records agree in a key when their values are equal or either is missing. Agreement is then not transitive, so there
are no classes, only a frequency for each record. It is counted exactly: records are grouped by which keys they show,
and for each pair of such patterns the keys that both show are compared by hashing.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import class_sizes, class_sums, classes, first_records

Codes = NDArray[np.integer]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def frequencies(codes: Codes) -> Integers:
    """Return how many records agree with each record in every column, itself included; -1 matches any value.

    >>> frequencies(np.array([[0, 1], [0, -1], [2, 1]]))
    array([2, 2, 1])
    """
    if not codes.size or codes.min() >= 0:
        return class_sizes(codes)
    class_of, sizes = classes(codes)
    rows = codes[first_records(class_of)]
    return np.rint(matching_sums(rows, rows, sizes)).astype(np.int64)[class_of]


def frequency_sums(codes: Codes, values: NDArray[np.generic]) -> Floats:
    """Return the sum of ``values``, such as weights, over the records that agree with each record.

    >>> frequency_sums(np.array([[0, 1], [0, -1], [2, 1]]), np.array([1.5, 2.0, 4.0]))
    array([3.5, 3.5, 4. ])
    """
    class_of, sizes = classes(codes)
    totals = class_sums(class_of, values, len(sizes))
    if not codes.size or codes.min() >= 0:
        return totals[class_of]
    rows = codes[first_records(class_of)]
    return matching_sums(rows, rows, totals)[class_of]


def matching_sums(wanted: Codes, rows: Codes, values: NDArray[np.generic]) -> Floats:
    """Return, for each record of ``wanted``, the sum of ``values`` over the ``rows`` that agree with it."""
    found = np.zeros(len(wanted))
    for shown, asking in _by_shown_keys(wanted):
        # of the keys that these records show, which does each row show too?
        for both, there in _by_shown_keys(rows[:, shown]):
            columns = np.flatnonzero(shown)[both]
            found[asking] += _equal_sums(wanted[np.ix_(asking, columns)], rows[np.ix_(there, columns)], values[there])
    return found


def _by_shown_keys(codes: Codes) -> list[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """Return the different patterns of keys shown, each with the records that show those and no others."""
    shown = codes >= 0
    if shown.all():
        return [(np.ones(codes.shape[1], dtype=bool), np.arange(len(codes)))]
    class_of, sizes = classes(shown.view(np.int8))
    members = np.split(np.argsort(class_of, kind="stable"), np.cumsum(sizes)[:-1])
    return [(shown[records[0]], records) for records in members]


def _equal_sums(wanted: Codes, rows: Codes, values: NDArray[np.generic]) -> Floats:
    """Return, for each record of ``wanted``, the sum of ``values`` over the rows equal to it."""
    class_of, sizes = classes(np.concatenate([rows, wanted]))
    return class_sums(class_of[: len(rows)], values, len(sizes))[class_of[len(rows) :]]
