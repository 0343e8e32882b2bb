"""How far the keys must be made coarser: which keys records must agree in, and ladders of recodings climbed for it.

The sets of keys are those of the scenarios of the schema and of the measures that judge. Each key has a ladder of
coarser versions: a number in bands of growing width with open ends, a date by month, quarter, year and longer spans, an
ordinal variable in fewer groups of neighbours, a nominal one with more of its rare categories merged. Of all next rungs
the one is taken that removes most small classes of records for the detail that it costs (the fall of the log of the
key's entropy), until no class is small or nothing is left to coarsen.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.composition import clauses
from sfumato.core import Measure, Method
from sfumato.kernels.groups import classes
from sfumato.methods import GlobalRecoding, VariableRemoval, WeightMasking
from sfumato.risk import KAnonymity
from sfumato.risk.household_attack import Members
from sfumato.table.bands import Span, is_whole
from sfumato.table.dates import spelled
from sfumato.table.households import household_level, number_published, once_per_household, sizes, units
from sfumato.table.microdata import Microdata
from sfumato.table.schema import ALL_KEYS, Scenario, Schema
from sfumato.utility.global_utility.coarsening import kept

Codes = NDArray[np.integer]
Bins = tuple[float | str, ...] | str  # cut points, or a span of the calendar
Way = dict[str, Any]  # the parameter of GlobalRecoding that makes a key coarser, and its value
MAX_VALUES_OF_COUNT = 12  # different whole numbers up to which a key is a count, such as persons in a household
MAX_BANDS = 20  # the most bands of a number
MIN_SHARE_OF_OPEN_END = 0.03  # the share of records that an open end holds at least
DIGITS = (1.0, 1.5, 2.0, 3.0, 5.0)  # widths are these times a power of ten
SPANS = (2, 5, 10, 20, 50)  # years in which a date is given
GROUPS = (10, 7, 5, 4, 3, 2)  # categories that are left of a key
DETAIL_OF_REMOVED_KEY = 0.0  # the detail of a key that is left out; what its associations are worth is measured
MAX_SHARE_IN_SMALL_CLASSES = 0.03  # of the records may be in classes that are too small, where a stage is refined
REACH = 3  # rungs that a key moves at a time where a stage is refined
MAX_COUNTED_COMBINATIONS = 40_000_000  # combinations of keys that are counted in all where a stage is refined
MIN_STAGES, MAX_STAGES = 100, 4_000  # stages that are tried there
USUAL = (KAnonymity().k, 5, 10)  # how many records are made alike where nobody says it
# of households:
STRICTER = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1)  # times the share of persons that may be found: so strict are keys
AIMS = (
    (0.92, 3),
    (0.7, 1),
    (0.45, 1),
)  # of a bound on households, as blanks change what is found; and how many ways for each
SURE = 0.75  # of the bound, up to which what they share is made finer again
OF_CLASSES = 0.85  # the same for persons, as where no household is bounded
MIN_HOUSEHOLDS = 2  # households of each combination of what they share, at the end of the climb: as many as there are
DETAIL_OF_REMOVED_VARIABLE = 0.02  # of its detail is what a variable that is left out counts as having left


@dataclass(frozen=True)
class KeySet:
    """Keys that are known together, and the number of records that must agree in them."""

    keys: tuple[str, ...]
    k: int

    def within(self, names: Collection[str]) -> "KeySet":
        """Return those of the keys that are among some names, in the order of the names."""
        return KeySet(tuple(name for name in names if name in self.keys), self.k)

    def implies(self, other: "KeySet") -> bool:
        """Tell whether records that agree as this asks agree as the other asks."""
        return set(other.keys) <= set(self.keys) and other.k <= self.k


def intruders_of(measure: Measure, schema: Schema) -> tuple[Scenario, ...]:
    """Return the intruders that a measure judges by: those of the schema, if it reads scenarios, or its own keys.

    >>> from sfumato import Reidentification
    >>> [intruder.keys for intruder in intruders_of(Reidentification(variables=("town", "age")), Schema())]
    [('town', 'age')]
    """
    if not measure.about.keys:
        return ()
    if measure.variables is None and hasattr(measure, "scenarios"):
        named = measure.scenarios
        return tuple(one for one in schema.intruders() if named is None or one.name in named)
    keys = measure.variables or schema.analysed(role="key")
    stated = getattr(measure, "k", None)
    return (Scenario(ALL_KEYS, keys, max(stated or USUAL[0], 2)),) if keys else ()


def read_by(measure: Measure, schema: Schema) -> tuple[str, ...]:
    """Name the variables that a measure reads in a table."""
    named = dict.fromkeys(name for intruder in intruders_of(measure, schema) for name in intruder.keys)
    return tuple(named) or measure.variables or schema.analysed(*measure.about.kinds)


def wanted(keys: Sequence[str], schema: Schema, judging: Sequence[Measure]) -> list[tuple[KeySet, ...]]:
    """Return what to ask of the keys, one way after the other.

    Without scenarios all keys are one set, with the largest k of a measure that has one, or else with 3, 5 and 10. With
    scenarios each has a set of its own and its own k; where no measure has a k, at least 5 and 10 are tried as well.
    """
    stated = sorted((int(k) for m in judging if (k := getattr(m, "k", None)) is not None), reverse=True)
    if not schema.scenarios:
        return [(KeySet(tuple(keys), k),) for k in stated[:1] or USUAL]
    intruders = judged(schema, judging)
    several = []
    for least in (0,) if stated else (0, *USUAL[1:]):
        sets = [KeySet(one.keys, max(one.k, least)).within(keys) for one in intruders]
        several.append(_needed(one for one in sets if one.keys))
    return list(dict.fromkeys(sets for sets in several if sets))


def found_among(schema: Schema, judging: Iterable[Measure]) -> tuple[KeySet, ...]:
    """Return the keys of those who know that a person is in the file: among n records alike their chance is 1/n."""
    known = [one for one in judged(schema, judging) if one.knows_membership]
    return _needed(KeySet(one.exact, one.k) for one in known if one.exact)


def judged(schema: Schema, judging: Iterable[Measure]) -> tuple[Scenario, ...]:
    """Return the intruders of all measures over keys; where there is no such measure, those of the schema."""
    found = tuple(one for measure in judging for one in intruders_of(measure, schema))
    return found or schema.intruders()


def _needed(sets: Iterable[KeySet]) -> tuple[KeySet, ...]:
    """Leave out what another set implies; the widest come first."""
    left: list[KeySet] = []
    for one in sorted(dict.fromkeys(sets), key=lambda s: (-len(s.keys), -s.k)):
        if not any(other.implies(one) for other in left):
            left.append(one)
    return tuple(left)


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
        asked = min(max(MAX_COUNTED_COMBINATIONS // len(counted.counts), MIN_STAGES), MAX_STAGES)

        def left(places: Mapping[str, int]) -> float:
            small = counted.small(places, sets)[1] if sets else 0
            return self._detail(places, worth) - small / counted.records

        def fits(places: Mapping[str, int]) -> bool:
            few = not sets or counted.small(places, sets)[1] <= allowed
            return few and counted.small(places, crowds)[2] <= most

        at = dict(stage.rungs)
        best = left(at)
        allowed = max(MAX_SHARE_IN_SMALL_CLASSES * counted.records, counted.small(at, sets)[1] if sets else 0)
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
            name: Rung(np.zeros_like(ladder[0].codes), 1, entropy=1e-12, detail=DETAIL_OF_REMOVED_KEY)
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
    if len(values) <= MAX_VALUES_OF_COUNT:  # a count: its open end first, then groups
        reached = np.searchsorted(np.sort(present), values, side="left") / max(present.size, 1)
        tops = [
            value
            for value, below in zip(values.tolist(), reached.tolist(), strict=True)
            if 1 - below >= MIN_SHARE_OF_OPEN_END
        ]
        return [{"bins": tuple(tops[1:])}, *({"groups": g} for g in GROUPS)] if len(tops) > 1 else []
    if not whole or 2 * len(values) > present.size:  # an amount: groups of the same number of records
        return [{"groups": g} for g in (MAX_BANDS, *GROUPS)]
    low, high = float(values[0]), float(values[-1])
    least = math.floor(math.log10((high - low) / MAX_BANDS))
    widths = [digit * 10.0**power for power in range(least, least + 4) for digit in DIGITS]
    widths = [width for width in widths if (high - low) / MAX_BANDS <= width < high - low and width == round(width)]
    return [{"bins": cuts} for width in widths if (cuts := _cuts(present, low, high, width))]


def _date_ways(present: NDArray[np.float64]) -> list[Way]:
    """Return the ways to put a date into classes: by month, quarter and year, then in longer spans with open ends."""
    if not present.size:
        return []
    low, high = float(present.min()), float(present.max())
    ways: list[Way] = [{"bins": span} for span in ("month", "quarter", "year")]
    for years in SPANS:
        edges = Span(12 * years, "months").edges(low, high)[1:-1]
        inner = [
            edge
            for edge in edges
            if MIN_SHARE_OF_OPEN_END <= float((present < edge).mean()) <= 1 - MIN_SHARE_OF_OPEN_END
        ]
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
    return tuple(
        int(cut) if cut == int(cut) else cut
        for cut in cuts
        if MIN_SHARE_OF_OPEN_END <= share[cut] <= 1 - MIN_SHARE_OF_OPEN_END
    )


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


# Candidates that keep households apart: what their members share is made so coarse that it puts nobody together.
#
# Who knows all members of a household finds them by their keys together, if the file shows who lives together: by a
# number, or by what they share. So the number is left out; region, dwelling, size and amounts of the household are
# made coarser step by step, and left out at last; and the weight is raked to what is left, so that it tells no more.
# The keys of persons are treated as ever, but for fewer to be found than is asked for, because several members tell
# more than one. How coarse what they share must be follows from the bound: the first step that keeps it, as far as
# can be told before any value is blanked.


@dataclass(frozen=True)
class HouseholdTreatment:
    """What is done to what households share, before persons' keys are treated and after, and how strictly these are."""

    before: tuple[Method, ...]
    after: tuple[Method, ...]
    share: float  # of the bound that persons are held to

    @property
    def clause(self) -> str:
        """What is done before."""
        return "; ".join(filter(None, clauses(self.before)))


