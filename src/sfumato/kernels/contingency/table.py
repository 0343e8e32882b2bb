"""A contingency table of two coded columns by its cells that are not empty: chi-squared and residuals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.spread import ROUNDING

Floats = NDArray[np.float64]
Codes = NDArray[np.uint32]
Indices = NDArray[np.intp]

CELLS_PER_RECORD = 8  # a table with more cells than this is sorted instead of counted
FEW_CELLS = 4_096  # and one with fewer than this never is
DENSE = 1_000_000  # cells of two tables compared at a time


@dataclass(frozen=True, eq=False)
class Table:
    """Two columns counted against each other: categories and weight of each cell that is not empty.

    ``records`` is the number of records counted, ``effective`` Kish's effective number: (sum w)^2 / sum w^2.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    observed: Floats
    shape: tuple[int, int]
    records: int
    effective: float

    def margins(self) -> tuple[Floats, Floats]:
        """Return the totals of the rows and of the columns."""
        rows = np.bincount(self.rows, self.observed, minlength=self.shape[0])
        columns = np.bincount(self.columns, self.observed, minlength=self.shape[1])
        return rows.astype(np.float64, copy=False), columns.astype(np.float64, copy=False)

    def chi_squared(self) -> tuple[float, int, int]:
        """Return Pearson's chi-squared of independence and how many rows and columns are not empty.

        With weights, the table is scaled to the effective number of records.
        """
        if self.records == 0:
            return 0.0, 0, 0
        row, column = self.margins()
        total = float(self.observed.sum())
        expected = row[self.rows] * (column[self.columns] / total)
        found = float(((self.observed - expected) ** 2 / expected).sum())
        present = int((row > 0).sum()), int((column > 0).sum())
        if len(self.observed) < present[0] * present[1]:  # an empty cell adds what was expected in it
            found += max(total - float(expected.sum()), 0.0)
        return found * (self.effective / total), *present

    def residuals(self, start: int, end: int) -> Floats:
        """Return the standardised residuals, (O - E) / sqrt(E) per square root of a record, of some of the rows."""
        if self.records == 0:
            return np.zeros((end - start, self.shape[1]))
        total = self.observed.sum()
        row, column = (np.sqrt(margin / total) for margin in self.margins())
        found: Floats = -np.outer(row[start:end], column)
        here = (self.rows >= start) & (self.rows < end)
        rows, columns = self.rows[here], self.columns[here]
        found[rows - start, columns] += self.observed[here] / total / (row[rows] * column[columns])
        found[np.abs(found) <= ROUNDING] = 0.0
        return found


def residual_change(original: Table, protected: Table) -> tuple[float, float]:
    """Sum |SR_o - SR_p| and |SR_o| over all cells of two tables of the same shape."""
    rows, columns = original.shape
    step = max(1, DENSE // max(columns, 1))
    change = strength = 0.0
    for start in range(0, rows, step):
        before = original.residuals(start, min(start + step, rows))
        after = protected.residuals(start, min(start + step, rows))
        change += float(np.abs(before - after).sum())
        strength += float(np.abs(before).sum())
    return change, strength


def table_of(
    rows: Indices, columns: Indices, observed: Floats, shape: tuple[int, int], records: int, squares: float
) -> Table:
    """Make a table of the cells that are not empty; ``squares`` is the sum of the squared weights."""
    effective = float(observed.sum()) ** 2 / squares if records else 0.0
    return Table(rows, columns, observed, shape, records, effective)


def most_counted(records: int) -> int:
    """How many cells a table of so many records may have to be counted cell by cell."""
    return max(CELLS_PER_RECORD * records, FEW_CELLS)
