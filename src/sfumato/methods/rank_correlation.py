"""Normal scores, and the correlations they need for the rank correlations of a table, ties included."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ORDERS = 60  # of the expansion in Hermite polynomials; the rest of it is below 0.002 of a rank correlation of 1
HALVINGS = 40  # of [-1, 1]: a correlation to 1e-12


def correlations(table: Floats) -> tuple[Floats, Floats]:
    """Return the correlations of normal scores with the rank correlations of the table, and each value's score.

    Spearman's correlation of every pair of columns comes from the records that have both. Where normal scores with
    correlation rho are cut into steps as wide as the ties of two columns are, the rank correlation is a power series in
    rho whose coefficients are products of the two columns' Hermite coefficients; it is solved for rho. Without ties
    that is rho = 2 sin(pi R / 6). A matrix that no distribution has is replaced by the nearest by its eigenvalues.
    """
    n, p = table.shape
    scores, steps = np.full((n, p), np.nan), []
    for j in range(p):
        present = ~np.isnan(table[:, j])
        scores[present, j], coefficients = _scores(table[present, j])
        steps.append(coefficients)
    rho = np.eye(p)
    for j in range(p):
        for k in range(j):
            rho[j, k] = rho[k, j] = _needed(spearman(table[:, j], table[:, k]), steps[j] * steps[k])
    return _proper(rho), scores


def spearman(first: Floats, second: Floats) -> float:
    """Return the correlation of the ranks of the records that have both; 0 where one of the two does not vary."""
    both = ~(np.isnan(first) | np.isnan(second))
    ranks = [_mid_ranks(column[both]) for column in (first, second)]
    if both.sum() < 2:
        return 0.0
    x, y = (rank - rank.mean() for rank in ranks)
    spread = float(x @ x) * float(y @ y)
    return float(x @ y) / np.sqrt(spread) if spread > 0 else 0.0


def _mid_ranks(values: Floats) -> Floats:
    """Return ranks from 1, the mean of theirs for equal values."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


def _scores(values: Floats) -> tuple[Floats, Floats]:
    """Return the normal score of each value's mean rank, and the Hermite coefficients of the variable's ranks.

    The ranks are a step function of a normal variable: the k-th coefficient is the mean of its product with the k-th
    normalised Hermite polynomial He_k / sqrt(k!), for k = 1, 2, ..., in units of its standard deviation.
    """
    from scipy.special import ndtri

    if not values.size:
        return values, np.zeros(ORDERS)
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2) / values.size
    spread = np.sqrt(np.average((middle - 0.5) ** 2, weights=counts))
    if not spread:
        return np.zeros(values.size), np.zeros(ORDERS)
    edges = ndtri(np.cumsum(counts)[:-1] / values.size)
    rises = np.diff(middle) / spread
    # by parts, the k-th coefficient is the sum over the steps of rise x density x He_(k-1) at the edge / sqrt(k!)
    coefficients = np.empty(ORDERS)
    last, here = np.zeros_like(edges), np.exp(-edges * edges / 2) / np.sqrt(2 * np.pi)
    for k in range(1, ORDERS + 1):
        coefficients[k - 1] = rises @ here / np.sqrt(k)
        last, here = here, (edges * here - np.sqrt(k - 1) * last) / np.sqrt(k)
    return np.asarray(ndtri(middle))[place], coefficients


def _needed(wanted: float, products: Floats) -> float:
    """Solve the power series for the correlation that gives the rank correlation wanted, or the nearest there is."""
    powers = np.arange(1, ORDERS + 1)
    low, high = -1.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if float(products @ middle**powers) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2 if products.any() else 0.0


def _proper(rho: Floats) -> Floats:
    """Return the matrix, or where it has negative eigenvalues the one without them, with ones on its diagonal."""
    values, vectors = np.linalg.eigh(rho)
    if values.min(initial=0.0) >= 0:
        return rho
    kept = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.diag(kept))
    return np.asarray(kept / np.outer(scale, scale))
