"""Trees grown by recursive partitioning: one way to split a node, by values, by classes or by the shares of two files.

By *values* the sum of squares of a number falls most; by *classes* the number of records times Gini's impurity does; by
*shares* the same of two classes, the files, with weights. ``grow`` splits as long as there are records enough;
``grow_pruned`` stops and collapses as rpart does.

A tree of two files grown in the order of rpart, and collapsed by its complexity as it grows. Therneau and Atkinson, An
Introduction to Recursive Partitioning Using the RPART Routines; Breiman et al. (1984).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Flags = NDArray[np.uint8]
Criterion = Literal["values", "classes", "shares"]
LackOfFit = Literal["misclassification", "squared error"]

MIN_CELLS = 50_000
"""Records times variables from which compiling pays here: many deep trees repay it sooner than one pass does."""
VALUES, CLASSES, SHARES = 0, 1, 2
"""The criteria of a split, as machine code knows them; ``trees.Aim`` tells what they are."""
BETTER = 1 + 1e-9  # of shares, a split must gain this much more than one found before: rounding does not choose
ROUNDS = 10  # of looking for a better order of the categories; two or three are the rule
MIN_SPLIT = 20  # records a node needs to be split: rpart's defaults, as the next two
MIN_LEAF = 7  # records on each side of a split
DEEPEST = 30  # splits from the root


class Lists(NamedTuple):
    """The records once in the order of each ordered predictor, with the rank of its value and the target of each.

    A node is the same stretch of every list, and splitting it parts the stretch of each list without changing the order
    on either side, so that sorting is done once. Ranks and targets go with the records: to look them up would cost
    more. Categories are counted along the list ``members``: one of its own behind the ``ordered`` ones, or one of them.
    """

    rows: Codes
    ranks: Codes
    targets: Floats
    ordered: int
    members: int


class Workspace(NamedTuple):
    """Where splits put what they need for a moment: the side of each record, records held back, counts of classes.

    There is room for one record more than there are; the counts are zero.
    """

    side: Flags
    rows: Codes
    ranks: Codes
    targets: Floats
    whole: Counts
    left: Counts


class Split(NamedTuple):
    """The best split of a node: by which column (ordered ones first, then nominal ones; -1 for none), and its gain.

    ``low`` and ``high`` are the highest rank on the left and the lowest on the right, ``right`` the side of each
    category. ``first`` records go first, with this weight and amount.
    """

    column: int
    gain: float
    low: int
    high: int
    right: Flags
    first: int
    weight: float
    amount: float


class GrownTree(NamedTuple):
    """A tree, with one entry per node and parents before children.

    ``column`` is the column split by (-1 for a leaf), ``bounds`` the highest rank on its left and the lowest on its
    right, ``children`` the left and the right one, ``stretch`` start and end of its records among ``members``,
    ``begins`` where the flags of a split by categories start in ``flags``: one per category, 1 for right.
    """

    column: Codes
    bounds: Codes
    children: Codes
    stretch: Codes
    members: Codes
    begins: Counts
    flags: Flags


def grow(
    members: Codes,
    ordered: Sequence[tuple[Codes, Codes]],
    codes: Codes,
    counts: Counts,
    target: Floats,
    criterion: Criterion,
    *,
    least: int,
    parent: int,
    depth: int,
    tiny: float,
    cells: int,
) -> GrownTree:
    """Split nodes of ``parent`` records or more until no split with ``least`` on each side gains more than ``tiny``.

    ``members`` lists the records to fit. Each ordered predictor gives these in ascending order, and the rank of every
    record; ``codes`` holds the categories of the nominal predictors, ``counts`` of them, by record. ``target`` is the
    value of every record, or its class from 0. ``depth`` is the most splits from the root, and ``cells`` the records
    times variables of the whole table, whose trees are all grown in one way.

    >>> x, y = np.arange(6, dtype=np.int32), np.array([0.0, 0, 0, 5, 5, 5])
    >>> none = np.empty((0, 6), dtype=np.int32), np.empty(0, dtype=np.int64)
    >>> tree = grow(x, [(x, x)], *none, y, "values", least=1, parent=3, depth=9, tiny=0.0, cells=6)
    >>> tree.column.tolist(), tree.bounds[:, 0].tolist()
    ([0, -1, -1], [2, 3])
    """
    lists = _lists(members, ordered, target)
    side = np.zeros(target.size, dtype=np.uint8)
    how = CLASSES if criterion == "classes" else VALUES
    if not worth_compiling(cells, MIN_CELLS):
        return plain_grow(lists, codes, counts, side, how, least, parent, depth, tiny)
    from sfumato.kernels.trees import compiled

    kinds = int(target[members].max(initial=-1.0)) + 1 if criterion == "classes" else 0
    held = np.empty(members.size + 1, dtype=np.int32), np.empty(members.size + 1, dtype=np.int32)
    room = Workspace(side, *held, np.empty(members.size + 1), *np.zeros((2, kinds), dtype=np.int64))
    return compiled.grow(lists, codes, counts, room, how, least, parent, depth, tiny)


def _lists(members: Codes, ordered: Sequence[tuple[Codes, Codes]], target: Floats) -> Lists:
    rows = np.empty((len(ordered) + 1, members.size), dtype=np.int32)
    ranks = np.zeros_like(rows)
    targets = np.empty(rows.shape)
    for j, (order, rank) in enumerate(ordered):
        rows[j], ranks[j] = order, rank[order]
    rows[-1] = members
    for listed, mine in zip(targets, rows, strict=True):
        listed[:] = target[mine]
    return Lists(rows, ranks, targets, ordered=len(ordered), members=len(ordered))


class PrunedTree(NamedTuple):
    """The share of the second file in the leaf of each record, and of each split its column and its gain."""

    shares: Floats
    gains: list[tuple[int, float]]


def grow_pruned(
    rows: Codes,
    ranks: Codes,
    codes: Codes,
    counts: Counts,
    signed: Floats,
    *,
    cp: float,
    lack: LackOfFit,
    least_split: int = MIN_SPLIT,
    least_leaf: int = MIN_LEAF,
) -> PrunedTree:
    """Grow a tree by the shares of two files; collapse what lowers the lack of fit by less than ``cp`` of the root's.

    ``rows`` lists the records in ascending order of each ordered column, of which there is one at least; ``ranks`` has
    the ranks of their values and ``codes`` the categories of the nominal columns, ``counts`` of them, by record.
    ``signed`` is the weight of each record, negative for those of the first file. A node of ``least_split`` records or
    more is split, into sides of ``least_leaf`` or more.
    """
    least_split = max(least_split, 2 * least_leaf)  # fewer have no two sides
    if worth_compiling(signed.size) and (np.abs(signed) == 1.0).all():
        from sfumato.kernels.trees import two_files

        second, squared = (signed > 0).view(np.uint8), int(lack == "squared error")
        shares, columns, gains = two_files.grow(
            rows, ranks, codes, counts, second, cp, squared, least_leaf, least_split, DEEPEST
        )
        return PrunedTree(shares, list(zip(columns.tolist(), gains.tolist(), strict=True)))
    ordered = np.take_along_axis(ranks, rows, axis=1)
    growing = _Growing(rows.copy(), ordered, signed[rows], codes, counts, cp, lack, least_split, least_leaf)
    growing.grow(0, signed.size, float(np.abs(signed).sum()), float(signed[signed > 0].sum()), 0, np.inf)
    return PrunedTree(growing.shares, growing.gains)


class _Subtree(NamedTuple):
    """What a node tells its parent."""

    risk: float  # its own lack of fit
    left: float  # that of its leaves
    splits: int
    complexity: float  # gain per split


@dataclass
class _Growing:
    """One tree in the making. The lack of fit is rpart's risk; the order of nodes and the bounds are its own too."""

    rows: Codes
    ranks: Codes
    targets: Floats  # weights, negative for the first file's records
    codes: Codes
    counts: Counts
    cp: float
    lack: LackOfFit
    least_split: int
    least_leaf: int
    gains: list[tuple[int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        records = self.rows.shape[1]
        self.side = np.zeros(records, dtype=np.uint8)
        self.shares = np.empty(records)
        self.split = plain_split_shares
        if worth_compiling(records):
            from sfumato.kernels.trees import compiled

            self.split = compiled.split_shares
        self.least_gain = 0.0

    def grow(self, start: int, end: int, total: float, ones: float, depth: int, bound: float) -> _Subtree:
        """Split a node as far as it pays; ``bound`` limits what its splits can gain each."""
        risk = self._risk(total, ones)
        if depth == 0:
            self.least_gain = self.cp * risk
            bound = risk
        reach = min(risk, bound)
        if end - start < self.least_split or reach <= self.least_gain or depth >= DEEPEST:
            return self._leaf(start, end, total, ones, risk)
        column, first, gain, weight, one = self.split(
            self.rows, self.ranks, self.targets, self.codes, self.counts, self.side,
            start, end, total, ones, self.least_leaf, self.least_split, 1e-14 * total,
        )  # fmt: skip
        if column < 0:
            return self._leaf(start, end, total, ones, risk)
        before = len(self.gains)
        self.gains.append((column, gain))
        middle = start + first
        sides = (start, middle, weight, one), (middle, end, total - weight, ones - one)
        lower, higher = sides if one * (total - weight) < (ones - one) * weight else sides[::-1]
        left = self.grow(*lower, depth + 1, reach - self.least_gain)  # rpart's left son: the lower share
        reach = min(max((risk - left.left) / (left.splits + 1), risk - left.risk), bound)
        right = self.grow(*higher, depth + 1, reach - self.least_gain)
        grown = _joined(risk, left, right)
        if grown.complexity <= self.least_gain:  # all was in vain
            del self.gains[before:]
            return self._leaf(start, end, total, ones, risk)
        return grown

    def _risk(self, total: float, ones: float) -> float:
        if self.lack == "misclassification":
            return min(ones, total - ones)
        return ones - ones * ones / total

    def _leaf(self, start: int, end: int, total: float, ones: float, risk: float) -> _Subtree:
        self.shares[self.rows[0, start:end]] = ones / total
        return _Subtree(risk, risk, 0, self.least_gain)


def _joined(risk: float, left: _Subtree, right: _Subtree) -> _Subtree:
    """Work out a node's gain per split, with the sons that would collapse before it taken as collapsed."""
    ends = {"left": (left.left, left.splits), "right": (right.left, right.splits)}

    def per_split() -> float:
        return (risk - sum(end[0] for end in ends.values())) / (sum(end[1] for end in ends.values()) + 1)

    weaker, stronger = ("left", "right") if right.complexity > left.complexity else ("right", "left")
    sons = {"left": left, "right": right}
    for son in (weaker, stronger):
        if per_split() <= sons[son].complexity:
            break
        ends[son] = (sons[son].risk, 0)
    return _Subtree(risk, sum(end[0] for end in ends.values()), sum(end[1] for end in ends.values()) + 1, per_split())


def plain_grow(
    lists: Lists, codes: Codes, counts: Counts, side: Flags, criterion: int, least: int, parent: int, depth: int,
    tiny: float,
) -> GrownTree:  # fmt: skip
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
        found = plain_split(
            lists, codes, counts, side, start, end, criterion, float(end - start), amount, least, parent, tiny
        )
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
    return GrownTree(
        np.array(column, dtype=np.int32),
        np.array(bounds, dtype=np.int32).T,
        np.array(children, dtype=np.int32).T,
        np.array(stretch, dtype=np.int32).T,
        members,
        np.array(begins, dtype=np.int64),
        np.concatenate([*flags, np.zeros(1, dtype=np.uint8)]),
    )


def plain_split_shares(
    rows: Codes, ranks: Codes, targets: Floats, codes: Codes, counts: Counts, side: Flags, start: int, end: int,
    weight: float, amount: float, least: int, parent: int, tiny: float,
) -> tuple[int, int, float, float, float]:  # fmt: skip
    """Split a node by shares; see ``grow_pruned``."""
    lists = Lists(rows, ranks, targets, ordered=len(rows), members=0)
    found = plain_split(lists, codes, counts, side, start, end, SHARES, weight, amount, least, parent, tiny)
    return found.column, found.first, found.gain, found.weight, found.amount


def plain_split(
    lists: Lists, codes: Codes, counts: Counts, side: Flags, start: int, end: int, criterion: int, weight: float,
    amount: float, least: int, parent: int, tiny: float,
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
    side[lists.rows[listed, node]] = behind
    parted = slice(None)
    if max(first, end - start - first) < parent:  # neither side will be split: the order of its members is all
        parted = slice(lists.members, lists.members + 1)
    second = side[lists.rows[parted, node]] == 1  # as many in every list
    middle = start + first
    for along in (lists.rows[parted], lists.ranks[parted], lists.targets[parted]):
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
