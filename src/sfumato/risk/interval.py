"""Interval disclosure: whether the original value lies in a narrow interval around the protected one."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.pair.files import NumbersInFile
from sfumato.pair.sorting import Runs, SortedColumn, by_record, ties
from sfumato.pair.statistics import Statistic, Sums, merged
from sfumato.registry import catalogued
from sfumato.table.microdata import Microdata

# The place of every value among the protected ones of a variable whose different values do not fit into memory: the
# values of both tables are sorted together on disk, each with the number of its record, and what the order tells of a
# record is brought back into the order of the records.

Integers = NDArray[np.int64]
PLACE = np.dtype([("below", np.int64), ("upto", np.int64)])
ABSENT = np.array([(-1, -1)], dtype=PLACE)


@dataclass(frozen=True, eq=False)
class Places:
    """Of each record's value in one of the tables: how many protected values are smaller, and how many not larger.

    Both are -1 where the value is missing.
    """

    below: Integers
    upto: Integers

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether there is a value."""
        return self.below >= 0

    def ranks(self, *, last: bool) -> NDArray[np.float64]:
        """Return the rank of each value from 0, of those that tie the mean or the last."""
        return self.upto - np.float64(1) if last else (self.below + self.upto - 1) / np.float64(2)


def places(pair: Pair, name: str) -> Iterator[tuple[Places, Places]]:
    """Yield the places of original and protected values, in the order of the records, in stretches that fit."""
    room, what = pair.original.room, f"variable {name!r} in order"
    runs = Runs(room, what, 2 * len(pair.original), np.int64)
    for side, half in enumerate((pair.original, pair.protected)):
        first = 0
        for part in half.parts:
            numbers = np.arange(first, first + len(part))
            runs.add(part.columns[name], ~numbers if side else numbers)  # below zero: a protected record
            first += len(part)
    pooled = SortedColumn.of(runs, room, what)
    upto = NumbersInFile(room.folder, np.int64, what)  # how many protected values each different value reaches
    upto.append(np.zeros(1, dtype=np.int64))
    reached = 0
    for some in ties(pooled.pieces(), lambda numbers: (numbers < 0)[:, None].astype(np.int64)):
        upto.append(reached + np.cumsum(some.sums[:, 0]))
        reached += int(some.sums.sum())
    records = len(pair.original)
    sides = (by_record(_told(pooled, upto, side), records, ABSENT, room, what) for side in (0, 1))
    for before, after in zip(*sides, strict=True):
        yield Places(before["below"], before["upto"]), Places(after["below"], after["upto"])
    pooled.close()
    upto.close()


def _told(pooled: SortedColumn, upto: NumbersInFile, side: int) -> Iterator[tuple[Integers, NDArray[Any]]]:
    """Yield the numbers of one table's records in ascending order of their values, and the place of each."""
    last, value = -1, np.nan  # the number of the different value that was seen last, and that value
    for values, numbers in pooled.pieces():
        begins = np.append(values[0] != value, values[1:] != values[:-1])
        which = last + np.cumsum(begins)
        known = upto.read(int(which[0]), int(which[-1]) + 2)
        last, value = int(which[-1]), float(values[-1])
        chosen = numbers < 0 if side else numbers >= 0
        at = which[chosen] - which[0]
        found = np.empty(len(at), dtype=PLACE)
        found["below"], found["upto"] = known[at], known[at + 1]
        yield (~numbers[chosen] if side else numbers[chosen]), found


# the measures

Floats = NDArray[np.float64]
PERCENTS = tuple(float(p) for p in range(1, 11))
MISSING = "a value missing in either table is left out (it is neither inside nor outside) and counted"


@dataclass(frozen=True, eq=False)
class Inside(Statistic):
    """How many values of a variable lie inside intervals of several sizes, of those present in both tables.

    ``sizes`` tells, for each record of a table in memory, how many of the sizes hold its value, and ``present`` whether
    it is compared; of merged parts they are None, because the records are gone.
    """

    hits: Integers  # for each size
    compared: int
    sizes: Integers | None = None
    present: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, inside: Iterable[NDArray[np.bool_]], present: NDArray[np.bool_]) -> Self:
        """Count the values inside, told size by size, and those present."""
        sizes, hits = np.zeros(len(present), dtype=np.int64), []
        for held in inside:
            sizes += held
            hits.append(np.count_nonzero(held))
        return cls(np.array(hits, dtype=np.int64), int(np.count_nonzero(present)), sizes, present)

    def merge(self, other: Self) -> Self:
        """Add the counts."""
        return type(self)(self.hits + other.hits, self.compared + other.compared)

    def summary(self) -> Self:
        """Return the counts alone."""
        return type(self)(self.hits, self.compared)


