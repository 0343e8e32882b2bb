"""Utility of tables: whether the counts of every one, two or three variables together are still the same."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, exp, lgamma, log, pi, prod, sqrt
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes
from sfumato.kernels.spread import ROUNDING
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Kind, is_quantitative
from sfumato.table.weights import normalised, unequal

# How far the cells of one table of counts lie apart in two files, and how far chance alone would put them.
#
# The statistics are those of synthpop's ``utility.tab``: Raab, Nowok and Dibben (2021), Assessing, visualizing and
# improving the utility of synthetic data; Voas and Williamson (2001); Freeman and Tukey (1950).

Floats = NDArray[np.float64]
Statistic = Literal["VW", "FT", "G", "JSD", "Bhattacharyya", "absolute difference", "weighted absolute difference"]
Null = Literal["fitted model", "two samples"]
NORMAL = sqrt(2 / pi)  # the mean size of a standard normal variable
MAX_TABLES = 50_000
DENSE = 2**16  # cells that are counted in an array of all of them, however few records there are


def means_of_tables(found: Mapping[tuple[str, ...], float], names: tuple[str, ...], size: int) -> dict[Any, float]:
    """Return the mean figure of the tables in which each variable, or each two, have a part.

    >>> means_of_tables({("a", "b"): 1.0, ("a", "c"): 3.0}, ("a", "b", "c"), 1)
    {'a': 2.0, 'b': 1.0, 'c': 3.0}
    """
    own: dict[tuple[str, ...], list[float]] = {some: [] for some in combinations(names, size)}
    for table, figure in found.items():
        for some in combinations(table, size):
            own[some].append(figure)
    return {some if size > 1 else some[0]: float(np.mean(figures)) for some, figures in own.items() if figures}


@dataclass(frozen=True)
class Effects:
    """The means of the squared weights of the two files, whose own mean is 1: Kish's design effects."""

    original: float = 1.0
    protected: float = 1.0


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a table that are not empty in both files, and what the records in them weigh.

    The weights of each file sum to the number of its records.
    """

    original: Floats
    protected: Floats

    @property
    def records(self) -> float:
        """The number N of pooled records."""
        return float(self.original.sum() + self.protected.sum())

    @property
    def share(self) -> float:
        """The share c of protected records."""
        return float(self.protected.sum()) / self.records

    @property
    def number(self) -> int:
        """The number k of cells."""
        return len(self.original)

    @cached_property
    def shares(self) -> tuple[Floats, Floats]:
        """The share of each file's records in each cell; two that differ by rounding alone are equal."""
        before, after = self.original / self.original.sum(), self.protected / self.protected.sum()
        return before, np.where(np.abs(after - before) <= ROUNDING * before, before, after)

    @cached_property
    def pooled(self) -> Floats:
        """The share of the pooled records in each cell."""
        shares: Floats = (self.original + self.protected) / self.records
        return shares

    @property
    def apart(self) -> Floats:
        """The difference of the two shares of each cell, protected less original."""
        before, after = self.shares
        difference: Floats = after - before
        return difference

    @cached_property
    def common(self) -> NDArray[np.bool_]:
        """Which cells are empty in neither file."""
        return np.asarray((self.original > 0) & (self.protected > 0))

    # statistics

    @cached_property
    def found(self) -> dict[Statistic, float]:
        """All statistics; G is missing where no cell is common to both files."""
        before, after = self.shares
        size, c = float(self.protected.sum()), self.share
        apart = self.apart
        hellinger = float(((np.sqrt(after) - np.sqrt(before)) ** 2).sum())  # twice (1 - sum of roots), with all digits
        told: dict[Statistic, float] = {
            # diff = s - o c / (1 - c) = n_s (q - p), expected c (o + s)
            "VW": float(((size * apart) ** 2 / (c * (self.original + self.protected))).sum()),
            "FT": 4 * size * hellinger,
        }
        if self.common.any():
            p, q = before[self.common], after[self.common]
            over = q / p * (p.sum() / q.sum()) - 1
            # sums of s log(q / p), less what adds up to nothing, so that small differences keep their digits
            whole = float(self.protected[self.common].sum())
            told["G"] = 2 * whole * float((p / p.sum() * ((1 + over) * np.log1p(over) - over)).sum())
        told |= {
            "JSD": _divergence(before, after),
            "Bhattacharyya": sqrt(hellinger / 2),
            "absolute difference": float(np.abs(apart).sum()),
            "weighted absolute difference": float(
                (size * np.abs(apart) / np.sqrt(c * (self.original + self.protected))).sum() / NORMAL
            ),
        }
        return told

    def expected(self, null: Null, effects: Effects) -> dict[Statistic, float]:
        """Return what chance alone gives each statistic, to the first order of large counts.

        *Fitted model*: the original's shares are those the protected file was drawn from; n_s (q - p)^2 / p then sums
        to a chi-squared variable with k - 1 degrees of freedom. *Two samples*: the original is drawn too, and the same
        is 1 / (1 - c) times as large.
        """
        c, size = self.share, float(self.protected.sum())
        inflation = effects.protected
        if null == "two samples":
            inflation = ((1 - c) * effects.protected + c * effects.original) / (1 - c)
        degrees = self.number - 1
        spread = float(np.sqrt(self.pooled * (1 - self.pooled)).sum())
        return {
            "VW": inflation * degrees,
            "FT": inflation * degrees,
            "G": inflation * max(int(self.common.sum()) - 1, 0),
            "JSD": inflation * degrees / (8 * size * log(2)),
            "Bhattacharyya": sqrt(inflation / (8 * size)) * _mean_root(degrees),
            "absolute difference": sqrt(inflation / size) * NORMAL * spread,
            "weighted absolute difference": sqrt(inflation) * float(np.sqrt(1 - self.pooled).sum()),
        }

    @property
    def mean_square(self) -> float:
        """The pMSE of the model that has a propensity for every cell: VW c (1 - c)^2 / N."""
        return self.found["VW"] * self.share * (1 - self.share) ** 2 / self.records


