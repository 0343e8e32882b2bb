"""Rank swapping of small tables: the free ranks marked one by one."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pair_up(draws: Floats, free: NDArray[np.bool_], partner: NDArray[np.intp], window: int) -> None:
    """Pair ranks from the lowest up: rank i with the floor(draws[i] * m)-th of the m free ranks in its window.

    There is a draw for each rank that has its turn; ``free`` and ``partner`` go on beyond these by the window, and are
    changed in place.
    """
    for i in range(draws.size):
        if not free[i]:
            continue
        free[i] = False
        choices = np.flatnonzero(free[i + 1 : i + 1 + window])
        if choices.size:
            j = i + 1 + int(choices[int(draws[i] * choices.size)])
            partner[i], partner[j] = j, i
            free[j] = False
