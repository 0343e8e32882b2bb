"""A tree of two files whose records all weigh 1, grown and collapsed as ``grow_pruned`` does, in machine code.

A list holds, in the order of its column, twice the number of each record, and 1 more for the second file: to part a
node is to move one number per record and column, from one of two rooms to the other. Sums are of whole numbers, so that
nothing is lost to the order of adding, and the tree is that of ``grow_pruned`` to the last bit.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled
from sfumato.kernels.trees import BETTER, SHARES, Codes, Counts, Flags, Floats
from sfumato.kernels.trees.compiled import set_by_means

Entries = NDArray[np.uint32]
ONE = np.uint32(1)
BLOCK = 64  # places looked at together; only where one of them is better are they looked at singly


@compiled
def grow(
    rows: Codes, ranks: Codes, codes: Codes, counts: Counts, second: Flags, cp: float, squared: int, least: int,
    parent: int, deepest: int,
) -> tuple[Floats, Codes, Floats]:  # fmt: skip
    """Return the share in the leaf of each record, and column and gain of each split; see ``grow_pruned``.

    ``second`` marks the records of the second file; ``squared`` is 1 for squared error, 0 for misclassification.
    """
    columns, n = rows.shape
    lists = np.empty((2, columns, n), dtype=np.uint32)  # a node at an even depth is in the first room, else the second
    for j in range(columns):
        for i in range(n):
            row = rows[j, i]
            lists[0, j, i] = 2 * row + second[row]
    side, shares, members = np.zeros(n, dtype=np.uint8), np.empty(n), np.empty(n, dtype=np.uint32)
    column, gains, splits = np.empty(n, dtype=np.int32), np.empty(n), 0
    # the nodes from the root to the one at work, one place per depth
    span = np.zeros((deepest + 1, 2), dtype=np.int64)  # start and end
    ones = np.zeros(deepest + 1)  # records of the second file
    risk, bound = np.zeros(deepest + 1), np.zeros(deepest + 1)
    stage, before = np.zeros(deepest + 1, dtype=np.int64), np.zeros(deepest + 1, dtype=np.int64)
    later, later_ones = np.zeros((deepest + 1, 2), dtype=np.int64), np.zeros(deepest + 1)  # the son that comes second
    left = np.zeros((deepest + 1, 4))  # what the first son told: risk, that of its leaves, splits, complexity
    told = np.zeros(4)
    span[0, 1], ones[0] = n, second.sum()
    risk[0] = _risk(float(n), ones[0], squared)
    bound[0] = risk[0]
    least_gain = cp * risk[0]
    depth = 0
    while depth >= 0:
        start, end, own = span[depth, 0], span[depth, 1], risk[depth]
        total = float(end - start)
        if stage[depth] == 0:
            here = lists[depth % 2]
            reach = min(own, bound[depth])
            found, place, first_ones, gain = -1, 0, 0, 0.0
            if end - start >= parent and reach > least_gain and depth < deepest:
                found, place, first_ones, gain = _split(
                    here, lists[1 - depth % 2], ranks, codes, counts, side, start, end, ones[depth], least, parent
                )
            if found < 0:
                members[start:end] = here[0, start:end]
                _leaf(members[start:end], shares, ones[depth] / total)
                told[0], told[1], told[2], told[3] = own, own, 0.0, least_gain
                depth -= 1
                continue
            before[depth], stage[depth] = splits, 1
            column[splits], gains[splits] = found, gain
            splits += 1
            middle, one, weight = start + place, float(first_ones), float(place)
            lower = one * (total - weight) < (ones[depth] - one) * weight  # rpart's left son has the lower share
            first, last = (start, middle) if lower else (middle, end), (middle, end) if lower else (start, middle)
            mine = one if lower else ones[depth] - one
            later[depth, 0], later[depth, 1] = last
            later_ones[depth] = ones[depth] - mine
            limit = reach - least_gain
        elif stage[depth] == 1:
            left[depth], stage[depth] = told, 2
            first, mine = (later[depth, 0], later[depth, 1]), later_ones[depth]
            limit = min(max((own - told[1]) / (told[2] + 1), own - told[0]), bound[depth]) - least_gain
        else:
            lost, inner, complexity = _joined(own, left[depth], told)
            if complexity <= least_gain:  # all was in vain
                splits = before[depth]
                _leaf(members[start:end], shares, ones[depth] / total)
                lost, inner, complexity = own, 0.0, least_gain
            told[0], told[1], told[2], told[3] = own, lost, inner, complexity
            depth -= 1
            continue
        depth += 1
        span[depth, 0], span[depth, 1] = first
        ones[depth], bound[depth], stage[depth] = mine, limit, 0
        risk[depth] = _risk(float(first[1] - first[0]), mine, squared)
    return shares, column[:splits].copy(), gains[:splits].copy()


@compiled
def _risk(total: float, ones: float, squared: int) -> float:
    if squared == 1:
        return ones - ones * ones / total
    return min(ones, total - ones)


@compiled
def _leaf(members: Entries, shares: Floats, share: float) -> None:
    for entry in members:
        shares[entry >> ONE] = share


@compiled
def _joined(risk: float, left: Floats, right: Floats) -> tuple[float, float, float]:
    """Return the lack of fit of a node's leaves, its splits and its gain per split; see ``grow_pruned``."""
    lost, inner = np.array([left[1], right[1]]), np.array([left[2], right[2]])
    weaker = 0 if right[3] > left[3] else 1
    for son in (weaker, 1 - weaker):
        mine = left if son == 0 else right
        if (risk - (lost[0] + lost[1])) / (inner[0] + inner[1] + 1) <= mine[3]:
            break
        lost[son], inner[son] = mine[0], 0.0
    per_split = (risk - (lost[0] + lost[1])) / (inner[0] + inner[1] + 1)
    return lost[0] + lost[1], inner[0] + inner[1] + 1, per_split


