"""What is lost when values are put together or deleted: the three alternatives of section 3.3, and what is left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.pair import Half, Pair
from sfumato.table.microdata import Codes, Floats, Microdata

# What is lost when values are put together: the three alternatives of section 3.3

Alternative = Literal["comparisons", "allocation", "heterogeneity"]
CELLS = 1 << 16  # of two variables together that are counted in a table, however few the records
PAIRED_RECORDS = 1000  # of so many, each pair of records is a bit
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


def pairs_apart(codes: Codes) -> NDArray[np.uint64]:
    """Return a bit for each pair of records: whether both have a value and these differ. For few records.

    >>> one, other = pairs_apart(np.array([0, 0, 1, -1])), pairs_apart(np.array([0, 1, 1, 1]))
    >>> int(np.bitwise_count(one & other).sum())  # as differing_in_both, each pair twice
    2
    """
    there = codes >= 0
    packed = np.packbits((codes[:, None] != codes) & there[:, None] & there)
    return np.pad(packed, (0, -len(packed) % 8)).view(np.uint64)


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


# What is left of the values that were there, deleted or put together: of each variable, and of each pair.
#
# An association is told by comparing records that differ in both variables: Goodman and Kruskal (1954) and Kendall
# count these pairs of records alone, for the others say nothing of it. What was put together takes some of them away. A
# share q of the records, left by deletion, leaves q^2 of their pairs; so a share s of the pairs counts as sqrt(s) of
# the records.

Deletion = Literal["ignored", "charged"]
BLOCK = 1 << 16  # records counted at a time


@dataclass(frozen=True, eq=False)
class RemainingShares:
    """The share of its values that each variable still has, and of the records with both that each pair still has.

    ``together`` is in the order of the pairs, first < second.
    """

    alone: Mapping[str, float]
    together: Floats


def left(pair: Pair, names: Sequence[str]) -> RemainingShares:
    """Count what is left in two tables in memory: record by record where they match, else by the shares, at most 1.

    >>> import pyarrow as pa
    >>> before = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 2.0, 3.0, None]})
    >>> after = pa.table({"a": [1.0, 2.0, None, None], "b": [1.0, None, 3.0, 4.0]})
    >>> found = left(Pair.of(before, after), ["a", "b"])
    >>> found.alone["a"], round(found.alone["b"], 3), round(float(found.together[0]), 3)  # 2 of 4, 2 of 3, 1 of 3
    (0.5, 0.667, 0.333)
    """
    before, after = pair.tables()
    were = _counts(before, None, names)
    matched = pair.matched
    are = _counts(before, after, names) if matched else _counts(after, None, names) * (len(before) / len(after))
    shares = np.where(were > 0, np.minimum(are / np.where(were > 0, were, 1.0), 1.0), 1.0)
    alone = dict(zip(names, np.diag(shares).tolist(), strict=True))
    return RemainingShares(alone, shares[np.triu_indices(len(names), 1)])


def comparisons_left(pair: Pair, original: Half, names: Sequence[str]) -> Floats:
    """Return of each pair of variables the root of the share of pairs of records that differ in both and still do.

    ``original`` keeps what depends on the original alone; pairs are in order, first < second.

    Both are counted in the original, before its values are put together as the protected table's are and after. Of what
    cannot be traced no more is left than so many classes of equal size tell apart, as of the variable alone.
    """
    few = len(original) <= PAIRED_RECORDS

    @cache
    def coded(name: str, *, recoded: bool) -> NDArray[Any]:
        codes = _numbered(pair.original.column(name), pair.footing(name).original if recoded else None)
        return pairs_apart(codes) if few else codes

    def differing(one: str, other: str, *, recoded: bool) -> float:
        a, b = (coded(name, recoded=recoded and name in merged) for name in (one, other))
        return float(np.bitwise_count(a & b).sum()) if few else differing_in_both(a, b)

    merged = {name for name in names if pair.footing(name).recoded}
    most = {name: _most_differing(pair, name) for name in names if not pair.footing(name).comparable}
    shares = []
    for one, other in combinations(names, 2):
        share = 1.0
        if not {one, other}.isdisjoint(merged | set(most)):
            before = original.keep(("records that differ", one, other), partial(differing, one, other, recoded=False))
            after = differing(one, other, recoded=True) if {one, other} & merged else before
            after = min([after, *(most[name] for name in (one, other) if name in most)])
            share = after / before if before > 0 else 1.0
        shares.append(share)
    return np.sqrt(shares)


def _most_differing(pair: Pair, name: str) -> float:
    """Return how many pairs of records, twice, differ at most in a variable of which the values left are counted."""
    values = pair.protected.column(name)
    classes = max(len(np.unique(values[present(values)])), 1)
    return float(present(pair.original.column(name)).sum()) ** 2 * (1 - 1 / classes)


def _numbered(values: NDArray[Any], recoded: NDArray[Any] | None) -> Codes:
    """Number the different values of a column, or what they became; those that became nothing are one class."""
    there = present(values)
    found = np.full(len(values), -1, dtype=np.int32)
    column = values[there] if recoded is None else recoded[there]
    lost = ~present(column)
    classes, found[there] = np.unique(column, return_inverse=True)
    if lost.any():
        found[np.flatnonzero(there)[lost]] = len(classes)
    return found


def side_by_side(pair: Pair) -> Pair:
    """Put the records of two tables in memory in the same order, if they are the same."""
    try:
        return pair.in_order()
    except NotApplicable:  # another number of records, a sample, ids that differ
        if not pair.matched:
            return pair
        return Pair(pair.original, Half([replace(part, matched=False) for part in pair.protected.parts]))


def present(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which numbers are not NaN, or which codes are not -1."""
    found: NDArray[np.bool_] = ~np.isnan(column) if column.dtype.kind == "f" else column >= 0
    return found


def _counts(table: Microdata, beside: Microdata | None, names: Sequence[str]) -> Floats:
    """Count the records that have both of every two variables, in the other table too; each alone in the diagonal."""
    there = np.column_stack([~table.missing(name) for name in names])
    if beside is not None:
        there &= np.column_stack([~beside.missing(name) for name in names])
    counts = np.zeros((len(names), len(names)))
    for start in range(0, len(there), BLOCK):
        block = there[start : start + BLOCK].astype(np.float64)
        counts += block.T @ block
    return counts
