"""The levels of a hierarchy: what makes them none, and a column recoded to one of them or grouped at all of them."""

import datetime as dt
import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.table import bands
from sfumato.table.bands import SPAN_EXAMPLES, Span
from sfumato.table.dates import day_of
from sfumato.table.dates import spelled as spelled_date
from sfumato.table.merging import classed, listed, merged, refuse_gaps
from sfumato.table.treatment import OPEN, Treatment

if TYPE_CHECKING:
    from sfumato.table.hierarchy import Hierarchy
    from sfumato.table.schema import Kind, Variable


# What makes a hierarchy none: the first fault of its rows, cuts or widths, and what to do about it.

Row = Sequence[object]
FORMS = ("rows", "cuts", "widths", "spans")
ALL = "all"  # the span that holds every date
TOP = "*"  # what the one group is called in which nothing of a variable is left


def shape_fault(word: str, value: object) -> str | None:
    """Return what is wrong with the shape of what a hierarchy is given: rows, cuts and labels are lists of lists.

    >>> shape_fault("cuts", (18, 65)), shape_fault("widths", (5, 10))
    ('cuts of a hierarchy must be a list of lists, one for each level; got (18, 65)', None)
    """
    inner = {"rows": "category", "cuts": "level", "labels": "level"}.get(word)
    if _listed(value) and (inner is None or all(map(_listed, value))):  # type: ignore[call-overload]
        return None
    meant = "a list" if inner is None else f"a list of lists, one for each {inner}"
    return f"{word} of a hierarchy must be {meant}; got {value!r}"


def entry_fault(rows: Sequence[Row]) -> str | None:
    """Return which entry of a row is neither text, a finite number, a truth value nor a date; gaps are told of later.

    >>> print(entry_fault([("Aix", float("nan"))]))
    row 1: nan is no group; a group is text, a finite number, a truth value or a date
    """
    for number, row in enumerate(rows, start=1):
        for entry in row:
            if entry is not None and not isinstance(entry, str | bool | dt.date) and not _finite(entry):
                nested = "a list, which is no group; write an entry for each level" if _listed(entry) else "no group"
                return f"row {number}: {entry!r} is {nested}; a group is text, a finite number, a truth value or a date"
    return None


def row_fault(rows: Sequence[Row], lines: Sequence[int] | None = None) -> str | None:
    """Return what keeps rows from being a hierarchy, in which row, and the cure; ``lines`` are those of a file.

    >>> print(row_fault([("Aix", "south", "France"), ("Nice", "south", "Italy")], lines=[1, 3]))
    line 3: 'south' of level 1 is part of 'France' in line 1 and of 'Italy' here; it can be part of one only: correct it
    """

    def where(number: int) -> str:
        return f"row {number + 1}" if lines is None else f"line {lines[number]}"

    height = len(rows[0])
    if height < 2:
        return f"{where(0)}: {rows[0][0] if rows[0] else ''!r} has no group; a row is a category, then its groups"
    categories: dict[str, int] = {}
    above: list[dict[object, tuple[object, int]]] = [{} for _ in range(height)]
    for number, row in enumerate(rows):
        if len(row) != height:
            return (
                f"{where(number)}: it has {len(row)} entries and {where(0)} has {height}; every category needs as many "
                "groups: repeat one at the levels where it stays"
            )
        empty = next((level for level, entry in enumerate(row) if entry is None or entry == ""), None)
        if empty is not None:
            return f"{where(number)}: level {empty} is empty; name the group, or repeat the one below"
        first = categories.setdefault(str(row[0]), number)
        if first != number:
            return f"{where(number)}: {row[0]!r} stands in {where(first)} already; keep one of them"
        for level in range(1, height - 1):
            group, one = row[level], row[level + 1]
            other, place = above[level].setdefault(group, (one, number))
            if other != one:
                return (
                    f"{where(number)}: {group!r} of level {level} is part of {other!r} in {where(place)} and of "
                    f"{one!r} here; it can be part of one only: correct it"
                )
    return None


