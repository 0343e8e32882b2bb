"""A column at each level of its hierarchy: recoded to one, or the groups of its values at all of them."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data import bands, date_bands
from sfumato.data.dates import day_of
from sfumato.data.dates import spelled as spelled_date
from sfumato.data.hierarchy_checks import TOP
from sfumato.data.merging import classed, listed, merged, refuse_gaps
from sfumato.data.treatment import OPEN, Treatment
from sfumato.errors import NotApplicable

if TYPE_CHECKING:  # a variable holds its hierarchy, which recodes by this
    from sfumato.data.hierarchy import Hierarchy
    from sfumato.data.schema import Kind, Variable

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Row = tuple[object, ...]
Ends = tuple[float, float] | None
Classes = tuple[list[float], tuple[str, ...], Ends]
MOST_CLASSES = 10_000
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


def _by_category(hierarchy: "Hierarchy", variable: "Variable", codes: NDArray[Any]) -> list[Row | None]:
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
    """Return which row a number has."""
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
        named = names or (date_bands.labels(edges) if kind == "date" else bands.labels(edges, whole=whole))
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
            f"variable {name!r} is a date; its hierarchy is made of {date_bands.EXAMPLES}, or of cuts, not of widths"
        )
    span = date_bands.Span.of(hierarchy.spans[level - 1])
    if span is None:  # all
        return [0.0], (TOP,), None
    low, high = float(present.min()), float(present.max())
    _refuse_many(name, hierarchy.spans[level - 1], (high - low) / span.days, SPARSE * MOST_CLASSES)
    edges = span.edges(low, high)
    used = len(np.unique(np.searchsorted(edges, present, side="right")))  # days of a century are few where few occur
    _refuse_many(name, hierarchy.spans[level - 1], used)
    return edges[1:-1] or edges[:1], date_bands.labels(edges), (edges[0], edges[-1])


def _refuse_many(name: str, width: str, number: float, most: int = MOST_CLASSES) -> None:
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
