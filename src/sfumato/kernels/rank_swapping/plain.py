"""Rank swapping of small tables: the free ranks marked one by one."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def swap_partners(draws: Floats, window: int) -> NDArray[np.intp]:
    """Pair ranks from the lowest up: rank i with the floor(draws[i] * m)-th of the m free ranks in its window."""
    n = draws.size
    partner = np.arange(n)
    free = np.ones(n, dtype=bool)
    for i in range(n):
        if not free[i]:
            continue
        free[i] = False
        choices = np.flatnonzero(free[i + 1 : i + 1 + window])
        if choices.size:
            j = i + 1 + int(choices[int(draws[i] * choices.size)])
            partner[i], partner[j] = j, i
            free[j] = False
    return partner
