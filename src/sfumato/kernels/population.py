"""The population behind a sample: models of how classes of equal keys continue, as arrays in and arrays out.

Pitman's sampling formula: how classes of a sample continue in the population it was drawn from. Units arrive one after
another. The (n+1)-th opens a class of its own with probability (theta + a u) / (theta + n), u the classes so far, and
joins one of f units with probability (f - a) / (theta + n). With a = 0 it is Ewens' formula. (Pitman 1995; Hoshino 2001
for disclosure control; Favaro, Panero and Rigon 2021 for what is expected after a sample.)
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Chosen = Literal["Pitman", "Zayatz", "SNB"]

STIRLING_FROM = 30.0  # arguments from which the asymptotic series of lnG and digamma hold to the last digits
SERIES_FROM = 50  # class size from which 25 terms of the inverse factorial series hold to 1e-13
SERIES_TERMS = 25
SUMMED = 4096  # first terms of a sum over class sizes that are added one by one
PANEL = 1.15  # each panel of the rest is so many times as long as the one before
NODES = 8  # of Gauss-Legendre in a panel
GRID = (
    0.0,
    1e-3,
    0.01,
    *(place / 20 for place in range(1, 20)),
    0.98,
    0.99,
    0.999,
)  # where the slope in a is looked at
LARGEST = 1 - 1e-9
LIKELY = 1.920729  # half of the 95 % point of chi-squared with one degree of freedom
DANKAR_SHARE = 0.1  # sampling fraction up to which Dankar's rule trusts Pitman
POISSON_EDGES = (0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 60.0)  # of panels in units of the scale on which the integrand falls
POISSON_NODES = 12
POISSON_AT_ONCE = 200_000


@dataclass(frozen=True, eq=False)
class Spectrum:
    """How many classes of a sample have each size: ``number[i]`` classes of ``sizes[i]`` units.

    Numbers need not be whole: the expected spectrum of a part of the sample has fractions.
    """

    sizes: Floats
    number: Floats

    @classmethod
    def of(cls, sizes: NDArray[np.generic], times: Floats | None = None) -> "Spectrum":
        """Count classes by size.

        >>> found = Spectrum.of(np.array([1, 3, 1]))
        >>> found.sizes.tolist(), found.number.tolist()
        ([1.0, 3.0], [2.0, 1.0])
        """
        different, place = np.unique(np.asarray(sizes, dtype=np.float64), return_inverse=True)
        return cls(different, np.bincount(place, weights=times, minlength=len(different)).astype(np.float64))

    @cached_property
    def units(self) -> float:
        """The units of the sample."""
        return float(self.sizes @ self.number)

    @cached_property
    def classes(self) -> float:
        """The classes of the sample."""
        return float(self.number.sum())

    def of_size(self, size: int) -> float:
        """Return how many classes have this size."""
        return float(self.number[self.sizes == size].sum())

    def thinned(self, share: float) -> "Spectrum":
        """Return the spectrum expected of a random part: each unit stays with probability ``share``.

        Binomial in place of hypergeometric: the difference is of the order of one unit in all.
        """
        from scipy.stats import binom

        most = int(self.sizes.max())
        reach = min(most, int(share * most + 12 * np.sqrt(share * most) + 20))
        kept = np.arange(1, reach + 1, dtype=np.float64)
        number = np.zeros(reach)
        for size, times in zip(self.sizes, self.number, strict=True):
            upto = min(int(size), reach)
            number[:upto] += times * binom.pmf(kept[:upto], int(size), share)
        there = number > 0
        return Spectrum(kept[there], number[there])


def log_rise(z: float, more: float) -> float:
    """Return lnG(z + more) - lnG(z) without the cancellation of two large logarithms.

    >>> round(log_rise(3.0, 2.0), 12) == round(float(np.log(3 * 4)), 12)
    True
    """
    from scipy.special import gammaln

    if more == 0:
        return 0.0  # also where z is 0
    if z < STIRLING_FROM:
        return float(gammaln(z + more) - gammaln(z))
    end = z + more
    tail = (1 / end - 1 / z) / 12 - (1 / end**3 - 1 / z**3) / 360 + (1 / end**5 - 1 / z**5) / 1260
    return float((z - 0.5) * np.log1p(more / z) + more * np.log(end) - more + tail)


def digamma_rise(z: float, more: float) -> float:
    """Return digamma(z + more) - digamma(z), which is the sum of 1 / (z + i) for i below a whole number ``more``.

    >>> round(digamma_rise(100.0, 3.0) - (1 / 100 + 1 / 101 + 1 / 102), 15)
    0.0
    """
    from scipy.special import digamma

    if z < STIRLING_FROM:
        return float(digamma(z + more) - digamma(z))
    end = z + more
    tail = (1 / z - 1 / end) / 2 + (1 / z**2 - 1 / end**2) / 12 - (1 / z**4 - 1 / end**4) / 120
    return float(np.log1p(more / z) + tail + (1 / z**6 - 1 / end**6) / 252)


@dataclass(frozen=True)
class Pitman:
    """The parameters of the formula: 0 <= a < 1 and theta > -a."""

    theta: float
    a: float

    def log_likelihood(self, found: Spectrum) -> float:
        """Return the log of the probability of a sample's classes, but for what does not depend on the parameters."""
        from scipy.special import gammaln

        theta, a, u, n = self.theta, self.a, found.classes, found.units
        if a < 1e-12:
            opened = (u - 1) * np.log(theta) if theta > 0 else (-np.inf if u > 1 else 0.0)
        else:
            opened = (u - 1) * np.log(a) + log_rise(theta / a + 1, u - 1)
        joined = found.number @ (gammaln(found.sizes - a) - gammaln(1 - a))
        return float(opened - log_rise(theta + 1, n - 1) + joined)

    def gradient(self, found: Spectrum) -> tuple[float, float]:
        """Return the derivatives of the log-likelihood by theta and by a."""
        return self._by_theta(found), self._by_a(found)

    def _opened(self, classes: float) -> float:
        """Return the sum of 1 / (theta + i a) for i from 1 to the classes less one."""
        if self.a < 1e-12:
            return (classes - 1) / self.theta
        return digamma_rise(self.theta / self.a + 1, classes - 1) / self.a

    def _by_theta(self, found: Spectrum) -> float:
        return self._opened(found.classes) - digamma_rise(self.theta + 1, found.units - 1)

    def _by_a(self, found: Spectrum) -> float:
        from scipy.special import digamma

        theta, a, u = self.theta, self.a, found.classes
        joined = found.number @ (digamma(found.sizes - a) - digamma(1 - a))
        # sum of i / (theta + i a); for a next to 0 its expansion, because the other form cancels
        if a * u < 1e-6 * theta:
            ratio = a / theta
            opened = (u * (u - 1) / 2 - ratio * (u - 1) * u * (2 * u - 1) / 6) / theta
        else:
            opened = ((u - 1) - theta * self._opened(u)) / a
        return float(opened - joined)

    def new_classes(self, units: float, classes: float, more: float) -> float:
        """Return how many classes not seen yet are expected in so many more units.

        >>> round(Pitman(2.0, 0.0).new_classes(4, 3, 2), 12) == round(2 / 6 + 2 / 7, 12)
        True
        """
        theta, a = self.theta, self.a
        if more <= 0:
            return 0.0
        if a < 1e-9:
            return theta * digamma_rise(theta + units, more)
        grown = log_rise(theta + units + a, more) - log_rise(theta + units, more)
        return float((classes + theta / a) * np.expm1(grown))

    def alone(self, units: float, population: float) -> float:
        """Return the probability that a unit alone in its class of the sample is alone in the population."""
        more = max(population - units, 0.0)
        start = units - 1 + self.theta + self.a
        if start <= 0:
            return 1.0 if more == 0 else 0.0
        return float(np.exp(log_rise(start, more) - log_rise(units + self.theta, more)))

    def expected_inverse(self, sizes: Floats, units: float, population: float) -> Floats:
        """Return E(1 / F | f) for classes of f units in the sample: F - f is beta-binomial.

        >>> Pitman(1.0, 0.0).expected_inverse(np.array([1.0]), 1, 3).round(6)  # F = 1, 2, 3 with probability 1/3
        array([0.611111])
        """
        more = float(np.rint(max(population - units, 0.0)))
        sizes = np.asarray(sizes, dtype=np.float64)
        if more == 0:
            return 1 / sizes
        result = np.empty(len(sizes))
        large = sizes >= SERIES_FROM
        result[large] = self._by_series(sizes[large], units, more)
        small, place = np.unique(sizes[~large], return_inverse=True)
        result[~large] = np.array([self._summed(size, units, more) for size in small])[place]
        return np.clip(result, 1 / (sizes + more), 1 / sizes)

    def _by_series(self, sizes: Floats, units: float, more: float) -> Floats:
        """Return it by 1/(y + c) = 1/y - c/(y (y-1)) + c (c+1)/(y (y-1) (y-2)) - ..., y = F - a - 1, c = 1 + a.

        The expectation of 1/(y (y-1) ... (y-k)) is the product of (A + B - i) / ((A - i) (A + B + m - i)) for i from 1
        to k + 1, where F - f is beta-binomial with A = f - a and A + B = n + theta.
        """
        first, both = sizes - self.a, units + self.theta
        total, term = np.zeros(len(sizes)), np.ones(len(sizes))
        for k in range(SERIES_TERMS):
            term = term * (both - k - 1) / ((first - k - 1) * (both + more - k - 1))
            total += term
            term = term * -(self.a + 1 + k)
        return total

    def _summed(self, size: float, units: float, more: float) -> float:
        """Return it by the sum over j = F - f: the first terms one by one, the rest by quadrature in long panels."""
        first, other = size - self.a, units - size + self.theta + self.a
        if other <= 0:  # the only class there can be
            return 1 / (size + more)
        last = int(min(more, SUMMED))
        j = np.arange(last, dtype=np.float64)
        steps = np.log(((more - j) * (first + j)) / ((j + 1) * (other + more - j - 1)))
        logs = np.concatenate([[0.0], np.cumsum(steps)])
        shift = float(logs.max())
        mass = np.exp(logs - shift)
        place = np.arange(last + 1, dtype=np.float64)
        total, inverse = float(mass.sum()), float((mass / (size + place)).sum())
        if more > last:
            nodes, weights = _panels(last + 0.5, more + 0.5)
            tail = float(logs[-1]) - shift + _log_terms(nodes, float(last), first, other, more)
            there = np.exp(np.minimum(tail, 700.0)) * weights
            total, inverse = total + float(there.sum()), inverse + float((there / (size + nodes)).sum())
        return inverse / total


