"""What is left of each variable by itself: sections 3.2 and 3.3 of the paper."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.kolmogorov import one_sample_p, two_sample_p
from sfumato.kernels.stretches import code_counts, same_values, stretches
from sfumato.pair import Half, Pair
from sfumato.pair.files import Workspace
from sfumato.pair.sorting import Runs
from sfumato.pair.statistics import Values
from sfumato.table.microdata import Codes, Floats
from sfumato.utility.association.columns import MAX_RECORDS_IN_MEMORY, MEMORY
from sfumato.utility.distribution_functions import functions
from sfumato.utility.global_utility.coarsening import Alternative, kept, most_kept, present

# Whether one variable is distributed alike in two tables: Kolmogorov-Smirnov for numbers, chi-squared for categories.
#
# Both give a P value and a distance that does not grow with the number of records: the largest gap between the two
# distribution functions, or half the sum of the differences between the shares (total variation).
#
# Survey weights: distribution functions and shares are weighted. The K-S test then takes Kish's effective numbers of
# records, (sum w)^2 / sum w^2, in the asymptotic distribution; the chi-squared test has the first-order correction of
# Rao and Scott (1981), with the design effects of the shares by linearisation.

EXACT = 10_000  # records up to which P is exact
KOLMOGOROV = "Kolmogorov-Smirnov"
STEEPNESS = 14.0  # section 3.2: P = .05 then counts one half
MIN_EXPECTED = 5.0 * (1 - 1e-9)  # what is 5 but for rounding is not below it


@dataclass(frozen=True)
class Comparison:
    """What a test says of a variable in both tables."""

    test: str
    statistic: float
    p: float
    distance: float
    sparse: float = 0.0  # share of the expected counts below 5
    size: float = 0.0  # m n / (m + n) of the records of both tables, effective ones where they have weights
    freedom: int = 0  # degrees of freedom, of chi-squared

    @property
    def utility(self) -> float:
        """What is left of the variable: 1 - exp(-14 P) of section 3.2."""
        return worth(self.p)

    def utility_with(self, records: int) -> float:
        """Return what would be left if tables of so many records each differed as these do; no more than there are."""
        from scipy.special import chdtrc

        size = records / 2
        if self.size <= size or self.p == 1:
            return self.utility
        if self.test == KOLMOGOROV:
            return worth(max(self.p, _asymptotic(self.distance, size)))
        return worth(max(self.p, float(chdtrc(self.freedom, self.statistic * size / self.size))))


def worth(p: float) -> float:
    """Return what a variable is worth whose distributions a test tells apart with this P value: 1 - exp(-14 P).

    >>> round(worth(0.05), 3), round(worth(0.01), 3)
    (0.503, 0.131)
    """
    return float(-np.expm1(-STEEPNESS * p))


NO_DIFFERENCE = Comparison(KOLMOGOROV, 0.0, 1.0, 0.0)  # of numbers that are the same in both tables


def numbers_alike(before: Values, after: Values) -> Comparison:
    """Compare numbers by the two-sample Kolmogorov-Smirnov test.

    P is that of ``scipy.stats.ks_2samp``: exact up to 10,000 records, asymptotic beyond.
    """
    return _told(_gap(before, after), before.present, after.present)


def _told(gap: int, m: int, n: int) -> Comparison:
    """Say what the largest |m n (F - G)| tells."""
    distance = gap / (m * n)
    size = m * n / (m + n)
    p = _asymptotic(distance, size) if max(m, n) > EXACT else two_sample_p(gap, m, n)
    return Comparison(KOLMOGOROV, distance, p, distance, size=size)


def numbers_alike_aside(x: Floats, y: Floats, folder: Path) -> Comparison:
    """Compare numbers (none missing) as ``numbers_alike`` does; long columns are sorted in files of this folder."""
    m, n = len(x), len(y)
    if max(m, n) > MAX_RECORDS_IN_MEMORY:
        return _told(_gap_on_disk(x, y, folder), m, n)
    x, y = np.sort(x), np.sort(y)
    gap = 0
    for values in (x, y):
        for rows in stretches(len(values)):
            at = values[rows]
            apart = np.searchsorted(x, at, "right") * n - np.searchsorted(y, at, "right") * m
            gap = max(gap, int(np.abs(apart).max()))
    return _told(gap, m, n)


def _gap_on_disk(x: Floats, y: Floats, folder: Path) -> int:
    """Return the largest |m n (F - G)| of two columns that are sorted together on disk."""
    runs = Runs(Workspace(MEMORY, folder), "a variable of both tables", len(x) + len(y), np.float64)
    for values, side in ((x, 1.0), (y, -1.0)):
        for rows in stretches(len(values)):
            runs.add(values[rows], np.full(rows.stop - rows.start, side))
    gap = 0
    for _, _, ours, theirs in functions(runs):
        apart = ours.astype(np.int64) * len(y) - theirs.astype(np.int64) * len(x)
        gap = max(gap, int(np.abs(apart).max()))
    runs.close()
    return gap


def weighted_numbers_alike(x: Floats, y: Floats, of_x: Floats, of_y: Floats) -> Comparison:
    """Compare numbers (none missing) with weights: by Kish's effective number of records."""
    distance, effective = _weighted_gap(x, y, of_x, of_y)
    return Comparison(KOLMOGOROV, distance, _asymptotic(distance, effective), distance, size=effective)


