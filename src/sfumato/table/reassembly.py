"""Households put together again without their number: by what their members share in the published table.

Who knows that a rent, a region or a weight belongs to a household takes records alike in all such columns for one. He
also knows how many members a household of his has, and which columns say it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import classes
from sfumato.table.households import differing, household_level, in_households, units
from sfumato.table.microdata import Microdata

MIN_SHARE_SHARED = 0.9  # of the households whose members have a value must share it, to be put together by it
FOLLOWED = 0.99  # of the records must have the value that goes with their number of members, to be a size
MAX_COMMON = 0.95  # of the records may have one value of a size, else it says next to nothing
WITNESSES = 10  # households, beside the first of each size, that must show that a value goes with the size

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Reassembled:
    """Groups of published records alike in what households share, and which of them are one whole household."""

    group: Integers  # of each record
    whole: Mask  # whether the group of the record is its household, nobody missing and nobody else
    share: float  # of the persons who live with others, those whose household is a group
    by: tuple[str, ...]  # the columns that the records of a group have in common


def lived_with(data: Microdata) -> bool:
    """Tell whether the schema names households, and one of them has several records."""
    return data.schema.household is not None and bool((np.bincount(units(data), minlength=1) > 1).any())


def number_published(table: Microdata) -> bool:
    """Tell whether a table goes out with the number of the household: one with the role identifier is left out."""
    home = table.schema.household
    return home is not None and table.schema[home].role != "identifier"


def reassembled(original: Microdata, table: Microdata) -> Reassembled | None:
    """Put the records of a protected table into groups that share what households share; None if nothing is shared.

    Records are those of the original, in its order. A column that nearly all households share in the original counts if
    all members still have one value of it in the protected table. One that differs within some households, such as a
    weight that was computed anew or a value blank for one member, is used only if more households are put together with
    it: an intruder reads in the description of the file which columns these are, or tries.

    >>> import pyarrow as pa
    >>> from sfumato.table.schema import Schema
    >>> table = pa.table({"home": [1, 1, 2, 2, 3], "rent": [700.0, 700.0, 450.0, 450.0, 450.0]})
    >>> data = Microdata.from_frame(table, Schema(household="home"))
    >>> found = reassembled(data, data.without(["home"]))
    >>> found.by, found.share
    (('rent',), 0.5)
    """
    home = original.schema.household
    if home is None or len(table) != len(original):
        return None
    unit = units(original)
    together = np.bincount(unit)[unit] > 1
    names = shared_columns(original, table)
    if not names or not together.any():
        return None
    order = np.argsort(unit, kind="stable")
    same_home = unit[order][1:] == unit[order][:-1]
    homes = len(np.unique(unit[together]))
    codes = {name: np.unique(table.columns[name], return_inverse=True)[1].astype(np.int64) for name in names}
    torn = {}  # in how many households the members differ
    for name, column in codes.items():
        differ = same_home & (column[order][1:] != column[order][:-1])
        torn[name] = len(np.unique(unit[order][1:][differ]))
    sure = [name for name in names if not torn[name]]
    chosen, found = sure, _grouped(codes, sure, unit, together)
    for name in sorted((name for name in names if 0 < torn[name] < homes), key=lambda name: torn[name]):
        wider = [one for one in names if one in chosen or one == name]
        tried = _grouped(codes, wider, unit, together)
        if tried.share > found.share:
            chosen, found = wider, tried
    return found


def _grouped(codes: dict[str, Integers], names: Sequence[str], unit: Integers, together: Mask) -> Reassembled:
    """Group records alike in some columns, and find the groups that are whole households."""
    if names:
        group = classes(np.column_stack([codes[name] for name in names]))[0].astype(np.int64)
    else:
        group = np.zeros(len(unit), dtype=np.int64)
    pairs = np.unique(np.column_stack([group, unit]), axis=0)
    units_of, groups_of = np.bincount(pairs[:, 0]), np.bincount(pairs[:, 1])
    whole = (units_of[group] == 1) & (groups_of[unit] == 1) & together
    return Reassembled(group, whole, float(whole.sum() / together.sum()), tuple(names))


def shared_columns(original: Microdata, table: Microdata) -> list[str]:
    """Name the published columns that members of nearly all households share in the original, and the weight.

    One household in which a value was keyed in wrongly keeps no intruder from putting the others together by it.
    """
    level = {*household_level(original), *_mostly_shared(original), original.schema.weight} - {
        original.schema.household
    }
    return [name for name in table.names if name in level]


def _mostly_shared(data: Microdata) -> list[str]:
    """Name the variables of which nobody has said the level and that differ within few households."""
    if data.schema.household is None:
        return []
    order, unit = in_households(data)
    home = units(data)
    found = []
    for name in (name for name in data.schema.analysed() if not data.schema[name].level):
        later, differ = differing(data, name, order, unit)
        several = len(np.unique(home[later]))
        if several and len(np.unique(home[later[differ]])) <= (1 - MIN_SHARE_SHARED) * several:
            found.append(name)
    return found


def sizes(data: Microdata) -> tuple[str, ...]:
    """Name the variables that say how many records a household has, exactly, in classes, or as a function of it.

    The number itself, 100 / size or its square, and "1", "2", "3 and more". None without households.

    >>> import pyarrow as pa
    >>> from sfumato.table.schema import Schema
    >>> table = pa.table({"home": [1, 1, 2], "members": [2, 2, 1], "rooms": [3, 3, 2]})
    >>> sizes(Microdata.from_frame(table, Schema(household="home")))
    ('members',)
    """
    return tuple(name for name in data.schema.analysed() if by_size(data, name) is not None)


def by_size(data: Microdata, name: str) -> NDArray[Any] | None:
    """Return the value that goes with each number of members, from 0 on; None where a variable says no size.

    It is the most common value among households of that size. A number of members that nobody has gets the value of the
    next smaller one.
    """
    if data.schema.household is None:
        return None
    unit = units(data)
    members = np.bincount(unit)
    present = ~data.missing(name)
    if not present.any():
        return None
    column = data.columns[name]
    sizes_of = members[unit]
    exact = _numbers(data, name)
    there = ~np.isnan(exact)
    numbers = there.sum() >= FOLLOWED * present.sum() and np.ptp(exact[there]) > 0
    if numbers and (exact == sizes_of)[there].mean() >= FOLLOWED:
        return _values_of(data, name, np.arange(members.max() + 1))
    values, codes = np.unique(column[present], return_inverse=True)
    first = np.unique(unit[present], return_index=True)[1]  # a record of each household
    of_home, size_of_home = codes[first], sizes_of[present][first]
    most = int(members.max()) + 1
    if len(first) - len(np.unique(size_of_home)) < WITNESSES or len(values) > most:
        return None
    counts = np.zeros((most, len(values)))
    np.add.at(counts, (size_of_home, of_home), 1)
    usual = counts.argmax(axis=1)
    for size in range(1, most):
        if not counts[size].any():
            usual[size] = usual[size - 1]
    usual[0] = usual[1] if most > 1 else 0
    if (usual[sizes_of[present]] == codes).mean() < FOLLOWED:
        return None
    if np.bincount(codes).max() > MAX_COMMON * len(codes) or not _in_one_piece(usual[np.unique(size_of_home)]):
        return None
    return np.asarray(values[usual])


def _in_one_piece(values: Integers) -> bool:
    """Tell whether each value stands for neighbouring sizes only."""
    changes = int(np.count_nonzero(values[1:] != values[:-1]))
    return changes == len(np.unique(values)) - 1 and changes > 0


def _values_of(data: Microdata, name: str, numbers: Integers) -> NDArray[Any]:
    """Return numbers as values of a column: themselves, or the codes of the categories that are written so."""
    variable = data.schema[name]
    if variable.quantitative:
        return numbers.astype(np.float64)
    codes = {_number(str(category)): code for code, category in enumerate(variable.categories)}
    return np.array([codes.get(float(number), -1) for number in numbers], dtype=np.int32)


def _numbers(data: Microdata, name: str) -> NDArray[np.float64]:
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
