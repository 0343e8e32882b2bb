"""What is lost when values are put together: the three alternatives of section 3.3."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Codes, Floats

Alternative = Literal["comparisons", "allocation", "heterogeneity"]
CELLS = 1 << 16  # of two variables together that are counted in a table, however few the records
POINTS = 256  # that stand for all values where the best classes of them are looked for


def comparisons(before: int, after: int) -> float:
    """Return the share of comparisons between two values that are still possible: (n-m)(n-m-1) / n(n-1).

    m of the n values are lost. (In print m is "the reduced number"; the example, 10 values made 5: 10 of 45
    comparisons, shows that it counts those lost.)

    >>> round(comparisons(10, 5), 3)
    0.222
    """
    return 1.0 if before < 2 else after * (after - 1) / (before * (before - 1))


def allocation(values: Floats, classes: Codes, weights: Floats | None = None) -> float:
    """Return the share of records that are not in a biased class: 1 - n_ba / n.

    A record is if it is nearer to some record of another class than to some record of its own: age 39 in the class
    30-39, with 40 in the next and 33 in its own.

    >>> ages = np.array([30.0, 31.0, 39.0, 40.0, 49.0])
    >>> allocation(ages, np.array([0, 0, 0, 1, 1]))  # 39 is 1 from 40 and 9 from 30; 40 is 1 from 39 and 9 from 49
    0.6
    """
    order = np.argsort(values, kind="stable")
    x, own = values[order], classes[order]
    new = np.append(True, own[1:] != own[:-1])
    run = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], len(x)) - 1
    below = np.append(-np.inf, x[ends[:-1]])[run]  # the nearest value of another class on either side
    above = np.append(x[starts[1:]], np.inf)[run]
    low, high = _ends(x, own)
    biased = np.minimum(x - below, above - x) < np.maximum(x - low, high - x)
    if weights is None:
        return float(1 - biased.mean())
    return float(1 - weights[order][biased].sum() / weights.sum())


def _ends(x: Floats, classes: Codes) -> tuple[Floats, Floats]:
    """Return the least and the greatest value of each record's own class."""
    number = int(classes.max()) + 1
    low, high = np.full(number, np.inf), np.full(number, -np.inf)
    np.minimum.at(low, classes, x)
    np.maximum.at(high, classes, x)
    return low[classes], high[classes]


def heterogeneity(values: Floats, classes: Codes, weights: Floats | None = None) -> float:
    """Return one minus the mean distance to the class's mean, as a share of the mean distance to the mean of all.

    In print the bars of the absolute values are lost, without which both sums are zero, and the first mean is over the
    protected records. What those of a sample or a synthetic file had in the original is not known, so that both means
    are over the original: the same wherever all records are there, and what a sample has in expectation.

    >>> heterogeneity(np.array([1.0, 3.0, 7.0, 9.0]), np.array([0, 0, 1, 1]))  # 1 - 1 / 3
    0.6666666666666667
    """
    w = np.ones(len(values)) if weights is None else weights
    x = values - values.min()  # so that a constant is exactly zero
    sums, sizes = np.bincount(classes, w * x), np.bincount(classes, w)
    means = sums / np.where(sizes > 0, sizes, 1.0)
    every = float(np.abs(x - w @ x / w.sum()) @ w)
    within = float(np.abs(x - means[classes]) @ w)
    return 1.0 if every == 0 else max(0.0, 1 - within / every)


def told_apart(before: NDArray[Any], recoded: NDArray[Any]) -> float:
    """Return the share of the pairs of records with different values that still have different ones.

    The comparisons of the paper, counted between records and not between categories: to merge two categories that
    hardly occur costs hardly anything, and never more than to delete their values.

    >>> told_apart(np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1]))  # 4 of the 5 pairs that differ
    0.8
    """
    were, are = (_differing(column) for column in (before, recoded))
    return 1.0 if were == 0 else are / were


def most_told_apart(before: NDArray[Any], classes: int) -> float:
    """Return what is left at most of the pairs of records that differ, in so many classes: those of equal size.

    >>> most_told_apart(np.array([0, 1, 2, 3]), 2)  # 4 of 6 pairs
    0.6666666666666666
    """
    were = _differing(before)
    return 1.0 if were == 0 else min(1.0, len(before) ** 2 * (1 - 1 / max(classes, 1)) / were)


def _differing(column: NDArray[Any]) -> float:
    """Count the pairs of records with different values, twice."""
    sizes = np.unique(column, return_counts=True)[1].astype(np.float64)
    return float(sizes.sum() ** 2 - sizes @ sizes)


