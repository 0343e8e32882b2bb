"""How far tables of counts moved: the average absolute distance per cell, and what became of Cramér's V."""

from collections.abc import Mapping
from dataclasses import field
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.pair.statistics import Values
from sfumato.registry import catalogued
from sfumato.utility.association import REASONS, Column, pair_tests
from sfumato.utility.table_utility import MAX_TABLES, Coded, Effects, means_of_tables

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
MAX_WAYS = 4
SHOWN = 20  # tables listed, those that moved most


@catalogued(
    MeasureAbout(
        title="Average absolute distance per cell (AAD)",
        source="Gomatam and Karr (2003), Distortion measures for categorical data swapping; as Shlomo (2010) and Kocar "
        "(2018), section 2.2, write it",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        parts="columns",
        missing="a missing value is a category of its own",
        caveat="the mean counts empty cells too, so that a table with many of them seems to have moved little; and it "
        "grows with the number of records: compare protections of one file",
        formula="AAD of a table = sum over its n_c cells of |D(c) - D'(c)| / n_c,   value = mean over the tables\n"
        "D, D' = records of each cell;  D' times n / n' if the tables differ in size;\n"
        "n_c = product of the numbers of categories, empty cells too",
        reading="In records: 5 means that a cell of a published table is off by five records in the mean. Beside the "
        "mean size of a cell that may be much or little; the part with the share of records says how many would have "
        "to change their cell. ``by_pair`` shows the tables that moved most.",
    )
)
class AverageAbsoluteDistance(Measure):
    """Mean over all tables of ``ways`` variables of the mean distance between the counts of a cell: AAD.

    Numbers are put into ``bands`` between quantiles of the original; a recoded variable is counted in the protected
    table's categories in both. Every combination of the categories that occur in either table is a cell. If the tables
    differ in size, the protected counts are scaled to the original's number of records.

    Parts: the mean over the tables of the same sum over the cells that are not empty in both, the share of records that
    would have to change their cell, and the number of tables. ``by_variable`` and ``by_pair`` hold the mean over the
    tables a variable, or two of them, have a part in.

    >>> import pyarrow as pa
    >>> before = pa.table({"sex": ["f", "f", "m", "m"], "town": ["A", "A", "A", "B"]})
    >>> after = pa.table({"sex": ["f", "f", "m", "m"], "town": ["A", "B", "A", "A"]})
    >>> AverageAbsoluteDistance().evaluate(before, after).value  # (|2 - 1| + |0 - 1| + |1 - 2| + |1 - 0|) / 4
    1.0
    """

    ways: int = 2
    bands: int = field(default=5, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "ways", most=MAX_WAYS)
        parameters.whole(self, "bands", least=2)
        if self.ways == 1:
            self.known_as(joint=False)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, notes = self.shared(pair)
        both = pair.gathered(names)
        columns: dict[str, NDArray[np.int64]] = {}
        for name in names:
            seen = both.footing(name)
            if not seen.comparable:
                notes = (*notes, f"left out, {name}: {seen.note}")
                continue
            cuts = _cuts(seen.original, self.bands) if seen.quantitative else None
            codes = np.concatenate([_codes(column, cuts) for column in (seen.original, seen.protected)])
            columns[name] = np.unique(codes, return_inverse=True)[1]
        sets = list(combinations(columns, self.ways))
        if not sets:
            raise NotApplicable(f"tables of {self.ways} variables need as many that compare; there are {len(columns)}")
        if len(sets) > MAX_TABLES:
            raise NotApplicable(
                f"{len(sets):,} tables of {self.ways} variables are more than the {MAX_TABLES:,} it counts; give "
                "fewer ways, or name the variables"
            )
        protected = np.arange(len(pair.original) + len(pair.protected)) >= len(pair.original)
        sizes = tuple(int(codes.max()) + 1 for codes in columns.values())
        coded = Coded(tuple(columns), tuple(columns.values()), sizes, protected, None, Effects(), ())
        found = {chosen: _distance(coded, chosen) for chosen in sets}
        aad = {chosen: moved / cells for chosen, (moved, cells, _) in found.items()}
        return self.measurement(
            float(np.mean(list(aad.values()))),
            parts={
                "per cell that is not empty": float(np.mean([moved / used for moved, _, used in found.values()])),
                "share of records": float(np.mean([m for m, _, _ in found.values()])) / (2 * len(pair.original)),
                "tables": float(len(sets)),
            },
            by_variable=means_of_tables(aad, coded.names, 1),
            by_pair=means_of_tables(aad, coded.names, 2) if self.ways > 1 else {},
            tables={"tables": tuple(_row(chosen, aad[chosen], found[chosen]) for chosen in _worst(aad))},
            notes=notes,
        )


