"""Searches of large tables in the capped city-block distance, in a tree of boxes; the cap is monotone, too."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import in_chunks
from sfumato.kernels.boxes import Boxes
from sfumato.kernels.boxes.compiled import DEPTH
from sfumato.kernels.compiling import compiled
from sfumato.kernels.mixed_distance import ROUNDING, TOLERANCE, Nearest, Points

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
CHUNK = 1024
STEPS = 3  # levels of the tree that are gone down at once: the boxes of all who stand there are compared together


class Tree(NamedTuple):
    """The points and boxes of a tree, column by column: what is compared together lies side by side."""

    points: Floats  # column x point, in the order of the leaves
    low: Floats  # column x node
    high: Floats
    starts: NDArray[np.intp]  # of each leaf
    levels: int  # above the leaves
    widest: int  # the most points of a leaf, or boxes compared together

    @classmethod
    def of(cls, boxes: Boxes) -> "Tree":
        """Lay a tree out anew."""
        points, low, high = (np.ascontiguousarray(side.T) for side in (boxes.points, boxes.low, boxes.high))
        levels = (len(boxes.starts) - 1).bit_length() - 1
        return cls(points, low, high, boxes.starts, levels, max(2**STEPS, int(np.diff(boxes.starts).max(initial=0))))


class Walk(NamedTuple):
    """Room for a walk down a tree: the nodes still to search, their levels and least distances; and distances."""

    node: Integers
    level: Integers
    bound: Floats
    apart: Floats


def nearer_and_tied(
    points: Points, here: Floats, short: Floats, reach: Floats, *, threads: int | None = None
) -> tuple[Integers, Integers]:
    """Count the rows nearer than ``short`` (2 for more), and those up to ``reach``, of each row of ``here``.

    Where two are nearer, the count up to ``reach`` is not completed.
    """
    nearer, tied = np.zeros(len(here), dtype=np.int64), np.zeros(len(here), dtype=np.int64)
    tree, queries = Tree.of(points.boxes), np.ascontiguousarray(here)
    weights = np.ascontiguousarray(points.copies[points.boxes.order])

    def search(rows: slice) -> None:
        _nearer_and_tied(tree, weights, queries[rows], short[rows], reach[rows], nearer[rows], tied[rows])

    in_chunks(search, len(here), CHUNK, threads=threads)
    return nearer, tied


def least_distances(points: Points, here: Floats, but: Integers, *, threads: int | None = None) -> Floats:
    """Return how far the nearest point is from each row; those of the unit ``but`` names are passed over."""
    distance = np.empty(len(here))
    tree, queries = Tree.of(points.boxes), np.ascontiguousarray(here)
    units = np.ascontiguousarray(points.unit[points.boxes.order])

    def search(rows: slice) -> None:
        _least(tree, units, queries[rows], but[rows], distance[rows])

    in_chunks(search, len(here), CHUNK, threads=threads)
    return distance


def nearest(points: Points, here: Floats, but: Integers, *, threads: int | None = None) -> Nearest:
    """Find the points nearest to each row; those of the unit ``but`` names are passed over, and -1 names none."""
    distance = least_distances(points, here, but, threads=threads)
    starts = np.zeros(len(here) + 1, dtype=np.int64)
    tree, queries = Tree.of(points.boxes), np.ascontiguousarray(here)
    units = np.ascontiguousarray(points.unit[points.boxes.order])
    nothing = np.empty(0, dtype=np.int64)

    def count(rows: slice) -> None:
        ends = starts[1:][rows]
        _within(tree, units, queries[rows], but[rows], distance[rows], np.zeros_like(ends), nothing, ends)

    in_chunks(count, len(here), CHUNK, threads=threads)
    np.cumsum(starts, out=starts)
    found = np.empty(starts[-1], dtype=np.int64)

    def collect(rows: slice) -> None:
        begin = starts[:-1][rows]
        _within(tree, units, queries[rows], but[rows], distance[rows], begin, found, np.zeros_like(begin))

    in_chunks(collect, len(here), CHUNK, threads=threads)
    return Nearest(distance, starts, points.boxes.order[found].astype(np.int64))


@compiled
def _nearer_and_tied(
    tree: Tree, weights: Integers, here: Floats, short: Floats, reach: Floats, nearer: Integers, tied: Integers
) -> None:
    leaves, walk = 2**tree.levels - 1, _room(tree.widest)
    for row in range(len(here)):
        depth = _begin(walk)
        while depth > 0 and nearer[row] < 2:
            depth -= 1
            node = walk.node[depth]
            if node < leaves:
                depth = _go_down(tree, walk, depth, here[row], reach[row])
                continue
            start, end = tree.starts[node - leaves], tree.starts[node - leaves + 1]
            _to_points(tree.points, start, end, here[row], walk.apart)
            for place in range(end - start):
                if walk.apart[place] < short[row]:
                    nearer[row] += weights[start + place]
                elif walk.apart[place] <= reach[row]:
                    tied[row] += weights[start + place]
        nearer[row] = min(nearer[row], 2)


@compiled
def _least(tree: Tree, units: Integers, here: Floats, but: Integers, distance: Floats) -> None:
    leaves, walk = 2**tree.levels - 1, _room(tree.widest)
    for row in range(len(here)):
        best = np.inf
        depth = _begin(walk)
        while depth > 0:
            depth -= 1
            if walk.bound[depth] >= best:
                continue
            node = walk.node[depth]
            if node < leaves:
                depth = _go_down(tree, walk, depth, here[row], best)
                continue
            start, end = tree.starts[node - leaves], tree.starts[node - leaves + 1]
            _to_points(tree.points, start, end, here[row], walk.apart)
            for place in range(end - start):
                if walk.apart[place] < best and (but[row] < 0 or units[start + place] != but[row]):
                    best = walk.apart[place]
        distance[row] = best


@compiled
def _within(
    tree: Tree,
    units: Integers,
    here: Floats,
    but: Integers,
    distance: Floats,
    begin: Integers,
    found: Integers,
    counts: Integers,
) -> None:
    """Count the points at the least distance of each row, ties by rounding included; note them where there is room."""
    leaves, walk = 2**tree.levels - 1, _room(tree.widest)
    for row in range(len(here)):
        reach = distance[row] + (distance[row] * TOLERANCE + ROUNDING * here.shape[1])
        depth = _begin(walk) if np.isfinite(reach) else 0
        while depth > 0:
            depth -= 1
            node = walk.node[depth]
            if node < leaves:
                depth = _go_down(tree, walk, depth, here[row], reach)
                continue
            start, end = tree.starts[node - leaves], tree.starts[node - leaves + 1]
            _to_points(tree.points, start, end, here[row], walk.apart)
            for place in range(end - start):
                if walk.apart[place] <= reach and (but[row] < 0 or units[start + place] != but[row]):
                    if begin[row] + counts[row] < len(found):
                        found[begin[row] + counts[row]] = start + place
                    counts[row] += 1


@compiled
def _room(widest: int) -> Walk:
    return Walk(np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64), np.empty(DEPTH), np.empty(widest))


@compiled
def _begin(walk: Walk) -> int:
    """Put the root on the stack; how deep it is now."""
    walk.node[0], walk.level[0], walk.bound[0] = 0, 0, 0.0
    return 1


@compiled
def _go_down(tree: Tree, walk: Walk, depth: int, centre: Floats, limit: float) -> int:
    """Put who stands some levels below a node on the stack, the nearest on top; how deep it is now."""
    node, level = walk.node[depth], walk.level[depth]
    steps = min(STEPS, tree.levels - level)
    number, bottom, apart = 2**steps, depth, walk.apart
    first = (node + 1) * number - 1
    _to_boxes(tree.low, tree.high, first, number, centre, apart)
    for child in range(number):
        if apart[child] > limit:
            continue
        place = depth
        while place > bottom and walk.bound[place - 1] < apart[child]:
            walk.node[place], walk.bound[place] = walk.node[place - 1], walk.bound[place - 1]
            place -= 1
        walk.node[place], walk.bound[place] = first + child, apart[child]
        walk.level[depth] = level + steps
        depth += 1
    return depth


@compiled
def _to_points(points: Floats, start: int, end: int, centre: Floats, apart: Floats) -> None:
    """Measure the distances of a centre to the points of a leaf; added up in the order of the columns."""
    for place in range(end - start):
        apart[place] = 0.0
    for j in range(len(centre)):
        column, coordinate = points[j, start:end], centre[j]
        for place in range(len(column)):
            apart[place] += min(abs(column[place] - coordinate), 1.0)


@compiled
def _to_boxes(low: Floats, high: Floats, first: int, number: int, centre: Floats, apart: Floats) -> None:
    """Measure the least distances of a centre to some boxes that lie side by side."""
    for place in range(number):
        apart[place] = 0.0
    for j in range(len(centre)):
        lows, highs, coordinate = low[j, first : first + number], high[j, first : first + number], centre[j]
        for place in range(len(lows)):
            apart[place] += min(max(lows[place] - coordinate, coordinate - highs[place], 0.0), 1.0)
