"""What a household has and not each of its members: masked once, suppressed for all; and households put together again.

A variable is at the level of the household if the schema says so (``Variable(level="household")``), or if it says
nothing and in every household all members who have a value have the same one. ``level="record"`` keeps a variable out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
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


# Households put together again without their number: by what their members share in the published table.
#
# Who knows that a rent, a region or a weight belongs to a household takes records alike in all such columns for one. He
# also knows how many members a household of his has, and which columns say it.

MIN_SHARE_SHARED = 0.9  # of the households whose members have a value must share it, to be put together by it
FOLLOWED = 0.99  # of the records must have the value that goes with their number of members, to be a size
MAX_COMMON = 0.95  # of the records may have one value of a size, else it says next to nothing
WITNESSES = 10  # households, beside the first of each size, that must show that a value goes with the size

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
