"""MDAV microaggregation of large tables: a tree of boxes that records can be taken out of.

Rows that are equal are one point of the tree. As ties go to the lowest row, the rows of a point are used up from
the front, so those it has left are always ``rows[begin[point]:end[point]]``.

The searches are exact. Floating-point subtraction, squaring and addition are monotone, so a distance to a box,
summed over the columns in the order used for records, is never on the wrong side of the distance to a record in it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

FAN = 8  # children of a node: their bounds are computed together, in vector instructions
LEAF_SIZE = 16  # most points in a leaf
NO_ROW = np.iinfo(np.intp).max
EPSILON = float(np.finfo(np.float64).eps)
ANCHOR_COST = 8  # a new anchor costs, per point, this fraction of the search of a node


class Points(NamedTuple):
    """Distinct records and the rows each has left: ``rows[begin[i]:end[i]]``, ascending."""

    coordinates: Floats
    rows: Integers
    begin: Integers
    end: Integers


class Tree(NamedTuple):
    """Complete tree over the points left; the children of node i are 8i + 1 to 8i + 8, and the leaves come last.

    What is known of a node is stored with its parent, at its place among the children.
    """

    low: Floats  # node x column x child: box of the points left
    high: Floats
    reach: Floats  # node x child: greatest distance from the anchor
    first_row: Integers  # node x child: lowest row left, NO_ROW in an empty child
    size: Integers  # leaf: number of points left
    point: Integers  # leaf x slot
    row: Integers  # leaf x slot: lowest row the point has left
    radius: Floats  # leaf x slot: distance from the anchor
    coordinates: Floats  # leaf x column x slot
    leaf: Integers  # of each point
    anchor: Floats  # a recent centroid
    span: Floats  # one number: greatest distance from the anchor when it was laid
    stack: Integers  # nodes still to search, and their bounds
    bound: Floats
    squared: Floats  # distances to the slots of a leaf or the children of a node


class Nearest(NamedTuple):
    """Rows found by a search, in order of distance, then row."""

    squared: Floats
    row: Integers
    point: Integers


def mdav_groups(X: Floats, k: int) -> Integers:
    """Group labels of MDAV microaggregation, numbered from 0 in the order in which the groups are made.

    The same groups as :func:`sfumato.kernels.textbook.mdav_groups`, which states the method and its parameters, in
    time that grows little faster than the number of records where boxes separate them: with few or correlated
    variables. Ties, for the farthest as for the nearest, go to the lowest row.
    """
    return _groups(_distinct(np.asarray(X, dtype=np.float64)), k)


def _distinct(X: Floats) -> Points:
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
    left, points_left = len(points.rows), len(points.begin)
    p = points.coordinates.shape[1]
    total, carry, centroid, centre = np.zeros(p), np.zeros(p), np.zeros(p), np.zeros(p)
    for point in range(points_left):
        for _ in range(points.begin[point], points.end[point]):
            _add(total, carry, points.coordinates[point], 1.0)
    labels = np.empty(left, np.intp)
    found = Nearest(np.empty(k), np.empty(k, np.intp), np.empty(k, np.intp))
    tree = _build(points, total / max(left, 1))
    points_built, searched, label = points_left, 0, 0
    second = False  # of a pair
    while left >= 2 * k or second:
        if second:
            point, _ = _farthest(tree, centre)
            second = False
        else:
            for j in range(p):
                centroid[j] = total[j] / left
            if 2 * points_left < points_built:
                tree = _build(points, centroid)
                points_built, searched = points_left, 0
            elif ANCHOR_COST * searched > points_left:
                _lay_anchor(tree, centroid)
                searched = 0
            point, visited = _farthest(tree, centroid)
            searched += visited
            second = left >= 3 * k
        centre[:] = points.coordinates[point]
        labels[points.rows[points.begin[point]]] = label
        _add(total, carry, centre, -1.0)
        points_left -= _take(tree, points, point)
        _nearest(tree, points, centre, found, k - 1)
        for i in range(k - 1):
            labels[found.row[i]] = label
            _add(total, carry, points.coordinates[found.point[i]], -1.0)
            points_left -= _take(tree, points, found.point[i])
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
def _build(points: Points, centroid: Floats) -> Tree:
    """A tree over the points that have rows left, halved again and again at the median of the widest column."""
    order = np.flatnonzero(points.begin < points.end)
    n, p = len(order), points.coordinates.shape[1]
    leaves, nodes, depth = 1, 0, 0
    while n > leaves * LEAF_SIZE:
        nodes += leaves
        leaves *= FAN
        depth += 1
    slots = n // leaves + 1
    tree = Tree(
        low=np.full((nodes, p, FAN), np.inf),
        high=np.full((nodes, p, FAN), -np.inf),
        reach=np.zeros((nodes, FAN)),
        first_row=np.full((nodes, FAN), NO_ROW),
        size=np.zeros(leaves, np.intp),
        point=np.zeros((leaves, slots), np.intp),
        row=np.zeros((leaves, slots), np.intp),
        radius=np.zeros((leaves, slots)),
        coordinates=np.zeros((leaves, p, slots)),
        leaf=np.zeros(len(points.begin), np.intp),
        anchor=np.zeros(p),
        span=np.zeros(1),
        stack=np.zeros(FAN * (depth + 1), np.intp),
        bound=np.zeros(FAN * (depth + 1)),
        squared=np.zeros(max(slots, FAN)),
    )
    edges = np.zeros(leaves + 1, np.intp)
    edges[leaves] = n
    values = np.empty(n)
    step = leaves
    while step > 1:
        for first in range(0, leaves, step):
            edges[first + step // 2] = _halve(points, order, values, edges[first], edges[first + step])
        step //= 2
    for leaf in range(leaves):
        tree.size[leaf] = edges[leaf + 1] - edges[leaf]
        for slot in range(tree.size[leaf]):
            point = order[edges[leaf] + slot]
            tree.leaf[point] = leaf
            tree.point[leaf, slot] = point
            tree.row[leaf, slot] = points.rows[points.begin[point]]
            tree.coordinates[leaf, :, slot] = points.coordinates[point]
        _measure_leaf(tree, leaf)
    for node in range(nodes - 1, 0, -1):
        _measure_node(tree, node)
    _lay_anchor(tree, centroid)
    return tree


@compiled
def _halve(points: Points, order: Integers, values: Floats, begin: int, end: int) -> int:
    """Reorder a range of points so that its halves meet at the median of its widest column; where they meet."""
    widest, width = 0, -1.0
    for j in range(points.coordinates.shape[1]):
        lowest, highest = np.inf, -np.inf
        for i in range(begin, end):
            value = points.coordinates[order[i], j]
            lowest, highest = min(lowest, value), max(highest, value)
        if highest - lowest > width:
            widest, width = j, highest - lowest
    for i in range(begin, end):
        values[i] = points.coordinates[order[i], widest]
    middle = (begin + end) // 2
    low, high = begin, end - 1
    while low < high:  # quickselect
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
        low, high = (low if middle <= j else i), (high if middle >= i else j)
        if j < middle < i:
            break
    return middle


@compiled
def _lay_anchor(tree: Tree, centroid: Floats) -> None:
    """Measure all distances from a new anchor."""
    nodes = len(tree.low)
    tree.anchor[:] = centroid
    tree.span[0] = 0.0
    for leaf in range(len(tree.size)):
        _measure_distances(tree, leaf, centroid)
        reach = 0.0
        for slot in range(tree.size[leaf]):
            tree.radius[leaf, slot] = np.sqrt(tree.squared[slot])
            reach = max(reach, tree.radius[leaf, slot])
        if nodes:
            parent, child = divmod(nodes + leaf - 1, FAN)
            tree.reach[parent, child] = reach
        tree.span[0] = max(tree.span[0], reach)
    for node in range(nodes - 1, 0, -1):
        parent, child = divmod(node - 1, FAN)
        tree.reach[parent, child] = tree.reach[node].max()


@compiled
def _measure_leaf(tree: Tree, leaf: int) -> None:
    """Tell the parent of a leaf what is left in it."""
    if len(tree.low) == 0:
        return
    parent, child = divmod(len(tree.low) + leaf - 1, FAN)
    size = tree.size[leaf]
    for j in range(tree.low.shape[1]):
        low, high = np.inf, -np.inf
        for slot in range(size):
            value = tree.coordinates[leaf, j, slot]
            low, high = min(low, value), max(high, value)
        tree.low[parent, j, child], tree.high[parent, j, child] = low, high
    first, reach = NO_ROW, 0.0
    for slot in range(size):
        first = min(first, tree.row[leaf, slot])
        reach = max(reach, tree.radius[leaf, slot])
    tree.first_row[parent, child], tree.reach[parent, child] = first, reach


@compiled
def _measure_node(tree: Tree, node: int) -> bool:
    """Tell the parent of a node what is left below it; whether that is news."""
    parent, child = divmod(node - 1, FAN)
    first, reach = tree.first_row[node].min(), tree.reach[node].max()
    news = bool(first != tree.first_row[parent, child] or reach != tree.reach[parent, child])
    tree.first_row[parent, child], tree.reach[parent, child] = first, reach
    for j in range(tree.low.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(FAN):
            low, high = min(low, tree.low[node, j, i]), max(high, tree.high[node, j, i])
        news = news or low != tree.low[parent, j, child] or high != tree.high[parent, j, child]
        tree.low[parent, j, child], tree.high[parent, j, child] = low, high
    return news


@compiled
def _take(tree: Tree, points: Points, point: int) -> int:
    """Take the lowest row of a point, and shrink the boxes to what is left; 1 if it was its last row, else 0."""
    leaf = tree.leaf[point]
    slot = 0
    while tree.point[leaf, slot] != point:
        slot += 1
    points.begin[point] += 1
    gone = points.begin[point] == points.end[point]
    if gone:
        last = tree.size[leaf] - 1
        tree.size[leaf] = last
        tree.point[leaf, slot] = tree.point[leaf, last]
        tree.row[leaf, slot] = tree.row[leaf, last]
        tree.radius[leaf, slot] = tree.radius[leaf, last]
        for j in range(tree.coordinates.shape[1]):
            tree.coordinates[leaf, j, slot] = tree.coordinates[leaf, j, last]
    else:
        tree.row[leaf, slot] = points.rows[points.begin[point]]
    _measure_leaf(tree, leaf)
    node = (len(tree.low) + leaf - 1) // FAN
    while node > 0 and _measure_node(tree, node):
        node = (node - 1) // FAN
    return 1 if gone else 0


@compiled
def _measure_distances(tree: Tree, leaf: int, centre: Floats) -> None:
    """Squared distances to the points of a leaf."""
    size, squared = tree.size[leaf], tree.squared
    squared[:size] = 0.0
    for j in range(len(centre)):
        column, coordinate = tree.coordinates[leaf, j], centre[j]
        for slot in range(size):
            difference = column[slot] - coordinate
            squared[slot] += difference * difference


@compiled
def _push(tree: Tree, depth: int, bottom: int, node: int, bound: float) -> None:
    """Put a node on the stack, above those from the bottom on that have a lower bound."""
    while depth > bottom and tree.bound[depth - 1] > bound:
        tree.bound[depth], tree.stack[depth] = tree.bound[depth - 1], tree.stack[depth - 1]
        depth -= 1
    tree.bound[depth], tree.stack[depth] = bound, node


@compiled
def _farthest(tree: Tree, centre: Floats) -> tuple[int, int]:
    """The point farthest from a centre, of those tied the one with the lowest row; and how many nodes it took."""
    nodes, p = len(tree.low), len(centre)
    gap = 0.0
    for j in range(p):
        gap += (tree.anchor[j] - centre[j]) ** 2
    gap = np.sqrt(gap)
    # More than the rounding error of any bound by way of the anchor; the last term is for underflow.
    slack = 4.0 * (p + 8) ** 1.5 * EPSILON * (gap + tree.span[0]) ** 2 + 1e-300
    best, best_row, best_point, visited = -1.0, NO_ROW, -1, 0
    tree.stack[0], tree.bound[0] = 0, np.inf
    depth = 1
    while depth > 0:
        depth -= 1
        node = tree.stack[depth]
        if tree.bound[depth] < best:
            continue
        if node >= nodes:
            leaf = node - nodes
            _measure_distances(tree, leaf, centre)
            for slot in range(tree.size[leaf]):
                squared, row = tree.squared[slot], tree.row[leaf, slot]
                if squared > best or (squared == best and row < best_row):
                    best, best_row, best_point = squared, row, tree.point[leaf, slot]
            continue
        visited += 1
        _measure_along(tree, node, centre)
        bottom = depth
        for child in range(FAN):
            first_row, reach = tree.first_row[node, child], tree.reach[node, child]
            if first_row == NO_ROW:
                continue
            # |x - centre|^2 = |x - anchor|^2 + 2 (x - anchor)'(anchor - centre) + |anchor - centre|^2
            bound = reach * reach + 2.0 * min(tree.squared[child], reach * gap) + gap * gap + slack
            if bound < best:
                continue
            pass
            if bound > best or (bound == best and first_row < best_row):
                _push(tree, depth, bottom, FAN * node + child + 1, bound)
                depth += 1
    return best_point, visited


@compiled
def _measure_along(tree: Tree, node: int, centre: Floats) -> None:
    """Greatest product of (x - anchor) and (anchor - centre) in the boxes of the children."""
    along = tree.squared
    along[:FAN] = 0.0
    for j in range(len(centre)):
        low, high, anchor = tree.low[node, j], tree.high[node, j], tree.anchor[j]
        away = anchor - centre[j]
        for child in range(FAN):
            along[child] += max(away * (low[child] - anchor), away * (high[child] - anchor))


@compiled
def _corner(tree: Tree, node: int, child: int, centre: Floats) -> float:
    """Squared distance to the farthest corner of a child's box."""
    squared = 0.0
    for j in range(len(centre)):
        difference = max(tree.high[node, j, child] - centre[j], centre[j] - tree.low[node, j, child])
        squared += difference * difference
    return squared


