"""How many records fall into each bin of a numeric variable."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sfumato.pair.statistics.statistic import Statistic

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Histogram(Statistic):
    """The records in each bin; those beyond the first and the last edge are in the bins at the ends.

    >>> Histogram.of(np.array([0.2, 1.5, 9.0, np.nan]), np.array([0.0, 1.0, 2.0])).counts.tolist()
    [1, 2]
    """

    edges: Floats
    counts: Integers
    missing: int

    @classmethod
    def of(cls, numbers: Floats, edges: Floats) -> Self:
        """Count numbers, NaN for missing, between edges."""
        present = numbers[~np.isnan(numbers)]
        counts, _ = np.histogram(np.clip(present, edges[0], edges[-1]), bins=edges)
        return cls(edges, counts.astype(np.int64), len(numbers) - len(present))

    def merge(self, other: Self) -> Self:
        """Add the counts of the same bins."""
        return type(self)(self.edges, self.counts + other.counts, self.missing + other.missing)
