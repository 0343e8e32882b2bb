"""The distribution of Kolmogorov's and Smirnov's largest gap: exact for two samples, and for one sample.

Both give what ``scipy.stats`` gives (``ks_2samp`` and ``kstwo.sf``). It takes a quarter of a second to import, and
gives the former for records only, not for a gap.
"""

from math import gcd

import numpy as np

from sfumato.kernels import WORTH_COMPILING
from sfumato.kernels.stretches import stretches

NARROW = 300  # cells from the diagonal to the lines up to which numbers of paths, side by side, are in range
RESCALE_ABOVE = 2.0**900
CERTAIN = 0.0225  # n x^2 up to which P is one in double precision
ONE_SIDED = 2.2  # n x^2 from which both sides are twice one side
VECTORS = 2_500  # records from which Smirnov's sum is faster as arrays


def two_sample_p(gap: int, m: int, n: int) -> float:
    """Return the probability that the distribution functions of m and n records lie at least so far apart.

    ``gap`` is the largest |m n (F - G)|, a whole number, of samples from one continuous distribution: the share of the
    paths from (0, 0) to (m, n) that leave the band about the diagonal.

    >>> round(two_sample_p(8, 4, 4), 6)  # gap of 2/4: 54 of the 70 paths stray two steps or more from the diagonal
    0.771429
    """
    common = gcd(m, n)
    height = gap // common
    if height == 0:
        return 1.0
    if m == n:
        return _outside_square(m, height)
    long, short = max(m, n), min(m, n)
    along, across = short // common, long // common
    if m + n < WORTH_COMPILING and height <= NARROW * across:
        return plain_share_outside(long, short, along, across, height)
    from sfumato.kernels.kolmogorov.compiled import share_outside

    return share_outside(long, short, along, across, height)


def _outside_square(n: int, height: int) -> float:
    """Count by reflection: 2 (C(2n, n - h) - C(2n, n - 2h) + ...) / C(2n, n), nested so that nothing cancels."""
    share = 0.0
    for k in range(n // height, -1, -1):
        product = 1.0
        for j in range(height):
            product = (n - k * height - j) * product / (n + k * height + j + 1)
        share = product * (1.0 - share)
    return min(1.0, 2 * share)


def plain_share_outside(m: int, n: int, along: int, across: int, height: int) -> float:
    """Return in numpy what the compiled kernel returns, for lines that are not too far apart.

    Here the paths themselves are counted: those to (x, y) come over (x - 1, y) or over (x, y - 1), so that a column is
    the running sum of the one before. All numbers are in a common unit, which grows with them.
    """
    strayed = np.zeros(n + 2)  # by y: the paths to (x, y) that have been on or beyond a line
    low, high = 0, min(-(-height // across), n + 1)
    below, above = 1.0, 1.0  # all paths to the cells next to the column, (x, low - 1) and (x, high)
    for x in range(1, m + 1):
        start, end = max((along * x - height) // across + 1, 0), min(-(-(along * x + height) // across), n + 1)
        if end <= start:
            return 1.0
        if end > high:
            strayed[high] = above
        above *= (x + high) / x
        if end > high:
            above *= (x + end) / end
        if low:
            below *= (x + low - 1) / x
            if start > low:
                below *= (x + low) / low
        column = strayed[start:end]
        if start:
            column[0] += below
        np.cumsum(column, out=column)
        low, high = start, end
        if above > RESCALE_ABOVE:
            column /= RESCALE_ABOVE
            above, below = above / RESCALE_ABOVE, below / RESCALE_ABOVE
    every = above * (n + 1) / (m + n + 1)  # high has come to n + 1
    return min(1.0, float(strayed[n] / every))


def one_sample_p(gap: float, n: int) -> float:
    """Return the probability that n records of a continuous distribution lie at least so far from it."""
    if n * gap <= 0.5 or n * gap**2 <= CERTAIN:
        return 1.0
    if gap >= 1:
        return 0.0
    if n < VECTORS or (gap < 0.5 and n * gap**2 < ONE_SIDED):
        from scipy.stats import kstwo

        with np.errstate(all="ignore"):
            return float(kstwo.sf(gap, n))
    from scipy.special import gammaln

    # twice Smirnov's one-sided sum, whose terms scipy adds one by one: 20 times faster as arrays
    total = 0.0
    for rows in stretches(int(np.ceil(n * (1 - gap)))):
        j = np.arange(rows.start, rows.stop, dtype=np.float64)
        share = gap + j / n
        binomial = gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1)
        total += float(np.exp(binomial + (j - 1) * np.log(share) + (n - j) * np.log1p(-share)).sum())
    return 2 * gap * total
