"""The best split of a node, the records put to its two sides, and a tree grown to small leaves, in numpy."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.trees.lists import (
    BETTER,
    CLASSES,
    ROUNDS,
    SHARES,
    Codes,
    Counts,
    Flags,
    Floats,
    Grown,
    Lists,
    Room,
    Split,
)


def grow(
    lists: Lists, codes: Codes, counts: Counts, room: Room, criterion: int, least: int, parent: int, depth: int,
    tiny: float,
) -> Grown:  # fmt: skip
    """Grow a tree; see ``trees.grow``."""
    members = lists.rows[lists.members]
    column, bounds, children = [-1], [(0, 0)], [(-1, -1)]
    stretch, level, begins = [(0, members.size)], [0], [-1]
    flags: list[Flags] = []
    used = 0
    stack = [0]
    while stack:
        node = stack.pop()
        start, end = stretch[node]
        target = lists.targets[lists.members, start:end]
        if end - start < parent or level[node] >= depth or (target == target[0]).all():
            continue
        amount = float(np.cumsum(target)[-1])  # one after the other, as the kernel adds
        found = split(lists, codes, counts, room, start, end, criterion, float(end - start), amount, least, tiny)
        if found.column < 0:
            continue
        column[node], bounds[node] = found.column, (found.low, found.high)
        if found.column >= lists.ordered:
            begins[node] = used
            flags.append(found.right)
            used += found.right.size
        nodes = len(column)
        children[node] = nodes, nodes + 1
        for ends in ((start, start + found.first), (start + found.first, end)):
            column.append(-1)
            bounds.append((0, 0))
            children.append((-1, -1))
            stretch.append(ends)
            level.append(level[node] + 1)
            begins.append(-1)
        stack += [nodes + 1, nodes]
    return Grown(
        np.array(column, dtype=np.int32),
        np.array(bounds, dtype=np.int32).T,
        np.array(children, dtype=np.int32).T,
        np.array(stretch, dtype=np.int32).T,
        members,
        np.array(begins, dtype=np.int64),
        np.concatenate([*flags, np.zeros(1, dtype=np.uint8)]),
    )


def split(
    lists: Lists, codes: Codes, counts: Counts, room: Room, start: int, end: int, criterion: int, weight: float,
    amount: float, least: int, tiny: float,
) -> Split:  # fmt: skip
    """Split the records at ``start:end`` of every list; see ``trees.split``."""
    column, place, gain, right = _best(
        lists, codes, counts, start, end, criterion, weight, amount / weight, least, tiny
    )
    if column < 0:
        return Split(-1, 0.0, 0, 0, right, 0, 0.0, 0.0)
    node = slice(start, end)
    low, high = 0, 0
    listed = lists.members
    if column < lists.ordered:
        low, high = (int(rank) for rank in lists.ranks[column, start + place : start + place + 2])
        listed = column
        behind = np.arange(end - start) > place
    else:
        behind = right[codes[column - lists.ordered, lists.rows[listed, node]]] == 1
    mine = lists.targets[listed, node][~behind]
    first, first_weight, first_amount = mine.size, float(np.abs(mine).sum()), float(np.maximum(mine, 0.0).sum())
    if criterion == SHARES and 2 * first < end - start:  # the side with more records comes first
        behind = ~behind
        first, first_weight, first_amount = end - start - first, weight - first_weight, amount - first_amount
    room.side[lists.rows[listed, node]] = behind
    second = room.side[lists.rows[:, node]] == 1  # as many in every list
    middle = start + first
    for along in (lists.rows, lists.ranks, lists.targets):
        here = along[:, node]
        kept, moved = here[~second].reshape(len(here), first), here[second].reshape(len(here), end - middle)
        along[:, start:middle], along[:, middle:end] = kept, moved
    return Split(column, gain, low, high, right, first, first_weight, first_amount)


def _best(
    lists: Lists, codes: Codes, counts: Counts, start: int, end: int, criterion: int, weight: float, mean: float,
    least: int, tiny: float,
) -> tuple[int, int, float, Flags]:  # fmt: skip
    """Find the column of the best split, the last place of its left side, the gain, and the side of each category."""
    node, places = slice(start, end), slice(least - 1, end - start - least)
    better = BETTER if criterion == SHARES else 1.0
    most, column, place = tiny, -1, -1
    if lists.ordered:
        gain = _gains(lists.targets[: lists.ordered, node], places, criterion, weight, mean)
        rank = lists.ranks[: lists.ordered, node]
        gain[rank[:, places] == rank[:, least : end - start - least + 1]] = 0.0
        best = _first_best(gain, better)
        if gain.flat[best] > most * better:
            most, (column, place) = float(gain.flat[best]), divmod(best, gain.shape[1])
            place += least - 1
    right = np.empty(0, dtype=np.uint8)
    if not len(codes):
        return column, place, most, right
    members, targets = lists.rows[lists.members, node], lists.targets[lists.members, node]
    if criterion == CLASSES:
        for j, code in enumerate(codes[:, members]):
            reached, sides = _set_by_classes(code, int(counts[j]), targets.astype(np.intp), least)
            if reached > most * better:
                most, column, right = reached, lists.ordered + j, sides
        return column, place, most, right
    sets = _Sets.of(codes[:, members], counts, *_weighed(targets, criterion), weight, mean, least)
    for j, gain in enumerate(sets.gain):
        cut = _first_best(gain, better)
        if gain[cut] > max(most * better, 0.0):
            most, column, right = float(gain[cut]), lists.ordered + j, sets.sides(j, cut, int(counts[j]))
    return column, place, most, right


def _gains(listed: Floats, places: slice, criterion: int, weight: float, mean: float) -> Floats:
    """Return what a cut of each list behind each of these places gains."""
    if criterion == CLASSES:
        return np.stack([_gains_of_classes(targets.astype(np.intp))[places] for targets in listed])
    weights, amounts = (np.cumsum(part, axis=1)[:, places] for part in _weighed(listed, criterion))
    return _gain(weights, amounts, weight, mean)


def _weighed(targets: Floats, criterion: int) -> tuple[Floats, Floats]:
    """Return the weight of each record and what it adds to the amount."""
    if criterion == SHARES:
        return np.abs(targets), np.maximum(targets, 0.0)
    return np.ones_like(targets), targets


def _gain(before: Floats, amounts: Floats, weight: float, mean: float) -> Floats:
    """Return the fall in the sum of squares if these weights and amounts are on the left."""
    gain: Floats = (amounts - mean * before) ** 2 * weight / (before * (weight - before))
    return gain


def _first_best(gain: Floats, better: float) -> int:
    """Return the first place that no other is better than."""
    return int(np.argmax(gain * better >= gain.max()))


def _gains_of_classes(ordered: NDArray[np.intp]) -> Floats:
    """Return the fall in records times Gini impurity of a cut behind each record but the last."""
    n = ordered.size
    sums = np.bincount(ordered)
    squares = int((sums * sums).sum())
    by_class = np.argsort(ordered, kind="stable")
    earlier = np.empty(n, dtype=np.int64)  # how many records of the same class come before each
    earlier[by_class] = np.arange(n) - (np.cumsum(sums) - sums)[ordered[by_class]]
    lefts = np.cumsum(2 * earlier + 1)[:-1]
    rights = squares - np.cumsum(2 * (sums[ordered] - earlier) - 1)[:-1]
    before = np.arange(1, n)
    return np.asarray(lefts / before + rights / (n - before) - squares / n)


def _sided(count: int, present: Codes, right: Flags, lefts: int, n: int) -> Flags:
    """Give each category its side; one that does not occur goes with the larger."""
    sides = np.full(count, 2 * lefts < n, dtype=np.uint8)
    sides[present] = right
    return sides


class _Sets(NamedTuple):
    """The categories of all nominal columns of a node, each column's in the order of their means."""

    records: Counts  # of each category, column by column; 0 beyond the last
    order: NDArray[np.intp]
    before: Counts  # records up to each category in that order
    gain: Floats  # of a cut behind it

    @classmethod
    def of(
        cls, codes: Codes, counts: Counts, weights: Floats, amounts: Floats, weight: float, mean: float, least: int
    ) -> "_Sets":
        """Find what every cut gains: the best set of categories goes by their means."""
        columns, size = codes.shape
        wide = int(counts.max())
        where = (codes + (np.arange(columns) * wide)[:, None]).ravel()
        shape = columns, wide
        records = np.bincount(where, minlength=columns * wide).reshape(shape)
        summed, reached = (
            np.bincount(where, np.tile(part, columns), minlength=columns * wide).reshape(shape)
            for part in (weights, amounts)
        )
        there = records > 0
        means = np.full(shape, np.inf)  # categories that do not occur come last
        np.divide(reached, summed, out=means, where=there)
        order = np.argsort(means, axis=1, kind="stable")
        before, left, amount = (
            np.cumsum(np.take_along_axis(part, order, axis=1), axis=1) for part in (records, summed, reached)
        )
        cut = (before >= least) & (size - before >= least)
        gain = np.zeros(shape)
        gain[cut] = _gain(left[cut], amount[cut], weight, mean)
        return cls(records, order, before, gain)

    def sides(self, column: int, cut: int, count: int) -> Flags:
        """Give each category of a column its side of a cut."""
        present = np.flatnonzero(self.records[column, :count]).astype(np.int32)
        behind = np.ones(self.order.shape[1], dtype=np.uint8)
        behind[self.order[column, : cut + 1]] = 0
        lefts, size = int(self.before[column, cut]), int(self.before[column, -1])
        return _sided(count, present, behind[present], lefts, size)


