"""What propensity scores say of two files: mean square, K-S distance, share correctly told, and what chance gives."""

from dataclasses import dataclass

import numpy as np

from sfumato.utility.propensity.pooled import Flags, Floats

EQUAL = 12  # decimals to which scores are told apart: rounding must not order what is equal


@dataclass(frozen=True)
class Figures:
    """What the scores of all records say."""

    size: int  # records
    mean_square: float
    specks: float
    over_fifty: float


def figures(scores: Floats, protected: Flags, weights: Floats) -> Figures:
    """Return what scores say of the records of both files: pMSE is the (weighted) mean of (e - c)^2."""
    mean_square = float(np.average((scores - protected.mean()) ** 2, weights=weights))
    return Figures(len(scores), mean_square, specks(scores, protected, weights), over_fifty(scores, protected, weights))


def specks(scores: Floats, protected: Flags, weights: Floats) -> float:
    """Return the Kolmogorov-Smirnov distance between the scores of the two files: SPECKS."""
    rounded = np.round(scores, EQUAL)
    order = np.argsort(rounded, kind="stable")
    ordered = rounded[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    reached = [np.cumsum(np.where(side, weights, 0.0)[order]) for side in (protected, ~protected)]
    apart = np.abs(reached[0] / reached[0][-1] - reached[1] / reached[1][-1])
    return float(apart[last].max())


def over_fifty(scores: Floats, protected: Flags, weights: Floats) -> float:
    """Return PO50: 100 times the share of records that a score above 1/2 tells right, less 50; a tie counts half."""
    right = []
    for side, theirs in ((~protected, False), (protected, True)):
        right.append(told_right(scores[side], weights[side], protected=theirs) / float(weights[side].sum()))
    return over_fifty_of(float(protected.mean()), *right)


def over_fifty_of(share: float, ours: float, theirs: float) -> float:
    """Return PO50 from the share of each file that is told right, so that none or all of a file is told exactly."""
    return 100 * ((1 - share) * ours + share * theirs) - 50


def told_right(scores: Floats, weights: Floats, *, protected: bool) -> float:
    """Return what the records of one file weigh that a score above 1/2 tells right; a tie counts half."""
    excess = np.round(scores - 0.5, EQUAL)
    return float((weights * np.where(excess == 0, 0.5, (excess > 0) == protected)).sum())


@dataclass(frozen=True)
class Sizes:
    """How many records there are, and how unequal they are."""

    size: int
    share: float  # of protected records
    squares: tuple[float, float]  # the mean of the squared weights of the protected file, and of the original
    unequal: bool  # whether the weights of a file differ


def logistic_nulls(sizes: Sizes, coefficients: int) -> dict[str, tuple[float, float]]:
    """Return mean and standard deviation of pMSE with k coefficients when nothing but chance tells the files apart.

    Snoke et al. (2018) for a protected table drawn from the model fitted to the original; and for two samples of one
    population, where the original's own chance adds to it. Unequal weights multiply each file's part by the mean of its
    squared weights (Kish's design effect).
    """
    c, size, terms, (theirs, ours) = sizes.share, sizes.size, coefficients - 1, sizes.squares
    return {
        "fitted model": _chi_square(terms, theirs * c * (1 - c) ** 2 / size),
        "two samples": _chi_square(terms, ((1 - c) * theirs + c * ours) * c * (1 - c) / size),
    }


def _chi_square(degrees: int, unit: float) -> tuple[float, float]:
    return degrees * unit, float(np.sqrt(2 * degrees)) * unit