def cut_fault(levels: Sequence[Sequence[float]]) -> str | None:
    """Return what keeps cut points from being a hierarchy."""
    for number, cuts in enumerate(levels, start=1):
        if not all(map(_finite, cuts)) or any(low >= high for low, high in pairwise(cuts)):
            return f"the cuts of level {number} must be numbers or dates that rise; got {cuts!r}"
    for number, (fine, coarse) in enumerate(pairwise(levels), start=1):
        new = sorted(set(coarse) - set(fine))
        if new:
            return (
                f"level {number + 1} cuts at {new[0]:g}, where level {number} does not, so it would split a class; add "
                f"that cut to level {number} or take it out"
            )
    return None


def width_fault(widths: Sequence[float], start: float) -> str | None:
    """Return what keeps widths from being a hierarchy."""
    if not _finite(start):
        return f"the start of a hierarchy's classes must be a number; got {start!r}"
    for width in widths:
        if not isinstance(width, int | float) or isinstance(width, bool) or not width > 0:
            return f"the widths of a hierarchy must be numbers above 0; got {width!r}"
    for fine, coarse in pairwise(widths):
        nested = coarse == math.inf > fine or (
            math.inf > coarse > fine and abs(coarse / fine - round(coarse / fine)) <= 1e-12
        )
        if not nested:
            return f"each width must be a multiple of the last, else a class is split; {coarse:g} is none of {fine:g}"
    return None


def span_fault(spans: Sequence[str]) -> str | None:
    """Return what keeps spans of the calendar from being a hierarchy."""
    found = [Span.of(text) if isinstance(text, str) else None for text in spans]
    for number, (text, span) in enumerate(zip(spans, found, strict=True)):
        if span is None and not (text == ALL and number == len(spans) - 1):
            return f"the spans of a hierarchy are {SPAN_EXAMPLES}, and '{ALL}' at the last; got {text!r}"
    for (fine, small), (coarse, large) in pairwise(zip(spans, found, strict=True)):
        if small is not None and large is not None and not _nests(small, large):
            return f"each span must be made of the last, else one is split; {coarse!r} is not made of {fine!r}"
    return None


def _nests(small: Span, large: Span) -> bool:
    """Tell whether a span of the calendar is made of whole smaller ones, boundaries and all."""
    if small.unit != large.unit:
        return small == Span(1, "days")
    weeks = small.unit == "days" and small.count > 1 and (small.count % 7 == 0) != (large.count % 7 == 0)
    return large.count > small.count and large.count % small.count == 0 and not weeks


def name_fault(
    names: Sequence[str], labels: Sequence[Sequence[str]], cuts: Sequence[Sequence[float]], height: int
) -> str | None:
    """Return what is wrong with the names of levels and classes."""
    if names and (len(names) != height or not all(isinstance(name, str) for name in names)):
        return f"there are {height} levels above the values, so as many names are needed; got {list(names)!r}"
    if not labels:
        return None
    if len(labels) != len(cuts):
        return f"labels name the classes of each level of cuts: {len(cuts)} levels; got {len(labels)}"
    for number, (words, points) in enumerate(zip(labels, cuts, strict=True), start=1):
        if not all(isinstance(label, str) for label in words):
            return f"the labels of level {number} must be text; got {list(words)!r}"
        if len(words) != len(points) + 1 or len(set(words)) < len(words):
            return f"level {number} has {len(points) + 1} classes, so as many different labels; got {list(words)!r}"
    return None


def _listed(value: object) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


def _finite(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) <= sys.float_info.max  # a whole number may be larger than any float
    return isinstance(value, float) and math.isfinite(value)


# A column at each level of its hierarchy.

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Ends = tuple[float, float] | None
Classes = tuple[list[float], tuple[str, ...], Ends]
MAX_CLASSES = 10_000
SPARSE = 5  # times as many spans of the calendar may lie in the range of dates as may occur


