"""Global recoding: the same coarser categories for every record."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method
from sfumato.display import MAX_DETAIL, Phrase
from sfumato.display import listed as in_sentence
from sfumato.errors import NotApplicable
from sfumato.methods.key_ladders import checked_hierarchies
from sfumato.methods.selection import checked, keys_or_all, refuse_special
from sfumato.pair import Half, Masking
from sfumato.pair.masking import category_weights
from sfumato.pair.sorting import Ordered
from sfumato.pair.statistics import Values
from sfumato.registry import catalogued, parameter_class
from sfumato.table import bands
from sfumato.table.bands import SPAN_EXAMPLES, Span
from sfumato.table.dates import day_of, spelled, written_out
from sfumato.table.draws import Draws
from sfumato.table.hierarchy import OTHER, Hierarchy, range_names, rarest
from sfumato.table.merging import classed, listed, merged, places
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Category, Kind, Schema, Variable, a_kind
from sfumato.table.treatment import OPEN

# Stated classes of a number or a date: what may be said, checked before any table is seen


def _checked_bins(owner: object, bins: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bins by variable as a width, rising cuts, or named classes in their order."""
    good: dict[str, Any] = {}
    for name, stated in bins.items():
        where = f"bins of {name!r}"
        if isinstance(stated, Mapping):
            good[name] = _checked_classes(owner, where, stated)
        elif isinstance(stated, tuple):
            places = [_place(cut) for cut in stated]
            known = bool(places) and not any(map(math.isnan, places)) and not _mixed(stated)
            if not known or any(a >= b for a, b in pairwise(places)):
                raise parameters.refuse(owner, f"{where} must be cut points that rise; got {stated!r}")
            good[name] = tuple(map(written_out, stated))
        elif _is_width(stated):
            good[name] = stated
        else:
            raise parameters.refuse(
                owner,
                f"{where} must be a width above 0, of a date {SPAN_EXAMPLES}, a list of cut points or a dict of "
                f"classes; got {stated!r}",
            )
    return good


def _checked_classes(owner: object, where: str, stated: Mapping[Any, Any]) -> dict[str, Any]:
    for label, ends in stated.items():
        pair = isinstance(ends, tuple) and len(ends) == 2
        if not isinstance(label, str) or not pair or not _low(ends) < _high(ends):
            raise parameters.refuse(
                owner, f"{where} must name each class by its two ends, such as {{'young': [0, 30]}}; got {stated!r}"
            )
    if len(stated) < 2:
        raise parameters.refuse(owner, f"{where}: one class leaves nothing of the variable; use VariableRemoval")
    if _mixed(end for ends in stated.values() for end in ends if end is not None):
        raise parameters.refuse(owner, f"{where} must have numbers or dates for ends, not both; got {stated!r}")
    ordered = sorted(stated.items(), key=lambda item: _low(item[1]))
    for (one, ends), (other, following) in pairwise(ordered):
        if _high(ends) > _low(following):
            raise parameters.refuse(owner, f"{where}: {one!r} and {other!r} overlap")
    return {label: tuple(map(written_out, ends)) for label, ends in ordered}


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_width(stated: Any) -> bool:
    """Tell whether a number is a width, or a text a span of the calendar."""
    return Span.of(stated) is not None if isinstance(stated, str) else _finite(stated) and stated > 0


def _place(value: Any) -> float:
    """Return a number, or a date in days; NaN where it is neither."""
    found = float(value) if _finite(value) else day_of(value)
    return math.nan if found is None else found


def _low(ends: tuple[Any, Any]) -> float:
    return -math.inf if ends[0] is None else _place(ends[0])


def _high(ends: tuple[Any, Any]) -> float:
    return math.inf if ends[1] is None else _place(ends[1])


def _mixed(values: Iterable[Any]) -> bool:
    return len({_finite(value) for value in values}) > 1


def _of_dates(stated: Any) -> bool:
    """Tell whether bins are those of a date: a span, or cut points and ends that are dates."""
    if isinstance(stated, Mapping):
        return not any(_finite(end) for ends in stated.values() for end in ends)
    return isinstance(stated[0] if isinstance(stated, tuple) else stated, str)


