"""Records that agree in every key if a missing value matches any value: which they are, and sums over them.

Two records agree in a key when their values are equal or either is missing. Agreement is then not transitive, so there
are no classes, only a frequency for each record. It is counted exactly: records are grouped by which keys they show,
and for each pair of such patterns the keys that both show are compared by hashing; where a large table has patterns of
a few records, those are compared with all.

The rows of a table agree with its own by way of a sorted table (``own_sums``). Rows that show every key agree with
those equal to them, and with rows that have gaps. So only rows with gaps ask: they go down the sorted table key by key,
into the one value that they show and into what is missing there, or into every value where they have a gap. What they
meet is added to them, and they to what they meet.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling
from sfumato.kernels.groups import class_sizes, class_sums, classes, first_records

Codes = NDArray[np.integer]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# records of one pattern of missing keys below which they are compared with every row, not hashed
MIN_RECORDS_TO_HASH = 60
MAX_GAPS = 1.5  # by row: beyond it a row meets so many that comparing patterns of gaps is sooner done
MAX_PACKED = 2**62  # different packed numbers


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
    return class_sizes((codes >= 0).view(np.int8)) < MIN_RECORDS_TO_HASH


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


def own_sums(rows: Codes, values: NDArray[np.generic]) -> Floats:
    """Return, for each of some different rows, the sum of ``values`` over those that agree with it, itself included.

    >>> own_sums(np.array([[0, 1], [0, -1], [2, 1]]), np.array([1.5, 2.0, 4.0]))
    array([3.5, 3.5, 4. ])
    """
    gaps: NDArray[np.bool_] = np.less(rows, 0)
    if not worth_compiling(len(rows)) or gaps.sum() > MAX_GAPS * len(rows):
        return matching_sums(rows, rows, values)
    from sfumato.kernels.agreement.compiled import add_to_each_other

    # what is often missing comes last, for all below agrees with it; before it what has few values to go into
    keys = np.lexsort((rows.max(axis=0), np.rint(10 * gaps.mean(axis=0))))
    order = _order(rows, keys)
    columns = np.ascontiguousarray(rows.T[keys][:, order], dtype=np.int32)
    sums = np.asarray(values, dtype=np.float64)[order]
    asking = np.flatnonzero(gaps[order].any(axis=1))
    found = sums.copy()
    add_to_each_other(columns, sums, asking, found)
    result = np.empty(len(rows))
    result[order] = found
    return result


def _order(rows: Codes, keys: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the order of the rows by these keys, the first of them first, missing before all values."""
    highest = rows.max(axis=0).astype(object) + 2
    if int(np.prod(highest)) > MAX_PACKED:
        return np.lexsort([rows[:, key] for key in keys[::-1]])
    packed = np.zeros(len(rows), dtype=np.int64)
    for key in keys:
        packed *= int(highest[key])
        packed += rows[:, key]
        packed += 1
    return np.argsort(packed, kind="stable")


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
