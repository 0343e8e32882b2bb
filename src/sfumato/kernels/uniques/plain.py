"""Sets, as sums of powers of two, that hold no other of their row, in numpy."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def minimal(row: Integers, sets: Integers) -> NDArray[np.bool_]:
    """Tell which sets hold no smaller one of their row; they come row by row, in each the smallest first."""
    found = np.ones(len(row), dtype=bool)
    for lag in range(1, int(np.bincount(row).max())):  # each set against the one ``lag`` places before, if of its row
        smaller = sets[:-lag]
        found[lag:] &= (row[lag:] != row[:-lag]) | ((sets[lag:] & smaller) != smaller)
    return found
