"""The keys of a table with the levels of each, and what a recoding of them loses, for a search over levels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.core import Measure
from sfumato.errors import NotApplicable, SchemaError
from sfumato.kernels.lattice import AssessedNode, ClassSize, Discernibility, Levels, Loss, Rows, ValueLoss
from sfumato.table.hierarchy import Hierarchy
from sfumato.table.hierarchy_levels import TOP
from sfumato.table.hierarchy_proposal import propose
from sfumato.table.microdata import Microdata

# The keys of a table with the levels of each: what a search over levels works on

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ladder:
    """A key, its hierarchy, and the group of each value that occurs at every level.

    ``codes`` numbers the values of the records, -1 where missing; ``parents[l]`` has the group of each code at level
    l. Levels above the first that leaves one group are left out, because they take nothing more away. ``values`` are
    those of a number. ``made`` says how a hierarchy was made for a key that has none, and is empty for the others.
    """

    name: str
    hierarchy: Hierarchy
    codes: Codes
    parents: tuple[Codes, ...]
    groups: tuple[tuple[str, ...], ...]  # the names of the groups of each level
    values: Floats | None
    made: str = ""

    @classmethod
    def of(cls, data: Microdata, name: str, given: Hierarchy | None) -> "Ladder":
        """Read the levels of a variable off the hierarchy given, that of the schema, or one made of its values."""
        variable, column = data.schema[name], data.columns[name]
        hierarchy, made = given or variable.hierarchy, ""
        if hierarchy is None:
            hierarchy, made = _made(data, name)
        levels = hierarchy.levels(variable, column)
        last = next((at for at, groups in enumerate(levels.parents) if len(set(groups.tolist())) <= 1), None)
        parents = levels.parents if last is None else levels.parents[: last + 1]
        values = np.unique(column[~np.isnan(column)]) if column.dtype.kind == "f" else None
        groups = levels.spelled[: len(parents)]
        return cls(name, hierarchy, levels.codes, parents, groups, values, made)

    @property
    def height(self) -> int:
        """The highest level that takes something away."""
        return len(self.parents) - 1

    @property
    def counts(self) -> Floats:
        """How often each value occurs."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.parents[0])).astype(np.float64)

    def spelled(self, level: int) -> str:
        """Say at which level the key is, by name where it has one."""
        if level == 0:
            return "as it is"
        names = self.hierarchy.names
        called = f" ({names[level - 1]})" if names else ""
        return f"level {level} of {self.height}{called}"


def checked_hierarchies(owner: object, stated: Mapping[str, Any]) -> parameters.FrozenMap:
    """Return the hierarchies by variable, whatever way each is written."""
    made: dict[str, Hierarchy] = {}
    for name, one in stated.items():
        try:
            made[name] = Hierarchy.of(one)
        except SchemaError as error:
            raise parameters.refuse(owner, f"hierarchy of {name!r}: {error}") from None
    return parameters.FrozenMap(made)


def ladders(data: Microdata, names: Sequence[str], given: Mapping[str, Hierarchy]) -> tuple[Ladder, ...]:
    """Return the levels of these keys."""
    return tuple(Ladder.of(data, name, given.get(name)) for name in names)


def told_made(keys: Sequence[Ladder]) -> str:
    """Say which hierarchies were made of the values, for want of one that somebody gave."""
    made = [f"{key.name} by {key.made}" for key in keys if key.made]
    return f"; hierarchies made for want of any: {', '.join(made)}" if made else ""


def _made(data: Microdata, name: str) -> tuple[Hierarchy, str]:
    """Make the hierarchy that is proposed for a variable, with all in one group at last, and say how."""
    proposal = propose(data, name)
    if proposal is not None:
        return proposal.build(data).topped(), " ".join([proposal.way, *proposal.values])
    variable = data.schema[name]
    if variable.kind == "date":
        return Hierarchy.dates("year").topped(), "dates year"
    if variable.kind == "numeric":
        return Hierarchy(widths=(float("inf"),)), "all in one group"
    # a variable that is missing in every record has no category; its one row is of none that occurs
    categories = variable.categories or (TOP,)
    return Hierarchy(rows=tuple((category, TOP) for category in categories)), "all in one group"


# What a recoding of the keys loses: the losses by name, for the search, and any measure of utility