# Variables of a table in parts recoded: what each value becomes is learned from the values of the whole table

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
# how a variable is recoded: given the values that occur, each once, and how many records have each
Recode = Callable[[Variable, NDArray[Any], NDArray[np.int64]], tuple[Variable, NDArray[Any]]]
# the ranks of the values of a number, beside the ends, that its classes follow from
Ranks = Callable[[Ordered], Iterable[int]]


@dataclass(frozen=True, eq=False)
class RecodedInParts(Masking):
    """By variable, what each code becomes, or the code of each run of numbers between two edges."""

    schema: Schema
    codes: Mapping[str, Codes]  # by old code; the last is that of a missing value
    runs: Mapping[str, tuple[Floats, Codes]]

    @property
    def changes(self) -> frozenset[str]:
        return frozenset((*self.codes, *self.runs))

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> Codes:
        column = part.columns[name]
        if name in self.codes:
            return np.take(self.codes[name], column)
        edges, codes = self.runs[name]
        recoded = np.take(codes, np.searchsorted(edges, column, side="right"))
        recoded[np.isnan(column)] = -1
        return recoded


def _learned(
    half: Half, names: Iterable[str], recode: Recode, told: Callable[[Variable], Ranks | None]
) -> RecodedInParts:
    """Learn how the variables of a table are recoded, from the values that occur and how often each does.

    Where these take too much memory, from those whose ranks are ``told``; None: all are needed.
    """
    codes: dict[str, Codes] = {}
    runs: dict[str, tuple[Floats, Codes]] = {}
    changed = []
    for name in names:
        variable = half.schema[name]
        if variable.quantitative:
            ranks, found = told(variable), half.values_if_they_fit(name)
            few = found is None and ranks is not None
            if found is None:
                found = half.values(name) if ranks is None else _some(half, name, ranks)
            made, column = recode(variable, found.values, found.counts)
            if made is not variable:
                codes_of = column.astype(np.int32, copy=False)
                runs[name] = _between(made) if few else _runs(found.values, codes_of)
        else:
            counts = half.total(partial(category_weights, name, len(variable.categories)))["records"]
            there = np.flatnonzero(counts).astype(np.int32)
            made, column = recode(variable, there, counts[there])
            if made is not variable:
                codes[name] = np.full(len(variable.categories) + 1, -1, dtype=np.int32)
                codes[name][there] = column
        changed.append(made)
    return RecodedInParts(half.schema.replace(*changed), codes, runs)


def _some(half: Half, name: str, ranks: Ranks) -> Values:
    ordered = Ordered.of(half, name)
    return ordered.around(ranks(ordered))


def _between(classes: Variable) -> tuple[Floats, Codes]:
    """Return where each class of a number but the first begins, and the codes of all."""
    number = len(classes.categories)
    return np.array(classes.treatment.cuts[: number - 1], dtype=np.float64), np.arange(number, dtype=np.int32)


def _runs(values: Floats, codes: Codes) -> tuple[Floats, Codes]:
    """Put neighbouring values of the same code together: the first value of each run but the first, and the codes.

    >>> edges, codes = _runs(np.array([1.0, 2.0, 5.0, 9.0]), np.array([0, 0, 1, 1], dtype=np.int32))
    >>> edges.tolist(), codes.tolist()
    ([5.0], [0, 1])
    """
    starts = np.flatnonzero(np.diff(codes)) + 1
    return values[starts], codes[np.append(0, starts)] if len(codes) else np.full(1, -1, dtype=np.int32)


# Which values of a number tell its classes, by rank, where not all of them fit into memory; the ends always do


def _ranks_of_bins(stated: Any) -> Ranks | None:
    """Return what tells the values beside the ends of named classes; widths and cuts need none, spans of dates all."""
    if isinstance(stated, str):
        return None
    if not isinstance(stated, Mapping):
        return _none
    ends = {end for pair in stated.values() for end in pair if end is not None}
    return partial(_beside, places=sorted(end if (day := day_of(end)) is None else day for end in ends))


