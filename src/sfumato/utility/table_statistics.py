"""How far the cells of one table of counts lie apart in two files, and how far chance alone would put them.

The statistics are those of synthpop's ``utility.tab``: Raab, Nowok and Dibben (2021), Assessing, visualizing and
improving the utility of synthetic data; Voas and Williamson (2001); Freeman and Tukey (1950).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import exp, lgamma, log, pi, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.spread import ROUNDING

Floats = NDArray[np.float64]
Statistic = Literal["VW", "FT", "G", "JSD", "Bhattacharyya", "absolute difference", "weighted absolute difference"]
Null = Literal["fitted model", "two samples"]
NORMAL = sqrt(2 / pi)  # the mean size of a standard normal variable
MOST_TABLES = 50_000
DENSE = 2**16  # cells that are counted in an array of all of them, however few records there are


def means_of_tables(found: Mapping[tuple[str, ...], float], names: tuple[str, ...], size: int) -> dict[Any, float]:
    """Return the mean figure of the tables in which each variable, or each two, have a part.

    >>> means_of_tables({("a", "b"): 1.0, ("a", "c"): 3.0}, ("a", "b", "c"), 1)
    {'a': 2.0, 'b': 1.0, 'c': 3.0}
    """
    own: dict[tuple[str, ...], list[float]] = {some: [] for some in combinations(names, size)}
    for table, figure in found.items():
        for some in combinations(table, size):
            own[some].append(figure)
    return {some if size > 1 else some[0]: float(np.mean(figures)) for some, figures in own.items() if figures}


@dataclass(frozen=True)
class Effects:
    """The means of the squared weights of the two files, whose own mean is 1: Kish's design effects."""

    original: float = 1.0
    protected: float = 1.0


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a table that are not empty in both files, and what the records in them weigh.

    The weights of each file sum to the number of its records.
    """

    original: Floats
    protected: Floats

    @property
    def records(self) -> float:
        """The number N of pooled records."""
        return float(self.original.sum() + self.protected.sum())

    @property
    def share(self) -> float:
        """The share c of protected records."""
        return float(self.protected.sum()) / self.records

    @property
    def number(self) -> int:
        """The number k of cells."""
        return len(self.original)

    @cached_property
    def shares(self) -> tuple[Floats, Floats]:
        """The share of each file's records in each cell; two that differ by rounding alone are equal."""
        before, after = self.original / self.original.sum(), self.protected / self.protected.sum()
        return before, np.where(np.abs(after - before) <= ROUNDING * before, before, after)

    @cached_property
    def pooled(self) -> Floats:
        """The share of the pooled records in each cell."""
        shares: Floats = (self.original + self.protected) / self.records
        return shares

    @property
    def apart(self) -> Floats:
        """The difference of the two shares of each cell, protected less original."""
        before, after = self.shares
        difference: Floats = after - before
        return difference

    @cached_property
    def common(self) -> NDArray[np.bool_]:
        """Which cells are empty in neither file."""
        return np.asarray((self.original > 0) & (self.protected > 0))

    # statistics

    @cached_property
    def found(self) -> dict[Statistic, float]:
        """All statistics; G is missing where no cell is common to both files."""
        before, after = self.shares
        size, c = float(self.protected.sum()), self.share
        apart = self.apart
        hellinger = float(((np.sqrt(after) - np.sqrt(before)) ** 2).sum())  # twice (1 - sum of roots), with all digits
        told: dict[Statistic, float] = {
            # diff = s - o c / (1 - c) = n_s (q - p), expected c (o + s)
            "VW": float(((size * apart) ** 2 / (c * (self.original + self.protected))).sum()),
            "FT": 4 * size * hellinger,
        }
        if self.common.any():
            p, q = before[self.common], after[self.common]
            over = q / p * (p.sum() / q.sum()) - 1
            # sums of s log(q / p), less what adds up to nothing, so that small differences keep their digits
            whole = float(self.protected[self.common].sum())
            told["G"] = 2 * whole * float((p / p.sum() * ((1 + over) * np.log1p(over) - over)).sum())
        told |= {
            "JSD": _divergence(before, after),
            "Bhattacharyya": sqrt(hellinger / 2),
            "absolute difference": float(np.abs(apart).sum()),
            "weighted absolute difference": float(
                (size * np.abs(apart) / np.sqrt(c * (self.original + self.protected))).sum() / NORMAL
            ),
        }
        return told

    def expected(self, null: Null, effects: Effects) -> dict[Statistic, float]:
        """Return what chance alone gives each statistic, to the first order of large counts.

        *Fitted model*: the original's shares are those the protected file was drawn from; n_s (q - p)^2 / p then sums
        to a chi-squared variable with k - 1 degrees of freedom. *Two samples*: the original is drawn too, and the same
        is 1 / (1 - c) times as large.
        """
        c, size = self.share, float(self.protected.sum())
        inflation = effects.protected
        if null == "two samples":
            inflation = ((1 - c) * effects.protected + c * effects.original) / (1 - c)
        degrees = self.number - 1
        spread = float(np.sqrt(self.pooled * (1 - self.pooled)).sum())
        return {
            "VW": inflation * degrees,
            "FT": inflation * degrees,
            "G": inflation * max(int(self.common.sum()) - 1, 0),
            "JSD": inflation * degrees / (8 * size * log(2)),
            "Bhattacharyya": sqrt(inflation / (8 * size)) * _mean_root(degrees),
            "absolute difference": sqrt(inflation / size) * NORMAL * spread,
            "weighted absolute difference": sqrt(inflation) * float(np.sqrt(1 - self.pooled).sum()),
        }

    @property
    def mean_square(self) -> float:
        """The pMSE of the model that has a propensity for every cell: VW c (1 - c)^2 / N."""
        return self.found["VW"] * self.share * (1 - self.share) ** 2 / self.records


def _divergence(before: Floats, after: Floats) -> float:
    """Return the Jensen-Shannon divergence in bits: with m(1 - v) and m(1 + v) for the two shares of each cell."""
    middle = (before + after) / 2
    apart = (after - before) / (2 * middle)
    both = np.zeros_like(middle)
    for part in (apart, -apart):
        there = part > -1
        both[there] += (1 + part[there]) * np.log1p(part[there])
    return float((middle * both).sum()) / (2 * log(2))


def _mean_root(degrees: int) -> float:
    """Return the mean of the root of a chi-squared variable."""
    return 0.0 if degrees <= 0 else sqrt(2) * exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2))
