"""Dominance sums of many rows by halving one column after the other: n log^(p-1) n steps, memory of a few rows.

Rows stand in lexicographic order, so that a later one is never smaller in the first column. Halve them at a value of
another column: pairs within a half are two smaller problems of the same kind; of the pairs across, the lower row is
smaller in that column for sure, which is a problem with one column less. With no column left, one pass in
lexicographic order adds it all up.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Floats = NDArray[np.float64]
Ranks = NDArray[np.int32]
Flags = NDArray[np.bool_]

MAX_PAIRWISE_ENTRIES = 24  # entries whose pairs are compared one by one
ROUNDS = 6  # 64 pieces for the threads to share; as many whatever the threads, so that rounding is the same
WEIGHT_WANTED, SUM_WANTED = 1, 2  # an entry is 4 * row + what is wanted of the row: its weight, its sum, or both
HALVINGS = 32  # ranks are of 32 bits, so that a range of them is halved no more often


class Rows(NamedTuple):
    """The rows, numbered by their last column, and the sums to fill."""

    ranks: Ranks  # the first column is left out: the order of the entries stands for it
    weights: Floats
    sums: Floats


class Workspace(NamedTuple):
    """Where one thread works."""

    entries: Ranks
    upper: Ranks
    keys: Ranks  # 4 x n: rank and entry, and the same of the upper half
    figures: Floats  # 4 x n: weight and sum, and the same of the upper half


def by_halving(ranks: Ranks, weights: Floats, asked: Flags, *, threads: int) -> Floats:
    """Sum, for each row asked, the weights of the rows no larger in any column; rows distinct and lexicographic."""
    n = len(ranks)
    # numbered by the last column, equal ones in lexicographic order, the rows of a half are neighbours in memory
    order = np.argsort(ranks[:, -1], kind="stable").astype(np.int32)
    others = np.ascontiguousarray(ranks[order, 1:])
    others[:, -1] = np.arange(n)
    rows = Rows(others, weights[order], np.zeros(n))
    entries = np.empty(n, dtype=np.int32)
    entries[order] = 4 * np.arange(n, dtype=np.int32)
    entries += np.where(asked, WEIGHT_WANTED | SUM_WANTED, WEIGHT_WANTED).astype(np.int32)

    def across(begin: int, end: int) -> None:
        _add_across(rows, entries[begin:end], (begin + end) // 2)

    def within(begin: int, end: int) -> None:
        _add_within(rows, entries[begin:end])

    bounds = [0, n]
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for _ in range(ROUNDS):  # pieces of one round write to rows of their own
            list(pool.map(across, bounds[:-1], bounds[1:]))
            bounds = sorted({*bounds, *((a + b) // 2 for a, b in pairwise(bounds))})
        list(pool.map(within, bounds[:-1], bounds[1:]))
    found = np.empty(n)
    found[order] = rows.sums
    return np.where(asked, found, 0.0)


@compiled
def _add_across(rows: Rows, entries: Ranks, middle: int) -> None:
    """Halve the entries at row ``middle``, keeping their order, and add what the lower half gives the upper."""
    columns = rows.ranks.shape[1]
    room = _room(len(entries), columns)
    low, high, both = 0, 0, 0
    for k in range(len(entries)):
        entry = entries[k]
        if entry >> 2 < middle:
            entries[low] = entry
            low += 1
            room.entries[both] = entry & ~SUM_WANTED
            both += 1
        else:
            room.upper[high] = entry
            high += 1
            room.entries[both] = entry & ~WEIGHT_WANTED
            both += (entry & SUM_WANTED) >> 1
    for k in range(high):
        entries[low + k] = room.upper[k]
    _add(rows, room, both, columns - 1)


@compiled
def _add_within(rows: Rows, entries: Ranks) -> None:
    """Add what the entries give each other."""
    columns = rows.ranks.shape[1]
    room = _room(len(entries), columns + 1)
    for k in range(len(entries)):
        room.entries[k] = entries[k]
    _add(rows, room, len(entries), columns)


@compiled
def _room(n: int, columns: int) -> Workspace:
    return Workspace(
        np.empty(n * max(columns, 1), dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty((4, n), dtype=np.int32),
        np.empty((4, n), dtype=np.float64),
    )


@compiled
def _add(rows: Rows, room: Workspace, n: int, columns: int) -> None:
    """Add to each entry asked the weights of those counted, no later in order and no larger in the first ``columns``.

    The entries are the first n of the room, in lexicographic order. Problems wait on a stack, since numba cannot keep
    the machine code of recursive functions. One of them: where its entries begin and end, where free room begins, the
    columns left, and the range of ranks in the last of these (1 to 0: still to be seen).
    """
    waiting = np.empty((3 * HALVINGS * (columns + 1) + 1, 6), dtype=np.int64)
    depth = _push(waiting, 0, 0, n, n, columns, 1, 0)
    entries, ranks = room.entries, rows.ranks
    while depth > 0:
        depth -= 1
        begin, end, free = waiting[depth, 0], waiting[depth, 1], waiting[depth, 2]
        columns, lowest, highest = waiting[depth, 3], waiting[depth, 4], waiting[depth, 5]
        if columns > 1 and end - begin <= MAX_PAIRWISE_ENTRIES:
            _add_pairs(rows, entries, begin, end, columns)
            continue
        while columns > 0 and lowest >= highest:
            if lowest > highest:
                lowest, highest, decided = _overlap(ranks, entries, begin, end, columns - 1)
                if not decided:
                    break
            columns -= 1  # this column excludes no pair
            lowest, highest = 1, 0
        if columns > 0 and lowest > highest:  # all that is counted is larger than all that is asked
            continue
        if columns < 2:
            _add_last(rows, room, begin, end, columns, lowest, highest)
            continue
        middle = (lowest + highest) // 2
        low, high, both = begin, 0, free
        low_flags = high_flags = both_flags = 0
        for k in range(begin, end):
            row = entries[k] >> 2
            rank = ranks[row, columns - 1]
            # whoever is larger than all asked, or smaller than all counted, is of no more use
            counted = (entries[k] & WEIGHT_WANTED) * (rank <= highest)
            asked = (entries[k] & SUM_WANTED) * (rank >= lowest)
            below, flags = rank <= middle, counted | asked
            entries[low] = room.upper[high] = 4 * row + flags
            low += below & (flags > 0)
            high += (not below) & (flags > 0)
            low_flags |= flags * below
            high_flags |= flags * (not below)
            flags = counted if below else asked
            entries[both] = 4 * row + flags
            both += flags > 0
            both_flags |= flags
        for k in range(high):
            entries[low + k] = room.upper[k]
        if high_flags == WEIGHT_WANTED | SUM_WANTED:
            depth = _push(waiting, depth, low, low + high, free, columns, middle + 1, highest)
        if low_flags == WEIGHT_WANTED | SUM_WANTED:
            depth = _push(waiting, depth, begin, low, free, columns, lowest, middle)
        # next in turn, for it stands where the others have their free room
        if both_flags == WEIGHT_WANTED | SUM_WANTED:
            depth = _push(waiting, depth, free, both, both, columns - 1, 1, 0)


@compiled
def _push(
    waiting: NDArray[np.int64], depth: int, begin: int, end: int, free: int, columns: int, lowest: int, highest: int
) -> int:
    waiting[depth, 0], waiting[depth, 1], waiting[depth, 2] = begin, end, free
    waiting[depth, 3], waiting[depth, 4], waiting[depth, 5] = columns, lowest, highest
    return depth + 1


@compiled
def _overlap(ranks: Ranks, entries: Ranks, begin: int, end: int, column: int) -> tuple[int, int, bool]:
    """Return the least rank counted, the largest asked, and whether no rank counted exceeds one asked."""
    lowest = lowest_asked = len(ranks)
    highest = highest_counted = -1
    for k in range(begin, end):
        rank = ranks[entries[k] >> 2, column]
        counted, asked = entries[k] & WEIGHT_WANTED, entries[k] & SUM_WANTED
        lowest = min(lowest, rank if counted else lowest)
        highest_counted = max(highest_counted, rank if counted else -1)
        highest = max(highest, rank if asked else -1)
        lowest_asked = min(lowest_asked, rank if asked else lowest_asked)
    return lowest, highest, highest_counted <= lowest_asked


@compiled
def _add_pairs(rows: Rows, entries: Ranks, begin: int, end: int, columns: int) -> None:
    for k in range(begin, end):
        if entries[k] & SUM_WANTED:
            row, total = entries[k] >> 2, 0.0
            for other in entries[begin : k + 1]:
                if other & WEIGHT_WANTED:
                    below = True
                    for j in range(columns):
                        below &= rows.ranks[other >> 2, j] <= rows.ranks[row, j]
                    total += rows.weights[other >> 2] * below
            rows.sums[row] += total


@compiled
def _add_last(rows: Rows, room: Workspace, begin: int, end: int, columns: int, lowest: int, highest: int) -> None:
    """Add with one column left, or none: the figures are brought together once, then move along with the entries."""
    keys, figures = room.keys, room.figures
    n = 0
    for k in range(begin, end):
        row = room.entries[k] >> 2
        rank = rows.ranks[row, 0] if columns == 1 else 0
        counted = (room.entries[k] & WEIGHT_WANTED) * (columns == 0 or rank <= highest)
        asked = (room.entries[k] & SUM_WANTED) * (columns == 0 or rank >= lowest)
        keys[0, n] = rank
        keys[1, n] = 4 * row + counted + asked
        figures[0, n] = rows.weights[row] * counted
        figures[1, n] = 0.0
        n += (counted | asked) > 0
    waiting = np.empty((HALVINGS + 1, 6), dtype=np.int64)
    depth = _push(waiting, 0, 0, n, 0, 0, lowest * columns, highest * columns)
    while depth > 0:
        depth -= 1
        begin, end, lowest, highest = waiting[depth, 0], waiting[depth, 1], waiting[depth, 4], waiting[depth, 5]
        while end - begin > MAX_PAIRWISE_ENTRIES and lowest < highest:
            middle = (lowest + highest) // 2
            total = 0.0
            low, high = begin, 0
            for k in range(begin, end):
                rank, entry, weight, found = keys[0, k], keys[1, k], figures[0, k], figures[1, k]
                below = rank <= middle
                total += weight * below
                found += total * (not below)
                keys[0, low] = keys[2, high] = rank
                keys[1, low] = keys[3, high] = entry
                figures[0, low] = figures[2, high] = weight
                figures[1, low] = figures[3, high] = found
                low += below
                high += not below
            for k in range(high):
                keys[0, low + k], keys[1, low + k] = keys[2, k], keys[3, k]
                figures[0, low + k], figures[1, low + k] = figures[2, k], figures[3, k]
            depth = _push(waiting, depth, low, end, 0, 0, middle + 1, highest)
            end, highest = low, middle
        if lowest == highest:
            total = 0.0
            for k in range(begin, end):
                total += figures[0, k]
                figures[1, k] += total
        else:
            for j in range(begin, end):
                if figures[0, j] != 0.0:
                    for k in range(j, end):
                        figures[1, k] += figures[0, j] * (keys[0, j] <= keys[0, k])
        for k in range(begin, end):
            if keys[1, k] & SUM_WANTED:
                rows.sums[keys[1, k] >> 2] += figures[1, k]
