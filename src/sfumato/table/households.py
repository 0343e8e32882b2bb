"""What a household has and not each of its members: found or declared, masked once, suppressed for all members.

A variable is at the level of the household if the schema says so (``Variable(level="household")``), or if it says
nothing and in every household all members who have a value have the same one. ``level="record"`` keeps a variable out.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes
from sfumato.table.frames import Origin
from sfumato.table.microdata import Microdata
from sfumato.table.present import made_missing
from sfumato.table.schema import Variable

# Which records belong together: the households of a table, or its records one by one.


def units(data: Microdata) -> NDArray[np.int64]:
    """Return the number of each record's unit: its household if the schema names one, else the record itself.

    Units are numbered from 0 without gaps: households in the order of their values, then the records whose household is
    missing, each a unit of its own, in the order of the table. ``counted`` says how many there are; the order of first
    appearance is that of ``kernels.groups.classes(units(data)[:, None])``.

    >>> import pyarrow as pa
    >>> from sfumato.table.schema import Schema
    >>> table = pa.table({"home": [7.0, 3.0, None, 7.0, None], "age": [40, 71, 35, 12, 28]})
    >>> units(Microdata.from_frame(table, Schema(household="home")))
    array([1, 0, 2, 1, 3])
    """
    name = data.schema.household
    if name is None:
        return np.arange(len(data))
    alone = data.missing(name)
    number = np.empty(len(data), dtype=np.int64)
    households, number[~alone] = np.unique(data.columns[name][~alone], return_inverse=True)
    number[alone] = len(households) + np.arange(np.count_nonzero(alone))
    return number


def counted(unit: NDArray[np.int64]) -> int:
    """Return how many units there are, given the number of each record's unit.

    >>> counted(np.array([1, 0, 2, 1, 3]))
    4
    """
    return int(unit.max(initial=-1)) + 1


# What a household shares.

Integers = NDArray[np.int64]
Column = tuple[Variable, NDArray[Any]]


def household_level(data: Microdata) -> tuple[str, ...]:
    """Name the variables that the members of a household share, as declared or as found; none without households.

    To be found, a variable must have the same value for all members of every household, missing ones aside, and two
    members of some household must have it.

    >>> import pyarrow as pa
    >>> from sfumato.table.schema import Schema
    >>> table = pa.table({"home": [1, 1, 2], "rent": [700.0, 700.0, 450.0], "age": [40.0, 71.0, 35.0]})
    >>> household_level(Microdata.from_frame(table, Schema(household="home")))
    ('rent',)
    """
    if data.schema.household is None:
        return ()
    order, unit = in_households(data)
    apart = (data.schema.household, data.schema.id)
    return tuple(
        variable.name
        for variable in data.schema
        if variable.name not in apart
        and (variable.level or ("household" if _found(data, variable.name, order, unit) else "record")) == "household"
    )


def in_households(data: Microdata) -> tuple[NDArray[np.intp], Integers]:
    """Return the records household by household, and the household of each in that order."""
    unit = units(data)
    order = np.argsort(unit, kind="stable")
    return order, unit[order]


def differing(
    data: Microdata, name: str, order: NDArray[np.intp], unit: Integers
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the records that follow a member of their own household who has a value too, and which of them differ."""
    present = ~data.missing(name)[order]
    records, homes = order[present], unit[present]
    values = data.columns[name][records]
    together = np.flatnonzero(homes[1:] == homes[:-1]) + 1
    return records[together], values[together] != values[together - 1]


def _found(data: Microdata, name: str, order: NDArray[np.intp], unit: Integers) -> bool:
    later, differ = differing(data, name, order, unit)
    return bool(later.size) and not differ.any()


def once_per_household(data: Microdata, names: Iterable[str]) -> tuple[Microdata, Integers]:
    """Return a table of one record per household with these variables, and the place in it of each record's household.

    Households stand in the order of their first members, and have the mean of their members' weights. A variable of
    which two members have different values is refused.
    """
    place, _ = classes(units(data)[:, None])
    homes = counted(place)
    order, unit = in_households(data)
    chosen = tuple(names)
    columns: dict[str, NDArray[Any]] = {}
    for name in chosen:
        _refuse_differing(data, name, order, unit)
        column = data.columns[name]
        kept = np.full(homes, np.nan if data.schema[name].quantitative else -1, dtype=column.dtype)
        present = np.flatnonzero(~data.missing(name))[::-1]  # of the first member who has a value
        kept[place[present]] = column[present]
        columns[name] = kept
    weight = data.schema.weight
    if weight is not None and weight not in columns:
        columns[weight] = np.bincount(place, data.columns[weight], homes) / np.bincount(place, minlength=homes)
    schema = data.schema.only(columns)
    return Microdata(schema, {name: columns[name] for name in schema.names}, Origin()), place