class IntervalDisclosure(Measure):
    """What both interval measures share: the share of values inside, averaged over interval sizes."""

    percents: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = (self.percents,) if isinstance(self.percents, Real) else tuple(self.percents)
        if not sizes or not all(isinstance(p, Real) and 0 < p <= 100 for p in sizes):
            raise parameters.refuse(self, f"percents must be numbers in (0, 100]; got {self.percents!r}")
        object.__setattr__(self, "percents", tuple(float(p) for p in sizes))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, notes = self.shared(pair)
        found = {name: self._counted(pair, names, name) for name in names}
        total, cells = sum(each.compared for each in found.values()), len(pair.original) * len(names)
        if total == 0:
            raise NotApplicable("no value is present in both tables")
        if total < cells:
            notes = (*notes, f"{cells - total} of {cells} values left out: missing in one table")
        hits = np.sum([each.hits for each in found.values()], axis=0)
        sizes = len(self.percents)
        return self.measurement(
            hits.sum() / sizes / total,
            parts={f"{p:g} %": float(h / total) for p, h in zip(self.percents, hits, strict=True)},
            by_variable={
                name: float(each.hits.sum() / sizes / each.compared) if each.compared else float("nan")
                for name, each in found.items()
            },
            by_record=None if pair.in_parts else _by_record(found.values(), sizes),
            notes=notes,
        )

    @abstractmethod
    def _counted(self, pair: Pair, names: tuple[str, ...], name: str) -> Inside:
        """Count the values of one of the variables inside their intervals, part by part."""


def _by_record(variables: Iterable[Inside], sizes: int) -> Floats:
    """Return, for each record, the share of its values inside, averaged over sizes; NaN if none is compared."""
    held = [(each.sizes, each.present) for each in variables if each.sizes is not None and each.present is not None]
    inside, compared = (np.sum(side, axis=0) for side in zip(*held, strict=True))
    by_record: Floats = np.full(len(inside), np.nan)
    np.divide(inside, sizes * compared, out=by_record, where=compared > 0)
    return by_record


def _present(name: str, part: Microdata) -> Sums:
    return Sums({"records": int(np.count_nonzero(~np.isnan(part.columns[name])))})


@catalogued(
    MeasureAbout(
        title="Rank interval disclosure (ID, ID1)",
        source="Domingo-Ferrer, Mateo-Sanz and Torres, Concepts for the Evaluation of Anonymized Data, section 4.3",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=MISSING,
        joint=False,
        parts="summaries",
        caveat="looks at one variable at a time; a table of unrelated draws still scores about the interval's width",
        formula="ID = mean over sizes p, variables j and records i of [ y_(r - d) <= x_ij <= y_(r + d) ]\n"
        "r = rank of y_ij among the n protected values of j (ties: mean rank),  d = floor(p n / 100)\n"
        "y_(r) = r-th smallest protected value;   x original, y protected\n"
        "ties='last': r is the last rank of those tied, and the interval begins at r - ceil(p n / 100)",
        reading="1 means that every true value lies inside even the narrowest interval, one percent of the ranks to "
        "either side. Unrelated values of the same distribution still score about twice the mean size: 0.11 with "
        "sizes 1 to 10 percent. Above 0.5 values are hardly protected. A close value is a disclosure only for someone "
        "who knows whose record it is: read it beside a measure of linkage.",
    )
)
class RankInterval(IntervalDisclosure):
    """Share of original values inside the rank interval around their protected value: ID (ID1) of the paper.

    The interval of size p runs from the protected value whose rank is p % of n lower to the one whose rank is p % of n
    higher (rounded down, both ends included, cut off at the smallest and largest value); values that tie share the
    mean of their ranks. The figure is the mean over the sizes in ``percents`` and over all values; 1 means that an
    intruder is sure to know every value to within such an interval.

    With ``ties="last"`` values that tie take the last of their ranks, and the interval begins at the value whose rank
    is p % of n lower, rounded up. The paper does not say so; the rule was fitted to its printed figures, which it gives
    on the paper's file to the second decimal.
    """

    percents: tuple[float, ...] = PERCENTS
    ties: Literal["mean", "last"] = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "ties", ("mean", "last"))

    def _counted(self, pair: Pair, names: tuple[str, ...], name: str) -> Inside:
        if pair.original.values_if_they_fit(name) is None or pair.protected.values_if_they_fit(name) is None:
            return self._sorted(pair, name)
        places_of = _places_at_hand(pair, name)
        n = pair.protected.values(name).present
        below, above = self._widths(n)
        return pair.total(lambda *parts: self._inside(*places_of(*parts), n, below, above))

    def _widths(self, n: int) -> tuple[list[int], list[int]]:
        """Return by how many ranks each interval goes down and up, of n values."""
        above = [int(p * n / 100 + 1e-9) for p in self.percents]
        below = above if self.ties == "mean" else [math.ceil(p * n / 100 - 1e-9) for p in self.percents]
        return below, above

    def _sorted(self, pair: Pair, name: str) -> Inside:
        """Count the values inside where ranks come from files."""
        n = pair.protected.total(partial(_present, name))["records"]
        below, above = self._widths(n)
        return merged(self._inside(before, after, n, below, above).summary() for before, after in places(pair, name))

    def _inside(self, before: Places, after: Places, n: int, below: list[int], above: list[int]) -> Inside:
        """Count the values inside, of n present ones of the protected table.

        With r the rank of y, y_(r - d) <= x if more than r - d protected values are no larger than x, and
        x <= y_(r + d) if no more than r + d are smaller; far away is what lies beyond all of them.
        """
        rank, present = after.ranks(last=self.ties == "last"), before.present & after.present
        down = np.where(before.upto > 0, np.ceil(rank) - before.upto + 1, np.inf)
        up = np.where(before.below < n, before.below - np.floor(rank), np.inf)
        inside = (present & (down <= lower) & (up <= upper) for lower, upper in zip(below, above, strict=True))
        return Inside.of(inside, present)


