"""A variable of a table on disk in ascending order, for methods that mask by rank; a stretch is held at a time."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.pair import Half
from sfumato.pair.numbers_on_disk import NumbersOnDisk
from sfumato.pair.sorting import Runs, SortedColumn, at_a_time

Floats = NDArray[np.float64]
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
        found: Floats = self.column.values.read(low, high + 1)[ranks - low]
        return found

    def drawn(self, rng: np.random.Generator) -> NumbersOnDisk:
        """Draw an even number for each value present in the order of the records; return them by record."""
        draws = NumbersOnDisk(self.column.room.folder, np.float64, self.column.what)
        for part in self.half.parts:
            present = ~np.isnan(part.columns[self.name])
            of_part = np.zeros(len(part))
            of_part[present] = rng.random(int(present.sum()))
            draws.append(of_part)
        return draws

    def present(self) -> NumbersOnDisk:
        """Return the values present in the order of their records."""
        values = NumbersOnDisk(self.column.room.folder, np.float64, self.column.what)
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
    held: list[Floats] = []
    for piece in pieces:
        held.append(piece)
        if sum(map(len, held)) >= width:
            whole = np.concatenate(held)
            full = len(whole) // width * width
            yield from np.split(whole[:full], full // width)
            held = [whole[full:]]
    last = np.concatenate(held) if held else np.empty(0)
    if len(last):
        yield last
