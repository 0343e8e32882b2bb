"""Minimal sample uniques: the smallest sets of keys on which a record is alone.

The recursive search of SUDA2, with all values of a key taken at once: below a set of keys only the records that are not
yet alone on it are looked at, in groups that agree on it, and one more key splits every group. A set found for a record
may hold a smaller one found elsewhere in the search; those are struck out at the end.
"""

from collections.abc import Iterable, Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling
from sfumato.kernels.agreement import spans
from sfumato.kernels.groups import class_sums, classes, first_records

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Keys = list[tuple[Codes, int]]  # the values of each key, and its power of two
Floats = NDArray[np.float64]

MAX_COMBINATIONS = 2**62  # combinations that one number tells apart


def minimal_uniques(cells: Codes, candidate: NDArray[np.bool_], size: int) -> tuple[Integers, Integers]:
    """Return the minimal sample uniques of up to ``size`` keys as pairs (row of ``cells``, keys as a sum of 2^column).

    ``cells`` are different combinations of key values, and only those marked ``candidate`` can be alone; the others
    (which several records have) stand in the way of uniqueness. A missing value, -1, agrees with every other, so a
    record is alone only by values it has. The pairs come row by row.

    >>> minimal_uniques(np.array([[0, 0], [0, 1], [1, 1]]), np.array([True, True, True]), 2)
    (array([0, 1, 2]), array([2, 3, 1]))
    """
    if not worth_compiling(len(cells)):
        return plain_minimal_uniques(cells, candidate, size)
    from sfumato.kernels.uniques import compiled

    return compiled.minimal_uniques(cells, candidate, size)


def plain_minimal_uniques(cells: Codes, candidate: NDArray[np.bool_], size: int) -> tuple[Integers, Integers]:
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


def alone_on(cells: Codes, sizes: Integers, sets: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    """Return how many records are alone on each set of columns.

    ``cells`` are different combinations of codes from 0, and ``sizes`` the records that have each.

    >>> alone_on(np.array([[0, 0], [0, 1], [1, 1]]), np.array([1, 1, 2]), [(0,), (1,), (0, 1)])
    {(0,): 0, (1,): 1, (0, 1): 2}
    """
    columns = [column.astype(np.int64) for column in cells.T]
    values = [int(column.max()) + 1 for column in columns]
    weights, several = sizes.astype(np.float64), np.flatnonzero(sizes > 1)
    alone = {}
    for chosen in sets:
        number = prod(values[j] for j in chosen)
        if number > MAX_COMBINATIONS:
            class_of, found = classes(cells[:, list(chosen)])
            alone[chosen] = int((class_sums(class_of, weights, len(found)) == 1).sum())
            continue
        packed = columns[chosen[0]] if chosen else np.zeros(len(cells), dtype=np.int64)
        for j in chosen[1:]:
            packed = packed * values[j] + columns[j]
        alone[chosen] = _once(packed, number, weights, several)
    return alone


def _once(packed: Integers, number: int, weights: Floats, several: NDArray[np.intp]) -> int:
    """Return how many numbers below ``number`` stand for one record; those of ``several`` places stand for more."""
    if number <= 4 * len(packed):
        return int((np.bincount(packed, weights=weights) == 1).sum())
    packed = np.sort(np.concatenate([packed, packed[several]]))  # what several records have comes up twice
    differs = np.concatenate([[True], packed[1:] != packed[:-1], [True]])
    return int((differs[1:] & differs[:-1]).sum())