@dataclass(frozen=True)
class JudgedStage:
    """A stage judged before any value is blanked."""

    found: float  # the share of households
    detail: float  # left of keys and of what households share, as entropy: 1 for each that stays as it came
    keys: tuple[tuple[str, int], ...] = ()  # how much coarser than the stage each key is made


@dataclass(frozen=True, eq=False)
class SharedVariables:
    """What households share, on ladders of coarser versions, and the keys of those who know all members of one."""

    data: Microdata
    names: tuple[str, ...]
    guessing: tuple[KeySet, ...]
    _judged: dict[tuple[int, float], JudgedStage] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Microdata, guessing: Sequence[KeySet]) -> "SharedVariables":
        """Look at what households share; ``guessing`` are the keys of intruders who know that one took part."""
        special = (data.schema.weight, data.schema.household)
        names = [name for name in household_level(data) if name not in special and name in data.schema.analysed()]
        return cls(data, tuple(name for name in names if name not in data.schema.led(names)), tuple(guessing))

    @cached_property
    def _homes(self) -> tuple[Microdata, NDArray[np.int64]]:
        return once_per_household(self.data, self.names)

    @cached_property
    def ladders(self) -> Ladders:
        """The ladders of what households share; the last rung of each leaves it out."""
        homes = self._homes[0]
        found = Ladders.of(homes, self.names).rungs.items()
        nothing = np.zeros(len(homes), dtype=np.int64)
        return Ladders(
            {
                name: (*one, Rung(nothing, 1, entropy=DETAIL_OF_REMOVED_VARIABLE * one[0].entropy, detail=0.0))
                for name, one in found
            }
        )

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages from what households share as it came to nothing at all, one rung more each."""
        if not self.names:
            return (Stage({}, 0, 1),)
        stages = self.ladders.climb([KeySet(self.names, MIN_HOUSEHOLDS)], {})
        for households in (5, 20, 100, len(self._homes[0]) + 1):  # what is rare first, then ever larger groups
            start = Ladders({n: self.ladders.rungs[n][place:] for n, place in stages[-1].rungs.items()})
            more = start.climb([KeySet(self.names, households)], {})[1:]
            base = stages[-1].rungs
            stages += tuple(replace(s, rungs={n: base[n] + place for n, place in s.rungs.items()}) for s in more)
        return stages

    @cached_property
    def persons(self) -> Ladders:
        """The ladders of the keys that members of a household need not share."""
        keys = dict.fromkeys(name for one in self.guessing for name in one.keys if name not in self.names)
        return Ladders.of(self.data, keys)

    @cached_property
    def size(self) -> str | None:
        """A variable that says how many members a household has."""
        return next((name for name in sizes(self.data) if name in self.names), None)

    @cached_property
    def _records(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The place of each record's household in the table of households, and its number."""
        return self._homes[1], units(self.data)

    def judged(self, number: int, persons: float) -> JudgedStage:
        """Judge a stage, by its number, where so many persons may be found by their keys."""
        key = number, persons
        if key not in self._judged:
            self._judged[key] = self._judge(self.stages[number], persons)
        return self._judged[key]

    def _judge(self, stage: Stage, persons: float) -> JudgedStage:
        home, unit = self._records
        rungs: dict[str, tuple[Rung, ...]] = dict(self.persons.rungs)
        for name, place in stage.rungs.items():
            left = self.ladders.rungs[name][place:]
            rungs[name] = tuple(replace(rung, codes=rung.codes[home]) for rung in left[: len(left) - 1] or left)
        group = classes(np.column_stack([*(rungs[n][0].codes for n in self.names), np.zeros_like(home)]))[0]
        at, found, short = dict.fromkeys(self.names, 0), 0.0, 0
        for known in self.guessing:
            crowd = replace(known, k=max(known.k, math.ceil(1 / persons)))
            stages = Ladders({name: rungs[name] for name in known.keys}).climb([crowd], {})
            enough = (one for one in stages if one.classes <= OF_CLASSES * persons * len(home))
            reached = next(enough, None)
            keys = (reached or stages[-1]).rungs
            short += reached is None
            at |= {name: max(place, at.get(name, 0)) for name, place in keys.items()}
            columns = [rungs[name][place].codes for name, place in keys.items()]
            columns += [rungs[self.size][0].codes] if self.size is not None else []
            codes = np.column_stack(columns).astype(np.int32)
            members = Members.of(codes, codes)
            attacks = members.in_groups(unit, group.astype(np.int64)), members.alike(unit, group.astype(np.int64))
            found = max(found, *(float(chance.mean()) for chance in attacks))
        finest = {**self.persons.rungs, **self.ladders.rungs}
        detail = sum(rungs[name][place].entropy / finest[name][0].entropy for name, place in at.items())
        return JudgedStage(found, detail - short * len(at), tuple(at.items()))

    def mildest(self, limit: float, persons: float) -> int:
        """Return the number of the first stage at which households keep a bound; the last one if none does."""
        low, high = 0, len(self.stages) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.judged(middle, persons).found <= limit else (middle + 1, high)
        return low

    def finer(self, stage: Stage, limit: float, persons: float) -> Stage:
        """Return a stage with what households share one rung finer where they keep a bound all the same.

        A climb takes one rung after the other; by its end some of the first ones may not be needed any more.
        """
        at = dict(stage.rungs)

        def gain(name: str) -> float:
            ladder = self.ladders.rungs[name]
            return ladder[at[name] - 1].detail - ladder[at[name]].detail if at[name] else 0.0

        for name in sorted(at, key=lambda one: -gain(one)):
            while at[name] and gain(name) > 0:
                one = replace(stage, rungs={**at, name: at[name] - 1})
                if self._judge(one, persons).found > limit:
                    break
                at = dict(one.rungs)
        return replace(stage, rungs=at)

    def coarsened(self, stage: Stage) -> tuple[Method, ...]:
        """Return the steps that bring what households share to a stage."""
        gone = tuple(n for n, place in stage.rungs.items() if place == len(self.ladders.rungs[n]) - 1)
        left = replace(stage, rungs={name: place for name, place in stage.rungs.items() if name not in gone})
        removal = (VariableRemoval(variables=gone),) if gone else ()
        return (*self.ladders.recodings(left), *removal)


