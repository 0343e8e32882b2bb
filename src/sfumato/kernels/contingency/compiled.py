"""The records of two coded columns counted against each other."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled


@compiled
def count(
    first: NDArray[np.uint32], second: NDArray[np.uint32], weights: NDArray[np.float64], table: NDArray[np.float64]
) -> tuple[int, float]:
    """Add each record, or its weight, to its cell; return how many have both, and the sum of their squared weights.

    The last row and column of the table take the records in which the first or the second is missing. No weights at
    all stand for ones.
    """
    if weights.size == 0:
        for i in range(first.size):
            table[first[i], second[i]] += 1.0
        records = int(table[:-1, :-1].sum())
        return records, float(records)
    last, end = table.shape[0] - 1, table.shape[1] - 1
    records, squares = 0, 0.0
    for i in range(first.size):
        w = weights[i]
        table[first[i], second[i]] += w
        if first[i] < last and second[i] < end:
            records += 1
            squares += w * w
    return records, squares
