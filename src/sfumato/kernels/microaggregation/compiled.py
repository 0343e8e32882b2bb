"""MDAV and maximum-distance microaggregation of large tables.

A tree of boxes around distinct records, from which rows can be taken: the farthest and the nearest, exactly. Rows that
are equal are one point of the tree. As ties go to the lowest row, the rows of a point are used up from the front, so
those it has left are always ``rows[begin[point]:end[point]]``.

The tree of ``kernels.boxes`` is for tables that stay: numpy builds it once, and a node has two children. This one is
built anew in machine code each time half of its points are gone, and a node has eight children whose bounds lie side by
side for vector instructions. With two children 100,000 records of 6 variables in groups of 3 took 1.46 s instead of
1.02, and 30,000 of 8 variables 0.55 s instead of 0.36.

Floating-point subtraction, squaring and addition are monotone, so a distance to a box, summed over the columns in the
order used for records, is never on the wrong side of the distance to a record in it.

Maximum-distance microaggregation takes the most distant pair of records left, again and again. Records only ever leave,
so what was once the distance of a record to the one farthest from it bounds that distance from above for good, and is
still exact while its partner is there. The most distant pair is therefore had from a heap of such bounds: whoever
stands on top with a partner gone is measured again, and no one else.

Records near the middle need no place in the heap: if the records are taken in the order of their distance to a
centre, the farthest first, then two of those not yet taken are at most twice the next one's distance apart.
"""

from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Entry = tuple[float, int, int, int]

# A new anchor costs, per point, this part of the search of a node.
ANCHOR_COST = 1 / 4
FAN = 8  # children of a node: their bounds are computed together, in vector instructions
LEAF_SIZE = 32  # most points in a leaf
LEVELS = 21  # more than memory can hold
NO_ROW = np.iinfo(np.intp).max
EPSILON = float(np.finfo(np.float64).eps)
SLACK = 1 + 1e-9  # more than the rounding error of a squared distance, in any number of columns memory can hold
UNDERFLOW = 1e-300


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

    The same groups as those of ``plain_mdav_groups``. The time grows with
    about the power 1.5 of the number of records where boxes separate them, that is with few or correlated variables,
    and towards the square with many independent ones. Ties, for the farthest as for the nearest, go to the lowest row.
    """
    return _mdav_groups(equal_rows_together(np.asarray(X, dtype=np.float64)), k)


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
def _mdav_groups(points: Points, k: int) -> Integers:
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


@compiled
def build(points: Points, centroid: Floats) -> Tree:
    """A tree over the points that have rows left, halved again and again at the median of the widest column."""
    p = points.coordinates.shape[1]
    order = np.empty(len(points.begin), np.intp)
    n = 0
    for point in range(len(order)):
        if points.begin[point] < points.end[point]:
            order[n] = point
            n += 1
    leaves, nodes = 1, 0
    while n > leaves * LEAF_SIZE:
        nodes += leaves
        leaves *= FAN
    slots = n // leaves + 1
    tree = Tree(
        low=np.zeros((nodes, p, FAN)),
        high=np.zeros((nodes, p, FAN)),
        reach=np.zeros((nodes, FAN)),
        first_row=np.zeros((nodes, FAN), np.intp),
        size=np.zeros(leaves, np.intp),
        point=np.zeros((leaves, slots), np.intp),
        row=np.zeros((leaves, slots), np.intp),
        radius=np.zeros((leaves, slots)),
        coordinates=np.zeros((leaves, p, slots)),
        leaf=np.zeros(len(points.begin), np.intp),
        anchor=np.zeros(p),
        stack=np.zeros(FAN * LEVELS, np.intp),
        bound=np.zeros(FAN * LEVELS),
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
            for j in range(p):
                tree.coordinates[leaf, j, slot] = points.coordinates[point, j]
    lay_anchor(tree, centroid)
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
def lay_anchor(tree: Tree, centroid: Floats) -> None:
    """Measure the tree from a new anchor."""
    for j in range(len(centroid)):
        tree.anchor[j] = centroid[j]
    for leaf in range(len(tree.size)):
        _measure_distances(tree, leaf, centroid)
        for slot in range(tree.size[leaf]):
            tree.radius[leaf, slot] = np.sqrt(tree.squared[slot])
        _measure_leaf(tree, leaf)
    for node in range(len(tree.low) - 1, 0, -1):
        _measure_node(tree, node)


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
    first, reach = NO_ROW, 0.0
    for i in range(FAN):
        first, reach = min(first, tree.first_row[node, i]), max(reach, tree.reach[node, i])
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
def take(tree: Tree, points: Points, point: int) -> int:
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
    for slot in range(size):
        squared[slot] = 0.0
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
def farthest(tree: Tree, centre: Floats) -> tuple[int, int]:
    """The point farthest from a centre, of those tied the one with the lowest row; and how many nodes it took."""
    nodes, p = len(tree.low), len(centre)
    gap, span = 0.0, 0.0
    for j in range(p):
        gap += (tree.anchor[j] - centre[j]) ** 2
    gap = np.sqrt(gap)
    for child in range(FAN if nodes else 0):
        span = max(span, tree.reach[0, child])
    # More than the rounding error of any bound by way of the anchor; the last term is for underflow.
    slack = 4.0 * (p + 8) ** 1.5 * EPSILON * (gap + span) ** 2 + 1e-300
    best, best_row, best_point, visited = -1.0, NO_ROW, -1, 0
    tree.stack[0], tree.bound[0] = 0, np.inf
    depth = 1
    while depth > 0:
        depth -= 1
        node = tree.stack[depth]
        if tree.bound[depth] < best:
            continue
        if tree.bound[depth] == best and tree.first_row[(node - 1) // FAN, (node - 1) % FAN] > best_row:
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
            if bound >= best:
                bound = min(bound, _corner(tree, node, child, centre))
            if bound > best or (bound == best and first_row < best_row):
                _push(tree, depth, bottom, FAN * node + child + 1, bound)
                depth += 1
    return best_point, visited


@compiled
def _measure_along(tree: Tree, node: int, centre: Floats) -> None:
    """Greatest product of (x - anchor) and (anchor - centre) in the box of each child."""
    along = tree.squared
    for child in range(FAN):
        along[child] = 0.0
    for j in range(len(centre)):
        anchor = tree.anchor[j]
        away = anchor - centre[j]
        side = tree.high[node, j] if away > 0.0 else tree.low[node, j]
        for child in range(len(side)):
            along[child] += away * (side[child] - anchor)


@compiled
def _corner(tree: Tree, node: int, child: int, centre: Floats) -> float:
    """Squared distance to the farthest corner of a child's box."""
    squared = 0.0
    for j in range(len(centre)):
        difference = max(tree.high[node, j, child] - centre[j], centre[j] - tree.low[node, j, child])
        squared += difference * difference
    return squared


@compiled
def nearest(tree: Tree, points: Points, centre: Floats, found: Nearest, wanted: int) -> None:
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
    for child in range(FAN):
        squared[child] = 0.0
    for j in range(len(centre)):
        low, high, coordinate = tree.low[node, j], tree.high[node, j], centre[j]
        for child in range(len(low)):
            difference = max(low[child] - coordinate, coordinate - high[child], 0.0)
            squared[child] += difference * difference


def maximum_distance_groups(X: Floats, k: int) -> Integers:
    """Group labels as of ``plain_maximum_distance_groups``, in about the time of a few searches per record."""
    return _most_distant_groups(equal_rows_together(np.asarray(X, dtype=np.float64)), k)


@compiled
def _most_distant_groups(points: Points, k: int) -> Integers:
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