def _set_by_classes(code: Codes, count: int, target: NDArray[np.intp], least: int) -> tuple[float, Flags]:
    """Find a set of categories with which the impurity falls much, as the kernel does."""
    n = code.size
    present, place = np.unique(code, return_inverse=True)
    _, class_place = np.unique(target, return_inverse=True)
    table = np.zeros((present.size, int(class_place.max()) + 1), dtype=np.int64)
    np.add.at(table, (place, class_place), 1)
    sizes, sums = table.sum(axis=1), table.sum(axis=0)
    squares = int((sums * sums).sum())
    spread = np.cumsum(table * table / sizes[:, None], axis=0)[-1] - sums * sums / n
    score = table[:, np.argmax(spread)] / sizes
    most, lefts = 0.0, 0
    right = np.ones(present.size, dtype=np.uint8)
    for _ in range(ROUNDS):
        order = np.argsort(score, kind="stable")
        inside = np.cumsum(table[order], axis=0)[:-1]
        before = inside.sum(axis=1)
        beyond = sums - inside
        gain = (inside * inside).sum(axis=1) / before + (beyond * beyond).sum(axis=1) / (n - before) - squares / n
        gain[(before < least) | (n - before < least)] = 0.0
        if not (gain > most).any():
            break
        cut = int(np.argmax(gain))
        most, lefts = float(gain[cut]), int(before[cut])
        right[:] = 1
        right[order[: cut + 1]] = 0
        direction = inside[cut] / lefts - beyond[cut] / (n - lefts)
        score = np.zeros(present.size)
        for c in range(sums.size):  # one after the other, as the kernel adds
            score += table[:, c] * direction[c]
        score /= sizes
    return most, _sided(count, present, right, lefts, n)
