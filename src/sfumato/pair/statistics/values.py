"""The exact distribution of one numeric variable: its different values, in order, and how many records have each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sfumato.pair.statistics.statistic import Statistic, distinct_sums

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


FEW = 2**16  # whole numbers that are counted in a table of them all


def _counted(numbers: Floats) -> tuple[Floats, Integers]:
    """Return the different numbers in ascending order, and how often each occurs."""
    if len(numbers) > FEW // 16:
        low, high = float(numbers.min()), float(numbers.max())
        if high - low < min(FEW, len(numbers)) and np.array_equal(numbers, np.floor(numbers)):
            table = np.bincount((numbers - low).astype(np.int64))
            there = np.flatnonzero(table)
            return low + there.astype(np.float64), table[there]
    values, counts = np.unique(numbers, return_counts=True)
    return values, counts


@dataclass(frozen=True, eq=False)
class Values(Statistic):
    """The different values in ascending order, the records that have each, and the sum of their weights.

    ``missing`` counts the records without a value. Ranks, quantiles and distribution functions follow from it without
    a further look at the records. It takes as much memory as there are different values.

    >>> found = Values.of(np.array([3.0, 1.0, np.nan, 3.0]))
    >>> found.values.tolist(), found.counts.tolist(), found.missing
    ([1.0, 3.0], [1, 2], 1)
    >>> found.merge(Values.of(np.array([2.0, 3.0]))).counts.tolist()
    [1, 1, 3]
    """

    values: Floats
    counts: Integers
    missing: int
    weights: Floats | None = None  # the sums of weights; None: every record counts one

    @classmethod
    def of(cls, numbers: Floats, weights: Floats | None = None) -> Self:
        """Count numbers, NaN for missing."""
        absent = np.isnan(numbers)
        missing = int(absent.sum())
        present = numbers[~absent] if missing else numbers
        if weights is None:
            values, counts = _counted(present)
            return cls(values, counts.astype(np.int64, copy=False), missing)
        values, place, counts = np.unique(present, return_inverse=True, return_counts=True)
        own = np.bincount(place, weights[~absent] if missing else weights, minlength=len(values))
        return cls(values, counts.astype(np.int64), missing, np.asarray(own, dtype=np.float64))

    def merge(self, other: Self) -> Self:
        """Add the counts of equal values."""
        return self.together((self, other))

    @classmethod
    def together(cls, statistics: Sequence[Self]) -> Self:
        """Add the counts of equal values, of all parts at once."""
        values = np.concatenate([part.values for part in statistics])
        counts = np.concatenate([part.counts for part in statistics])
        missing = sum(part.missing for part in statistics)
        weights = [part.weights for part in statistics if part.weights is not None]
        if len(weights) < len(statistics):
            found, (added,) = distinct_sums(values, counts)
            return cls(found, added, missing)
        found, (added, own) = distinct_sums(values, counts, np.concatenate(weights))
        return cls(found, added, missing, own)

    @property
    def present(self) -> int:
        """How many records have a value."""
        return int(self.counts.sum())

    @cached_property
    def upto(self) -> Integers:
        """How many records have each value or a smaller one."""
        return np.cumsum(self.counts)

    @property
    def whole(self) -> bool:
        """Whether every value is a whole number."""
        return bool(np.array_equal(self.values, np.round(self.values)))

    def below(self, numbers: Floats) -> Integers:
        """Return how many records have a smaller value than each of these numbers."""
        return self._before[np.searchsorted(self.values, numbers, "left")]

    def not_above(self, numbers: Floats) -> Integers:
        """Return how many records have each of these numbers or a smaller value."""
        return self._before[np.searchsorted(self.values, numbers, "right")]

    @cached_property
    def _before(self) -> Integers:
        return np.concatenate([np.zeros(1, dtype=np.int64), self.upto])

    def ranks(self, numbers: Floats) -> Floats:
        """Return the rank of numbers among the records, from 0; values that tie share the mean of their ranks."""
        ranks: Floats = (self.below(numbers) + self.not_above(numbers) - 1) / 2
        return ranks

    def at_rank(self, ranks: Integers) -> Floats:
        """Return the value of the record with each rank from 0, in ascending order."""
        found: Floats = self.values[np.searchsorted(self.upto, ranks, "right")]
        return found

    def quantiles(self, shares: Floats) -> Floats:
        """Return the quantiles, between two values by linear interpolation, as numpy does; NaN if there is no value.

        >>> Values.of(np.array([1.0, 2.0, 4.0])).quantiles(np.array([0.0, 0.75]))
        array([1., 3.])
        """
        if not self.present:
            return np.full(len(shares), np.nan)
        place = (self.present - 1) * shares
        rank = np.floor(place).astype(np.int64)
        part = place - rank
        low, high = self.at_rank(rank), self.at_rank(np.minimum(rank + 1, self.present - 1))
        gap = high - low
        found: Floats = np.where(part < 0.5, low + gap * part, high - gap * (1 - part))
        return found
