"""Trees for synthesis: variables as trees see them, fitting, the leaf a record falls into, and donors from it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.schema import Kind, is_quantitative
from sfumato.kernels.trees import Criterion, grow

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Places = NDArray[np.intp]
Flags = NDArray[np.bool_]

LEAST_GAIN = 1e-12  # of the root's lack of fit: what is less is rounding


@dataclass(frozen=True)
class Rule:
    """When a tree stops: the fewest records in a leaf, the most levels, the least gain as a share of the root's.

    ``cells`` are the records times variables of the table, by which growing is worth compiling or not.
    """

    min_leaf: int
    max_depth: int
    cp: float
    cells: int


@dataclass(frozen=True, eq=False)
class Predictor:
    """A variable of the original table as trees see it: its records in order, or their categories."""

    ordered: bool
    places: Codes  # the rank of each record's value among the distinct ones, or its category
    order: Codes  # the records in ascending order; none where there is no order
    levels: Floats  # the distinct values, or the categories


def visible(kind: Kind, column: NDArray[np.generic]) -> Floats:
    """Return a column as splits see it: a missing value is below every other, or a category before every other."""
    if kind == "nominal":
        return column.astype(np.float64) + 1
    numbers = column.astype(np.float64)
    missing = np.isnan(numbers) if is_quantitative(kind) else column.astype(np.int32) < 0
    return np.where(missing, -np.inf, numbers)


def predictor(kind: Kind, column: NDArray[np.generic], categories: int) -> Predictor:
    """Prepare a variable once for all trees that it helps to predict."""
    seen = visible(kind, column)
    if kind == "nominal":
        none = np.empty(0, np.int32)
        return Predictor(ordered=False, places=seen.astype(np.int32), order=none, levels=np.arange(categories + 1.0))
    levels, places = np.unique(seen, return_inverse=True)
    order = np.argsort(places, kind="stable").astype(np.int32)
    return Predictor(ordered=True, places=places.astype(np.int32), order=order, levels=levels)


@dataclass(frozen=True, eq=False)
class Tree:
    """A fitted tree: where it splits, and the donors of each leaf as a stretch of ``members``."""

    column: Codes  # the predictor a node is split by, -1 for a leaf
    threshold: Floats  # what is above it goes to the right
    begins: NDArray[np.int64]  # where the flags of a split by categories begin, -1 for other nodes
    flags: NDArray[np.uint8]
    children: Codes  # left and right
    stretch: Codes  # start and end
    members: Codes

    def leaf(self, columns: Sequence[Floats], count: int) -> Places:
        """Return the leaf each of ``count`` records falls into, by its predictors as splits see them."""
        node = np.zeros(count, dtype=np.intp)
        table = np.stack(columns) if columns else np.empty((0, count))
        moving = np.arange(count)
        while True:
            moving = moving[self.column[node[moving]] >= 0]
            if not moving.size:
                return node
            at = node[moving]
            values = table[self.column[at], moving]
            begin = self.begins[at]
            # a number's place among the flags is meaningless, so it looks at the first
            right = np.where(begin < 0, values > self.threshold[at], self.flags[_flag(begin, values)])
            node[moving] = self.children[right.astype(np.intp), at]

    def donors(self, leaf: Places, rng: np.random.Generator, *, proper: bool) -> Codes:
        """Draw one original record from each leaf named: each alike, or by a Bayesian bootstrap of each leaf."""
        draws = rng.random(leaf.size)
        start, end = self.stretch[0, leaf], self.stretch[1, leaf]
        if not proper:
            place = start + (draws * (end - start)).astype(np.intp)
        else:
            masses = np.concatenate([[0.0], np.cumsum(rng.standard_exponential(self.members.size))])
            sought = masses[start] + draws * (masses[end] - masses[start])
            place = np.searchsorted(masses, sought, side="right") - 1
        return np.asarray(self.members[np.clip(place, start, end - 1)])


def _flag(begin: NDArray[np.int64], values: Floats) -> Places:
    return np.where(begin < 0, 0.0, begin + values).astype(np.intp)


def fit(predictors: Sequence[Predictor], target: NDArray[np.generic], rows: Codes, rule: Rule) -> Tree:
    """Fit a tree to these rows of the target: to its mean if it holds floats, to its classes if it holds codes."""
    ordered = [j for j, found in enumerate(predictors) if found.ordered]
    nominal = [j for j, found in enumerate(predictors) if not found.ordered]
    n = target.size
    inside = np.zeros(n, dtype=bool)
    inside[rows] = True
    orders = [predictors[j].order if rows.size == n else _only(predictors[j].order, inside) for j in ordered]
    aim, criterion, impurity = _aim(target, rows)
    column, bounds, children, stretch, members, begins, flags = grow(
        rows,
        [(order, predictors[j].places) for order, j in zip(orders, ordered, strict=True)],
        _stacked([predictors[j].places for j in nominal], n),
        np.array([predictors[j].levels.size for j in nominal], dtype=np.int64),
        aim,
        criterion,
        least=rule.min_leaf,
        parent=3 * rule.min_leaf,
        depth=rule.max_depth,
        tiny=max(rule.cp, LEAST_GAIN) * impurity,
        cells=rule.cells,
    )
    threshold = np.full(column.size, np.inf)
    for place, j in enumerate(ordered):
        nodes = np.flatnonzero(column == place)
        low, high = (predictors[j].levels[bounds[k, nodes]] for k in (0, 1))
        middle = low / 2 + high / 2
        threshold[nodes] = np.where(middle < high, np.maximum(middle, low), low)  # rounding must not reach the higher
    named = np.array([*ordered, *nominal, -1], dtype=np.int32)  # the last one is for leaves
    return Tree(named[column], threshold, begins, flags, children, stretch, members)


def _aim(target: NDArray[np.generic], rows: Codes) -> tuple[Floats, Criterion, float]:
    """Return the target as trees aim at it, by what they split, and the root's lack of fit."""
    if target.dtype.kind == "f":
        values = np.zeros(target.size)
        present = target[rows].astype(np.float64)
        scale = np.abs(present).max(initial=0.0) or 1.0
        scaled = present / scale  # first, so that squares of large numbers stay finite
        values[rows] = scaled - scaled.mean() if rows.size else scaled
        return values, "values", float((values[rows] ** 2).sum())
    sums = np.bincount(target[rows].astype(np.intp))
    return target.astype(np.float64), "classes", rows.size - float((sums * sums).sum()) / max(rows.size, 1)


def _only(order: Codes, inside: Flags) -> Codes:
    kept: Codes = order[inside[order]]
    return kept


def _stacked(columns: Sequence[Codes], length: int) -> Codes:
    return np.stack(columns) if columns else np.empty((0, length), dtype=np.int32)
