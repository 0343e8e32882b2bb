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
    margins = []
    for chosen in combinations(range(cells.shape[1]), order):
        columns = [cells[:, j] for j in chosen]
        place = columns[0] if order == 1 else np.ravel_multi_index(columns, [sizes[j] for j in chosen])
        margins.append((place, np.bincount(place, weights=counts)))

    def fit(expected: Floats) -> float:
        worst = 0.0
        for place, target in margins:
            now = np.bincount(place, weights=expected)
            worst = max(worst, float(np.abs(now - target).max()))
            expected *= np.divide(target, now, out=np.zeros_like(target), where=now > 0)[place]
        return worst

    return fit
