"""Masking a table in parts: what is learned of the whole table first, then each part by itself, written when done."""

import os
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.atomic import reason, replacing
from sfumato.data.draws import Draws
from sfumato.data.formats.parquet import write_parquet
from sfumato.data.frames import to_arrow
from sfumato.data.microdata import Microdata
from sfumato.data.on_demand import Column, OnDemand, digest_of
from sfumato.data.parts import TableInParts, scan
from sfumato.data.schema import Schema
from sfumato.engine import current
from sfumato.errors import FileError, NotApplicable, ParameterError
from sfumato.pair.half import Half
from sfumato.pair.statistics import Sums

DIGITS = 12  # of what is learned: sums of parts differ in the last ones by how the table is cut


class Masking(ABC):
    """What a method has learned of a table, enough to mask any part of it; it goes to other processes."""

    schema: Schema  # of the masked table

    @abstractmethod
    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> NDArray[Any]:
        """Return one variable of a part as it is to be published; ``first`` is the number of its first record."""

    @property
    @abstractmethod
    def changes(self) -> frozenset[str]:
        """The variables that are masked; all others of the schema stay as they are."""


@dataclass(frozen=True, eq=False)
class MaskedColumns(OnDemand):
    """The columns of a part, masked when they are asked for."""

    part: Microdata
    masking: Masking
    first: int
    draws: Draws

    @property
    def records(self) -> int:
        """How many records there are."""
        return len(self.part)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.masking.schema.names

    @property
    def digest(self) -> str:
        """A digest of the part and of all that is done to it."""
        return digest_of(self.part.fingerprint, pickle.dumps(self.masking), str(self.first), repr(self.draws))

    def read(self, name: str) -> Column:
        """Read one column and mask it."""
        if name not in self.masking.changes:
            return self.part.columns[name]
        return self.masking.masked(self.part, name, self.first, self.draws)


def protect_parts(
    table: TableInParts,
    steps: Sequence[Any],
    speaking: Callable[[Any], AbstractContextManager[None]],
    rng: np.random.Generator,
    folder: str | os.PathLike[str] | None,
) -> TableInParts:
    """Mask a table by one method after the other, and write it part by part to an empty folder.

    ``speaking`` names the method that refuses.
    """
    if folder is None:
        raise ParameterError("protect: a table in parts is written part by part; name an empty folder for it")
    root = int(rng.integers(2**63))
    for number, step in enumerate(steps):
        with speaking(step):
            _refuse(table.schema, step.about.households)
            draws = Draws(root, f"{number} {step.family}", number)
            masking = step.learn(Half.of(table), draws)
        table = _masked(table, masking, draws, f"{step!r}: in parts")
    return _written(table, Path(folder))


def _refuse(schema: Schema, households: str) -> None:
    """Refuse what needs the records of a household, or the variables of a link, together."""
    if schema.household is not None and households != "whole":
        raise NotApplicable(
            f"the members of a household {schema.household!r} may lie in several parts, and what they share must be "
            "masked once; protect a table in memory, or leave the household out of the schema"
        )
    if schema.links():
        raise NotApplicable(
            f"{schema.links()[0].name!r} is linked to other variables and would have to follow them; leave it out of "
            "the files, or protect a table in memory"
        )


def _masked(table: TableInParts, masking: Masking, draws: Draws, note: str) -> TableInParts:
    """Return a table whose parts are masked when they are asked for."""
    parts, first = [], 0
    for part in table.parts:
        columns = MaskedColumns(part, masking, first, draws)
        parts.append(replace(part, schema=masking.schema, columns=columns, notes=(*part.notes, note)))
        first += len(part)
    return TableInParts(tuple(parts))


def _written(table: TableInParts, folder: Path) -> TableInParts:
    """Write a table part by part, each file whole or not at all, and return it as it lies there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = next(folder.iterdir(), None)
    except OSError as error:
        raise FileError(f"cannot write to {folder}: {reason(error)}") from None
    if there is not None:
        raise FileError(f"{folder} is not empty; name a folder of its own for the parts of a table")
    engine = current(len(table))
    places = [_Place(folder / f"part-{number:05d}.parquet") for number in range(len(table.parts))]
    for _ in engine.each(_write, list(zip(table.parts, places, strict=True)), stored=False):
        pass
    found = scan(folder, table.schema, records=max(table.sizes))
    return TableInParts(tuple(replace(part, notes=table.parts[0].notes, matched=table.matched) for part in found.parts))


@dataclass(frozen=True)
class _Place:
    """Where a part is written; an engine takes it for a part of its own."""

    path: Path

    @property
    def fingerprint(self) -> str:
        return str(self.path)

    def at_hand(self) -> "_Place":
        return self

    def __len__(self) -> int:
        return 0


def _write(part: Microdata, place: _Place) -> int:
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
