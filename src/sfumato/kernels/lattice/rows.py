"""The different rows of several keys, and the classes they make at a level of each key."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import WORTH_COMPILING, worth_compiling
from sfumato.kernels.groups import class_sums, classes, first_records
from sfumato.kernels.lattice import plain

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Levels = tuple[int, ...]  # one of each key

_MOST = 2**62  # different numbers that a row is packed into
_WORTH = 1_000 * WORTH_COMPILING  # records times nodes


@dataclass(frozen=True, eq=False)
class Table:
    """The classes of a node: the first row of each, its records, and the sum of their weights where these count."""

    levels: Levels
    rows: Codes
    counts: Integers
    weights: Floats | None

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.rows.nbytes + self.counts.nbytes + (0 if self.weights is None else self.weights.nbytes)


@dataclass(frozen=True, eq=False)
class Rows:
    """Records with the same keys once, how many there are, and the group of every value at every level.

    ``codes`` holds a row for each; the value after the last is a missing one. ``maps`` has the groups of all keys and
    levels one after the other: that of value v of key j at level l is ``maps[starts[j][l] + v]``, a number below
    ``groups[j][l]``. A missing value is a group of its own, until a level leaves one group only: it is then in that,
    because neither tells anything. ``gaps`` says whether any key is missing in any record.
    """

    codes: Codes
    row_of: Integers
    table: Table
    maps: Codes
    starts: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    records: int
    gaps: bool

    @classmethod
    def of(cls, codes: Sequence[Codes], parents: Sequence[Sequence[Codes]], weights: Floats | None = None) -> "Rows":
        """Put records into rows: the ``codes`` of each key, -1 where missing, and the group of each code by level.

        >>> rows = Rows.of([np.array([0, 1, 1, -1])], [[np.array([0, 1]), np.array([0, 0])]])
        >>> rows.table.counts, rows.groups, rows.maps
        (array([1, 2, 1]), ((3, 1),), array([0, 1, 2, 0, 0, 0], dtype=int32))
        """
        maps: list[Codes] = []
        starts, groups, start, any_gaps = [], [], 0, False
        filled = []
        for code, levels in zip(codes, parents, strict=True):
            gaps = bool((code < 0).any())
            any_gaps |= gaps
            filled.append(np.where(code < 0, len(levels[0]), code).astype(np.int32))
            first, number = [], []
            for parent in levels:
                found = int(parent.max(initial=-1)) + 1
                alone = found > 1
                maps.append(np.append(parent, found if alone else 0).astype(np.int32))
                number.append(found + 1 if gaps and alone else max(found, 1))
                first.append(start)
                start += len(parent) + 1
            starts.append(tuple(first))
            groups.append(tuple(number))
        stacked = np.column_stack(filled)
        row_of, counts = classes(stacked)
        sums = None if weights is None else class_sums(row_of, weights, len(counts))
        table = Table((0,) * len(starts), np.arange(len(counts), dtype=np.int32), counts, sums)
        rows = np.ascontiguousarray(stacked[first_records(row_of)])
        return cls(rows, row_of, table, np.concatenate(maps), tuple(starts), tuple(groups), len(stacked), any_gaps)

    @property
    def top(self) -> Levels:
        """The highest level of every key."""
        return tuple(len(levels) - 1 for levels in self.starts)

    @property
    def nodes(self) -> int:
        """How many choices of levels there are."""
        number = 1
        for levels in self.starts:
            number *= len(levels)
        return number

    @property
    def kernel(self) -> ModuleType:
        """The functions that do the work: in machine code, or the same in numpy.

        Many nodes look at the same records, so it is both together that repay compiling.
        """
        return _compiled() if worth_compiling(self.records * self.nodes, _WORTH) else plain

    def values_kernel(self, classes: int, values: int) -> ModuleType:
        """The functions that look at so many values in so many classes."""
        return _compiled() if classes * values > plain.DENSE else self.kernel

    def places(self, levels: Levels) -> Integers:
        """Return where the groups of each key at these levels start in ``maps``."""
        return np.array([starts[level] for starts, level in zip(self.starts, levels, strict=True)], dtype=np.int64)

    def numbered(self, rows: Codes, columns: Sequence[int], levels: Levels) -> tuple[Codes, int]:
        """Return the class of each of these rows by some of the keys, from 0 as they appear, and how many there are."""
        places = self.places(levels)
        # a key of one group tells nothing apart
        left = [(j, self.groups[j][levels[j]]) for j in columns if self.groups[j][levels[j]] > 1]
        class_of, found = np.zeros(len(rows), dtype=np.int32), 1
        while left:
            factors, chunk = [found], []
            number = found
            while left and number <= _MOST // left[0][1]:  # too many for 64 bits: the classes so far are one key
                column, groups = left.pop(0)
                number *= groups
                chunk.append(column)
                factors.append(groups)
            at = np.array(chunk, dtype=np.int64)
            found = self.kernel.numbered(
                self.codes, rows, self.maps, at, places[at], np.array(factors, dtype=np.int64), class_of
            )
        return class_of, found

    def rolled(self, source: Table, levels: Levels) -> tuple[Table, Codes]:
        """Return the classes of a node from those of a finer one, and the class that each of the finer ones is in.

        Two records that agree at a level agree at every higher one, so that classes only come together.
        """
        class_of, found = self.numbered(source.rows, range(len(levels)), levels)
        first, counts = np.empty(found, dtype=np.int32), np.zeros(found, dtype=np.int64)
        self.kernel.gathered(source.rows, source.counts, class_of, first, counts)
        weights = None if source.weights is None else class_sums(class_of.astype(np.int64), source.weights, found)
        return Table(levels, first, counts, weights), class_of


def _compiled() -> ModuleType:
    from sfumato.kernels.lattice import compiled

    return compiled
