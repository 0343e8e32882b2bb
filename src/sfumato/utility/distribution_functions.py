"""Distribution functions of two tables at the records of both, joint or of one variable, and how far they lie apart."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.kernels import available_threads
from sfumato.kernels.dominance import dense_ranks, distinct_rows, dominance_sums
from sfumato.pair import Half, Pair
from sfumato.pair.sorting import Runs, ties
from sfumato.pair.statistics import Sums, Values
from sfumato.table.dates import spelled
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Category

# The joint distribution functions of two tables at the records of both, and how far they lie apart

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Ranks = NDArray[np.int32]
Places = NDArray[np.intp]
Number = Callable[[NDArray[Any]], Floats]  # from a column of a table to numbers in the order of both

BELOW_ALL = -np.inf
ROUNDING = 1e-12  # differences of shares this close to each other, relatively, are the same


@dataclass(frozen=True, eq=False)
class Ordered:
    """One variable of both tables as numbers in one order: how to place a column of each, how to spell a number."""

    name: str
    number: tuple[Number, Number]
    categories: tuple[Category, ...] = ()  # of an ordinal variable, those of both tables in one order
    date: bool = False

    @classmethod
    def of(cls, pair: Pair, name: str) -> "Ordered":
        """Find the order; missing values lie below all others."""
        variables = pair.original.schema[name], pair.protected.schema[name]
        if variables[0].quantitative:
            return cls(name, (_numbers, _numbers), date=variables[0].kind == "date")
        lists = variables[0].categories, variables[1].categories
        used = [_used(half, name) for half in (pair.original, pair.protected)]
        order = one_order(name, lists, (used[0], used[1]))
        place = {category: float(number) for number, category in enumerate(order)}
        # the code of a missing value, -1, finds the last place
        tables = [np.array([*(place.get(category, np.nan) for category in listed), BELOW_ALL]) for listed in lists]
        return cls(name, (partial(np.take, tables[0]), partial(np.take, tables[1])), tuple(order))

    def spelled(self, number: float) -> str:
        """Write out a value."""
        if number == BELOW_ALL:
            return f"{self.name} missing"
        if self.date:
            return f"{self.name} {spelled(number)}"
        shown = str(self.categories[int(number)]) if self.categories else format(number, ".6g")
        return f"{self.name} {shown}"


def _numbers(column: Floats) -> Floats:
    return np.where(np.isnan(column), BELOW_ALL, column)


def _used(half: Half, name: str) -> set[Category]:
    """The categories that occur."""
    number = len(half.schema[name].categories)
    found = half.total(
        lambda part: Sums({"records": np.bincount(part.columns[name] + 1, minlength=number + 1)}), ("used", name)
    )["records"][1:]
    return {category for category, records in zip(half.schema[name].categories, found, strict=True) if records}


@dataclass(frozen=True, eq=False)
class Pooled:
    """The different records of both tables as ranks that compare across them, and what each weighs.

    ``weights`` are those of the original's and of the protected table's records at each row, times the sum of the other
    table's: their difference over ``scale`` is what the two tables' shares differ by, and whole numbers stay whole
    where the tables have no weights, so that sums of them are exact. ``copies`` counts the records of both tables at
    each row. ``place`` is the row of each record, the original's first; None where they are not in memory.
    """

    columns: tuple[Ordered, ...]
    turn: Places  # the variable of each column of ``rows``: those of most values first
    values: tuple[Floats, ...]  # by variable: the number behind each rank
    rows: Ranks
    copies: Integers
    weights: tuple[Floats, Floats]
    scale: float
    place: Places | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, pair: Pair, names: tuple[str, ...]) -> "Pooled | None":
        """Pool the records of positive weight; None: the different values of one variable do not fit into memory."""
        columns = tuple(Ordered.of(pair, name) for name in names)
        totals = total_weights(pair)
        if len(columns) == 1 and pair.in_parts:
            return cls._of_one(pair, columns[0], totals)
        tables = pair.tables()
        raw = [table.weights() for table in tables]
        kept = [np.flatnonzero(w > 0) for w in raw]
        ranks = np.empty((sum(map(len, kept)), len(columns)), dtype=np.int32, order="F")
        values, gaps = [], [0, 0]
        for j, column in enumerate(columns):
            sides = [
                number(table.columns[column.name][rows])
                for number, table, rows in zip(column.number, tables, kept, strict=True)
            ]
            pooled = np.concatenate(sides)
            ranks[:, j] = dense_ranks(pooled)
            behind = np.empty(int(ranks[:, j].max()) + 1)
            behind[ranks[:, j]] = pooled
            values.append(behind)
            gaps = [gap + int((side == BELOW_ALL).sum()) for gap, side in zip(gaps, sides, strict=True)]
        turn = np.argsort(-ranks.max(axis=0), kind="stable")
        rows, place = distinct_rows(ranks[:, turn])
        cut, number = len(kept[0]), len(rows)
        weighed = [
            np.bincount(where, own[own > 0] / total.unit, minlength=number).astype(np.float64)
            for where, own, total in zip((place[:cut], place[cut:]), raw, totals, strict=True)
        ]
        copies = np.bincount(place, minlength=number).astype(np.int64)
        weights, scale = _crossed(weighed, totals)
        return cls(columns, turn, tuple(values), rows, copies, weights, scale, place, said_of(pair, totals, gaps))

    @classmethod
    def _of_one(cls, pair: Pair, column: Ordered, totals: tuple["Weight", "Weight"]) -> "Pooled | None":
        """Pool one variable from the counts of its values, whatever the parts."""
        found: list[Values] = []
        for half, number, total in zip((pair.original, pair.protected), column.number, totals, strict=True):
            side = half.total_if_it_fits(partial(_positive_values, column.name, number, total.unit))
            if side is None:
                return None
            found.append(side)
        values = np.unique(np.concatenate([side.values for side in found]))
        at = [np.searchsorted(values, side.values) for side in found]
        copies, weighed, gaps = np.zeros(len(values), dtype=np.int64), [], []
        for places, side in zip(at, found, strict=True):
            assert side.weights is not None
            copies[places] += side.counts
            own = np.zeros(len(values))
            own[places] = side.weights
            weighed.append(own)
            gaps.append(int(side.counts[side.values == BELOW_ALL].sum()))
        rows = np.arange(len(values), dtype=np.int32)[:, None]
        turn, notes = np.zeros(1, dtype=np.intp), said_of(pair, totals, gaps)
        return cls((column,), turn, (values,), rows, copies, *_crossed(weighed, totals), None, notes)

    @property
    def size(self) -> int:
        """The number of pooled records."""
        return int(self.copies.sum())

    @property
    def signed(self) -> Floats:
        """What each row adds to the difference of the two functions, times ``scale``."""
        return self.weights[0] - self.weights[1]

    def one_by_one(self) -> list[tuple[str, Floats, Floats]]:
        """Return, for each variable alone, the differences at its values and how many records have each value."""
        found: dict[int, tuple[Floats, Floats]] = {}
        for variable, ranks in zip(self.turn, self.rows.T, strict=True):
            gaps = np.cumsum(np.bincount(ranks, weights=self.signed)) / self.scale
            found[int(variable)] = gaps, np.asarray(np.bincount(ranks, weights=self.copies), dtype=np.float64)
        return [(column.name, *found[j]) for j, column in enumerate(self.columns)]

    def shares_at(self, row: int) -> tuple[float, float]:
        """Return the share of each table at or below one of the rows."""
        below = (self.rows <= self.rows[row]).all(axis=1)
        before, after = (float(side @ below / self.scale) for side in self.weights)
        return before, after

    def spelled(self, row: int) -> str:
        """Write out the values of a row."""
        rank = {int(variable): int(r) for variable, r in zip(self.turn, self.rows[row], strict=True)}
        return ", ".join(column.spelled(float(self.values[j][rank[j]])) for j, column in enumerate(self.columns))


def _crossed(weighed: Sequence[Floats], totals: tuple["Weight", "Weight"]) -> tuple[tuple[Floats, Floats], float]:
    """Return the weights of both tables, each times the sum of the other's, and the product of the sums."""
    before, after = (total.sum for total in totals)
    return (weighed[0] * after, weighed[1] * before), before * after


