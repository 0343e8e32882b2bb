"""MDAV microaggregation of large tables: a k-d tree that records can be taken out of.

Rows that are equal are one point of the tree, with its rows in ascending order. As ties go to the lowest row, the
rows of a point are used up from the front: the rows left are always ``rows[begin[point]:end[point]]``.

No bound is approximate. Floating-point subtraction, squaring and addition are monotone, so a distance to a box,
summed over the columns in the order used for records, never passes the distance to a record inside the box.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

LEAF_SIZE = 16
NO_ROW = np.iinfo(np.intp).max


class Points(NamedTuple):
    """Distinct records and the rows each has left: ``rows[begin[i]:end[i]]``, ascending."""

    coordinates: Floats
    rows: Ints
    begin: Ints
    end: Ints


class Tree(NamedTuple):
    """Complete binary tree over the points left; node i has the children 2i + 1 and 2i + 2, the leaves come last."""

    low: Floats  # node x column, the box of the points left below
    high: Floats
    first_row: Ints  # lowest row left below a node, NO_ROW where there is none
    size: Ints  # points left in each leaf
    members: Ints  # leaf x slot
    block: Floats  # leaf x column x slot: distances to a whole leaf use vector instructions
    leaf_of: Ints  # by point
    stack: Ints
    stack_bound: Floats
    distances: Floats


class Nearest(NamedTuple):
    """The best rows of a search in order of distance, then row."""

    squared: Floats
    row: Ints
    point: Ints


def mdav_groups(X: Floats, k: int) -> Ints:
    """Group labels of MDAV microaggregation, numbered from 0 in the order in which the groups are made.

    The same groups as :func:`sfumato.kernels.textbook.mdav_groups`, which states the method, in time that grows
    little faster than the number of records where a tree can separate them (few or correlated variables).
    Ties, for the farthest as for the nearest, go to the lowest row.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    return _groups(_distinct(X), X, k)


def _distinct(X: Floats) -> Points:
    """Rows that are equal, brought together."""
    # Sorting by one number per row is enough: two different records that share it are at worst not sorted
    # into runs, and an unmerged duplicate costs time, not correctness.
    weights = np.sqrt(np.arange(X.shape[1]) + 2.0)
    key = np.zeros(len(X))
    for column, weight in zip(X.T, weights, strict=True):
        key += column * weight
    rows = key.argsort(kind="stable")
    starts = np.ones(len(X), dtype=np.bool_)
    starts[1:] = np.diff(key[rows]) != 0
    same_key = np.flatnonzero(~starts)
    starts[same_key] = (X[rows[same_key]] != X[rows[same_key - 1]]).any(axis=1)
    begin = np.flatnonzero(starts)
    end = np.append(begin[1:], len(X))
    return Points(X[rows[begin]], rows, begin, end)


@compiled
def _groups(points: Points, X: Floats, k: int) -> Ints:
    n, p = X.shape
    labels = np.empty(n, np.intp)
    total = np.zeros(p)
    carry = np.zeros(p)
    for row in range(n):
        _add(total, carry, X[row], 1.0)
    centroid = np.empty(p)
    centre = np.empty(p)
    found = Nearest(np.empty(k), np.empty(k, np.intp), np.empty(k, np.intp))

    points_left = len(points.begin)
    tree = _build(points)
    built_with = points_left
    left = n
    label = 0
    second = False  # of a pair
    while left >= 2 * k or second:
        if 2 * points_left < built_with and points_left > LEAF_SIZE:
            tree = _build(points)
            built_with = points_left
        if second:
            point = _farthest(tree, points, centre)
            second = False
        else:
            for j in range(p):
                centroid[j] = total[j] / left
            point = _farthest(tree, points, centroid)
            second = left >= 3 * k
        centre[:] = points.coordinates[point]
        for member in range(k):
            if member == 0:
                taken = point
            else:
                if member == 1:
                    _nearest(tree, points, centre, found, k - 1)
                taken = found.point[member - 1]
            labels[points.rows[points.begin[taken]]] = label
            _add(total, carry, points.coordinates[taken], -1.0)
            points_left -= _take(tree, points, taken)
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


