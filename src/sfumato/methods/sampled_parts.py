"""A sample of a table in parts: of each stratum the records with the smallest draws, however the table is cut.

Every record has a draw of its own number. The largest draw that is still taken is found in two passes: one counts the
draws of each stratum in classes, the other looks at those of the one class in which it lies. Nothing of the records is
read but the variables that make the strata.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.draws import Draws
from sfumato.data.microdata import Microdata
from sfumato.data.on_demand import Taken
from sfumato.data.parts import TableInParts
from sfumato.data.present import only_present
from sfumato.data.schema import Schema
from sfumato.errors import NotApplicable
from sfumato.pair import Half, Masking
from sfumato.pair.masking import MaskedColumns
from sfumato.pair.statistics import Sums
from sfumato.pair.strata import StrataInParts

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
DRAWN = "which records are drawn"  # the variable whose draws decide
MOST_CELLS = 2**22  # of the table that counts the draws


@dataclass(frozen=True, eq=False)
class Lot:
    """Which records are drawn: of each stratum those up to the last one taken, by their draws, then their numbers."""

    strata: StrataInParts
    last_draw: Floats
    last_record: Integers

    def rows(self, part: Microdata, first: int, draws: Draws) -> NDArray[np.intp]:
        """Return the records of a part that are drawn."""
        draw, stratum = draws.uniform(DRAWN, first, len(part)), self.strata.of(part)
        last = self.last_draw[stratum]
        tied = (draw == last) & (first + np.arange(len(part)) <= self.last_record[stratum])
        return np.flatnonzero((draw < last) | tied)


def drawn_by_lot(half: Half, strata: StrataInParts, counts: Integers, draws: Draws) -> Lot:
    """Draw so many records of each stratum without replacement, each with the same chance."""
    number = len(strata.sizes)
    bins = max(MOST_CELLS // number, 1)
    table = np.zeros(number * bins, dtype=np.int64)
    for counted in half.numbered(_Counted(strata, draws, bins)):
        table += counted
    reached = np.cumsum(table.reshape(number, bins), axis=1)
    there = np.array([np.searchsorted(row, count) for row, count in zip(reached, counts, strict=True)])
    before = np.where(there > 0, reached[np.arange(number), np.maximum(there - 1, 0)], 0)
    found = [np.concatenate(column) for column in zip(*half.numbered(_Within(strata, draws, bins, there)), strict=True)]
    order = np.lexsort((found[2], found[1], found[0]))
    stratum, draw, record = (column[order] for column in found)
    last = np.searchsorted(stratum, np.arange(number)) + (counts - before) - 1
    return Lot(strata, draw[last], record[last])


@dataclass(frozen=True, eq=False)
class _Counted:
    """Counts the draws of a part by stratum and class of draws."""

    strata: StrataInParts
    draws: Draws
    bins: int

    def __call__(self, part: Microdata, first: int) -> Integers:
        place = (self.draws.uniform(DRAWN, first, len(part)) * self.bins).astype(np.int64)
        return np.bincount(self.strata.of(part) * self.bins + place, minlength=len(self.strata.sizes) * self.bins)


@dataclass(frozen=True, eq=False)
class _Within:
    """Returns stratum, draw and number of the records of a part whose draw lies in the class looked for."""

    strata: StrataInParts
    draws: Draws
    bins: int
    wanted: Integers

    def __call__(self, part: Microdata, first: int) -> tuple[Integers, Floats, Integers]:
        draw, stratum = self.draws.uniform(DRAWN, first, len(part)), self.strata.of(part)
        rows = np.flatnonzero((draw * self.bins).astype(np.int64) == self.wanted[stratum])
        return stratum[rows], draw[rows], first + rows


@dataclass(frozen=True, eq=False)
class SampledInParts(Masking):
    """The records that are drawn, with weights that let them stand for all."""

    schema: Schema
    lot: Lot
    weight: str
    factor: Floats  # by stratum
    recoded: Mapping[str, Codes]  # by old code, of what names the records
    said: str

    @property
    def changes(self) -> frozenset[str]:
        """The weight, and what names the records."""
        return frozenset((self.weight, *self.recoded))

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> NDArray[Any]:
        """Return the weights of all records of a part, or their names as coded among those drawn."""
        if name == self.weight:
            weights: Floats = part.weights() * self.factor[self.lot.strata.of(part)]
            return weights
        return np.take(self.recoded[name], part.columns[name])

    def applied(self, table: TableInParts, draws: Draws, note: str) -> TableInParts:
        """Return the records drawn, in the parts in which they stood; a part without any goes."""
        lot, parts, first = self.lot, [], 0
        chosen = Half.of(table).numbered(lambda part, first: lot.rows(part, first, draws))
        for part, rows in zip((part for part in table.parts if len(part)), chosen, strict=True):
            if len(rows):
                columns = Taken(MaskedColumns(part, self, first, draws), rows)
                numbers = first + rows if part.drawn is None else part.drawn[rows]
                notes = (*part.notes, note)
                made = replace(part, schema=self.schema, columns=columns, notes=notes, matched=False, drawn=numbers)
                parts.append(made)
            first += len(part)
        return TableInParts(tuple(parts))


def names_of_drawn(half: Half, lot: Lot, draws: Draws) -> dict[str, tuple[Any, Codes]]:
    """Return what names the records, without the names of those not drawn: the variable, and what each code becomes."""
    apart = set(half.schema.special().values())
    naming = [v for v in half.schema if not v.quantitative and (v.name in apart or v.role == "identifier")]
    found = {}
    for variable in naming:
        used = np.zeros(len(variable.categories), dtype=bool)
        for there in half.numbered(_Used(variable.name, lot, draws)):
            used[there] = True
        codes = np.flatnonzero(used).astype(np.int32)
        made, anew = only_present(variable, codes)
        recoded = np.full(len(variable.categories) + 1, -1, dtype=np.int32)
        recoded[codes] = anew
        found[variable.name] = made, recoded
    return found


@dataclass(frozen=True, eq=False)
class _Used:
    """Lists the categories of the records of a part that are drawn."""

    name: str
    lot: Lot
    draws: Draws

    def __call__(self, part: Microdata, first: int) -> Codes:
        there = part.columns[self.name][self.lot.rows(part, first, self.draws)]
        return np.unique(there[there >= 0])


def refuse_small_weights_in_parts(half: Half) -> None:
    """Refuse weights that have been rescaled: a record stands at least for itself."""
    if half.schema.weight is None:
        return
    found = half.total(lambda part: Sums({"small": int((part.weights() < 1).sum())}))["small"]
    if found:
        raise NotApplicable(
            f"the weight {half.schema.weight!r} is below one in {found:,} record{'s' if found > 1 else ''}, but a "
            "record stands for itself at least; give weights that add up to the population"
        )
