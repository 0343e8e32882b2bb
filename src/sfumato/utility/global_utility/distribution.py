"""Whether one variable is distributed alike in two tables: Kolmogorov-Smirnov for numbers, chi-squared for categories.

Both give a P value and a distance that does not grow with the number of records: the largest gap between the two
distribution functions, or half the sum of the differences between the shares (total variation).

Survey weights: distribution functions and shares are weighted. The K-S test then takes Kish's effective numbers of
records, (sum w)^2 / sum w^2, in the asymptotic distribution; the chi-squared test has the first-order correction of Rao
and Scott (1981), with the design effects of the shares by linearisation.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.data.microdata import Codes, Floats
from sfumato.kernels.kolmogorov import one_sample_p, two_sample_p
from sfumato.kernels.stretches import code_counts, stretches
from sfumato.pair.sorting import Runs
from sfumato.pair.statistics import Room, Values
from sfumato.utility.association.aside import LONG, MEMORY
from sfumato.utility.one_distribution import functions

EXACT = 10_000  # records up to which P is exact
KOLMOGOROV = "Kolmogorov-Smirnov"
STEEPNESS = 14.0  # section 3.2: P = .05 then counts one half
LEAST_EXPECTED = 5.0 * (1 - 1e-9)  # what is 5 but for rounding is not below it


@dataclass(frozen=True)
class Comparison:
    """What a test says of a variable in both tables."""

    test: str
    statistic: float
    p: float
    distance: float
    sparse: float = 0.0  # share of the expected counts below 5
    size: float = 0.0  # m n / (m + n) of the records of both tables, effective ones where they have weights
    freedom: int = 0  # degrees of freedom, of chi-squared

    @property
    def utility(self) -> float:
        """What is left of the variable: 1 - exp(-14 P) of section 3.2."""
        return worth(self.p)

    def utility_with(self, records: int) -> float:
        """Return what would be left if tables of so many records each differed as these do; no more than there are."""
        from scipy.special import chdtrc

        size = records / 2
        if self.size <= size or self.p == 1:
            return self.utility
        if self.test == KOLMOGOROV:
            return worth(max(self.p, _asymptotic(self.distance, size)))
        return worth(max(self.p, float(chdtrc(self.freedom, self.statistic * size / self.size))))


def worth(p: float) -> float:
    """Return what a variable is worth whose distributions a test tells apart with this P value: 1 - exp(-14 P).

    >>> round(worth(0.05), 3), round(worth(0.01), 3)
    (0.503, 0.131)
    """
    return float(-np.expm1(-STEEPNESS * p))


ALIKE = Comparison(KOLMOGOROV, 0.0, 1.0, 0.0)  # of numbers that are the same in both tables


def numbers_alike(before: Values, after: Values) -> Comparison:
    """Compare numbers by the two-sample Kolmogorov-Smirnov test.

    P is that of ``scipy.stats.ks_2samp``: exact up to 10,000 records, asymptotic beyond.
    """
    return _told(_gap(before, after), before.present, after.present)


def _told(gap: int, m: int, n: int) -> Comparison:
    """Say what the largest |m n (F - G)| tells."""
    distance = gap / (m * n)
    size = m * n / (m + n)
    p = _asymptotic(distance, size) if max(m, n) > EXACT else two_sample_p(gap, m, n)
    return Comparison(KOLMOGOROV, distance, p, distance, size=size)


def numbers_alike_aside(x: Floats, y: Floats, folder: Path) -> Comparison:
    """Compare numbers (none missing) as ``numbers_alike`` does; long columns are sorted in files of this folder."""
    m, n = len(x), len(y)
    if max(m, n) > LONG:
        return _told(_gap_on_disk(x, y, folder), m, n)
    x, y = np.sort(x), np.sort(y)
    gap = 0
    for values in (x, y):
        for rows in stretches(len(values)):
            at = values[rows]
            apart = np.searchsorted(x, at, "right") * n - np.searchsorted(y, at, "right") * m
            gap = max(gap, int(np.abs(apart).max()))
    return _told(gap, m, n)


def _gap_on_disk(x: Floats, y: Floats, folder: Path) -> int:
    """Return the largest |m n (F - G)| of two columns that are sorted together on disk."""
    runs = Runs(Room(MEMORY, lambda: folder), "a variable of both tables", len(x) + len(y), np.float64)
    for values, side in ((x, 1.0), (y, -1.0)):
        for rows in stretches(len(values)):
            runs.add(values[rows], np.full(rows.stop - rows.start, side))
    gap = 0
    for _, _, ours, theirs in functions(runs):
        apart = ours.astype(np.int64) * len(y) - theirs.astype(np.int64) * len(x)
        gap = max(gap, int(np.abs(apart).max()))
    runs.close()
    return gap


def weighted_numbers_alike(x: Floats, y: Floats, of_x: Floats, of_y: Floats) -> Comparison:
    """Compare numbers (none missing) with weights: by Kish's effective number of records."""
    distance, effective = _weighted_gap(x, y, of_x, of_y)
    return Comparison(KOLMOGOROV, distance, _asymptotic(distance, effective), distance, size=effective)


