"""What propensity scores say of two files: mean square, K-S distance, share correctly told, and what chance gives."""

import numpy as np

from sfumato.utility.propensity.pooled import Floats, Pooled

EQUAL = 12  # decimals to which scores are told apart: rounding must not order what is equal


def mean_square(scores: Floats, pooled: Pooled) -> float:
    """Return pMSE: the (weighted) mean over all records of (e - c)^2."""
    return float(np.average((scores - pooled.share) ** 2, weights=pooled.weights))


def specks(scores: Floats, pooled: Pooled) -> float:
    """Return the Kolmogorov-Smirnov distance between the scores of the two files: SPECKS."""
    rounded = np.round(scores, EQUAL)
    order = np.argsort(rounded, kind="stable")
    ordered = rounded[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    reached = [np.cumsum(np.where(side, pooled.weights, 0.0)[order]) for side in (pooled.protected, ~pooled.protected)]
    apart = np.abs(reached[0] / reached[0][-1] - reached[1] / reached[1][-1])
    return float(apart[last].max())


def over_fifty(scores: Floats, pooled: Pooled) -> float:
    """Return PO50: 100 times the share of records that a score above 1/2 tells right, less 50; a tie counts half."""
    excess = np.round(scores - 0.5, EQUAL)
    right = np.where(excess == 0, 0.5, (excess > 0) == pooled.protected)
    return 100 * float(np.average(right, weights=pooled.weights)) - 50


def logistic_nulls(pooled: Pooled, coefficients: int) -> dict[str, tuple[float, float]]:
    """Return mean and standard deviation of pMSE with k coefficients when nothing but chance tells the files apart.

    Snoke et al. (2018) for a protected table drawn from the model fitted to the original; and for two samples of one
    population, where the original's own chance adds to it. Unequal weights multiply each file's part by the mean of its
    squared weights (Kish's design effect).
    """
    c, size, terms = pooled.share, len(pooled), coefficients - 1
    theirs, ours = (float(np.mean(pooled.weights[side] ** 2)) for side in (pooled.protected, ~pooled.protected))
    return {
        "fitted model": _chi_square(terms, theirs * c * (1 - c) ** 2 / size),
        "two samples": _chi_square(terms, ((1 - c) * theirs + c * ours) * c * (1 - c) / size),
    }


def _chi_square(degrees: int, unit: float) -> tuple[float, float]:
    return degrees * unit, float(np.sqrt(2 * degrees)) * unit