def _gap(before: Values, after: Values) -> int:
    """Return the largest |m n (F - G)|, which is taken at a value of one table or the other."""
    m, n = before.present, after.present
    gaps = [
        np.abs(one.upto * others - np.append(0, two.upto)[np.searchsorted(two.values, one.values, "right")] * own).max()
        for one, two, own, others in ((before, after, m, n), (after, before, n, m))
    ]
    return int(max(gaps))


def _asymptotic(distance: float, size: float) -> float:
    """Return P of a gap by the one-sample distribution with n m / (n + m) records, as scipy does for large tables."""
    return one_sample_p(distance, max(1, round(size)))


def _weighted_gap(x: Floats, y: Floats, of_x: Floats, of_y: Floats) -> tuple[float, float]:
    """Return the largest gap between the weighted distribution functions, and the effective number of records."""
    values = np.concatenate([x, y])
    steps = np.concatenate([of_x / of_x.sum(), -of_y / of_y.sum()])
    order = np.argsort(values, kind="stable")
    gaps, last = np.cumsum(steps[order]), np.append(np.diff(values[order]) > 0, True)
    sizes = [w.sum() ** 2 / (w @ w) for w in (of_x, of_y)]
    gap = float(np.abs(gaps[last]).max())
    return (min(gap, 1.0) if gap > 1e-12 else 0.0), float(sizes[0] * sizes[1] / (sizes[0] + sizes[1]))


def categories_alike(x: Codes, y: Codes, number: int, weights: tuple[Floats, Floats] | None = None) -> Comparison:
    """Compare codes (none missing) by the chi-squared test of homogeneity; categories that occur nowhere do not count.

    Pearson's statistic without a correction for continuity.
    """
    from scipy.special import chdtrc

    counts = np.stack([code_counts(codes, number) for codes in (x, y)]).astype(np.float64)
    sizes = counts.sum(axis=1)
    shares, effects = counts / sizes[:, None], np.ones_like(counts)
    if weights is not None:
        found = [_weighted_shares(codes, number, w) for codes, w in zip((x, y), weights, strict=True)]
        shares, effects = np.stack([s for s, _ in found]), np.stack([e for _, e in found])
    used = shares.sum(axis=0) > 0
    shares, effects = shares[:, used], effects[:, used]
    part = sizes / sizes.sum()
    pooled = part @ shares
    free = int(used.sum()) - 1
    distance = float(np.abs(shares[0] - shares[1]).sum() / 2)
    sparse = float(np.mean(np.outer(sizes, pooled) < MIN_EXPECTED))
    if free < 1:
        return Comparison("chi-squared", 0.0, 1.0, distance, sparse)
    statistic = float((sizes[:, None] * (shares - pooled) ** 2 / pooled).sum())
    if weights is not None:
        # E X^2 = sum over tables and categories of (1 - n_i/n)(1 - p_j) d_ij; without weights that is r - 1
        statistic /= float(((1 - part)[:, None] * (1 - pooled) * effects).sum() / free)
    size = float(sizes[0] * sizes[1] / sizes.sum())
    return Comparison("chi-squared", statistic, float(chdtrc(free, statistic)), distance, sparse, size, free)