@compiled
def _split(
    here: Entries, there: Entries, ranks: Codes, codes: Codes, counts: Counts, side: Flags, start: int, end: int,
    ones: float, least: int, parent: int,
) -> tuple[int, int, int, float]:  # fmt: skip
    """Part a node: the column of the best split (-1: none), the records that go left, how many are ones, the gain."""
    columns, n = here.shape[0], end - start
    weight = float(n)
    share, most, column, place = ones / weight, 1e-14 * weight, -1, -1
    reached = np.empty(BLOCK, dtype=np.int32)
    for j in range(columns):
        listed, rank = here[j, start:end], ranks[j]
        if rank[listed[0] >> ONE] == rank[listed[-1] >> ONE]:
            continue
        gain, found = _cut(listed, rank, weight, share, least, most, reached)
        if found >= 0:
            most, column, place = gain, j, found
    right = np.empty(0, dtype=np.uint8)
    if codes.shape[0] > 0:
        members, targets = np.empty(n, dtype=np.int32), np.empty(n)
        for i in range(n):
            entry = here[0, start + i]
            members[i], targets[i] = entry >> ONE, 2.0 * (entry & ONE) - 1.0
        for j in range(codes.shape[0]):
            gain, sides = set_by_means(members, targets, codes[j], counts[j], SHARES, weight, share, least)
            if gain > most * BETTER:
                most, column, right = gain, columns + j, sides
    if column < 0:
        return -1, 0, 0, 0.0
    lefts, first_ones = np.int64(0), np.int64(0)
    if column < columns:
        lefts = np.int64(place + 1)
        for i in range(n):
            entry = here[column, start + i]
            side[entry >> ONE] = i > place
            first_ones += (i <= place) * np.int64(entry & ONE)
    else:
        code = codes[column - columns]
        for entry in here[0, start:end]:
            behind = np.int64(right[code[entry >> ONE]])
            side[entry >> ONE] = behind
            lefts += 1 - behind
            first_ones += (1 - behind) * np.int64(entry & ONE)
    # of sides that will not be split, the members of one list are all that counts
    parted = columns if max(int(lefts), n - int(lefts)) >= parent else 1
    for j in range(parted):
        if j == column:  # in its order already
            there[j, start:end] = here[j, start:end]
        else:
            _part(here[j, start:end], there[j, start:end], side, int(lefts))
    return column, int(lefts), int(first_ones), most


@compiled
def _cut(
    listed: Entries, rank: Codes, weight: float, share: float, least: int, most: float, reached: Codes
) -> tuple[float, int]:
    """Find the last place of the left side where the impurity falls most, if by more than ``most``."""
    place, ones = -1, np.int32(0)
    for i in range(least - 1):
        ones += np.int32(listed[i] & ONE)
    start, stop = least - 1, listed.size - least
    while start < stop:
        size, base = min(BLOCK, stop - start), float(start + 1)
        for k in range(size):
            ones += np.int32(listed[np.uintp(start + k)] & ONE)
            reached[np.uintp(k)] = ones
        better = False
        for k in range(size):
            before = base + np.float64(np.int32(k))
            apart = reached[np.uintp(k)] - share * before
            # the gain is apart^2 weight / over; to multiply instead costs less
            over = before * (weight - before)
            better |= apart * apart * weight > most * over * BETTER
        if better:
            for k in range(size):
                before = base + np.float64(np.int32(k))
                apart = reached[np.uintp(k)] - share * before
                over = before * (weight - before)
                if apart * apart * weight > most * over * BETTER:
                    i = start + k
                    if rank[listed[i] >> ONE] != rank[listed[i + 1] >> ONE]:
                        most, place = apart * apart * weight / over, i
        start += size
    return most, place


@compiled
def _part(here: Entries, there: Entries, side: Flags, first: int) -> None:
    """Put the records of the left side first and those of the right behind, each in their order."""
    # unsigned places, because negative ones would have to be looked for
    to, behind = np.uintp(0), np.uintp(first)
    for i in range(here.size):
        entry = here[np.uintp(i)]
        moved = np.uintp(side[np.uintp(entry >> ONE)])
        there[behind if moved else to] = entry
        behind += moved
        to += np.uintp(1) - moved
