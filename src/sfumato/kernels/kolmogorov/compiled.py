"""Lattice paths between two sloping lines, column by column."""

import numpy as np

from sfumato.kernels.compiling import compiled


@compiled
def share_outside(m: int, n: int, along: int, across: int, height: int) -> float:
    """Return the share of paths from (0, 0) to (m, n), m >= n, on which |along x - across y| reaches the height.

    ``along`` and ``across`` are n and m without their common factor. Of the paths to (x, y), the share that comes over
    (x - 1, y) is x / (x + y); only the cells between the lines are held, for on and beyond them the share is 1.
    """
    first, last = 0, min((height + across - 1) // across, n + 1)
    shares = np.ones(n + 2)
    shares[first:last] = 0.0
    for x in range(1, m + 1):
        low = max((along * x - height) // across + 1, 0)
        high = min((along * x + height + across - 1) // across, n + 1)
        if high <= low:
            return 1.0
        below = 0.0 if low == 0 else 1.0
        for y in range(low, high):
            below = (shares[y] * x + below * y) / (x + y)
            shares[y] = below
    return float(shares[n])
