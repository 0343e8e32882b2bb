"""Who belongs together in a file, and how many they are: by the number of the household, or without it.

The audit asks the other members of a household for the value that a record lacks. The size of the household they tell
without having it: it can be counted, from the number or from what members share.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.households import household_level
from sfumato.data.microdata import Microdata
from sfumato.data.units import units
from sfumato.kernels.groups import classes
from sfumato.restoration import wording
from sfumato.restoration.aims import aims
from sfumato.restoration.guess import best_guess
from sfumato.restoration.names import texts

REBUILT = 0.05  # of the persons who live with others: the share from which it is worth a word
COUNTED = 0.99  # of the records must have the number of members as their value, to be a size

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Households found without their numbers: the group of each record, which groups are whole households, by what."""

    group: Integers
    whole: Mask
    share: float  # of the persons who live with others, those whose household it is
    by: tuple[str, ...]


def put_together(original: Microdata, table: Microdata) -> Rebuilt | None:
    """Put households together whose numbers are gone; None where the table has them, or nothing that members share.

    Records alike in the weight and in what members of a household share are taken for a household, wherever they stand;
    it is put together if these are its members and nobody else. Records are those of the original, in its order.
    """
    home = original.schema.household
    if home is None or home in table.columns or len(table) != len(original):
        return None
    unit = units(original)
    members = np.bincount(unit)
    shared = _shared(original, table)
    together = members[unit] > 1
    if not shared or not together.any():
        return None
    group, _ = classes(np.column_stack([np.unique(table.columns[name], return_inverse=True)[1] for name in shared]))
    pairs = np.unique(np.column_stack([group, unit]), axis=0)
    units_of, groups_of = np.bincount(pairs[:, 0]), np.bincount(pairs[:, 1])
    whole = (units_of[group] == 1) & (groups_of[unit] == 1) & together
    return Rebuilt(group, whole, float(whole.sum() / together.sum()), tuple(shared))


def _shared(original: Microdata, table: Microdata) -> list[str]:
    level = {*household_level(original), original.schema.weight}
    return [name for name in table.names if name in level]


def told_of_households(original: Microdata, table: Microdata, near: float, margin: float, *, some: bool) -> list[str]:
    """Say whether households whose numbers are gone can be put together again, and a protected size counted by that.

    A size is told if counting gets right more than ``margin`` above the best guess. ``some``: these are some of the
    records, of which nothing can be said, because the other members of a household may be elsewhere.
    """
    home = original.schema.household
    if home is None or home in table.columns:
        return []
    if some:
        shared = _shared(original, table)
        untold = (
            f"whether households can be put together again by {wording.listed(shared, most=6)} was not looked at: of a "
            "table in parts not all members are at hand; --sample with the number of all records has it looked at"
        )
        return [untold] if shared else []
    found = put_together(original, table)
    if found is None:
        return []
    counted = _counted(original, table, found, near, margin)
    if found.share < REBUILT and not counted:
        return []
    return [
        f"households can still be put together by {wording.listed(found.by, most=6)}: those of {found.share:.0%} of "
        f"the persons who live with others{''.join(counted)}; who knows a family finds it among them: coarsen the "
        "weight with WeightMasking('classes'), or what members share"
    ]


def _counted(original: Microdata, table: Microdata, found: Rebuilt, near: float, margin: float) -> list[str]:
    """Say which protected sizes the groups tell, counted."""
    names = sizes(original)
    if not names:
        return []
    members = np.bincount(found.group)[found.group]
    said = []
    for aim in aims(original, table, near):
        if aim.name not in names:
            continue
        right = float((members == _numbers(original, aim.name))[aim.cells].mean())
        guess = best_guess(aim).share
        if right - guess > margin:
            said.append(
                f"; {aim.name} can be counted so, right in {right:.0%} of {len(aim.cells):,} protected values, where "
                f"the best guess is in {guess:.0%}"
            )
    return said
