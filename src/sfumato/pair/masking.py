"""Masking a table in parts: what is learned of the whole table first, then each part by itself, written when done.

What was learned has a digest, of its content alone, so that two runs that learn the same have the same. A pickle would
not do: its bytes follow which objects are one and the same, what they have cached, and where files lie.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.engine import current
from sfumato.errors import FileError, NotApplicable, ParameterError
from sfumato.pair.files import InFile
from sfumato.pair.half import Half
from sfumato.pair.households import Households
from sfumato.pair.statistics import Statistic, Sums
from sfumato.table.atomic import appearing, reason, replacing
from sfumato.table.draws import Draws
from sfumato.table.formats.parquet import write_parquet
from sfumato.table.frames import Origin, to_arrow
from sfumato.table.microdata import Microdata
from sfumato.table.on_demand import Column, OnDemand, digest_of
from sfumato.table.parts import TableInParts, scan
from sfumato.table.resolution import FINER, Resolution, in_words, masked_quantities, published
from sfumato.table.schema import Schema, Variable
from sfumato.table.weights import refuse_weights

_KNOWN: "WeakKeyDictionary[TableInParts, dict[str, Resolution]]" = WeakKeyDictionary()  # resolutions of originals
DIGITS = 12  # of what is learned: sums of parts differ in the last ones by how the table is cut
# what its repr tells whole: numbers, texts, what columns hold as categories; a schema, as in the fingerprint of a table
TYPES_WITH_WHOLE_REPR = (str, bytes, bool, int, float, type(None), date, time, timedelta, Decimal, Variable, Schema)


@dataclass(frozen=True)
class Place:
    """A file or folder to be written, with the number of the first record that goes there, or its own."""

    path: Path
    number: int = 0


class Masking(ABC):
    """What a method has learned of a table, enough to mask any part of it; it goes to other processes."""

    schema: Schema  # of the masked table
    said: str = ""  # what a reader should know of it

    @abstractmethod
    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> NDArray[Any]:
        """Return one variable of a part as it is to be published; ``first`` is the number of its first record."""

    @property
    @abstractmethod
    def changes(self) -> frozenset[str]:
        """The variables that are masked; all others of the schema stay as they are."""

    @cached_property
    def digest(self) -> str:
        """A digest of what was learned, by which summaries of masked parts are found again in a store."""
        return digest_of_content(self)

    def applied(self, table: TableInParts, draws: Draws, note: str) -> TableInParts:
        """Return a table whose parts are masked when they are asked for; some classes return other records."""
        parts, first = [], 0
        for part in table.parts:
            columns = MaskedColumns(part, self, first, draws)
            parts.append(replace(part, schema=self.schema, columns=columns, notes=(*part.notes, note)))
            first += len(part)
        return TableInParts(tuple(parts))


@dataclass(frozen=True, eq=False)
class ColumnsInFiles(Masking):
    """Variables that were masked over the whole table; the parts read them from files."""

    schema: Schema
    files: Mapping[str, InFile]
    said: str = ""

    @property
    def changes(self) -> frozenset[str]:
        return frozenset(self.files)

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> Column:
        return self.files[name].read(first, len(part))


@dataclass(frozen=True, eq=False)
class MaskedColumns(OnDemand):
    """The columns of a part, masked when they are asked for."""

    part: Microdata
    masking: Masking
    first: int
    draws: Draws

    @property
    def records(self) -> int:
        return len(self.part)

    @property
    def names(self) -> tuple[str, ...]:
        return self.masking.schema.names

    @property
    def digest(self) -> str:
        return digest_of(self.part.fingerprint, self.masking.digest, str(self.first), repr(self.draws))

    def read(self, name: str) -> Column:
        if name not in self.masking.changes:
            return self.part.columns[name]
        column = self.masking.masked(self.part, name, self.first, self.draws)
        if name == self.masking.schema.weight:
            refuse_weights(name, column)
        return column

    def exact(self, name: str) -> Any:
        return None if name in self.masking.changes else self.part.exact(name)


def protect_parts(
    table: TableInParts,
    steps: Sequence[Any],
    speaking: Callable[[Any], AbstractContextManager[None]],
    rng: np.random.Generator,
    folder: str | os.PathLike[str] | None,
    *,
    rounded: bool = False,
) -> TableInParts:
    """Mask a table by one method after the other, and write it part by part to an empty folder.

    ``speaking`` names the method that refuses; see ``masked_parts`` for ``rounded``.
    """
    if folder is None:
        raise ParameterError("protect: a table in parts is written part by part; name an empty folder for it")
    return _written(masked_parts(table, steps, speaking, rng, rounded=rounded), Path(folder))


def masked_parts(
    table: TableInParts,
    steps: Sequence[Any],
    speaking: Callable[[Any], AbstractContextManager[None]],
    rng: np.random.Generator,
    *,
    rounded: bool = False,
) -> TableInParts:
    """Return a table masked by one method after the other, whose parts are masked when they are asked for.

    Nothing is written but what a method puts aside into the folder of the engine: the table is good until that goes.
    With ``rounded`` masked numbers and dates are rounded to the decimals of the original at the end.
    """
    original = table
    root = int(rng.integers(2**63))
    together = None
    if table.schema.household is not None and any(step.heeds_households for step in steps):
        together = Households.of(table)
        table = together.table
    for number, step in enumerate(steps):
        with speaking(step):
            refuse_links(table.schema)
            draws = Draws(root, f"{number} {step.family}", number)
            if together is None or table.schema.household is None:
                table = _masked(table, step, draws)
            elif step.about.households == "whole":
                if step.heeds_households:
                    step.check_level(Half.of(table), together.level, step.masked(_empty(table.schema)))
                table = _masked(table, step, draws)
            else:
                table = _masked_by_level(table, step, together, draws)
    return _at_resolution_of(original, table, draws) if rounded else table


@dataclass(frozen=True, eq=False)
class _Resolutions(Statistic):
    """The resolution of some variables of a part; that of all parts is the finest of any."""

    found: Mapping[str, Resolution]

    def merge(self, other: "_Resolutions") -> "_Resolutions":
        """Take the finer of both, variable by variable."""
        return _Resolutions({name: one.merge(other.found[name]) for name, one in self.found.items()})


def _resolutions(names: tuple[str, ...], part: Microdata) -> _Resolutions:
    """Find the resolution of some variables of a part."""
    return _Resolutions({name: Resolution.of(part, name) for name in names})


@dataclass(frozen=True, eq=False)
class _Rounding(Masking):
    """Masked numbers and dates at the resolution of the original."""

    schema: Schema
    levels: Mapping[str, int]

    @property
    def changes(self) -> frozenset[str]:
        return frozenset(self.levels)

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> NDArray[Any]:
        return published(part.columns[name], self.schema[name], self.levels[name])


def _untouched(before: Microdata, after: Microdata, name: str) -> bool:
    """Tell whether no step masked a variable, so that it is handed on as it lies on disk; False if that is unknown."""
    columns = after.columns
    while isinstance(columns, MaskedColumns) and name not in columns.masking.changes:
        columns = columns.part.columns
    return columns is before.columns


def _at_resolution_of(original: TableInParts, table: TableInParts, draws: Draws) -> TableInParts:
    """Return masked numbers and dates of a table in parts at the resolution of the original, and say so."""
    quantities = masked_quantities(original.schema, table.schema)
    names = [name for name in quantities if not _untouched(original.parts[0], table.parts[0], name)]
    known = _KNOWN.setdefault(original, {})
    asked = tuple(name for name in names if name not in known)
    if asked:
        known |= Half.of(original).total(partial(_resolutions, asked)).found
    levels = {name: known[name].level_for(table.schema[name]) for name in names}
    note = in_words(table.schema, levels)
    rounding = _Rounding(table.schema, {name: level for name, level in levels.items() if level != FINER})
    return rounding.applied(table, draws, note) if note else table


def _masked(table: TableInParts, step: Any, draws: Draws) -> TableInParts:
    """Mask a table by one method, record by record."""
    masking = step.learn(Half.of(table), draws)
    made: TableInParts = masking.applied(table, draws, f"{step!r}: in parts{masking.said and ': '}{masking.said}")
    return made


def _masked_by_level(table: TableInParts, step: Any, together: Households, draws: Draws) -> TableInParts:
    """Mask a table by one method so that the members of a household keep in common what they had."""
    if not step.about.keeps_records:
        raise NotApplicable(
            f"it draws records, and those of a household {table.schema.household!r} would come apart in a table in "
            "parts; protect a table in memory, or leave the household out of the schema"
        )
    if step.about.households != "apart":
        step.check_level(Half.of(table), together.level, together.level)
        return together.suppressed_for_all(table, _masked(table, step, draws))
    names = step.masked(_empty(table.schema))
    shared = tuple(name for name in names if name in together.level)
    if not shared:
        return _masked(table, step, draws)
    step.check_level(Half.of(table), together.level, shared)
    homes = together.homes(table)
    once = replace(draws, step=f"{draws.step} of households")
    try:
        masked = _masked(homes, step.only(shared, _empty(table.schema)), once)
    except NotApplicable as refusal:
        raise NotApplicable(f"{', '.join(shared)}, masked once per household: {refusal}") from refusal
    given = together.given(table, masked, shared)
    others = tuple(name for name in names if name not in shared)
    return _masked(given, step.only(others, _empty(given.schema)), draws) if others else given


def _empty(schema: Schema) -> Microdata:
    """Return a table without records, of which a method tells what it masks."""
    columns = {v.name: np.empty(0, dtype=np.float64 if v.quantitative else np.int32) for v in schema}
    return Microdata(schema, columns, Origin())


def refuse_links(schema: Schema) -> None:
    """Refuse what needs the variables of a link together."""
    if schema.links():
        raise NotApplicable(
            f"{schema.links()[0].name!r} is linked to other variables and would have to follow them; leave it out of "
            "the files, or protect a table in memory"
        )


def _written(table: TableInParts, folder: Path) -> TableInParts:
    """Write a table part by part, all of it or nothing, and return it as it lies there."""
    try:
        there = next(folder.iterdir(), None) if folder.exists() else None
    except OSError as error:
        raise FileError(f"cannot write to {folder}: {reason(error)}") from None
    if there is not None:
        raise FileError(f"{folder} is not empty; name a folder of its own for the parts of a table")
    engine = current(len(table))
    with appearing(folder, private=True) as staged:
        places = [Place(staged / f"part-{number:05d}.parquet") for number in range(len(table.parts))]
        for _ in engine.each(_write, list(zip(table.parts, places, strict=True)), stored=False):
            pass
    found = scan(folder, table.schema, records=max(table.sizes))
    notes, matched = table.parts[0].notes, table.matched
    return TableInParts(
        tuple(
            replace(part, notes=notes, matched=matched, drawn=made.drawn)
            for part, made in zip(found.parts, table.parts, strict=True)
        )
    )


def _write(part: Microdata, place: Place) -> int:
    loaded = part.loaded()
    with replacing(place.path, private=True) as out:
        write_parquet(to_arrow(loaded.to_frame())[0], out)
    return len(loaded)


def rounded(learned: float) -> float:
    """Return a number without the digits that depend on the order of additions.

    >>> rounded(0.1 + 0.2) == rounded(0.3)
    True
    """
    return float(f"{learned:.{DIGITS}g}")


def category_weights(name: str, categories: int, part: Microdata) -> Sums:
    """Count the records of a part that have each category, and sum what they weigh."""
    column = part.columns[name]
    there = column >= 0
    return Sums(
        {
            "records": np.bincount(column[there], minlength=categories),
            "weights": np.bincount(column[there], part.weights()[there], minlength=categories),
        }
    )


def digest_of_content(value: object) -> str:
    """Return a digest of numbers, texts, arrays, collections and dataclasses; anything else is refused.

    Of a dataclass the fields count that are compared: where a file lies is ``field(compare=False)``.

    >>> digest_of_content({"a": np.arange(3)}) == digest_of_content({"a": np.array([0, 1, 2])})
    True
    >>> digest_of_content(np.arange(3)) == digest_of_content(np.arange(3.0))
    False
    """
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if not array.dtype.hasobject:
            return digest_of("array", array.dtype.str, repr(array.shape), array.tobytes())
    elif isinstance(value, TYPES_WITH_WHOLE_REPR):
        return digest_of(kind, repr(value))
    elif isinstance(value, Mapping):
        return digest_of("mapping", *(digest_of_content(one) for pair in value.items() for one in pair))
    elif isinstance(value, tuple | list):
        return digest_of("sequence", *map(digest_of_content, value))
    elif isinstance(value, Set):
        return digest_of("set", *sorted(map(digest_of_content, value)))
    elif is_dataclass(value) and not isinstance(value, type):
        told = ((one.name, digest_of_content(getattr(value, one.name))) for one in fields(value) if one.compare)
        return digest_of(kind, *(text for pair in told for text in pair))
    raise ParameterError(f"there is no digest of a {kind}: let what is learned be dataclasses of numbers and texts")
