"""A regression or classification tree grown to small leaves, on numbers by their ranks and on sets of categories.

Every ordered predictor keeps its own list of the records in ascending order; a node is the same stretch of every list,
and splitting it parts the stretch of each list without changing the order on either side, so that sorting is done once.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Flags = NDArray[np.uint8]

ROUNDS = 10  # of looking for a better order of the categories; two or three are the rule


@compiled
def grow(
    members: Codes,
    orders: Codes,
    ranks: Codes,
    codes: Codes,
    counts: Counts,
    values: Floats,
    classes: Codes,
    kinds: int,
    least: int,
    parent: int,
    depth: int,
    tiny: float,
) -> tuple[Codes, Codes, Codes, Codes, Codes, Counts, Flags]:
    """Split nodes of ``parent`` records or more until no split with ``least`` on each side gains more than ``tiny``.

    ``members`` lists the records to fit and comes back in the order of the leaves; ``orders`` lists them for each
    ordered predictor by ascending ``ranks`` (whose columns are records). ``codes`` holds the categories of the nominal
    predictors, ``counts`` of them. The target is ``values`` where ``kinds`` is 0, else ``classes`` below ``kinds``.
    The gain is the fall in the sum of squares, or in records times Gini impurity.

    Returns, with one entry per node and parents before children: the column split by (ordered ones first, then nominal
    ones; -1 for a leaf); the highest rank on its left and the lowest on its right; the left and the right child; start
    and end of its stretch of ``members``; ``members``; where the flags of a nominal split start; and all flags, one per
    category, 1 for right.
    """
    n, p = members.size, orders.shape[0]
    room = max(2 * (n // least) + 1, 1)
    column = np.full(room, -1, dtype=np.int32)
    bounds = np.zeros((2, room), dtype=np.int32)
    children = np.full((2, room), -1, dtype=np.int32)
    stretch = np.zeros((2, room), dtype=np.int32)
    level = np.zeros(room, dtype=np.int32)
    begins = np.full(room, -1, dtype=np.int64)
    flags = np.zeros(64, dtype=np.uint8)
    used = 0
    side = np.zeros(values.size, dtype=np.uint8)
    whole, left = np.zeros(max(kinds, 1), dtype=np.int64), np.zeros(max(kinds, 1), dtype=np.int64)
    held = np.empty(n, dtype=np.int32)
    stretch[1, 0] = n
    stack = [0]
    nodes = 1
    while len(stack) > 0:
        node = stack.pop()
        start, end = stretch[0, node], stretch[1, node]
        if end - start < parent or level[node] >= depth or _pure(members[start:end], values, classes, kinds):
            continue
        if kinds > 0:
            for i in range(start, end):
                whole[classes[members[i]]] += 1
        total = 0.0
        for i in range(start, end):
            total += values[members[i]]
        most, best, place = tiny, -1, -1
        for j in range(p):
            if ranks[j, orders[j, start]] == ranks[j, orders[j, end - 1]]:
                continue
            if kinds > 0:
                gain, found = _best_cut_of_classes(orders[j, start:end], ranks[j], classes, whole, left, least)
            else:
                gain, found = _best_cut_of_values(orders[j, start:end], ranks[j], values, total, least)
            if gain > most:
                most, best, place = gain, j, found
        chosen = np.empty(0, dtype=np.uint8)
        for j in range(codes.shape[0]):
            if kinds > 0:
                gain, right = _best_set_of_classes(members[start:end], codes[j], counts[j], classes, whole, least)
            else:
                gain, right = _best_set_of_values(members[start:end], codes[j], counts[j], values, total, least)
            if gain > most:
                most, best, chosen = gain, p + j, right
        if kinds > 0:
            for i in range(start, end):
                whole[classes[members[i]]] = 0
        if best < 0:
            continue
        column[node] = best
        first = 0
        if best < p:
            bounds[0, node] = ranks[best, orders[best, start + place]]
            bounds[1, node] = ranks[best, orders[best, start + place + 1]]
            for i in range(start, end):
                behind = i > start + place
                side[orders[best, i]] = behind
                first += not behind
        else:
            begins[node] = used
            while used + chosen.size > flags.size:
                flags = np.concatenate((flags, np.zeros(flags.size, dtype=np.uint8)))
            flags[used : used + chosen.size] = chosen
            used += chosen.size
            for i in range(start, end):
                side[members[i]] = chosen[codes[best - p, members[i]]]
                first += 1 - side[members[i]]
        _part(members[start:end], side, first, held)
        for j in range(p):
            _part(orders[j, start:end], side, first, held)
        for k in range(2):
            children[k, node] = nodes + k
            level[nodes + k] = level[node] + 1
        stretch[0, nodes], stretch[1, nodes] = start, start + first
        stretch[0, nodes + 1], stretch[1, nodes + 1] = start + first, end
        stack.append(nodes + 1)
        stack.append(nodes)
        nodes += 2
    return column[:nodes], bounds[:, :nodes], children[:, :nodes], stretch[:, :nodes], members, begins[:nodes], flags


@compiled
def _pure(members: Codes, values: Floats, classes: Codes, kinds: int) -> bool:
    """Whether all records have one target value."""
    first = members[0]
    for i in range(1, members.size):
        same = classes[members[i]] == classes[first] if kinds > 0 else values[members[i]] == values[first]
        if not same:
            return False
    return True


@compiled
def _part(rows: Codes, side: Flags, first: int, held: Codes) -> None:
    """Move the records of the right side behind the ``first`` of the left, each in their order."""
    to, kept = 0, 0
    for i in range(rows.size):  # written to both places, and only the right one counted: no branch to guess
        row = rows[i]
        rows[to] = row
        held[kept] = row
        kept += side[row]
        to += 1 - side[row]
    for i in range(rows.size - first):
        rows[first + i] = held[i]


@compiled
def _best_cut_of_values(order: Codes, rank: Codes, values: Floats, total: float, least: int) -> tuple[float, int]:
    """Find the last place of the left side where the sum of squares falls most."""
    n = order.size
    mean = total / n
    most, place = 0.0, -1
    summed = 0.0
    for i in range(n - least):
        summed += values[order[i]]
        if i + 1 >= least and rank[order[i]] != rank[order[i + 1]]:
            apart = summed - (i + 1) * mean
            gain = apart * apart * n / ((i + 1) * (n - i - 1))
            if gain > most:
                most, place = gain, i
    return most, place


@compiled
def _best_cut_of_classes(
    order: Codes, rank: Codes, classes: Codes, whole: Counts, left: Counts, least: int
) -> tuple[float, int]:
    """Find the last place of the left side where the impurity falls most; ``left`` is all zero before and after."""
    n = order.size
    squares = 0
    for i in range(n):
        squares += whole[classes[order[i]]]  # each class's count, as often as it counts: the sum of their squares
    most, place = 0.0, -1
    lefts, rights = 0, squares
    for i in range(n - least):
        c = classes[order[i]]
        rights -= 2 * (whole[c] - left[c]) - 1
        lefts += 2 * left[c] + 1
        left[c] += 1
        if i + 1 >= least and rank[order[i]] != rank[order[i + 1]]:
            gain = lefts / (i + 1) + rights / (n - i - 1) - squares / n
            if gain > most:
                most, place = gain, i
    for i in range(n - least):
        left[classes[order[i]]] = 0
    return most, place


@compiled
def _places(members: Codes, code: Codes, count: int) -> tuple[Counts, int]:
    """Number the categories that occur, in the order of their codes; -1 for the others."""
    place = np.full(count, -1, dtype=np.int64)
    for i in range(members.size):
        place[code[members[i]]] = 0
    number = 0
    for c in range(count):
        if place[c] == 0:
            place[c] = number
            number += 1
    return place, number


@compiled
def _sided(place: Counts, right: Flags, larger: int) -> Flags:
    """Give each category its side; one that does not occur goes with the larger."""
    sides = np.full(place.size, larger, dtype=np.uint8)
    for c in range(place.size):
        if place[c] >= 0:
            sides[c] = right[place[c]]
    return sides


@compiled
def _best_set_of_values(
    members: Codes, code: Codes, count: int, values: Floats, total: float, least: int
) -> tuple[float, Flags]:
    """Find the set of categories with which the sum of squares falls most: one that goes by their means."""
    n = members.size
    mean = total / n
    place, number = _places(members, code, count)
    sums, sizes = np.zeros(number), np.zeros(number, dtype=np.int64)
    for i in range(n):
        c = place[code[members[i]]]
        sums[c] += values[members[i]]
        sizes[c] += 1
    order = np.argsort(sums / sizes, kind="mergesort")
    most, cut, lefts = 0.0, -1, 0
    summed, before = 0.0, 0
    for i in range(number - 1):
        summed += sums[order[i]]
        before += sizes[order[i]]
        if before >= least and n - before >= least:
            apart = summed - before * mean
            gain = apart * apart * n / (before * (n - before))
            if gain > most:
                most, cut, lefts = gain, i, before
    right = np.ones(number, dtype=np.uint8)
    right[order[: cut + 1]] = 0
    return most, _sided(place, right, 1 if 2 * lefts < n else 0)


@compiled
def _best_set_of_classes(
    members: Codes, code: Codes, count: int, classes: Codes, whole: Counts, least: int
) -> tuple[float, Flags]:
    """Find a set of categories with which the impurity falls much.

    Categories are first ordered by their share of the class whose share differs most between them, which is best where
    there are two classes; then, as long as it helps, by the direction in which the classes of the two sides differ,
    since the best split of all is a cut in such an order.
    """
    n = members.size
    place, number = _places(members, code, count)
    class_place, class_number = _places(members, classes, whole.size)
    table = np.zeros((number, class_number), dtype=np.int64)
    for i in range(n):
        table[place[code[members[i]]], class_place[classes[members[i]]]] += 1
    sizes = table.sum(axis=1)
    sums = table.sum(axis=0)
    squares = (sums * sums).sum()
    widest, telling = -1.0, 0
    for c in range(class_number):
        spread = 0.0
        for k in range(number):
            spread += table[k, c] * table[k, c] / sizes[k]
        spread -= sums[c] * sums[c] / n
        if spread > widest:
            widest, telling = spread, c
    score = table[:, telling] / sizes
    most, lefts = 0.0, 0
    right = np.ones(number, dtype=np.uint8)
    for _ in range(ROUNDS):
        order = np.argsort(score, kind="mergesort")
        gain, cut, before, inside = _best_prefix(table, sizes, sums, squares, order, n, least)
        if gain <= most:
            break
        most, lefts = gain, before
        right[:] = 1
        right[order[: cut + 1]] = 0
        score = np.zeros(number)
        for k in range(number):
            for c in range(class_number):
                score[k] += table[k, c] * (inside[c] / before - (sums[c] - inside[c]) / (n - before))
            score[k] /= sizes[k]
    return most, _sided(place, right, 1 if 2 * lefts < n else 0)


@compiled
def _best_prefix(
    table: Counts, sizes: Counts, sums: Counts, squares: int, order: Counts, n: int, least: int
) -> tuple[float, int, int, Counts]:
    """Cut an order of categories where the impurity falls most; also the records and classes before the cut."""
    most, cut, most_before = 0.0, -1, 0
    inside = np.zeros(sums.size, dtype=np.int64)
    kept = np.zeros(sums.size, dtype=np.int64)
    lefts, rights, before = 0, squares, 0
    for i in range(order.size - 1):
        k = order[i]
        for c in range(sums.size):
            moved = table[k, c]
            lefts += moved * (2 * inside[c] + moved)
            rights -= moved * (2 * (sums[c] - inside[c]) - moved)
            inside[c] += moved
        before += sizes[k]
        if before >= least and n - before >= least:
            gain = lefts / before + rights / (n - before) - squares / n
            if gain > most:
                most, cut, most_before = gain, i, before
                kept[:] = inside
    return most, cut, most_before, kept
