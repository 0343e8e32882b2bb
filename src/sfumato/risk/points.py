"""Records as points, so that a distance of records is one of points, and whether the own record is the nearest of all.

Of numbers only the ends of each variable and whether it has gaps must be known of the whole tables: a part is placed as
the whole. Counts of records nearer than the own and as near add up from part to part.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import mixed_distance as mixed_kernel
from sfumato.kernels.boxes import distinct
from sfumato.kernels.euclidean_distance import nearer_and_tied
from sfumato.kernels.mixed_distance import MAX_DISTANCE
from sfumato.pair import Pair
from sfumato.table.recoding import Recoding
from sfumato.table.schema import Kind

# numbers of two tables on one scale

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


# variables of all kinds: Gower's distance


@dataclass(frozen=True)
class Places:
    """Where the values of one variable lie on its axis; it must be known of both whole tables, and then of any part.

    Numbers are scaled by the range of both tables together, ordered categories by their place from the first to the
    last, and unordered ones are equal or not; two missing values are equal, one missing is as far as can be.
    """

    kind: Kind
    low: float = 0.0  # halves, because the range of the largest numbers there are is no number
    width: float = 1.0

    @classmethod
    def of(cls, seen: Recoding) -> "Places":
        """Look through a variable of both tables on one footing."""
        if seen.kind == "nominal":
            return cls("nominal")
        if seen.kind == "ordinal":
            return cls("ordinal", 0.0, max(len(seen.categories) - 1, 1) / 2)
        sides = seen.original, seen.protected
        low = float(np.fmin.reduce([np.fmin.reduce(side, initial=np.nan) for side in sides])) / 2
        high = float(np.fmax.reduce([np.fmax.reduce(side, initial=np.nan) for side in sides])) / 2
        if np.isnan(low):
            return cls(seen.kind)
        return cls(seen.kind, low, high - low if high > low else 1.0)

    def __call__(self, column: NDArray[Any]) -> Floats:
        """Return the places of values."""
        if self.kind == "nominal":
            return column * MAX_DISTANCE
        halves = np.where(column < 0, np.nan, column) / 2 if self.kind == "ordinal" else column / 2
        return np.where(np.isnan(halves), MAX_DISTANCE, (halves - self.low) / self.width)


def points(pair: Pair, names: Iterable[str]) -> tuple[Floats, Floats]:
    """Place the records of both tables by these variables; each variable's places are kept."""
    return _divided([_kept_places(pair, name) for name in names], len(pair.original))


def _kept_places(pair: Pair, name: str) -> Floats:
    places: Floats = pair.keep(("places", name), lambda: _places(pair.footing(name)))
    return places


def mixed_points(columns: Iterable[Recoding]) -> tuple[Floats, Floats]:
    """Place the records of both tables so that their capped city-block distance is Gower's, times the variables."""
    compared = list(columns)
    return _divided([_places(seen) for seen in compared], len(compared[0].original))


def _divided(columns: list[Floats], originals: int) -> tuple[Floats, Floats]:
    """Return the table of the original records and that of the protected ones, which follow them in each column."""
    both = np.column_stack(columns)
    return both[:originals], both[originals:]


def _places(seen: Recoding) -> Floats:
    """Return the places of the original values of one variable, and after them those of the protected values."""
    return Places.of(seen)(np.concatenate([seen.original, seen.protected]))


# the own record among all

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SoughtRecords:
    """Records that look for their own in another table: where they lie, and how near another record may come."""

    here: Floats
    short: Floats  # who is nearer than this is nearer than the own record
    reach: Floats  # who is up to this far is as near as the own record
    mixed: bool = False  # whether the distance is that of ``mixed_distance``, which holds all kinds of variables

    @classmethod
    def euclidean(cls, here: Floats, own: Floats, space: Space) -> "SoughtRecords":
        """Take points of a space, and the own point of each in the other table."""
        distance = np.sqrt(((here - own) ** 2).sum(axis=1))
        slack = space.slack(distance)
        return cls(here, np.maximum(distance - slack, 0.0), distance + slack)

    @classmethod
    def gower(cls, here: Floats, own: Floats) -> "SoughtRecords":
        """Take points in the capped city-block distance, and the own point of each in the other table."""
        distance = np.minimum(np.abs(here - own), 1.0).sum(axis=1)
        tie = mixed_kernel.slack(distance, here.shape[1])
        return cls(here, np.maximum(distance - tie, 0.0), distance + tie, mixed=True)

    def among(self, there: Floats, copies: Counts | None = None) -> tuple[Counts, Counts]:
        """Count, of the records of a part, those nearer than the own (2 for more) and those as near.

        Equal rows are one point of the tree with a number of copies, so that tables full of repeated records
        (microaggregation, zeros) cost no more than others. ``copies`` says how often each row counts, if not once.
        """
        if self.mixed:
            points = mixed_kernel.Points.of(there, copies=copies)
            return mixed_kernel.nearer_and_tied(points, self.here, self.short, self.reach)
        rows, _, number = distinct(there, copies)
        return nearer_and_tied(rows, number, self.here, self.short, self.reach)


def linked(nearer: Counts, tied: Counts, *, share: bool) -> tuple[Floats, Floats]:
    """Tell how surely the own record comes first, and second, from how many are nearer and how many as near."""
    if not share:
        return (nearer == 0).astype(np.float64), (nearer == 1).astype(np.float64)
    # tied for first with t in all, each place from 1 to t is equally likely to fall to the own record
    part = 1 / np.maximum(tied, 1)
    second = (nearer == 1) | ((nearer == 0) & (tied > 1))
    return np.where(nearer == 0, part, 0.0), np.where(second, part, 0.0)