def _gap(before: Values, after: Values) -> int:
    """Return the largest |m n (F - G)|, which is taken at a value of one table or the other."""
    m, n = before.present, after.present
    gaps = [
        np.abs(one.upto * others - np.append(0, two.upto)[np.searchsorted(two.values, one.values, "right")] * own).max()
        for one, two, own, others in ((before, after, m, n), (after, before, n, m))
    ]
    return int(max(gaps))


def _asymptotic(distance: float, size: float) -> float:
    """Return P of a gap by the one-sample distribution with n m / (n + m) records, as scipy does for large tables."""
    return one_sample_p(distance, max(1, round(size)))


def _weighted_gap(x: Floats, y: Floats, of_x: Floats, of_y: Floats) -> tuple[float, float]:
    """Return the largest gap between the weighted distribution functions, and the effective number of records."""
    values = np.concatenate([x, y])
    steps = np.concatenate([of_x / of_x.sum(), -of_y / of_y.sum()])
    order = np.argsort(values, kind="stable")
    gaps, last = np.cumsum(steps[order]), np.append(np.diff(values[order]) > 0, True)
    sizes = [w.sum() ** 2 / (w @ w) for w in (of_x, of_y)]
    gap = float(np.abs(gaps[last]).max())
    return (min(gap, 1.0) if gap > 1e-12 else 0.0), float(sizes[0] * sizes[1] / (sizes[0] + sizes[1]))


def categories_alike(x: Codes, y: Codes, number: int, weights: tuple[Floats, Floats] | None = None) -> Comparison:
    """Compare codes (none missing) by the chi-squared test of homogeneity; categories that occur nowhere do not count.

    Pearson's statistic without a correction for continuity.
    """
    from scipy.special import chdtrc

    counts = np.stack([code_counts(codes, number) for codes in (x, y)]).astype(np.float64)
    sizes = counts.sum(axis=1)
    shares, effects = counts / sizes[:, None], np.ones_like(counts)
    if weights is not None:
        found = [_weighted_shares(codes, number, w) for codes, w in zip((x, y), weights, strict=True)]
        shares, effects = np.stack([s for s, _ in found]), np.stack([e for _, e in found])
    used = shares.sum(axis=0) > 0
    shares, effects = shares[:, used], effects[:, used]
    part = sizes / sizes.sum()
    pooled = part @ shares
    free = int(used.sum()) - 1
    distance = float(np.abs(shares[0] - shares[1]).sum() / 2)
    sparse = float(np.mean(np.outer(sizes, pooled) < LEAST_EXPECTED))
    if free < 1:
        return Comparison("chi-squared", 0.0, 1.0, distance, sparse)
    statistic = float((sizes[:, None] * (shares - pooled) ** 2 / pooled).sum())
    if weights is not None:
        # E X^2 = sum over tables and categories of (1 - n_i/n)(1 - p_j) d_ij; without weights that is r - 1
        statistic /= float(((1 - part)[:, None] * (1 - pooled) * effects).sum() / free)
    size = float(sizes[0] * sizes[1] / sizes.sum())
    return Comparison("chi-squared", statistic, float(chdtrc(free, statistic)), distance, sparse, size, free)


def _weighted_shares(codes: Codes, number: int, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted share of each category, and its design effect by linearisation."""
    total, squares = float(weights.sum()), np.bincount(codes, weights**2, minlength=number)
    shares = np.bincount(codes, weights, minlength=number) / total
    every = float(squares.sum())
    variance = (squares * (1 - shares) ** 2 + (every - squares) * shares**2) / total**2
    simple = shares * (1 - shares) / len(codes)
    kish = len(codes) * every / total**2
    safe = np.where(simple > 0, simple, 1.0)
    return shares, np.where(simple > 0, variance / safe, kish)
