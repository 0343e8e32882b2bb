"""Ranks of a column among the records that another column has, for many pairs: nothing is sorted again.

The records that the other column lacks are few and their places are known, so the ranks among the rest follow from one
pass over the distinct values; one pass over the records then sums the products. See ``ranks`` for the arguments.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import compiled

Floats = NDArray[np.float64]
Places = NDArray[np.uint32]
Codes = NDArray[np.int32]
Indices = NDArray[np.intp]
Counts = NDArray[np.int64]

BLOCK = 4096  # records whose products are summed as whole numbers: no overflow below 4 * 10^7 records


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
    group: Places,
    gone: Codes,
    which: Indices,
    counts: Counts,
    sums: Floats,
    squares: Floats,
) -> None:
    """Write the counts and the sums of ranks by group of each column, and its sum of squares."""
    longest = np.diff(starts).max() + 1
    ranks, lost = np.empty(longest, dtype=np.int32), np.zeros(longest, dtype=np.int32)
    totals = np.empty(counts.shape[1], dtype=np.int64)
    for k in range(which.size):
        j = which[k]
        row, distinct = places[j], starts[j + 1] - starts[j]
        _, squares[k] = _rank(ends[starts[j] : starts[j + 1]], row, gone, ranks, lost)
        totals[:] = 0
        for i in range(row.size):
            totals[group[i]] += ranks[row[i]]
            counts[k, group[i]] += row[i] < distinct
        sums[k] = totals


@compiled
def _rank(upto: Codes, places: Places, gone: Codes, ranks: Codes, lost: Codes) -> tuple[int, float]:
    """Write the doubled, centred rank of each distinct value among the records not gone; count them and their squares.

    ``lost`` comes and goes as zeros.
    """
    distinct = upto.size
    count = upto[distinct - 1] if distinct > 0 else 0
    for i in gone:
        place = places[i]
        if place < distinct:
            lost[place] += 1
            count -= 1
    before, last, ties = 0, 0, 0.0
    for place in range(distinct):
        size = upto[place] - last - lost[place]
        last = upto[place]
        ranks[place] = 2 * before + size - count
        before += size
        if size > 1:
            ties += float(size) ** 3 - size
    for i in gone:
        place = places[i]
        if place < distinct:
            lost[place] = 0
    ranks[distinct] = 0
    return count, (float(count) ** 3 - count - ties) / 3


@compiled
def _products(places: Places, other_places: Places, ranks: Codes, others: Codes) -> float:
    total = 0.0
    for start in range(0, places.size, BLOCK):
        part = 0
        for i in range(start, min(start + BLOCK, places.size)):
            part += np.int64(ranks[places[i]]) * others[other_places[i]]
        total += part
    return total
