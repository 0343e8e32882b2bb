"""Ranks of a column among the records that another column has, one pair or column at a time, in numpy."""

import numpy as np

from sfumato.kernels.ranks.ranked import Codes, Counts, Floats, Places, Ranked


def correlation(columns: Ranked, i: int, j: int) -> tuple[int, float, float, float]:
    """Correlate one pair in numpy, as the compiled kernel does it."""
    tables = []
    for here, there in ((i, j), (j, i)):
        distinct = len(columns.upto(here))
        lost = np.bincount(columns.places[here, columns.gone(there)], minlength=distinct)[:distinct]
        tables.append(columns.table(here, lost))
    (ranks, n, squares), (others, _, other_squares) = tables
    return n, float(ranks[columns.places[i]] @ others[columns.places[j]]), squares, other_squares


def sums_by_group(columns: Ranked, j: int, group: Places, groups: int, gone: Codes) -> tuple[Counts, Floats, float]:
    """Sum the ranks of one column by group, those ``gone`` not ranked: counts, sums and the sum of squares."""
    distinct = len(columns.upto(j))
    lost = np.bincount(columns.places[j, gone], minlength=distinct)[:distinct]
    ranks, _, squares = columns.table(j, lost)
    here = columns.places[j] < distinct
    counts = np.bincount(group[here], minlength=groups + 1)
    return counts, np.bincount(group, ranks[columns.places[j]], minlength=groups + 1).astype(np.float64), squares
