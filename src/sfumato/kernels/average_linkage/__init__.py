"""Average linkage on squared Euclidean distances, in memory proportional to the points.

The mean squared distance between the members of two clusters is |c_A - c_B|^2 + v_A + v_B, with c the centroid of a
cluster and v its members' mean squared distance from it, so that no matrix of distances is needed. Merging never brings
two clusters nearer than both their parts were to others (the linkage is reducible), so following nearest neighbours
until two are each other's, and merging those, gives the same tree as always merging the nearest two of all.

Murtagh (1983), A survey of recent advances in hierarchical clustering algorithms, The Computer Journal 26, 354-359.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import boxes, worth_compiling

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


class Merges(NamedTuple):
    """The tree: a cluster goes by its lowest point, so each point but point 0 is once merged into a lower one."""

    into: Integers  # the cluster that took this one in; -1 for point 0
    height: Floats  # mean squared distance at which it did
    step: Integers  # how many merges came before


def partition(points: Floats, masses: Floats, clusters: int) -> Integers:
    """Return the cluster, from 0, of each point when the tree of ``points`` is cut at ``clusters`` of them.

    A point of mass 3 counts as three points at one place. Give equal rows as one point (``boxes.distinct``): many equal
    points make the search slow, though not wrong. The order of the points decides ties.
    """
    if not 1 <= clusters <= len(points):
        raise ValueError(f"partition: from 1 to {len(points)} clusters of {len(points)} points; got {clusters}")
    if not worth_compiling(len(points)):
        return cut(plain_merges(points, masses), clusters)
    from sfumato.kernels.average_linkage import compiled

    tree = boxes.build(points)
    found = cut(compiled.merges(tree, np.ascontiguousarray(masses[tree.order])), clusters)
    labels = np.empty_like(found)
    labels[tree.order] = found
    return labels


def cut(tree: Merges, clusters: int) -> Integers:
    """Number the clusters that are left when the lowest merges are done until there are ``clusters``.

    Of merges at the same height, the one found first is done first.
    """
    merged = np.flatnonzero(tree.into >= 0)
    done = merged[np.lexsort((tree.step[merged], tree.height[merged]))][: len(tree.into) - clusters]
    root = np.arange(len(tree.into))
    root[done] = tree.into[done]
    while not np.array_equal(root, further := root[root]):  # each round doubles the way gone
        root = further
    return np.asarray(np.unique(root, return_inverse=True)[1], dtype=np.intp)


def plain_merges(points: Floats, masses: Floats) -> Merges:
    """Follow nearest neighbours, each found among all clusters.

    Of clusters as near as each other, the one that led here is taken, else the one with the lowest point.
    """
    n = len(points)
    centres = np.array(points.T, order="C")
    mass = masses.astype(np.float64)
    spread = np.zeros(n)  # infinite where a cluster is no more
    free = np.zeros(n)  # the spread of those that are not on the chain, infinite for those that are
    tree = Merges(np.full(n, -1), np.zeros(n), np.zeros(n, dtype=np.intp))
    reached = np.zeros(n)
    chain: list[int] = []
    first = 0
    for step in range(n - 1):
        if not chain:
            while spread[first] == np.inf:
                first += 1
            chain.append(first)
            free[first] = np.inf
        while True:
            tip = chain[-1]
            apart = _squared_gaps(centres, tip)
            before = chain[-2] if len(chain) > 1 else -1
            nearest = int(np.argmin(apart + free))
            if before >= 0 and apart[before] + spread[before] <= apart[nearest] + free[nearest]:
                break
            chain.append(nearest)
            free[nearest] = np.inf
        low, high = min(tip, before), max(tip, before)
        height = max(apart[before] + spread[before] + spread[tip], reached[low], reached[high])
        tree.into[high], tree.height[high], tree.step[high] = low, height, step
        total = mass[low] + mass[high]
        share = mass[high] / total
        spread[low] = (1 - share) * spread[low] + share * spread[high] + share * (1 - share) * apart[before]
        centres[:, low] += share * (centres[:, high] - centres[:, low])
        mass[low], reached[low] = total, height
        spread[high] = np.inf
        del chain[-2:]
        free[low], free[high] = spread[low], np.inf
    return tree


def _squared_gaps(centres: Floats, tip: int) -> Floats:
    squared = np.zeros(centres.shape[1])
    for column in centres:  # one after the other, as the compiled search adds them
        gap = column - column[tip]
        squared += gap * gap
    return squared