LossName = Literal["loss", "ncp", "entropy", "precision", "discernibility", "class size"]
BY_VALUE: tuple[LossName, ...] = ("loss", "ncp", "entropy", "precision")


def named_loss(name: LossName, rows: Rows, keys: Sequence[Ladder], importance: Mapping[str, float], least: int) -> Loss:
    """Return a loss by its name; ``least`` is the number of records that a class of all keys has at least."""
    if name == "discernibility":
        return Discernibility(rows.records, int((rows.table.counts**2).sum()), rows.top)
    if name == "class size":
        return ClassSize(rows.records, least, rows.top)
    costs, gone, worth = [], [], []
    for key in keys:
        levels, lost = _COSTS[name](key)
        has_levels = key.height > 0  # a key of one value has nothing to lose
        costs.append(levels)
        gone.append(lost)
        worth.append(float(importance.get(key.name, 1.0)) if has_levels else 0.0)
    total = sum(worth) or 1.0
    totals = [_total(key, name, lost) for key, lost in zip(keys, gone, strict=True)]
    return ValueLoss.of(rows, costs, gone, [one / (total * all_of) for one, all_of in zip(worth, totals, strict=True)])


def _total(key: Ladder, name: LossName, gone: Floats) -> float:
    """Return what all values of a key lose if they are suppressed: as many as there are, or their entropy."""
    counts = key.counts
    return float((counts * gone).sum() if name == "entropy" else counts.sum()) or 1.0


def _others(key: Ladder) -> tuple[list[Floats], Floats]:
    """Other values in the group, over all others; of a number the width of the group over the range."""
    return _breadths(key, lambda members, all_values: (members - 1) / max(all_values - 1, 1))


def _certainty(key: Ladder) -> tuple[list[Floats], Floats]:
    """Values in the group over all values, 0 of one alone; of a number the width of the group over the range."""
    return _breadths(key, lambda members, all_values: np.where(members > 1, members / max(all_values, 1), 0.0))


def _breadths(key: Ladder, share: Callable[[Floats, int], Floats]) -> tuple[list[Floats], Floats]:
    number = len(key.parents[0])
    levels = []
    for parent in key.parents:
        groups = int(parent.max(initial=-1)) + 1
        if key.values is None:
            members = np.bincount(parent, minlength=groups).astype(np.float64)
            levels.append(share(members, number)[parent])
            continue
        low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
        np.minimum.at(low, parent, key.values)
        np.maximum.at(high, parent, key.values)
        span = float(np.ptp(key.values)) if number else 0.0
        levels.append(((high - low) / span if span > 0 else np.zeros(groups))[parent])
    return levels, np.ones(number)


def _entropy(key: Ladder) -> tuple[list[Floats], Floats]:
    """-log2 of how likely the value is in its group, by how often each occurs."""
    counts = key.counts
    levels = []
    for parent in key.parents:
        together = np.bincount(parent, weights=counts, minlength=1)[parent]
        levels.append(np.log2(together / counts))
    return levels, np.log2(counts.sum() / counts)


def _steps(key: Ladder) -> tuple[list[Floats], Floats]:
    """The level over the highest."""
    number = len(key.parents[0])
    return [np.full(number, level / max(key.height, 1)) for level in range(key.height + 1)], np.ones(number)


_COSTS: dict[LossName, Callable[[Ladder], tuple[list[Floats], Floats]]] = {
    "loss": _others,
    "ncp": _certainty,
    "entropy": _entropy,
    "precision": _steps,
}


@dataclass(frozen=True, eq=False)
class MeasuredLoss:
    """Any measure of utility as a loss: the table of each node is made and measured, and nothing bounds it."""

    measure: Measure
    original: Microdata
    made: Callable[[Levels], Microdata]
    heights: Levels

    bounded = False
    by_classes = False

    def value(self, node: AssessedNode) -> float:
        """Measure the table of a node; infinite where the measure refuses it."""
        try:
            value = self.measure.evaluate(self.original, self.made(node.levels), rng=0).value
        except NotApplicable:
            return float("inf")
        if np.isnan(value):
            return float("inf")
        return self.measure.about.sign * value

    def bound(self, low: Levels, finest: AssessedNode | None, high: AssessedNode) -> float:
        """Return that nothing is known."""
        return -float("inf")

    def gap(self, key: int, low: int, high: int) -> float:
        """Return how much of a key's levels lies between."""
        return (high - low) / max(self.heights[key], 1)
