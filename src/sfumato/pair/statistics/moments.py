"""Means, variances and covariances of numeric variables with gaps, from sums that merge."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.spread import ROUNDING
from sfumato.pair.statistics.statistic import Statistic

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments(Statistic):
    """Sums over records of some numeric variables, about a centre near their means.

    Entry (j, k) of ``counts`` counts the records that have both j and k. Over these, ``sums`` has the sum of x_j -
    centre_j, ``squares`` that of its square, ``products`` that of the product with x_k - centre_k. ``low`` and ``high``
    are the smallest and largest value, ``sizes`` the sum of |x_j|. Merging moves both parts to one centre first (Chan,
    Golub and LeVeque 1983), so that nothing is lost by cancellation.
    """

    centre: Floats
    counts: Floats
    sums: Floats
    squares: Floats
    products: Floats
    low: Floats
    high: Floats
    sizes: Floats

    @classmethod
    def of(cls, values: Floats) -> Self:
        """Sum up an n x p array of numbers, NaN for missing."""
        present = ~np.isnan(values)
        whole = bool(present.all())
        counts = present.sum(axis=0)
        low = (values if whole else np.where(present, values, np.inf)).min(axis=0, initial=np.inf)
        high = (values if whole else np.where(present, values, -np.inf)).max(axis=0, initial=-np.inf)
        with np.errstate(over="ignore", invalid="ignore"):  # too large for a sum: an infinite spread says so
            filled = values if whole else np.where(present, values, 0.0)
            mean = filled.sum(axis=0) / np.maximum(counts, 1)
            centre = np.where(low == high, low, mean)
            x = values - centre if whole else np.where(present, values - centre, 0.0)
            products, sizes = x.T @ x, np.abs(filled).sum(axis=0)
            if whole:
                ones = np.ones_like(products)
                both, sums, squares = (
                    len(values) * ones,
                    x.sum(axis=0)[:, None] * ones,
                    np.diag(products)[:, None] * ones,
                )
            else:
                there = present.astype(np.float64)
                both, sums, squares = there.T @ there, x.T @ there, (x**2).T @ there
        return cls(centre, both, sums, squares, products, low, high, sizes)

    def merge(self, other: Self) -> Self:
        """Add the sums about the mean of both."""
        own, theirs = np.diag(self.counts), np.diag(other.counts)
        share = theirs / np.maximum(own + theirs, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            centre = self.centre + (other.centre - self.centre) * share
            counts, sums, squares, products = (
                one + two for one, two in zip(self._about(centre), other._about(centre), strict=True)
            )
            return type(self)(
                centre,
                counts,
                sums,
                squares,
                products,
                np.minimum(self.low, other.low),
                np.maximum(self.high, other.high),
                self.sizes + other.sizes,
            )

    def _about(self, centre: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return counts, sums, squares and products about another centre."""
        d = centre - self.centre
        n, s = self.counts, self.sums
        sums = s - d[:, None] * n
        squares = self.squares - 2 * d[:, None] * s + (d**2)[:, None] * n
        products = self.products - d[:, None] * s.T - s * d + np.outer(d, d) * n
        return n, sums, squares, products

    @property
    def present(self) -> Floats:
        """How many records have each variable."""
        return np.asarray(np.diag(self.counts))

    @cached_property
    def mean(self) -> Floats:
        """The mean of each variable: NaN without a value, and exactly the value of a constant."""
        mean = self.centre + np.diag(self.sums) / np.maximum(self.present, 1.0)
        return np.where(self.present == 0, np.nan, np.where(self.low == self.high, self.low, mean))

    @property
    def size(self) -> Floats:
        """The mean of |x| of each variable: a difference of means that is small beside it may be rounding alone."""
        return self.sizes / np.maximum(self.present, 1.0)

    @cached_property
    def spread(self) -> Floats:
        """The standard deviation (n - 1) of each variable; what rounding leaves of a constant is no spread.

        Values too large to be squared have an infinite spread.
        """
        n = self.present
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.diag(self.squares) - np.diag(self.sums) ** 2 / np.maximum(n, 1.0)
            squares = np.where(np.isnan(squares), np.inf, np.maximum(squares, 0.0))
            spread = np.sqrt(squares / np.maximum(n - 1, 1.0))
        constant = (self.low == self.high) | (n < 2)
        size = np.where(n > 0, np.maximum(np.abs(self.low), np.abs(self.high)), 0.0)
        return np.where(constant | (spread <= ROUNDING * size), 0.0, spread)

    @cached_property
    def covariances(self) -> Floats:
        """The covariances (n - 1), each over the records that have both; one that is but rounding is 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found = (self.products - self.sums * self.sums.T / self.counts) / (self.counts - 1)
        found = np.where(self.counts > 1, found, np.nan)
        mean, spread = np.abs(self.mean), self.spread
        apart = np.outer(spread, spread) + np.outer(mean, spread) + np.outer(spread, mean)
        dust = (np.abs(found) <= ROUNDING * apart) | (np.outer(spread, spread) == 0)
        return np.where(dust & ~np.isnan(found), 0.0, found)

    @cached_property
    def correlations(self) -> Floats:
        """The correlations, each over the records that have both; NaN where a variable is constant there."""
        varies = self.spread > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            products = self.products - self.sums * self.sums.T / self.counts
            spread = self.squares - self.sums**2 / self.counts  # of j over the records that also have k
            spread = np.where(spread > 1e-12 * self.squares, spread, 0.0)
            found = products / np.sqrt(spread * spread.T)
        found[~varies], found[:, ~varies] = np.nan, np.nan
        return np.clip(np.where(np.isfinite(found), found, np.nan), -1.0, 1.0)
