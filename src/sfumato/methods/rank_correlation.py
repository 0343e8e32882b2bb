"""Normal scores, and the correlations they need for the rank correlations of a table, ties included."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ORDERS = 60  # of the expansion in Hermite polynomials; the rest of it is below 0.002 of a rank correlation of 1
HALVINGS = 40  # of [-1, 1]: a correlation to 1e-12


def needed_correlations(table: Floats) -> Floats:
    """Return the correlations that normal scores need for the rank correlations of the columns of a table.

    Spearman's correlation of every pair comes from the records that have both. Where normal scores with correlation rho
    are cut into steps as wide as the ties of two columns are, the rank correlation is a power series in rho whose
    coefficients are products of the two columns' Hermite coefficients; it is solved for rho. Without ties that is
    rho = 2 sin(pi R / 6).
    """
    p = table.shape[1]
    present = ~np.isnan(table)
    ranks = [mid_ranks(table[present[:, j], j]) for j in range(p)]
    steps = [_coefficients(rank) for rank in ranks]
    rho = np.eye(p)
    for j in range(p):
        for k in range(j):
            if present[:, j].all() and present[:, k].all():
                found = _correlation(ranks[j], ranks[k])
            else:
                found = spearman(table[:, j], table[:, k])
            rho[j, k] = rho[k, j] = _needed(found, steps[j] * steps[k])
    return rho


def normal_scores(values: Floats, draws: Floats) -> Floats:
    """Return the normal score of each value's rank, ties in the order of their draws; missing values stay missing."""
    from scipy.special import ndtri

    present = np.flatnonzero(~np.isnan(values))
    scores = np.full(values.size, np.nan)
    order = present[np.lexsort((draws[present], values[present]))]
    scores[order] = ndtri((np.arange(order.size) + 0.5) / max(order.size, 1))
    return scores


def proper(rho: Floats) -> Floats:
    """Return a correlation matrix, or where it has negative eigenvalues the one without them, ones on its diagonal."""
    values, vectors = np.linalg.eigh(rho)
    if values.min(initial=0.0) >= 0:
        return rho
    kept = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.diag(kept))
    return np.asarray(kept / np.outer(scale, scale))


def spearman(first: Floats, second: Floats) -> float:
    """Return the correlation of the ranks of the records that have both; 0 where one of the two does not vary."""
    both = ~(np.isnan(first) | np.isnan(second))
    return _correlation(mid_ranks(first[both]), mid_ranks(second[both]))


def mid_ranks(values: Floats) -> Floats:
    """Return ranks from 1, the mean of theirs for equal values."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


def _correlation(first: Floats, second: Floats) -> float:
    if first.size < 2:
        return 0.0
    x, y = first - first.mean(), second - second.mean()
    spread = float(x @ x) * float(y @ y)
    return float(x @ y) / np.sqrt(spread) if spread > 0 else 0.0


def _coefficients(ranks: Floats) -> Floats:
    """Return the Hermite coefficients of a variable's ranks, a step function of a normal variable.

    The k-th is the mean of its product with the k-th normalised Hermite polynomial He_k / sqrt(k!), for k = 1, 2, ...,
    in units of its standard deviation.
    """
    from scipy.special import ndtri

    _, counts = np.unique(ranks, return_counts=True)
    if counts.size < 2:
        return np.zeros(ORDERS)
    below = np.cumsum(counts) / ranks.size
    middle = below - counts / (2 * ranks.size)
    spread = np.sqrt(np.average((middle - 0.5) ** 2, weights=counts))
    edges = ndtri(below[:-1])
    rises = np.diff(middle) / spread
    # by parts, it is the sum over the steps of rise x density x He_(k-1) / sqrt(k!) at the edge
    coefficients = np.empty(ORDERS)
    last, here = np.zeros_like(edges), np.exp(-edges * edges / 2) / np.sqrt(2 * np.pi)
    for k in range(1, ORDERS + 1):
        coefficients[k - 1] = rises @ here / np.sqrt(k)
        last, here = here, (edges * here - np.sqrt(k - 1) * last) / np.sqrt(k)
    return coefficients


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
