"""The records of a table as points, equal ones put together, and what a search among them finds."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.boxes import Boxes, build, distinct

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

APART = 2.0
"""Values this far apart are as far as can be: a category lies so from the next, a missing value from 0."""
SAME = 1e-9
ROUNDING = 8 * float(np.finfo(np.float64).eps)


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
    def of(cls, table: Floats, units: Integers | None = None) -> "Points":
        """Put equal rows together, so that coarse tables cost no more than others; each row is a unit unless told."""
        rows, place, copies = distinct(table)
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


def slack(distance: Floats, columns: int) -> Floats:
    """Return how much two distances may differ by rounding alone: closer ones are a tie."""
    return np.asarray(distance * SAME + ROUNDING * columns)
