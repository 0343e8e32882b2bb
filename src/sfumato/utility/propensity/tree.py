"""Classification trees with the stopping and collapsing rules of rpart, and their pMSE when files are drawn by lot."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import available_threads
from sfumato.kernels.trees import LEAST_LEAF as LEAST_LEAF
from sfumato.kernels.trees import LEAST_SPLIT as LEAST_SPLIT
from sfumato.kernels.trees import LackOfFit as LackOfFit
from sfumato.kernels.trees import grow_pruned
from sfumato.utility.propensity.pooled import Flags, Floats, Pooled, balanced

Codes = NDArray[np.int32]


class Sizes(NamedTuple):
    """The records that a node needs to be split, and that each side of a split needs."""

    split: int = LEAST_SPLIT
    leaf: int = LEAST_LEAF


DEFAULT = Sizes()


@dataclass(frozen=True)
class Sorted:
    """The columns of the pooled records as splitting needs them; sorted once for any number of trees."""

    rows: Codes  # the records in ascending order of each number column
    ranks: Codes  # the rank of the value of each record, equal for equal values
    codes: Codes  # the category of each record, for each nominal column
    counts: NDArray[np.int64]  # how many categories these have
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
        ranks[j, rows[j]] = np.concatenate([[0], np.cumsum(ordered[1:] != ordered[:-1])])
    codes = np.empty((len(pooled.categories), len(pooled)), dtype=np.int32)
    for j, category in enumerate(pooled.categories):
        codes[j] = category.codes
    counts = np.array([category.count for category in pooled.categories], dtype=np.int64)
    numbers = tuple(number.variable for number in pooled.numbers) or ("",)
    return Sorted(rows, ranks, codes, counts, (*numbers, *(category.variable for category in pooled.categories)))


def fit(columns: Sorted, protected: Flags, weights: Floats, cp: float, lack: LackOfFit, sizes: Sizes = DEFAULT) -> Tree:
    """Grow a tree by Gini impurity; collapse what lowers the lack of fit by less than cp of the root's per split."""
    signed = np.where(protected, weights, -weights)
    least = {"least_split": sizes.split, "least_leaf": sizes.leaf}
    grown = grow_pruned(columns.rows, columns.ranks, columns.codes, columns.counts, signed, cp=cp, lack=lack, **least)
    by_variable: dict[str, float] = {}
    for column, gain in grown.gains:
        by_variable[columns.variables[column]] = by_variable.get(columns.variables[column], 0.0) + gain
    return Tree(grown.shares, len(grown.gains) + 1, by_variable)


def chance(
    pooled: Pooled,
    columns: Sorted,
    cp: float,
    lack: LackOfFit,
    draws: int,
    rng: np.random.Generator,
    sizes: Sizes = DEFAULT,
) -> Floats:
    """Return pMSE of the trees grown when the files are assigned to the pooled records by lot."""
    from concurrent.futures import ThreadPoolExecutor

    alike = bool((pooled.weights == 1.0).all())  # then so they are in any two files

    def one(own: np.random.Generator) -> float:
        protected = own.permutation(pooled.protected)
        weights = pooled.weights if alike else balanced(pooled.weights, protected)
        return sum(fit(columns, protected, weights, cp, lack, sizes).by_variable.values()) / len(pooled)

    with ThreadPoolExecutor(available_threads()) as pool:  # each draw has its own generator, whichever thread takes it
        return np.array(list(pool.map(one, rng.spawn(draws))))
