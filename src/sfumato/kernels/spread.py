"""Means and standard deviations of columns with gaps, where what rounding leaves of a constant is no spread."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.stretches import stretches

Floats = NDArray[np.float64]

ROUNDING = 64 * float(np.finfo(np.float64).eps)


def mean_and_spread(values: Floats) -> tuple[Floats, Floats]:
    """Return each column's mean and standard deviation (n - 1) over its values present; a constant has spread 0.

    A column whose values are all equal has exactly that mean and no spread, whatever rounding makes of the sums; one
    with fewer than two values present has no spread either, and one with none has the mean NaN. Values too large to be
    squared have an infinite spread.
    """
    present = ~np.isnan(values)
    counts = present.sum(axis=0)
    low = np.where(present, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(present, values, -np.inf).max(axis=0, initial=-np.inf)
    with np.errstate(over="ignore", invalid="ignore"):  # too large for a sum: an infinite spread says so
        mean = np.where(present, values, 0.0).sum(axis=0) / np.maximum(counts, 1)
        squares = (np.where(present, values - mean, 0.0) ** 2).sum(axis=0)
    spread = np.sqrt(squares / np.maximum(counts - 1, 1))
    constant = (low == high) | (counts < 2)
    mean = np.where(counts == 0, np.nan, np.where(low == high, low, mean))
    size = np.maximum(np.abs(np.where(counts > 0, low, 0.0)), np.abs(np.where(counts > 0, high, 0.0)))
    return mean, np.where(constant | (spread <= ROUNDING * size), 0.0, spread)


def mean_and_spread_of_long(values: Floats, exponent: int = 0) -> tuple[float, float]:
    """Return mean and standard deviation of one long column as ``mean_and_spread`` does, a stretch at a time.

    Values are divided by this power of two first.
    """
    low, high = (
        float(np.ldexp(end, -exponent))
        for end in (np.fmin.reduce(values, initial=np.inf), np.fmax.reduce(values, initial=-np.inf))
    )
    if low >= high:
        return (low if low == high else np.nan), 0.0
    count, sums = 0, []
    with np.errstate(over="ignore", invalid="ignore"):  # too large for a sum: an infinite spread says so
        for rows in stretches(len(values)):
            count += int(np.count_nonzero(~np.isnan(values[rows])))
            sums.append(float(np.nansum(np.ldexp(values[rows], -exponent))))
        mean = sum(sums) / count
        squares = [float(np.nansum((np.ldexp(values[rows], -exponent) - mean) ** 2)) for rows in stretches(len(values))]
    spread = float(np.sqrt(sum(squares) / (count - 1)))
    return mean, 0.0 if spread <= ROUNDING * max(abs(low), abs(high)) else spread


def standardised(values: Floats, mean: Floats, spread: Floats) -> Floats:
    """Return the z-scores; a column without spread is only centred, so that a constant stands at zero."""
    scores: Floats = (values - mean) / np.where(spread > 0, spread, 1.0)
    return scores
