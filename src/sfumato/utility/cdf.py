"""How far the joint distribution functions of two tables lie apart, at the largest and on average."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels import available_threads
from sfumato.kernels.dominance import dense_ranks, distinct_rows, dominance_sums
from sfumato.measurement import SAMPLING_ERROR, Measurement
from sfumato.pair import Half, Pair
from sfumato.pair.sample import SIZE, taken
from sfumato.pair.statistics import Sums
from sfumato.registry import catalogued
from sfumato.table.microdata import Microdata
from sfumato.table.schema import a_kind
from sfumato.utility.distribution_functions import (
    BELOW_ALL,
    Differences,
    Number,
    Ordered,
    Pooled,
    first_largest,
    said_of,
    sorted_differences,
    total_weights,
)

# The joint distribution functions of two tables in parts, at a sample of their records.
#
# The points are drawn from the records of both tables; what lies at or below each of them is added up over all parts of
# both, so that at these points the two functions are those of the whole tables.

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Ranks = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SumsBelow:
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


def _sampled_differences(
    pair: Pair, names: tuple[str, ...], points: int | None, rng: np.random.Generator, notes: tuple[str, ...]
) -> Differences:
    """Draw points from the records that weigh something, all if there are few, and look at all records at each.

    Each variable alone is compared at all records.
    """
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
    sums = [
        half.total(
            SumsBelow(
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
    where = first_largest(gaps)
    point = at[int(np.argmax(place == where))]
    alone = [_differences_of_one(pair, name, rng, ()) for name in names]
    return Differences.at_points(
        records,
        gaps,
        np.bincount(place),
        (float(below[0][where] / before), float(below[1][where] / after)),
        {name: value for one in alone for name, value in one.largest_of.items()},
        {name: value for one in alone for name, value in one.mean_square_of.items()},
        ", ".join(column.spelled(float(value)) for column, value in zip(columns, point, strict=True)),
        (*notes, *said_of(pair, totals, [int(side["gaps"]) for side in sums])),
    )


def _differences_of_one(pair: Pair, name: str, rng: np.random.Generator, notes: tuple[str, ...]) -> Differences:
    """Compare one variable alone, at all records; nothing is drawn."""
    pooled = Pooled.of(pair, (name,))
    if pooled is None:
        return sorted_differences(pair, name, notes)
    return Differences.of(pooled, None, rng, (*notes, *pooled.notes))


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


# The measures

SOURCE = (
    "Karr, Oganian, Reiter and Woo, New Measures of Data Utility, section 2.1; weighted: Kyu-Seong Kim, Measures of "
    "Data Utility for Complex Survey Data, section 2"
)
MISSING = (
    "a missing value has a place of its own below all others, the same in both tables, so that values missing in one "
    "table only count as a difference"
)
FALLS_WITH_VARIABLES = (
    "the more variables, the fewer records lie at or below a point in all of them, and the smaller the figure: compare "
    "figures of the same variables, and choose few"
)


class CDFDifference(Measure):
    """What both measures share: the difference of the two joint distribution functions at the pooled records."""

    points: int | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.points is not None:
            parameters.whole(self, "points", least=2)
            self.known_as(random=True)
        if self.points is None and self.variables is not None and len(self.variables) == 1:
            self.known_as(parts="summaries")  # from the values of the one variable, without a sample

    def differences(self, pair: Pair, rng: np.random.Generator) -> Differences:
        """Compare the joint distribution functions at the pooled records, or at a sample of them."""
        names, notes = self._comparable(pair)
        if pair.in_parts and (len(names) > 1 or self.points is not None):
            return _sampled_differences(pair, names, self.points, rng, notes)
        if pair.in_parts:
            return _differences_of_one(pair, names[0], rng, notes)
        pooled = Pooled.of(pair, names)
        assert pooled is not None
        return Differences.of(pooled, self.points, rng, (*notes, *pooled.notes))

    def _comparable(self, pair: Pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names, notes = self.shared(pair)
        before, after = pair.original.schema, pair.protected.schema
        odd = [name for name in names if before[name].kind != after[name].kind]
        if odd and (self.variables is not None or len(odd) == len(names)):
            kinds = f"{a_kind(before[odd[0]].kind)} in the original and {a_kind(after[odd[0]].kind)}"
            raise NotApplicable(f"{odd[0]!r} is {kinds} in the protected table")
        if odd:
            notes = (*notes, f"left out, of another kind in the protected table: {', '.join(odd)}")
        return tuple(name for name in names if name not in odd), notes


@catalogued(
    MeasureAbout(
        title="Largest CDF difference (MD, DU_max, DUW_max)",
        source=SOURCE,
        purpose="utility",
        better="lower",
        range=(0.0, 1.0),
        kinds=("numeric", "ordinal", "date"),
        weights=True,
        missing=MISSING,
        paired=False,
        parts="sample",
        caveat=FALLS_WITH_VARIABLES,
        formula="max over a of |S_X(a) - S_Y(a)|,   a = every record of both tables\n"
        "S_X(a) = sum of w_i over the records with x_i <= a in every variable, over the sum of all w_i",
        reading="0 is the same distribution; 0.1 means that some corner of the data holds 10 percentage points more "
        "of one table than of the other, and a note names that corner. Two samples of n records of one population are "
        "not at 0: for one variable they exceed 1.36 sqrt(2 / n) in one case of twenty, 0.06 at n = 1,000. It sees "
        "where the bulk of the data has moved and hardly sees tails, where both functions are near 0 or 1.",
    )
)
class CDFMaximum(CDFDifference):
    """Largest difference between the joint distribution functions of the two tables: MD of Woo, DU_max of Kim.

    The joint empirical distribution function of a table at a point is the share of its records that are at or below
    the point in every variable, each record counting its survey weight where the schema names one (DUW_max). The value
    is the largest absolute difference of the two functions at any record of either table: 0 for two tables with the
    same records, 1 where some point has all of one table at or below it and none of the other. A note names the point.
    For one variable it is the two-sample Kolmogorov-Smirnov statistic; ``by_variable`` holds that of each. The tables
    need not have the same number of records. Records of weight zero stand for nobody and are left out.

    ``points`` looks at that many of the pooled records only, drawn at random. The value is then a lower bound; a note
    says what share of the records may exceed it. Without ``points`` the value is exact.

    Of several variables of tables in parts 5,000 records are looked at if ``points`` names no other number; how much of
    each table lies at or below them is counted over all parts. One variable of tables in parts, also each of several in
    ``by_variable``, is compared at all records.

    >>> import pyarrow as pa
    >>> x, y = pa.table({"a": [1.0, 2.0, 3.0, 4.0]}), pa.table({"a": [3.0, 4.0]})
    >>> CDFMaximum().evaluate(x, y).value  # at 2: two of four, and none
    0.5
    """

    points: int | None = None

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        found = self.differences(pair, rng)
        parts, notes = found.parts(), found.notes
        if found.sampled:
            # were the share s of the records larger, a sample of q without any had a chance of (1 - s)^q at the most
            share = 1 - 0.05 ** (1 / found.size)
            parts["share that may exceed it"] = share
            notes = (
                *notes,
                f"a lower bound, from {found.size:,} of {found.records:,} records: at most {share:.2%} of the "
                "records exceed it (95 % confidence)",
            )
        return self.measurement(found.largest, parts=parts, by_variable=found.largest_of, notes=notes)


@catalogued(
    MeasureAbout(
        title="Mean squared CDF difference (DU_sq, DUW_sq)",
        source=SOURCE,
        purpose="utility",
        better="lower",
        range=(0.0, 1.0),
        kinds=("numeric", "ordinal", "date"),
        weights=True,
        missing=MISSING,
        paired=False,
        parts="sample",
        caveat=FALLS_WITH_VARIABLES,
        formula="sum over a of (S_X(a) - S_Y(a))^2 / (n + m),   a = the n + m records of both tables\n"
        "total=True: the sum itself;   S as in CDFMaximum",
        reading="A mean of squares, so small numbers: for one variable at most 1/3, and about 1 / (3 n) between two "
        "samples of n records of one population (a total of about 2/3, whatever n is). Use it to order candidates on "
        "the same variables and records, not as a figure with a meaning of its own; its square root is a typical "
        "difference between the two functions.",
    )
)
class CDFSquares(CDFDifference):
    """Mean squared difference between the joint distribution functions of the two tables: DU_sq of Kim.

    The functions are those of ``CDFMaximum``; their squared difference is averaged over the pooled records of both
    tables, each counting once (DUW_sq where the schema names a weight, which then makes up the two functions).
    ``total=True`` gives the sum in place of the mean, which is MCM of Woo: it grows with the number of records. For one
    variable without ties the sum reaches (n + m)(2nm + 1) / (6nm) at the most, where all of one table lies below all
    of the other. ``by_variable`` holds the same figure for each variable alone. Records of weight zero stand for
    nobody and are left out.

    ``points`` looks at that many of the pooled records only, drawn at random, and estimates the figure; parts and a
    note hold its standard error. Without ``points`` the value is exact. Of several variables of tables in parts 5,000
    records are looked at if ``points`` names no other number, as with ``CDFMaximum``.

    >>> import pyarrow as pa
    >>> x, y = pa.table({"a": [1.0, 2.0]}), pa.table({"a": [3.0, 4.0]})
    >>> CDFSquares(total=True).evaluate(x, y).value  # 1/4 + 1 + 1/4 + 0
    1.5
    """

    total: bool = False
    points: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "total", (True, False))
        if self.total:
            self.known_as(title="Sum of squared CDF differences (MCM)", range=(0.0, np.inf))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        found = self.differences(pair, rng)
        parts, notes = found.parts(), found.notes
        times = found.records if self.total else 1
        if found.sampled:
            error = times * found.standard_error
            parts[SAMPLING_ERROR] = error
            notes = (
                *notes,
                f"estimated from {found.size:,} of {found.records:,} records: standard error {error:.2g}",
            )
        by_variable = {name: times * square for name, square in found.mean_square_of.items()}
        return self.measurement(times * found.mean_square, parts=parts, by_variable=by_variable, notes=notes)
