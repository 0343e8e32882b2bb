"""Correlations of numeric variables before and after."""

import numpy as np
from numpy.typing import NDArray

from sfumato.compare.examine.findings import CorrelationChange
from sfumato.data.microdata import Microdata

LISTED = 10
WRITTEN = 0.0005  # a smaller move is written +0.000: it has not moved


def correlation_changes(original: Microdata, protected: Microdata) -> tuple[CorrelationChange, ...]:
    """Return the pairs of numeric variables whose correlation moved most."""
    names = [n for n in original.schema.analysed("numeric") if n in protected.schema.analysed("numeric")]
    if len(names) < 2:
        return ()
    before, after = (_correlation_matrix(table.numeric(names)) for table in (original, protected))
    rows, columns = np.triu_indices(len(names), k=1)
    moved = np.abs(after - before)[rows, columns]
    known = np.flatnonzero(np.isfinite(moved))
    known = known[moved[known] >= WRITTEN]
    worst = known[np.argsort(-moved[known], kind="stable")][:LISTED]
    return tuple(
        CorrelationChange(names[i], names[j], float(before[i, j]), float(after[i, j]))
        for i, j in zip(rows[worst], columns[worst], strict=True)
    )


def _correlation_matrix(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Pearson correlations over the records that have both values; constant variables have none (NaN)."""
    present = ~np.isnan(values)
    m = present.astype(np.float64)
    centre = np.where(present.any(axis=0), np.nansum(values, axis=0) / np.maximum(present.sum(axis=0), 1), 0.0)
    x = np.where(present, values - centre, 0.0)
    n, sums, products, squares = m.T @ m, x.T @ m, x.T @ x, (x * x).T @ m
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = products - sums * sums.T / n
        spread = squares - sums**2 / n
        found = covariance / np.sqrt(spread * spread.T)
    constant = spread <= 1e-12 * np.maximum(squares, 1e-300)
    found[constant | constant.T] = np.nan
    matrix: NDArray[np.float64] = np.clip(found, -1, 1)
    return matrix
