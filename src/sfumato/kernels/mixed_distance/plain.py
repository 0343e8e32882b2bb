"""Searches of small tables in the capped city-block distance: all distances, a block of rows at a time."""

import numpy as np

from sfumato.kernels.mixed_distance.points import Floats, Integers, Nearest, Points, slack

_CELLS = 100_000  # distances held at once: what stays in the cache


def apart(here: Floats, there: Floats) -> Floats:
    """Return all distances between the rows of two tables."""
    total, gap = np.zeros((len(here), len(there))), np.empty((len(here), len(there)))
    for mine, theirs in zip(here.T, there.T, strict=True):
        np.subtract(mine[:, None], theirs[None, :], out=gap)
        np.abs(gap, out=gap)
        total += np.minimum(gap, 1.0, out=gap)
    return total


def nearer_and_tied(points: Points, here: Floats, short: Floats, reach: Floats) -> tuple[Integers, Integers]:
    """Count, for each row of ``here``, the rows nearer than ``short`` (2 for more), and those up to ``reach``."""
    nearer, tied = np.empty(len(here), dtype=np.int64), np.empty(len(here), dtype=np.int64)
    for rows in _blocks(len(here), len(points.rows)):
        distance = apart(here[rows], points.rows)
        close = distance < short[rows, None]
        nearer[rows] = close @ points.copies
        tied[rows] = ((distance <= reach[rows, None]) & ~close) @ points.copies
    return np.minimum(nearer, 2), tied


def nearest(points: Points, here: Floats, but: Integers) -> Nearest:
    """Find the nearest points, those of one unit per row of ``here`` passed over (-1: of none)."""
    least: list[Floats] = [np.empty(0)]
    counts: list[Integers] = [np.zeros(1, dtype=np.int64)]
    found: list[Integers] = [np.empty(0, dtype=np.int64)]
    for rows in _blocks(len(here), len(points.rows)):
        distance = apart(here[rows], points.rows)
        distance[(points.unit == but[rows, None]) & (but[rows, None] >= 0)] = np.inf
        closest = distance.min(axis=1)
        tied = (distance <= (closest + slack(closest, here.shape[1]))[:, None]) & np.isfinite(distance)
        least.append(closest)
        counts.append(tied.sum(axis=1))
        found.append(np.nonzero(tied)[1])
    return Nearest(np.concatenate(least), np.cumsum(np.concatenate(counts)), np.concatenate(found))


def _blocks(rows: int, columns: int) -> list[slice]:
    size = max(1, _CELLS // max(columns, 1))
    return [slice(start, start + size) for start in range(0, rows, size)]
