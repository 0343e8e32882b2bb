"""Average linkage of many points: nearest clusters found in a tree of boxes that follows the merges."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.average_linkage import Merges
from sfumato.kernels.boxes import Boxes
from sfumato.kernels.boxes.compiled import DEPTH, first_leaf, squared_to_box, squared_to_point
from sfumato.kernels.compiling import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Flags = NDArray[np.bool_]


def merges(tree: Boxes, masses: Floats) -> Merges:
    """Follow nearest neighbours as ``average_linkage.merges`` does, with the same result to the bit.

    Points are those of the tree, in its order. A cluster keeps the place of its lowest point; the boxes on its way to
    the root, and the least spread in each, are kept exact, so that a box nearer than |c_A - box|^2 + least spread is
    never needed. One merge changes two such ways, so that the cost does not depend on how many can be done at once.
    """
    n = len(tree.points)
    result = Merges(np.full(n, -1), np.zeros(n), np.zeros(n, dtype=np.intp))
    leaf = np.repeat(np.arange(len(tree.starts) - 1), np.diff(tree.starts))
    clusters = tree._replace(points=tree.points.copy(), low=tree.low.copy(), high=tree.high.copy())
    _follow(clusters, leaf, masses.astype(np.float64), result)
    return result


@compiled
def _follow(tree: Boxes, leaf: Integers, mass: Floats, result: Merges) -> None:
    n = len(tree.points)
    spread = np.zeros(n)  # infinite where a cluster is no more
    least = np.zeros(len(tree.low))  # least spread in a node
    reached = np.zeros(n)
    on_chain = np.zeros(n, dtype=np.bool_)
    chain = np.empty(n, dtype=np.intp)
    length, first = 0, 0
    for step in range(n - 1):
        if length == 0:
            while spread[first] == np.inf:
                first += 1
            chain[0], length = first, 1
            on_chain[first] = True
        while True:
            tip = chain[length - 1]
            before = chain[length - 2] if length > 1 else -1
            nearest = _nearest(tree, spread, least, on_chain, tip, before)
            if nearest == before:
                break
            chain[length] = nearest
            on_chain[nearest] = True
            length += 1
        low, high = min(tip, before), max(tip, before)
        apart = squared_to_point(tree, before, tree.points[tip])
        height = max(apart + spread[before] + spread[tip], reached[low], reached[high])
        result.into[high], result.height[high], result.step[high] = low, height, step
        total = mass[low] + mass[high]
        share = mass[high] / total
        spread[low] = (1 - share) * spread[low] + share * spread[high] + share * (1 - share) * apart
        for j in range(tree.points.shape[1]):
            tree.points[low, j] += share * (tree.points[high, j] - tree.points[low, j])
        mass[low], reached[low] = total, height
        spread[high] = np.inf
        on_chain[low] = on_chain[high] = False
        length -= 2
        _refresh(tree, spread, least, leaf[low])
        if leaf[high] != leaf[low]:
            _refresh(tree, spread, least, leaf[high])


@compiled
def _nearest(tree: Boxes, spread: Floats, least: Floats, on_chain: Flags, tip: int, before: int) -> int:
    """Return the cluster nearest to ``tip``: ``before`` unless one not on the chain is nearer; of ties the lowest."""
    leaves, centre = first_leaf(tree), tree.points[tip]
    best = before
    shortest = np.inf if before < 0 else squared_to_point(tree, before, centre) + spread[before]
    nodes = np.empty(DEPTH, dtype=np.intp)
    bounds = np.empty(DEPTH)
    nodes[0], bounds[0], depth = 0, 0.0, 1
    while depth > 0:
        depth -= 1
        node = nodes[depth]
        if bounds[depth] > shortest:
            continue
        if node < leaves:
            left, right = 2 * node + 1, 2 * node + 2
            to_left = squared_to_box(tree, left, centre) + least[left]
            to_right = squared_to_box(tree, right, centre) + least[right]
            if to_left > to_right:  # the nearer one is looked at first
                left, right, to_left, to_right = right, left, to_right, to_left
            if to_right <= shortest:
                nodes[depth], bounds[depth] = right, to_right
                depth += 1
            if to_left <= shortest:
                nodes[depth], bounds[depth] = left, to_left
                depth += 1
            continue
        number = node - leaves
        for other in range(tree.starts[number], tree.starts[number + 1]):
            apart = squared_to_point(tree, other, centre) + spread[other]
            tied = apart == shortest and best != before and other < best
            if (apart < shortest or tied) and not on_chain[other]:
                best, shortest = other, apart
    return best


@compiled
def _refresh(tree: Boxes, spread: Floats, least: Floats, leaf: int) -> None:
    """Make the boxes from a leaf up to the root fit what they hold, as far up as anything changes."""
    node = first_leaf(tree) + leaf
    columns = tree.points.shape[1]
    tree.low[node], tree.high[node], least[node] = np.inf, -np.inf, np.inf
    for cluster in range(tree.starts[leaf], tree.starts[leaf + 1]):
        if spread[cluster] < np.inf:
            least[node] = min(least[node], spread[cluster])
            for j in range(columns):
                tree.low[node, j] = min(tree.low[node, j], tree.points[cluster, j])
                tree.high[node, j] = max(tree.high[node, j], tree.points[cluster, j])
    changed = True
    while node > 0 and changed:
        node = (node - 1) // 2
        left, right = 2 * node + 1, 2 * node + 2
        smallest = min(least[left], least[right])
        changed = smallest != least[node]
        least[node] = smallest
        for j in range(columns):
            low = min(tree.low[left, j], tree.low[right, j])
            high = max(tree.high[left, j], tree.high[right, j])
            changed = changed or low != tree.low[node, j] or high != tree.high[node, j]
            tree.low[node, j], tree.high[node, j] = low, high