def _panels(low: float, high: float) -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss-Legendre in panels that grow in length from both ends."""
    edges = low * PANEL ** np.arange(np.ceil(np.log(high / low) / np.log(PANEL)) + 1)
    edges = np.append(edges[edges < high], high)
    if high - edges[-2] < 1e-9 * high and len(edges) > 2:
        edges = np.delete(edges, -2)
    points, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges) / 2
    middle = (edges[1:] + edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * points).ravel(), (half[:, None] * weights).ravel()


def _log_terms(x: Floats, start: float, first: float, other: float, more: float) -> Floats:
    """Return the log of the beta-binomial probability at x over that at ``start``."""
    from scipy.special import gammaln

    def rise(z: Floats | float, end: Floats | float) -> Floats:
        return np.asarray(gammaln(end) - gammaln(z))

    inside = np.minimum(x, more)  # the last half unit of the midpoint rule
    return (
        rise(start + first, inside + first)
        - rise(start + 1, inside + 1)
        - rise(more - start + 1, more - inside + 1)
        + rise(other + more - start, other + more - inside)
    )


@dataclass(frozen=True, eq=False)
class Fit:
    """The parameters of largest likelihood for a spectrum."""

    spectrum: Spectrum
    model: Pitman
    log_likelihood: float

    def likely(self) -> list[Pitman]:
        """Return parameters on the edge of the region whose log-likelihood is within 1.92 of the largest.

        The least and the largest value of any figure over that region are its profile-likelihood interval of 95 %.
        """
        from scipy.optimize import brentq

        least = self.log_likelihood - LIKELY

        def surplus(a: float) -> float:
            return best_theta(self.spectrum, a).log_likelihood(self.spectrum) - least

        ends = [
            edge if surplus(edge) >= 0 else float(brentq(surplus, *sorted((edge, self.model.a)), xtol=1e-6))
            for edge in (0.0, LARGEST)
        ]
        angles = (1 - np.cos(np.linspace(0, np.pi, 9))) / 2
        found = [self.model]
        for a in ends[0] + (ends[1] - ends[0]) * angles:
            top = best_theta(self.spectrum, float(a))
            found += [top, *_theta_edges(self.spectrum, top, least)]
        return found


def _theta_edges(found: Spectrum, top: Pitman, least: float) -> list[Pitman]:
    """Return the parameters with the same a whose log-likelihood is the least that is likely."""
    from scipy.optimize import brentq

    low = -top.a
    middle = float(np.log(max(top.theta - low, 1e-13)))

    def at(place: float) -> Pitman:
        return Pitman(float(np.exp(place)) + low, top.a)

    def surplus(place: float) -> float:
        return at(place).log_likelihood(found) - least

    edges: list[Pitman] = []
    if surplus(middle) <= 0:
        return edges
    for direction in (-0.25, 0.25):
        away, step = middle, direction
        for _ in range(30):
            away, step = away + step, step * 1.5
            if abs(away) > 60:
                break
            if surplus(away) < 0:
                edges.append(at(float(brentq(surplus, *sorted((middle, away)), xtol=1e-4))))
                break
    return edges


def best_theta(found: Spectrum, a: float) -> Pitman:
    """Return the parameters of largest likelihood for a given a."""
    from scipy.optimize import brentq

    low = -a
    if found.classes <= 1 + 1e-9:
        return Pitman(low + 1e-12, a)

    def slope(place: float) -> float:
        return Pitman(float(np.exp(place)) + low, a)._by_theta(found)

    left, right = -25.0, float(np.log(found.units)) + 5.0
    if slope(left) <= 0:
        return Pitman(float(np.exp(left)) + low, a)
    while slope(right) > 0 and right < 80:
        right += 5.0
    if slope(right) >= 0:
        return Pitman(float(np.exp(right)) + low, a)
    return Pitman(float(np.exp(brentq(slope, left, right, xtol=1e-12, rtol=1e-14))) + low, a)


def fitted(found: Spectrum) -> Fit | None:
    """Return the fit of largest likelihood; None where every unit is alone, so that nothing can be estimated.

    The likelihood is largest over theta for each a by a root of its derivative, and over a by a root of the derivative
    of that profile, both bracketed, so that no start can lead astray. a = 0 (Ewens) is a boundary at which it may be
    largest. Below it the formula is that of a number of classes that ends: on the harness of known truth such fits said
    less than a third of the true matches three times as often, so they are not looked for.
    """
    from scipy.optimize import brentq

    if found.units - found.classes < 1e-9:
        return None
    if found.classes <= 1 + 1e-9:
        model = best_theta(found, 0.0)
        return Fit(found, model, model.log_likelihood(found))

    def slope(a: float) -> float:
        return best_theta(found, a)._by_a(found)

    slopes = [slope(a) for a in GRID]
    candidates = [0.0] if slopes[0] <= 0 else []
    candidates += [
        float(brentq(slope, low, high, xtol=1e-12))
        for (low, left), (high, right) in pairwise(zip(GRID, slopes, strict=True))
        if left > 0 >= right
    ]
    if slopes[-1] > 0:
        candidates.append(GRID[-1])
    models = [best_theta(found, a) for a in candidates]
    model = max(models, key=lambda one: one.log_likelihood(found))
    return Fit(found, model, model.log_likelihood(found))


def pitman(fit: Fit, population: float) -> float:
    """Return the uniques expected in the population: those of the sample that stay alone, and new ones.

    E M1 of the whole, given the sample: c_1 P(F = 1 | f = 1), and the new classes of which nothing more arrives. The
    unconditional N G(theta+1) G(theta+a+N-1) / (G(theta+a) G(theta+N)) does not know the sample.
    """
    found, model = fit.spectrum, fit.model
    units, classes = found.units, found.classes
    stay = found.of_size(1) * model.alone(units, population)
    more = max(population - units, 0.0)
    if more < 1:
        return stay
    # a unit that comes is new and stays alone with the same probability whenever it comes: as if it came last
    # E new uniques = more * P(the last unit opens a class): (theta + a E U) / (theta + N - 1) among the rest
    before = classes + model.new_classes(units, classes, more - 1)
    return stay + more * (model.theta + model.a * before) / (model.theta + population - 1)


def zayatz(found: Spectrum, population: float) -> float:
    """Return Zayatz's estimate c_1 P1 / pi: P1, that a sample unique is one of the population, by Bayes' rule.

    The sizes of classes in the population are taken for those of the sample. Hyp(1; N, s, n) is the probability that
    one unit of a class of s is drawn.
    """
    from scipy.special import gammaln

    n, total = found.units, population
    share = n / total
    sizes = found.sizes[found.sizes <= total - n + 1]
    number = found.number[found.sizes <= total - n + 1]
    rest = total - sizes

    def ways(whole: Floats | float, part: Floats | float) -> Floats:
        return np.asarray(gammaln(whole + 1) - gammaln(part + 1) - gammaln(np.asarray(whole) - part + 1))

    one = np.exp(np.log(sizes) + ways(rest, n - 1) - ways(total, n))
    whole = float(number @ one)
    if whole <= 0:
        return float("nan")
    return found.of_size(1) * (found.of_size(1) * share / whole) / share


def shlosser(found: Spectrum, population: float) -> float:
    """Return Haas and Stokes' third estimate of Shlosser's kind of how many classes the population has."""
    share, s, c = found.units / population, found.sizes, found.number
    if share >= 1:
        return found.classes
    first = c @ (s * share**2 * (1 - share**2) ** (s - 1)) / (c @ ((1 - share) ** s * ((1 + share) ** s - 1)))
    second = (c @ (1 - share) ** s) / (c @ (s * share * (1 - share) ** (s - 1)))
    return float(found.classes + found.of_size(1) * first * second**2)


def snb(found: Spectrum, population: float, classes: float | None = None) -> float:
    """Return Chen and Keller-McNulty's estimate K b^al by the shifted negative binomial; NaN where it has none.

    F - 1 is negative binomial: al and b solve the equations of the expected c_1 and c_2 of a Bernoulli sample, with
    t = (1 - pi) (1 - b) and K ``classes`` in the population, by ``shlosser`` if nobody says.
    """
    from scipy.optimize import brentq

    once, twice = found.of_size(1), found.of_size(2)
    share = found.units / population
    if twice <= 0 or once <= 0:
        return float("nan")
    if share >= 1:
        return once
    classes = shlosser(found, population) if classes is None else classes

    def alphas(b: float) -> tuple[float | None, float | None]:
        """Solve the first equation for al: its left side rises to a peak, and from there it falls to nothing."""
        t = (1 - share) * (1 - b)
        peak = max(-1 / np.log(b / (1 - t)) - (1 - t) / t, 0.0)

        def first(al: float) -> float:
            return float(np.log(classes * share) + al * np.log(b / (1 - t)) + np.log1p(al * t / (1 - t)) - np.log(once))

        if first(peak) < 0:
            return None, None
        high = max(2 * peak, 1.0)
        while first(high) > 0:
            high *= 2
        rising = float(brentq(first, 0.0, peak)) if peak > 0 and first(0.0) < 0 else None
        return rising, float(brentq(first, peak, high))

    def second(b: float, al: float) -> float:
        t = (1 - share) * (1 - b)
        factor = classes * al * share**2 * (1 - b) / 2 * (2 - (1 - al) * t)
        return float(np.log(factor) + al * np.log(b) - (al + 2) * np.log1p(-t) - np.log(twice))

    grid = 1 / (1 + np.exp(-np.linspace(-20, 12, 130)))
    solved = [alphas(float(b)) for b in grid]
    for branch in (0, 1):
        for (b, left), (more, right) in pairwise(zip(grid, solved, strict=True)):
            low, high = left[branch], right[branch]
            if low is None or high is None or (second(float(b), low) <= 0) == (second(float(more), high) <= 0):
                continue

            def on_branch(place: float, branch: int = branch) -> float:
                al = alphas(place)[branch]
                return float("nan") if al is None else second(place, al)

            root = float(brentq(on_branch, float(b), float(more)))
            al = alphas(root)[branch]
            return float("nan") if al is None else float(classes * root**al)
    return float("nan")


def dankar(by_pitman: float, by_zayatz: float, by_snb: float, share: float) -> tuple[float, Chosen]:
    """Return the estimate that Dankar's rule takes, and whose it is.

    Up to a sampling fraction of .1 Pitman's, Zayatz's where there is none; beyond, the smaller of SNB and Zayatz.
    """
    if share <= DANKAR_SHARE:
        return (by_pitman, "Pitman") if np.isfinite(by_pitman) else (by_zayatz, "Zayatz")
    if np.isfinite(by_snb) and not by_snb > by_zayatz:
        return by_snb, "SNB"
    return by_zayatz, "Zayatz"


def poisson_inverse(sizes: Floats, outside: Floats) -> Floats:
    """Return E(1 / (f + J)), J Poisson with mean h: the integral of t^(f-1) exp(-h (1-t)) over t from 0 to 1.

    For f = 1 it is (1 - exp(-h)) / h. With s = 1 - t = x / (f + h) the integrand falls no slower than exp(-x) does but
    for the last unit, so that panels of Gauss-Legendre in x hold it to ten digits.

    >>> poisson_inverse(np.array([1.0, 3.0]), np.array([2.0, 0.0])).round(6)
    array([0.432332, 0.333333])
    """
    sizes, outside = np.broadcast_arrays(np.asarray(sizes, dtype=np.float64), np.asarray(outside, dtype=np.float64))
    points, weights = np.polynomial.legendre.leggauss(POISSON_NODES)
    found = np.empty(len(sizes))
    for start in range(0, len(sizes), POISSON_AT_ONCE):
        rows = slice(start, start + POISSON_AT_ONCE)
        f, h = sizes[rows, None], outside[rows, None]
        scale = f + h
        total = np.zeros(len(f))
        for low, high in pairwise(POISSON_EDGES):
            begin, end = np.minimum(low, scale), np.minimum(high, scale)
            s = ((begin + end) / 2 + (end - begin) / 2 * points) / scale
            total += (((1 - s) ** (f - 1) * np.exp(-h * s)) * weights).sum(axis=1) * ((end - begin) / 2 / scale)[:, 0]
        found[rows] = total
    return found
