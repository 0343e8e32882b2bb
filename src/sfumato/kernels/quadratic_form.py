"""The probability that a quadratic form in normal or t variates stays below a bound, to nearly machine precision.

Let z_j be independent standard normal and v independent of them, chi-square with ``df`` degrees of freedom over df, so
that o_j + sqrt(l_j / v) z_j are the coordinates of a multivariate t along the axes of an ellipsoid. Then

    SUM_j (o_j + sqrt(l_j / v) z_j)^2 <= c     if and only if     T = SUM_j (sqrt(v) o_j + sqrt(l_j) z_j)^2 - c v <= 0.

Given v, T is a weighted sum of non-central chi-squares less a number, and its non-centralities are proportional to v:
so the mean over v can be taken in closed form as well, and the transform of T is

    E exp(-s T) = PROD_j (1 + 2 s l_j)^(-1/2) (1 + 2 g(s) / df)^(-df / 2),   g(s) = s (SUM_j o_j^2 / (1 + 2 s l_j) - c),

with exp(-g(s)) as its last factor for the normal (df infinite). P(T <= 0) is the integral of E exp(-s T) / (2 pi i s)
along any path from below to above that crosses the real axis between 0 and the first singularity to the right. All
singularities are real, and neither 1 + 2 s l_j nor 1 + 2 g(s) / df meets the negative axis elsewhere, so that principal
logarithms are continuous along the path. It crosses where the integrand is least on the axis and hence greatest on the
path (Rice 1980): nothing cancels, and a probability of 1e-200 has as many correct digits as one of 0.5.
The path is a hyperbola that bends to the left, where exp(c s) falls, and the trapezoidal rule on it converges
geometrically (Trefethen and Weideman 2014).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
EPSILON = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
LOWEST = float(np.log(TINY)) - 4  # the integral is a few units of height times width
STEP, BLOCK, FARTHEST = 0.25, 24, 312  # of the first sum: spacing of its nodes, how many at a time, at most
HALVINGS = 9
NOTHING = EPSILON / 64  # of the largest value
# relative change at a halving that ends the sum; its error by then is about the square of that
RELATIVE_TOLERANCE = 1e-11
WIDTH, BEND = 1.0, 0.4  # of the hyperbola: in units of the peak's width, and the slope of its asymptotes


@dataclass(frozen=True)
class Probability:
    """A probability and an upper estimate of its absolute error."""

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class _Transform:
    """E exp(-s T) / s of a quadratic form whose bound is 1."""

    variances: Floats
    squares: Floats
    df: float

    def logarithm(self, s: Complexes) -> Complexes:
        """Its logarithm off the real axis, or between 0 and the first singularity."""
        w = 1 + 2 * np.multiply.outer(s, self.variances)
        g = s * ((self.squares / w).sum(axis=-1) - 1)
        rest = -0.5 * np.log(w).sum(axis=-1) - np.log(s)
        if math.isinf(self.df):
            return np.asarray(rest - g)
        x, y = 2 * g.real / self.df, 2 * g.imag / self.df
        # log(1 + x + iy) by its parts: with many degrees of freedom 1 + x would lose the digits of x
        return np.asarray(rest - self.df / 2 * (0.5 * np.log1p(x * (2 + x) + y * y) + 1j * np.arctan2(y, 1 + x)))

    def height(self, s: float) -> tuple[float, float]:
        """Return the logarithm on the real axis, and an upper estimate of its rounding error: terms may cancel."""
        w = 1 + 2 * s * self.variances
        share = float((self.squares / w).sum())
        g, logs, log_s = s * (share - 1), 0.5 * float(np.log(w).sum()), math.log(s)
        last = g if math.isinf(self.df) else self.df / 2 * math.log1p(2 * g / self.df)
        rounding = 8 * EPSILON * (1 + logs + abs(log_s) + s * (share + 1) / (1 + 2 * g / self.df))
        return -logs - log_s - last, rounding

    def slopes(self, s: float) -> tuple[float, float]:
        """First and second derivative of the logarithm on the real axis; NaN beyond the first singularity."""
        v = 1 / (1 + 2 * s * self.variances)
        share, ratio = self.squares * v, self.variances * v
        inside = 1 + 2 * s * (float(share.sum()) - 1) / self.df
        if inside <= 0:
            return math.nan, math.nan
        first = (float(share @ v) - 1) / inside
        second = -4 * float((share * ratio) @ v) / inside
        down = float(ratio.sum()) + first + 1 / s
        return -down, 2 * float(ratio @ ratio) - second + 2 * first * first / self.df + 1 / (s * s)


def ellipsoid_probability(variances: Floats, offsets: Floats, bound: float, df: float = math.inf) -> Probability:
    """P(SUM_j (o_j + sqrt(l_j / v) z_j)^2 <= bound): variances l_j, offsets o_j; v is 1 where df is infinite.

    Against arithmetic of 40 digits, for 1 to 30 axes, variances in ratios of up to 1e6 and 3 to infinitely many degrees
    of freedom, the relative error was 1e-15 to 1e-13, for probabilities from 1 down to 1e-180. What no number can hold
    (below 1e-308) comes out as 0.
    """
    if bound <= 0:
        return Probability(0.0, 0.0)
    transform = _Transform(variances / bound, (offsets / math.sqrt(bound)) ** 2, df)
    crossing = _least(transform)
    height, rounding = transform.height(crossing)
    width = WIDTH / math.sqrt(transform.slopes(crossing)[1])
    if height + math.log(width) < LOWEST:
        return Probability(0.0, TINY)

    def along(start: float, step: float, count: int) -> Floats:
        """Evaluate the integrand on the upper half of the path, in units of its height at the crossing."""
        place, slope = _hyperbola(start, step, count)
        values = np.exp(transform.logarithm(crossing + width * place) - height) * slope
        return np.asarray(values.imag * width)

    integral, change = _trapezoidal(along, max(RELATIVE_TOLERANCE, rounding))
    value = math.exp(height) * integral / math.pi
    return Probability(min(max(value, 0.0), 1.0), abs(value) * (change + rounding))


@lru_cache(maxsize=64)
def _hyperbola(start: float, step: float, count: int) -> tuple[Complexes, Complexes]:
    """Return ``count`` equidistant nodes of the path, of width 1 and crossing at 0, and their derivatives."""
    u = start + step * np.arange(count)
    return 1j * np.sinh(u) - BEND * (np.cosh(u) - 1), 1j * np.cosh(u) - BEND * np.sinh(u)


def _least(transform: _Transform) -> float:
    """Find where the transform is least on the axis, by Newton steps in log s; two digits are plenty."""
    low, high, s = 0.0, math.inf, 1.0
    for _ in range(500):
        first, second = transform.slopes(s)
        low, high = (s, high) if first < 0 else (low, s)
        curvature = second * s * s + first * s
        step = -first * s / curvature if curvature > 0 else math.nan
        if abs(step * first * s) < 1e-4:  # what the step may gain, which is not small beside a singularity
            break
        s *= math.exp(min(max(step, -3.0), 3.0))
        if not low < s < high:  # also where the step is unknown
            s = math.sqrt(low * high) if low > 0 and math.isfinite(high) else high / 8 if low == 0 else low * 8
    return s


def _trapezoidal(along: Callable[[float, float, int], Floats], enough: float) -> tuple[float, float]:
    """Sum from 0 until nothing is left, then halve the step until nothing changes: the integral and its last change."""
    values = along(0.0, STEP, BLOCK)
    largest = float(np.abs(values).max())
    while np.abs(values[-3:]).max() > NOTHING * largest and len(values) < FARTHEST:
        values = np.append(values, along(STEP * len(values), STEP, BLOCK))
    step, count = STEP, int(np.flatnonzero(np.abs(values) > NOTHING * largest)[-1]) + 1
    total = float(values.sum() - values[0] / 2)
    integral, change = total * step, math.inf
    for _ in range(HALVINGS):
        total += float(along(step / 2, step, count).sum())
        step, count = step / 2, 2 * count
        before, integral = integral, total * step
        change = abs(integral - before) / abs(integral)
        if change <= enough:
            break
    return integral, change
