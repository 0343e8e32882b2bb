"""Estimators of the uniques of a population from the sizes of the classes of a sample, under the names they have."""

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.population.pitman import Fit, Spectrum

Floats = NDArray[np.float64]
Chosen = Literal["Pitman", "Zayatz", "SNB"]
DANKAR_SHARE = 0.1  # sampling fraction up to which Dankar's rule trusts Pitman


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
