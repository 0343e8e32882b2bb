"""A tree of boxes over points: built with numpy, searched by kernels for nearest, near and enclosed points.

MDAV, which takes points out of the tree, has one of its own (``microaggregation.compiled``, which says why).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

LEAF = 16


class Boxes(NamedTuple):
    """A complete binary tree: node i has the children 2i + 1 and 2i + 2, and the leaves come last.

    Leaf number l holds ``points[starts[l] : starts[l + 1]]``, with ``order`` their places in the table given.
    """

    points: Floats
    order: Integers
    starts: Integers
    low: Floats  # node x column
    high: Floats


def build(table: Floats) -> Boxes:
    """Halve the points at the median of their widest column until a leaf holds at most ``LEAF``."""
    n = len(table)
    depth = max(0, int(np.ceil(np.log2(n / LEAF)))) if n else 0
    order = np.arange(n)
    starts = np.array([0, n])
    for _ in range(depth):
        middles = (starts[:-1] + starts[1:]) // 2
        for begin, middle, end in zip(starts[:-1], middles, starts[1:], strict=True):
            part = order[begin:end]
            values = table[part]
            widest = int(np.argmax(values.max(axis=0) - values.min(axis=0)))
            order[begin:end] = part[np.argpartition(values[:, widest], middle - begin)]
        starts = np.sort(np.concatenate([starts, middles]))
    points = np.ascontiguousarray(table[order])
    low = np.minimum.reduceat(points, starts[:-1], axis=0)
    high = np.maximum.reduceat(points, starts[:-1], axis=0)
    lows, highs = [low], [high]
    while len(lows[0]) > 1:  # a parent's box holds both children's
        lows.insert(0, np.minimum(lows[0][0::2], lows[0][1::2]))
        highs.insert(0, np.maximum(highs[0][0::2], highs[0][1::2]))
    return Boxes(points, order, starts, np.concatenate(lows), np.concatenate(highs))


def distinct(table: Floats, copies: NDArray[np.int64] | None = None) -> tuple[Floats, Integers, Integers]:
    """Return the distinct rows, the place of each row among them, and how many there are of each.

    ``copies`` says how often each row counts, if not once.
    """
    order = np.lexsort(table.T[::-1])
    ordered = table[order]
    fresh = np.ones(len(table), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    place = np.empty(len(table), dtype=np.intp)
    place[order] = np.cumsum(fresh) - 1
    number = np.bincount(place) if copies is None else np.bincount(place, copies).astype(np.int64)
    return ordered[fresh], place, number
