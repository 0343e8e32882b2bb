"""What is left of the values that were there, deleted or put together: of each variable, and of each pair.

An association is told by comparing records that differ in both variables: Goodman and Kruskal (1954) and Kendall count
these pairs of records alone, for the others say nothing of it. What was put together takes some of them away. A share q
of the records, left by deletion, leaves q^2 of their pairs; so a share s of the pairs counts as sqrt(s) of the records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Codes, Floats, Microdata
from sfumato.errors import NotApplicable
from sfumato.pair import Half, Pair
from sfumato.utility.global_utility.coarsening import differing_in_both

Deletion = Literal["ignored", "charged"]
BLOCK = 1 << 16  # records counted at a time


@dataclass(frozen=True, eq=False)
class Left:
    """The share of its values that each variable still has, and of the records with both that each pair still has.

    ``together`` is in the order of the pairs, first < second.
    """

    alone: Mapping[str, float]
    together: Floats


def left(pair: Pair, names: Sequence[str]) -> Left:
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
    return Left(alone, shares[np.triu_indices(len(names), 1)])


def comparisons_left(pair: Pair, original: Half, names: Sequence[str]) -> Floats:
    """Return of each pair of variables the root of the share of pairs of records that differ in both and still do.

    ``original`` keeps what depends on the original alone; pairs are in order, first < second.

    Both are counted in the original, before its values are put together as the protected table's are and after. Of what
    cannot be traced no more is left than so many classes of equal size tell apart, as of the variable alone.
    """
    numbered: dict[tuple[str, bool], Codes] = {}

    def codes(name: str, *, recoded: bool) -> Codes:
        place = (name, recoded and name in merged)
        if place not in numbered:
            numbered[place] = _numbered(pair.original.column(name), pair.footing(name).original if place[1] else None)
        return numbered[place]

    def differing(one: str, other: str, *, recoded: bool) -> float:
        return differing_in_both(codes(one, recoded=recoded), codes(other, recoded=recoded))

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
