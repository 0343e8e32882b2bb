"""Whether the own record is the nearest of all: counts of those nearer and as near, which add up from part to part."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import mixed_distance as mixed_kernel
from sfumato.kernels.boxes import distinct
from sfumato.kernels.euclidean_distance import nearer_and_tied
from sfumato.risk.number_space import Ends, Space

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sought:
    """Records that look for their own in another table: where they lie, and how near another record may come."""

    here: Floats
    short: Floats  # who is nearer than this is nearer than the own record
    reach: Floats  # who is up to this far is as near as the own record
    mixed: bool = False  # whether the distance is that of ``mixed_distance``, which holds all kinds of variables

    @classmethod
    def euclidean(cls, here: Floats, own: Floats, space: Space) -> "Sought":
        """Take points of a space, and the own point of each in the other table."""
        distance = np.sqrt(((here - own) ** 2).sum(axis=1))
        slack = space.slack(distance)
        return cls(here, np.maximum(distance - slack, 0.0), distance + slack)

    @classmethod
    def gower(cls, here: Floats, own: Floats) -> "Sought":
        """Take points in the capped city-block distance, and the own point of each in the other table."""
        distance = np.minimum(np.abs(here - own), 1.0).sum(axis=1)
        tie = mixed_kernel.slack(distance, here.shape[1])
        return cls(here, np.maximum(distance - tie, 0.0), distance + tie, mixed=True)

    def among(self, there: Floats) -> tuple[Counts, Counts]:
        """Count, of the records of a part, those nearer than the own (2 for more) and those as near.

        Equal rows are one point of the tree with a number of copies, so that tables full of repeated records
        (microaggregation, zeros) cost no more than others.
        """
        if self.mixed:
            return mixed_kernel.nearer_and_tied(mixed_kernel.Points.of(there), self.here, self.short, self.reach)
        rows, _, copies = distinct(there)
        return nearer_and_tied(rows, copies, self.here, self.short, self.reach)


def own_is_nearest(here: Floats, there: Floats, *, share: bool) -> tuple[Floats, Floats]:
    """Tell how surely row i of ``there`` is the nearest, or second nearest, of all its rows to row i of ``here``."""
    space = Space.between(Ends.of(here), Ends.of(there))
    return linked(*Sought.euclidean(here, there, space).among(there), share=share)


def own_is_nearest_mixed(here: Floats, there: Floats, *, share: bool) -> tuple[Floats, Floats]:
    """Tell the same in the capped city-block distance of ``mixed_distance``, which holds all kinds of variables."""
    return linked(*Sought.gower(here, there).among(there), share=share)


def linked(nearer: Counts, tied: Counts, *, share: bool) -> tuple[Floats, Floats]:
    """Tell how surely the own record comes first, and second, from how many are nearer and how many as near."""
    if not share:
        return (nearer == 0).astype(np.float64), (nearer == 1).astype(np.float64)
    # tied for first with t in all, each place from 1 to t is equally likely to fall to the own record
    part = 1 / np.maximum(tied, 1)
    second = (nearer == 1) | ((nearer == 0) & (tied > 1))
    return np.where(nearer == 0, part, 0.0), np.where(second, part, 0.0)
