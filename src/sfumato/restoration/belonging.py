"""What records that belong together tell of each other beyond what they share: how many they are, and where one stands.

The audit asks the other members of a household for the value that a record lacks. Two things they tell without having
it: the size of the household, which can be counted from its number; and, of several records of one person, a number
such as age that goes up from record to record, or hardly moves.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sfumato.data.households import household_level
from sfumato.data.microdata import Microdata
from sfumato.data.units import units
from sfumato.kernels.groups import classes
from sfumato.restoration.names import texts

COUNTED = 0.99  # of the records must have the number of members as their value, to be a size
PAIRS = 20  # of records of one unit, at least, to see a rule in how a number moves
RULED = 0.95  # of these must follow the rule
NEAR, MOSTLY = 0.05, 0.9  # a number hardly moves if so many pairs lie within so many of the records in rank

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


def sizes_to_count(original: Microdata, table: Microdata) -> dict[str, Mask]:
    """Return, by size of the household that is protected, the records whose households can be counted all the same.

    Records are those of the original, in its order. There are none if the table has no number of the household.
    """
    home = original.schema.household
    if home is None or home not in table.columns:
        return {}
    unit = units(original)
    found = {}
    for name in sizes(original):
        there = ~np.isnan(_numbers(original, name))
        hidden = there.copy()
        if name in table.columns:
            both = there & ~table.missing(name)
            hidden[both] = texts(original, name, both) != texts(table, name, both)
        if hidden.any():
            found[name] = np.isin(unit, unit[hidden]) & ~table.missing(home)
    return {name: rows for name, rows in found.items() if rows.any()}


def sizes(data: Microdata) -> tuple[str, ...]:
    """Name the variables that say how many records a household has; none without households.

    >>> import pyarrow as pa
    >>> from sfumato.data.schema import Schema
    >>> table = pa.table({"home": [1, 1, 2], "members": [2, 2, 1], "rooms": [3, 3, 2]})
    >>> sizes(Microdata.from_frame(table, Schema(household="home")))
    ('members',)
    """
    if data.schema.household is None:
        return ()
    unit = units(data)
    members = np.bincount(unit)[unit].astype(np.float64)
    found = []
    for name in data.schema.analysed():
        size = _numbers(data, name)
        there = ~np.isnan(size)
        if there.any() and np.ptp(size[there]) > 0 and (size == members)[there].mean() >= COUNTED:
            found.append(name)
    return tuple(found)


def _numbers(data: Microdata, name: str) -> Floats:
    """Return a column as numbers; a category that is none is missing."""
    variable, column = data.schema[name], data.columns[name]
    if variable.quantitative:
        return np.asarray(column, dtype=np.float64)
    values = [_number(str(category)) for category in variable.categories]
    return np.asarray(np.array([*values, np.nan])[column])  # missing is -1


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def put_together(original: Microdata, table: Microdata) -> tuple[float, tuple[str, ...]]:
    """Return the share of persons not alone in their household whose household can be put together again, and by what.

    Records alike in the weight and in what members of a household share are taken for a household, wherever they stand;
    it is put together if these are its members and nobody else. Records are those of the original, in its order.
    Nothing is said of a table that numbers its households.
    """
    home = original.schema.household
    if home is None or home in table.columns or len(table) != len(original):
        return 0.0, ()
    unit = units(original)
    members = np.bincount(unit)
    level = {*household_level(original), original.schema.weight}
    shared = [name for name in table.names if name in level]
    together = members[unit] > 1
    if not shared or not together.any():
        return 0.0, ()
    group, _ = classes(np.column_stack([np.unique(table.columns[name], return_inverse=True)[1] for name in shared]))
    pairs = np.unique(np.column_stack([group, unit]), axis=0)
    units_of, groups_of = np.bincount(pairs[:, 0]), np.bincount(pairs[:, 1])
    whole = (units_of[group] == 1) & (groups_of[unit] == 1) & together
    return float(whole.sum() / together.sum()), tuple(shared)


def told_by_others(original: Microdata, table: Microdata) -> list[str]:
    """Name the numbers that are blank in some records of a unit, and told by its other records though these differ.

    In a panel age goes up by as much as the wave does, so that one wave tells all; without the wave it still hardly
    moves. Among the members of a family it does neither. What members share is for the audit to see.
    """
    if original.schema.household is None or original.schema.household not in table.columns:
        return []
    unit = units(original)
    order = np.argsort(unit, kind="stable")
    later = np.flatnonzero(unit[order][1:] == unit[order][:-1]) + 1
    if len(later) < PAIRS:
        return []
    pairs = order[later - 1], order[later]
    shown = [name for name in table.schema.analysed("numeric", "date") if name in original.columns]
    moves = {name: original.columns[name][pairs[1]] - original.columns[name][pairs[0]] for name in shown}
    found = []
    for name in shown:
        lost = table.missing(name) & ~original.missing(name)
        move = moves[name]
        if not lost.any() or not original.schema[name].quantitative or not (np.nan_to_num(move) != 0).any():
            continue
        ruled = any(_go_alike(move, moves[other]) for other in shown if other != name)
        if ruled or _hardly_moves(original.columns[name], pairs):
            found.append(name)
    return found


def _go_alike(move: Floats, other: Floats) -> bool:
    """Tell whether a number goes up, or down, by as much as another goes up."""
    there = ~np.isnan(move) & ~np.isnan(other) & (other != 0)
    if np.count_nonzero(there) < PAIRS:
        return False
    return max(float(np.isclose(move[there], sign * other[there]).mean()) for sign in (1, -1)) >= RULED


def _hardly_moves(column: Floats, pairs: tuple[Rows, Rows]) -> bool:
    there = ~np.isnan(column)
    rank = np.full(len(column), np.nan)
    rank[there] = rankdata(column[there]) / np.count_nonzero(there)
    apart = np.abs(rank[pairs[1]] - rank[pairs[0]])
    apart = apart[~np.isnan(apart)]
    return len(apart) >= PAIRS and float((apart <= NEAR).mean()) >= MOSTLY