def _ranks_of_level(hierarchy: Hierarchy) -> Ranks | None:
    """Return what tells that a level by widths or cuts needs no further values; None: rows and spans need all."""
    return _none if hierarchy.widths or hierarchy.cuts else None


def _ranks_of_groups(ordered: Ordered, groups: int) -> list[int]:
    """Return the ranks of the values nearest to the boundaries of groups of equal size, and one more than groups."""
    ideal = len(ordered) * np.arange(1, groups) / groups  # as in ``bands.equal_counts``
    return [*(max(math.ceil(records) - 1, 0) for records in ideal.tolist()), *ordered.least(groups + 1)]


def _none(_: Ordered) -> tuple[int, ...]:
    return ()


def _beside(ordered: Ordered, places: list[float]) -> list[int]:
    return [ordered.rank_of(place) for place in places] if len(ordered) else []


# The method

CENTURY = 36_525  # days that a date is taken to run over, where recodings are put in order
FINEST = 1000  # categories that a variable which is not recoded is taken to have there
Times = NDArray[np.int64] | None
Column = tuple[Variable, NDArray[Any]]
parameter_class(Hierarchy)


@catalogued(
    MethodAbout(
        title="Global recoding",
        source="Hundepool et al. (2012), Statistical Disclosure Control, chapter 3 (global recoding)",
        missing="stays missing; shares and groups are of the values present",
        kinds=("numeric", "ordinal", "nominal", "date"),
        random=False,
        households="whole",
        grid={"groups": (10, 5, 3), "rare": (0.05,)},
        caveat="published values are true but coarser; what an intruder knows exactly still matches its class, and "
        "another release with other classes of the same variable narrows them down",
        formula="x' = the class that holds x, the same classes for every record\n"
        "bins:      [b_1, b_2), [b_2, b_3), ...\n"
        "map:       the group of x             level l:  the group of x at level l of its hierarchy\n"
        "groups G:  cut i lies where the cumulated number of records is nearest to i n / G\n"
        "rare s:    categories with fewer than s n records become 'other', and the next rarest too,\n"
        "           until 'other' has s n records",
        reading="``groups``: 10 keeps most of a variable, 5 and 3 leave little of it; rare: 0.05 merges categories "
        "of fewer than 5 %. No published value is wrong, so classes of keys can be counted (KAnonymity, "
        "IndividualRisk) and the loss is one of detail: fewer comparisons are possible. Start with the keys that make "
        "most records unique (SampleUniques by variable).",
        group="Coarsen",
        labels={
            "groups": "Groups of about equal size (groups)",
            "by": "Classes of equal (by)",
            "rare": "Categories below this share of the records become 'other' (rare)",
            "map": "Categories merged: of each variable, {'category': 'group'} (map)",
            "bins": "Classes of numbers and dates: a width, cut points as [18, 65], or a span as 10 years (bins)",
            "hierarchy": "Hierarchies, where the schema has none (hierarchy)",
            "level": "Level of the hierarchy (level)",
        },
    )
)
class GlobalRecoding(Method):
    """Values put together into fewer, the same way in every record: true, but coarser.

    Say how by variable, or for all that are not named so:

    - ``map={"region": {"north": "N", "east": "N"}}``: categories into groups. A category the map does not name stays as
      it is; one that the variable does not have is refused.
    - ``bins``: classes of a number, each holding its lower boundary: ``{"age": 5}`` by width, at multiples of 5;
      ``{"age": [18, 65]}`` by cut points, open at both ends; ``{"age": {"young": [0, 30], "old": [30, None]}}`` by
      name, where None is open. Classes that overlap or miss a value are refused. Classes of a date: ``{"born":
      "month"}``, "quarter", "year", "10 years" or "2 weeks", at the calendar's own boundaries; cut points and ends are
      dates, ``{"born": ["1950-01-01", "1980-01-01"]}``; ``age_at("2020-12-31", [18, 65])`` makes those of ages.
    - ``level={"region": 2}``: a level of the variable's ``Hierarchy``, which the schema holds or ``hierarchy`` gives:
      ``hierarchy={"region": {"Aix": ["south", "France"], ...}}``, the groups of each category, nearest first, or of a
      number the widths of its classes, ``{"age": [5, 10, 20]}``, of a date ``{"born": ["month", "year"]}``. Without a
      level it is 1; ``level=2`` is that of all that ``hierarchy`` names. Level 0 is the variable as it is. Every
      category that occurs must be there.
    - ``groups=5``: all other numbers, dates and ordinal variables, in at most so many groups of about as many records
      each (``by="frequency"``: boundaries go to the nearest place between two different values, and to the roundest
      number or date there) or of the same width (``by="width"``). One with no more values than that stays as it is.
    - ``rare=0.05``: of all other nominal variables, the categories with a smaller share of the records are called
      'other', and the next rarest too until 'other' itself has that share. A variable of which fewer than two
      categories would be left stays as it is. ``rare={"job": 0.05, "town": 0.01}`` for some variables only.

    ``groups`` and ``rare`` work on ``variables``, or if there are none on the keys, or if the schema names none on all.
    Groups of an ordinal variable must be neighbours, and stay ordered. Numbers become ordinal: "18-24" holds both ends,
    "[1200, 3400)" not the upper. Counts are of records, not of weights, since it is records that must not be rare.

    >>> import pyarrow as pa
    >>> ages = pa.table({"age": [17, 18, 24, 30, 41, 65]})
    >>> GlobalRecoding(bins={"age": [18, 25, 65]}).protect(ages)["age"].to_pylist()
    ['<18', '18-24', '18-24', '25-64', '25-64', '65+']
    """

    groups: int | None = None
    by: Literal["frequency", "width"] = field(default="frequency", kw_only=True)
    rare: float | Mapping[str, float] | None = field(default=None, kw_only=True)
    map: Mapping[str, Mapping[Any, Any]] | None = field(default=None, kw_only=True)
    bins: Mapping[str, Any] | None = field(default=None, kw_only=True)
    hierarchy: Mapping[str, Any] | None = field(default=None, kw_only=True)
    level: int | Mapping[str, int] = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "by", ("frequency", "width"))
        if self.groups is not None:
            parameters.whole(self, "groups", least=2)
        self._check_rare()
        parameters.by_variable(self, "map", "{'region': {'north': 'N', 'east': 'N'}}")
        parameters.by_variable(self, "bins", "{'age': [18, 65]}")
        parameters.by_variable(self, "hierarchy", "{'region': {'Aix': ['south', 'France']}}")
        for name, pairs in (self.map or {}).items():
            if not isinstance(pairs, Mapping) or not pairs or None in pairs or None in pairs.values():
                raise parameters.refuse(
                    self, f"map of {name!r} must be a dict from category to group, neither missing; got {pairs!r}"
                )
        object.__setattr__(self, "bins", self.bins and parameters.frozen(_checked_bins(self, self.bins)))
        object.__setattr__(self, "hierarchy", self.hierarchy and checked_hierarchies(self, self.hierarchy))
        object.__setattr__(self, "level", parameters.frozen(self.level))
        _check_levels(self, self._levels())
        named = self.named()
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise parameters.refuse(
                self, f"{', '.join(twice)}: give a map, bins, a hierarchy or a share, not two of them"
            )
        if not named and self.groups is None and self.rare is None:
            raise parameters.refuse(self, "say how: groups=5, rare=0.05, map={...}, bins={...} or level={'age': 2}")
        if self.variables is not None and self.groups is None and not isinstance(self.rare, float):
            raise parameters.refuse(self, "variables goes with groups or rare; map, bins and hierarchy name their own")

    def _check_rare(self) -> None:
        if not isinstance(self.rare, Mapping):
            if self.rare is not None:
                parameters.share(self, "rare")
            return
        parameters.by_variable(self, "rare", "{'job': 0.05}")
        for name, share in self.rare.items():
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
                raise parameters.refuse(self, f"rare of {name!r} must be in (0, 1]; got {share!r}")

    def _rare(self) -> Mapping[str, float]:
        """Return the share below which categories are rare of each variable that is named with one."""
        return self.rare if isinstance(self.rare, Mapping) else {}

    def named(self) -> tuple[str, ...]:
        """Name the variables of which is said how they are recoded: by bins, a map, a level or a share."""
        return tuple(name for stated in (self.bins, self.map, self._levels(), self._rare()) for name in stated or ())

    def _levels(self) -> dict[str, int]:
        """Return the level of each variable that goes by a hierarchy."""
        given = self.hierarchy or {}
        if isinstance(self.level, Mapping):
            return {**dict.fromkeys(given, 1), **self.level}
        return dict.fromkeys(given, self.level)

    def masked(self, data: Microdata) -> tuple[str, ...]:
        named = self.named()
        checked(data, (*named, *(self.variables or ())))
        ordered: tuple[Kind, ...] = ("numeric", "date", "ordinal") if self.groups is not None else ()
        kinds: tuple[Kind, ...] = (*ordered, "nominal") if isinstance(self.rare, float) else ordered
        if self.variables is None:
            others = keys_or_all(data, kinds, named) if kinds else ()
        else:
            others = self.variables
            for name in others:
                kind = data.schema[name].kind
                if kind not in kinds and name not in named:
                    hint = "rare=0.05, a map or a hierarchy" if kind == "nominal" else "groups=5, bins or a map"
                    raise NotApplicable(f"variable {name!r} is {a_kind(kind)}; recode it with {hint}")
        refuse_special(data, (*named, *others))
        return tuple(name for name in data.names if name in {*named, *others})

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        changed: dict[str, Column] = {}
        notes = []
        for name in self.masked(data):
            variable, column = self._recoded(data.schema[name], data.columns[name])
            if variable is data.schema[name]:
                notes.append(f"{name} as it was")
                continue
            changed[name] = variable, column
            notes.append(f"{name} in {len(variable.categories)} ({listed(variable.categories, 6)})")
        return data.recast(changed, f"{type(self).__name__}: {'; '.join(notes)}")

    def learn(self, half: Half, draws: Draws) -> Masking:
        return _learned(half, self.masked(half.parts[0]), self._recoded, self._told)

    def _told(self, variable: Variable) -> Ranks | None:
        """Return what tells of which ranks the values are that a number's classes follow from; None: of all."""
        name = variable.name
        if name in (self.bins or {}):
            return _ranks_of_bins((self.bins or {})[name])
        if name in self._levels():
            hierarchy = (self.hierarchy or {}).get(name, variable.hierarchy)
            return None if hierarchy is None else _ranks_of_level(hierarchy)
        return partial(_ranks_of_groups, groups=self.groups or 0)

    def _recoded(self, variable: Variable, column: NDArray[Any], times: Times = None) -> Column:
        """Recode a column; ``times``: each value stands once, for so many records."""
        name = variable.name
        if name in (self.map or {}):
            return self._mapped(variable, column)
        if name in (self.bins or {}):
            return self._binned(variable, column, (self.bins or {})[name])
        if name in self._levels():
            return self._at_level(variable, column)
        if variable.kind == "nominal" or name in self._rare():
            return self._without_rare(variable, column, times)
        return self._grouped(variable, column, times)

    # what is stated

    def _mapped(self, variable: Variable, column: NDArray[Any]) -> Column:
        pairs = (self.map or {})[variable.name]
        if variable.quantitative:
            raise NotApplicable(
                f"variable {variable.name!r} is {a_kind(variable.kind)}, so it has no categories to map; give bins, or "
                "make it ordinal or nominal in the schema"
            )
        into: list[Category] = list(variable.categories)
        for category, code in places(variable, pairs, "map").items():
            into[code] = pairs[category]
        return merged(variable, column, into)

    def _binned(self, variable: Variable, column: NDArray[Any], stated: Any) -> Column:
        name = variable.name
        if not variable.quantitative:
            raise NotApplicable(f"variable {name!r} is {variable.kind}; bins are for numbers and dates, give a map")
        if np.isnan(column).all():
            return variable, column
        if variable.kind == "date" and not _of_dates(stated):
            raise NotApplicable(
                f"variable {name!r} is a date, so its bins are {SPAN_EXAMPLES}, or cut points as dates, such as "
                f"['1950-01-01', '1980-01-01']; got {stated!r}"
            )
        if variable.kind != "date" and _of_dates(stated):
            raise NotApplicable(f"bins of {name!r} are those of a date, but it is numeric; give numbers: {{'age': 5}}")
        if isinstance(stated, Mapping):
            return self._named(variable, column, stated)
        if isinstance(stated, tuple):
            return Hierarchy(cuts=(stated,)).at(variable, column, 1)
        made = Hierarchy(spans=(stated,)) if variable.kind == "date" else Hierarchy(widths=(stated,))
        return made.at(variable, column, 1)

    def _named(self, variable: Variable, column: NDArray[Any], stated: Mapping[str, Any]) -> Column:
        """Put values into classes that have a name; all must be in one."""
        if variable.kind == "date":
            stated = {name: tuple(end and day_of(end) for end in pair) for name, pair in stated.items()}
        lows = np.array([-math.inf if low is None else low for low, _ in stated.values()])
        highs = np.array([math.inf if high is None else high for _, high in stated.values()])
        place = np.searchsorted(lows, column, side="right") - 1
        missed = ~np.isnan(column) & ((place < 0) | (column >= highs[np.maximum(place, 0)]))
        if missed.any():
            row = int(np.flatnonzero(missed)[0])
            raise NotApplicable(
                f"bins of {variable.name!r} miss {int(missed.sum()):,} values, the first "
                f"{_shown(variable, column[row])} in row {row + 1}; a class holds its lower boundary and not its upper "
                "one"
            )
        return classed(variable, column, lows[1:].tolist(), tuple(stated))

    def _at_level(self, variable: Variable, column: NDArray[Any]) -> Column:
        hierarchy: Hierarchy | None = (self.hierarchy or {}).get(variable.name, variable.hierarchy)
        if hierarchy is None:
            raise NotApplicable(
                f"the schema has no hierarchy of {variable.name!r}; `sfumato hierarchy` writes one, or give it here: "
                f"hierarchy={{{variable.name!r}: ...}}"
            )
        return hierarchy.at(variable, column, self._levels()[variable.name])

    # what the table gives

    def _grouped(self, variable: Variable, column: NDArray[Any], times: Times) -> Column:
        groups = self.groups or 0
        if variable.kind == "ordinal":
            counts = _counts(variable, column, times)
            if np.count_nonzero(counts) <= groups:
                return variable, column
            size = len(counts)
            even = [round(i * size / groups) for i in range(1, groups)]
            starts = bands.equal_counts(counts, groups) if self.by == "frequency" else even
            parts = [variable.categories[a:b] for a, b in pairwise([0, *starts, size])]
            names = range_names(parts)
            into = [name for name, part in zip(names, parts, strict=True) for _ in part]
            spelled = {name: _range_label(variable, part) for name, part in zip(names, parts, strict=True)}
            texts = spelled if variable.labels else {}
            return merged(variable, column, into, labels=texts)
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True) if times is None else (column, times)
        if len(values) <= groups:
            return variable, column
        if variable.kind == "date":
            return self._grouped_dates(variable, column, values, counts)
        whole = bands.is_whole(values)
        if self.by == "width":
            cuts = bands.equal_widths(float(values[0]), float(values[-1]), groups, whole=whole)
        else:
            starts = bands.equal_counts(counts, groups)
            cuts = [bands.roundest(float(values[j - 1]), float(values[j])) for j in starts]
        return classed(variable, column, cuts, bands.labels([-math.inf, *cuts, math.inf], whole=whole), ends=OPEN)

    def _grouped_dates(
        self, variable: Variable, column: NDArray[Any], values: NDArray[Any], counts: NDArray[np.integer]
    ) -> Column:
        if self.by == "width":
            cuts = bands.equal_spans(float(values[0]), float(values[-1]), self.groups or 0)
        else:
            starts = bands.equal_counts(counts, self.groups or 0)
            cuts = [bands.roundest_day(float(values[j - 1]), float(values[j])) for j in starts]
        return classed(variable, column, cuts, bands.date_labels([-math.inf, *cuts, math.inf]), ends=OPEN)

    def _without_rare(self, variable: Variable, column: NDArray[Any], times: Times) -> Column:
        if variable.kind != "nominal":
            hint = "merge neighbours by a map" if variable.kind == "ordinal" else "give bins"
            raise NotApplicable(
                f"variable {variable.name!r} is {a_kind(variable.kind)}, so no category is rare; {hint}"
            )
        share = self.rare.get(variable.name, 0.0) if isinstance(self.rare, Mapping) else self.rare or 0.0
        counts = _counts(variable, column, times)
        other = set(rarest(counts, share).tolist())
        if not other:
            return variable, column
        other |= {code for code, category in enumerate(variable.categories) if category == OTHER}
        if np.count_nonzero(counts) - sum(counts[code] > 0 for code in other) < 1:
            return variable, column
        into = [OTHER if code in other else category for code, category in enumerate(variable.categories)]
        return merged(variable, column, into, last=OTHER)

    def subject(self, names: Iterable[str] | None = None) -> str:
        """Nothing: each variable is named with what becomes of it."""
        return ""

    def in_words(self, schema: Schema | None = None) -> str:
        return self.run_in_words([self], schema)

    def short(self) -> Phrase:
        return self.run_in_short([self])

    def told_with(self, before: Method, *, short: bool) -> bool:
        return isinstance(before, GlobalRecoding)

    @classmethod
    def run_in_words(cls, run: Sequence["GlobalRecoding"], schema: Schema | None = None) -> str:
        """Say which variables are made coarser, and how coarse.

        >>> (GlobalRecoding(5, variables="income") + GlobalRecoding(rare=0.05, variables=("region", "job"))).in_words()
        'income is given in 5 groups, region and job with the smallest categories merged'
        """
        ways: dict[str, list[str]] = {}
        for step in run:
            for name, way in step._ways(schema):
                ways.setdefault(way, []).append(name)
        (way, names), *rest = ways.items()
        others = (f"{in_sentence(tuple(named), len(named))} {other}" for other, named in rest)
        verb = "are" if len(names) > 1 or names[0].endswith(" keys") else "is"
        return ", ".join([f"{in_sentence(tuple(names), len(names))} {verb} given {way}", *others])

    def _ways(self, schema: Schema | None) -> Iterable[tuple[str, str]]:
        """Return how each variable is given."""
        for name, bins in (self.bins or {}).items():
            yield name, _bands_in_words(bins)
        stated = self.named()
        for name in stated:
            if name not in (self.bins or ()):
                yield name, "with the smallest categories merged" if name in self._rare() else "in broader categories"
        groups = f"in {self.groups} groups" if self.groups is not None else ""
        rare = "with the smallest categories merged" if isinstance(self.rare, float) else ""
        for name in (n for n in self.variables or () if n not in stated):
            if not (groups and rare):
                yield name, groups or rare
            elif schema is None or name not in schema:
                yield name, "in fewer categories"
            else:
                yield name, rare if schema[name].kind == "nominal" else groups
        if self.variables is None and groups:
            yield "ordered keys", groups
        if self.variables is None and rare:
            yield "other keys", rare

    @classmethod
    def run_in_short(cls, run: Sequence["GlobalRecoding"]) -> Phrase:
        """Name the variables, or how many they are."""
        names = [n for step in run for n in step.named()]
        names += [n for step in run for n in step.variables or ()]
        what = ", ".join(dict.fromkeys(names)) or "keys"
        what = what if len(what) <= MAX_DETAIL else f"{len(set(names))} variables"
        return Phrase(f"recode {what}", "coarse", detail_lost=sum(step._detail_lost() for step in run))

    def _detail_lost(self) -> float:
        """Return how much detail it takes: the sum over its variables of the logs of categories lost.

        What is not known without the data is counted as it would be in most tables: a share below which categories are
        rare leaves no more than one over it.
        """
        bins = (self.bins or {}).values()
        left: list[float] = [len(one) + 1 for one in bins if isinstance(one, tuple | Mapping)]
        spans = [Span.of(one) for one in bins if isinstance(one, str)]
        left += [CENTURY / span.days for span in spans if span is not None]
        left += [len(set(groups.values())) for groups in (self.map or {}).values()]
        left += [1 / share for share in self._rare().values()]
        each = [float(n) for n in (self.groups, 1 / self.rare if isinstance(self.rare, float) else None) if n]
        of_all = math.log(FINEST / (sum(each) / len(each))) if each else 0.0
        several = 1 if self.variables is None else len(self.variables)
        return several * of_all + sum(math.log(FINEST / max(n, 1)) for n in left)


