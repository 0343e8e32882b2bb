"""Poisson log-linear models of a contingency table, fitted by iterative proportional fitting."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TOLERANCE = 1e-8
MOST_CYCLES = 500


def fitted_table(counts: Floats, order: int) -> tuple[Floats, bool]:
    """Return the expected counts of the model with all effects of up to ``order`` variables, and whether it converged.

    The fit has the margins of ``counts`` over every ``order`` variables; it is reached when no margin is off by more
    than a hundred-millionth of the number of records.

    >>> fitted_table(np.array([[2.0, 2.0], [2.0, 0.0]]), 1)[0].round(3).tolist()
    [[2.667, 1.333], [1.333, 0.667]]
    """
    total = float(counts.sum())
    sets = list(combinations(range(counts.ndim), min(order, counts.ndim)))
    others = [tuple(axis for axis in range(counts.ndim) if axis not in kept) for kept in sets]
    margins = [counts.sum(axis=axes, keepdims=True) for axes in others]
    table = np.full(counts.shape, total / counts.size)
    for _ in range(MOST_CYCLES):
        worst = 0.0
        for axes, margin in zip(others, margins, strict=True):
            now = table.sum(axis=axes, keepdims=True)
            worst = max(worst, float(np.abs(now - margin).max()))
            table *= np.divide(margin, now, out=np.zeros_like(margin), where=now > 0)
        if worst <= TOLERANCE * total:
            return table, True
    return table, False
