"""E(1 / F | f) where the units outside the sample are Poisson, as log-linear models have them."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EDGES = (0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 60.0)  # of panels in units of the scale on which the integrand falls
NODES = 12
AT_ONCE = 200_000


def poisson_inverse(sizes: Floats, outside: Floats) -> Floats:
    """Return E(1 / (f + J)), J Poisson with mean h: the integral of t^(f-1) exp(-h (1-t)) over t from 0 to 1.

    For f = 1 it is (1 - exp(-h)) / h. With s = 1 - t = x / (f + h) the integrand falls no slower than exp(-x) does but
    for the last unit, so that panels of Gauss-Legendre in x hold it to ten digits.

    >>> poisson_inverse(np.array([1.0, 3.0]), np.array([2.0, 0.0])).round(6)
    array([0.432332, 0.333333])
    """
    sizes, outside = np.broadcast_arrays(np.asarray(sizes, dtype=np.float64), np.asarray(outside, dtype=np.float64))
    points, weights = np.polynomial.legendre.leggauss(NODES)
    found = np.empty(len(sizes))
    for start in range(0, len(sizes), AT_ONCE):
        rows = slice(start, start + AT_ONCE)
        f, h = sizes[rows, None], outside[rows, None]
        scale = f + h
        total = np.zeros(len(f))
        for low, high in pairwise(EDGES):
            begin, end = np.minimum(low, scale), np.minimum(high, scale)
            s = ((begin + end) / 2 + (end - begin) / 2 * points) / scale
            total += (((1 - s) ** (f - 1) * np.exp(-h * s)) * weights).sum(axis=1) * ((end - begin) / 2 / scale)[:, 0]
        found[rows] = total
    return found