def kept_apart(data: Microdata, guessing: Sequence[KeySet], found: float, limit: float) -> Iterator[HouseholdTreatment]:
    """Return ways to keep households apart, so that no more than ``limit`` are found; none where no household is named.

    ``found`` is the share of persons that may be found.
    """
    home, weight = data.schema.household, data.schema.weight
    if home is None or not guessing or found <= 0:
        return
    shared = SharedVariables.of(data, guessing)
    after: list[Method] = []
    if weight is not None and np.ptp(data.weights()) > 0:
        after.append(WeightMasking("margins"))
    if number_published(data):
        after.append(VariableRemoval(variables=(home,)))
    tried: set[object] = set()
    for aim, several in AIMS:
        ways = [(shared.mildest(aim * limit, share * found), share) for share in STRICTER]
        judged = {way: shared.judged(way[0], way[1] * found) for way in ways}
        best = sorted(ways, key=lambda way: (judged[way].found > aim * limit, -judged[way].detail))
        different: dict[tuple[object, ...], tuple[int, float]] = {}
        for way in best:
            different.setdefault((way[0], judged[way].keys), way)
        for which in [one for one in different if one not in tried][:several]:
            tried.add(which)
            number, share = different[which]
            stage = shared.finer(shared.stages[number], min(aim, SURE) * limit, share * found)
            yield HouseholdTreatment(shared.coarsened(stage), tuple(after), share)
