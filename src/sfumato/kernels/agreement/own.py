"""How many rows of a table agree with each of its own, where a missing value matches any value: by a sorted table.

Rows that show every key agree with those equal to them, and with rows that have gaps. So only rows with gaps ask: they
go down the sorted table key by key, into the one value that they show and into what is missing there, or into every
value where they have a gap. What they meet is added to them, and they to what they meet.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling
from sfumato.kernels.agreement.sums import matching_sums

Codes = NDArray[np.integer]
Floats = NDArray[np.float64]
MOST_GAPS = 1.5  # by row: beyond it a row meets so many that comparing patterns of gaps is sooner done
_MOST = 2**62  # different packed numbers


def own_sums(rows: Codes, values: NDArray[np.generic]) -> Floats:
    """Return, for each of some different rows, the sum of ``values`` over those that agree with it, itself included.

    >>> own_sums(np.array([[0, 1], [0, -1], [2, 1]]), np.array([1.5, 2.0, 4.0]))
    array([3.5, 3.5, 4. ])
    """
    gaps: NDArray[np.bool_] = np.less(rows, 0)
    if not worth_compiling(len(rows)) or gaps.sum() > MOST_GAPS * len(rows):
        return matching_sums(rows, rows, values)
    from sfumato.kernels.agreement.compiled import add_to_each_other

    # what is often missing comes last, for all below agrees with it; before it what has few values to go into
    keys = np.lexsort((rows.max(axis=0), np.rint(10 * gaps.mean(axis=0))))
    order = _order(rows, keys)
    columns = np.ascontiguousarray(rows.T[keys][:, order], dtype=np.int32)
    sums = np.asarray(values, dtype=np.float64)[order]
    asking = np.flatnonzero(gaps[order].any(axis=1))
    found = sums.copy()
    add_to_each_other(columns, sums, asking, found)
    result = np.empty(len(rows))
    result[order] = found
    return result


def _order(rows: Codes, keys: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the order of the rows by these keys, the first of them first, missing before all values."""
    highest = rows.max(axis=0).astype(object) + 2
    if int(np.prod(highest)) > _MOST:
        return np.lexsort([rows[:, key] for key in keys[::-1]])
    packed = np.zeros(len(rows), dtype=np.int64)
    for key in keys:
        packed *= int(highest[key])
        packed += rows[:, key]
        packed += 1
    return np.argsort(packed, kind="stable")
