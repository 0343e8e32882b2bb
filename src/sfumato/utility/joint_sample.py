"""The joint distribution functions of two tables in parts, at a sample of their records.

The points are drawn from the records of both tables; what lies at or below each of them is added up over all parts of
both, so that at these points the two functions are those of the whole tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.kernels import available_threads
from sfumato.kernels.dominance import dense_ranks, distinct_rows, dominance_sums
from sfumato.pair import Half, Pair
from sfumato.pair.sample import SIZE, taken
from sfumato.pair.statistics import Sums
from sfumato.utility.joint_distribution import (
    BELOW_ALL,
    Differences,
    Number,
    Ordered,
    Pooled,
    both_figures,
    first_largest,
    said_of,
    said_where,
    total_weights,
)
from sfumato.utility.one_distribution import SortedDifferences

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Ranks = NDArray[np.int32]
OfOne = Differences | SortedDifferences


@dataclass(frozen=True, eq=False)
class Below:
    """Adds up what the records of a part weigh that lie at or below each of some points; it goes to other processes."""

    names: tuple[str, ...]
    number: tuple[Number, ...]
    unit: float  # of weights
    values: tuple[Floats, ...]  # by variable: the different values of the points, in ascending order
    points: Ranks  # the places of the points' values

    def __call__(self, part: Microdata) -> Sums:
        """Return the sums, and how many values are missing."""
        weights = part.weights()
        counted = weights > 0
        columns = [number(part.columns[name][counted]) for name, number in zip(self.names, self.number, strict=True)]
        gaps = sum(int(np.count_nonzero(column == BELOW_ALL)) for column in columns)
        # a record has the place of the least value of a point that it does not exceed; beyond the last it is below none
        places = np.column_stack(
            [np.searchsorted(values, column) for values, column in zip(self.values, columns, strict=True)]
        ).astype(np.int32)
        inside = (places < [len(values) for values in self.values]).all(axis=1)
        rows, place = distinct_rows(np.concatenate([self.points, places[inside]]))
        number_of_points = len(self.points)
        held = np.bincount(place[number_of_points:], (weights[counted] / self.unit)[inside], minlength=len(rows))
        asked = np.zeros(len(rows), dtype=bool)
        asked[place[:number_of_points]] = True
        found = dominance_sums(rows, held.astype(np.float64), asked, threads=available_threads())
        return Sums({"below": found[place[:number_of_points]], "gaps": gaps})


@dataclass(frozen=True)
class SampledDifferences:
    """The difference of the two joint distribution functions at a sample of the records of both tables."""

    records: int  # of both tables
    size: int  # records looked at
    mean_square: float
    variance: float  # of the squares
    largest: float
    shares: tuple[float, float]  # of each table at or below the point where they differ most
    alone: tuple[OfOne, ...]  # each variable alone, at all records
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        pair: Pair,
        names: tuple[str, ...],
        points: int | None,
        rng: np.random.Generator,
        notes: tuple[str, ...],
    ) -> "SampledDifferences":
        """Draw points from the records that weigh something, all if there are few, and look at all records at each."""
        columns, totals = tuple(Ordered.of(pair, name) for name in names), total_weights(pair)
        halves = pair.original, pair.protected
        counted = [len(half) - total.nobody for half, total in zip(halves, totals, strict=True)]
        records, size = sum(counted), SIZE if points is None else points
        drawn = np.arange(records) if size >= records else np.sort(rng.choice(records, size, replace=False))
        chosen = [drawn[drawn < counted[0]], drawn[drawn >= counted[0]] - counted[0]]
        read = [
            _values(half, [(column.name, column.number[side]) for column in columns], rows, some=bool(total.nobody))
            for side, (half, rows, total) in enumerate(zip(halves, chosen, totals, strict=True))
        ]
        at = np.concatenate(read)
        values = [np.unique(column) for column in at.T]
        # those of most values first, as in memory, so that of equal differences the same is named
        turn = np.argsort([-len(different) for different in values], kind="stable")
        ranks = np.column_stack([dense_ranks(at[:, j]) for j in turn])
        rows, place = distinct_rows(ranks)
        copies = np.bincount(place)
        sums = [
            half.total(
                Below(
                    tuple(names[j] for j in turn),
                    tuple(columns[j].number[side] for j in turn),
                    total.unit,
                    tuple(values[j] for j in turn),
                    rows,
                )
            )
            for side, (half, total) in enumerate(zip(halves, totals, strict=True))
        ]
        before, after = (total.sum for total in totals)
        below = sums[0]["below"], sums[1]["below"]
        gaps = (below[0] * after - below[1] * before) / (before * after)
        squares, size = gaps**2, len(drawn)
        mean = float(copies @ squares) / size
        variance = float(copies @ (squares - mean) ** 2) / max(size - 1, 1)
        where = first_largest(gaps)
        largest = min(float(abs(gaps[where])), 1.0)
        shares = float(below[0][where] / before), float(below[1][where] / after)
        notes = (*notes, *said_of(pair, totals, [int(side["gaps"]) for side in sums]))
        if largest > 0:
            scope = "of the records looked at, " if size < records else ""
            point = at[int(np.argmax(place == where))]
            spelled = ", ".join(column.spelled(float(value)) for column, value in zip(columns, point, strict=True))
            notes = (*notes, scope + said_where(spelled, shares))
        alone = tuple(_of_one(pair, name, rng) for name in names)
        return cls(records, size, mean, variance, largest, shares, alone, notes)

    @property
    def sampled(self) -> bool:
        """Whether some records were not looked at."""
        return self.size < self.records

    @property
    def standard_error(self) -> float:
        """The standard error of the mean square of a sample drawn without replacement."""
        return sqrt(self.variance / self.size * (1 - self.size / self.records))

    def largest_by_variable(self) -> dict[str, float]:
        """Return the largest difference of each variable alone, at all records."""
        return {name: value for one in self.alone for name, value in one.largest_by_variable().items()}

    def mean_square_by_variable(self) -> dict[str, float]:
        """Return the mean squared difference of each variable alone, at all records."""
        return {name: value for one in self.alone for name, value in one.mean_square_by_variable().items()}

    def parts(self) -> dict[str, float]:
        """Both figures, and the two shares at the point where they differ most."""
        return both_figures(self.largest, self.mean_square, self.shares)


def _of_one(pair: Pair, name: str, rng: np.random.Generator) -> OfOne:
    """Compare one variable alone, at all records; nothing is drawn."""
    pooled = Pooled.of(pair, (name,))
    return SortedDifferences.of(pair, name, ()) if pooled is None else Differences.of(pooled, None, rng, ())


def _values(half: Half, columns: Sequence[tuple[str, Number]], rows: Integers, *, some: bool) -> Floats:
    """Return some records as numbers; they are numbered among those that weigh something, which ``some`` do not."""
    if some:
        rows = _numbers_of_counted(half, rows)
    if not len(rows):
        return np.empty((0, len(columns)))
    found = taken(half, [name for name, _ in columns], rows)
    return np.column_stack([number(found[name]) for name, number in columns])


def _numbers_of_counted(half: Half, rows: Integers) -> Integers:
    """Return the numbers in the whole table of records that are numbered among those that weigh something."""
    found, start, passed = [rows[:0]], 0, 0
    for part in half.parts:
        counted = start + np.flatnonzero(part.weights() > 0)
        low, high = np.searchsorted(rows, (passed, passed + len(counted)))
        found.append(counted[rows[low:high] - passed])
        start, passed = start + len(part), passed + len(counted)
    return np.concatenate(found)