def _divergence(before: Floats, after: Floats) -> float:
    """Return the Jensen-Shannon divergence in bits: with m(1 - v) and m(1 + v) for the two shares of each cell."""
    middle = (before + after) / 2
    apart = (after - before) / (2 * middle)
    both = np.zeros_like(middle)
    for part in (apart, -apart):
        there = part > -1
        both[there] += (1 + part[there]) * np.log1p(part[there])
    return float((middle * both).sum()) / (2 * log(2))


def _mean_root(degrees: int) -> float:
    """Return the mean of the root of a chi-squared variable."""
    return 0.0 if degrees <= 0 else sqrt(2) * exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2))


# The measure

Codes = NDArray[np.int64]
Cuts = Literal["both", "original"]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
PLACES = ("first", "second", "third", "fourth")
MIN_RECORDS_PER_CELL = 5.0  # pooled records per cell below which expected values are rough


@catalogued(
    MeasureAbout(
        title="Utility of tables (VW and others)",
        source="Raab, Nowok and Dibben (2021), Assessing, visualizing and improving the utility of synthetic data, "
        "arXiv:2109.12717, and utility.tab and utility.tables of synthpop; Voas and Williamson (2001)",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        kinds=("numeric", "ordinal", "nominal", "date"),
        weights=True,
        paired=False,
        parts="columns",
        missing="a missing value is a category of its own",
        caveat="numbers are seen in bands only: what moves inside a band is invisible; and a copy with little noise "
        "scores below 1, for it is nearer than a fresh draw",
        formula="VW = sum (s - o c/(1-c))^2 / (c (o + s)),   FT = 4 sum (sqrt s - sqrt(o c/(1-c)))^2,\n"
        "G = 2 sum s log(q/p) over cells that both have,   JSD = sum (p log2(p/m) + q log2(q/m)) / 2,\n"
        "Bhattacharyya = sqrt(1 - sum sqrt(p q)),   absolute difference = sum |q - p|,\n"
        "weighted absolute difference = sum |s - o c/(1-c)| / sqrt(c (o + s)) / sqrt(2/pi)\n"
        "o, s = original and protected records of a cell;  p, q = their shares;  m = (p + q)/2;  c = n_s/N\n"
        "expected, fitted model: k - 1 for VW, FT, G;  (k - 1)/(8 n_s ln 2) for JSD;  k = cells not empty\n"
        "ratio = statistic / expected;   two samples: expected is 1/(1-c) times as large, or its root",
        reading="0 means that every table is the same, 1 that it differs as much as a fresh file drawn from the "
        "original's own distribution would, 10 ten times as much. synthpop's authors call a mean below 3 good and one "
        "above 10 a reason to look at the worst tables. ``by_pair`` names them, ``plot`` draws them as a heat map.",
    )
)
class TableUtility(Measure):
    """Mean over all tables of ``ways`` variables of how far their cells lie apart, as a multiple of what chance gives.

    Every table of one, two (the default), three or four variables is counted in both files, and ``statistic`` compares
    the counts: "VW" (Voas and Williamson; over its expectation synthpop's S_VW = S_pMSE), "FT" (Freeman and Tukey), "G"
    (likelihood ratio, over the cells that both files have), "JSD" (Jensen-Shannon divergence in bits), "Bhattacharyya"
    (distance), "absolute difference" (MabsDD; half of it is SPECKS, 25 times it PO50 of files of one size), "weighted
    absolute difference" (WMabsDD). The value is the mean over the tables of the statistic divided by its expected value
    under ``null``: "fitted model", the protected file was drawn from the original's own shares (synthpop's), or "two
    samples" of one population. Expected values hold for large counts; those of synthpop for JSD and WMabsDD differ
    (docs: coming from other programs).

    Numbers are grouped into ``bands`` between quantiles of both files together, as synthpop does, or of the "original"
    (``cuts``); a number that is a cut belongs to the band above it, and where no more values occur than there are
    bands, each is one. A missing value is a category of its own. Recoded variables are compared in the protected
    table's categories. With survey weights, cells hold weights that sum to the number of records of each file, and
    expected values are multiplied by the mean of the squared weights.

    Parts: of each statistic the mean over the tables of itself, of its expected value and of their ratio; pMSE of the
    tables; the largest ratio; how many tables. ``by_variable`` and ``by_pair`` hold the mean ratio of the tables that
    a variable, or two of them, have a part in. ``table("tables")`` has every table with all figures.

    >>> import pyarrow as pa
    >>> before = pa.table({"sex": ["f", "f", "m", "m"]})
    >>> after = pa.table({"sex": ["f", "f", "f", "m"]})
    >>> round(TableUtility(ways=1).evaluate(before, after).value, 6)  # (3 - 2)^2 / 2.5 + (1 - 2)^2 / 1.5, k - 1 = 1
    1.066667
    """

    statistic: Statistic = "VW"
    ways: int = 2
    bands: int = 5
    cuts: Cuts = "both"
    null: Null = "fitted model"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "statistic", STATISTICS)
        parameters.whole(self, "ways", least=1, most=len(PLACES))
        parameters.whole(self, "bands", least=2)
        parameters.one_of(self, "cuts", get_args(Cuts))
        parameters.one_of(self, "null", get_args(Null))
        if self.ways == 1:
            self.known_as(joint=False)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        coded = self._coded(pair)
        tables = {names: coded.cells(names) for names in combinations(coded.names, self.ways)}
        expected = {names: cells.expected(self.null, coded.effects) for names, cells in tables.items()}
        ratios: dict[tuple[str, ...], dict[Statistic, float]] = {
            names: {told: _ratio(value, expected[names][told]) for told, value in cells.found.items()}
            for names, cells in tables.items()
        }
        parts = _parts(tables, expected, ratios)
        own = {names: found[self.statistic] for names, found in ratios.items() if self.statistic in found}
        if not own:
            raise NotApplicable("no table has a cell that is empty in neither file, so that G has nothing to compare")
        parts["largest ratio"] = max(own.values())
        parts["tables"] = float(len(tables))
        return self.measurement(
            float(np.mean(list(own.values()))),
            parts=parts,
            by_variable=means_of_tables(own, coded.names, 1),
            by_pair=means_of_tables(own, coded.names, 2) if self.ways > 1 else {},
            tables={"tables": tuple(_rows(tables, expected, ratios))},
            notes=(*coded.notes, *_said(tables, own)),
        )

    def _coded(self, pair: Pair) -> "Coded":
        names, notes = self.shared(pair)
        both = pair.gathered(names)
        tables = both.tables()
        columns: dict[str, Codes] = {}
        for name in names:
            seen = both.footing(name)
            if not seen.comparable:
                notes = (*notes, f"left out, {name}: {seen.note}")
                continue
            if seen.recoded:
                notes = (*notes, f"{name} is compared in the protected table's categories")
            columns[name] = self._codes(seen.kind, seen.original, seen.protected)
        heaped = [name for name in columns if _in_one_band(both, name, columns[name])]
        if heaped:
            notes = (*notes, f"in one band, for most records share a value: {', '.join(heaped)}")
        if len(columns) < self.ways:
            told = f"; {'; '.join(notes)}" if notes else ""
            raise NotApplicable(f"tables of {self.ways} variables need as many; {len(columns)} can be compared{told}")
        if comb(len(columns), self.ways) > MAX_TABLES:
            raise NotApplicable(
                f"{len(columns)} variables make {comb(len(columns), self.ways):,} tables of {self.ways}, more than "
                f"{MAX_TABLES:,}; choose variables=[...]"
            )
        return Coded.of(tables, columns, notes)

    def _codes(self, kind: Kind, original: NDArray[Any], protected: NDArray[Any]) -> Codes:
        """Number the values of both files below each other from 0; 0 is missing."""
        if not is_quantitative(kind):
            return np.concatenate([original, protected]).astype(np.int64) + 1
        numbers = np.concatenate([original, protected]).astype(np.float64)
        cut_from = numbers if self.cuts == "both" else original
        codes = np.searchsorted(cuts_between(cut_from[~np.isnan(cut_from)], self.bands), numbers, side="right") + 1
        codes[np.isnan(numbers)] = 0
        return codes.astype(np.int64, copy=False)


