"""Minimal sample uniques: the smallest sets of keys on which a record is alone.

The recursive search of SUDA2, with all values of a key taken at once: below a set of keys only the records that are not
yet alone on it are looked at, in groups that agree on it, and one more key splits every group. A set found for a record
may hold a smaller one found elsewhere in the search; those are struck out at the end.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling
from sfumato.kernels.uniques import plain
from sfumato.kernels.uniques.subsets import alone_on

__all__ = ["alone_on", "minimal_uniques"]

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]


def minimal_uniques(cells: Codes, candidate: NDArray[np.bool_], size: int) -> tuple[Integers, Integers]:
    """Return the minimal sample uniques of up to ``size`` keys as pairs (row of ``cells``, keys as a sum of 2^column).

    ``cells`` are different combinations of key values, and only those marked ``candidate`` can be alone; the others
    (which several records have) stand in the way of uniqueness. A missing value, -1, agrees with every other, so a
    record is alone only by values it has. The pairs come row by row.

    >>> minimal_uniques(np.array([[0, 0], [0, 1], [1, 1]]), np.array([True, True, True]), 2)
    (array([0, 1, 2]), array([2, 3, 1]))
    """
    if not worth_compiling(len(cells)):
        return plain.minimal_uniques(cells, candidate, size)
    from sfumato.kernels.uniques import packed

    return packed.minimal_uniques(cells, candidate, size)
