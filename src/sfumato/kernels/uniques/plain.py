"""The search for minimal sample uniques in a small table: all values of a key at once, by numpy."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.agreement import spans
from sfumato.kernels.groups import classes, first_records

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]


def minimal_uniques(cells: Codes, candidate: NDArray[np.bool_], size: int) -> tuple[Integers, Integers]:
    """Return the minimal sample uniques as pairs (row, keys as a sum of 2^column)."""
    rows = np.arange(len(cells))
    found = list(_below(cells, rows, np.zeros(len(cells), dtype=np.int64), candidate, 0, cells.shape[1], size))
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    row = np.concatenate([rows for rows, _ in found])
    keys = np.concatenate([np.full(len(rows), keys) for rows, keys in found])
    order = np.lexsort((keys, row))
    row, keys = row[order], keys[order]
    minimal = smallest(row, keys)
    return row[minimal], keys[minimal]


def _below(
    cells: Codes, rows: Integers, group: Integers, real: NDArray[np.bool_], keys: int, columns: int, size: int
) -> Iterator[tuple[Integers, int]]:
    """Yield the rows that are alone on a set of keys one column larger, and search below those who are not.

    ``rows`` agree with their ``group`` on ``keys``; those not ``real`` only stand in the way: they are no candidates
    or lack one of the keys. Columns are added from the last to the first, so that every set comes up once.
    """
    for column in range(columns):
        split, parts, stays = _split(cells[:, column], rows, group, real)
        total = np.bincount(parts)
        alone = stays & (total[parts] == 1)
        if alone.any():
            yield split[alone], keys | 1 << column
        if size > 1 and column > 0:
            wanted = np.zeros(len(total), dtype=bool)
            wanted[parts[stays & ~alone]] = True  # groups with a candidate that is not alone yet
            kept = wanted[parts]
            if kept.any():
                yield from _below(cells, split[kept], parts[kept], stays[kept], keys | 1 << column, column, size - 1)


def _split(
    values: Codes, rows: Integers, group: Integers, real: NDArray[np.bool_]
) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Split groups by one more key; a row that lacks it goes into every part of its group, and stands in the way."""
    value = values[rows]
    has = value >= 0
    if has.all():
        return rows, classes(np.column_stack([group, value]))[0], real
    parts = classes(np.column_stack([group[has], value[has]]))[0]
    group_of = group[has][first_records(parts)]
    order = np.argsort(group_of, kind="stable")  # the parts of each group, one group after the other
    lacking, of = rows[~has], group[~has]
    start = np.searchsorted(group_of[order], of, "left")
    length = np.searchsorted(group_of[order], of, "right") - start
    copies = order[spans(start, length)]
    return (
        np.concatenate([rows[has], np.repeat(lacking, length)]),
        np.concatenate([parts, copies]),
        np.concatenate([real[has], np.zeros(len(copies), dtype=bool)]),
    )


def smallest(row: Integers, keys: Integers) -> NDArray[np.bool_]:
    """Tell which sets hold no other of their row; they come row by row, in each in ascending order."""
    minimal = np.ones(len(row), dtype=bool)
    for lag in range(1, int(np.bincount(row).max())):  # each set against the one ``lag`` places before, if of its row
        other = keys[:-lag]
        minimal[lag:] &= (row[lag:] != row[:-lag]) | ((keys[lag:] & other) != other)
    return minimal
