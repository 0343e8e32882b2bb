"""How often each value of one variable goes with each of another: a table of the combinations that occur."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.pair.statistics.statistic import Statistic, distinct_sums

Integers = NDArray[np.int64]
Codes = NDArray[np.integer]
SMALL = 2**16  # combinations that are counted in a table of them all, however few records there are


@dataclass(frozen=True, eq=False)
class Crosstab(Statistic):
    """The combinations of two coded variables that occur, in ascending order, and the records that have each.

    >>> found = Crosstab.of(np.array([0, 1, 1]), np.array([2, 0, 0]))
    >>> found.rows.tolist(), found.columns.tolist(), found.counts.tolist()
    ([0, 1], [2, 0], [1, 2])
    """

    rows: Codes
    columns: Codes
    counts: Integers

    @classmethod
    def of(cls, rows: Codes, columns: Codes, counts: Integers | None = None) -> Self:
        """Count the combinations of two columns of codes; each entry is one record, or as many as ``counts`` says."""
        if not len(rows):
            return cls(rows, columns, np.empty(0, dtype=np.int64))
        least = int(rows.min()), int(columns.min())
        width = int(columns.max()) - least[1] + 1
        pairs = (rows.astype(np.int64) - least[0]) * width + (columns - least[1])
        number = (int(rows.max()) - least[0] + 1) * width
        if number <= max(4 * len(pairs), SMALL):
            table = np.bincount(pairs, weights=counts, minlength=number)
            found = np.flatnonzero(table)
            summed = table[found].astype(np.int64)
        elif counts is None:
            found, summed = np.unique(pairs, return_counts=True)
        else:
            found, (summed,) = distinct_sums(pairs, counts)
        row, column = np.divmod(found, width)
        return cls(row + least[0], column + least[1], summed.astype(np.int64, copy=False))

    def merge(self, other: Self) -> Self:
        """Add the counts of equal combinations."""
        joined: list[Any] = [
            np.concatenate([one, two])
            for one, two in zip(
                (self.rows, self.columns, self.counts), (other.rows, other.columns, other.counts), strict=True
            )
        ]
        return self.of(joined[0], joined[1], joined[2])

    def dense(self, rows: int, columns: int) -> Integers:
        """Return the table as an array; negative codes, of missing values, are left out."""
        table = np.zeros((rows, columns), dtype=np.int64)
        known = (self.rows >= 0) & (self.columns >= 0)
        table[self.rows[known], self.columns[known]] = self.counts[known]
        return table