@dataclass(frozen=True, eq=False)
class Levels:
    """The values of a column that occur, and the group of each at every level: what a search over levels needs.

    ``codes`` numbers the values of the records, -1 where missing, in the order of the categories or numbers.
    ``parents[l][code]`` is the group of a value at level l; ``parents[0]`` is each value itself. ``spelled[l]`` names
    the groups of level l. ``sizes[l]`` says how much each group holds, out of ``whole``, for a measure of loss: by
    ``counted`` either leaves of the hierarchy, those that do not occur too, or the width of a class of numbers as far
    as it lies between the least and the greatest value that occurs. A single value is 1 leaf, or has width 0.
    """

    codes: Codes
    parents: tuple[Codes, ...]
    spelled: tuple[tuple[str, ...], ...]
    sizes: tuple[Floats, ...]
    whole: float
    counted: Literal["leaves", "width"]

    @property
    def height(self) -> int:
        """The number of levels above 0."""
        return len(self.parents) - 1

    def groups(self, level: int) -> Codes:
        """Return the group of each record at a level, -1 where the value is missing."""
        recode: Codes = np.append(self.parents[level], np.int32(-1))
        return recode[self.codes]


def recoded(
    hierarchy: "Hierarchy", variable: "Variable", column: NDArray[Any], level: int
) -> "tuple[Variable, NDArray[Any]]":
    """Return a variable at a level, its column, and in its treatment what was done."""
    if not 0 <= level <= hierarchy.height:
        levels = f"{hierarchy.height} level{'s' if hierarchy.height > 1 else ''}"
        raise NotApplicable(f"the hierarchy of {variable.name!r} has {levels}; there is no level {level}")
    if level == 0:
        return variable, column
    if not variable.quantitative:
        return merged(variable, column, _into(hierarchy, variable, column, level))
    present = column[~np.isnan(column)]
    if not present.size:
        return variable, column
    if hierarchy.rows:
        return _at_rows(hierarchy, variable, column, level)
    cuts, labels, ends = _classes(hierarchy, variable.name, variable.kind, present, level)
    return classed(variable, column, cuts, labels, ends=ends)


def levels_of(hierarchy: "Hierarchy", variable: "Variable", column: NDArray[Any]) -> Levels:
    """Return the values that occur and the group of each at every level."""
    numbers = variable.quantitative
    gaps = np.isnan(column) if numbers else column < 0
    values, inverse = np.unique(column[~gaps], return_inverse=True)
    codes = np.full(len(column), -1, dtype=np.int32)
    codes[~gaps] = inverse
    if numbers and not hierarchy.rows:
        return class_levels(hierarchy, variable.name, variable.kind, values, codes)
    if numbers:
        place = _by_number(hierarchy, variable)
        names = tuple(_shown(value, variable.kind) for value in values.tolist())
        absent = [name for name, value in zip(names, values.tolist(), strict=True) if value not in place]
        _refuse_lacking(hierarchy, variable, absent)
        rows = [hierarchy.rows[place[value]] for value in values.tolist()]
    else:
        for level in range(1, hierarchy.height + 1) if variable.kind == "ordinal" else ():
            refuse_gaps(variable, _into(hierarchy, variable, column, level))
        by_category = _by_category(hierarchy, variable, column)
        rows = [row for code in values.tolist() if (row := by_category[code]) is not None]
        names = tuple(str(variable.categories[code]) for code in values.tolist())
    return _row_levels(hierarchy, rows, names, codes)


# by rows


def _into(hierarchy: "Hierarchy", variable: "Variable", codes: NDArray[Any], level: int) -> list[object]:
    """Return the group of each category at a level; categories that do not occur may lack one and stay."""
    rows = _by_category(hierarchy, variable, codes)
    return [c if row is None else row[level] for c, row in zip(variable.categories, rows, strict=True)]


def _by_category(hierarchy: "Hierarchy", variable: "Variable", codes: NDArray[Any]) -> list[tuple[object, ...] | None]:
    """Return the row of each category; 1 and "1" are taken for the same."""
    if not hierarchy.rows:
        raise NotApplicable(
            f"variable {variable.name!r} is {variable.kind}: its hierarchy is a dict from each category to its "
            "groups, or rows, not widths, cuts or spans"
        )
    by_text = {str(row[0]): row for row in hierarchy.rows}
    rows = [by_text.get(str(category)) for category in variable.categories]
    used = np.bincount(codes[codes >= 0], minlength=len(rows))
    zipped = zip(variable.categories, rows, used, strict=True)
    _refuse_lacking(hierarchy, variable, [category for category, row, count in zipped if row is None and count])
    return rows


