"""What the standard error of a sample without replacement is to be, for the tests of measures that look for samples."""

import math

import numpy as np
from numpy.typing import NDArray


def variance_of_unseen(mean: float, drawn: int, records: int, low: float = 0.0, high: float = 1.0) -> float:
    """Return the variance for records never drawn, of figures from ``low`` to ``high``.

    They may be ln 0.05 / ln(1 - m / n) of the n; 1.96 standard errors reach as far as these can move the mean.
    """
    share = math.log(0.05) / math.log(1 - drawn / records) / records
    return (share * max(high - mean, mean - low) / 1.96) ** 2


def error_of_sample(figures: NDArray[np.float64], records: int) -> float:
    """Return the standard error of the mean of shares of the records drawn: s^2 / m (1 - m / n), and the unseen."""
    drawn = len(figures)
    seen = figures.var(ddof=1) / drawn * (1 - drawn / records)
    return math.sqrt(seen + variance_of_unseen(figures.mean(), drawn, records))
