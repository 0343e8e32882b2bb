"""Means and covariances that outliers do not move: the minimum covariance determinant (MCD), reweighted.

Rousseeuw and Van Driessen (1999), A fast algorithm for the minimum covariance determinant estimator; the factor for
small samples is that of Pison, Van Aelst and Willems (2002), as in R's robustbase (``covMcd``, alpha = 0.5).

The least determinant is looked for from random starts and need not be found: where many halves of the records are
nearly as dense, other starts end at another. More starts make that rarer, no number of them excludes it.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

STARTS = 500
STARTS_AT_A_TIME = 50  # of them at a time, to spare memory
FOLLOWED = 100  # of them, the most promising, to their end among the records at which they are tried
MAX_FINALISTS = 10  # ends that are followed among all records, if these are more
SAMPLE = 1_500  # records among which starts are tried
STEPS = 200
OUTLIER = 0.975  # quantile of the chi-squared beyond which a record counts no more
SINGULAR = 1e-12  # the least eigenvalue of correlations, below which records lie in a plane
SEED = 0  # the starts are always the same, so that the estimate is a function of the records

# log of -c and the power of p of the two sample sizes 2 p^2 and 3 p^2, from which the factor for p > 2 is drawn
RAW = ((-1.42764571687802, 1.26263336932151), (-1.06141115981725, 1.28907991440387))
REWEIGHTED = ((-1.02842572724793, 1.67659883081926), (-0.26800273450853, 1.35968562893582))
RAW_SMALL = {1: (0.262024211897096, 0.604756680630497), 2: (0.673292623522027, 0.691365864961895)}
REWEIGHTED_SMALL = {1: (1.11098143415027, 1.5182890270453), 2: (3.11101712909049, 1.91401056721863)}


class Robust(NamedTuple):
    """The centre and the covariance of the records that are no outliers."""

    centre: Floats
    covariance: Floats


def minimum_covariance_determinant(values: Floats) -> Robust | None:
    """Return the reweighted MCD of an n x p array without gaps; None where half of the records lie in a plane.

    >>> found = minimum_covariance_determinant(np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [99.0]]))
    >>> found is not None and found.centre.tolist()
    [3.0]
    """
    from scipy.special import chdtri

    n, p = values.shape
    half = (n + p + 1) // 2
    if half >= n:
        return None
    rows = values[np.lexsort(values.T)]  # whatever the order of the records
    if any(np.unique(column, return_counts=True)[1].max() >= half for column in rows.T):
        return None
    best = _densest(rows[:, 0], half) if p == 1 else _best_half(rows, half)
    if best is None:
        return None
    raw = _of(rows[best])
    factor = _consistency(p, half / n) * _small_sample(p, n, RAW, RAW_SMALL)
    distances = squared_distances(rows, raw.centre, raw.covariance * factor)
    if distances is None:
        return None
    kept = distances < chdtri(p, 1 - OUTLIER)
    found = _of(rows[kept])
    if kept.all():
        return found
    factor = _consistency(p, float(kept.mean())) * _small_sample(p, n, REWEIGHTED, REWEIGHTED_SMALL)
    return Robust(found.centre, found.covariance * factor)


def squared_distances(values: Floats, centre: Floats, covariance: Floats) -> Floats | None:
    """Return the squared Mahalanobis distance of each record; None if the covariance has no inverse."""
    if not _regular(covariance):
        return None
    apart = values - centre
    distances: Floats = np.einsum("ij,ij->i", apart, np.linalg.solve(covariance, apart.T).T)
    return distances


def _of(rows: Floats) -> Robust:
    return Robust(rows.mean(axis=0), np.atleast_2d(np.cov(rows, rowvar=False)))


def _regular(covariance: Floats) -> bool:
    spread = np.sqrt(np.maximum(np.diag(covariance), 0))  # rounding leaves less than nothing of a constant
    if not (spread > 0).all():
        return False
    return bool(np.linalg.eigvalsh(covariance / np.outer(spread, spread))[0] > SINGULAR)


def _densest(numbers: Floats, half: int) -> Places | None:
    """Return the places of the neighbours in an ascending order whose variance is least."""
    numbers = numbers - numbers.mean()
    sums, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (numbers, numbers**2))
    total, square = sums[half:] - sums[:-half], squares[half:] - squares[:-half]
    spread = square - total**2 / half
    start = int(np.argmin(spread))
    places = np.arange(start, start + half)
    return places if numbers[places[-1]] > numbers[places[0]] else None


def _best_half(rows: Floats, half: int) -> Places | None:
    """Find the ``half`` of the records whose covariance has the least determinant, from many random starts."""
    n, p = rows.shape
    rng = np.random.default_rng(SEED)
    some = rows if n <= SAMPLE else rows[np.sort(rng.choice(n, SAMPLE, replace=False))]
    size = half if n <= SAMPLE else max(half * SAMPLE // n, p + 1)
    starts: list[tuple[float, Robust]] = []
    for _ in range(STARTS // STARTS_AT_A_TIME):
        begun = [_start(some, rng) for _ in range(STARTS_AT_A_TIME)]
        if any(one is None for one in begun):
            return None
        together = Robust(*(np.array(part) for part in zip(*(one for one in begun if one is not None), strict=True)))
        for _ in range(2):
            together = _concentrated(some, size, together)
        starts += [(_logarithm(one), one) for one in map(Robust, *together) if _regular(one.covariance)]
    if len(starts) < STARTS:  # half of the records lie in a plane
        return None
    starts.sort(key=lambda entry: entry[0])
    ends = _ends(some, size, [start for _, start in starts[:FOLLOWED]])
    if ends and n > SAMPLE:
        ends = _ends(rows, half, [_of(some[places]) for _, places in ends[:MAX_FINALISTS]])
    return ends[0][1] if ends else None


def _ends(rows: Floats, size: int, starts: list[Robust]) -> list[tuple[float, Places]]:
    """Follow several starts to their ends, the least determinant first; none where records lie in a plane."""
    ends = [_followed(rows, size, start) for start in starts]
    found = [end for end in ends if end is not None]
    return sorted(found, key=lambda end: end[0]) if len(found) == len(ends) else []


def _start(rows: Floats, rng: np.random.Generator) -> Robust | None:
    """Take as few records as have a covariance, drawn at random; one more as long as they lie in a plane."""
    drawn = rng.permutation(len(rows))
    for size in range(rows.shape[1] + 1, len(rows) + 1):
        found = _of(rows[drawn[:size]])
        if _regular(found.covariance):
            return found
    return None


def _concentrated(rows: Floats, size: int, around: Robust) -> Robust:
    """Take, for each of several centres, the records nearest to it (a C-step): no determinant becomes larger.

    A covariance without an inverse stays as it is.
    """
    centres, covariances = around.centre.copy(), around.covariance.copy()
    able = np.array([_regular(covariance) for covariance in covariances])
    apart = (rows[None] - centres[able, None]).transpose(0, 2, 1)
    distances = (apart * np.linalg.solve(covariances[able], apart)).sum(axis=1)
    nearest = np.argpartition(distances, size - 1, axis=1)[:, :size]
    chosen = rows[nearest]
    centres[able] = chosen.mean(axis=1)
    chosen -= centres[able, None]
    covariances[able] = np.einsum("kni,knj->kij", chosen, chosen, optimize=True) / (size - 1)
    return Robust(centres, covariances)


def _followed(rows: Floats, half: int, start: Robust) -> tuple[float, Places] | None:
    """Concentrate until nothing changes; return the logarithm of the determinant and the records."""
    found, before, nearest = start, np.inf, np.empty(0, dtype=np.intp)
    for _ in range(STEPS):
        distances = squared_distances(rows, *found)
        if distances is None:
            return None
        nearest = np.sort(np.argsort(distances, kind="stable")[:half])
        found = _of(rows[nearest])
        if not _regular(found.covariance):
            return None
        now = _logarithm(found)
        if now >= before:
            break
        before = now
    return before if before < np.inf else _logarithm(found), nearest


def _logarithm(found: Robust) -> float:
    return float(np.linalg.slogdet(found.covariance)[1])


def _consistency(p: int, share: float) -> float:
    """Return what makes the covariance of the inner ``share`` of normal records that of all of them."""
    from scipy.special import chdtri, gammainc

    return share / float(gammainc(p / 2 + 1, chdtri(p, 1 - share) / 2))


def _small_sample(
    p: int, n: int, large: tuple[tuple[float, float], ...], small: dict[int, tuple[float, float]]
) -> float:
    """Return the factor that takes the bias of few records away: 1 / (1 - exp(a) / n^b)."""
    if p in small:
        a, b = small[p]
        return 1 / (1 - exp(a - b * log(n)))
    heights = [log(-c) - power * log(p) for c, power in large]
    sizes = [log(times * p**2) for times in (2, 3)]
    b = (heights[0] - heights[1]) / (sizes[1] - sizes[0])
    return 1 / (1 - exp(heights[0] + b * (sizes[0] - log(n))))