def _in_one_band(pair: Pair, name: str, codes: Codes) -> bool:
    """Tell whether numbers that differ are all in one band."""
    seen = pair.footing(name)
    if not seen.quantitative or codes.max() > 1:
        return False
    numbers = np.concatenate([seen.original, seen.protected])
    return bool(np.nanmin(numbers) < np.nanmax(numbers)) if codes.any() else False


def cuts_between(numbers: Floats, bands: int) -> Floats:
    """Return the cuts between bands of numbers, as R's classIntervals puts them for quantiles.

    >>> cuts_between(np.array([1.0, 2, 3, 4, 5, 6]), 2), cuts_between(np.array([0.0, 0, 0, 7]), 5)
    (array([3.5]), array([3.5]))
    """
    values = np.unique(numbers)
    if len(values) <= bands:
        middles: Floats = values[:-1] + np.diff(values) / 2
        return middles
    edges = np.unique(np.quantile(numbers, np.arange(bands + 1) / bands))
    return edges[1:-1]


@dataclass(frozen=True, eq=False)
class Coded:
    """The records of positive weight of both files below each other, in codes."""

    names: tuple[str, ...]
    columns: tuple[Codes, ...]
    sizes: tuple[int, ...]  # the codes of each column are below
    protected: NDArray[np.bool_]
    weights: Floats | None  # None: all count one
    effects: Effects
    notes: tuple[str, ...]

    @classmethod
    def of(cls, tables: tuple[Microdata, Microdata], columns: dict[str, Codes], notes: tuple[str, ...]) -> "Coded":
        """Leave out records of weight zero, and scale the weights of each file to the number of its records."""
        raw = [table.weights() for table in tables]
        weighed = any(unequal(own[own > 0]) for own in raw)
        # by ascending weight, so that sums over a cell do not depend on the order of the records
        orders = [np.argsort(own, kind="stable") if weighed else np.arange(len(own)) for own in raw]
        orders = [order[own[order] > 0] for order, own in zip(orders, raw, strict=True)]
        dead = sum(map(len, raw)) - sum(map(len, orders))
        if dead:
            notes = (*notes, f"{dead:,} records of weight zero left out")
        weights, effects = None, Effects()
        if weighed:
            scaled = [normalised(own[order]) for own, order in zip(raw, orders, strict=True)]
            weights = np.concatenate(scaled)
            effects = Effects(*(float(np.mean(own**2)) for own in scaled))
        rows = np.concatenate([orders[0], len(raw[0]) + orders[1]])
        coded = tuple(column[rows] for column in columns.values())
        sizes = tuple(int(column.max()) + 1 for column in coded)
        return cls(tuple(columns), coded, sizes, rows >= len(raw[0]), weights, effects, notes)

    def cells(self, names: tuple[str, ...]) -> Cells:
        """Count a table of some of the variables."""
        at = [self.names.index(name) for name in names]
        number = prod(self.sizes[place] for place in at)
        if number <= max(4 * len(self.protected), DENSE):
            cell = self.columns[at[0]]
            for place in at[1:]:
                cell = cell * self.sizes[place] + self.columns[place]
        else:
            cell, _ = classes(np.column_stack([self.columns[place] for place in at]))
            number = int(cell.max()) + 1
        found = []
        for side in (~self.protected, self.protected):
            own = None if self.weights is None else self.weights[side]
            found.append(np.bincount(cell[side], own, minlength=number).astype(np.float64))
        there = (found[0] + found[1]) > 0
        return Cells(found[0][there], found[1][there])