def _places_at_hand(pair: Pair, name: str) -> Callable[[Microdata, Microdata], tuple[Places, Places]]:
    """Return what tells the places of the original and protected values of a part, where all values fit."""
    ours, theirs = pair.original.values(name), pair.protected.values(name)
    codes = pair.original.coder((name,)), pair.protected.coder((name,))
    places = [  # by code, the last for missing
        tuple(np.append(side, -1).astype(np.int64) for side in (theirs.below(values), theirs.not_above(values)))
        for values in (ours.values, theirs.values)
    ]

    def of(before: Microdata, after: Microdata) -> tuple[Places, Places]:
        x, y = codes[0](before)[:, 0], codes[1](after)[:, 0]
        return Places(places[0][0][x], places[0][1][x]), Places(places[1][0][y], places[1][1][y])

    return of


@catalogued(
    MeasureAbout(
        title="Standard deviation interval disclosure (ID2)",
        source="Domingo-Ferrer, Mateo-Sanz and Torres, Concepts for the Evaluation of Anonymized Data, section 6",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=MISSING,
        joint=False,
        parts="summaries",
        caveat="looks at one variable at a time; for skewed variables the standard deviation is wide, the figure high",
        formula="ID2 = mean over sizes p, variables j and records i of [ |x_ij - y_ij| <= (p / 100) s_j / 2 ]\n"
        "s_j = standard deviation (n - 1) of the protected variable;   x original, y protected",
        reading="1 means that every true value lies inside even the narrowest interval, half a percent of a standard "
        "deviation to either side. Unrelated values score by shape alone: 0.016 for a normal variable with sizes 1 to "
        "10 percent, 0.13 for a lognormal one with sigma = 1.5. Compare candidates on the same variables, and look at "
        "each variable by itself.",
    )
)
class SpreadInterval(IntervalDisclosure):
    """Share of original values inside an interval of p % of a standard deviation around their protected value: ID2.

    The interval is centred on the protected value, and its whole width is p % of the standard deviation of the
    protected variable, which is what an intruder sees; both ends are included. The figure is the mean over the sizes in
    ``percents`` and over all values.
    """

    percents: tuple[float, ...] = PERCENTS

    def _counted(self, pair: Pair, names: tuple[str, ...], name: str) -> Inside:
        deviation = pair.protected.moments(names).spread[names.index(name)]
        halves = [p / 100 * deviation / 2 for p in self.percents]

        def of(before: Microdata, after: Microdata) -> Inside:
            x, y = before.columns[name], after.columns[name]
            return Inside.of(((x >= y - half) & (x <= y + half) for half in halves), ~(np.isnan(x) | np.isnan(y)))

        return pair.total(of)
