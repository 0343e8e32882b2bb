"""The strata of a table in parts: the combinations of some variables' values, numbered as they are in memory."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes, first_records
from sfumato.pair.half import Coding, Codings, Half
from sfumato.table.dates import spelled
from sfumato.table.keys import Strata, refuse_continuous
from sfumato.table.microdata import Microdata

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StrataInParts:
    """The strata of a table, in the order in which they first appear, and how many records each has."""

    coder: Codings
    cells: Codes
    sizes: Integers
    values: tuple[tuple[object, ...], ...]

    def of(self, part: Microdata) -> Integers:
        """Return the stratum of each record of a part."""
        if not self.cells.shape[1]:
            return np.zeros(len(part), dtype=np.int64)
        # the strata are different, so numbered first
        return classes(np.concatenate([self.cells, self.coder(part)]))[0][len(self.cells) :]

    def of_numbered(self, part: Microdata, first: int) -> Integers:
        """Return the stratum of each record of a part, whatever the number of its first record."""
        return self.of(part)

    @property
    def named(self) -> Strata:
        """The strata without their records."""
        return Strata(np.empty(0, dtype=np.int64), self.values)


def strata_in_parts(half: Half, names: tuple[str, ...], called: str = "strata: key") -> StrataInParts:
    """Part a table by variables; a missing value is a value like any other, no names give one part."""
    for name in names:
        if name not in half.schema:
            raise NotApplicable(half.schema.unknown(name))
        if half.schema[name].quantitative:
            found = half.values(name)
            refuse_continuous(half.schema[name], found.values, found.present, called)
    codings = tuple(half.coding(name) for name in names)
    coder = Codings(codings)
    if not names:
        return StrataInParts(coder, np.empty((1, 0), dtype=np.int32), np.array([len(half)]), ((),))
    cells, sizes = np.empty((0, len(names)), dtype=np.int32), np.empty(0, dtype=np.int64)
    for there, counts in half.numbered(_Appearing(coder)):  # in the order of the parts, so that strata are too
        number, _ = classes(np.concatenate([cells, there]))
        new = number[len(cells) :] >= len(cells)
        cells = np.concatenate([cells, there[new]])
        sizes = np.concatenate([sizes, np.zeros(int(new.sum()), dtype=np.int64)])
        sizes += np.bincount(number[-len(there) :], counts, len(sizes)).astype(np.int64)
    values = tuple(tuple(map(_value, codings, row)) for row in cells.tolist())
    return StrataInParts(coder, cells, sizes, values)


@dataclass(frozen=True, eq=False)
class _Appearing:
    """Lists the combinations of a part in the order in which they first appear, and counts the records of each."""

    coder: Codings

    def __call__(self, part: Microdata, first: int) -> tuple[Codes, Integers]:
        codes = self.coder(part)
        found, sizes = classes(codes)
        return codes[first_records(found)], sizes


def _value(coding: Coding, code: int) -> object:
    """Return the value of a code as ``strata`` of a table in memory does."""
    if code < 0:
        return None
    if coding.values is None:
        category: object = coding.variable.categories[code]
        return category
    found = float(coding.values[code])
    if coding.variable.kind == "date":
        return spelled(found)
    return int(found) if found == int(found) else found