def _refuse_lacking(hierarchy: "Hierarchy", variable: "Variable", absent: Sequence[object]) -> None:
    if absent:
        where = "" if hierarchy.file is None else f" ({hierarchy.file.name})"
        raise NotApplicable(
            f"hierarchy of {variable.name!r}{where} lacks {listed(absent)}; add a row for each value that occurs"
        )


def _by_number(hierarchy: "Hierarchy", variable: "Variable") -> dict[float, int]:
    place: dict[float, int] = {}
    for position, row in enumerate(hierarchy.rows):
        value = _number(row[0], variable.kind)
        if value is None:
            what = "date" if variable.kind == "date" else "number"
            raise NotApplicable(
                f"variable {variable.name!r} is {variable.kind}, but its hierarchy has a row for {row[0]!r}, which is "
                f"no {what}; make the variable ordinal or nominal in the schema, or take the row out"
            )
        if place.setdefault(value, position) != position:
            said = _shown(value, variable.kind)
            raise NotApplicable(f"hierarchy of {variable.name!r} has two rows for {said}; keep one")
    return place


def _at_rows(
    hierarchy: "Hierarchy", variable: "Variable", column: Floats, level: int
) -> "tuple[Variable, NDArray[Any]]":
    """Recode a number by rows: to ordered classes where each group is a run of numbers, else to categories."""
    place = _by_number(hierarchy, variable)
    values, inverse = np.unique(column, return_inverse=True)
    present = values[~np.isnan(values)].tolist()
    absent = [_shown(value, variable.kind) for value in present if value not in place]
    _refuse_lacking(hierarchy, variable, absent)
    ordered = sorted(place.items())
    groups = [hierarchy.rows[position][level] for _, position in ordered]
    starts = [0, *(i for i in range(1, len(groups)) if groups[i] != groups[i - 1])]
    names = tuple(groups[i] for i in starts)
    if len(set(names)) == len(names):
        # rows may have been listed from the records, so that the outer ones tell of them
        return classed(variable, column, [ordered[i][0] for i in (starts[1:] or starts)], names, ends=OPEN)
    names = tuple(dict.fromkeys(groups))
    code = {name: number for number, name in enumerate(names)}
    recode = np.array([*(code[hierarchy.rows[place[value]][level]] for value in present), -1], dtype=np.int32)
    categories = replace(variable, kind="nominal", categories=names, labels=(), missing=(), format="", hierarchy=None)
    pairs = tuple((value, group) for (value, _), group in zip(ordered, groups, strict=True))
    return categories.treated(Treatment(groups=pairs)), recode[np.where(np.isnan(column), -1, inverse)]


def _row_levels(hierarchy: "Hierarchy", rows: Sequence[Row], names: tuple[str, ...], codes: Codes) -> Levels:
    parents, spelled, sizes = [np.arange(len(rows), dtype=np.int32)], [names], [np.ones(len(rows))]
    for level in range(1, hierarchy.height + 1):
        leaves = Counter(row[level] for row in hierarchy.rows)
        place: dict[object, int] = {}
        parents.append(np.array([place.setdefault(row[level], len(place)) for row in rows], dtype=np.int32))
        spelled.append(tuple(str(group) for group in place))
        sizes.append(np.array([leaves[group] for group in place], dtype=np.float64))
    return Levels(codes, tuple(parents), tuple(spelled), tuple(sizes), float(len(hierarchy.rows)), "leaves")


# by cuts and widths


