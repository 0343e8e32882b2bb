"""The keys of a table with the levels of each: what a search over levels works on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.hierarchy_levels import TOP
from sfumato.data.hierarchy_proposal import propose
from sfumato.data.microdata import Microdata
from sfumato.errors import SchemaError

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