@compiled
def _nearest(tree: Tree, points: Points, centre: Floats, found: Nearest, wanted: int) -> None:
    """The wanted number of rows nearest to a centre, all but the centre's own row being candidates."""
    if wanted == 0:
        return
    nodes, count = len(tree.low), 0
    worst, worst_row = np.inf, NO_ROW
    tree.stack[0], tree.bound[0] = 0, 0.0
    depth = 1
    while depth > 0:
        depth -= 1
        node = tree.stack[depth]
        if -tree.bound[depth] > worst:
            continue
        if node < nodes:
            _measure_least(tree, node, centre)
            bottom = depth
            for child in range(FAN):
                squared, first_row = tree.squared[child], tree.first_row[node, child]
                if first_row != NO_ROW and (squared < worst or (squared == worst and first_row < worst_row)):
                    _push(tree, depth, bottom, FAN * node + child + 1, -squared)
                    depth += 1
            continue
        leaf = node - nodes
        _measure_distances(tree, leaf, centre)
        for slot in range(tree.size[leaf]):
            squared = tree.squared[slot]
            if squared > worst:
                continue
            point = tree.point[leaf, slot]
            for position in range(points.begin[point], points.end[point]):
                row = points.rows[position]
                if squared == worst and row > worst_row:
                    break
                count = _insert(found, min(count, wanted - 1), squared, row, point)
                if count == wanted:
                    worst, worst_row = found.squared[wanted - 1], found.row[wanted - 1]


@compiled
def _insert(found: Nearest, place: int, squared: float, row: int, point: int) -> int:
    """Insert a row into those found, over the one at a place if that is taken; how many there are now."""
    count = place + 1
    while place > 0 and (
        found.squared[place - 1] > squared or (found.squared[place - 1] == squared and found.row[place - 1] > row)
    ):
        found.squared[place] = found.squared[place - 1]
        found.row[place] = found.row[place - 1]
        found.point[place] = found.point[place - 1]
        place -= 1
    found.squared[place], found.row[place], found.point[place] = squared, row, point
    return count


@compiled
def _measure_least(tree: Tree, node: int, centre: Floats) -> None:
    """Squared distances to the boxes of the children, 0 inside."""
    squared = tree.squared
    squared[:FAN] = 0.0
    for j in range(len(centre)):
        low, high, coordinate = tree.low[node, j], tree.high[node, j], centre[j]
        for child in range(FAN):
            difference = max(low[child] - coordinate, coordinate - high[child], 0.0)
            squared[child] += difference * difference
