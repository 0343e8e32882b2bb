"""Whole numbers numbered anew in numpy, from 0 in the order of first appearance."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def numbered(packed: Integers) -> tuple[Integers, Integers]:
    """Number different values in the order of first appearance, and count them: by sorting."""
    _, first, inverse, counts = np.unique(packed, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[inverse], counts[order].astype(np.int64, copy=False)
