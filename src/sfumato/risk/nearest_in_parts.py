"""How far some records lie from the nearest original: all originals are searched, some at a time.

How an original value is recoded may depend on the protected one, so that originals are read from whole columns on the
footing of both tables, which lie in files where the tables do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.recoding import Recoding
from sfumato.kernels.mixed_distance import Points, least_distances
from sfumato.pair import Half
from sfumato.pair.sample import Sample
from sfumato.pair.statistics import Statistic, merged
from sfumato.risk.mixed_points import Places

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CHUNK = 500_000  # original records that are searched together


@dataclass(frozen=True, eq=False)
class Least(Statistic):
    """The least distance of each record looked for, by list of records."""

    lists: tuple[Floats, ...]

    def merge(self, other: Self) -> Self:
        """Take the lesser of both."""
        return type(self)(tuple(np.minimum(one, two) for one, two in zip(self.lists, other.lists, strict=True)))

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        return sum(distances.nbytes for distances in self.lists)


@dataclass(frozen=True, eq=False)
class Units:
    """To which unit a record belongs, told by its number, as far as the units of a sample must be told apart.

    Households that have nobody in the sample, and records without one, are as many units as they have records: whoever
    is looked for is none of them.
    """

    households: NDArray[Any] | None
    known: NDArray[Any]

    @classmethod
    def of(cls, half: Half, sample: Sample) -> "Units":
        """Look up the households of a sample."""
        name = half.schema.household
        if name is None:
            return cls(None, np.empty(0))
        column = half.column(name)
        drawn = column[sample.rows]
        return cls(column, np.unique(drawn[~np.isnan(drawn) if drawn.dtype.kind == "f" else drawn >= 0]))

    def __call__(self, rows: Integers) -> Integers:
        """Return the unit of each of these records."""
        if self.households is None or not len(self.known):
            return rows
        values = self.households[rows]
        place = np.minimum(np.searchsorted(self.known, values), len(self.known) - 1)
        return np.where(self.known[place] == values, place, len(self.known) + rows)


@dataclass(frozen=True, eq=False)
class Originals:
    """The original records as points, by their numbers."""

    columns: Mapping[str, Recoding]
    places: Mapping[str, Places]
    units: Units

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())).original)

    def at(self, rows: NDArray[np.integer]) -> Floats:
        """Return the points of some original records."""
        return self._placed({name: seen.original for name, seen in self.columns.items()}, rows)

    def protected_at(self, rows: NDArray[np.integer]) -> Floats:
        """Return the points of some protected records."""
        return self._placed({name: seen.protected for name, seen in self.columns.items()}, rows)

    def _placed(self, columns: Mapping[str, NDArray[Any]], rows: NDArray[np.integer]) -> Floats:
        return np.column_stack([self.places[name](np.asarray(column[rows])) for name, column in columns.items()])

    def distances(self, lists: Sequence[tuple[Floats, Integers]]) -> tuple[Floats, ...]:
        """Return how far each point of several lists is from the nearest original of another unit (-1: of any).

        Originals are searched in pieces of about the same size, whatever the parts of their table, so that rounding
        does not depend on them.
        """
        pieces = -(-len(self) // CHUNK)
        ends = [len(self) * piece // pieces for piece in range(pieces + 1)]
        found = merged(self._least(np.arange(low, high), lists) for low, high in pairwise(ends))
        return found.lists

    def _least(self, rows: Integers, lists: Sequence[tuple[Floats, Integers]]) -> Least:
        points = Points.of(self.at(rows), self.units(rows))
        return Least(tuple(least_distances(points, here, but) for here, but in lists))


def of_none(records: int) -> Integers:
    """Return the unit that is passed over, for records that are none of the originals."""
    return np.full(records, -1, dtype=np.int64)


def error_of_share(nearer: tuple[Sample, Floats], farther: tuple[Sample, Floats]) -> float:
    """Return the standard error of the share of pairs of two samples of which the one is less than the other.

    Each sample comes with the share of the other that its records are less, or more, than; their variances add up
    (DeLong, DeLong and Clarke-Pearson 1988, Comparing the areas under two or more correlated receiver operating
    characteristic curves), each with the correction for a sample of a finite table.
    """
    return sqrt(sum(sample.error(shares) ** 2 for sample, shares in (nearer, farther)))
