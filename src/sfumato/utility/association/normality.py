"""Whether a variable is normally distributed: the Kolmogorov-Smirnov test with mean and variance estimated."""

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sfumato.kernels.spread import mean_and_spread, mean_and_spread_of_long
from sfumato.kernels.stretches import stretches
from sfumato.pair.sorting import Runs
from sfumato.pair.statistics import Room
from sfumato.utility.association.aside import LONG, MEMORY
from sfumato.utility.association.columns import Floats

# Quantiles of sqrt(n) D, simulated from 2 to 5 million normal samples of each size n, by the probability of a larger
# one; those of an infinite sample follow from n = 200 and 1,000, as they are linear in 1 / sqrt(n) there. The standard
# error of those at probabilities of 0.01 and more is below 0.0007. A test simulates some of them again.
BLOCK = 1 << 17  # values at a time
LARGER = np.array(
    [0.999, 0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05, 0.025, 0.01, 0.005, 0.001, 0.0001]
)
SIZES = np.array([4, 5, 6, 7, 8, 10, 14, 20, 50, 200, 1_000, np.inf])
# fmt: off
QUANTILES = np.array([
    [0.2663, 0.2891, 0.3374, 0.3732, 0.4228, 0.4600, 0.4904, 0.5166, 0.5424, 0.5708,
     0.6058, 0.6428, 0.6905, 0.7503, 0.7911, 0.8257, 0.8428, 0.8653, 0.8773],
    [0.2610, 0.3039, 0.3599, 0.3944, 0.4367, 0.4668, 0.4940, 0.5221, 0.5542, 0.5968,
     0.6474, 0.6770, 0.7133, 0.7671, 0.8212, 0.8873, 0.9242, 0.9815, 1.0226],
    [0.2681, 0.3163, 0.3709, 0.4014, 0.4395, 0.4711, 0.5023, 0.5356, 0.5720, 0.6114,
     0.6583, 0.6881, 0.7278, 0.7921, 0.8469, 0.9080, 0.9499, 1.0371, 1.1149],
    [0.2749, 0.3248, 0.3747, 0.4032, 0.4436, 0.4785, 0.5121, 0.5455, 0.5800, 0.6188,
     0.6675, 0.6996, 0.7416, 0.8050, 0.8612, 0.9286, 0.9743, 1.0620, 1.1642],
    [0.2816, 0.3292, 0.3761, 0.4059, 0.4491, 0.4851, 0.5182, 0.5507, 0.5855, 0.6254,
     0.6753, 0.7078, 0.7499, 0.8143, 0.8728, 0.9410, 0.9883, 1.0813, 1.1905],
    [0.2885, 0.3317, 0.3808, 0.4132, 0.4575, 0.4929, 0.5258, 0.5591, 0.5948, 0.6355,
     0.6865, 0.7194, 0.7621, 0.8285, 0.8883, 0.9588, 1.0077, 1.1098, 1.2238],
    [0.2920, 0.3378, 0.3893, 0.4215, 0.4659, 0.5020, 0.5356, 0.5695, 0.6059, 0.6472,
     0.6990, 0.7328, 0.7766, 0.8448, 0.9072, 0.9813, 1.0331, 1.1391, 1.2648],
    [0.2963, 0.3436, 0.3958, 0.4285, 0.4734, 0.5099, 0.5440, 0.5782, 0.6149, 0.6568,
     0.7094, 0.7435, 0.7883, 0.8584, 0.9221, 0.9991, 1.0529, 1.1645, 1.3026],
    [0.3072, 0.3551, 0.4081, 0.4413, 0.4871, 0.5243, 0.5588, 0.5936, 0.6310, 0.6738,
     0.7275, 0.7625, 0.8085, 0.8803, 0.9461, 1.0261, 1.0830, 1.2020, 1.3522],
    [0.3179, 0.3657, 0.4192, 0.4527, 0.4988, 0.5362, 0.5711, 0.6063, 0.6439, 0.6871,
     0.7414, 0.7767, 0.8231, 0.8958, 0.9628, 1.0444, 1.1017, 1.2242, 1.3802],
    [0.3237, 0.3719, 0.4255, 0.4590, 0.5053, 0.5427, 0.5777, 0.6129, 0.6506, 0.6939,
     0.7483, 0.7838, 0.8303, 0.9038, 0.9710, 1.0521, 1.1098, 1.2317, 1.3879],
    [0.3284, 0.3769, 0.4306, 0.4641, 0.5105, 0.5480, 0.5830, 0.6182, 0.6560, 0.6994,
     0.7539, 0.7895, 0.8361, 0.9102, 0.9776, 1.0584, 1.1164, 1.2378, 1.3941],
])
# fmt: on


