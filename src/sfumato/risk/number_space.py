"""Where the numbers of two tables lie on one scale, so that a distance of records is one of points.

Only the ends of each variable and whether it has gaps must be known of the whole tables: a part is placed as the whole.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SAME = 1e-9  # distances this close to each other, relatively, are a tie: rounding must not break one


@dataclass(frozen=True, eq=False)
class Ends:
    """The least and the greatest value of each variable of a table, and whether values are missing."""

    low: Floats
    high: Floats
    gap: Flags

    @classmethod
    def of(cls, values: Floats) -> "Ends":
        """Look through an n x p array of numbers, NaN for missing."""
        return cls(
            np.fmin.reduce(values, axis=0, initial=np.nan),
            np.fmax.reduce(values, axis=0, initial=np.nan),
            np.asarray(np.isnan(values).any(axis=0)),
        )


@dataclass(frozen=True, eq=False)
class Space:
    """How the standardised numbers of two tables are placed, and how far apart points can be.

    Every variable with missing values gets an axis of its own on which missing and present lie ``reach`` apart, farther
    than any two values. ``apart`` is more than any two points are, and ``largest`` the largest coordinate of the
    table that is searched: what rounding does to a distance grows with it.
    """

    gap: Flags
    reach: Floats
    apart: float
    largest: float

    @classmethod
    def between(cls, here: Ends, there: Ends) -> "Space":
        """Find the space of two tables, the second of which is searched."""
        gap = here.gap | there.gap
        low, high = np.fmin(here.low, there.low), np.fmax(here.high, there.high)
        reach = np.maximum(high - low, 1.0)  # of a constant, too
        # a missing value is put at 0 on the variable's own axis
        spans = np.where(gap, np.fmax(high, 0.0) - np.fmin(low, 0.0), high - low)
        apart = 2 * float(np.linalg.norm(np.concatenate([spans, reach[gap]]))) + 1
        ends = np.concatenate([np.abs(there.low), np.abs(there.high), np.where(there.gap, reach, 0.0)])
        return cls(gap, reach, apart, float(np.fmax.reduce(ends, initial=0.0)))

    def placed(self, scores: Floats) -> Floats:
        """Return the points of records, given their standardised numbers."""
        if not self.gap.any():
            return scores
        missing = np.isnan(scores)
        return np.hstack([np.where(missing, 0.0, scores), np.where(missing, self.reach, 0.0)[:, self.gap]])

    def slack(self, distance: Floats) -> Floats:
        """Return how much two distances may differ by rounding alone: closer ones are a tie.

        What rounding does to a distance grows with the coordinates, not only with the distance.
        """
        return np.asarray(distance * SAME + 4 * np.finfo(np.float64).eps * self.largest)


def with_missing_apart(here: Floats, there: Floats) -> tuple[Floats, Floats, Space]:
    """Place the standardised numbers of both tables in one space."""
    space = Space.between(Ends.of(here), Ends.of(there))
    return space.placed(here), space.placed(there), space