def said_of(pair: Pair, totals: tuple["Weight", "Weight"], gaps: Sequence[int]) -> tuple[str, ...]:
    """Say what a reader must know of weights and missing values; ``gaps`` counts the latter in each table."""
    notes = []
    nobody = sum(total.nobody for total in totals)
    if nobody:
        notes.append(f"{nobody:,} record{'s' if nobody > 1 else ''} of weight zero left out")
    if (pair.original.schema.weight is None) != (pair.protected.schema.weight is None):
        bare = "original" if pair.original.schema.weight is None else "protected"
        notes.append(f"the {bare} table has no weight: its records count alike, those of the other by weight")
    if any(gaps):
        notes.append(f"missing values, taken as below all others: {gaps[0]:,} before, {gaps[1]:,} after")
    return tuple(notes)


@dataclass(frozen=True)
class Weight:
    """What the records of a table weigh together.

    The unit is a power of two, which rounds nothing. It brings the largest weight near 1, so that no product overflows.
    """

    unit: float
    sum: float
    nobody: int  # records of weight zero


def total_weights(pair: Pair) -> tuple[Weight, Weight]:
    """Return what the records of each table weigh together."""
    halves = pair.original, pair.protected
    before, after = (half.keep("weight of all", partial(_total_weight, half)) for half in halves)
    return before, after


