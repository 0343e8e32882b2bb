"""How many records agree with each one when a missing value matches any value.

Two records agree in a key when their values are equal or either is missing. Agreement is then not transitive, so there
are no classes, only a frequency for each record. It is counted exactly: records are grouped by which keys they show,
and for each pair of such patterns the keys that both show are compared by hashing; where a large table has patterns of
a few records, those are compared with all.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling
from sfumato.kernels.groups import class_sizes, class_sums, classes, first_records

Codes = NDArray[np.integer]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
RARE = 60  # records of one pattern of missing keys below which they are compared with every row, not hashed


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
    if not len(wanted):
        return found
    if not worth_compiling(len(rows)):
        _add_by_pattern(found, np.arange(len(wanted)), wanted, rows, values)
        return found
    # with many keys most patterns are those of a handful of records, which are sooner compared one by one
    seldom, scarce = _rarely_shown(wanted), _rarely_shown(rows)
    _add_by_pattern(found, np.flatnonzero(~seldom), wanted, rows[~scarce], values[~scarce])
    if seldom.any() or scarce.any():
        _add_one_by_one(found, np.flatnonzero(seldom), wanted, rows, values)
        _add_one_by_one(found, np.flatnonzero(~seldom), wanted, rows[scarce], values[scarce])
    return found


def _rarely_shown(codes: Codes) -> NDArray[np.bool_]:
    """Tell which records show a set of keys that few others show."""
    return class_sizes((codes >= 0).view(np.int8)) < RARE


def _add_one_by_one(
    found: Floats, records: NDArray[np.intp], wanted: Codes, rows: Codes, values: NDArray[np.generic]
) -> None:
    from sfumato.kernels.agreement.compiled import agreeing_sums

    mine, theirs = (np.ascontiguousarray(side, dtype=np.int32) for side in (wanted[records], rows))
    part = np.zeros(len(records))
    agreeing_sums(mine, theirs, np.asarray(values, dtype=np.float64), part)
    found[records] += part


def _add_by_pattern(
    found: Floats, records: NDArray[np.intp], wanted: Codes, rows: Codes, values: NDArray[np.generic]
) -> None:
    """Add what the rows hold for these records: for each pair of patterns the keys that both show are hashed."""
    for shown, members in by_shown_keys(wanted[records]):
        asking = records[members]
        # of the keys that these records show, which does each row show too?
        for both, there in by_shown_keys(rows[:, shown]):
            columns = np.flatnonzero(shown)[both]
            found[asking] += _equal_sums(wanted[np.ix_(asking, columns)], rows[np.ix_(there, columns)], values[there])


def by_shown_keys(codes: Codes) -> list[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
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
