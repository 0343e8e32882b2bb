"""Mid-ranks of many columns with gaps: ranked once, and ranked anew among the records that a second column has.

Ranks are kept doubled and centred, 2R - (n + 1), so that they are whole numbers that sum to zero: sums of their
products are exact as long as they stay below 2^53, and a missing value may stand as a zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import Progress, in_chunks, worth_compiling

Floats = NDArray[np.float64]
Places = NDArray[np.uint32]
Codes = NDArray[np.int32]
Indices = NDArray[np.intp]
Counts = NDArray[np.int64]

AT_ONCE = 64  # pairs that a thread takes at a time


@dataclass(frozen=True, eq=False)
class Placed:
    """One column by the order of its values: see ``Ranked``, which holds several."""

    places: Places
    upto: Codes
    gone: Codes

    @classmethod
    def of(cls, column: NDArray[Any]) -> "Placed":
        """Place floats, where NaN is missing, or whole numbers of 0 and more, where -1 is missing."""
        places = np.empty(len(column), dtype=np.uint32)
        upto = _place(column, places) if column.dtype.kind == "f" else _place_codes(column, places)
        return cls(places, upto, found(places == len(upto)))


@dataclass(frozen=True, eq=False)
class Ranked:
    """Columns by the order of their values.

    ``places[j, i]`` is the place of record i's value among the ``distinct[j]`` values of column j in ascending order,
    and ``distinct[j]`` itself where it is missing; ``upto(j)`` counts the records up to each of those values;
    ``gone(j)`` lists the records without a value.
    """

    places: Places
    ends: Codes
    starts: Indices
    missing: Codes
    missing_starts: Indices

    @property
    def arrays(self) -> tuple[Places, Codes, Indices, Codes, Indices]:
        """What a kernel needs."""
        return self.places, self.ends, self.starts, self.missing, self.missing_starts

    def upto(self, j: int) -> Codes:
        """Count the records with a value of at most each distinct one."""
        return self.ends[self.starts[j] : self.starts[j + 1]]

    def gone(self, j: int) -> Codes:
        """List the records in which column j is missing."""
        return self.missing[self.missing_starts[j] : self.missing_starts[j + 1]]

    @property
    def present(self) -> Counts:
        """How many records have each column."""
        there: Counts = self.places.shape[1] - np.diff(self.missing_starts).astype(np.int64)
        return there

    @cached_property
    def counts(self) -> tuple[Counts, ...]:
        """How many records have each distinct value of each column."""
        columns = range(len(self.starts) - 1)
        return tuple(np.diff(self.upto(j), prepend=0).astype(np.int64) for j in columns)

    @cached_property
    def tables(self) -> tuple[tuple[Floats, int, float], ...]:
        """The table of each column among all records."""
        return tuple(centred_ranks(counts) for counts in self.counts)

    def table(self, j: int, without: Codes) -> tuple[Floats, int, float]:
        """Return the doubled, centred rank of each distinct value and 0 for a missing one, their count and squares.

        ``without`` lists records that are not to be counted.
        """
        if not len(without):
            return self.tables[j]
        counts = self.counts[j]
        return centred_ranks(counts - np.bincount(self.places[j, without], minlength=len(counts))[: len(counts)])


def rank_correlations(
    columns: Ranked, first: Indices, second: Indices, progress: Progress | None = None
) -> tuple[Counts, Floats, Floats, Floats]:
    """Correlate the ranks of pairs of columns among the records that have both, and only those.

    Returns, for each pair, the number of such records, the sum of products of the doubled, centred ranks, and the sums
    of their squares.
    """
    counts, sums = np.zeros(len(first), dtype=np.int64), np.zeros((len(first), 3))
    if worth_compiling(columns.places.shape[1]):
        from sfumato.kernels.ranks import compiled

        def work(part: slice) -> None:
            compiled.correlate(*columns.arrays, first[part], second[part], counts[part], sums[part])

        in_chunks(work, len(first), AT_ONCE, progress=progress)
    else:
        for k, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            counts[k], *sums[k] = correlation(columns, i, j)
    if progress is not None:
        progress(len(first))
    return counts, sums[:, 0], sums[:, 1], sums[:, 2]


def rank_sums(columns: Ranked, group: Places, groups: int, which: Indices) -> tuple[Counts, Floats, Floats]:
    """Sum the ranks of columns by group, ranked among the records that have a group (``group < groups``).

    Returns the counts and the sums of the doubled, centred ranks (columns x groups), and each column's sum of squares.
    """
    counts = np.zeros((len(which), groups + 1), dtype=np.int64)
    sums, squares = np.zeros((len(which), groups + 1)), np.zeros(len(which))
    gone = found(group >= groups)
    if worth_compiling(len(group)):
        from sfumato.kernels.ranks import compiled

        def work(part: slice) -> None:
            compiled.sum_by_group(*columns.arrays, group, gone, which[part], counts[part], sums[part], squares[part])

        in_chunks(work, len(which), AT_ONCE)
    else:
        for k, j in enumerate(which.tolist()):
            counts[k], sums[k], squares[k] = _sums_by_group(columns, j, group, groups, gone)
    return counts[:, :groups], sums[:, :groups], squares


def centred_ranks(counts: Counts) -> tuple[Floats, int, float]:
    """Return the doubled, centred rank of each distinct value, by how many records have it; their count and squares.

    The last rank, 0, is that of a missing value.
    """
    upto = np.cumsum(counts)
    n = int(upto[-1]) if len(upto) else 0
    ranks = np.zeros(len(counts) + 1)
    ranks[:-1] = 2 * upto - counts - n
    size = counts.astype(np.float64)
    return ranks, n, (float(n) ** 3 - n - float((size**3 - size).sum())) / 3


def ranked(columns: Sequence[Placed], records: int) -> Ranked:
    """Put columns of as many records together."""
    places = np.empty((len(columns), records), dtype=np.uint32)
    for row, column in zip(places, columns, strict=True):
        row[:] = column.places
    upto, gone = [column.upto for column in columns], [column.gone for column in columns]
    return Ranked(places, _joined(upto), _starts(upto), _joined(gone), _starts(gone))


def _place(column: Floats, places: Places) -> Codes:
    order = np.argsort(column)  # NaN comes last
    present = len(column) - int(np.isnan(column).sum())
    ordered = column[order[:present]]
    last = np.ones(present, dtype=np.bool_)  # of its equals
    last[:-1] = ordered[1:] != ordered[:-1]
    del ordered  # as long as the column, and columns may be long
    ends = np.flatnonzero(last).astype(np.int32)
    ends += 1
    before = np.cumsum(last, dtype=np.uint32)
    before -= last
    places[order[:present]] = before
    places[order[present:]] = len(ends)
    return ends


def _place_codes(column: NDArray[np.integer], places: Places) -> Codes:
    counts = np.bincount(column[column >= 0])
    places[:] = np.where(column < 0, len(counts), column)
    return np.cumsum(counts).astype(np.int32)


def found(flags: NDArray[np.bool_]) -> Codes:
    """List the records with a flag."""
    return np.flatnonzero(flags).astype(np.int32)


def _joined(parts: list[Codes]) -> Codes:
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts])


def _starts(parts: list[Codes]) -> Indices:
    return np.cumsum([0, *map(len, parts)]).astype(np.intp)


def correlation(columns: Ranked, i: int, j: int) -> tuple[int, float, float, float]:
    """Correlate one pair in numpy, as the compiled kernel does it."""
    ranks, n, squares = columns.table(i, columns.gone(j))
    others, _, other_squares = columns.table(j, columns.gone(i))
    return n, float(ranks[columns.places[i]] @ others[columns.places[j]]), squares, other_squares


def _sums_by_group(columns: Ranked, j: int, group: Places, groups: int, gone: Codes) -> tuple[Counts, Floats, float]:
    """Sum the ranks of one column by group, those ``gone`` not ranked: counts, sums and the sum of squares."""
    ranks, _, squares = columns.table(j, gone)
    here = columns.places[j] < len(ranks) - 1
    counts = np.bincount(group[here], minlength=groups + 1)
    return counts, np.bincount(group, ranks[columns.places[j]], minlength=groups + 1).astype(np.float64), squares