def _total_weight(half: Half) -> Weight:
    if half.schema.weight is None:
        return Weight(2.0, len(half) / 2.0, 0)
    largest = max(float(part.weights().max()) for part in half.parts if len(part))
    unit = 2.0 ** float(np.frexp(largest)[1])
    weights = (part.weights() / unit for part in half.parts if len(part))
    total = fsum(w for part in weights for w in part[part > 0].tolist())
    return Weight(unit, total, sum(int((part.weights() == 0).sum()) for part in half.parts))


def _positive(name: str, number: Number, unit: float, part: Microdata) -> tuple[Floats, Floats]:
    """Return the values of the records that weigh something, missing ones below all others, and what they weigh."""
    weights = part.weights()
    counted = weights > 0
    return number(part.columns[name][counted]), weights[counted] / unit


def _positive_values(name: str, number: Number, unit: float, part: Microdata) -> Values:
    return Values.of(*_positive(name, number, unit, part))


@dataclass(frozen=True)
class Differences:
    """The difference of the two joint distribution functions at the records of both tables, or at a sample of them."""

    records: int  # of both tables
    size: int  # records looked at
    mean_square: float
    variance: float  # of the squares
    largest: float
    shares: tuple[float, float]  # of each table at or below the point where they differ most
    largest_of: dict[str, float]  # of each variable alone
    mean_square_of: dict[str, float]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, pooled: Pooled, points: int | None, rng: np.random.Generator, notes: tuple[str, ...]) -> "Differences":
        """Sum the signed weights at or below each record; equal records are summed once."""
        if points is None or points >= pooled.size or pooled.place is None:
            copies = pooled.copies
        else:
            drawn = rng.choice(pooled.size, points, replace=False)
            copies = np.bincount(pooled.place[drawn], minlength=len(pooled.rows))
        gaps = dominance_sums(pooled.rows, pooled.signed, copies > 0, threads=available_threads()) / pooled.scale
        where = first_largest(gaps)
        alone = pooled.one_by_one()
        return cls.at_points(
            pooled.size,
            gaps,
            copies,
            pooled.shares_at(where),
            {name: float(np.abs(own).max()) for name, own, _ in alone},
            {name: float(number @ own**2 / number.sum()) for name, own, number in alone},
            pooled.spelled(where),
            notes,
        )

    @classmethod
    def at_points(
        cls,
        records: int,
        gaps: Floats,
        copies: NDArray[np.integer[Any]],
        shares: tuple[float, float],
        largest_of: dict[str, float],
        mean_square_of: dict[str, float],
        point: str,
        notes: tuple[str, ...],
    ) -> "Differences":
        """Make the figures of the differences at so many copies of points, the largest at the one spelled out."""
        squares, size = gaps**2, int(copies.sum())
        mean = float(copies @ squares) / size
        variance = float(copies @ (squares - mean) ** 2) / max(size - 1, 1)
        largest = min(float(np.abs(gaps[first_largest(gaps)])), 1.0)  # weights that are not whole may round beyond
        if largest > 0:
            scope = "of the records looked at, " if size < records else ""
            notes = (*notes, scope + said_where(point, shares))
        return cls(records, size, mean, variance, largest, shares, largest_of, mean_square_of, notes)

    @property
    def sampled(self) -> bool:
        """Whether some records were not looked at."""
        return self.size < self.records

    @property
    def standard_error(self) -> float:
        """The standard error of the mean square of a sample drawn without replacement."""
        return sqrt(self.variance / self.size * (1 - self.size / self.records))

    def parts(self) -> dict[str, float]:
        """Both figures, and the two shares at the point where they differ most."""
        before, after = self.shares
        return {
            "largest difference": self.largest,
            "mean of squares": self.mean_square,
            "original at or below the point": before,
            "protected at or below the point": after,
        }


