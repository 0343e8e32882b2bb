"""Who is nearer than the own record, in Euclidean distance."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def nearer_and_tied(
    points: Floats, copies: Counts, here: Floats, short: Floats, reach: Floats
) -> tuple[Counts, Counts]:
    """Count, for each row of ``here``, the points nearer than ``short`` (2 for more), and those up to ``reach``.

    ``points`` are distinct, and ``copies`` says how often each occurs.
    """
    if not worth_compiling(int(copies.sum())):
        return plain_nearer_and_tied(points, copies, here, short, reach)
    from sfumato.kernels.euclidean_distance import compiled

    return compiled.nearer_and_tied(points, copies, here, short, reach)


def plain_nearer_and_tied(
    points: Floats, copies: Counts, here: Floats, short: Floats, reach: Floats
) -> tuple[Counts, Counts]:
    """Count, for each row of ``here``, the points nearer than ``short`` (2 for more), and those up to ``reach``."""
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    distance, found = tree.query(here, k=[1, 2, 3][: len(points)])
    seen = np.isfinite(distance)
    nearer = np.where(seen & (distance < short[:, None]), copies[found], 0).sum(axis=1)
    as_near = np.where(seen & (distance >= short[:, None]) & (distance <= reach[:, None]), copies[found], 0)
    tied = as_near.sum(axis=1)
    # where the third nearest is as near as the own record, there may be more of them
    for row in np.flatnonzero((nearer < 2) & (distance[:, -1] <= reach)):
        ball = np.asarray(tree.query_ball_point(here[row], reach[row]))
        apart = np.sqrt(((points[ball] - here[row]) ** 2).sum(axis=1))
        tied[row] = copies[ball[apart >= short[row]]].sum()
    return np.minimum(nearer, 2), tied
