"""Classification trees with the stopping and collapsing rules of rpart, and their pMSE when files are drawn by lot.

Therneau and Atkinson, An Introduction to Recursive Partitioning Using the RPART Routines; Breiman et al. (1984).
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import WORTH_COMPILING, available_threads
from sfumato.utility.propensity.pooled import Flags, Floats, Pooled, balanced
from sfumato.utility.propensity.tree_split import split as plain_split

Codes = NDArray[np.int32]
LackOfFit = Literal["misclassification", "squared error"]

LEAST_SPLIT = (
    20  # records a node needs to be split, on each side of a split, and splits from the root: rpart's defaults
)
LEAST_LEAF = 7
DEEPEST = 30


@dataclass(frozen=True)
class Sorted:
    """The columns of the pooled records as splitting needs them; sorted once for any number of trees."""

    rows: Codes  # the records in ascending order of each number column
    ranks: Codes  # the rank of their values, equal for equal values
    codes: Codes  # the category of each record, for each nominal column
    counts: Codes  # how many categories these have
    variables: tuple[str, ...]  # the variable of each column, numbers first


class Tree(NamedTuple):
    """The propensities, the number of leaves, and the sum of (e - c)^2 that the splits by each variable add to."""

    scores: Floats
    leaves: int
    by_variable: dict[str, float]


def sort(pooled: Pooled) -> Sorted:
    """Sort every number column; a table of none gets one that is constant, to hold the list of the records."""
    columns = [number.values for number in pooled.numbers] or [np.zeros(len(pooled))]
    rows = np.empty((len(columns), len(pooled)), dtype=np.int32)
    ranks = np.empty_like(rows)
    for j, values in enumerate(columns):
        rows[j] = np.argsort(values, kind="stable")
        ordered = values[rows[j]]
        ranks[j] = np.concatenate([[0], np.cumsum(ordered[1:] != ordered[:-1])])
    codes = np.empty((len(pooled.categories), len(pooled)), dtype=np.int32)
    for j, category in enumerate(pooled.categories):
        codes[j] = category.codes
    counts = np.array([category.count for category in pooled.categories], dtype=np.int32)
    numbers = tuple(number.variable for number in pooled.numbers) or ("",)
    return Sorted(rows, ranks, codes, counts, (*numbers, *(category.variable for category in pooled.categories)))


def fit(columns: Sorted, protected: Flags, weights: Floats, cp: float, lack: LackOfFit) -> Tree:
    """Grow a tree by Gini impurity; collapse what lowers the lack of fit by less than cp of the root's per split."""
    signed = np.where(protected, weights, -weights)
    growing = _Growing(columns, signed, cp, lack)
    growing.grow(0, len(protected), float(weights.sum()), float(weights[protected].sum()), 0, np.inf)
    by_variable: dict[str, float] = {}
    for column, gain in growing.gains:
        by_variable[columns.variables[column]] = by_variable.get(columns.variables[column], 0.0) + gain
    return Tree(growing.scores, len(growing.gains) + 1, by_variable)


def chance(pooled: Pooled, columns: Sorted, cp: float, lack: LackOfFit, draws: int, rng: np.random.Generator) -> Floats:
    """Return pMSE of the trees grown when the files are assigned to the pooled records by lot."""
    from concurrent.futures import ThreadPoolExecutor

    def one(own: np.random.Generator) -> float:
        protected = own.permutation(pooled.protected)
        weights = balanced(pooled.weights, protected)
        return sum(fit(columns, protected, weights, cp, lack).by_variable.values()) / len(pooled)

    with ThreadPoolExecutor(available_threads()) as pool:  # each draw has its own generator, whichever thread takes it
        return np.array(list(pool.map(one, rng.spawn(draws))))


class _Grown(NamedTuple):
    """What a node tells its parent."""

    risk: float  # its own lack of fit
    left: float  # that of its leaves
    splits: int
    complexity: float  # gain per split


@dataclass
class _Growing:
    """One tree in the making. The lack of fit is rpart's risk; the order of nodes and the bounds are its own too."""

    columns: Sorted
    signed: Floats  # weights, negative for the original's records
    cp: float
    lack: LackOfFit
    gains: list[tuple[int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        size = len(self.signed)
        self.rows, self.ranks = self.columns.rows.copy(), self.columns.ranks.copy()
        self.ordered = self.signed[self.rows]  # the weights go with the records: to look them up would cost more
        self.side = np.zeros(size, dtype=np.uint8)
        self.scores = np.empty(size)
        self.split = plain_split
        if size >= WORTH_COMPILING:
            from sfumato.kernels.trees import split as tree_split

            self.split = tree_split.split
        self.least_gain = 0.0

    def grow(self, start: int, end: int, total: float, ones: float, depth: int, bound: float) -> _Grown:
        """Split a node as far as it pays; ``bound`` limits what its splits can gain each."""
        risk = self._risk(total, ones)
        if depth == 0:
            self.least_gain = self.cp * risk
            bound = risk
        reach = min(risk, bound)
        if end - start < LEAST_SPLIT or reach <= self.least_gain or depth >= DEEPEST:
            return self._leaf(start, end, total, ones, risk)
        middle, column, gain, weight, one = self.split(
            self.rows, self.ranks, self.ordered, self.columns.codes, self.columns.counts, self.side,
            start, end, LEAST_LEAF, total, ones, 1e-14 * total,
        )  # fmt: skip
        if middle == start:
            return self._leaf(start, end, total, ones, risk)
        before = len(self.gains)
        self.gains.append((column, gain))
        sides = (start, middle, weight, one), (middle, end, total - weight, ones - one)
        lower, higher = sides if one * (total - weight) < (ones - one) * weight else sides[::-1]
        left = self.grow(*lower, depth + 1, reach - self.least_gain)  # rpart's left son: the lower share of protected
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

    def _leaf(self, start: int, end: int, total: float, ones: float, risk: float) -> _Grown:
        self.scores[self.rows[0, start:end]] = ones / total
        return _Grown(risk, risk, 0, self.least_gain)


def _joined(risk: float, left: _Grown, right: _Grown) -> _Grown:
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
    return _Grown(risk, sum(end[0] for end in ends.values()), sum(end[1] for end in ends.values()) + 1, per_split())
