"""One-to-one assignment with all pairs in a matrix, in scipy."""

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


def heaviest_assignment(left: Codes, right: Codes, allowed: Floats) -> NDArray[np.int64]:
    """The right record linked to each left record (-1: none), by the weights of all pairs."""
    from scipy.optimize import linear_sum_assignment

    patterns = agreement_patterns(left, right)
    rows, columns = linear_sum_assignment(-allowed[patterns])
    partner = np.full(len(left), -1, dtype=np.int64)
    linked = allowed[patterns[rows, columns]] > 0
    partner[rows[linked]] = columns[linked]
    return partner


def agreement_patterns(left: Codes, right: Codes) -> NDArray[np.uint16]:
    """The pattern of every pair, bit j set where both have variable j and are in the same bin."""
    patterns = np.zeros((len(left), len(right)), dtype=np.uint16)
    for j in range(left.shape[1]):
        # -1 in one file never equals -2 in the other: missing agrees with nothing.
        theirs = np.where(right[:, j] < 0, -2, right[:, j])
        patterns |= (left[:, j, np.newaxis] == theirs).astype(np.uint16) << np.uint16(j)
    return patterns
