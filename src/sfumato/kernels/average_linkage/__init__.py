"""Average linkage on squared Euclidean distances, in memory proportional to the points.

The mean squared distance between the members of two clusters is |c_A - c_B|^2 + v_A + v_B, with c the centroid of a
cluster and v its members' mean squared distance from it, so that no matrix of distances is needed. Merging never brings
two clusters nearer than both their parts were to others (the linkage is reducible), so following nearest neighbours
until two are each other's, and merging those, gives the same tree as always merging the nearest two of all.

Murtagh (1983), A survey of recent advances in hierarchical clustering algorithms, The Computer Journal 26, 354-359.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import boxes, worth_compiling
from sfumato.kernels.average_linkage import plain
from sfumato.kernels.average_linkage.plain import Merges

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


def partition(points: Floats, masses: Floats, clusters: int) -> Integers:
    """Return the cluster, from 0, of each point when the tree of ``points`` is cut at ``clusters`` of them.

    A point of mass 3 counts as three points at one place. Give equal rows as one point (``boxes.distinct``): many equal
    points make the search slow, though not wrong. The order of the points decides ties.
    """
    if not 1 <= clusters <= len(points):
        raise ValueError(f"partition: from 1 to {len(points)} clusters of {len(points)} points; got {clusters}")
    if not worth_compiling(len(points)):
        return cut(plain.merges(points, masses), clusters)
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
