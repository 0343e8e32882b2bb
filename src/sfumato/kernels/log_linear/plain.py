"""One cycle of iterative proportional fitting to all margins of some variables, in numpy."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Cycle = Callable[[Floats], float]  # fits in place, and returns by how much the worst margin was off before


def cycle(cells: Codes, counts: Floats, order: int) -> Cycle:
    """Make the function that fits to each margin of ``order`` variables in turn."""
    sizes = cells.max(axis=0) + 1
    sets = list(combinations(range(cells.shape[1]), order))

    def fit(expected: Floats) -> float:
        worst = 0.0
        for chosen in sets:
            place = np.ravel_multi_index([cells[:, j] for j in chosen], [sizes[j] for j in chosen])
            target, now = np.bincount(place, weights=counts), np.bincount(place, weights=expected)
            worst = max(worst, float(np.abs(now - target).max()))
            expected *= np.divide(target, now, out=np.zeros_like(target), where=now > 0)[place]
        return worst

    return fit
