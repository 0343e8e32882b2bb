"""Maximum-distance microaggregation of large tables: the most distant pair of records left, again and again.

Records only ever leave, so what was once the distance of a record to the one farthest from it bounds that distance from
above for good, and is still exact while its partner is there. The most distant pair is therefore had from a heap of
such bounds: whoever stands on top with a partner gone is measured again, and no one else.

Records near the middle need no place in the heap: if the records are taken in the order of their distance to a
centre, the farthest first, then two of those not yet taken are at most twice the next one's distance apart.
"""

from heapq import heappop, heappush, heapreplace

import numpy as np

from sfumato.kernels.compiling import compiled
from sfumato.kernels.microaggregation.box_tree import (
    NO_ROW,
    Floats,
    Integers,
    Nearest,
    Points,
    Tree,
    build,
    farthest,
    nearest,
    take,
)
from sfumato.kernels.microaggregation.compiled import equal_rows_together

SLACK = 1 + 1e-9  # more than the rounding error of a squared distance, in any number of columns memory can hold
UNDERFLOW = 1e-300

Entry = tuple[float, int, int, int]


def maximum_distance_groups(X: Floats, k: int) -> Integers:
    """Group labels as of ``plain.maximum_distance_groups``, in about the time of a few searches per record."""
    return _groups(equal_rows_together(np.asarray(X, dtype=np.float64)), k)


@compiled
def _groups(points: Points, k: int) -> Integers:
    """Labels by row; uses up the rows of the points."""
    left, points_left = len(points.rows), len(points.begin)
    labels = np.empty(left, np.intp)
    found = Nearest(np.empty(k), np.empty(k, np.intp), np.empty(k, np.intp))
    partner = np.full(points_left, -1, np.intp)  # the farthest point, -1 before it is looked for
    heap = [(0.0, NO_ROW, NO_ROW, -1)]  # minus the squared distance, the lower and higher row, the point
    heap.pop()
    label = 0
    while left >= 2 * k:
        tree, waiting, radius = _laid_out(points, partner)
        points_built, following = points_left, 0
        while left >= 2 * k and 2 * points_left >= points_built:
            following = _top_is_exact(tree, points, heap, partner, waiting, radius, following)
            first, second = _most_distant(points, heap[0], partner)
            labels[points.rows[points.begin[first]]] = label
            points_left -= take(tree, points, first)
            labels[points.rows[points.begin[second]]] = label + 1
            points_left -= take(tree, points, second)
            for end in (first, second):
                nearest(tree, points, points.coordinates[end], found, k - 1)
                for i in range(k - 1):
                    labels[found.row[i]] = label
                    points_left -= take(tree, points, found.point[i])
                label += 1
            left -= 2 * k
    for point in range(len(points.begin)):
        for position in range(points.begin[point], points.end[point]):
            labels[points.rows[position]] = label
    return labels


@compiled
def _laid_out(points: Points, partner: Integers) -> tuple[Tree, Integers, Floats]:
    """A tree of the points left; those without a partner, the farthest from the middle first; squared distances."""
    p = points.coordinates.shape[1]
    centre, count = np.zeros(p), 0
    for point in range(len(points.begin)):
        if points.begin[point] < points.end[point]:
            count += 1
            for j in range(p):
                centre[j] += (points.coordinates[point, j] - centre[j]) / count
    waiting, radius, size = np.empty(count, np.intp), np.zeros(len(points.begin)), 0
    for point in range(len(points.begin)):
        if points.begin[point] < points.end[point] and partner[point] < 0:
            radius[point] = _squared(points.coordinates[point], centre)
            waiting[size] = point
            size += 1
    waiting = waiting[:size]
    return build(points, centre), waiting[np.argsort(-radius[waiting])], radius


@compiled
def _top_is_exact(
    tree: Tree,
    points: Points,
    heap: list[Entry],
    partner: Integers,
    waiting: Integers,
    radius: Floats,
    following: int,
) -> int:
    """Bring the most distant pair to the top of the heap, of those tied the one with the lowest rows.

    Returns how many of those waiting have been taken.
    """
    while True:
        if len(heap) > 0:
            squared, low, high, point = heap[0]
            if points.begin[point] == points.end[point]:
                heappop(heap)
                continue
            rows = _lowest_row(points, point), _lowest_row(points, partner[point])
            if min(rows) != low or max(rows) != high:
                heapreplace(heap, _measured(tree, points, point, partner))
                continue
            while following < len(waiting) and points.begin[waiting[following]] == points.end[waiting[following]]:
                following += 1
            if following == len(waiting) or 4 * radius[waiting[following]] * SLACK + UNDERFLOW < -squared:
                return following
        point = waiting[following]
        following += 1
        if points.begin[point] < points.end[point]:
            heappush(heap, _measured(tree, points, point, partner))


@compiled
def _measured(tree: Tree, points: Points, point: int, partner: Integers) -> Entry:
    """Find the point farthest from one; the entry for the heap."""
    other, _ = farthest(tree, points.coordinates[point])
    partner[point] = other
    squared = _squared(points.coordinates[other], points.coordinates[point])
    row, other_row = points.rows[points.begin[point]], points.rows[points.begin[other]]
    return -squared, min(row, other_row), max(row, other_row), point


@compiled
def _lowest_row(points: Points, point: int) -> int:
    """The lowest row a point has left; NO_ROW if none."""
    if points.begin[point] == points.end[point]:
        return NO_ROW
    row: int = points.rows[points.begin[point]]
    return row


@compiled
def _most_distant(points: Points, top: Entry, partner: Integers) -> tuple[int, int]:
    """The pair of an entry, the lower row first; where all are equal the two lowest rows, which may be one point."""
    point = top[3]
    if top[0] < 0.0:
        other = partner[point]
        return (point, other) if points.rows[points.begin[point]] == top[1] else (other, point)
    first = second = -1
    first_row = second_row = NO_ROW
    for point in range(len(points.begin)):
        for position in range(points.begin[point], min(points.begin[point] + 2, points.end[point])):
            row = points.rows[position]
            if row < first_row:
                first, second, first_row, second_row = point, first, row, first_row
            elif row < second_row:
                second, second_row = point, row
    return first, second


@compiled
def _squared(one: Floats, other: Floats) -> float:
    """Squared distance, summed in the order of the columns."""
    squared = 0.0
    for j in range(len(one)):
        difference = one[j] - other[j]
        squared += difference * difference
    return squared
