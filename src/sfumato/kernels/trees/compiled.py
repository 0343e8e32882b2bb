"""The best split of a node, the records put to its two sides, and a tree grown to small leaves, in machine code."""

import numpy as np

from sfumato.kernels.compiling import compiled
from sfumato.kernels.trees import (
    BETTER,
    CLASSES,
    ROUNDS,
    SHARES,
    Codes,
    Counts,
    Flags,
    Floats,
    GrownTree,
    Lists,
    Split,
    Workspace,
)


@compiled
def grow(
    lists: Lists, codes: Codes, counts: Counts, room: Workspace, criterion: int, least: int, parent: int, depth: int,
    tiny: float,
) -> GrownTree:  # fmt: skip
    """Grow a tree; see ``trees.grow``."""
    n, members = lists.rows.shape[1], lists.members
    most = max(2 * (n // least) + 1, 1)
    column = np.full(most, -1, dtype=np.int32)
    bounds = np.zeros((2, most), dtype=np.int32)
    children = np.full((2, most), -1, dtype=np.int32)
    stretch = np.zeros((2, most), dtype=np.int32)
    level = np.zeros(most, dtype=np.int32)
    begins = np.full(most, -1, dtype=np.int64)
    flags = np.zeros(64, dtype=np.uint8)
    used = 0
    stretch[1, 0] = n
    stack = [0]
    nodes = 1
    while len(stack) > 0:
        node = stack.pop()
        start, end = stretch[0, node], stretch[1, node]
        targets = lists.targets[members, start:end]
        if end - start < parent or level[node] >= depth or _pure(targets):
            continue
        amount = 0.0
        for target in targets:
            amount += target
        found = split(
            lists, codes, counts, room, start, end, criterion, float(end - start), amount, least, parent, tiny
        )
        if found.column < 0:
            continue
        column[node] = found.column
        bounds[0, node], bounds[1, node] = found.low, found.high
        if found.column >= lists.ordered:
            begins[node] = used
            while used + found.right.size > flags.size:
                flags = np.concatenate((flags, np.zeros(flags.size, dtype=np.uint8)))
            flags[used : used + found.right.size] = found.right
            used += found.right.size
        for k in range(2):
            children[k, node] = nodes + k
            level[nodes + k] = level[node] + 1
        stretch[0, nodes], stretch[1, nodes] = start, start + found.first
        stretch[0, nodes + 1], stretch[1, nodes + 1] = start + found.first, end
        stack.append(nodes + 1)
        stack.append(nodes)
        nodes += 2
    return GrownTree(
        column[:nodes], bounds[:, :nodes], children[:, :nodes], stretch[:, :nodes], lists.rows[members],
        begins[:nodes], flags,
    )  # fmt: skip


@compiled
def _pure(targets: Floats) -> bool:
    """Whether all records have one target value."""
    for target in targets:
        if target != targets[0]:
            return False
    return targets.size > 0


@compiled
def split_shares(
    rows: Codes, ranks: Codes, targets: Floats, codes: Codes, counts: Counts, side: Flags, start: int, end: int,
    weight: float, amount: float, least: int, parent: int, tiny: float,
) -> tuple[int, int, float, float, float]:  # fmt: skip
    """Split a node by shares; see ``trees.grow_pruned``. Arrays, not tuples of them: these take longer to hand over."""
    n, none = end - start, np.empty(0, dtype=np.int64)
    room = Workspace(side, np.empty(n + 1, np.int32), np.empty(n + 1, np.int32), np.empty(n + 1), none, none)
    lists = Lists(rows, ranks, targets, rows.shape[0], 0)
    found = split(lists, codes, counts, room, start, end, SHARES, weight, amount, least, parent, tiny)
    return found.column, found.first, found.gain, found.weight, found.amount


@compiled
def split(
    lists: Lists, codes: Codes, counts: Counts, room: Workspace, start: int, end: int, criterion: int, weight: float,
    amount: float, least: int, parent: int, tiny: float,
) -> Split:  # fmt: skip
    """Split the records at ``start:end`` of every list; see ``trees.split``."""
    column, place, gain, right = _best(
        lists, codes, counts, room, start, end, criterion, weight, amount / weight, least, tiny
    )
    if column < 0:
        return Split(column, 0.0, 0, 0, right, 0, 0.0, 0.0)
    low, high = 0, 0
    if column < lists.ordered:
        low, high = lists.ranks[column, start + place], lists.ranks[column, start + place + 1]
    first, first_weight, first_amount = _put_to_sides(
        lists, codes, room.side, start, end, column, place, right, criterion
    )
    if criterion == SHARES and 2 * first < end - start:  # the fewer are the ones to be moved
        for row in lists.rows[lists.members, start:end]:
            room.side[row] ^= 1
        first, first_weight, first_amount = end - start - first, weight - first_weight, amount - first_amount
    # of sides that will not be split, the order of the members is all that counts
    parted = range(lists.rows.shape[0])
    if max(first, end - start - first) < parent:
        parted = range(lists.members, lists.members + 1)
    for j in parted:
        _part(
            lists.rows[j, start:end], lists.ranks[j, start:end], lists.targets[j, start:end], room.side, first,
            room.rows, room.ranks, room.targets,
        )  # fmt: skip
    return Split(column, gain, low, high, right, first, first_weight, first_amount)


@compiled
def _best(
    lists: Lists, codes: Codes, counts: Counts, room: Workspace, start: int, end: int, criterion: int, weight: float,
    mean: float, least: int, tiny: float,
) -> tuple[int, int, float, Flags]:  # fmt: skip
    """Find the column of the best split, the last place of its left side, the gain, and the side of each category."""
    members, targets = lists.rows[lists.members, start:end], lists.targets[lists.members, start:end]
    if criterion == CLASSES:
        for target in targets:
            room.whole[int(target)] += 1
    most, column, place = tiny, -1, -1
    for j in range(lists.ordered):
        rank, listed = lists.ranks[j, start:end], lists.targets[j, start:end]
        if rank[0] == rank[-1]:
            continue
        if criterion == CLASSES:
            gain, found = _cut_of_classes(rank, listed, room.whole, room.left, least, most)
        elif criterion == SHARES:
            gain, found = _cut_of_shares(rank, listed, weight, mean, least, most)
        else:
            gain, found = _cut_of_values(rank, listed, mean, least, most)
        if found >= 0:
            most, column, place = gain, j, found
    right = np.empty(0, dtype=np.uint8)
    for j in range(codes.shape[0]):
        if criterion == CLASSES:
            gain, sides = set_by_classes(members, targets, codes[j], counts[j], room.whole.size, least)
        else:
            gain, sides = set_by_means(members, targets, codes[j], counts[j], criterion, weight, mean, least)
        if gain > (most * BETTER if criterion == SHARES else most):
            most, column, right = gain, lists.ordered + j, sides
    if criterion == CLASSES:
        for target in targets:
            room.whole[int(target)] = 0
    return column, place, most, right


@compiled
def _put_to_sides(
    lists: Lists, codes: Codes, side: Flags, start: int, end: int, column: int, place: int, right: Flags, criterion: int
) -> tuple[int, float, float]:
    """Set the side of each record, and return how many are on the left; of shares, also their weight and amount."""
    listed = column if column < lists.ordered else lists.members
    rows, targets = lists.rows[listed, start:end], lists.targets[listed, start:end]
    first = place + 1
    if column < lists.ordered:
        for i in range(rows.size):
            side[rows[i]] = i > place
    else:
        code, first = codes[column - lists.ordered], 0
        for row in rows:
            side[row] = right[code[row]]
            first += 1 - side[row]
    weight, amount = 0.0, 0.0
    if criterion == SHARES:
        ends = place + 1 if column < lists.ordered else rows.size
        for i in range(ends):
            if column < lists.ordered or side[rows[i]] == 0:
                weight += abs(targets[i])
                amount += max(targets[i], 0.0)
    return first, weight, amount


@compiled
def _part(
    rows: Codes, ranks: Codes, targets: Floats, side: Flags, first: int, held_rows: Codes, held_ranks: Codes,
    held_targets: Floats,
) -> None:  # fmt: skip
    """Move the records of the right side behind the ``first`` of the left, each in their order."""
    to, held = 0, 0
    for i in range(rows.size):  # written to both places, and only the right one counted: no branch to guess
        row, rank, target = rows[i], ranks[i], targets[i]
        behind = side[row]
        rows[to], ranks[to], targets[to] = row, rank, target
        held_rows[held], held_ranks[held], held_targets[held] = row, rank, target
        held += behind
        to += 1 - behind
    for i in range(rows.size - first):
        rows[first + i], ranks[first + i], targets[first + i] = held_rows[i], held_ranks[i], held_targets[i]


@compiled
def _cut_of_values(rank: Codes, values: Floats, mean: float, least: int, most: float) -> tuple[float, int]:
    """Find the last place of the left side where the sum of squares falls most."""
    n, place = values.size, -1
    summed = 0.0
    for i in range(n - least):
        summed += values[i]
        if i + 1 >= least and rank[i] != rank[i + 1]:
            apart = summed - (i + 1) * mean
            gain = apart * apart * n / ((i + 1) * (n - i - 1))
            if gain > most:
                most, place = gain, i
    return most, place


@compiled
def _cut_of_classes(
    rank: Codes, classes: Floats, whole: Counts, left: Counts, least: int, most: float
) -> tuple[float, int]:
    """Find the last place of the left side where the impurity falls most; ``left`` is all zero before and after."""
    n, place = classes.size, -1
    squares = 0
    for i in range(n):
        squares += whole[int(classes[i])]  # each class's count, as often as it counts: the sum of their squares
    lefts, rights = 0, squares
    for i in range(n - least):
        c = int(classes[i])
        rights -= 2 * (whole[c] - left[c]) - 1
        lefts += 2 * left[c] + 1
        left[c] += 1
        if i + 1 >= least and rank[i] != rank[i + 1]:
            gain = lefts / (i + 1) + rights / (n - i - 1) - squares / n
            if gain > most:
                most, place = gain, i
    for i in range(n - least):
        left[int(classes[i])] = 0
    return most, place


@compiled
def _cut_of_shares(
    rank: Codes, signed: Floats, weight: float, share: float, least: int, most: float
) -> tuple[float, int]:
    """Find the last place of the left side where the impurity falls most, if by more than ``most``."""
    place = -1
    before, ones = 0.0, 0.0
    for i in range(least - 1):
        before += abs(signed[i])
        ones += max(signed[i], 0.0)
    for i in range(least - 1, signed.size - least):
        before += abs(signed[i])
        ones += max(signed[i], 0.0)
        apart = ones - share * before
        over = before * (weight - before)
        # the gain is apart^2 weight / over; to multiply instead costs less
        if apart * apart * weight > most * over * BETTER and rank[i] != rank[i + 1]:
            most, place = apart * apart * weight / over, i
    return most, place


@compiled
def _places(members: Codes, code: Codes, count: int) -> tuple[Counts, int]:
    """Number the categories that occur, in the order of their codes; -1 for the others."""
    place = np.full(count, -1, dtype=np.int64)
    for i in range(members.size):
        place[code[members[i]]] = 0
    return place, _numbered(place)


@compiled
def _numbered(place: Counts) -> int:
    """Number in place what is 0, and return how many there are."""
    number = 0
    for c in range(place.size):
        if place[c] == 0:
            place[c] = number
            number += 1
    return number


@compiled
def _sided(place: Counts, right: Flags, larger: int) -> Flags:
    """Give each category its side; one that does not occur goes with the larger."""
    sides = np.full(place.size, larger, dtype=np.uint8)
    for c in range(place.size):
        if place[c] >= 0:
            sides[c] = right[place[c]]
    return sides


@compiled
def set_by_means(
    members: Codes, targets: Floats, code: Codes, count: int, criterion: int, weight: float, mean: float, least: int
) -> tuple[float, Flags]:
    """Find the set of categories with which the sum of squares falls most: one that goes by their means."""
    n = members.size
    place, number = _places(members, code, count)
    amounts, records = np.zeros(number), np.zeros(number)
    weights = records
    if criterion == SHARES:
        weights = np.zeros(number)
        for i in range(n):
            c = place[code[members[i]]]
            weights[c] += abs(targets[i])
            amounts[c] += max(targets[i], 0.0)
            records[c] += 1
    else:
        for i in range(n):
            c = place[code[members[i]]]
            amounts[c] += targets[i]
            records[c] += 1
    order = np.argsort(amounts / weights, kind="mergesort")
    better = BETTER if criterion == SHARES else 1.0
    most, cut, lefts = 0.0, -1, 0.0
    summed, amount, before = 0.0, 0.0, 0.0
    for i in range(number - 1):
        summed += weights[order[i]]
        amount += amounts[order[i]]
        before += records[order[i]]
        if before >= least and n - before >= least:
            apart = amount - mean * summed
            gain = apart * apart * weight / (summed * (weight - summed))
            if gain > most * better:
                most, cut, lefts = gain, i, before
    right = np.ones(number, dtype=np.uint8)
    right[order[: cut + 1]] = 0
    return most, _sided(place, right, 1 if 2 * lefts < n else 0)


@compiled
def set_by_classes(
    members: Codes, classes: Floats, code: Codes, count: int, kinds: int, least: int
) -> tuple[float, Flags]:
    """Find a set of categories with which the impurity falls much.

    Categories are first ordered by their share of the class whose share differs most between them, which is best where
    there are two classes; then, as long as it helps, by the direction in which the classes of the two sides differ,
    since the best split of all is a cut in such an order.
    """
    n = members.size
    place, number = _places(members, code, count)
    class_place = np.full(kinds, -1, dtype=np.int64)
    for i in range(n):
        class_place[int(classes[i])] = 0
    class_number = _numbered(class_place)
    table = np.zeros((number, class_number), dtype=np.int64)
    for i in range(n):
        table[place[code[members[i]]], class_place[int(classes[i])]] += 1
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