def first_largest(gaps: Floats) -> int:
    """Return the first place where a difference is the largest but for rounding, which depends on how sums are made.

    >>> first_largest(np.array([0.1, -0.3, 0.1 + 0.2, 0.3]))
    1
    """
    sizes = np.abs(gaps)
    return int(np.argmax(sizes >= sizes.max() * (1 - ROUNDING)))


def said_where(point: str, shares: tuple[float, float]) -> str:
    """Say where the difference is largest, and what share of each table lies at or below that point."""
    before, after = shares
    return (
        f"the difference is largest at {point}: at or below it lies "
        f"{before:.4g} of the original and {after:.4g} of the protected table"
    )


def one_order(
    name: str, lists: tuple[tuple[Category, ...], tuple[Category, ...]], used: tuple[set[Category], set[Category]]
) -> list[Category]:
    """Merge the ordered categories of both tables into one order; refuse where the two leave it open."""
    # a category that only one table lists and no record has needs no place
    first = [c for c in lists[0] if c in lists[1] or c in used[0]]
    second = [c for c in lists[1] if c in lists[0] or c in used[1]]
    common = [c for c in first if c in second]
    if common != [c for c in second if c in first]:
        raise NotApplicable(
            f"the two tables list the categories of {name!r} in different orders: "
            f"{', '.join(map(repr, lists[0]))} and {', '.join(map(repr, lists[1]))}"
        )
    merged: list[Category] = []
    for stop in (*common, None):  # what either table has up to the next category in common
        ahead = [listed[: listed.index(stop)] if stop is not None else listed for listed in (first, second)]
        if ahead[0] and ahead[1]:
            raise NotApplicable(
                f"the order of {name!r} is unknown: only the original has {', '.join(map(repr, ahead[0]))}, only the "
                f"protected table {', '.join(map(repr, ahead[1]))}; list all categories from lowest to highest in the "
                "schemas of both"
            )
        merged += ahead[0] + ahead[1] + ([stop] if stop is not None else [])
        first, second = first[len(ahead[0]) + 1 :], second[len(ahead[1]) + 1 :]
    return merged


# The distribution functions of one variable of two tables whose different values do not fit into memory.
#
# The values of both tables are sorted together on disk, each with what its record weighs: above zero in the original,
# below in the protected table. One look at them in ascending order tells both functions at every value, exactly.


def sorted_differences(pair: Pair, name: str, notes: tuple[str, ...]) -> Differences:
    """Sort both tables by one variable, and look at all values in ascending order."""
    column, totals = Ordered.of(pair, name), total_weights(pair)
    halves = pair.original, pair.protected
    runs = Runs(pair.original.room, f"variable {name!r} in order", sum(map(len, halves)), np.float64)
    gaps = [0, 0]
    for side, (half, number, total) in enumerate(zip(halves, column.number, totals, strict=True)):
        for part in half.parts:
            values, weights = _positive(name, number, total.unit, part)
            gaps[side] += int(np.count_nonzero(values == BELOW_ALL))
            runs.add(values, -weights if side else weights)
    before, after = (total.sum for total in totals)
    found = _LargestDifference()
    for values, copies, ours, theirs in functions(runs):
        found.add(values, copies, (ours * after - theirs * before) / (before * after), ours, theirs)
    shares = found.ours / before, found.theirs / after
    notes = (*notes, *said_of(pair, totals, gaps))
    if found.largest > 0:
        notes = (*notes, said_where(column.spelled(found.where), shares))
    records = len(runs)
    runs.close()
    mean, largest = fsum(found.squares) / records, min(found.largest, 1.0)
    return Differences(records, records, mean, 0.0, largest, shares, {name: largest}, {name: mean}, notes)


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


class _LargestDifference:
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
