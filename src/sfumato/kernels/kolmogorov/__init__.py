"""The distribution of Kolmogorov's and Smirnov's largest gap: exact for two samples, and for one sample.

Both give what ``scipy.stats`` gives (``ks_2samp`` and ``kstwo.sf``), which takes a second to import.
"""

from math import gcd

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import WORTH_COMPILING
from sfumato.kernels.stretches import stretches

Floats = NDArray[np.float64]

NARROW = 300  # cells from the diagonal to the lines up to which numbers of paths, side by side, are in range
RESCALE_ABOVE = 2.0**900
MATRIX = 1.4  # n x^1.5 up to which the matrix of Durbin is small enough
MATRIX_RECORDS = 100_000
MAX_RECORDS_OF_SMALL_SAMPLE = 140  # records below which Simard and L'Ecuyer choose among more ways
CERTAIN = 0.0225  # n x^2 up to which P is one in double precision
ONE_SIDED = 2.2  # n x^2 from which both sides are twice one side
NOTHING = 370.0  # n x^2 from which P is zero in double precision
VECTORS = 2_500  # records from which Smirnov's sum is faster as arrays
# B_2j / (2j (2j - 1)) for j = 8 to 1, B the numbers of Bernoulli
STIRLING = (-3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
UNIT = 128  # powers of two taken out of what grows or falls too far


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
    """Return the probability that n records of a continuous distribution lie at least so far from it.

    The choices of Simard and L'Ecuyer (2011), Computing the two-sided Kolmogorov-Smirnov distribution, Journal of
    Statistical Software 39(11). Few records are left to scipy.
    """
    size = n * gap
    if gap >= 1 or size <= 0.5:
        return float(gap < 1)
    if n <= MAX_RECORDS_OF_SMALL_SAMPLE:
        from scipy.stats import kstwo

        return float(kstwo.sf(gap, n))
    if size * gap <= CERTAIN:
        return 1.0
    if size <= 1:
        return 1 - _first_order(n, size)
    if gap >= 0.5 or size * gap >= ONE_SIDED:
        return _twice_one_side(n, gap)
    small = n <= MATRIX_RECORDS and n * gap**1.5 <= MATRIX
    return min(1.0, max(0.0, 1.0 - (_durbin(n, gap) if small else _pelz_good(n, gap))))


def _twice_one_side(n: int, gap: float) -> float:
    from scipy.special import gammaln, smirnov

    if n < VECTORS:
        return 0.0 if gap < 0.5 and n * gap * gap >= NOTHING else min(1.0, 2 * float(smirnov(n, gap)))
    # Smirnov's one-sided sum, whose terms scipy adds one by one: 20 times faster as arrays
    total = 0.0
    for rows in stretches(int(np.ceil(n * (1 - gap)))):
        j = np.arange(rows.start, rows.stop, dtype=np.float64)
        share = gap + j / n
        binomial = gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1)
        total += float(np.exp(binomial + (j - 1) * np.log(share) + (n - j) * np.log1p(-share)).sum())
    return 2 * gap * total


def _first_order(n: int, size: float) -> float:
    """Return P(D <= x) = n! / n^n (2 n x - 1)^n of Ruben and Gambino, for n x of 1/2 to 1; n! by Stirling's series."""
    rest = np.polyval(STIRLING, 1 / n / n) / n
    return float(np.exp(np.log(n) / 2 - n + np.log(2 * np.pi) / 2 + rest + n * np.log(2 * size - 1)))


def _durbin(n: int, gap: float) -> float:
    """Return P(D <= x), an entry of n! / n^n H^n: the matrix of Durbin (1968) by Marsaglia, Tsang and Wang (2003)."""
    k = int(np.ceil(n * gap))
    h = k - n * gap
    power, exponent = _power(_durbin_matrix(2 * k - 1, h), n, k - 1)
    for i in range(1, n + 1):
        power = i * power / n
        if abs(power) < 2.0**-UNIT:
            power *= 2.0**UNIT
            exponent -= UNIT
    return float(np.ldexp(power, exponent))


def _durbin_matrix(size: int, h: float) -> Floats:
    places = np.arange(1, size + 1)
    inverse = np.cumprod(np.append(1.0, 1.0 / places))  # of the factorials of 0, 1, ...
    edge = (1.0 - h**places) * inverse[1:]
    edge[-1] = (1.0 + max(2 * h - 1.0, 0.0) ** size - 2 * h**size) * inverse[-1]
    matrix = np.zeros((size, size))
    for i in range(1, size):
        matrix[i - 1 :, i] = inverse[: size - i + 1]
    matrix[:, 0], matrix[-1, :] = edge, edge[::-1]
    return matrix


def _power(matrix: Floats, n: int, place: int) -> tuple[float, int]:
    """Return an entry on the diagonal of the n-th power, and the power of two it is to be multiplied by."""
    found, exponent, own = np.eye(len(matrix)), 0, 0
    while n > 0:
        if n % 2:
            found = found @ matrix
            exponent += own
        matrix = matrix @ matrix
        own *= 2
        if abs(matrix[place, place]) > 2.0**UNIT:
            matrix /= 2.0**UNIT
            own += UNIT
        n //= 2
    return float(found[place, place]), exponent


def _pelz_good(n: int, gap: float) -> float:
    """Return P(D <= x) by the series of Pelz and Good (1976) in 1 / sqrt(n), up to n^(-3/2)."""
    z = np.sqrt(n) * gap
    pi2 = np.pi**2
    log = -pi2 / 8 / z**2
    if log < -708:
        return 0.0
    terms = int(np.ceil(16 * z / np.pi))
    odd = 2.0 * np.arange(1, terms + 1) - 1
    powers = np.exp(log * odd**2)
    sums = np.array(
        [
            powers.sum(),
            powers @ (-(z**2) + pi2 / 4 * odd**2),
            powers
            @ (6 * z**6 + 2 * z**4 + (2 * z**4 - 5 * z**2) * pi2 / 4 * odd**2 + pi2**2 * (1 - 2 * z**2) / 16 * odd**4),
            powers
            @ (
                -30 * z**6
                - 90 * z**8
                + pi2 * (135 * z**4 - 96 * z**6) / 4 * odd**2
                + pi2**2 * (212 * z**4 - 60 * z**2) / 16 * odd**4
                + pi2**3 * (5 - 30 * z**2) / 64 * odd**6
            ),
        ]
    )
    series = sums * np.sqrt(2 * np.pi) / np.array([z, 6 * z**4, 72 * z**7, 6480 * z**10])
    whole = np.arange(1.0, terms + 1) ** 2
    powers = np.exp(-pi2 / 2 / z**2 * whole)
    series[2] -= pi2 * np.sqrt(2 * np.pi) / (36 * z**3) * float(whole @ powers)
    series[3] += pi2 * np.sqrt(2 * np.pi) / (216 * z**6) * float(((3 * z**2 - pi2 * whole) * whole) @ powers)
    return float((series / n ** (np.arange(4) / 2)).sum())
