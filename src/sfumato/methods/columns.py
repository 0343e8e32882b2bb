"""What methods that work on one numeric variable at a time have in common, by value and by rank."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato.core import Method
from sfumato.errors import NotApplicable
from sfumato.pair import Half, Masking
from sfumato.pair.files import NumbersInFile, in_file
from sfumato.pair.masking import ColumnsInFiles
from sfumato.pair.sorting import Runs, SortedColumn, at_a_time, sorted_column
from sfumato.table.draws import Draws
from sfumato.table.microdata import Microdata
from sfumato.table.treatment import PERTURBED, Treatment

Floats = NDArray[np.float64]

# A variable of a table on disk in ascending order, for methods that mask by rank; a stretch is held at a time

Integers = NDArray[np.int64]
Labels = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Ranked:
    """The values present of a variable in ascending order, equal ones in the order of their records."""

    column: SortedColumn
    half: Half
    name: str

    def __len__(self) -> int:
        return len(self.column)

    @property
    def width(self) -> int:
        """How many values may be held at a time."""
        return at_a_time(self.column.room)

    def grouped(
        self,
        groups: int,
        size: int,
        begin: Callable[[Integers], Integers],
        mask: Callable[[Floats, Labels, Integers], Floats],
    ) -> Iterator[Floats]:
        """Mask groups of about ``size`` neighbouring ranks: as many as may be held at a time, and one at least.

        ``begin`` tells the first rank of each group. ``mask`` gets values in the order of their records, the group of
        each, and the numbers of the records.
        """
        at_once = max(self.width // size, 1)
        for first in range(0, groups, at_once):
            ends = begin(np.arange(first, min(first + at_once, groups) + 1))
            start, stop = int(ends[0]), int(ends[-1])
            values, numbers = self.column.values.read(start, stop), self.column.numbers.read(start, stop)
            order = np.argsort(numbers)
            labels = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
            masked = np.empty_like(values)
            masked[order] = mask(values[order], labels[order], numbers[order])
            yield masked

    def at(self, ranks: Integers) -> Floats:
        """Return the values of these ranks, which lie near each other."""
        low, high = int(ranks.min()), int(ranks.max())
        values: Floats = self.column.values.read(low, high + 1)[ranks - low]
        return values

    def drawn(self, rng: np.random.Generator) -> NumbersInFile:
        """Draw an even number for each value present in the order of the records; return them by record."""
        draws = NumbersInFile(self.column.room.folder, np.float64, self.column.what)
        for part in self.half.parts:
            present = ~np.isnan(part.columns[self.name])
            of_part = np.zeros(len(part))
            of_part[present] = rng.random(int(present.sum()))
            draws.append(of_part)
        return draws

    def present(self) -> NumbersInFile:
        """Return the values present in the order of their records."""
        values = NumbersInFile(self.column.room.folder, np.float64, self.column.what)
        for part in self.half.parts:
            column = part.columns[self.name]
            values.append(column[~np.isnan(column)])
        return values

    def runs(self) -> Runs:
        """Return what sorts as many values as there are."""
        return Runs(self.column.room, self.column.what, len(self))


def in_stretches(pieces: Iterable[Floats], width: int) -> Iterator[Floats]:
    """Yield numbers that come in pieces of any length in stretches of one; the last may be shorter.

    >>> [found.tolist() for found in in_stretches([np.array([1.0]), np.array([2.0, 3.0, 4.0])], 3)]
    [[1.0, 2.0, 3.0], [4.0]]
    """
    pending: list[Floats] = []
    for piece in pieces:
        pending.append(piece)
        if sum(map(len, pending)) >= width:
            whole = np.concatenate(pending)
            full = len(whole) // width * width
            yield from np.split(whole[:full], full // width)
            pending = [whole[full:]]
    last = np.concatenate(pending) if pending else np.empty(0)
    if len(last):
        yield last


# What methods that work on one numeric variable at a time have in common

MISSING_STAYS = "stays missing; the values present are masked among themselves"


class ColumnMethod(Method):
    """A method that masks each numeric variable by itself; missing values stay where they are."""

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        masked = {}
        root = int(rng.integers(2**63))
        for name in self.masked(data):
            column = data.columns[name]
            present = ~np.isnan(column)
            if not present.any():
                raise NotApplicable(f"every value of variable {name!r} is missing")
            # a stream per variable name: neither the order of the columns nor a further column changes the draws
            stream = np.random.default_rng([root, crc32(name.encode())])
            try:
                values = self._column(column[present], stream)
            except NotApplicable as error:
                raise NotApplicable(f"variable {name!r}: {error}") from None
            masked[name] = np.where(present, 0.0, np.nan)
            masked[name][present] = values
        for name, column in masked.items():
            data = data.replace({name: column}, treatment=self._treatment(name))
        return data

    def learn(self, half: Half, draws: Draws) -> Masking:
        """Mask one variable after the other, and put it aside for the parts; as in memory, draws and all."""
        files = {}
        for name in self.masked(half.parts[0]):
            try:
                pieces = self._in_order(half, name, draws) if half.on_disk else self._whole(half, name, draws)
                files[name] = in_file(pieces, np.dtype(np.float64), half.folder)
            except NotApplicable as error:
                raise NotApplicable(f"variable {name!r}: {error}") from None
        changed = (half.schema[name].treated(self._treatment(name)) for name in files)
        return ColumnsInFiles(half.schema.replace(*changed), files)

    def _whole(self, half: Half, name: str, draws: Draws) -> Iterator[Floats]:
        """Yield a variable that is masked in memory."""
        column = half.column(name)
        present = ~np.isnan(column)
        if not present.any():
            raise NotApplicable("every value is missing")
        masked = np.where(present, 0.0, np.nan)
        masked[present] = self._column(column[present], draws.stream(name))
        yield masked

    def _in_order(self, half: Half, name: str, draws: Draws) -> Iterator[Floats]:
        """Yield a variable that is masked in the order of its values, in stretches of records."""
        if type(self)._sorted is ColumnMethod._sorted:
            yield from self._whole(half, name, draws)
            return
        column = sorted_column(half, name)
        if not len(column):
            raise NotApplicable("every value is missing")
        yield from column.by_record(self._sorted(Ranked(column, half, name), draws.stream(name)))
        column.close()

    def _sorted(self, ranked: Ranked, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield what becomes of each value in ascending order, as ``_column`` would have it; in pieces of any length.

        A method that does not say it is given the whole variable in memory.
        """
        raise NotImplementedError

    def _treatment(self, name: str) -> Treatment:
        """Return what is recorded of a variable it masked."""
        return PERTURBED

    @abstractmethod
    def _column(self, values: Floats, rng: np.random.Generator) -> Floats:
        """Mask the values present of one variable."""


def in_rank_order_of(values: Floats, replacement: Floats) -> Floats:
    """Give the j-th smallest replacement to the record with the j-th smallest value; ties in file order."""
    placed = np.empty_like(values)
    placed[np.argsort(values, kind="stable")] = np.sort(replacement)
    return placed
