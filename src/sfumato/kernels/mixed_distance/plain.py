"""Searches of small tables in the capped city-block distance: all distances, some rows at a time."""

from collections.abc import Iterator

import numpy as np

from sfumato.kernels.mixed_distance.points import APART, Floats, Integers, Nearest, Points, slack

_CELLS = 30_000  # distances held at once: what stays in the cache


def distances(here: Floats, there: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield some rows of one table and their distances to all rows of another; what is yielded is overwritten next.

    Where all values lie ``APART`` they are equal or not, and where they span no more than 1 there is nothing to cap.
    """
    if not len(here) or not len(there):
        return
    both = [np.concatenate(columns) for columns in zip(here.T, there.T, strict=True)]
    categories = [np.array_equal(np.rint(column / APART) * APART, column) for column in both]
    labels = [(column / APART).astype(np.int32) for column, apart in zip(both, categories, strict=True) if apart]
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


def nearer_and_tied(points: Points, here: Floats, short: Floats, reach: Floats) -> tuple[Integers, Integers]:
    """Count, for each row of ``here``, the rows nearer than ``short`` (2 for more), and those up to ``reach``."""
    nearer, tied = np.empty(len(here), dtype=np.int64), np.empty(len(here), dtype=np.int64)
    for rows, distance in distances(here, points.rows):
        close = distance < short[rows, None]
        nearer[rows] = close @ points.copies
        tied[rows] = ((distance <= reach[rows, None]) & ~close) @ points.copies
    return np.minimum(nearer, 2), tied


def least_distances(points: Points, here: Floats, but: Integers) -> Floats:
    """Return how far the nearest point is from each row, those of one unit passed over (-1: of none)."""
    return np.concatenate([np.empty(0), *(distance.min(axis=1) for distance in _of_others(points, here, but))])


def nearest(points: Points, here: Floats, but: Integers) -> Nearest:
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
