"""The search for minimal sample uniques in a small table: all values of a key at once, by numpy."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.agreement import spans
from sfumato.kernels.groups import classes, first_records

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Keys = list[tuple[Codes, int]]  # the values of each key, and its power of two


def minimal_uniques(cells: Codes, candidate: NDArray[np.bool_], size: int) -> tuple[Integers, Integers]:
    """Return the minimal sample uniques as pairs (row, keys as a sum of 2^column), row by row."""
    order = np.argsort(cells.max(axis=0), kind="stable")  # keys of many values last, as in the compiled search
    keys = [(cells[:, column], 1 << int(column)) for column in order]
    found = list(_below(keys, np.arange(len(cells)), np.zeros(len(cells), dtype=np.int64), candidate, 0, size))
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    row = np.concatenate([rows for rows, _ in found])
    sets = np.concatenate([np.full(len(rows), chosen) for rows, chosen in found])
    by_row = np.argsort(row, kind="stable")
    row, sets = row[by_row], sets[by_row]
    minimal = smallest(row, sets)
    return row[minimal], sets[minimal]


def _below(
    keys: Keys, rows: Integers, group: Integers, real: NDArray[np.bool_], agreed: int, size: int
) -> Iterator[tuple[Integers, int]]:
    """Yield the rows that are alone on a set one key larger, with the set, and search below those that are not.

    ``rows`` agree with their ``group`` on the keys ``agreed``; those not ``real`` only stand in the way: they are no
    candidates or lack one of the keys. Keys are added from the last to the first, so that every set comes up once, and
    after the sets that it holds.
    """
    for place, (values, power) in enumerate(keys):
        split, parts, stays = _split(values, rows, group, real)
        total = np.bincount(parts)
        alone = stays & (total[parts] == 1)
        if alone.any():
            yield split[alone], agreed | power
        if size > 1 and place > 0:
            wanted = np.zeros(len(total), dtype=bool)
            wanted[parts[stays & ~alone]] = True  # groups with a candidate that is not alone yet
            kept = wanted[parts]
            if kept.any():
                yield from _below(keys[:place], split[kept], parts[kept], stays[kept], agreed | power, size - 1)


def _split(
    values: Codes, rows: Integers, group: Integers, real: NDArray[np.bool_]
) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Split groups by one more key; a row that lacks it goes into every part of its group, and stands in the way."""
    value = values[rows]
    has = value >= 0
    if has.all():
        return rows, np.unique(group * (int(value.max()) + 1) + value, return_inverse=True)[1], real
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


def smallest(row: Integers, sets: Integers) -> NDArray[np.bool_]:
    """Tell which sets hold no other of their row; they come row by row, and none before one that it holds."""
    minimal = np.ones(len(row), dtype=bool)
    for lag in range(1, int(np.bincount(row).max())):  # each set against the one ``lag`` places before, if of its row
        other = sets[:-lag]
        minimal[lag:] &= (row[lag:] != row[:-lag]) | ((sets[lag:] & other) != other)
    return minimal
