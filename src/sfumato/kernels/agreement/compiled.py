"""Sums over the rows that agree with a record, every pair compared: for the few with a rare pattern of missing keys."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


@compiled
def agreeing_sums(wanted: Codes, rows: Codes, values: Floats, found: Floats) -> None:
    """Add to each record of ``wanted`` the values of the rows that agree with it; -1 matches any value."""
    for i in range(len(wanted)):
        for k in range(len(rows)):
            agree = True
            for j in range(wanted.shape[1]):
                mine, theirs = wanted[i, j], rows[k, j]
                if mine != theirs and mine >= 0 and theirs >= 0:
                    agree = False
                    break
            if agree:
                found[i] += values[k]
