"""MDAV microaggregation of large tables."""

import numpy as np

from sfumato.kernels.compiling import compiled
from sfumato.kernels.microaggregation.box_tree import (
    Floats,
    Integers,
    Nearest,
    Points,
    build,
    farthest,
    lay_anchor,
    nearest,
    take,
)

# A new anchor costs, per point, this part of the search of a node. (Numba keeps the machine code of this file while
# its date stays the same: touch it after a change in the tree.)
ANCHOR_COST = 1 / 4


def mdav_groups(X: Floats, k: int) -> Integers:
    """Group labels of MDAV microaggregation, numbered from 0 in the order in which the groups are made.

    The same groups as those of ``plain.mdav_groups``. The time grows with
    about the power 1.5 of the number of records where boxes separate them, that is with few or correlated variables,
    and towards the square with many independent ones. Ties, for the farthest as for the nearest, go to the lowest row.
    """
    return _groups(equal_rows_together(np.asarray(X, dtype=np.float64)), k)


def equal_rows_together(X: Floats) -> Points:
    """Rows that are equal, brought together."""
    # One number per row is enough to sort by. Different records may share it and keep equal ones apart, but
    # an unmerged duplicate is only a point like any other.
    key = np.zeros(len(X))
    for j, column in enumerate(X.T):
        key += column * np.sqrt(j + 2.0)
    rows = key.argsort(kind="stable")
    starts = np.ones(len(X), dtype=np.bool_)
    same_key = 1 + np.flatnonzero(np.diff(key[rows]) == 0)
    starts[same_key] = (X[rows[same_key]] != X[rows[same_key - 1]]).any(axis=1)
    begin = np.flatnonzero(starts)
    return Points(X[rows[begin]], rows, begin, np.append(begin[1:], len(X)))


@compiled
def _groups(points: Points, k: int) -> Integers:
    """Labels by row; uses up the rows of the points."""
    left, points_left = len(points.rows), len(points.begin)
    p = points.coordinates.shape[1]
    total, carry, centroid, centre = np.zeros(p), np.zeros(p), np.zeros(p), np.zeros(p)
    for point in range(points_left):
        for _ in range(points.begin[point], points.end[point]):
            _add(total, carry, points.coordinates[point], 1.0)
    for j in range(p):
        centroid[j] = total[j] / left
    labels = np.empty(left, np.intp)
    found = Nearest(np.empty(k), np.empty(k, np.intp), np.empty(k, np.intp))
    tree = build(points, centroid)
    points_built, searched, label = points_left, 0, 0
    second = False  # of a pair
    while left >= 2 * k or second:
        if second:
            point, _ = farthest(tree, centre)
            second = False
        else:
            for j in range(p):
                centroid[j] = total[j] / left
            if 2 * points_left < points_built:
                tree = build(points, centroid)
                points_built, searched = points_left, 0
            elif searched > ANCHOR_COST * points_left:
                lay_anchor(tree, centroid)
                searched = 0
            point, visited = farthest(tree, centroid)
            searched += visited
            second = left >= 3 * k
        for j in range(p):
            centre[j] = points.coordinates[point, j]
        labels[points.rows[points.begin[point]]] = label
        _add(total, carry, centre, -1.0)
        points_left -= take(tree, points, point)
        nearest(tree, points, centre, found, k - 1)
        for i in range(k - 1):
            labels[found.row[i]] = label
            _add(total, carry, points.coordinates[found.point[i]], -1.0)
            points_left -= take(tree, points, found.point[i])
        left -= k
        label += 1
    for point in range(len(points.begin)):
        for position in range(points.begin[point], points.end[point]):
            labels[points.rows[position]] = label
    return labels


@compiled
def _add(total: Floats, carry: Floats, record: Floats, sign: float) -> None:
    """Add to a sum kept to twice the precision, so that taking record after record out of it does not drift."""
    for j in range(len(total)):
        value = sign * record[j]
        new = total[j] + value
        shift = new - total[j]
        rest = carry[j] + ((total[j] - (new - shift)) + (value - shift))
        total[j] = new + rest
        carry[j] = rest - (total[j] - new)
