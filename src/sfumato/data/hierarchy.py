"""Hierarchies: what each value of a variable is part of, level by level."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data import bands
from sfumato.data.hierarchy_checks import cut_fault, name_fault, row_fault, width_fault
from sfumato.data.merging import classed, listed, merged, refuse_gaps
from sfumato.data.treatment import Treatment
from sfumato.errors import NotApplicable, SchemaError

if TYPE_CHECKING:  # a variable holds its hierarchy
    from sfumato.data.schema import Variable

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
TOP = "*"  # what the one class of a number is called in which nothing of it is left
MOST_CLASSES = 10_000


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


@dataclass(frozen=True, repr=False)
class Hierarchy:
    """What each value is part of, level by level; level 0 is the variable as it is.

    One of three says it:

    - ``rows``, of categories: a row for each, first the category, then its group at level 1, 2 and so on. A number may
      have rows too, one for each value.
    - ``cuts``, of a number: the rising cut points of level 1, 2 and so on, each level a part of the one below; a class
      holds its lower cut. No cut at all leaves one class. ``labels`` may name the classes of each level.
    - ``widths``, of a number: the widths of its classes at level 1, 2 and so on, at multiples from ``start``. An
      infinite one leaves one class.

    ``names`` are those of the levels above 0; ``file`` is where it was read from.

    >>> towns = Hierarchy.of({"Aix": ["south", "France"], "Lille": ["north", "France"], "Bonn": ["west", "Germany"]})
    >>> towns.height, towns.rows[0]
    (2, ('Aix', 'south', 'France'))
    >>> Hierarchy.of([5, 10, 20])
    Hierarchy(widths=(5.0, 10.0, 20.0))
    """

    rows: tuple[tuple[object, ...], ...] = ()
    cuts: tuple[tuple[float, ...], ...] = ()
    widths: tuple[float, ...] = ()
    start: float = 0.0
    names: tuple[str, ...] = ()
    labels: tuple[tuple[str, ...], ...] = ()
    file: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        freeze = object.__setattr__
        freeze(self, "names", tuple(self.names))
        freeze(self, "labels", tuple(tuple(level) for level in self.labels))
        stated = [word for word in ("rows", "cuts", "widths") if getattr(self, word)]
        if len(stated) != 1:
            said = f"both {' and '.join(stated)}" if stated else "neither"
            raise SchemaError(f"a hierarchy has rows, cuts or widths; this one has {said}")
        if self.rows:
            freeze(self, "rows", tuple(tuple(row) for row in self.rows))
            fault = row_fault(self.rows)
            if fault is not None:
                raise SchemaError(f"row {fault.row + 1} of the hierarchy: {fault.text}")
            freeze(self, "rows", _of_one_type(self.rows))
        elif self.cuts:
            _refuse(cut_fault(self.cuts))
            freeze(self, "cuts", tuple(tuple(float(cut) for cut in level) for level in self.cuts))
        else:
            _refuse(width_fault(self.widths, self.start))
            freeze(self, "widths", tuple(float(width) for width in self.widths))
            freeze(self, "start", float(self.start))
        _refuse(name_fault(self.names, self.labels, self.cuts, self.height))

    def __repr__(self) -> str:
        said = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.compare}
        given = {name: repr(value) for name, value in said.items() if value != getattr(Hierarchy, name)}
        if self.widths:
            given["widths"] = given["widths"].replace("inf", "1e999")  # so that it evaluates back
        return f"Hierarchy({', '.join(f'{name}={text}' for name, text in given.items())})"

    @classmethod
    def of(cls, stated: Any) -> "Hierarchy":
        """Read a hierarchy as it is written in a text: its rows, cuts or widths.

        ``{"Aix": ["south", "France"], ...}`` is each category with its groups; ``[5, 10]`` are widths of a number's
        classes and ``[[18, 25, 65], [18, 65]]`` its cut points, level by level.
        """
        if isinstance(stated, Hierarchy):
            return stated
        if isinstance(stated, Mapping) and stated and all(_is_list(groups) for groups in stated.values()):
            return cls(rows=tuple((category, *groups) for category, groups in stated.items()))
        if _is_list(stated) and stated and all(_is_list(level) for level in stated):
            return cls(cuts=tuple(stated))
        if _is_list(stated) and stated:
            return cls(widths=tuple(stated))
        raise SchemaError(
            "a hierarchy is a dict from each category to its groups, nearest first, such as {'Aix': ['south', "
            f"'France']}}, or the rising widths of a number's classes, such as [5, 10]; got {stated!r}"
        )

    @property
    def height(self) -> int:
        """The number of levels above 0."""
        return len(self.rows[0]) - 1 if self.rows else len(self.cuts or self.widths)

    def named(self, *names: str) -> "Hierarchy":
        """Return the hierarchy with names for its levels above 0."""
        return changed(self, names=names)

    def at(self, variable: "Variable", column: NDArray[Any], level: int) -> "tuple[Variable, NDArray[Any]]":
        """Return a variable at a level, its column, and in its treatment what was done."""
        if not 0 <= level <= self.height:
            levels = f"{self.height} level{'s' if self.height > 1 else ''}"
            raise NotApplicable(f"the hierarchy of {variable.name!r} has {levels}; there is no level {level}")
        if level == 0:
            return variable, column
        if _has_categories(variable):
            return merged(variable, column, self._into(variable, column, level))
        present = column[~np.isnan(column)]
        if not present.size:
            return variable, column
        if self.rows:
            return self._at_rows(variable, column, level)
        cuts, labels = self._classes(variable, present, level)
        return classed(variable, column, cuts, labels)

    def levels(self, variable: "Variable", column: NDArray[Any]) -> Levels:
        """Return the values that occur and the group of each at every level."""
        numbers = not _has_categories(variable)
        gaps = np.isnan(column) if numbers else column < 0
        values, inverse = np.unique(column[~gaps], return_inverse=True)
        codes = np.full(len(column), -1, dtype=np.int32)
        codes[~gaps] = inverse
        if numbers and not self.rows:
            return self._class_levels(variable, values, codes)
        if numbers:
            place = self._by_number(variable)
            self._refuse_lacking(variable, [bands.shown(value) for value in values if value not in place])
            rows = [self.rows[place[value]] for value in values.tolist()]
            names = tuple(bands.shown(value) for value in values.tolist())
        else:
            for level in range(1, self.height + 1) if variable.kind == "ordinal" else ():
                refuse_gaps(variable, self._into(variable, column, level))
            by_category = self._by_category(variable, column)
            rows = [row for code in values.tolist() if (row := by_category[code]) is not None]
            names = tuple(str(variable.categories[code]) for code in values.tolist())
        return self._row_levels(rows, names, codes)

    # by rows

    def _into(self, variable: "Variable", codes: NDArray[Any], level: int) -> list[object]:
        """Return the group of each category at a level; categories that do not occur may lack one and stay."""
        rows = self._by_category(variable, codes)
        return [c if row is None else row[level] for c, row in zip(variable.categories, rows, strict=True)]

    def _by_category(self, variable: "Variable", codes: NDArray[Any]) -> "list[tuple[object, ...] | None]":
        """Return the row of each category; 1 and "1" are taken for the same."""
        if not self.rows:
            raise NotApplicable(
                f"variable {variable.name!r} is {variable.kind}: its hierarchy is a dict from each category to its "
                "groups, or rows, not widths or cuts"
            )
        by_text = {str(row[0]): row for row in self.rows}
        rows = [by_text.get(str(category)) for category in variable.categories]
        used = np.bincount(codes[codes >= 0], minlength=len(rows))
        zipped = zip(variable.categories, rows, used, strict=True)
        self._refuse_lacking(variable, [category for category, row, count in zipped if row is None and count])
        return rows

    def _refuse_lacking(self, variable: "Variable", absent: Sequence[object]) -> None:
        if absent:
            where = "" if self.file is None else f" ({self.file})"
            raise NotApplicable(
                f"hierarchy of {variable.name!r}{where} lacks {listed(absent)}; add a row for each value that occurs"
            )

    def _by_number(self, variable: "Variable") -> dict[float, int]:
        """Return which row a number has."""
        place: dict[float, int] = {}
        for position, row in enumerate(self.rows):
            try:
                value = float(str(row[0]))
            except ValueError:
                raise NotApplicable(
                    f"variable {variable.name!r} is numeric, but its hierarchy has a row for {row[0]!r}, which is no "
                    "number; make the variable ordinal or nominal in the schema, or take the row out"
                ) from None
            if place.setdefault(value, position) != position:
                raise NotApplicable(f"hierarchy of {variable.name!r} has two rows for {bands.shown(value)}; keep one")
        return place

    def _at_rows(self, variable: "Variable", column: Floats, level: int) -> "tuple[Variable, NDArray[Any]]":
        """Recode a number by rows: to ordered classes where each group is a run of numbers, else to categories."""
        place = self._by_number(variable)
        values, inverse = np.unique(column, return_inverse=True)
        present = values[~np.isnan(values)].tolist()
        self._refuse_lacking(variable, [bands.shown(value) for value in present if value not in place])
        ordered = sorted(place.items())
        groups = [self.rows[position][level] for _, position in ordered]
        starts = [0, *(i for i in range(1, len(groups)) if groups[i] != groups[i - 1])]
        names = tuple(groups[i] for i in starts)
        if len(set(names)) == len(names):
            return classed(variable, column, [ordered[i][0] for i in (starts[1:] or starts)], names)
        names = tuple(dict.fromkeys(groups))
        code = {name: number for number, name in enumerate(names)}
        recode = np.array([*(code[self.rows[place[value]][level]] for value in present), -1], dtype=np.int32)
        categories = changed(variable, kind="nominal", categories=names, labels=(), missing=(), hierarchy=None)
        pairs = tuple((value, group) for (value, _), group in zip(ordered, groups, strict=True))
        return categories.treated(Treatment(groups=pairs)), recode[np.where(np.isnan(column), -1, inverse)]

    def _row_levels(self, rows: Sequence[tuple[object, ...]], names: tuple[str, ...], codes: Codes) -> Levels:
        parents, spelled, sizes = [np.arange(len(rows), dtype=np.int32)], [names], [np.ones(len(rows))]
        for level in range(1, self.height + 1):
            leaves = Counter(row[level] for row in self.rows)
            place: dict[object, int] = {}
            parents.append(np.array([place.setdefault(row[level], len(place)) for row in rows], dtype=np.int32))
            spelled.append(tuple(str(group) for group in place))
            sizes.append(np.array([leaves[group] for group in place], dtype=np.float64))
        return Levels(codes, tuple(parents), tuple(spelled), tuple(sizes), float(len(self.rows)), "leaves")

    # by cuts and widths

    def _classes(self, variable: "Variable", present: Floats, level: int) -> tuple[list[float], tuple[str, ...]]:
        """Return the cuts of a level and the names of the classes between them; of one class a cut that says so."""
        whole = bands.is_whole(present)
        if self.cuts:
            cuts = list(self.cuts[level - 1])
            names = self.labels[level - 1] if self.labels else ()
            if not cuts:
                return [min(self.cuts[0], default=0.0)], names or (TOP,)
            return cuts, names or bands.labels([-math.inf, *cuts, math.inf], whole=whole)
        width = self.widths[level - 1]
        if width == math.inf:
            return [self.start], (TOP,)
        low, high = float(present.min()), float(present.max())
        if (high - low) / width > MOST_CLASSES:
            raise NotApplicable(
                f"classes of width {width:g} are {(high - low) / width:,.0f} from the least to the greatest "
                f"value of {variable.name!r}; more than {MOST_CLASSES:,} are no recoding: widen them"
            )
        edges = bands.of_width(low, high, width, self.start)
        # where all values are in one class, its lower edge says so
        return edges[1:-1] or edges[:1], bands.labels(edges, whole=whole)

    def _class_levels(self, variable: "Variable", values: Floats, codes: Codes) -> Levels:
        parents = [np.arange(len(values), dtype=np.int32)]
        spelled = [tuple(bands.shown(value) for value in values.tolist())]
        sizes = [np.zeros(len(values))]
        low, high = (values[0], values[-1]) if len(values) else (0.0, 0.0)
        for level in range(1, self.height + 1):
            cuts, names = self._classes(variable, values, level) if len(values) else ([], ())
            inner = np.array(cuts if len(names) > 1 else ())
            used, groups = np.unique(np.searchsorted(inner, values, side="right"), return_inverse=True)
            edges = np.clip(np.array([-math.inf, *inner, math.inf]), low, high)
            parents.append(groups.astype(np.int32))
            spelled.append(tuple(names[number] for number in used.tolist()))
            sizes.append(edges[used + 1] - edges[used])
        return Levels(codes, tuple(parents), tuple(spelled), tuple(sizes), float(high - low), "width")


def _has_categories(variable: "Variable") -> bool:
    return variable.kind in ("ordinal", "nominal")


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _refuse(fault: str | None) -> None:
    if fault is not None:
        raise SchemaError(fault)


def _of_one_type(rows: tuple[tuple[object, ...], ...]) -> tuple[tuple[object, ...], ...]:
    """Make the groups of a level all text where they are texts and numbers."""
    columns = list(zip(*rows, strict=True))
    for level, groups in enumerate(columns[1:], start=1):
        if len({float if type(group) is int else type(group) for group in groups}) > 1:
            columns[level] = tuple(str(group) for group in groups)
    return tuple(zip(*columns, strict=True))
