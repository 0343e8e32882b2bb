"""What a table that was made tells of confidential values, a missing key agreeing with every value."""

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling
from sfumato.kernels.agreement import agreeing_pairs, spans
from sfumato.kernels.groups import classes, first_records
from sfumato.kernels.lattice import plain
from sfumato.kernels.lattice.assessor import KINDS, Values

Codes = NDArray[np.integer]
_MOST_ENTRIES = 4_000_000  # of classes and values at a time


def worst(codes: Codes, bound: Values) -> float | None:
    """Return the figure of a class that breaks the bound most; None if all keep it.

    ``codes`` has a column for each key, -1 where missing. A class are the records that agree with one, as the measures
    of risk count them.

    >>> told = Values(np.array([0, 1, 1, 1], dtype=np.int32), 2, "distinct", 2.0)
    >>> worst(np.array([[0], [0], [1], [1]]), told), worst(np.array([[0], [-1], [0], [-1]]), told)
    (1.0, None)
    """
    class_of, sizes = classes(codes)
    rows, number = codes[first_records(class_of)], len(sizes)
    known = bound.values >= 0
    packed, count = np.unique(class_of[known] * bound.number + bound.values[known], return_counts=True)
    if not len(packed):
        return None
    row, value = np.divmod(packed, bound.number)
    often = np.bincount(value, weights=count)
    value, whole = (np.cumsum(often > 0) - 1)[value].astype(np.int32), often[often > 0] / often.sum()
    one, other = agreeing_pairs(rows) if rows.min(initial=0) < 0 else (np.arange(number), np.arange(number))
    entries = np.bincount(row, minlength=number)
    start, length = (np.cumsum(entries) - entries)[other], entries[other]
    ends = np.searchsorted(one, np.arange(number), "right")  # of the classes that agree with each one
    done = np.cumsum(length)[ends - 1]
    found: list[float] = []
    low = 0
    while low < number:
        high = max(low + 1, int(np.searchsorted(done, (done[low - 1] if low else 0) + _MOST_ENTRIES, "right")))
        part = slice(ends[low - 1] if low else 0, ends[high - 1])
        place = (np.repeat(one[part], length[part]) - low).astype(np.int32)
        entry = spans(start[part], length[part])
        figure, total = _kernel(len(entry), (high - low) * len(whole)).figures(
            place,
            value[entry],
            count[entry].astype(np.int64),
            np.zeros(len(entry), dtype=bool),
            np.zeros(len(whole), dtype=np.int64),
            high - low,
            whole,
            KINDS[bound.figure],
        )
        found += figure[bound.fails(figure, total)].tolist()
        low = high
    if not found:
        return None
    return min(found) if bound.figure in ("distinct", "entropy") else max(found)


def _kernel(entries: int, cells: int) -> ModuleType:
    if not worth_compiling(entries) and cells <= plain.DENSE:
        return plain
    from sfumato.kernels.lattice import compiled

    return compiled
