"""The expected inverse of a population frequency, given that of the sample (Benedetti and Franconi)."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SUMMED_FROM = 40  # sample frequency from which the series needs fewer than 40 terms, whatever the sampling fraction
TERMS = 60


def expected_inverse(frequency: Floats, population: Floats) -> Floats:
    """Return E(1/F | f) of the negative binomial with p = frequency / population.

    It is the integral of v^(f - 1) / (1 + a v) over v from 0 to 1, a = q/p. For f < 40 and a > 1 integration by parts,
    I(f) = (1/(f - 1) - I(f - 1)) / a from I(1) = ln(1 + a) / a, shrinks errors at every step; otherwise the series
    (p/f) (1 + q/(f + 1) + 2 q^2/((f + 1)(f + 2)) + ...), whose terms are all positive, has converged after 60 terms.

    >>> expected_inverse(np.array([1.0, 2.0, 5.0]), np.array([4.0, 4.0, 5.0])).round(6)
    array([0.462098, 0.306853, 0.2     ])
    """
    odds = (population - frequency) / frequency
    result = np.empty(len(frequency))
    by_parts = (odds > 1) & (frequency < SUMMED_FROM)
    f, a = frequency[by_parts], odds[by_parts]
    integral = np.log1p(a) / a
    more = np.arange(len(f))
    for step in range(1, int(f.max(initial=1))):
        more = more[f[more] > step]
        integral[more] = (1 / step - integral[more]) / a[more]
    result[by_parts] = integral
    f, units = frequency[~by_parts], population[~by_parts]
    q, term, total = (units - f) / units, np.ones(len(f)), np.ones(len(f))
    for k in range(1, TERMS):
        term = term * (k * q / (f + k))
        total += term
    result[~by_parts] = total / units  # p/f = 1 / population
    return result
