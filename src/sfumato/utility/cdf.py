"""How far the joint distribution functions of two tables lie apart, at the largest and on average."""

from dataclasses import dataclass, replace
from math import fsum, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.catalogue import catalogued
from sfumato.core import Measure, Measurement
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Category
from sfumato.errors import NotApplicable
from sfumato.kernels import available_threads
from sfumato.kernels.dominance import dense_ranks, distinct_rows, dominance_sums

Floats = NDArray[np.float64]
Ranks = NDArray[np.int32]
Places = NDArray[np.intp]

SOURCE = (
    "Woo, Reiter, Oganian and Karr, New Measures of Data Utility, section 2.1; weighted: Kim, Measures of Data Utility "
    "for Complex Survey Data"
)
MISSING = (
    "a missing value has a place of its own below all others, the same in both tables, so that values missing in one "
    "table only count as a difference"
)
MANY = (
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
            self._known_as(random=True)

    def _known_as(self, **changes: Any) -> None:
        """Say of this instance what its parameters make different from its class."""
        object.__setattr__(self, "about", replace(self.about, **changes))

    def _differences(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> "Differences":
        names, notes = self._comparable(original, protected)
        pooled = Pooled.of(self, original, protected, names)
        return Differences.of(pooled, self.points, rng, (*notes, *pooled.notes))

    def _comparable(self, original: Microdata, protected: Microdata) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names, notes = self._shared(original, protected)
        odd = [name for name in names if original.schema[name].kind != protected.schema[name].kind]
        if odd and (self.variables is not None or len(odd) == len(names)):
            kinds = f"{original.schema[odd[0]].kind} in the original and {protected.schema[odd[0]].kind}"
            raise NotApplicable(f"{type(self).__name__}: {odd[0]!r} is {kinds} in the protected table")
        if odd:
            notes = (*notes, f"left out, numeric in one table and ordinal in the other: {', '.join(odd)}")
        return tuple(name for name in names if name not in odd), notes


@catalogued(
    MeasureAbout(
        title="Largest CDF difference (MD, DU_max, DUW_max)",
        source=SOURCE,
        purpose="utility",
        better="lower",
        range=(0.0, 1.0),
        kinds=("numeric", "ordinal"),
        weights=True,
        missing=MISSING,
        paired=False,
        caveat=MANY,
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

    >>> import pyarrow as pa
    >>> x, y = pa.table({"a": [1.0, 2.0, 3.0, 4.0]}), pa.table({"a": [3.0, 4.0]})
    >>> CDFMaximum().evaluate(x, y).value  # at 2: two of four, and none
    0.5
    """

    points: int | None = None

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        found = self._differences(original, protected, rng)
        parts, notes = found.parts(), found.notes
        if found.sampled:
            # were the share s of the records larger, a sample of q without any had a chance of (1 - s)^q at the most
            share = 1 - 0.05 ** (1 / found.size)
            parts["share that may exceed it"] = share
            notes = (
                *notes,
                f"a lower bound, from {found.size:,} of {found.pooled.size:,} records: at most {share:.2%} of the "
                "records exceed it (95 % confidence)",
            )
        by_variable = {name: float(np.abs(gaps).max()) for name, gaps, _ in found.pooled.one_by_one()}
        return self.measurement(found.largest, parts=parts, by_variable=by_variable, notes=notes)


@catalogued(
    MeasureAbout(
        title="Mean squared CDF difference (DU_sq, DUW_sq)",
        source=SOURCE,
        purpose="utility",
        better="lower",
        range=(0.0, 1.0),
        kinds=("numeric", "ordinal"),
        weights=True,
        missing=MISSING,
        paired=False,
        caveat=MANY,
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
    note hold its standard error. Without ``points`` the value is exact.

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
            self._known_as(title="Sum of squared CDF differences (MCM)", range=(0.0, np.inf))

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        found = self._differences(original, protected, rng)
        parts, notes = found.parts(), found.notes
        times = found.pooled.size if self.total else 1
        if found.sampled:
            error = times * found.standard_error
            parts["standard error"] = error
            notes = (
                *notes,
                f"estimated from {found.size:,} of {found.pooled.size:,} records: standard error {error:.2g}",
            )
        by_variable = {
            name: times * float(copies @ gaps**2 / copies.sum()) for name, gaps, copies in found.pooled.one_by_one()
        }
        return self.measurement(times * found.mean_square, parts=parts, by_variable=by_variable, notes=notes)


@dataclass(frozen=True)
class Pooled:
    """The records of both tables as ranks that compare across them, and the signed weight of each.

    A record of the original weighs w / W, one of the protected table -w / W, with W the sum of its table's weights:
    what a set of records weighs is then the difference of the two tables' shares in it. The weights are kept times
    both sums, which makes them whole numbers where the tables have none of their own: sums of them are exact.
    """

    tables: tuple[Microdata, Microdata]
    names: tuple[str, ...]
    records: tuple[Places, Places]  # those with a weight, by table
    ranks: Ranks
    signed: Floats
    scale: float
    notes: tuple[str, ...]

    @classmethod
    def of(cls, measure: Measure, original: Microdata, protected: Microdata, names: tuple[str, ...]) -> "Pooled":
        """Pool the records of positive weight."""
        tables = original, protected
        weights = [table.weights() for table in tables]
        before, after = (np.flatnonzero(w > 0) for w in weights)
        ranks = np.empty((len(before) + len(after), len(names)), dtype=np.int32, order="F")
        gaps = [0, 0]
        for j, name in enumerate(names):
            columns = _comparable_columns(measure, original, protected, name)
            kept = columns[0][before], columns[1][after]
            ranks[:, j] = dense_ranks(np.concatenate(kept))
            gaps = [gap + int((column == _BELOW_ALL).sum()) for gap, column in zip(gaps, kept, strict=True)]
        # by powers of two, which round nothing, the largest weight comes near 1, so that no product overflows
        scaled = [w[w > 0] / 2.0 ** np.frexp(w.max())[1] for w in weights]
        sums = [fsum(w) for w in scaled]
        signed = np.concatenate([scaled[0] * sums[1], -scaled[1] * sums[0]])
        notes = []
        nobody = len(original) + len(protected) - len(signed)
        if nobody:
            notes.append(f"{nobody:,} record{'s' if nobody > 1 else ''} of weight zero left out")
        if (original.schema.weight is None) != (protected.schema.weight is None):
            bare = "original" if original.schema.weight is None else "protected"
            notes.append(f"the {bare} table has no weight: its records count alike, those of the other by weight")
        if any(gaps):
            notes.append(f"missing values, taken as below all others: {gaps[0]:,} before, {gaps[1]:,} after")
        return cls(tables, names, (before, after), ranks, signed, sums[0] * sums[1], tuple(notes))

    @property
    def size(self) -> int:
        """The number of pooled records."""
        return len(self.signed)

    def one_by_one(self) -> list[tuple[str, Floats, NDArray[np.intp]]]:
        """Return, for each variable alone, the differences at its values and how many records have each value."""
        found = []
        for name, ranks in zip(self.names, self.ranks.T, strict=True):
            gaps = np.cumsum(np.bincount(ranks, weights=self.signed)) / self.scale
            found.append((name, gaps, np.bincount(ranks)))
        return found

    def shares_at(self, record: int) -> tuple[float, float]:
        """Return the share of each table at or below a pooled record."""
        below = (self.ranks <= self.ranks[record]).all(axis=1)
        cut = len(self.records[0])
        shares = self.signed[:cut] @ below[:cut], self.signed[cut:] @ below[cut:]
        return float(shares[0] / self.scale), abs(float(shares[1] / self.scale))

    def spelled(self, record: int) -> str:
        """Write out the values of a pooled record."""
        before, after = self.records
        table, row = (0, before[record]) if record < len(before) else (1, after[record - len(before)])
        values = []
        for name in self.names:
            value, variable = self.tables[table].columns[name][row], self.tables[table].schema[name]
            if variable.kind == "numeric":
                values.append(f"{name} {'missing' if np.isnan(value) else format(value, '.6g')}")
            else:
                values.append(f"{name} {'missing' if value < 0 else variable.categories[value]}")
        return ", ".join(values)


@dataclass(frozen=True)
class Differences:
    """The difference of the two joint distribution functions at the pooled records, or at a sample of them."""

    pooled: Pooled
    size: int  # records looked at
    mean_square: float
    variance: float  # of the squares
    largest: float
    where: int  # the pooled record with the largest difference
    notes: tuple[str, ...]

    @classmethod
    def of(cls, pooled: Pooled, points: int | None, rng: np.random.Generator, notes: tuple[str, ...]) -> "Differences":
        """Sum the signed weights at or below each record; equal records are summed once."""
        rows, place = distinct_rows(pooled.ranks[:, np.argsort(-pooled.ranks.max(axis=0), kind="stable")])
        if points is None or points >= pooled.size:
            copies = np.bincount(place)
        else:
            copies = np.bincount(place[rng.choice(pooled.size, points, replace=False)], minlength=len(rows))
        weights = np.asarray(np.bincount(place, weights=pooled.signed), dtype=np.float64)
        gaps = dominance_sums(rows, weights, copies > 0, threads=available_threads()) / pooled.scale
        squares, size = gaps**2, int(copies.sum())
        mean = float(copies @ squares) / size
        variance = float(copies @ (squares - mean) ** 2) / max(size - 1, 1)
        widest = int(np.argmax(np.abs(gaps)))
        largest = min(float(abs(gaps[widest])), 1.0)  # weights that are no whole numbers may round beyond
        where = int(np.argmax(place == widest))
        if largest > 0:
            share = [f"{share:.4g}" for share in pooled.shares_at(where)]
            scope = "of the records looked at, " if size < pooled.size else ""
            notes = (
                *notes,
                f"{scope}the difference is largest at {pooled.spelled(where)}: at or below it lies "
                f"{share[0]} of the original and {share[1]} of the protected table",
            )
        return cls(pooled, size, mean, variance, largest, where, notes)

    @property
    def sampled(self) -> bool:
        """Whether some records were not looked at."""
        return self.size < self.pooled.size

    @property
    def standard_error(self) -> float:
        """The standard error of the mean square of a sample drawn without replacement."""
        return sqrt(self.variance / self.size * (1 - self.size / self.pooled.size))

    def parts(self) -> dict[str, float]:
        """Both figures, and the two shares at the point where they differ most."""
        before, after = self.pooled.shares_at(self.where)
        return {
            "largest difference": self.largest,
            "mean of squares": self.mean_square,
            "original at or below the point": before,
            "protected at or below the point": after,
        }


_BELOW_ALL = -np.inf


def _comparable_columns(
    measure: Measure, original: Microdata, protected: Microdata, name: str
) -> tuple[Floats, Floats]:
    """Return a variable of both tables as numbers in one order; missing values lie below all others."""
    before, after = original.columns[name], protected.columns[name]
    if original.schema[name].kind == "numeric":
        return np.where(np.isnan(before), _BELOW_ALL, before), np.where(np.isnan(after), _BELOW_ALL, after)
    lists = original.schema[name].categories, protected.schema[name].categories
    used = [
        {listed[code] for code in np.unique(column[column >= 0])}
        for listed, column in zip(lists, (before, after), strict=True)
    ]
    order = {category: place for place, category in enumerate(one_order(measure, name, lists, (used[0], used[1])))}
    placed = []
    for listed, column in zip(lists, (before, after), strict=True):
        places = np.array([*(order.get(category, np.nan) for category in listed), _BELOW_ALL])
        placed.append(places[column])  # the code of a missing value, -1, finds the last one
    return placed[0], placed[1]


def one_order(
    measure: Measure,
    name: str,
    lists: tuple[tuple[Category, ...], tuple[Category, ...]],
    used: tuple[set[Category], set[Category]],
) -> list[Category]:
    """Merge the ordered categories of both tables into one order; refuse where the two leave it open."""
    # a category that only one table lists and no record has needs no place
    first = [c for c in lists[0] if c in lists[1] or c in used[0]]
    second = [c for c in lists[1] if c in lists[0] or c in used[1]]
    common = [c for c in first if c in second]
    if common != [c for c in second if c in first]:
        raise NotApplicable(
            f"{type(measure).__name__}: the two tables list the categories of {name!r} in different orders: "
            f"{', '.join(map(repr, lists[0]))} and {', '.join(map(repr, lists[1]))}"
        )
    merged: list[Category] = []
    for stop in (*common, None):  # what either table has up to the next category in common
        ahead = [listed[: listed.index(stop)] if stop is not None else listed for listed in (first, second)]
        if ahead[0] and ahead[1]:
            raise NotApplicable(
                f"{type(measure).__name__}: the order of {name!r} is unknown: only the original has "
                f"{', '.join(map(repr, ahead[0]))}, only the protected table {', '.join(map(repr, ahead[1]))}; "
                "list all categories from lowest to highest in the schemas of both"
            )
        merged += ahead[0] + ahead[1] + ([stop] if stop is not None else [])
        first, second = first[len(ahead[0]) + 1 :], second[len(ahead[1]) + 1 :]
    return merged