@compiled
def _build(points: Points) -> Tree:
    """A tree over the points that have rows left, halved at the median of the widest column."""
    p = points.coordinates.shape[1]
    order = np.flatnonzero(points.begin < points.end)
    n = len(order)
    depth = 0
    while (n >> depth) > LEAF_SIZE:
        depth += 1
    leaves = 1 << depth
    capacity = (n + leaves - 1) // leaves + 1
    nodes = 2 * leaves - 1
    tree = Tree(
        np.empty((nodes, p)),
        np.empty((nodes, p)),
        np.empty(nodes, np.intp),
        np.empty(leaves, np.intp),
        np.empty((leaves, capacity), np.intp),
        np.zeros((leaves, p, capacity)),
        np.empty(len(points.begin), np.intp),
        np.empty(2 * depth + 4, np.intp),
        np.empty(2 * depth + 4),
        np.empty(capacity),
    )
    start = np.empty(nodes, np.intp)
    stop = np.empty(nodes, np.intp)
    start[0], stop[0] = 0, n
    values = np.empty(n)
    for node in range(leaves - 1):
        begin, end = start[node], stop[node]
        widest, width = 0, -1.0
        for j in range(p):
            low, high = np.inf, -np.inf
            for i in range(begin, end):
                value = points.coordinates[order[i], j]
                low, high = min(low, value), max(high, value)
            if high - low > width:
                widest, width = j, high - low
        for i in range(begin, end):
            values[i] = points.coordinates[order[i], widest]
        middle = (begin + end) // 2
        _split(values, order, begin, end - 1, middle)
        start[2 * node + 1], stop[2 * node + 1] = begin, middle
        start[2 * node + 2], stop[2 * node + 2] = middle, end
    for leaf in range(leaves):
        begin, end = start[leaves - 1 + leaf], stop[leaves - 1 + leaf]
        tree.size[leaf] = end - begin
        for slot in range(end - begin):
            point = order[begin + slot]
            tree.members[leaf, slot] = point
            tree.leaf_of[point] = leaf
            for j in range(p):
                tree.block[leaf, j, slot] = points.coordinates[point, j]
        _measure_leaf(tree, points, leaf)
    for node in range(leaves - 2, -1, -1):
        _measure_node(tree, node)
    return tree


@compiled
def _split(values: Floats, order: Ints, low: int, high: int, middle: int) -> None:
    """Quickselect: no value before the middle is greater, none after it is less."""
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@compiled
def _measure_leaf(tree: Tree, points: Points, leaf: int) -> None:
    """Box and lowest row of a leaf."""
    node = len(tree.size) - 1 + leaf
    for j in range(tree.low.shape[1]):
        low, high = np.inf, -np.inf
        for slot in range(tree.size[leaf]):
            value = tree.block[leaf, j, slot]
            low, high = min(low, value), max(high, value)
        tree.low[node, j], tree.high[node, j] = low, high
    first = NO_ROW
    for slot in range(tree.size[leaf]):
        first = min(first, points.rows[points.begin[tree.members[leaf, slot]]])
    tree.first_row[node] = first


@compiled
def _measure_node(tree: Tree, node: int) -> bool:
    """Box and lowest row of a node from its children; whether anything changed."""
    a, b = 2 * node + 1, 2 * node + 2
    first = min(tree.first_row[a], tree.first_row[b])
    changed = bool(first != tree.first_row[node])
    tree.first_row[node] = first
    for j in range(tree.low.shape[1]):
        low = min(tree.low[a, j], tree.low[b, j])
        high = max(tree.high[a, j], tree.high[b, j])
        changed = changed or low != tree.low[node, j] or high != tree.high[node, j]
        tree.low[node, j], tree.high[node, j] = low, high
    return changed


@compiled
def _take(tree: Tree, points: Points, point: int) -> int:
    """Take the lowest row of a point; 1 if it was the last one, else 0. Boxes above shrink to what is left."""
    leaf = tree.leaf_of[point]
    points.begin[point] += 1
    gone = points.begin[point] == points.end[point]
    if gone:
        slot = 0
        while tree.members[leaf, slot] != point:
            slot += 1
        last = tree.size[leaf] - 1
        tree.members[leaf, slot] = tree.members[leaf, last]
        for j in range(tree.block.shape[1]):
            tree.block[leaf, j, slot] = tree.block[leaf, j, last]
        tree.size[leaf] = last
    _measure_leaf(tree, points, leaf)
    node = len(tree.size) - 1 + leaf
    while node > 0:
        node = (node - 1) // 2
        if not _measure_node(tree, node):
            break
    return 1 if gone else 0


