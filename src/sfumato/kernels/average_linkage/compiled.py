"""Average linkage of many points: nearest clusters found in a tree of boxes that follows the merges.

Eight boxes, or the sixteen clusters of a leaf, lie side by side in memory, column by column, and are compared with a
centre at once: loops over ``len`` of a buffer become instructions on several numbers, which those over a constant do
not. Where there are many columns, the tree is built anew of the clusters that are left whenever a third of them has
gone.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import boxes
from sfumato.kernels.average_linkage import Merges
from sfumato.kernels.compiling import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

LEAF = boxes.LEAF
WIDTH = 8  # boxes of a block
DEPTH = 1_024  # of the stack: eight per level of a tree that memory can hold
SHARE_LEFT = 0.7  # share of the clusters left at which the tree is built anew
MIN_CLUSTERS = 1_000  # clusters of which it is built for the last time
FEW_COLUMNS = 4  # columns up to which building costs more than it saves


class Clusters(NamedTuple):
    """The clusters by their slots, 16 in each leaf, and the blocks of boxes above them; the first block is the root."""

    centres: Floats  # leaf x column x slot of the leaf
    names: Integers  # the lowest point of each
    spread: Floats  # infinite where a slot is empty
    free: Floats  # the spread of those that are not on the chain, infinite for those that are; leaf x slot of the leaf
    mass: Floats
    reached: Floats  # the height of the last merge
    slots: Integers  # the slot of each name, -1 where it is merged into another
    boxes: Floats  # block x (low, high) x column x box of the block
    least: Floats  # least spread in a box; block x box of the block
    below: Integers  # the block that a box holds, or -1 - leaf; block x box of the block
    above: Integers  # the box that holds a leaf (first row) or a block (second row), numbered through all blocks


def merges(tree: boxes.Boxes, masses: Floats) -> Merges:
    """Follow nearest neighbours as ``average_linkage.plain_merges`` does, with the same result to the bit.

    Points are those of the tree, in its order. A box nearer than |c_A - box|^2 + least spread is never needed. One
    merge changes the boxes above two leaves, so that the cost does not depend on how many can be done at once.
    """
    n = len(tree.points)
    result = Merges(np.full(n, -1), np.zeros(n), np.zeros(n, dtype=np.intp))
    chain, length, first, step = np.empty(n, dtype=np.intp), 0, 0, 0
    tree = tree._replace(order=np.arange(n))
    names, spread, mass, reached = np.arange(n), np.zeros(n), masses.astype(np.float64), np.zeros(n)
    while True:
        left = len(names)
        clusters = _laid_out(tree, names, spread, mass, reached, n)
        on_chain = clusters.slots[chain[:length]]
        clusters.free[on_chain // LEAF, on_chain % LEAF] = np.inf
        last = left < MIN_CLUSTERS or tree.points.shape[1] <= FEW_COLUMNS
        until = n - 1 if last else n - 1 - int(left * SHARE_LEFT)
        length, first, step = _follow(clusters, chain, length, first, step, until, result)
        if last:
            break
        alive = np.flatnonzero(clusters.spread < np.inf)
        tree = boxes.build(clusters.centres[alive // LEAF, :, alive % LEAF])
        names, spread = clusters.names[alive], clusters.spread[alive]
        mass, reached = clusters.mass[alive], clusters.reached[alive]
    return result


def _laid_out(tree: boxes.Boxes, names: Integers, spread: Floats, mass: Floats, reached: Floats, n: int) -> Clusters:
    """Lay the clusters out in the leaves of a tree of their centres."""
    leaves, columns = len(tree.starts) - 1, tree.points.shape[1]
    leaf = np.repeat(np.arange(leaves), np.diff(tree.starts))
    slot = leaf * LEAF + np.arange(len(leaf)) - tree.starts[leaf]

    def in_slots(values: NDArray[Any], empty: float) -> NDArray[Any]:
        found = np.full(leaves * LEAF, empty, dtype=values.dtype)
        found[slot] = values[tree.order]
        return found

    depth = leaves.bit_length() - 1
    levels = list(range(depth, 0, -3))[::-1] or [0]  # every third of a binary tree
    blocks = sum(max(1, 2**level // WIDTH) for level in levels)
    bounds = np.stack([np.full((blocks, columns, WIDTH), end) for end in (np.inf, -np.inf)], axis=1)
    least, below = np.full((blocks, WIDTH), np.inf), np.zeros((blocks, WIDTH), dtype=np.intp)
    above = np.zeros((2, max(blocks, leaves)), dtype=np.intp)
    spreads = np.minimum.reduceat(spread[tree.order], tree.starts[:-1])
    start = 0
    for level in levels:
        node = np.arange(2**level)
        block, box = start + node // WIDTH, node % WIDTH
        start += max(1, len(node) // WIDTH)
        bounds[block, 0, :, box], bounds[block, 1, :, box] = (
            ends[len(node) - 1 : 2 * len(node) - 1] for ends in (tree.low, tree.high)
        )
        least[block, box] = np.minimum.reduceat(spreads, node * (leaves // len(node)))
        if level == depth:
            below[block, box], above[0, node] = -1 - node, block * WIDTH + box
        else:
            below[block, box], above[1, start + node] = start + node, block * WIDTH + box
    at = np.zeros((leaves, columns, LEAF))
    at[slot // LEAF, :, slot % LEAF] = tree.points
    named, spread_of, mass_of, reached_of = (
        in_slots(values, empty) for values, empty in ((names, -1), (spread, np.inf), (mass, 0), (reached, 0))
    )
    slots = np.full(n, -1)
    slots[named[slot]] = slot
    free = spread_of.reshape(leaves, LEAF).copy()
    return Clusters(at, named, spread_of, free, mass_of, reached_of, slots, bounds, least, below, above)


@compiled
def _follow(
    clusters: Clusters, chain: Integers, length: int, first: int, step: int, until: int, result: Merges
) -> tuple[int, int, int]:
    """Merge until so many steps are done; return the length of the chain, the first name left, and the steps done."""
    centres, names, spread, free, mass, reached, slots = clusters[:7]
    centre, gaps, apart_of = np.empty(centres.shape[1]), np.empty(WIDTH), np.empty(LEAF)
    nodes, bounds = np.empty(DEPTH, dtype=np.intp), np.empty(DEPTH)
    while step < until:
        if length == 0:
            while slots[first] < 0:
                first += 1
            chain[0], length = first, 1
            free[slots[first] // LEAF, slots[first] % LEAF] = np.inf
        while True:
            tip = slots[chain[length - 1]]
            before = slots[chain[length - 2]] if length > 1 else -1
            nearest = _nearest(clusters, tip, before, centre, gaps, apart_of, nodes, bounds)
            if nearest == before:
                break
            chain[length] = names[nearest]
            free[nearest // LEAF, nearest % LEAF] = np.inf
            length += 1
        low, high = (tip, before) if names[tip] < names[before] else (before, tip)
        apart = _squared(centres, tip, before)
        height = max(apart + spread[before] + spread[tip], reached[low], reached[high])
        gone = names[high]
        result.into[gone], result.height[gone], result.step[gone] = names[low], height, step
        step += 1
        total = mass[low] + mass[high]
        share = mass[high] / total
        spread[low] = (1 - share) * spread[low] + share * spread[high] + share * (1 - share) * apart
        for j in range(centres.shape[1]):
            to = centres[high // LEAF, j, high % LEAF]
            centres[low // LEAF, j, low % LEAF] += share * (to - centres[low // LEAF, j, low % LEAF])
        mass[low], reached[low] = total, height
        free[low // LEAF, low % LEAF] = spread[low]
        spread[high] = free[high // LEAF, high % LEAF] = np.inf
        slots[gone] = -1
        length -= 2
        _refresh(clusters, low // LEAF)
        if high // LEAF != low // LEAF:
            _refresh(clusters, high // LEAF)
    return length, first, step


@compiled
def _nearest(
    clusters: Clusters,
    tip: int,
    before: int,
    centre: Floats,
    gaps: Floats,
    apart_of: Floats,
    nodes: Integers,
    bounds: Floats,
) -> int:
    """Return the cluster nearest to ``tip``: ``before`` unless one not on the chain is nearer; of ties the lowest.

    The other arrays are room to work in.
    """
    centres, names, ends, least, below = (
        clusters.centres,
        clusters.names,
        clusters.boxes,
        clusters.least,
        clusters.below,
    )
    best, shortest = before, np.finfo(np.float64).max
    if before >= 0:
        shortest = _squared(centres, tip, before) + clusters.spread[before]
    for j in range(len(centre)):
        centre[j] = centres[tip // LEAF, j, tip % LEAF]
    nodes[0], bounds[0], depth = 0, 0.0, 1
    while depth > 0:
        depth -= 1
        if bounds[depth] > shortest:
            continue
        node = nodes[depth]
        if node >= 0:
            gaps[:] = 0.0
            for j in range(len(centre)):
                own = centre[j]
                for k in range(len(gaps)):
                    under, over = ends[node, 0, j, k] - own, own - ends[node, 1, j, k]
                    gap = under if under > over else over
                    gap = gap if gap > 0.0 else 0.0
                    gaps[k] += gap * gap
            begin = depth
            for k in range(len(gaps)):
                bound = gaps[k] + least[node, k]
                if bound <= shortest:
                    place = depth
                    while place > begin and bounds[place - 1] < bound:  # the nearest one comes last, and is next
                        nodes[place], bounds[place] = nodes[place - 1], bounds[place - 1]
                        place -= 1
                    nodes[place], bounds[place] = below[node, k], bound
                    depth += 1
            continue
        leaf = -1 - node
        apart_of[:] = 0.0
        for j in range(len(centre)):
            own = centre[j]
            for k in range(len(apart_of)):
                gap = own - centres[leaf, j, k]
                apart_of[k] += gap * gap
        for k in range(len(apart_of)):
            apart, other = apart_of[k] + clusters.free[leaf, k], leaf * LEAF + k
            if apart < shortest or (apart == shortest and best != before and names[other] < names[best]):
                best, shortest = other, apart
    return best


@compiled
def _squared(centres: Floats, one: int, other: int) -> float:
    squared = 0.0
    for j in range(centres.shape[1]):
        gap = centres[one // LEAF, j, one % LEAF] - centres[other // LEAF, j, other % LEAF]
        squared += gap * gap
    return squared


@compiled
def _refresh(clusters: Clusters, leaf: int) -> None:
    """Make the boxes from a leaf up to the root fit what they hold, as far up as anything changes."""
    ends, least, above = clusters.boxes, clusters.least, clusters.above
    held = clusters.spread[leaf * LEAF : (leaf + 1) * LEAF]
    block, box = above[0, leaf] // WIDTH, above[0, leaf] % WIDTH
    least[block, box] = held.min()
    for j in range(ends.shape[2]):
        low, high = np.inf, -np.inf
        for k in range(LEAF):
            if held[k] < np.inf:
                low, high = min(low, clusters.centres[leaf, j, k]), max(high, clusters.centres[leaf, j, k])
        ends[block, 0, j, box], ends[block, 1, j, box] = low, high
    changed = True
    while block > 0 and changed:
        inner, smallest = block, least[block].min()
        block, box = above[1, inner] // WIDTH, above[1, inner] % WIDTH
        changed = smallest != least[block, box]
        least[block, box] = smallest
        for j in range(ends.shape[2]):
            low, high = ends[inner, 0, j].min(), ends[inner, 1, j].max()
            changed = changed or low != ends[block, 0, j, box] or high != ends[block, 1, j, box]
            ends[block, 0, j, box], ends[block, 1, j, box] = low, high
