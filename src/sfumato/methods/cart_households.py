"""The two tables from which whole households are synthesised: one of households, one of their members."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.households import household_level, once_per_household
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Variable
from sfumato.errors import NotApplicable

Column = NDArray[Any]
MEMBERS, PLACE = "members of the household", "place in the household"


@dataclass(frozen=True, eq=False)
class Levels:
    """A table of households with the number of their members, and one of members with what their household has."""

    homes: Microdata
    persons: Microdata
    shared: tuple[str, ...]  # the variables of households that are synthesised
    own: tuple[str, ...]  # the variables of members that are
    counts: tuple[str, ...]  # those of the shared ones that are the number of members

    @classmethod
    def of(cls, data: Microdata) -> "Levels":
        """Part a table in two."""
        schema = data.schema
        if schema.household is None:
            raise NotApplicable("unit='household' needs a schema that names the household")
        apart = {v.name for v in schema if v.role == "identifier"} | {schema.household, schema.id}
        level = tuple(name for name in household_level(data) if name not in apart)
        homes, place = once_per_household(data, level)
        members = np.bincount(place).astype(np.float64)
        counts = tuple(
            name
            for name in level
            if schema[name].kind == "numeric" and np.array_equal(data.columns[name], members[place])
        )
        shared = tuple(name for name in level if name not in counts)
        homes = _only(_with(homes, {MEMBERS: members}), (MEMBERS, *shared))
        own = tuple(v.name for v in schema if v.name not in {*level, *apart})
        persons = _with(data, {MEMBERS: members[place], PLACE: _places(place)})
        persons = _only(persons, (MEMBERS, PLACE, *shared, *own))
        # the weight of a member is drawn last
        own = tuple(sorted(own, key=lambda name: name == schema.weight))
        return cls(homes, persons, shared, own, counts)

    def members_of(self, homes: Mapping[str, Column]) -> tuple[Column, dict[str, Column]]:
        """Return the household of each member of households drawn, and what all members know of theirs."""
        members = homes[MEMBERS].astype(np.int64)
        place = np.repeat(np.arange(len(members)), members)
        known = {name: column[place] for name, column in homes.items()}
        known[PLACE] = _places(place)
        return place, known


def _places(household: Column) -> Column:
    """Return the place of each record among those of its household, from 1, in the order of the file.

    >>> _places(np.array([0, 1, 0, 0, 1])).tolist()
    [1.0, 1.0, 2.0, 3.0, 2.0]
    """
    order = np.argsort(household, kind="stable")
    sizes = np.bincount(household)
    place = np.empty(len(household))
    place[order] = np.arange(len(household)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    return place


def _with(data: Microdata, columns: Mapping[str, Column]) -> Microdata:
    for name in columns:
        if name in data.schema:
            raise NotApplicable(f"the table has a variable {name!r}, which unit='household' needs; rename it")
    variables = (*(Variable(name) for name in columns), *data.schema.variables)
    return replace(data, schema=replace(data.schema, variables=variables), columns={**columns, **data.columns})


def _only(data: Microdata, names: tuple[str, ...]) -> Microdata:
    """Return a table of these variables, without household and id."""
    schema = replace(data.schema.only(names), household=None, id=None)
    return replace(data, schema=schema, columns={name: data.columns[name] for name in schema.names})
