"""The distribution functions of one variable of two tables whose different values do not fit into memory.

The values of both tables are sorted together on disk, each with what its record weighs: above zero in the original,
below in the protected table. One look at them in ascending order tells both functions at every value, exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.pair import Pair
from sfumato.pair.sorting import Runs, ties
from sfumato.utility.joint_distribution import (
    BELOW_ALL,
    Ordered,
    both_figures,
    positive,
    said_of,
    said_where,
    total_weights,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SortedDifferences:
    """The difference of two distribution functions at the values of both tables, as ``Differences`` of one variable."""

    name: str
    records: int  # of both tables
    mean_square: float
    largest: float
    shares: tuple[float, float]  # of each table at or below the point where they differ most
    notes: tuple[str, ...]
    sampled = False

    @classmethod
    def of(cls, pair: Pair, name: str, notes: tuple[str, ...]) -> "SortedDifferences":
        """Sort both tables, and look at all values in ascending order."""
        column, totals = Ordered.of(pair, name), total_weights(pair)
        halves = pair.original, pair.protected
        runs = Runs(pair.original.room, f"variable {name!r} in order", sum(map(len, halves)), np.float64)
        gaps = [0, 0]
        for side, (half, number, total) in enumerate(zip(halves, column.number, totals, strict=True)):
            for part in half.parts:
                values, weights = positive(name, number, total.unit, part)
                gaps[side] += int(np.count_nonzero(values == BELOW_ALL))
                runs.add(values, -weights if side else weights)
        before, after = (total.sum for total in totals)
        found = _Found()
        for values, copies, ours, theirs in functions(runs):
            found.add(values, copies, (ours * after - theirs * before) / (before * after), ours, theirs)
        shares = found.ours / before, found.theirs / after
        notes = (*notes, *said_of(pair, totals, gaps))
        if found.largest > 0:
            notes = (*notes, said_where(column.spelled(found.where), shares))
        records = len(runs)
        runs.close()
        return cls(name, records, fsum(found.squares) / records, min(found.largest, 1.0), shares, notes)

    def largest_by_variable(self) -> dict[str, float]:
        """Return the largest difference of the variable."""
        return {self.name: self.largest}

    def mean_square_by_variable(self) -> dict[str, float]:
        """Return the mean squared difference of the variable."""
        return {self.name: self.mean_square}

    def parts(self) -> dict[str, float]:
        """Both figures, and the two shares at the point where they differ most."""
        return both_figures(self.largest, self.mean_square, self.shares)


def functions(runs: Runs) -> Iterator[tuple[Floats, NDArray[np.int64], Floats, Floats]]:
    """Yield the different values, the records that have each, and what lies at or below each in either table."""
    sums = np.zeros(2)
    for some in ties(runs.merged(), _by_table):
        upto = np.cumsum(np.vstack([sums, some.sums]), axis=0)
        sums = upto[-1]
        yield some.values, some.counts, upto[1:, 0], upto[1:, 1]


def _by_table(weights: NDArray[Any]) -> Floats:
    """Return what a record weighs in the original and in the protected table, one of which is zero."""
    return np.column_stack([np.maximum(weights, 0.0), np.maximum(-weights, 0.0)])


class _Found:
    """The largest difference so far, where it is, and the sums of squares."""

    def __init__(self) -> None:
        self.largest, self.where, self.ours, self.theirs = -1.0, BELOW_ALL, 0.0, 0.0
        self.squares: list[float] = []

    def add(self, values: Floats, copies: NDArray[np.int64], apart: Floats, ours: Floats, theirs: Floats) -> None:
        """Take the next values; of equal differences the first counts."""
        self.squares = [fsum([*self.squares, float(copies @ apart**2)])]
        at = int(np.argmax(np.abs(apart)))
        if abs(apart[at]) > self.largest:
            self.largest, self.where = float(abs(apart[at])), float(values[at])
            self.ours, self.theirs = float(ours[at]), float(theirs[at])
