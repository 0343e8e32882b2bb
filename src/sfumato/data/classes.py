"""Which class each value of a column went to, read off records that are the same in both tables."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Codes, Floats


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes numbers were put into: their order, the class of each record by its number, and how many agree."""

    order: NDArray[np.intp]
    codes: Codes
    agreement: float


def function_of_categories(x: Codes, y: Codes, before: int, after: int) -> tuple[NDArray[np.int64], float]:
    """Return the class most records of each category went to (-1 where none is left), and the share that did.

    >>> function_of_categories(np.array([0, 0, 1, 2, -1]), np.array([1, 1, 0, 0, 0]), 3, 2)
    (array([1, 0, 0]), 1.0)
    """
    both = (x >= 0) & (y >= 0)
    place = x[both].astype(np.int64) * after + y[both]
    if before * after <= len(x):
        whole = np.bincount(place, minlength=before * after)
        cells = np.flatnonzero(whole)
        counts = whole[cells]
    else:  # a table with more cells than records is sorted, not laid out
        cells, counts = np.unique(place, return_counts=True)
    target = np.full(before, -1, dtype=np.int64)
    if not cells.size:
        return target, 0.0
    rising = np.argsort(counts, kind="stable")  # the last one written for a category is its largest cell
    target[cells[rising] // after] = cells[rising] % after
    agree = target[cells // after] == cells % after
    return target, float(counts[agree].sum() / counts.sum())


def in_order(x: Codes, classes: Codes, number: int) -> NDArray[np.intp] | None:
    """Return the order of the classes where each holds neighbouring values of ``x`` only, or None.

    Classes that nothing falls into come last.
    """
    both = (x >= 0) & (classes >= 0)
    low = np.full(number, np.iinfo(np.int32).max, dtype=np.int64)
    high = np.full(number, -1, dtype=np.int64)
    np.minimum.at(low, classes[both], x[both])
    np.maximum.at(high, classes[both], x[both])
    order = np.argsort(low, kind="stable")
    used = order[high[order] >= 0]
    apart = bool((high[used][:-1] < low[used][1:]).all())
    return order if apart else None


def classes_of_numbers(x: Floats, y: Codes, number: int) -> Classes | None:
    """Find the limits between the classes that numbers were put into; None where they are no classes of the numbers.

    Classes stand in the order of their medians; the limit between two neighbours is the value that puts the fewest of
    their records on the wrong side. A class holds its lower limit.
    """
    both = ~np.isnan(x) & (y >= 0)
    if not both.any():
        return None
    values, classes = x[both], y[both]
    sequence = np.lexsort((values, classes))
    values, classes = values[sequence], classes[sequence]
    used, starts = np.unique(classes, return_index=True)
    parts = np.split(values, starts[1:])
    by_median = np.argsort([part[len(part) // 2] for part in parts], kind="stable")
    limits = np.array([_limit(parts[i], parts[j]) for i, j in pairwise(by_median)])
    if (np.diff(limits) <= 0).any():
        return None
    unused = np.setdiff1d(np.arange(number), used)
    order = np.concatenate([used[by_median], unused]).astype(np.intp)
    inside = np.searchsorted(limits, x, side="right")
    codes = np.where(np.isnan(x), -1, order[inside]).astype(np.int32)
    return Classes(order, codes, float(np.mean(codes[both] == y[both])))


def with_ends(
    x: Floats, codes: Codes, y: Codes, labels: tuple[Any, ...], ends: tuple[float, float] | None
) -> tuple[Codes, Codes, tuple[Any, ...]]:
    """Give the numbers beyond ordered classes, whose own were taken off the list, classes of their own at the ends.

    Return the codes of the original and of the protected records, and what they stand for.

    >>> x, codes = np.array([12.0, 25.0, 117.0]), np.array([0, 1, 1], dtype=np.int32)
    >>> with_ends(x, codes, np.array([0, 1, -1], dtype=np.int32), ("10-19", "20-29"), (10.0, 30.0))
    (array([0, 1, 2], dtype=int32), array([ 0,  1, -1], dtype=int32), ('10-19', '20-29', 'above'))
    """
    if ends is None:
        return codes, y, labels
    under, over = x < ends[0], x >= ends[1]
    below = np.int32(under.any())
    original = np.where(codes < 0, codes, codes + below)
    original[under], original[over] = 0, len(labels) + below
    protected = np.where(y < 0, y, y + below)
    return original, protected, (*(("below",) if below else ()), *labels, *(("above",) if over.any() else ()))


def _limit(lower: Floats, upper: Floats) -> float:
    """Return the value at which splitting two sorted classes errs least: the least of the upper one where they part."""
    if lower[-1] < upper[0]:
        return float(upper[0])
    tried = np.unique(np.concatenate([lower, upper]))
    wrong = len(lower) - np.searchsorted(lower, tried, side="left") + np.searchsorted(upper, tried, side="left")
    return float(tried[np.argmin(wrong)])
