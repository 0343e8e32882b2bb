"""Poisson log-linear models of a sparse contingency table, fitted by iterative proportional fitting.

A model with all associations of two variables expects nothing where two values never occur together, so only the cells
whose values all do, two by two, are listed and fitted: in a table of millions of cells often a small share.
"""

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling
from sfumato.kernels.groups import classes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Cycle = Callable[[Floats], float]  # fits in place, and returns by how much the worst margin was off before

MAX_CYCLES = 2_000
TOLERANCE = 1e-8  # records by which a margin may be off
ROUGH = 1e-4  # records by which it may be off if the cycles did not suffice, because some combinations are very rare


def possible_cells(codes: Codes, order: int, most: int) -> Codes | None:
    """List the cells that a model with all effects of up to ``order`` (1 or 2) variables expects records in.

    ``codes`` are the cells that occur, in values numbered from 0 that all occur; None where there are more cells than
    ``most``.

    >>> possible_cells(np.array([[0, 0, 0], [0, 1, 1], [1, 1, 1]], dtype=np.int32), 2, 10).tolist()
    [[0, 0, 0], [0, 1, 1], [1, 1, 1]]
    """
    sizes = codes.max(axis=0) + 1
    columns = [np.arange(sizes[0], dtype=np.int32)]
    for j in range(1, codes.shape[1]):
        together = [_together(codes[:, j], codes[:, i], (sizes[j], sizes[i])) for i in range(j if order > 1 else 0)]
        rows, number = [], 0
        for value in range(sizes[j]):
            fits = np.ones(len(columns[0]), dtype=bool)
            for seen, column in zip(together, columns, strict=False):
                if not seen[value].all():
                    fits &= seen[value][column]
            rows.append(np.flatnonzero(fits))
            number += len(rows[-1])
            if number > most:
                return None
        lengths = [len(kept) for kept in rows]
        every = np.concatenate(rows)
        columns = [column[every] for column in columns]
        columns.append(np.repeat(np.arange(sizes[j], dtype=np.int32), lengths))
    return np.stack(columns).T


def _together(one: Codes, other: Codes, sizes: tuple[int, int]) -> NDArray[np.bool_]:
    """Tell which values of one variable occur with which values of another."""
    seen = np.zeros(sizes[0] * sizes[1], dtype=bool)
    seen[one * sizes[1] + other] = True
    return seen.reshape(sizes)


def placed(cells: Codes, codes: Codes) -> Integers:
    """Return the place of each of these combinations among the cells, of which it is one."""
    return classes(np.concatenate([cells, codes]))[0][len(cells) :]  # the cells are different, so numbered first


def fitted(
    cells: Codes, counts: Floats, order: int, tolerance: float = TOLERANCE, start: Floats | None = None
) -> tuple[Floats, bool]:
    """Return the expected counts of the model with all effects of up to ``order`` variables, and whether it converged.

    The fit has the margins of ``counts`` over every ``order`` variables, to within ``tolerance`` of a record. The fit
    is the product of ``start``, an offset of the model (by default the same in all cells), and of effects.

    >>> two_by_two = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    >>> fitted(two_by_two, np.array([2.0, 2.0, 2.0, 0.0]), 1)[0].round(3)
    array([2.667, 1.333, 1.333, 0.667])
    """
    order = min(order, cells.shape[1])
    if order == 2 and worth_compiling(len(cells)):
        from sfumato.kernels.log_linear import compiled

        cycle = compiled.cycle(cells, counts)
    else:
        cycle = plain_cycle(cells, counts, order)
    expected = np.full(len(cells), counts.sum() / len(cells)) if start is None else start * (counts.sum() / start.sum())
    off = np.inf
    for _ in range(MAX_CYCLES):
        off = cycle(expected)
        if off <= tolerance:
            break
    return expected, bool(off <= max(tolerance, ROUGH))


def plain_cycle(cells: Codes, counts: Floats, order: int) -> Cycle:
    """Make the function that fits to each margin of ``order`` variables in turn."""
    sizes = cells.max(axis=0) + 1
    margins = []
    for chosen in combinations(range(cells.shape[1]), order):
        columns = [cells[:, j] for j in chosen]
        place = columns[0] if order == 1 else np.ravel_multi_index(columns, [sizes[j] for j in chosen])
        margins.append((place, np.bincount(place, weights=counts)))

    def fit(expected: Floats) -> float:
        worst = 0.0
        for place, target in margins:
            now = np.bincount(place, weights=expected)
            worst = max(worst, float(np.abs(now - target).max()))
            expected *= np.divide(target, now, out=np.zeros_like(target), where=now > 0)[place]
        return worst

    return fit