def normal(values: Floats, folder: Path | None = None) -> tuple[float, float]:
    """Test a variable for normality: Kolmogorov-Smirnov distance and P value (Lilliefors' test).

    D is the largest distance between the empirical distribution function and that of the normal distribution with the
    sample's mean and standard deviation (n - 1). As these are estimated, the usual Kolmogorov-Smirnov P would be far
    too large; the one given is that of Lilliefors (1967), interpolated in simulated quantiles of sqrt(n) D (for P
    above 0.001 within about 0.005; below 0.0001, extrapolated as exp(-c n D^2)).

    Missing values are left out. A constant is not normal: D = 0.5, P = 0. Fewer than four values are too few to tell:
    D = 0, P = 1. The test presumes a continuous variable: at large n it rejects every variable that is rounded or
    deviates from the normal curve by as little as 1/sqrt(n), whether or not this matters to a correlation. A long
    column is sorted in files of the ``folder``.

    >>> statistic, p = normal(np.array([148.0, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236]))
    >>> round(statistic, 4), 0.02 < p < 0.05
    (0.2592, True)
    """
    if folder is not None and len(values) > LONG:
        return _normal_on_disk(values, folder)
    values = np.sort(values[~np.isnan(values)])  # from the smallest up
    n = len(values)
    if n < 4:
        return 0.0, 1.0
    exponent = np.frexp(max(abs(values[0]), abs(values[-1])))[1]
    values = np.ldexp(values, -exponent)
    mean, spread = (float(found[0]) for found in mean_and_spread(values[:, None]))
    if spread == 0:
        return 0.5, 0.0
    return _distance((values[start : start + BLOCK] for start in range(0, n, BLOCK)), n, mean, spread)


def _normal_on_disk(values: Floats, folder: Path) -> tuple[float, float]:
    """Test a long variable, whose values are sorted in files."""
    exponent = np.frexp(max(abs(np.fmin.reduce(values)), abs(np.fmax.reduce(values))))[1]
    mean, spread = mean_and_spread_of_long(values, exponent)
    runs = Runs(Room(MEMORY, lambda: folder), "a variable in order", len(values))
    for rows in stretches(len(values)):
        runs.add(np.ldexp(values[rows], -exponent))
    n = len(runs)
    if n < 4:
        found = 0.0, 1.0
    elif spread == 0:
        found = 0.5, 0.0
    else:
        found = _distance((piece for piece, _ in runs.merged()), n, mean, spread)
    runs.close()
    return found


def _distance(pieces: Iterable[Floats], n: int, mean: float, spread: float) -> tuple[float, float]:
    """Return the largest distance from the normal curve of values in ascending order, and its P value."""
    from scipy.special import ndtr

    statistic, start = 0.0, 0
    for piece in pieces:
        below = ndtr((piece - mean) / spread)
        steps = np.arange(start, start + len(below) + 1) / n
        statistic = max(statistic, float((steps[1:] - below).max()), float((below - steps[:-1]).max()))
        start += len(below)
    return statistic, _larger(statistic, n)


def _larger(statistic: float, n: int) -> float:
    """Return the probability of a larger distance in a sample of n from a normal distribution."""
    x = math.sqrt(n) * statistic
    place = -1 / np.sqrt(SIZES)
    quantiles = np.array([np.interp(-1 / math.sqrt(n), place, column) for column in QUANTILES.T])
    if x <= quantiles[0]:
        return float(1 - (1 - LARGER[0]) * x / quantiles[0])
    if x < quantiles[-1]:
        return float(np.exp(np.interp(x, quantiles, np.log(LARGER))))
    fall = math.log(LARGER[-2] / LARGER[-1]) / (quantiles[-1] ** 2 - quantiles[-2] ** 2)
    return float(LARGER[-1] * math.exp(-fall * (x**2 - quantiles[-1] ** 2)))