def _classes(hierarchy: "Hierarchy", name: str, kind: "Kind", present: Floats, level: int) -> Classes:
    """Return the cuts of a level and the names of the classes between them; of one class a cut that says so.

    Last come the outer boundaries of classes that follow the records; None where the cuts are stated.
    """
    whole = bands.is_whole(present)
    if hierarchy.cuts:
        cuts = list(hierarchy.cuts[level - 1])
        names = hierarchy.labels[level - 1] if hierarchy.labels else ()
        if not cuts:
            return [min(hierarchy.cuts[0], default=0.0)], names or (TOP,), None
        edges = [-math.inf, *cuts, math.inf]
        named = names or (bands.date_labels(edges) if kind == "date" else bands.labels(edges, whole=whole))
        return cuts, named, None
    low, high = float(present.min()), float(present.max())
    if kind == "date":
        return _spans(hierarchy, name, present, level)
    if hierarchy.spans:
        raise NotApplicable(
            f'variable {name!r} is {kind}; spans of the calendar are for a date: give widths, or kind = "date"'
        )
    width = hierarchy.widths[level - 1]
    if width == math.inf:
        return [hierarchy.start], (TOP,), None
    _refuse_many(name, f"{width:g}", (high - low) / width)
    edges = bands.of_width(low, high, width, hierarchy.start)
    # where all values are in one class, its lower edge says so
    return edges[1:-1] or edges[:1], bands.labels(edges, whole=whole), (edges[0], edges[-1])


def _spans(hierarchy: "Hierarchy", name: str, present: Floats, level: int) -> Classes:
    """Return the cuts of a level of spans of the calendar from the least to the greatest date, and their names."""
    if not hierarchy.spans:
        raise NotApplicable(
            f"variable {name!r} is a date; its hierarchy is made of {SPAN_EXAMPLES}, or of cuts, not of widths"
        )
    span = Span.of(hierarchy.spans[level - 1])
    if span is None:  # all
        return [0.0], (TOP,), None
    low, high = float(present.min()), float(present.max())
    _refuse_many(name, hierarchy.spans[level - 1], (high - low) / span.days, SPARSE * MAX_CLASSES)
    edges = span.edges(low, high)
    used = len(np.unique(np.searchsorted(edges, present, side="right")))  # days of a century are few where few occur
    _refuse_many(name, hierarchy.spans[level - 1], used)
    return edges[1:-1] or edges[:1], bands.date_labels(edges), (edges[0], edges[-1])


def _refuse_many(name: str, width: str, number: float, most: int = MAX_CLASSES) -> None:
    if number > most:
        raise NotApplicable(
            f"classes of width {width} are {number:,.0f} from the least to the greatest value of {name!r}; more than "
            f"{most:,} are no recoding: widen them"
        )


def class_levels(hierarchy: "Hierarchy", name: str, kind: "Kind", values: Floats, codes: Codes) -> Levels:
    """Return the classes of these distinct numbers or dates at every level, of a variable of this name and kind."""
    parents = [np.arange(len(values), dtype=np.int32)]
    spelled = [tuple(_shown(value, kind) for value in values.tolist())]
    sizes = [np.zeros(len(values))]
    low, high = (values[0], values[-1]) if len(values) else (0.0, 0.0)
    for level in range(1, hierarchy.height + 1):
        cuts, names, _ = _classes(hierarchy, name, kind, values, level) if len(values) else ([], (), None)
        inner = np.array(cuts if len(names) > 1 else ())
        used, groups = np.unique(np.searchsorted(inner, values, side="right"), return_inverse=True)
        edges = np.clip(np.array([-math.inf, *inner, math.inf]), low, high)
        parents.append(groups.astype(np.int32))
        spelled.append(tuple(names[number] for number in used.tolist()))
        sizes.append(edges[used + 1] - edges[used])
    return Levels(codes, tuple(parents), tuple(spelled), tuple(sizes), float(high - low), "width")


def _shown(value: float, kind: "Kind") -> str:
    return spelled_date(value) if kind == "date" else bands.shown(value)


def _number(entry: object, kind: "Kind") -> float | None:
    """Return what a row is for as a number, of a date its days; None where it is neither."""
    if kind == "date":
        return day_of(entry)
    try:
        value = float(str(entry))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