def _weighted_shares(codes: Codes, number: int, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted share of each category, and its design effect by linearisation."""
    total, squares = float(weights.sum()), np.bincount(codes, weights**2, minlength=number)
    shares = np.bincount(codes, weights, minlength=number) / total
    every = float(squares.sum())
    variance = (squares * (1 - shares) ** 2 + (every - squares) * shares**2) / total**2
    simple = shares * (1 - shares) / len(codes)
    kish = len(codes) * every / total**2
    safe = np.where(simple > 0, simple, 1.0)
    return shares, np.where(simple > 0, variance / safe, kish)


# What is left of the variable

Rows = NDArray[np.intp] | slice

SPARSE = 0.2  # Cochran's rule: at most a fifth of the expected counts below 5


@dataclass(frozen=True, eq=False)
class Weights:
    """The survey weights of both tables."""

    before: Floats
    after: Floats

    @cached_property
    def alike(self) -> bool:
        """Whether record by record they are the same."""
        return np.array_equal(self.before, self.after)

    @cached_property
    def orders(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The records of both tables from the lightest to the heaviest.

        Sums in this order do not depend on that of the records, which a small difference of two sums would show.
        """
        return np.argsort(self.before, kind="stable"), np.argsort(self.after, kind="stable")


@dataclass(frozen=True)
class VariableUtility:
    """One variable in both tables.

    ``utility`` is None where nothing is known of what is left, and what is left at most where only that is known.
    """

    name: str
    label: str
    kinds: tuple[str, str]
    missing: tuple[float, float]
    utility: float | None
    comparison: Comparison | None = None
    recoding: float | None = None  # what is left after values were put together; None where they were not
    found: str = ""  # where the recoding was found
    left: float | None = None  # the share of its values that are still there; None where deletion is not charged
    traced: bool = True  # whether it is known which value became which
    most: float = 1.0  # what the utility is at most
    notes: tuple[str, ...] = ()

    @property
    def removed(self) -> bool:
        """Whether the protected table lacks the variable."""
        return self.kinds[1] == "removed"

    @property
    def effect(self) -> float | None:
        """The effect-size view: one minus the distance between the distributions, times what recoding left."""
        if self.comparison is None:
            return self.utility
        return (1 - self.comparison.distance) * self._coarser * self._charge

    @property
    def unknown(self) -> bool:
        """Whether there was something to keep, and what is left of it is not known, or only at most."""
        return not self.traced

    @property
    def _coarser(self) -> float:
        return 1.0 if self.recoding is None else self.recoding

    @property
    def _charge(self) -> float:
        return 1.0 if self.left is None else self.left

    def utility_with(self, records: int) -> float | None:
        """Return the utility if no more than so many records had been tested."""
        if self.comparison is None:
            return self.utility
        return self.comparison.utility_with(records) * self._coarser * self._charge

    def row(self, pairs: float | None) -> Mapping[str, Any]:
        """Lay out one row of the table of variables."""
        test = self.comparison
        return {
            "variable": self.name,
            "label": self.label,
            "kind_before": self.kinds[0],
            "kind_after": self.kinds[1],
            "test": test.test if test else "",
            "statistic": test.statistic if test else None,
            "p": test.p if test else None,
            "distance": test.distance if test else None,
            "utility": self.utility,
            "distribution_utility": test.utility if test else None,
            "recoding_utility": self.recoding,
            "recoding_found_in": self.found,
            "values_left": self.left,
            "pairs": pairs,
            "missing_before": self.missing[0],
            "missing_after": self.missing[1],
            "note": "; ".join(self.notes),
        }


def removed(original: Half, name: str) -> VariableUtility:
    """Describe a variable that the protected table lacks: its utility is 0 (section 3.5)."""
    variable = original.schema[name]
    missing = _missing(original.column(name)), 1.0
    return VariableUtility(name, variable.title, (variable.kind, "removed"), missing, 0.0, notes=("removed",))


def compared(
    pair: Pair, original: Half, name: str, how: Alternative, weights: Weights | None, left: float | None = None
) -> VariableUtility:
    """Compare the distributions of a variable, and what was lost before by putting values together: their product.

    The pair is in memory; ``original`` keeps what depends on the original alone. ``left`` is the share of its values
    that are still there, by which the product is multiplied; None: deletion is not charged.
    """
    recoding = pair.footing(name)
    columns = pair.original.column(name), pair.protected.column(name)
    charge = 1.0 if left is None else left
    found = VariableUtility(
        name,
        pair.original.schema[name].title,
        (pair.original.schema[name].kind, pair.protected.schema[name].kind),
        (_missing(columns[0]), _missing(columns[1])),
        None,
        left=left,
        notes=(recoding.note,) if recoding.note else (),
    )
    if found.missing[0] == 1:
        return replace(found, notes=("no value in the original",))
    if found.missing[1] == 1:
        return replace(found, utility=0.0, notes=(*found.notes, "no value is left"))
    if not recoding.comparable:
        return _untraced(replace(found, traced=False, most=charge), how, columns, weights)
    rows = _rows(recoding.original, recoding.protected, weights)
    if weights is not None and not (weights.before[rows[0]].any() and weights.after[rows[1]].any()):
        return replace(found, traced=False, most=charge, notes=(*found.notes, "every value has weight 0"))
    test = _tested(pair, original, name, rows, weights)
    rough = test.sparse > SPARSE and test.p < 1
    said = (f"{100 * test.sparse:.0f} % of the expected counts are below 5: P is rough",) if rough else ()
    found = replace(found, utility=test.utility * charge, comparison=test, notes=(*found.notes, *said))
    if not recoding.recoded:
        return found
    own = None if weights is None else weights.before[rows[0]]
    coarser = kept(how, columns[0][rows[0]], recoding.original[rows[0]], own, by_records=left is not None)
    return replace(found, utility=test.utility * coarser * charge, recoding=coarser, found=recoding.source)


def _untraced(
    found: VariableUtility, how: Alternative, columns: tuple[NDArray[Any], NDArray[Any]], weights: Weights | None
) -> VariableUtility:
    """Count a variable whose recoding cannot be traced with what the numbers of its values leave at most.

    Whether its distribution changed too is not known. Where those numbers say nothing it has no utility.
    """
    there, after = (present(column) for column in columns)
    own = None if weights is None else weights.before[there]
    number = len(np.unique(columns[1][after]))
    share = most_kept(how, columns[0][there], number, own, by_records=found.left is not None)
    if share == 1:
        return found
    return replace(found, utility=share * found.most, most=share * found.most, recoding=share)


def _rows(before: NDArray[Any], after: NDArray[Any], weights: Weights | None) -> tuple[Rows, Rows]:
    """Return the records of both tables that have a value; with weights from the lightest to the heaviest."""
    there = present(before), present(after)
    if weights is None:
        return _numbered(there[0]), _numbered(there[1])
    one, other = weights.orders
    return one[there[0][one]], other[there[1][other]]


def _numbered(there: NDArray[np.bool_]) -> Rows:
    return slice(None) if there.all() else np.flatnonzero(there)


def _tested(pair: Pair, original: Half, name: str, rows: tuple[Rows, Rows], weights: Weights | None) -> Comparison:
    """Test whether the values of these records are distributed alike."""
    recoding = pair.footing(name)
    before, after = recoding.original, recoding.protected
    own = None if weights is None else (weights.before[rows[0]], weights.after[rows[1]])
    if not recoding.quantitative:
        return categories_alike(before[rows[0]], after[rows[1]], len(recoding.categories), own)
    if same_values(before, after) and (weights is None or weights.alike):
        return NO_DIFFERENCE
    if own is not None:
        return weighted_numbers_alike(before[rows[0]], after[rows[1]], *own)
    if original.aside is not None:
        return numbers_alike_aside(before[rows[0]], after[rows[1]], original.aside)
    return numbers_alike(
        original.values(name) if before is pair.original.column(name) else Values.of(before),
        pair.protected.values(name) if after is pair.protected.column(name) else Values.of(after),
    )


def _missing(column: NDArray[Any]) -> float:
    return float(1 - present(column).mean())
