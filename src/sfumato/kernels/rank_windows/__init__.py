"""Points inside the window around each record: how many there are, and whether any has moved farther than the own.

How far a point lies from a centre is the sum over the columns of the difference times ``steps[j]``.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_CELLS = 500_000  # pairs of records held at once


def search_windows(
    table: Floats, low: Floats, high: Floats, centre: Floats, own: Floats, steps: Floats
) -> tuple[Integers, Integers, Integers]:
    """Count the rows of ``table`` in each window [low, high], those farther than ``own`` from its centre, and as far.

    Of a large table 1 stands for one farther or more, and the count of those as far may stop short then.
    """
    if not worth_compiling(len(table)):
        return plain_search_windows(table, low, high, centre, own, steps)
    from sfumato.kernels.rank_windows import compiled

    return compiled.search_windows(table, low, high, centre, own, steps)


def plain_search_windows(
    table: Floats, low: Floats, high: Floats, centre: Floats, own: Floats, steps: Floats
) -> tuple[Integers, Integers, Integers]:
    """Count the rows of ``table`` inside each window, those farther than ``own`` from its centre, and those as far."""
    inside, farther, tied = (np.zeros(len(low), dtype=np.int64) for _ in range(3))
    block = max(1, _CELLS // len(table))
    for start in range(0, len(low), block):
        part = slice(start, start + block)
        within = np.ones((len(low[part]), len(table)), dtype=bool)
        for column, least, most in zip(table.T, low[part].T, high[part].T, strict=True):
            within &= column >= least[:, None]
            within &= column <= most[:, None]
        record, candidate = np.nonzero(within)
        moved = (np.abs(table[candidate] - centre[part][record]) * steps).sum(axis=1)
        size = len(within)
        inside[part] = np.bincount(record, minlength=size)
        farther[part] = np.bincount(record, moved > own[part][record], minlength=size) > 0
        tied[part] = np.bincount(record, moved == own[part][record], minlength=size)
    return inside, farther, tied