def differing_in_both(one: Codes, other: Codes) -> float:
    """Count the pairs of records that differ in two variables, twice; records with -1 in either are left out.

    >>> differing_in_both(np.array([0, 0, 1, -1]), np.array([0, 1, 1, 1]))  # the first and the third
    2.0
    """
    there = (one >= 0) & (other >= 0)
    a, b = one[there].astype(np.int64), other[there].astype(np.int64)
    if not len(a):
        return 0.0
    width = int(b.max()) + 1
    cells = a * width + b
    few = (int(a.max()) + 1) * width <= 4 * len(cells) + CELLS
    both = np.bincount(cells) if few else np.unique(cells, return_counts=True)[1]
    alike = _alike(np.bincount(a)) + _alike(np.bincount(b)) - _alike(both)
    return max(0.0, float(len(a)) ** 2 - alike)


def _alike(sizes: NDArray[np.int64]) -> float:
    """Count the pairs of records in classes of these sizes, twice, and each record with itself."""
    found = sizes.astype(np.float64)
    return float(found @ found)


def kept(
    alternative: Alternative,
    before: NDArray[Any],
    recoded: NDArray[Any],
    weights: Floats | None,
    *,
    by_records: bool = False,
) -> float:
    """Return what is left of a variable after its values were put together; both columns without missing values.

    Categories have no distances: for them only comparisons are counted, those between categories or ``by_records``.
    """
    if by_records and before.dtype.kind != "f":
        return told_apart(before, recoded)
    values, classes = (np.unique(column, return_inverse=True) for column in (before, recoded))
    if alternative == "comparisons" or before.dtype.kind != "f":
        return comparisons(len(values[0]), len(classes[0]))
    measure = allocation if alternative == "allocation" else heterogeneity
    return measure(before, classes[1].astype(np.int32), weights)


def most_kept(
    alternative: Alternative,
    before: NDArray[Any],
    classes: int,
    weights: Floats | None = None,
    *,
    by_records: bool = False,
) -> float:
    """Return what is left at most of a variable that was put into so many classes, if nobody knows which.

    The number of classes says nothing of ``allocation``: however many there are, they may lie far apart.
    """
    number = before.dtype.kind == "f"
    if by_records and not number:
        return most_told_apart(before, classes)
    if alternative == "comparisons" or not number:
        return min(1.0, comparisons(len(np.unique(before)), classes))
    return least_heterogeneous(before, classes, weights) if alternative == "heterogeneity" else 1.0


def least_heterogeneous(values: Floats, classes: int, weights: Floats | None = None) -> float:
    """Return what ``heterogeneity`` is at most, for any classes of that number: a bound a little above the best ones.

    Distances to medians are never more than those to means, and the best classes for them are of neighbours: found
    for at most ``POINTS`` points, each standing for equal or neighbouring values, exactly by dynamic programming. What
    the values are apart from their points is taken off, so that no classes of the values themselves do better.

    >>> least_heterogeneous(np.array([1.0, 3.0, 7.0, 9.0]), 2)  # classes 1, 3 and 7, 9
    0.6666666666666667
    """
    w = np.ones(len(values)) if weights is None else weights
    order = np.lexsort((w, values))
    x, w = values[order] - values.min(), w[order]
    every = float(np.abs(x - w @ x / w.sum()) @ w)
    points, masses, moved = _thinned(x, w)
    if every == 0 or classes >= len(points):
        return 1.0
    if classes == 1:
        return 0.0
    within = max(0.0, _least_distance(points, masses, classes) - moved)
    return 1 - within / every


def _thinned(x: Floats, w: Floats) -> tuple[Floats, Floats, float]:
    """Return points that stand for sorted values, the weight of each, and how far the values are from them in all."""
    points, place = np.unique(x, return_inverse=True)
    if len(points) > POINTS:
        place = np.arange(len(x)) * POINTS // len(x)
        ends = np.searchsorted(place, np.arange(POINTS + 1))
        points = x[(ends[:-1] + ends[1:]) // 2]
    masses = np.zeros(len(points))
    np.add.at(masses, place, w)
    return points, masses, float(np.abs(x - points[place]) @ w)


def _least_distance(points: Floats, weights: Floats, classes: int) -> float:
    """Return the least sum of distances of weighted points in order to the median of their class of neighbours."""
    size = len(points)
    mass, total = (np.append(0.0, np.cumsum(part)) for part in (weights, weights * points))
    first, last = np.triu_indices(size)
    middle = np.searchsorted(mass, (mass[first] + mass[last + 1]) / 2, side="left") - 1
    middle = np.clip(middle, first, last)
    below = points[middle] * (mass[middle + 1] - mass[first]) - (total[middle + 1] - total[first])
    above = (total[last + 1] - total[middle + 1]) - points[middle] * (mass[last + 1] - mass[middle + 1])
    alone = np.full((size, size), np.inf)  # of one class from a point to another
    alone[first, last] = below + above
    best = alone[0]
    for _ in range(classes - 1):
        best = np.minimum(best, (np.append(0.0, best[:-1])[:, None] + alone).min(axis=0))
    return float(best[-1])
