"""The best split of a node of a classification tree, and the records put to its two sides.

Every number column keeps its own list of the records in ascending order; a node is the same stretch of every list, and
splitting it parts the stretch of each list without changing the order on either side, so that sorting is done once.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

BETTER = 1 + 1e-9  # a split must gain this much more than one found before: rounding does not choose between equals


@compiled
def split(
    rows: Codes,
    ranks: Codes,
    signed: Floats,
    codes: Codes,
    counts: Codes,
    side: NDArray[np.uint8],
    start: int,
    end: int,
    least: int,
    total: float,
    ones: float,
    tiny: float,
) -> tuple[int, int, float, float, float]:
    """Split rows[:, start:end] where the Gini impurity falls most, at least ``least`` records on each side.

    ``rows`` lists the records of each number column, ``ranks`` the ranks of their values and ``signed`` their weights,
    negative for those of the first file; ``codes`` are the categories of each nominal column, ``counts`` of them, by
    record. ``total`` and ``ones`` are the node's weight and that of the second file. The side with more records comes
    first. Returns where the other starts (``start`` for no split that gains more than ``tiny``), the column, the gain
    in the sum of squares, and weight and second file's weight of the first side.
    """
    numbers = rows.shape[0]
    share = ones / total
    # the gain of a split is apart^2 total / room, with apart = one - share weight and room = weight (total - weight);
    # quotients are compared by their products
    most, room, column, place = tiny, total, -1, -1
    for j in range(numbers):
        rank, weights = ranks[j], signed[j]
        if rank[start] == rank[end - 1]:
            continue
        weight, one = 0.0, 0.0
        for i in range(start, start + least - 1):
            weight += abs(weights[i])
            one += max(weights[i], 0.0)
        for i in range(start + least - 1, end - least):
            weight += abs(weights[i])
            one += max(weights[i], 0.0)
            apart = one - share * weight
            here = weight * (total - weight)
            if apart * apart * room > most * here * BETTER and rank[i] != rank[i + 1]:
                most, room, column, place = apart * apart, here, j, i
    chosen = np.empty(0, dtype=np.bool_)
    for j in range(codes.shape[0]):
        apart, here, lower = _best_subset(rows[0], signed[0], codes[j], counts[j], start, end, least, total, share)
        if apart * apart * room > most * here * BETTER:
            most, room, column, chosen = apart * apart, here, numbers + j, lower
    if column < 0:
        return start, -1, 0.0, 0.0, 0.0
    weight, one, first = 0.0, 0.0, 0
    listed = column if column < numbers else 0
    for i in range(start, end):
        row = rows[listed, i]
        behind = i > place if column < numbers else not chosen[codes[column - numbers, row]]
        side[row] = behind
        if not behind:
            weight += abs(signed[listed, i])
            one += max(signed[listed, i], 0.0)
            first += 1
    if 2 * first < end - start:  # the fewer are the ones to be moved
        for i in range(start, end):
            side[rows[0, i]] ^= 1
        weight, one, first = total - weight, ones - one, end - start - first
    for j in range(numbers):
        _part(rows[j, start:end], ranks[j, start:end], signed[j, start:end], side, first)
    return start + first, column, most * total / room, weight, one


@compiled
def _part(rows: Codes, ranks: Codes, signed: Floats, side: NDArray[np.uint8], first: int) -> None:
    """Move the records of the second side behind the ``first`` of the other, each in their order."""
    behind = rows.size - first
    rows_held, ranks_held = np.empty(behind + 1, np.int32), np.empty(behind + 1, np.int32)
    signed_held = np.empty(behind + 1)
    to, held = 0, 0
    for i in range(rows.size):  # written to both places, and only the right one counted: no branch to guess
        row, rank, weight = rows[i], ranks[i], signed[i]
        rows[to], ranks[to], signed[to] = row, rank, weight
        rows_held[held], ranks_held[held], signed_held[held] = row, rank, weight
        held += side[row]
        to += 1 - side[row]
    for i in range(behind):
        rows[first + i], ranks[first + i], signed[first + i] = rows_held[i], ranks_held[i], signed_held[i]


@compiled
def _best_subset(
    rows: Codes, signed: Floats, code: Codes, count: int, start: int, end: int, least: int, total: float, share: float
) -> tuple[float, float, NDArray[np.bool_]]:
    """Find the set of categories that gains most: with two files, one that goes by the share of the second."""
    weights, second = np.zeros(count), np.zeros(count)
    records = np.zeros(count, dtype=np.int64)
    for i in range(start, end):
        category = code[rows[i]]
        weights[category] += abs(signed[i])
        second[category] += max(signed[i], 0.0)
        records[category] += 1
    shares = np.full(count, np.inf)  # categories that do not occur here come last
    for c in range(count):
        if records[c] > 0:
            shares[c] = second[c] / weights[c]
    order = np.argsort(shares, kind="mergesort")
    most, room, place = 0.0, 1.0, -1
    weight, one, before = 0.0, 0.0, 0
    for i in range(count - 1):
        weight += weights[order[i]]
        one += second[order[i]]
        before += records[order[i]]
        if before >= least and end - start - before >= least:
            apart = one - share * weight
            here = weight * (total - weight)
            if apart * apart * room > most * most * here * BETTER:
                most, room, place = apart, here, i
    lower = np.zeros(count, dtype=np.bool_)
    for i in range(place + 1):
        lower[order[i]] = True
    return most, room, lower
