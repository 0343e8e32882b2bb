"""Records of mixed kinds as points in a capped city-block distance, searched exactly.

The distance of two points is the sum over the columns of min(|x - y|, 1). A number scaled to [0, 1] adds its
difference; categories that lie 2 apart add 0 or 1; and a value put at 2 lies at 1 from every number, at 0 from its
like. That one rule holds numbers, ordered and unordered categories and missing values, and it is what a box can bound.
"""

import numpy as np

from sfumato.kernels import worth_compiling
from sfumato.kernels.mixed_distance import plain
from sfumato.kernels.mixed_distance.points import APART, Floats, Integers, Nearest, Points, slack

__all__ = ["APART", "Nearest", "Points", "least_distances", "nearer_and_tied", "nearest", "nearest_others", "slack"]


def nearer_and_tied(points: Points, here: Floats, short: Floats, reach: Floats) -> tuple[Integers, Integers]:
    """Count, for each row of ``here``, the rows nearer than ``short`` (2 for more), and those up to ``reach``."""
    if not worth_compiling(len(points.place)):
        return plain.nearer_and_tied(points, here, short, reach)
    from sfumato.kernels.mixed_distance import compiled

    return compiled.nearer_and_tied(points, here, short, reach)


def nearest(points: Points, here: Floats) -> Nearest:
    """Find the points nearest to each row of ``here``, all that tie."""
    return _nearest(points, here, np.full(len(here), -1, dtype=np.int64))


def least_distances(points: Points, here: Floats, but: Integers) -> Floats:
    """Return how far the nearest point is from each row of ``here``, those of one unit passed over (-1: of none).

    Where there is no other unit it is infinite.
    """
    if not worth_compiling(len(points.place)):
        return plain.least_distances(points, here, but)
    from sfumato.kernels.mixed_distance import compiled

    return compiled.least_distances(points, here, but)


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
    if not worth_compiling(len(points.place)):
        return plain.nearest(points, here, but)
    from sfumato.kernels.mixed_distance import compiled

    return compiled.nearest(points, here, but)
