"""Records that agree in several coded variables: which class each is in, and how many there are of each."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def classes(codes: NDArray[np.integer]) -> tuple[Integers, Integers]:
    """Return the class of each record, numbered from 0 in the order of the codes, and the size of each class.

    Records are in one class when they agree in every column of ``codes`` (n x q whole numbers of -1 or more, where -1
    is a value like any other).

    >>> classes(np.array([[0, 1], [2, 0], [0, 1]]))
    (array([0, 1, 0]), array([2, 1]))
    """
    found = np.zeros(len(codes), dtype=np.int64)
    number = 1
    for column in codes.T:
        values = int(column.max()) + 2
        if number > np.iinfo(np.int64).max // values:
            _, found = np.unique(found, return_inverse=True)
            number = int(found.max()) + 1
        found = found * values + column + 1
        number *= values
    _, found, counts = np.unique(found, return_inverse=True, return_counts=True)
    return found.astype(np.int64, copy=False), counts.astype(np.int64, copy=False)
