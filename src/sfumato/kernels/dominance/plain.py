"""Dominance sums of a few rows, each compared with all before it."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ranks = NDArray[np.int32]
Flags = NDArray[np.bool_]

CELLS = 1 << 21  # cells of a block: its comparisons stay in the processor's cache


def by_blocks(ranks: Ranks, weights: Floats, asked: Flags) -> Floats:
    """Compare each row with those before it, the only ones that can be no larger, block by block."""
    sums = np.zeros(len(ranks))
    rows = np.flatnonzero(asked)
    size = max(1, CELLS // len(ranks))
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        last = block[-1] + 1
        below = np.ones((len(block), last), dtype=bool)
        for column in ranks.T:
            below &= column[:last] <= column[block, None]
        sums[block] = below @ weights[:last]
    return sums
