"""Records of mixed kinds as points in a capped city-block distance, searched exactly.

The distance of two points is the sum over the columns of min(|x - y|, 1). A number scaled to [0, 1] adds its
difference; categories that lie 2 apart add 0 or 1; and a value put at 2 lies at 1 from every number, at 0 from its
like. That one rule holds numbers, ordered and unordered categories and missing values, and it is what a box can bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling
from sfumato.kernels.boxes import Boxes, build, distinct

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_DISTANCE = 2.0
"""Values this far apart are as far as can be: a category lies so from the next, a missing value from 0."""
TOLERANCE = 1e-9
ROUNDING = 8 * float(np.finfo(np.float64).eps)
_CELLS = 30_000  # distances held at once: what stays in the cache


@dataclass(frozen=True, eq=False)
class Points:
    """The distinct rows of a table, the place of each row among them, and how many rows there are of each.

    ``unit`` is the unit (person, household) whose rows alone are at a point, and -1 where several have rows there.
    """

    rows: Floats
    place: Integers
    copies: Integers
    unit: Integers

    @classmethod
    def of(cls, table: Floats, units: Integers | None = None, copies: Integers | None = None) -> "Points":
        """Put equal rows together, so that coarse tables cost no more than others; each row is a unit unless told.

        ``copies`` says how many records each row stands for, if not for one.
        """
        rows, place, copies = distinct(table, copies)
        units = np.arange(len(table)) if units is None else units
        least, greatest = np.full(len(rows), np.iinfo(np.int64).max), np.full(len(rows), -1)
        np.minimum.at(least, place, units)
        np.maximum.at(greatest, place, units)
        unit = np.where(least == greatest, least, -1)
        return cls(rows, place.astype(np.int64), copies.astype(np.int64), unit.astype(np.int64))

    @cached_property
    def boxes(self) -> Boxes:
        """The tree over the distinct rows."""
        return build(self.rows)

    @property
    def nbytes(self) -> int:
        """The memory it takes, without the tree."""
        return self.rows.nbytes + self.place.nbytes + self.copies.nbytes + self.unit.nbytes


@dataclass(frozen=True, eq=False)
class Nearest:
    """Of each query the least distance, and the points at it: ``found[starts[i] : starts[i + 1]]``."""

    distance: Floats
    starts: Integers
    found: Integers

    @property
    def counts(self) -> Integers:
        """How many distinct points are nearest, of each query."""
        return np.diff(self.starts)

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.distance.nbytes + self.starts.nbytes + self.found.nbytes


def nearer_and_tied(points: Points, here: Floats, short: Floats, reach: Floats) -> tuple[Integers, Integers]:
    """Count, for each row of ``here``, the rows nearer than ``short`` (2 for more), and those up to ``reach``."""
    if not worth_compiling(int(points.copies.sum())):
        return plain_nearer_and_tied(points, here, short, reach)
    from sfumato.kernels.mixed_distance import compiled

    return compiled.nearer_and_tied(points, here, short, reach)


def nearest(points: Points, here: Floats) -> Nearest:
    """Find the points nearest to each row of ``here``, all that tie."""
    return _nearest(points, here, np.full(len(here), -1, dtype=np.int64))


def least_distances(points: Points, here: Floats, but: Integers) -> Floats:
    """Return how far the nearest point is from each row of ``here``, those of one unit passed over (-1: of none).

    Where there is no other unit it is infinite.
    """
    if not worth_compiling(int(points.copies.sum())):
        return plain_least_distances(points, here, but)
    from sfumato.kernels.mixed_distance import compiled

    return compiled.least_distances(points, here, but)


def least_from_others(points: Points) -> Floats:
    """Return how far the nearest point of other units is from each point; 0 where several units have one point."""
    single = np.flatnonzero(points.unit >= 0)
    distance = np.zeros(len(points.rows))
    distance[single] = least_distances(points, points.rows[single], points.unit[single])
    return distance


def nearest_others(points: Points) -> Nearest:
    """Find, for each point that is of one unit alone, the nearest of other units; for the others, none.

    A unit that has no other has an infinite distance; a point of several units has its nearest right there, at 0.
    """
    single = np.flatnonzero(points.unit >= 0)
    found = _nearest(points, points.rows[single], points.unit[single])
    counts, distance = np.zeros(len(points.rows) + 1, dtype=np.int64), np.zeros(len(points.rows))
    counts[single + 1] = found.counts
    distance[single] = found.distance
    return Nearest(distance, np.cumsum(counts), found.found)


def _nearest(points: Points, here: Floats, but: Integers) -> Nearest:
    """Find the nearest points, those of one unit per row of ``here`` passed over (-1: of none)."""
    if not worth_compiling(int(points.copies.sum())):
        return plain_nearest(points, here, but)
    from sfumato.kernels.mixed_distance import compiled

    return compiled.nearest(points, here, but)


def slack(distance: Floats, columns: int) -> Floats:
    """Return how much two distances may differ by rounding alone: closer ones are a tie."""
    return np.asarray(distance * TOLERANCE + ROUNDING * columns)


def distances(here: Floats, there: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield some rows of one table and their distances to all rows of another; what is yielded is overwritten next.

    Where all values lie ``MAX_DISTANCE`` apart they are equal or not, and where they span no more than 1 there is
    nothing to cap.
    """
    if not len(here) or not len(there):
        return
    both = [np.concatenate(columns) for columns in zip(here.T, there.T, strict=True)]
    categories = [np.array_equal(np.rint(column / MAX_DISTANCE) * MAX_DISTANCE, column) for column in both]
    labels = [(column / MAX_DISTANCE).astype(np.int32) for column, apart in zip(both, categories, strict=True) if apart]
    numbers = [(column, np.ptp(column) > 1.0) for column, apart in zip(both, categories, strict=True) if not apart]
    size = max(1, _CELLS // len(there))
    total, gap = np.empty((size, len(there))), np.empty((size, len(there)))
    unequal, count = np.empty(total.shape, dtype=np.bool_), np.empty(total.shape, dtype=np.uint16)
    for start in range(0, len(here), size):
        rows = slice(start, min(start + size, len(here)))
        used = slice(0, rows.stop - start)
        count[used] = 0
        for column in labels:
            np.not_equal(column[rows, None], column[len(here) :], out=unequal[used])
            np.add(count[used], unequal[used], out=count[used])
        total[used] = count[used]
        for column, wide in numbers:
            np.subtract(column[rows, None], column[len(here) :], out=gap[used])
            np.abs(gap[used], out=gap[used])
            if wide:
                np.minimum(gap[used], 1.0, out=gap[used])
            np.add(total[used], gap[used], out=total[used])
        yield rows, total[used]


def plain_nearer_and_tied(points: Points, here: Floats, short: Floats, reach: Floats) -> tuple[Integers, Integers]:
    """Count, for each row of ``here``, the rows nearer than ``short`` (2 for more), and those up to ``reach``."""
    nearer, tied = np.empty(len(here), dtype=np.int64), np.empty(len(here), dtype=np.int64)
    for rows, distance in distances(here, points.rows):
        close = distance < short[rows, None]
        nearer[rows] = close @ points.copies
        tied[rows] = ((distance <= reach[rows, None]) & ~close) @ points.copies
    return np.minimum(nearer, 2), tied


def plain_least_distances(points: Points, here: Floats, but: Integers) -> Floats:
    """Return how far the nearest point is from each row, those of one unit passed over (-1: of none)."""
    return np.concatenate([np.empty(0), *(distance.min(axis=1) for distance in _of_others(points, here, but))])


def plain_nearest(points: Points, here: Floats, but: Integers) -> Nearest:
    """Find the nearest points, those of one unit per row of ``here`` passed over (-1: of none)."""
    least: list[Floats] = [np.empty(0)]
    counts: list[Integers] = [np.zeros(1, dtype=np.int64)]
    found: list[Integers] = [np.empty(0, dtype=np.int64)]
    for distance in _of_others(points, here, but):
        closest = distance.min(axis=1)
        reach = np.where(np.isfinite(closest), closest + slack(closest, here.shape[1]), -1.0)  # of none, nothing
        query, place = np.divmod(np.flatnonzero(distance <= reach[:, None]), len(points.rows))
        least.append(closest)
        counts.append(np.bincount(query, minlength=len(closest)))
        found.append(place)
    return Nearest(np.concatenate(least), np.cumsum(np.concatenate(counts)), np.concatenate(found))


def _of_others(points: Points, here: Floats, but: Integers) -> Iterator[Floats]:
    """Yield the distances of some rows at a time to all points, infinite to those of the unit passed over."""
    for rows, distance in distances(here, points.rows):
        if (but[rows] >= 0).any():
            distance[(points.unit == but[rows, None]) & (but[rows, None] >= 0)] = np.inf
        yield distance
