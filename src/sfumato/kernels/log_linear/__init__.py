"""Poisson log-linear models of a sparse contingency table, fitted by iterative proportional fitting.

A model with all associations of two variables expects nothing where two values never occur together, so only the cells
whose values all do, two by two, are listed and fitted: in a table of millions of cells often a small share.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling
from sfumato.kernels.groups import classes
from sfumato.kernels.log_linear import plain

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
MOST_CYCLES = 500


def possible_cells(codes: Codes, order: int, most: int) -> Codes | None:
    """List the cells that a model with all effects of up to ``order`` (1 or 2) variables expects records in.

    ``codes`` are the records, in values numbered from 0 that all occur; None where there are more cells than ``most``.

    >>> possible_cells(np.array([[0, 0, 0], [0, 1, 1], [1, 1, 1]], dtype=np.int32), 2, 10).tolist()
    [[0, 0, 0], [0, 1, 1], [1, 1, 1]]
    """
    sizes = codes.max(axis=0) + 1
    cells = np.arange(sizes[0], dtype=np.int32)[:, None]
    for j in range(1, codes.shape[1]):
        seen = [np.zeros((sizes[i], sizes[j]), dtype=bool) for i in range(j)]
        for i in range(j):
            seen[i][codes[:, i], codes[:, j]] = True
        longer, number = [], 0
        for value in range(sizes[j]):
            kept = cells
            for i in range(j) if order > 1 else ():
                kept = kept[seen[i][kept[:, i], value]]
            number += len(kept)
            if number > most:
                return None
            longer.append(np.column_stack([kept, np.full(len(kept), value, dtype=np.int32)]))
        cells = np.concatenate(longer)
    return cells


def counted(cells: Codes, codes: Codes) -> Floats:
    """Count the records in each cell."""
    class_of, sizes = classes(np.concatenate([cells, codes]))
    return np.bincount(class_of[len(cells) :], minlength=len(sizes))[class_of[: len(cells)]].astype(np.float64)


def fitted(cells: Codes, counts: Floats, order: int, tolerance: float = 0.01) -> tuple[Floats, bool]:
    """Return the expected counts of the model with all effects of up to ``order`` variables, and whether it converged.

    The fit has the margins of ``counts`` over every ``order`` variables, to within ``tolerance`` records.

    >>> two_by_two = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    >>> fitted(two_by_two, np.array([2.0, 2.0, 2.0, 0.0]), 1)[0].round(3)
    array([2.667, 1.333, 1.333, 0.667])
    """
    order = min(order, cells.shape[1])
    cycle = plain.cycle(cells, counts, order)
    if order == 2 and worth_compiling(len(cells)):
        from sfumato.kernels.log_linear import compiled

        cycle = compiled.cycle(cells, counts)
    expected = np.full(len(cells), counts.sum() / len(cells))
    for _ in range(MOST_CYCLES):
        if cycle(expected) <= tolerance:
            return expected, True
    return expected, False
