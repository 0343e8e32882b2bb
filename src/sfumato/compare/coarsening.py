"""How far the keys must be made coarser: ladders of recodings for each key, climbed one step at a time.

Each key has a ladder of coarser versions: a number in bands of growing width with open ends, a date by month, quarter,
year and longer spans, an ordinal variable in
fewer groups of neighbours, a nominal one with more of its rare categories merged. Of all next rungs the one is taken
that removes most small classes of records for the detail that it costs (the fall of the log of the key's entropy),
until no class is small or nothing is left to coarsen.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.compare.key_sets import KeySet
from sfumato.data.bands import is_whole
from sfumato.data.date_bands import Span
from sfumato.data.dates import spelled
from sfumato.data.microdata import Microdata
from sfumato.kernels.groups import classes
from sfumato.methods import GlobalRecoding
from sfumato.utility.global_utility.coarsening import kept

Codes = NDArray[np.integer]
Bins = tuple[float | str, ...] | str  # cut points, or a span of the calendar
Way = dict[str, Any]  # the parameter of GlobalRecoding that makes a key coarser, and its value
FEW = 12  # different whole numbers up to which a key is a count, such as persons in a household
BANDS = 20  # the most bands of a number
END = 0.03  # the share of records that an open end holds at least
DIGITS = (1.0, 1.5, 2.0, 3.0, 5.0)  # widths are these times a power of ten
SPANS = (2, 5, 10, 20, 50)  # years in which a date is given
GROUPS = (10, 7, 5, 4, 3, 2)  # categories that are left of a key
GONE = 0.0  # the detail of a key that is left out; what its associations are worth is measured
MOST_SMALL = 0.03  # of the records may be in classes that are too small, where a stage is refined
REACH = 3  # rungs that a key moves at a time where a stage is refined
MOST_COUNTED = 40_000_000  # combinations of keys that are counted in all where a stage is refined
FEWEST_ASKED, MOST_ASKED = 100, 4_000  # stages that are tried there


@dataclass(frozen=True, eq=False)
class Rung:
    """A key at one degree of coarseness: its codes, how many categories, how it is recoded, and its entropy."""

    codes: Codes
    categories: int
    bins: Bins | None = None
    groups: int | None = None
    rare: float | None = None
    level: int | None = None  # of the hierarchy that the schema has
    entropy: float = 0.0
    detail: float = 1.0  # what is left of the key, as the utility of a recoded variable counts it


@dataclass(frozen=True)
class Stage:
    """The keys after some steps: the rung that each is on, by name; 0 is the key as it came."""

    rungs: Mapping[str, int]
    small: int  # records in classes of fewer than k, in the set of keys that has most of them
    classes: int  # of records that agree, in the set that has most: so many are found, one of each


@dataclass(frozen=True, eq=False)
class Ladders:
    """The ladders of all keys of a table."""

    rungs: Mapping[str, tuple[Rung, ...]]

    @classmethod
    def of(cls, data: Microdata, keys: Iterable[str]) -> "Ladders":
        """Make the ladder of each key."""
        return cls({name: _ladder(data, name) for name in keys})

    def recodings(self, stage: Stage) -> tuple[GlobalRecoding, ...]:
        """Return the recodings that bring the keys to a stage: as few as will do, none if nothing is recoded."""
        bins: dict[str, Bins] = {}
        levels: dict[str, int] = {}
        groups: dict[int, list[str]] = {}
        rare: dict[float, list[str]] = {}
        for name, place in stage.rungs.items():
            rung = self.rungs[name][place]
            if rung.bins is not None:
                bins[name] = rung.bins
            elif rung.level is not None:
                levels[name] = rung.level
            elif rung.groups is not None:
                groups.setdefault(rung.groups, []).append(name)
            elif rung.rare is not None:
                rare.setdefault(rung.rare, []).append(name)
        stated: dict[str, Any] = {name: said for name, said in (("bins", bins), ("level", levels)) if said}
        made = []
        for one, other in zip_longest(groups, rare):
            named = (*groups.get(one, ()), *rare.get(other, ()))
            made.append(GlobalRecoding(one, rare=other, variables=named, **stated))
            stated = {}
        return tuple(made) if made or not stated else (GlobalRecoding(**stated),)

    def climb(self, sets: Sequence[KeySet], dear: Mapping[str, float]) -> tuple[Stage, ...]:
        """Return the stages from the keys as they came to the last one, one rung more each.

        Classes are counted in each of the ``sets`` of keys with its k. ``dear`` multiplies what the detail of a key
        costs, so that a dear key is coarsened late.
        """
        counted = _Counted.of(self)
        at = dict.fromkeys(self.rungs, 0)
        now, records, most = counted.small(at, sets)
        stages = [Stage(dict(at), records, most)]
        while records:
            tried = []
            for name, place in at.items():
                ladder = self.rungs[name]
                if place + 1 < len(ladder):
                    cost = math.log(ladder[place].entropy / ladder[place + 1].entropy) * dear.get(name, 1.0)
                    after = counted.small({**at, name: place + 1}, sets)
                    tried.append(((now - after[0]) / max(cost, 1e-6), name, after))
            if not tried:
                break
            _, name, (now, records, most) = max(tried, key=lambda step: step[:2])
            at[name] += 1
            stages.append(Stage(dict(at), records, most))
        return tuple(stages)

    def refined(
        self,
        stage: Stage,
        sets: Sequence[KeySet],
        crowds: Sequence[KeySet],
        most: float,
        dear: Mapping[str, float] | None = None,
    ) -> Stage:
        """Return a stage that keeps more of the keys, with no more than ``most`` classes in any of the ``crowds``.

        A climb looks one step ahead. From where it ended a key is made finer, or one finer and another one coarser, as
        long as more is left in sum: the detail of the keys less the share of records in classes that are too small in
        the ``sets``, each of which loses a value. ``dear`` multiplies what the detail of a key is worth.
        """
        counted, worth = _Counted.of(self), dear or {}
        asked = min(max(MOST_COUNTED // len(counted.counts), FEWEST_ASKED), MOST_ASKED)

        def left(places: Mapping[str, int]) -> float:
            small = counted.small(places, sets)[1] if sets else 0
            return self._detail(places, worth) - small / counted.records

        def fits(places: Mapping[str, int]) -> bool:
            few = not sets or counted.small(places, sets)[1] <= allowed
            return few and counted.small(places, crowds)[2] <= most

        at = dict(stage.rungs)
        best = left(at)
        allowed = max(MOST_SMALL * counted.records, counted.small(at, sets)[1] if sets else 0)
        while asked > 0:
            for places in self._moves(at, worth):
                asked -= 1
                if asked < 0:
                    break
                gain = self._detail(places, worth) - best
                if gain > 1e-9 and fits(places) and (value := left(places)) > best + 1e-9:
                    at, best = dict(places), value
                    break
            else:
                break
        _, small, most_classes = counted.small(at, crowds)
        return Stage(at, small, most_classes)

    def _moves(self, at: Mapping[str, int], worth: Mapping[str, float]) -> list[dict[str, int]]:
        """Return the stages near one that keep more detail, those first that keep most."""
        found = []
        for name, place in at.items():
            for finer in range(max(place - REACH, 0), place):
                one = {**at, name: finer}
                found.append(one)
                for other, there in at.items():
                    if other != name:
                        last = min(there + REACH, len(self.rungs[other]) - 1)
                        found += [{**one, other: coarser} for coarser in range(there + 1, last + 1)]
        now = self._detail(at, worth)
        gains = [(self._detail(places, worth) - now, number) for number, places in enumerate(found)]
        return [found[number] for gain, number in sorted(gains, key=lambda one: (-one[0], one[1])) if gain > 1e-9]

    def _detail(self, places: Mapping[str, int], worth: Mapping[str, float]) -> float:
        return sum(worth.get(name, 1.0) * self.rungs[name][place].detail for name, place in places.items())

    def with_removal(self) -> "Ladders":
        """Return the ladders with a last rung each on which the key is left out."""
        gone = {
            name: Rung(np.zeros_like(ladder[0].codes), 1, entropy=1e-12, detail=GONE)
            for name, ladder in self.rungs.items()
        }
        return Ladders({name: (*ladder, gone[name]) for name, ladder in self.rungs.items()})


@dataclass(frozen=True, eq=False)
class _Counted:
    """Each different combination of the keys once, on every rung: coarser classes are unions of these."""

    columns: Mapping[str, Sequence[Codes]]
    counts: NDArray[np.integer]

    @classmethod
    def of(cls, ladders: Ladders) -> "_Counted":
        """Count the combinations of the keys as they came."""
        of, counts = classes(np.column_stack([ladder[0].codes for ladder in ladders.rungs.values()]))
        first = np.empty(len(counts), dtype=np.intp)
        first[of[::-1]] = np.arange(len(of))[::-1]
        return cls({name: [r.codes[first] for r in ladder] for name, ladder in ladders.rungs.items()}, counts)

    @property
    def records(self) -> int:
        """The records of the table."""
        return int(self.counts.sum())

    def small(self, places: Mapping[str, int], sets: Sequence[KeySet]) -> tuple[int, int, int]:
        """Count the classes that are too small, the records in them, and the classes, of the set that has most."""
        rare, records, most = 0, 0, 0
        for one in sets:
            which, sizes = classes(np.column_stack([self.columns[name][places[name]] for name in one.keys]))
            total = np.bincount(which, weights=self.counts, minlength=len(sizes))
            rare += int((total < one.k).sum())
            records, most = max(records, int(total[total < one.k].sum())), max(most, len(sizes))
        return rare, records, most


def _ladder(data: Microdata, name: str) -> tuple[Rung, ...]:
    """Return the key as it came and its coarser versions, each with fewer categories than the one before."""
    variable, column = data.schema[name], data.columns[name]
    ways: list[Way]
    if variable.quantitative:
        values, codes = np.unique(column, return_inverse=True)
        codes = np.where(np.isnan(column), -1, codes)
        present = column[~np.isnan(column)]
        ways = _date_ways(present) if variable.kind == "date" else _ways(present, values[~np.isnan(values)])
    else:
        codes = column
        ways = (
            [{"groups": g} for g in GROUPS]
            if variable.kind == "ordinal"
            else [{"rare": share} for share in _rare(codes)]
        )
    if variable.hierarchy is not None:  # somebody has thought about it
        ways = [{"level": level} for level in range(1, variable.hierarchy.height + 1)]
    rungs = [Rung(codes, _number(codes), entropy=_entropy(codes))]
    for way in ways:
        made = GlobalRecoding(**_named(way, name)).protect(data)
        if made.schema[name] is variable:  # as it was
            continue
        found = made.columns[name]
        if 2 <= _number(found) < rungs[-1].categories:
            rungs.append(Rung(found, _number(found), **way, entropy=_entropy(found), detail=_detail(column, found)))
    return tuple(rungs)


def _named(way: Way, name: str) -> dict[str, Any]:
    """Return the parameters of a recoding of one variable alone."""
    by_name: dict[str, Any] = {word: {name: way[word]} for word in ("bins", "level") if word in way}
    return by_name or {**way, "variables": (name,)}


def _rare(codes: Codes) -> list[float]:
    """Return the shares below which categories are rare, so that about 10, 7, 5, 4, 3 and 2 are left.

    >>> _rare(np.repeat([0, 1, 2, 3], [50, 30, 15, 5]))
    [0.16, 0.31]
    """
    counts = np.unique(codes[codes >= 0], return_counts=True)[1]
    shares = np.sort(counts)[::-1] / max(int(counts.sum()), 1)
    found = []
    for left in GROUPS:
        if left >= len(shares):
            continue
        smallest_kept, largest_merged = float(shares[left - 2]), float(shares[left - 1])
        for digits in (2, 3, 4):  # the roundest share between the two
            share = math.ceil(largest_merged * 10**digits + 1e-9) / 10**digits
            if largest_merged < share <= smallest_kept:
                found.append(share)
                break
    return found


def _ways(present: NDArray[np.float64], values: NDArray[np.float64]) -> list[Way]:
    """Return the ways to put a number into classes, from fine to coarse."""
    whole = is_whole(values)
    if len(values) <= FEW:  # a count: its open end first, then groups
        reached = np.searchsorted(np.sort(present), values, side="left") / max(present.size, 1)
        tops = [value for value, below in zip(values.tolist(), reached.tolist(), strict=True) if 1 - below >= END]
        return [{"bins": tuple(tops[1:])}, *({"groups": g} for g in GROUPS)] if len(tops) > 1 else []
    if not whole or 2 * len(values) > present.size:  # an amount: groups of the same number of records
        return [{"groups": g} for g in (BANDS, *GROUPS)]
    low, high = float(values[0]), float(values[-1])
    least = math.floor(math.log10((high - low) / BANDS))
    widths = [digit * 10.0**power for power in range(least, least + 4) for digit in DIGITS]
    widths = [width for width in widths if (high - low) / BANDS <= width < high - low and width == round(width)]
    return [{"bins": cuts} for width in widths if (cuts := _cuts(present, low, high, width))]


def _date_ways(present: NDArray[np.float64]) -> list[Way]:
    """Return the ways to put a date into classes: by month, quarter and year, then in longer spans with open ends."""
    if not present.size:
        return []
    low, high = float(present.min()), float(present.max())
    ways: list[Way] = [{"bins": span} for span in ("month", "quarter", "year")]
    for years in SPANS:
        edges = Span(12 * years, "months").edges(low, high)[1:-1]
        inner = [edge for edge in edges if END <= float((present < edge).mean()) <= 1 - END]
        if inner:
            ways.append({"bins": tuple(map(spelled, inner))})
    return [*ways, *({"groups": g} for g in GROUPS[2:])]


def _cuts(present: NDArray[np.float64], low: float, high: float, width: float) -> tuple[float, ...]:
    """Return the multiples of a width between which bands lie, the outer ones open and not nearly empty.

    >>> _cuts(np.arange(100.0), 0.0, 99.0, 30.0)
    (30, 60, 90)
    """
    cuts = [i * width for i in range(math.floor(low / width) + 1, math.floor(high / width) + 1)]
    share = {cut: float((present < cut).mean()) for cut in cuts}
    return tuple(int(cut) if cut == int(cut) else cut for cut in cuts if END <= share[cut] <= 1 - END)


def _detail(before: NDArray[Any], after: Codes) -> float:
    """Return what is left of a key, as global data utility counts it."""
    there = (after >= 0) & (~np.isnan(before) if before.dtype.kind == "f" else before >= 0)
    return kept("heterogeneity", before[there], after[there], None, by_records=True) if there.any() else 0.0


def _number(codes: Codes) -> int:
    """Count the categories that occur."""
    return len(np.unique(codes[codes >= 0]))


def _entropy(codes: Codes) -> float:
    """Return the entropy of the categories present; of a constant a small number, so that it can divide."""
    counts = np.unique(codes[codes >= 0], return_counts=True)[1]
    shares = counts / max(int(counts.sum()), 1)
    return max(float(-(shares * np.log(shares)).sum()), 1e-12)