def _ratio(value: float, expected: float) -> float:
    """Return a statistic over its expected value; a table of one cell, which expects nothing, has nothing apart."""
    return value / expected if expected > 0 else 0.0


def _parts(
    tables: dict[tuple[str, ...], Cells],
    expected: dict[tuple[str, ...], dict[Statistic, float]],
    ratios: dict[tuple[str, ...], dict[Statistic, float]],
) -> dict[str, float]:
    parts: dict[str, float] = {}
    for told in STATISTICS:
        having = [names for names, found in ratios.items() if told in found]
        if having:
            parts[told] = float(np.mean([tables[names].found[told] for names in having]))
            parts[f"{told}, expected"] = float(np.mean([expected[names][told] for names in having]))
            parts[f"{told}, ratio"] = float(np.mean([ratios[names][told] for names in having]))
    parts["pMSE"] = float(np.mean([cells.mean_square for cells in tables.values()]))
    return parts


def _rows(
    tables: dict[tuple[str, ...], Cells],
    expected: dict[tuple[str, ...], dict[Statistic, float]],
    ratios: dict[tuple[str, ...], dict[Statistic, float]],
) -> Iterator[dict[str, Any]]:
    for names, cells in tables.items():
        row: dict[str, Any] = dict(zip(PLACES, names, strict=False))
        row |= {"cells": cells.number, "pMSE": cells.mean_square}
        for told in STATISTICS:
            row |= {
                told: cells.found.get(told),
                f"{told}, expected": expected[names][told],
                f"{told}, ratio": ratios[names].get(told),
            }
        yield row


def _said(tables: dict[tuple[str, ...], Cells], own: dict[tuple[str, ...], float]) -> Iterator[str]:
    if len(own) < len(tables):
        yield f"{len(tables) - len(own):,} tables left out: no cell is empty in neither file"
    sparse = sum(cells.records < MIN_RECORDS_PER_CELL * cells.number for cells in tables.values())
    if sparse:
        share = "every table has" if sparse == len(tables) else f"{sparse:,} of {len(tables):,} tables have"
        yield f"{share} fewer than {MIN_RECORDS_PER_CELL:.0f} records per cell: the expected values are rough there"
