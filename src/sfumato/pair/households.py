"""Households of a table in parts: kept whole, with what their members share masked once and suppressed for all.

The members of a household lie in one part: those that a cut tore apart are put together again, as long as they stand
one after the other. What members share is told by the table as it came, before any method.

What members share is found wherever they lie. One pass tells whether two members in one part differ, and what the first
and the last household of each part have, by number: where no other household can lie in two parts, that is all there is
to know. Else households are sorted in files.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engine import current
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes
from sfumato.kernels.stretches import code_counts
from sfumato.pair.half import Half
from sfumato.pair.sorting import Runs, numbers_of
from sfumato.pair.statistics import Sums
from sfumato.table.frames import Origin
from sfumato.table.households import counted, differing, in_households, once_per_household, units
from sfumato.table.microdata import Microdata
from sfumato.table.on_demand import Column, OnDemand, SelectedRecords, digest_of, in_one
from sfumato.table.parts import TableInParts
from sfumato.table.present import only_present
from sfumato.table.schema import Schema
from sfumato.table.treatment import Treatment

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _SharedCounts:
    """Counts how often two members of a household in a part have a value, and how often they differ in it.

    ``ends`` has the least and the greatest number of a household in the part; ``edges`` says of these two the value of
    each variable, NaN if nobody has one.
    """

    names: tuple[str, ...]

    def __call__(self, part: Microdata) -> Sums:
        """Look through a part."""
        order, unit = in_households(part)
        found = [differing(part, name, order, unit)[1] for name in self.names]
        homes = numbers_of(part.columns[str(part.schema.household)])
        there = homes[~np.isnan(homes)]
        ends = ((float(there.min()), float(there.max())),) if there.size else ()
        return Sums(
            {
                "together": np.array([len(differ) for differ in found], dtype=np.int64),
                "differ": np.array([int(differ.sum()) for differ in found], dtype=np.int64),
                "ends": ends,
                "edges": tuple((home, self._values(part, homes == home)) for home in sorted(set().union(*ends))),
            }
        )

    def _values(self, part: Microdata, rows: NDArray[np.bool_]) -> tuple[float, ...]:
        columns = [numbers_of(part.columns[name][rows]) for name in self.names]
        return tuple(float(next(iter(one[~np.isnan(one)]), np.nan)) for one in columns)


@dataclass(frozen=True)
class Households:
    """A table whose parts hold households whole, how many there are in each part, and what their members share."""

    table: TableInParts
    numbers: tuple[int, ...]
    level: tuple[str, ...]

    @classmethod
    def of(cls, table: TableInParts) -> "Households":
        """Put households together that lie in two parts, and find what members share."""
        whole = _whole(table)
        edges = list(_edges_of(whole))
        _refuse_torn(whole, edges)
        return cls(whole, tuple(one.number for one in edges), _level(whole))

    def homes(self, table: TableInParts) -> TableInParts:
        """Return a table of one record per household, with what members share and the mean of their weights."""
        weight = table.schema.weight
        schema = table.schema.only((*self.level, *([weight] if weight and weight not in self.level else [])))
        return TableInParts(
            tuple(
                Microdata(schema, _HomeColumns(part, schema, number), Origin())
                for part, number in zip(table.parts, self.numbers, strict=True)
            )
        )

    def given(self, table: TableInParts, homes: TableInParts, names: Iterable[str]) -> TableInParts:
        """Return the table with what became of these variables in the table of households."""
        chosen = tuple(names)
        kept = tuple(name for name in chosen if name in homes.schema)
        schema = table.schema.replace(*(homes.schema[name] for name in kept))
        gone = [name for name in chosen if name not in kept]
        schema = schema.only([name for name in schema.names if name not in gone])
        return TableInParts(
            tuple(
                replace(
                    part,
                    schema=schema,
                    columns=_HouseholdValues(part, home, kept, schema.names),
                    notes=(*part.notes, *home.notes),
                )
                for part, home in zip(table.parts, homes.parts, strict=True)
            )
        )

    def suppressed_for_all(self, before: TableInParts, after: TableInParts) -> TableInParts:
        """Return a protected table in which no member shows what another one of the household lost."""
        shared = tuple(name for name in self.level if name in after.schema)
        if not shared:
            return after
        hidden = tuple(
            replace(part, columns=_ForAll(start, part, shared))
            for start, part in zip(before.parts, after.parts, strict=True)
        )
        pairs = list(zip(after.parts, hidden, strict=True))
        further: dict[str, int] = dict.fromkeys(shared, 0)
        left: dict[str, set[int]] = {name: set() for name in shared if not after.schema[name].quantitative}
        for gone, present in current(len(after)).each(_Further(shared), pairs):
            for name in shared:
                further[name] += gone[name]
            for name, codes in present.items():
                left[name].update(codes)
        said = [f"{name} {number:,}" for name, number in further.items() if number]
        if not said:
            return after
        treated, codes_of = [], {}
        for name, number in further.items():
            variable = after.schema[name].treated(Treatment(suppressed=number))
            if number and name in left:  # the name of a category that no record has would tell what went
                every = np.array(sorted(left[name]), dtype=np.int32)
                variable, anew = only_present(variable, every)
                codes_of[name] = dict(zip(every.tolist(), anew.tolist(), strict=True))
            treated.append(variable)
        schema = after.schema.replace(*treated)
        note = f"suppressed for the other members of a household too: {', '.join(said)}"
        return TableInParts(
            tuple(
                replace(part, schema=schema, notes=(*part.notes, note), columns=_ForAll(start, one, shared, codes_of))
                for part, start, one in zip(hidden, before.parts, after.parts, strict=True)
            )
        )


@dataclass(frozen=True)
class _Edges:
    """The first and the last household of a part (None: it has none), and how many households there are."""

    first: Any
    last: Any
    until: int  # where the last member of the first household stands, and one more
    number: int
    least: Any
    greatest: Any


@dataclass(frozen=True)
class _Edge:
    household: str

    def __call__(self, part: Microdata) -> _Edges:
        column, alone = part.columns[self.household], part.missing(self.household)
        there = column[~alone]
        if not there.size:
            return _Edges(None, None, 0, len(column), None, None)
        first, last, least, greatest = (value.item() for value in (there[0], there[-1], there.min(), there.max()))
        until = int(np.flatnonzero(column == first)[-1]) + 1
        return _Edges(first, last, until, len(np.unique(there)) + int(alone.sum()), least, greatest)


def _edges_of(table: TableInParts) -> Iterator[_Edges]:
    assert table.schema.household is not None
    return current(len(table)).each(_Edge(table.schema.household), [(part,) for part in table.parts])


def _whole(table: TableInParts) -> TableInParts:
    """Cut a table anew where a household lies at the end of one part and at the beginning of the next."""
    filled = TableInParts(tuple(part for part in table.parts if len(part)))
    edges = list(_edges_of(filled))
    pieces: list[list[tuple[Microdata, range]]] = []
    torn, last = False, None
    for part, edge in zip(filled.parts, edges, strict=True):
        joins = bool(pieces) and last is not None and edge.first == last
        start = edge.until if joins else 0
        if joins:
            torn = True
            pieces[-1].append((part, range(start)))
        if start < len(part):
            pieces.append([(part, range(start, len(part)))])
        last = edge.last
    if not torn:
        return filled
    return TableInParts(tuple(_together(piece) for piece in pieces))


def _together(pieces: list[tuple[Microdata, range]]) -> Microdata:
    part = pieces[0][0]
    taken = [
        one.columns if len(rows) == len(one) else SelectedRecords(_known(one.columns), rows) for one, rows in pieces
    ]
    columns = taken[0] if len(taken) == 1 else _ConcatenatedParts(tuple(_known(one) for one in taken))
    return replace(part, columns=columns)


def _known(columns: Any) -> OnDemand:
    assert isinstance(columns, OnDemand)  # parts lie on disk
    return columns


def _refuse_torn(table: TableInParts, edges: list[_Edges]) -> None:
    """Refuse households whose members lie in several parts; where numbers ascend from part to part nobody counts."""
    known = sorted((one.least, one.greatest) for one in edges if one.least is not None)
    if all(before[1] < after[0] for before, after in pairwise(known)):
        return
    name = str(table.schema.household)
    found = Half.of(table).values_if_they_fit(name) if table.schema[name].quantitative else None
    whole = sum(one.number for one in edges)
    if found is None and not table.schema[name].quantitative:
        there = Half.of(table).classes((name,))
        alone = int(there.sizes[there.cells[:, 0] < 0].sum())
        if int((there.cells[:, 0] >= 0).sum()) + alone == whole:
            return
    elif found is not None and len(found.values) + found.missing == whole:
        return
    raise NotApplicable(
        f"the members of a household {name!r} lie in several parts of the table, and what they share must be masked "
        f"once; sort the table by {name!r}, protect a table in memory, or leave the household out of the schema"
    )


def _level(table: TableInParts) -> tuple[str, ...]:
    """Name the variables that members share, as declared or as found (``data.households.household_level``)."""
    schema = table.schema
    apart = (schema.household, schema.id)
    open_ = tuple(v.name for v in schema if v.name not in apart and v.level is None)
    found = Half.of(table).total(_SharedCounts(open_))
    shared = {
        name
        for name, together, differ in zip(open_, found["together"], found["differ"], strict=True)
        if together and not differ
    }
    return tuple(v.name for v in schema if v.name not in apart and (v.level == "household" or v.name in shared))


@dataclass(frozen=True)
class _Further:
    """Counts the values that went for the sake of other members, and finds the codes of categories that are left."""

    names: tuple[str, ...]

    def __call__(self, after: Microdata, hidden: Microdata) -> tuple[dict[str, int], dict[str, list[int]]]:
        gone = {name: int((hidden.missing(name) & ~after.missing(name)).sum()) for name in self.names}
        named = (name for name in self.names if not hidden.schema[name].quantitative)
        present = {
            name: np.flatnonzero(code_counts(hidden.columns[name], len(hidden.schema[name].categories))).tolist()
            for name in named
        }
        return gone, present


class _ConcatenatedParts(OnDemand):
    """The columns of several parts, one after the other."""

    def __init__(self, pieces: tuple[OnDemand, ...]) -> None:
        self.pieces = pieces

    @property
    def records(self) -> int:
        return sum(piece.records for piece in self.pieces)

    @property
    def names(self) -> tuple[str, ...]:
        return self.pieces[0].names

    @property
    def digest(self) -> str:
        return digest_of(*(piece.digest for piece in self.pieces))

    def read(self, name: str) -> Column:
        return np.concatenate([piece.read(name) for piece in self.pieces])

    def exact(self, name: str) -> Any:
        return in_one([piece.exact(name) for piece in self.pieces], (piece.read(name) for piece in self.pieces))


class _HomeColumns(OnDemand):
    """The columns of the households of a part, in the order of their first members."""

    def __init__(self, part: Microdata, schema: Schema, number: int) -> None:
        self.part, self.schema, self.number = part, schema, number

    @property
    def records(self) -> int:
        return self.number

    @property
    def names(self) -> tuple[str, ...]:
        return self.schema.names

    @property
    def digest(self) -> str:
        return digest_of("households", self.part.fingerprint, *self.names)

    def read(self, name: str) -> Column:
        return once_per_household(self.part, () if name == self.schema.weight else (name,))[0].columns[name]


class _HouseholdValues(OnDemand):
    """The columns of a part, some with what became of them in the table of households; who lacked a value lacks it."""

    def __init__(self, part: Microdata, homes: Microdata, given: tuple[str, ...], names: tuple[str, ...]) -> None:
        self.part, self.homes, self.given, self._names = part, homes, given, names

    @property
    def records(self) -> int:
        return len(self.part)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def digest(self) -> str:
        return digest_of("given", self.part.fingerprint, self.homes.fingerprint, *self.given, *self._names)

    def read(self, name: str) -> Column:
        if name not in self.given:
            return self.part.columns[name]
        column: Column = self.homes.columns[name][classes(units(self.part)[:, None])[0]]
        column[self.part.missing(name)] = np.nan if self.homes.schema[name].quantitative else -1
        return column

    def exact(self, name: str) -> Any:
        return None if name in self.given else self.part.exact(name)


class _ForAll(OnDemand):
    """The columns of a protected part in which what one member lost is missing for the others too."""

    def __init__(
        self,
        before: Microdata,
        after: Microdata,
        shared: tuple[str, ...],
        codes_of: Mapping[str, Mapping[int, int]] | None = None,
    ) -> None:
        self.before, self.after, self.shared = before, after, shared
        self.codes_of = codes_of or {}  # what becomes of the codes of categories, where some are no longer listed

    @property
    def records(self) -> int:
        return len(self.after)

    @property
    def names(self) -> tuple[str, ...]:
        return self.after.schema.names

    @property
    def digest(self) -> str:
        told = repr(sorted((name, sorted(codes.items())) for name, codes in self.codes_of.items()))
        return digest_of("for all members", self.before.fingerprint, self.after.fingerprint, *self.shared, told)

    def read(self, name: str) -> Column:
        if name not in self.shared:
            return self.after.columns[name]
        unit, missing = units(self.before), self.after.missing(name)
        lost = np.zeros(counted(unit), dtype=bool)
        lost[unit[missing & ~self.before.missing(name)]] = True
        column = self.after.columns[name].copy()
        column[lost[unit]] = np.nan if self.after.schema[name].quantitative else -1
        if name in self.codes_of:
            recode = np.full(len(self.after.schema[name].categories) + 1, -1, dtype=np.int32)  # the last one: missing
            for code, anew in self.codes_of[name].items():
                recode[code] = anew
            column = recode[column]
        return column

    def exact(self, name: str) -> Any:
        return None if name in self.shared else self.after.exact(name)


def shared_by_members(half: Half, names: Iterable[str]) -> bool:
    """Tell whether members of a household have all these variables in common, as ``data.households`` has it."""
    chosen = tuple(names)
    schema = half.schema
    if any(name in (schema.household, schema.id) or schema[name].level == "record" for name in chosen):
        return False
    open_ = tuple(name for name in chosen if schema[name].level is None)
    found: bool = half.keep(("shared by members", open_), lambda: not open_ or _all_shared(half, open_))
    return found


def _all_shared(half: Half, names: tuple[str, ...]) -> bool:
    found = half.total(_SharedCounts(names))
    if found["differ"].any():
        return False
    if any(before[1] > after[0] for before, after in pairwise(sorted(found["ends"]))):
        return all(_sorted(half, name) for name in names)
    together = found["together"] > 0
    by_home: dict[float, list[Floats]] = {}
    for home, values in found["edges"]:
        by_home.setdefault(home, []).append(np.array(values))
    for pieces in by_home.values():
        for place, values in enumerate(np.array(pieces).T):
            present = values[~np.isnan(values)]
            if (present != present[:1]).any():
                return False
            together[place] |= len(present) > 1
    return bool(together.all())


def _sorted(half: Half, name: str) -> bool:
    """Tell whether members who have a value have the same one, and some have it, from files sorted by household."""
    with closing(Runs(half.room, f"variable {name!r} by household", len(half), np.float64)) as runs:
        for part in half.parts:
            there = ~part.missing(name)
            homes = numbers_of(part.columns[str(part.schema.household)][there])
            runs.add(homes, numbers_of(part.columns[name][there]))
        together, last = False, (np.empty(0), np.empty(0))
        for homes, values in runs.merged():
            assert values is not None
            home, value = (np.concatenate(pieces) for pieces in zip(last, (homes, values), strict=True))
            same = home[1:] == home[:-1]
            together |= bool(same.any())
            if (value[1:] != value[:-1])[same].any():
                return False
            last = home[-1:], value[-1:]
        return together
