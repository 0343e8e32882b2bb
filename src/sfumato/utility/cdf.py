"""How far the joint distribution functions of two tables lie apart, at the largest and on average."""

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.data.schema import a_kind
from sfumato.errors import NotApplicable
from sfumato.measurement import SAMPLING_ERROR, Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.utility.joint_distribution import Differences, Pooled
from sfumato.utility.joint_sample import SampledDifferences
from sfumato.utility.one_distribution import SortedDifferences

SOURCE = (
    "Karr, Oganian, Reiter and Woo, New Measures of Data Utility, section 2.1; weighted: Kyu-Seong Kim, Measures of "
    "Data Utility for Complex Survey Data, section 2"
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
            self.known_as(random=True)
        if self.points is None and self.variables is not None and len(self.variables) == 1:
            self.known_as(parts="summaries")  # from the values of the one variable, without a sample

    def differences(self, pair: Pair, rng: np.random.Generator) -> Differences | SampledDifferences | SortedDifferences:
        """Compare the joint distribution functions at the pooled records, or at a sample of them."""
        names, notes = self._comparable(pair)
        if pair.in_parts and (len(names) > 1 or self.points is not None):
            return SampledDifferences.of(pair, names, self.points, rng, notes)
        pooled = Pooled.of(pair, names)
        if pooled is None:
            return SortedDifferences.of(pair, names[0], notes)
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
        if isinstance(found, Differences | SampledDifferences) and found.sampled:
            # were the share s of the records larger, a sample of q without any had a chance of (1 - s)^q at the most
            share = 1 - 0.05 ** (1 / found.size)
            parts["share that may exceed it"] = share
            notes = (
                *notes,
                f"a lower bound, from {found.size:,} of {found.records:,} records: at most {share:.2%} of the "
                "records exceed it (95 % confidence)",
            )
        return self.measurement(found.largest, parts=parts, by_variable=found.largest_by_variable(), notes=notes)


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
        if isinstance(found, Differences | SampledDifferences) and found.sampled:
            error = times * found.standard_error
            parts[SAMPLING_ERROR] = error
            notes = (
                *notes,
                f"estimated from {found.size:,} of {found.records:,} records: standard error {error:.2g}",
            )
        by_variable = {name: times * square for name, square in found.mean_square_by_variable().items()}
        return self.measurement(times * found.mean_square, parts=parts, by_variable=by_variable, notes=notes)