@compiled
def _measure_distances(tree: Tree, leaf: int, centre: Floats) -> None:
    """Squared distances to the points of a leaf."""
    size = tree.size[leaf]
    distances = tree.distances
    for slot in range(size):
        distances[slot] = 0.0
    for j in range(len(centre)):
        column = tree.block[leaf, j]
        for slot in range(size):
            difference = column[slot] - centre[j]
            distances[slot] += difference * difference


@compiled
def _greatest(tree: Tree, node: int, centre: Floats) -> float:
    """Squared distance to the farthest corner of a box."""
    squared = 0.0
    for j in range(len(centre)):
        difference = max(tree.high[node, j] - centre[j], centre[j] - tree.low[node, j])
        squared += difference * difference
    return squared


@compiled
def _least(tree: Tree, node: int, centre: Floats) -> float:
    """Squared distance to a box, 0 inside it."""
    squared = 0.0
    for j in range(len(centre)):
        difference = max(tree.low[node, j] - centre[j], centre[j] - tree.high[node, j], 0.0)
        squared += difference * difference
    return squared


@compiled
def _farthest(tree: Tree, points: Points, centre: Floats) -> int:
    """The point farthest from a centre; of those tied, the one with the lowest row."""
    stack, bounds = tree.stack, tree.stack_bound
    inner = len(tree.size) - 1
    best, best_row, best_point = -1.0, NO_ROW, -1
    stack[0], bounds[0] = 0, np.inf
    depth = 1
    while depth > 0:
        depth -= 1
        node, bound = stack[depth], bounds[depth]
        if bound < best or tree.first_row[node] == NO_ROW:
            continue
        if bound == best and tree.first_row[node] > best_row:
            continue
        if node >= inner:
            leaf = node - inner
            _measure_distances(tree, leaf, centre)
            for slot in range(tree.size[leaf]):
                squared = tree.distances[slot]
                if squared >= best:
                    point = tree.members[leaf, slot]
                    row = points.rows[points.begin[point]]
                    if squared > best or row < best_row:
                        best, best_row, best_point = squared, row, point
            continue
        a, b = 2 * node + 1, 2 * node + 2
        bound_a, bound_b = _greatest(tree, a, centre), _greatest(tree, b, centre)
        if bound_a > bound_b:
            a, b, bound_a, bound_b = b, a, bound_b, bound_a
        stack[depth], bounds[depth] = a, bound_a
        stack[depth + 1], bounds[depth + 1] = b, bound_b
        depth += 2
    return best_point


@compiled
def _nearest(tree: Tree, points: Points, centre: Floats, found: Nearest, wanted: int) -> None:
    """The wanted number of rows nearest to a centre."""
    stack, bounds = tree.stack, tree.stack_bound
    inner = len(tree.size) - 1
    count = 0
    worst, worst_row = np.inf, NO_ROW
    stack[0], bounds[0] = 0, 0.0
    depth = 1
    while depth > 0:
        depth -= 1
        node, bound = stack[depth], bounds[depth]
        if bound > worst or (bound == worst and tree.first_row[node] > worst_row):
            continue
        if node >= inner:
            leaf = node - inner
            _measure_distances(tree, leaf, centre)
            for slot in range(tree.size[leaf]):
                squared = tree.distances[slot]
                if squared > worst:
                    continue
                point = tree.members[leaf, slot]
                for position in range(points.begin[point], points.end[point]):
                    row = points.rows[position]
                    if squared == worst and row > worst_row:
                        break
                    place = min(count, wanted - 1)
                    while place > 0 and (
                        found.squared[place - 1] > squared
                        or (found.squared[place - 1] == squared and found.row[place - 1] > row)
                    ):
                        found.squared[place] = found.squared[place - 1]
                        found.row[place] = found.row[place - 1]
                        found.point[place] = found.point[place - 1]
                        place -= 1
                    found.squared[place], found.row[place], found.point[place] = squared, row, point
                    count = min(count + 1, wanted)
                    if count == wanted:
                        worst, worst_row = found.squared[wanted - 1], found.row[wanted - 1]
            continue
        a, b = 2 * node + 1, 2 * node + 2
        bound_a, bound_b = _least(tree, a, centre), _least(tree, b, centre)
        if bound_a < bound_b:
            a, b, bound_a, bound_b = b, a, bound_b, bound_a
        stack[depth], bounds[depth] = a, bound_a
        stack[depth + 1], bounds[depth + 1] = b, bound_b
        depth += 2