@catalogued(
    MeasureAbout(
        title="Change of Cramér's V (RCV)",
        source="Shlomo (2010), Releasing microdata: disclosure risk estimation, data masking and assessing utility; as "
        "Kocar (2018), section 2.2, writes it",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        unit="percent",
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        parts="columns",
        missing="of each pair the records that have both values",
        caveat="a weak association may double by chance alone, and counts as much as a strong one that is gone; V does "
        "not see that other categories go together than before",
        formula="RCV = 100 (V' - V) / V of each pair;   value = mean of |RCV| over the pairs with V > 0\n"
        "V = sqrt(chi2 / (n min(r - 1, k - 1))) of the original,  V' of the protected table",
        reading="In percent of each association: below zero (by pair) it is weaker than it was, as after most masking, "
        "above zero stronger. Look at the pairs with a V worth speaking of (0.1 and more), which the table lists. For "
        "correlations of numbers StructureLoss('correlations') says the same.",
    )
)
class CramersVChange(Measure):
    """Mean relative change of Cramér's V over all pairs of variables, in percent: RCV of Shlomo.

    ``by_pair`` holds the signed change of each pair, the value is the mean of their sizes. V is computed in each table
    on its own categories, so that what coarser ones take from an association is seen; numbers are put into ``bands``
    between quantiles of the original. Pairs whose V is 0 or not defined in the original are left out and counted; a
    pair that can no longer be tested has lost all (-100).

    Parts: the mean of the signed changes, and the largest in size. ``by_variable`` has the mean size over the pairs of
    each variable; the table "pairs" both V of every pair.

    >>> import pyarrow as pa
    >>> before = pa.table({"a": ["x", "x", "y", "y"], "b": ["p", "p", "q", "q"]})  # V = 1
    >>> after = pa.table({"a": ["x", "x", "y", "y"], "b": ["p", "q", "q", "q"]})  # V = 1 / sqrt(3)
    >>> round(CramersVChange().evaluate(before, after).by_pair["a", "b"], 3)
    -42.265
    """

    bands: int = field(default=5, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "bands", least=2)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, notes = self.shared(pair)
        if len(names) < 2:
            raise NotApplicable(f"pairs need two variables that both tables have; there is {names[0]}")
        both = pair.gathered(names)
        columns: tuple[list[Column], list[Column]] = ([], [])
        for name in names:
            x, y = both.original.column(name), both.protected.column(name)
            cuts = _cuts(x if x.dtype.kind == "f" else y, self.bands)
            for side, column in zip(columns, (x, y), strict=True):
                codes = _codes(column, cuts if column.dtype.kind == "f" else None)
                side.append(Column(name, "nominal", codes, int(codes.max(initial=-1)) + 1))
        before, after = (pair_tests(side) for side in columns)
        told = (before.reason == 0) & (before.coefficient > 0)
        if not told.any():
            raise NotApplicable("no pair of variables has a Cramér's V above 0 in the original")
        v, now = before.coefficient, np.where(after.reason > 0, 0.0, after.coefficient)
        change = np.where(told, 100 * (now - v) / np.where(told, v, 1.0), np.nan)
        places = np.flatnonzero(told)
        ends = {int(k): (names[before.first[k]], names[before.second[k]]) for k in range(len(v))}
        if len(places) < len(v):
            notes = (*notes, f"{len(v) - len(places):,} of {len(v):,} pairs left out: V is 0 or not defined before")
        size: dict[tuple[str, ...], float] = {ends[k]: abs(float(change[k])) for k in places.tolist()}
        return self.measurement(
            float(np.abs(change[places]).mean()),
            parts={"mean change": float(change[places].mean()), "largest": float(np.abs(change[places]).max())},
            by_variable=means_of_tables(size, names, 1),
            by_pair={ends[k]: float(change[k]) for k in places.tolist()},
            tables={
                "pairs": tuple(
                    {
                        "first": ends[k][0],
                        "second": ends[k][1],
                        "before": float(v[k]),
                        "after": float(now[k]),
                        "change": float(change[k]),
                        "note": REASONS[after.reason[k]] if after.reason[k] else "",
                    }
                    for k in places[np.argsort(-v[places], kind="stable")].tolist()
                )
            },
            notes=notes,
        )


def _cuts(column: NDArray[Any], bands: int) -> Floats | None:
    """Return the inner cuts of quantile bands; where no more values occur than bands, each is one."""
    if column.dtype.kind != "f":
        return None
    values = Values.of(column)
    if len(values.values) <= bands:
        return values.values[1:]
    return np.unique(np.nanquantile(column, np.arange(1, bands) / bands))


def _codes(column: NDArray[Any], cuts: Floats | None) -> Codes:
    """Return the band of each number, or the codes of categories; a missing value is -1."""
    if cuts is None or column.dtype.kind != "f":
        return column
    return np.where(np.isnan(column), -1, np.searchsorted(cuts, column, side="right")).astype(np.int32)


def _distance(coded: Coded, chosen: tuple[str, ...]) -> tuple[float, int, int]:
    """Return the sum of the distances between the counts of a table, its cells, and those that are not empty."""
    cells = coded.cells(chosen)
    moved = np.abs(cells.original - cells.protected * (cells.original.sum() / cells.protected.sum()))
    return float(moved.sum()), prod(coded.sizes[coded.names.index(name)] for name in chosen), cells.number


def _worst(aad: Mapping[tuple[str, ...], float]) -> list[tuple[str, ...]]:
    return sorted(aad, key=lambda chosen: (-aad[chosen], chosen))[:SHOWN]


def _row(chosen: tuple[str, ...], aad: float, found: tuple[float, int, int]) -> dict[str, object]:
    return {"variables": ", ".join(chosen), "distance": aad, "cells": found[1], "not empty": found[2]}
