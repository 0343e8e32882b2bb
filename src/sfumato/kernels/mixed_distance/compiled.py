"""Searches of large tables in the capped city-block distance, in a tree of boxes; the cap is monotone, too."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import in_chunks
from sfumato.kernels.boxes import Boxes
from sfumato.kernels.boxes.compiled import DEPTH, first_leaf, push_children
from sfumato.kernels.compiling import compiled
from sfumato.kernels.mixed_distance import ROUNDING, TOLERANCE, Nearest, Points

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
CHUNK = 1024


def nearer_and_tied(
    points: Points, here: Floats, short: Floats, reach: Floats, *, threads: int | None = None
) -> tuple[Integers, Integers]:
    """Count the rows nearer than ``short`` (2 for more), and those up to ``reach``, of each row of ``here``.

    Where two are nearer, the count up to ``reach`` is not completed.
    """
    boxes = points.boxes
    nearer, tied = np.zeros(len(here), dtype=np.int64), np.zeros(len(here), dtype=np.int64)
    weights = np.ascontiguousarray(points.copies[boxes.order])
    queries = np.ascontiguousarray(here)

    def search(rows: slice) -> None:
        _nearer_and_tied(boxes, weights, queries[rows], short[rows], reach[rows], nearer[rows], tied[rows])

    in_chunks(search, len(here), CHUNK, threads=threads)
    return nearer, tied


def least_distances(points: Points, here: Floats, but: Integers, *, threads: int | None = None) -> Floats:
    """Return how far the nearest point is from each row; those of the unit ``but`` names are passed over."""
    boxes = points.boxes
    distance = np.empty(len(here))
    queries = np.ascontiguousarray(here)
    units = np.ascontiguousarray(points.unit[boxes.order])

    def search(rows: slice) -> None:
        _least(boxes, units, queries[rows], but[rows], distance[rows])

    in_chunks(search, len(here), CHUNK, threads=threads)
    return distance


def nearest(points: Points, here: Floats, but: Integers, *, threads: int | None = None) -> Nearest:
    """Find the points nearest to each row; those of the unit ``but`` names are passed over, and -1 names none."""
    boxes = points.boxes
    distance = np.empty(len(here))
    starts = np.zeros(len(here) + 1, dtype=np.int64)
    queries = np.ascontiguousarray(here)
    units = np.ascontiguousarray(points.unit[boxes.order])

    def search(rows: slice) -> None:
        _least(boxes, units, queries[rows], but[rows], distance[rows])
        _count(boxes, units, queries[rows], but[rows], distance[rows], starts[1:][rows])

    in_chunks(search, len(here), CHUNK, threads=threads)
    np.cumsum(starts, out=starts)
    found = np.empty(starts[-1], dtype=np.int64)

    def collect(rows: slice) -> None:
        _collect(boxes, units, queries[rows], but[rows], distance[rows], starts[:-1][rows], found)

    in_chunks(collect, len(here), CHUNK, threads=threads)
    return Nearest(distance, starts, boxes.order[found].astype(np.int64))


@compiled
def _nearer_and_tied(
    boxes: Boxes, weights: Integers, here: Floats, short: Floats, reach: Floats, nearer: Integers, tied: Integers
) -> None:
    leaves = first_leaf(boxes)
    stack = np.empty(DEPTH, dtype=np.int64)
    for row in range(len(here)):
        depth = 1
        stack[0] = 0
        while depth > 0 and nearer[row] < 2:
            depth -= 1
            node = stack[depth]
            if _to_box(boxes, node, here[row]) > reach[row]:
                continue
            if node < leaves:
                depth = _descend(boxes, node, here[row], stack, depth)
                continue
            for point in range(boxes.starts[node - leaves], boxes.starts[node - leaves + 1]):
                distance = _to_point(boxes, point, here[row])
                if distance < short[row]:
                    nearer[row] += weights[point]
                elif distance <= reach[row]:
                    tied[row] += weights[point]
        nearer[row] = min(nearer[row], 2)


@compiled
def _least(boxes: Boxes, units: Integers, here: Floats, but: Integers, distance: Floats) -> None:
    leaves = first_leaf(boxes)
    stack = np.empty(DEPTH, dtype=np.int64)
    for row in range(len(here)):
        best = np.inf
        depth = 1
        stack[0] = 0
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if _to_box(boxes, node, here[row]) >= best:
                continue
            if node < leaves:
                depth = _descend(boxes, node, here[row], stack, depth)
                continue
            for point in range(boxes.starts[node - leaves], boxes.starts[node - leaves + 1]):
                if but[row] < 0 or units[point] != but[row]:
                    best = min(best, _to_point(boxes, point, here[row]))
        distance[row] = best


@compiled
def _count(boxes: Boxes, units: Integers, here: Floats, but: Integers, distance: Floats, counts: Integers) -> None:
    nothing = np.empty(0, dtype=np.int64)
    for row in range(len(here)):
        counts[row] = _within(boxes, units, here[row], but[row], distance[row], nothing)


@compiled
def _collect(
    boxes: Boxes,
    units: Integers,
    here: Floats,
    but: Integers,
    distance: Floats,
    starts: Integers,
    found: Integers,
) -> None:
    for row in range(len(here)):
        _within(boxes, units, here[row], but[row], distance[row], found[starts[row] :])


@compiled
def _within(boxes: Boxes, units: Integers, centre: Floats, but: int, distance: float, found: Integers) -> int:
    """Number the points within a distance, ties by rounding included, and note them where there is room."""
    if not np.isfinite(distance):
        return 0
    reach = distance + (distance * TOLERANCE + ROUNDING * len(centre))
    leaves = first_leaf(boxes)
    stack = np.empty(DEPTH, dtype=np.int64)
    depth = 1
    stack[0] = 0
    count = 0
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if _to_box(boxes, node, centre) > reach:
            continue
        if node < leaves:
            depth = push_children(2 * node + 1, 2 * node + 2, stack, depth)
            continue
        for point in range(boxes.starts[node - leaves], boxes.starts[node - leaves + 1]):
            other = but < 0 or units[point] != but
            if other and _to_point(boxes, point, centre) <= reach:
                if count < len(found):
                    found[count] = point
                count += 1
    return count


@compiled
def _descend(boxes: Boxes, node: int, centre: Floats, stack: Integers, depth: int) -> int:
    """Put both children on the stack, the nearer on top; how deep it is now."""
    left, right = 2 * node + 1, 2 * node + 2
    if _to_box(boxes, left, centre) > _to_box(boxes, right, centre):
        left, right = right, left
    return push_children(left, right, stack, depth)


@compiled
def _to_box(boxes: Boxes, node: int, centre: Floats) -> float:
    total = 0.0
    for j in range(len(centre)):
        total += min(max(boxes.low[node, j] - centre[j], centre[j] - boxes.high[node, j], 0.0), 1.0)
    return total


@compiled
def _to_point(boxes: Boxes, point: int, centre: Floats) -> float:
    total = 0.0
    for j in range(len(centre)):
        total += min(abs(boxes.points[point, j] - centre[j]), 1.0)
    return total
