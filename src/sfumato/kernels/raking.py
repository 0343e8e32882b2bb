"""Raking: weights that reproduce given margins and tell nothing else (Deming and Stephan 1940)."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import classes

Floats = NDArray[np.float64]
MAX_ROUNDS, TOLERANCE = 1000, 1e-10


def raked(codes: NDArray[np.integer], weights: Floats) -> tuple[Floats, float]:
    """Return weights that depend on the columns of ``codes`` alone and have the margins of ``weights`` in each.

    They begin equal, and are multiplied by one factor for each category of each column in turn until all margins
    hold: of all such weights those nearest to equal ones, in Kullback and Leibler's divergence (Csiszár 1975). Codes
    below 0, missing values, are a category. The second value is the largest relative difference left in a margin.

    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> raked(codes, np.array([1.0, 2.0, 3.0, 6.0]))[0].round(6).tolist()
    [1.0, 2.0, 3.0, 6.0]
    >>> raked(codes[:, :1], np.array([1.0, 2.0, 3.0, 6.0]))[0].tolist()
    [1.5, 1.5, 4.5, 4.5]
    """
    of, counts = classes(codes)
    first = np.empty(len(counts), dtype=np.intp)
    first[of[::-1]] = np.arange(len(of))[::-1]
    patterns = codes[first]
    columns = [np.unique(patterns[:, j], return_inverse=True)[1] for j in range(codes.shape[1])]
    before = np.bincount(of, weights=weights, minlength=len(counts))
    wanted = [np.bincount(column, weights=before) for column in columns]
    mass = counts * (weights.sum() / len(weights))
    apart = 0.0
    for _ in range(MAX_ROUNDS):
        apart = 0.0
        for column, margin in zip(columns, wanted, strict=True):
            now = np.bincount(column, weights=mass, minlength=len(margin))
            factor = np.divide(margin, now, out=np.ones_like(margin), where=now > 0)
            apart = max(apart, float(np.abs(factor - 1).max(initial=0.0)))
            mass = mass * factor[column]
        if apart <= TOLERANCE:
            break
    return (mass / counts)[of], apart
