"""Ranks of a column among the records that another column has, one pair or column at a time, in numpy."""

import numpy as np

from sfumato.kernels.ranks.ranked import Codes, Counts, Floats, Places, Ranked


def correlation(columns: Ranked, i: int, j: int) -> tuple[int, float, float, float]:
    """Correlate one pair in numpy, as the compiled kernel does it."""
    ranks, n, squares = columns.table(i, columns.gone(j))
    others, _, other_squares = columns.table(j, columns.gone(i))
    return n, float(ranks[columns.places[i]] @ others[columns.places[j]]), squares, other_squares


def sums_by_group(columns: Ranked, j: int, group: Places, groups: int, gone: Codes) -> tuple[Counts, Floats, float]:
    """Sum the ranks of one column by group, those ``gone`` not ranked: counts, sums and the sum of squares."""
    ranks, _, squares = columns.table(j, gone)
    here = columns.places[j] < len(ranks) - 1
    counts = np.bincount(group[here], minlength=groups + 1)
    return counts, np.bincount(group, ranks[columns.places[j]], minlength=groups + 1).astype(np.float64), squares
