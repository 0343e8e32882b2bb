"""Dominance sums: for each row, the sum of the weights of all rows that are no larger in any column.

A joint empirical distribution function at its own rows is a dominance sum; the difference of two of them is a single
one, with weights of either sign. Whole weights are summed exactly, for a float64 holds whole numbers up to 2^53.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling

Floats = NDArray[np.float64]
Ranks = NDArray[np.int32]
Places = NDArray[np.intp]
Flags = NDArray[np.bool_]

CELLS = 1 << 21  # cells of a block: its comparisons stay in the processor's cache


def dense_ranks(column: NDArray[np.generic]) -> Ranks:
    """Rank values from 0 up; equal values share a rank, and no rank is left out."""
    ranks: Ranks = np.unique(column, return_inverse=True)[1].astype(np.int32)
    return ranks


def distinct_rows(ranks: Ranks) -> tuple[Ranks, Places]:
    """Return the distinct rows in lexicographic order, and the place of each row among them."""
    key = ranks[:, 0].astype(np.int64)
    for column in ranks.T[1:]:  # a dense key stays below the number of rows, so that no product overflows
        key = np.unique(key * (int(column.max()) + 1) + column, return_inverse=True)[1]
    first = np.empty(int(key.max()) + 1, dtype=np.intp)
    first[key[::-1]] = np.arange(len(key))[::-1]
    return ranks[first], key


def dominance_sums(ranks: Ranks, weights: Floats, asked: Flags | None = None, *, threads: int = 1) -> Floats:
    """Sum, for each row asked (others: 0), the weights of the rows that are no larger in any column.

    ``ranks`` must be the distinct rows in lexicographic order, as ``distinct_rows`` returns them.
    """
    asked = np.ones(len(ranks), dtype=bool) if asked is None else asked
    counts = ranks.max(axis=0)
    by_count = np.argsort(counts[1:], kind="stable") + 1
    columns = [0, *(int(column) for column in by_count if counts[column])]  # a constant column excludes no row
    if len(columns) == 1:
        return np.where(asked, np.cumsum(weights), 0.0)
    if not worth_compiling(len(ranks)):
        return by_blocks(ranks[:, columns], weights, asked)
    from sfumato.kernels.dominance import compiled

    return compiled.by_halving(ranks[:, columns], weights, asked, threads=threads)


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
