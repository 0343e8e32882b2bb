"""Ranks of a column among the records that another column has, for many pairs: nothing is sorted again.

The records that the other column lacks are few and their places are known, so the ranks among the rest follow from one
pass over the distinct values; one pass over the records then sums the products. See ``ranks`` for the arguments.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Floats = NDArray[np.float64]
Places = NDArray[np.uint32]
Codes = NDArray[np.int32]
Indices = NDArray[np.intp]
Counts = NDArray[np.int64]


@compiled
def correlate(
    places: Places,
    ends: Codes,
    starts: Indices,
    missing: Codes,
    missing_starts: Indices,
    first: Indices,
    second: Indices,
    counts: Counts,
    sums: Floats,
) -> None:
    """Write the count, the sum of products and both sums of squares of each pair."""
    longest = np.diff(starts).max() + 1
    ranks, others = np.empty(longest, dtype=np.int32), np.empty(longest, dtype=np.int32)
    lost = np.zeros(longest, dtype=np.int32)
    for k in range(first.size):
        i, j = first[k], second[k]
        here, there = ends[starts[i] : starts[i + 1]], ends[starts[j] : starts[j + 1]]
        gone = missing[missing_starts[j] : missing_starts[j + 1]]
        counts[k], sums[k, 1] = _rank(here, places[i], gone, ranks, lost)
        gone = missing[missing_starts[i] : missing_starts[i + 1]]
        _, sums[k, 2] = _rank(there, places[j], gone, others, lost)
        sums[k, 0] = _products(places[i], places[j], ranks, others)


@compiled
def sum_by_group(
    places: Places,
    ends: Codes,
    starts: Indices,
    missing: Codes,
    missing_starts: Indices,
    group: Places,
    gone: Codes,
    which: Indices,
    counts: Counts,
    sums: Floats,
    squares: Floats,
) -> None:
    """Write the counts and the sums of ranks by group of each column, and its sum of squares.

    ``gone`` lists the records without a group, which are those of the last.
    """
    longest = np.diff(starts).max() + 1
    ranks, lost = np.empty(longest, dtype=np.int32), np.zeros(longest, dtype=np.int32)
    totals, sizes = np.empty(counts.shape[1], dtype=np.int64), np.zeros(counts.shape[1], dtype=np.int64)
    for i in range(group.size):
        sizes[group[i]] += 1
    for k in range(which.size):
        j = which[k]
        row = places[j]
        _, squares[k] = _rank(ends[starts[j] : starts[j + 1]], row, gone, ranks, lost)
        counts[k] = sizes
        for i in missing[missing_starts[j] : missing_starts[j + 1]]:
            counts[k, group[i]] -= 1
        totals[:] = 0
        for i in range(row.size):
            totals[group[i]] += ranks[row[i]]
        sums[k] = totals


@compiled
def _rank(upto: Codes, places: Places, gone: Codes, ranks: Codes, lost: Codes) -> tuple[int, float]:
    """Write the doubled, centred rank of each distinct value among the records not gone; count them and their squares.

    ``lost`` comes and goes as zeros.
    """
    distinct = upto.size
    ranks[distinct] = 0
    if distinct == 0:
        return 0, 0.0
    before = upto[distinct - 1]
    count = before
    for i in gone:
        place = places[i]
        if place < distinct:
            lost[place] += 1
            count -= 1
    # with b records below a value and b + s up to it, 2R - (n + 1) = b + (b + s) - n; those lost are taken from each
    shift, last = np.int32(-count), np.int32(0)
    for place in range(distinct):
        fewer = lost[place]
        ranks[place] = last + upto[place] + shift - fewer
        shift -= np.int32(2) * fewer
        last = upto[place]
    ties = 0.0
    if distinct < before:
        last = np.int32(0)
        for place in range(distinct):
            size = float(upto[place] - last - lost[place])
            ties += size * size * size - size
            last = upto[place]
    for i in gone:
        place = places[i]
        if place < distinct:
            lost[place] = 0
    return count, (float(count) ** 3 - count - ties) / 3


@compiled
def _products(places: Places, other_places: Places, ranks: Codes, others: Codes) -> float:
    total = 0.0
    for i in range(places.size):
        total += float(ranks[places[i]]) * others[other_places[i]]
    return total