def _refuse_differing(data: Microdata, name: str, order: NDArray[np.intp], unit: Integers) -> None:
    later, differ = differing(data, name, order, unit)
    if differ.any():
        rows = later[differ]
        number = len(np.unique(units(data)[rows]))
        homes = f"{number:,} household{'s have' if number > 1 else ' has'} members"
        raise NotApplicable(
            f"{name!r} is declared at the level of the household, but {homes} with different values (one in row "
            f'{rows.min() + 1}); correct the file, or write level = "record"'
        )


def _given_to_members(data: Microdata, homes: Microdata, place: Integers, names: Iterable[str]) -> Microdata:
    """Return the table with what became of these variables in the table of households; who lacked a value lacks it."""
    changed: dict[str, Column] = {}
    gone = [name for name in names if name not in homes.schema]
    for name in (name for name in names if name in homes.schema):
        variable, column = homes.schema[name], homes.columns[name][place]
        column[data.missing(name)] = np.nan if variable.quantitative else -1
        changed[name] = variable, column
    given = replace(data.recast(changed), notes=(*data.notes, *homes.notes))
    return given.without(gone) if gone else given


def suppressed_for_all(
    data: Microdata, suppress: Callable[[Microdata], Microdata], name: str, *, again: bool
) -> Microdata:
    """Suppress values so that no member shows what another one lost; ``name`` is of who suppresses, for the notes.

    A value suppressed for one member of a household is suppressed for all. Where missing agrees with every value, this
    makes no record rarer. Where it is a value like any other (``again``), more may have to go, until nothing changes.
    """
    shared = household_level(data)
    after = suppress(data)
    further: dict[str, int] = {}
    while True:
        hidden = _shown_by_others(data, after, shared)
        if not hidden:
            break
        for variable, rows in hidden.items():
            further[variable] = further.get(variable, 0) + int(rows.sum())
        after = made_missing(after, hidden)
        once_more = suppress(after) if again else after
        after = once_more if _missing(once_more) > _missing(after) else after
    said = [f"{variable} {number:,}" for variable, number in further.items()]
    if said:
        note = f"{name}: suppressed for the other members of a household too: {', '.join(said)}"
        after = replace(after, notes=(*after.notes, note))
    return _with_size_note(data, after, shared, name)


def _missing(data: Microdata) -> int:
    """Count the values that are missing."""
    return sum(int(data.missing(name).sum()) for name in data.names)


def _shown_by_others(before: Microdata, after: Microdata, names: Iterable[str]) -> dict[str, NDArray[np.bool_]]:
    """Return by variable the records that still show what another member of their household lost."""
    unit = units(before)
    found = {}
    for name in (name for name in names if name in after.schema):
        missing = after.missing(name)
        lost = np.zeros(counted(unit), dtype=bool)
        lost[unit[missing & ~before.missing(name)]] = True
        rows = lost[unit] & ~missing
        if rows.any():
            found[name] = rows
    return found


def _with_size_note(before: Microdata, after: Microdata, shared: Iterable[str], name: str) -> Microdata:
    """Say that a suppressed household size can be counted, as long as the file tells who lives together."""
    unit = units(before)
    members = np.bincount(unit)[unit]
    counts = [
        size
        for size in shared
        if size in after.schema
        and before.schema[size].kind == "numeric"
        and (after.missing(size) & ~before.missing(size)).any()
        and bool((before.missing(size) | (before.columns[size] == members)).all())
    ]
    if not counts or after.schema.household is None:
        return after
    note = (
        f"{name}: {', '.join(counts)} can be counted from the records of each household as long as the file has "
        f"{after.schema.household!r}: remove it, or remove large households"
    )
    return replace(after, notes=(*after.notes, note))


def masked_by_level(
    data: Microdata,
    names: tuple[str, ...],
    who: str,
    mask: Callable[[tuple[str, ...], Microdata, np.random.Generator], Microdata],
    rng: np.random.Generator,
) -> Microdata:
    """Mask what households share in a table of households, then the other variables record by record.

    ``mask`` masks some variables of a table; ``who`` is the method that does.
    """
    level = household_level(data)
    shared = tuple(name for name in names if name in level)
    if not shared:
        return mask(names, data, rng)
    homes, place = once_per_household(data, level)
    (stream,) = rng.spawn(1)  # the other variables draw what they would have drawn
    try:
        masked = mask(shared, homes, stream)
    except NotApplicable as refusal:
        raise NotApplicable(f"{', '.join(shared)}, masked once per household: {refusal}") from refusal
    note = f"{who}: masked once per household: {', '.join(shared)}"
    data = _given_to_members(data, replace(masked, notes=(note, *masked.notes)), place, shared)
    others = tuple(name for name in names if name not in shared)
    return mask(others, data, rng) if others else data
