"""What is left of the values that were there: of each variable, and of each pair in the records that had both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Floats, Microdata
from sfumato.errors import NotApplicable
from sfumato.pair import Half, Pair

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
    original, protected = pair.tables()
    were = _counts(original, None, names)
    if pair.matched:
        are = _counts(original, protected, names)
    else:
        are = _counts(protected, None, names) * (len(original) / len(protected))
    shares = np.where(were > 0, np.minimum(are / np.where(were > 0, were, 1.0), 1.0), 1.0)
    alone = dict(zip(names, np.diag(shares).tolist(), strict=True))
    return Left(alone, shares[np.triu_indices(len(names), 1)])


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
