"""Sets, as sums of powers of two, that hold no other of their row: one pass over a long sorted list."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Integers = NDArray[np.int64]


@compiled
def minimal(row: Integers, sets: Integers) -> NDArray[np.bool_]:
    """Tell which sets hold no smaller one of their row; they come row by row, in each the smallest first."""
    found = np.ones(row.size, dtype=np.bool_)
    start = 0
    for i in range(row.size):
        if row[i] != row[start]:
            start = i
        for j in range(start, i):
            if found[j] and sets[i] & sets[j] == sets[j]:
                found[i] = False
                break
    return found
