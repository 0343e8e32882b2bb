"""Contingency tables of many pairs of coded columns, by their cells that are not empty; chi-squared and residuals."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import Progress, in_chunks, worth_compiling
from sfumato.kernels.spread import ROUNDING

Floats = NDArray[np.float64]
Codes = NDArray[np.uint32]
Indices = NDArray[np.intp]

AT_ONCE = 64  # pairs that a thread takes at a time
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


def each_table(
    codes: Codes,
    counts: Indices,
    first: Indices,
    second: Indices,
    weights: Floats | None,
    take: Callable[[int, Table], None],
    progress: Progress | None = None,
) -> None:
    """Call ``take`` with the number and the table of each pair, from several threads in any order.

    ``codes`` holds one column in each row, where ``counts[j]`` stands for a missing value of column j; a record counts
    where both are present. Weights are positive.
    """
    dense = (counts[first] + 1) * (counts[second] + 1) <= most_counted(codes.shape[1])

    def tabulate(k: int) -> None:
        i, j = first[k], second[k]
        take(k, tabulated(codes[i], codes[j], (int(counts[i]), int(counts[j])), weights))

    if not worth_compiling(codes.shape[1]):
        for k in range(len(first)):
            tabulate(k)
        if progress is not None:
            progress(len(first))
        return
    from sfumato.kernels.contingency.compiled import count

    weighing = np.ones(0) if weights is None else weights

    def work(part: slice) -> None:
        for k in range(part.start, part.stop):
            if not dense[k]:
                tabulate(k)
                continue
            i, j = first[k], second[k]
            shape = int(counts[i]), int(counts[j])
            table = np.zeros((shape[0] + 1, shape[1] + 1))
            records, squares = count(codes[i], codes[j], weighing, table)
            observed = table[:-1, :-1]
            rows, columns = np.nonzero(observed)
            take(k, table_of(rows, columns, observed[rows, columns], shape, records, squares))

    in_chunks(work, len(first), AT_ONCE, progress=progress)


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


def tabulated(first: Codes, second: Codes, shape: tuple[int, int], weights: Floats | None = None) -> Table:
    """Count one pair in numpy, as the compiled kernel does it; a large table costs no more than sorting the records."""
    both = (first < shape[0]) & (second < shape[1])
    place = first[both].astype(np.int64) * shape[1] + second[both]
    w = None if weights is None else weights[both]
    squares = len(place) if w is None else float(w @ w)
    if shape[0] * shape[1] <= most_counted(len(first)):
        whole = np.bincount(place, w, minlength=shape[0] * shape[1])
        cells = np.flatnonzero(whole)
        observed = whole[cells]
    else:
        cells, which = np.unique(place, return_inverse=True)
        observed = np.bincount(which, w, minlength=len(cells))
    rows, columns = np.divmod(cells, max(shape[1], 1))
    return table_of(rows, columns, observed.astype(np.float64), shape, len(place), squares)
