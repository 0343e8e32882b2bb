"""How often each value of one variable goes with each of another: a table of the combinations that occur."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import classes, first_records
from sfumato.pair.statistics.statistic import Statistic

Integers = NDArray[np.int64]
Codes = NDArray[np.integer]


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
    def of(cls, rows: Codes, columns: Codes) -> Self:
        """Count the combinations of two columns of codes."""
        return cls._summed(rows, columns, None)

    @classmethod
    def _summed(cls, rows: Codes, columns: Codes, counts: Integers | None) -> Self:
        class_of, sizes = classes(np.column_stack([rows, columns]))
        first = first_records(class_of)
        if counts is not None:
            sizes = np.zeros(len(first), dtype=np.int64)
            np.add.at(sizes, class_of, counts)
        order = np.lexsort((columns[first], rows[first]))
        return cls(rows[first][order], columns[first][order], sizes[order])

    def merge(self, other: Self) -> Self:
        """Add the counts of equal combinations."""
        joined: list[Any] = [
            np.concatenate([one, two])
            for one, two in zip(
                (self.rows, self.columns, self.counts), (other.rows, other.columns, other.counts), strict=True
            )
        ]
        return self._summed(joined[0], joined[1], joined[2])

    def dense(self, rows: int, columns: int) -> Integers:
        """Return the table as an array; negative codes, of missing values, are left out."""
        table = np.zeros((rows, columns), dtype=np.int64)
        known = (self.rows >= 0) & (self.columns >= 0)
        table[self.rows[known], self.columns[known]] = self.counts[known]
        return table