def _counts(variable: Variable, column: NDArray[Any], times: Times) -> NDArray[np.int64]:
    """Count the records that have each category."""
    if times is None:
        return np.bincount(column[column >= 0], minlength=len(variable.categories))
    counts = np.zeros(len(variable.categories), dtype=np.int64)
    counts[column] = times
    return counts


def _shown(variable: Variable, value: float) -> str:
    return spelled(value) if variable.kind == "date" else bands.shown(value)


def _check_levels(owner: GlobalRecoding, levels: Mapping[str, Any]) -> None:
    """Refuse levels that are none, or that a hierarchy given beside does not have."""
    one = () if isinstance(owner.level, Mapping) else (owner.level,)
    for value in (*levels.values(), *one):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise parameters.refuse(owner, f"level must be a whole number of at least 0; got {value!r}")
    for name, hierarchy in (owner.hierarchy or {}).items():
        if levels[name] > hierarchy.height:
            height = f"{hierarchy.height} level{'s' if hierarchy.height > 1 else ''}"
            raise parameters.refuse(owner, f"hierarchy of {name!r} has {height}; there is no level {levels[name]}")


def _range_label(variable: Variable, part: tuple[Category, ...]) -> str:
    return bands.joined_label([variable.spelled(category) for category in part])


def _bands_in_words(bins: float | str | tuple[Any, ...] | Mapping[str, object]) -> str:
    """Say in which bands a number or a date is given: a width or span, cuts, or classes by name.

    >>> [_bands_in_words(bins) for bins in (5, (18,), (20, 30, 40, 50), {"young": (0, 30), "old": (30, None)})]
    ['in bands of 5', 'in 2 bands (<18 and 18+)', 'in 5 bands of 10 (<20 to 50+)', 'in 2 bands']
    >>> [_bands_in_words(bins) for bins in ("month", "10 years", ("1950-01-01", "1970-01-01", "1990-01-01"))]
    ['by month', 'by 10 years', 'in 4 bands (<1950 to 1990+)']
    """
    if isinstance(bins, Mapping):
        return f"in {len(bins)} bands"
    if not isinstance(bins, tuple):
        return f"by {bins}" if isinstance(bins, str) else f"in bands of {bins:g}"
    between = "and" if len(bins) == 1 else "to"
    if isinstance(bins[0], str):
        names = bands.date_labels([-math.inf, *(float(day_of(cut) or 0.0) for cut in bins), math.inf])
        return f"in {len(names)} bands ({names[0]} {between} {names[-1]})"
    widths = {round(b - a, 9) for a, b in pairwise(bins)}
    width = f" of {widths.pop():g}" if len(bins) > 2 and len(widths) == 1 else ""
    return f"in {len(bins) + 1} bands{width} (<{bins[0]:g} {between} {bins[-1]:g}+)"
