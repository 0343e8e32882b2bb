"""A tree of two files grown in the order of rpart, and collapsed by its complexity as it grows.

Therneau and Atkinson, An Introduction to Recursive Partitioning Using the RPART Routines; Breiman et al. (1984).
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from sfumato.kernels import worth_compiling
from sfumato.kernels.trees import plain
from sfumato.kernels.trees.lists import Codes, Counts, Floats

LackOfFit = Literal["misclassification", "squared error"]

LEAST_SPLIT = 20  # records a node needs to be split: rpart's defaults, as the next two
LEAST_LEAF = 7  # records on each side of a split
DEEPEST = 30  # splits from the root


class Pruned(NamedTuple):
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
    least_split: int = LEAST_SPLIT,
    least_leaf: int = LEAST_LEAF,
) -> Pruned:
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
        return Pruned(shares, list(zip(columns.tolist(), gains.tolist(), strict=True)))
    ordered = np.take_along_axis(ranks, rows, axis=1)
    growing = _Growing(rows.copy(), ordered, signed[rows], codes, counts, cp, lack, least_split, least_leaf)
    growing.grow(0, signed.size, float(np.abs(signed).sum()), float(signed[signed > 0].sum()), 0, np.inf)
    return Pruned(growing.shares, growing.gains)


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
        self.split = plain.split_shares
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
