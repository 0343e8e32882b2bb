"""The records of two coded columns counted against each other, in numpy."""

import numpy as np

from sfumato.kernels.contingency.table import Codes, Floats, Table, most_counted, table_of


def tabulate(first: Codes, second: Codes, shape: tuple[int, int], weights: Floats | None = None) -> Table:
    """Count one pair in numpy, as the compiled kernel does it; a large table costs no more than sorting the records."""
    both = (first < shape[0]) & (second < shape[1])
    place = first[both].astype(np.int64) * shape[1] + second[both]
    w = None if weights is None else weights[both]
    squares = len(place) if w is None else float(w @ w)
    if shape[0] * shape[1] <= most_counted(len(first)):
        whole = np.bincount(place, w, minlength=shape[0] * shape[1])
        cells = np.flatnonzero(whole)
        observed = whole[cells]
    else:
        cells, which = np.unique(place, return_inverse=True)
        observed = np.bincount(which, w, minlength=len(cells))
    rows, columns = np.divmod(cells, max(shape[1], 1))
    return table_of(rows, columns, observed.astype(np.float64), shape, len(place), squares)
