"""Hierarchies: what each value of a variable is part of, level by level."""

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data import hierarchy_builders as builders
from sfumato.data.date_bands import age_at
from sfumato.data.dates import day_of
from sfumato.data.hierarchy_checks import (
    ALL,
    FORMS,
    cut_fault,
    entry_fault,
    name_fault,
    row_fault,
    shape_fault,
    span_fault,
    width_fault,
)
from sfumato.data.hierarchy_levels import Levels as Levels
from sfumato.data.hierarchy_levels import class_levels, levels_of, recoded
from sfumato.errors import ParameterError, SchemaError, refusing

if TYPE_CHECKING:  # a variable holds its hierarchy
    from sfumato.data.schema import Variable


@dataclass(frozen=True, repr=False)
class Hierarchy:
    """What each value is part of, level by level; level 0 is the variable as it is.

    One of four says it:

    - ``rows``, of categories: a row for each, first the category, then its group at level 1, 2 and so on. A number may
      have rows too, one for each value.
    - ``cuts``, of a number or a date: the rising cut points of level 1, 2 and so on, each level a part of the one
      below; a class holds its lower cut. No cut leaves one class. ``labels`` may name the classes of each level.
    - ``widths``, of a number: the widths of its classes at level 1, 2 and so on, at multiples from ``start``. An
      infinite one leaves one class.
    - ``spans``, of a date: those of the calendar at level 1, 2 and so on, such as month, quarter, year and 10 years;
      ``all`` leaves one class.

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
    spans: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    labels: tuple[tuple[str, ...], ...] = ()
    file: Path | None = field(default=None, compare=False)

    @refusing(SchemaError)
    def __post_init__(self) -> None:
        freeze = object.__setattr__
        for word in (*FORMS, "names", "labels"):
            _refuse(shape_fault(word, getattr(self, word)))
        freeze(self, "names", tuple(self.names))
        freeze(self, "labels", tuple(tuple(level) for level in self.labels))
        stated = [word for word in FORMS if len(getattr(self, word))]
        if len(stated) != 1:
            said = f"both {' and '.join(stated)}" if stated else "none of them"
            raise SchemaError(f"a hierarchy has rows, cuts, widths or spans; this one has {said}")
        if self.rows:
            freeze(self, "rows", tuple(tuple(_worded(entry) for entry in row) for row in self.rows))
            _refuse(entry_fault(self.rows))
            freeze(self, "rows", _of_one_type(self.rows))
            _refuse(row_fault(self.rows))
        elif self.cuts:
            freeze(self, "cuts", tuple(tuple(_in_days(cut) for cut in level) for level in self.cuts))
            _refuse(cut_fault(self.cuts))
            freeze(self, "cuts", tuple(tuple(float(cut) for cut in level) for level in self.cuts))
        elif self.spans:
            freeze(self, "spans", tuple(self.spans))
            _refuse(span_fault(self.spans))
        else:
            freeze(self, "widths", tuple(_plain(width) for width in self.widths))
            _refuse(width_fault(self.widths, self.start))
            freeze(self, "widths", tuple(float(width) for width in self.widths))
            freeze(self, "start", float(self.start))
        _refuse(name_fault(self.names, self.labels, self.cuts, self.height))

    def __repr__(self) -> str:
        given = {name: repr(value) for name, value in self.stated().items()}
        if self.widths:
            given["widths"] = given["widths"].replace("inf", "1e999")  # so that it evaluates back
        return f"Hierarchy({', '.join(f'{name}={text}' for name, text in given.items())})"

    @classmethod
    def of(cls, stated: Any) -> "Hierarchy":
        """Read a hierarchy as it is written in a text: its rows, cuts or widths.

        ``{"Aix": ["south", "France"], ...}`` is each category with its groups; ``[5, 10]`` are widths of a number's
        classes, ``["month", "year"]`` spans of a date and ``[[18, 25, 65], [18, 65]]`` cut points, level by level.
        ``{"widths": [5, 10], "start": 2}`` names what it gives.
        """
        if isinstance(stated, Hierarchy):
            return stated
        if isinstance(stated, Mapping) and any(_is_list(stated.get(word)) for word in FORMS):
            return cls._of_fields(stated)
        if isinstance(stated, Mapping) and stated and all(_is_list(groups) for groups in stated.values()):
            return cls(rows=tuple((category, *groups) for category, groups in stated.items()))
        if _is_list(stated) and stated and all(_is_list(level) for level in stated):
            return cls(cuts=tuple(stated))
        if _is_list(stated) and stated and all(isinstance(entry, str) for entry in stated):
            return cls(spans=tuple(stated))
        if _is_list(stated) and stated:
            return cls(widths=tuple(stated))
        raise SchemaError(
            "a hierarchy is a dict from each category to its groups, nearest first, such as {'Aix': ['south', "
            f"'France']}}, the rising widths of a number's classes, such as [5, 10], or ['month', 'year']; got "
            f"{stated!r}"
        )

    @classmethod
    def _of_fields(cls, stated: Mapping[str, Any]) -> "Hierarchy":
        known = {entry.name for entry in fields(cls) if entry.compare}
        odd = [word for word in stated if word not in known]
        if odd:
            raise SchemaError(f"{odd[0]!r} is not known in a hierarchy; allowed are {', '.join(sorted(known))}")
        for word in sorted(known & set(stated) - {"start"}):
            inner = word in ("rows", "cuts", "labels")
            if not _is_list(stated[word]) or (inner and not all(_is_list(entry) for entry in stated[word])):
                meant = "a list of lists" if inner else "a list"
                raise SchemaError(f"{word} of a hierarchy must be {meant}; got {stated[word]!r}")
        widths = tuple(math.inf if width is None else width for width in stated.get("widths", ()))
        return cls(**{**stated, "widths": widths})

    @property
    def height(self) -> int:
        """The number of levels above 0."""
        return len(self.rows[0]) - 1 if self.rows else len(self.cuts or self.widths or self.spans)

    # builders

    @classmethod
    def bands(cls, *widths: float, start: float = 0.0, ends: tuple[float, float] | None = None) -> "Hierarchy":
        """Return bands of a number, level by level wider: each width a multiple of the last, at multiples from a start.

        With ``ends`` bands beyond them are open, and the hierarchy has cuts of its own; without, they follow a table
        from its least to its greatest value.

        >>> Hierarchy.bands(5, 10, 20)
        Hierarchy(widths=(5.0, 10.0, 20.0))
        >>> Hierarchy.bands(10, 20, ends=(20, 80)).cuts[1]
        (20.0, 40.0, 60.0, 80.0)
        """
        made = cls(widths=widths, start=start)
        return made if ends is None else cls(cuts=builders.band_cuts(made.widths, ends, start))

    @classmethod
    def nice(cls, column: NDArray[np.float64], levels: int = 3) -> "Hierarchy":
        """Return bands of round widths that suit a number: some 15 at first, then wider."""
        return cls(widths=builders.nice_widths(column, levels))

    @classmethod
    def quantiles(cls, column: NDArray[np.float64], *groups: int) -> "Hierarchy":
        """Return groups of about as many records, level by level fewer: ``quantiles(ages, 10, 5)``."""
        return cls(cuts=builders.quantile_cuts(column, groups))

    @classmethod
    def dates(cls, *spans: str) -> "Hierarchy":
        """Return spans of the calendar, level by level longer: months, quarters and years if not said."""
        return cls(spans=spans or ("month", "quarter", "year"))

    @classmethod
    def ages(cls, reference: str, *levels: Sequence[int]) -> "Hierarchy":
        """Return classes of birth dates by the age on a day, of which each level says where they begin.

        >>> made = Hierarchy.ages("2020-12-31", [18, 40, 65], [18, 65])
        >>> made.labels[1], made.cuts[1] == (day_of("1956-01-01"), day_of("2003-01-01"))
        (('65+', '18-64', '<18'), True)
        """
        classes = [age_at(reference, begins) for begins in levels]
        cuts = [tuple(_in_days(end) for _, end in list(level.values())[:-1]) for level in classes]
        return cls(cuts=tuple(cuts), labels=tuple(map(tuple, classes)))

    @classmethod
    def ordered(cls, categories: Sequence[object], *sizes: int) -> "Hierarchy":
        """Return so many neighbours of ordered categories together, level by level; 2, 4, 8 and so on if not said.

        >>> Hierarchy.ordered(["low", "middle", "high"]).rows
        (('low', 'low to middle'), ('middle', 'low to middle'), ('high', 'high'))
        """
        return cls(rows=tuple(builders.neighbour_rows(categories, sizes)))

    @classmethod
    def truncated(cls, codes: Iterable[object], keep: Sequence[int], *, mask: str = "*") -> "Hierarchy":
        """Return codes (NUTS, ISCO, ICD, postcodes) with so many first characters left, level by level fewer.

        Others are masked, or with ``mask=""`` left out; of nothing left there is one group.

        >>> Hierarchy.truncated(["AT127", "AT130"], keep=(4, 2), mask="").rows
        (('AT127', 'AT12', 'AT'), ('AT130', 'AT13', 'AT'))
        """
        return cls(rows=tuple(builders.prefix_rows(codes, keep, mask)))

    @classmethod
    def rare(cls, variable: "Variable", column: NDArray[Any], *shares: float) -> "Hierarchy":
        """Return categories with less than a share of the records as one, other, level by level a larger share."""
        if variable.kind != "nominal":
            raise ParameterError(
                f"variable {variable.name!r} is {variable.kind}; rare categories are merged of a nominal one only: "
                "merge neighbours (ordered) or give bands"
            )
        counts = np.bincount(column[column >= 0], minlength=len(variable.categories))
        return cls(rows=tuple(builders.rare_rows(variable.categories, counts, shares)))

    @classmethod
    def from_table(cls, frame: Any, *columns: str) -> "Hierarchy":
        """Return what a table says whose columns go from fine to coarse: municipality, district, state.

        >>> import pyarrow as pa
        >>> Hierarchy.from_table(pa.table({"town": ["Aix", "Bonn", "Aix"], "country": ["F", "D", "F"]}))
        Hierarchy(rows=(('Aix', 'F'), ('Bonn', 'D')), names=('country',))
        """
        rows, names = builders.table_rows(frame, columns)
        return cls(rows=tuple(rows), names=names)

    def topped(self, name: str = "*") -> "Hierarchy":
        """Return the hierarchy with one more level in which all is one group; itself if it ends so already.

        >>> Hierarchy.bands(5, 10).topped()
        Hierarchy(widths=(5.0, 10.0, 1e999))
        """
        names = (*self.names, "all") if self.names else ()
        if self.rows:
            rows = tuple((*row, name) for row in self.rows)
            return self if len({row[-1] for row in self.rows}) == 1 else Hierarchy(rows=rows, names=names)
        if self.cuts:
            labels = (*self.labels, (name,)) if self.labels else ()
            return self if not self.cuts[-1] else Hierarchy(cuts=(*self.cuts, ()), names=names, labels=labels)
        if self.spans:
            return self if self.spans[-1] == ALL else Hierarchy(spans=(*self.spans, ALL), names=names)
        ends = self.widths[-1] == math.inf
        return self if ends else Hierarchy(widths=(*self.widths, math.inf), start=self.start, names=names)

    # what it says

    def stated(self) -> dict[str, Any]:
        """Return what ``of`` reads back: the fields that say something, by name."""
        said = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.compare}
        return {name: value for name, value in said.items() if value != getattr(Hierarchy, name)}

    def named(self, *names: str) -> "Hierarchy":
        """Return the hierarchy with names for its levels above 0."""
        return changed(self, names=names)

    def listing(self, values: Iterable[float], kind: Literal["numeric", "date"] = "numeric") -> "Hierarchy":
        """Return a hierarchy of a number or date as rows, one for each of these values: what a file of rows can hold.

        >>> Hierarchy(widths=(5, 10)).listing([3, 4, 12]).rows
        (('3', '0-4', '0-9'), ('4', '0-4', '0-9'), ('12', '10-14', '10-19'))
        """
        if self.rows:
            return self
        wanted = np.unique(np.array([*values], dtype=np.float64))
        found = class_levels(self, "values", kind, wanted, np.arange(len(wanted), dtype=np.int32))
        columns = [
            [words[group] for group in groups] for words, groups in zip(found.spelled, found.parents, strict=True)
        ]
        return Hierarchy(rows=tuple(zip(*columns, strict=True)), names=self.names)

    def at(self, variable: "Variable", column: NDArray[Any], level: int) -> "tuple[Variable, NDArray[Any]]":
        """Return a variable at a level, its column, and in its treatment what was done."""
        return recoded(self, variable, column, level)

    def levels(self, variable: "Variable", column: NDArray[Any]) -> Levels:
        """Return the values that occur and the group of each at every level."""
        return levels_of(self, variable, column)


def _plain(entry: Any) -> Any:
    """Return numpy's numbers and texts as Python's, so that the repr evaluates back."""
    return entry.item() if isinstance(entry, np.generic) else entry


def _worded(entry: Any) -> Any:
    """Return an entry of a row as Python's, a date as its text: it means the same, and the repr evaluates back."""
    return str(entry) if isinstance(entry, dt.date) and entry == entry else _plain(entry)


def _in_days(cut: Any) -> Any:
    """Return a date, or its text, as days; a number as it is."""
    day = day_of(cut)
    return _plain(cut) if day is None else day


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _refuse(fault: str | None) -> None:
    if fault is not None:
        raise SchemaError(fault)


def _of_one_type(rows: tuple[tuple[object, ...], ...]) -> tuple[tuple[object, ...], ...]:
    """Make the groups of a level all text where they are texts and numbers."""
    if len({len(row) for row in rows}) > 1 or any(None in row for row in rows):  # which is refused with the row
        return rows
    columns = list(zip(*rows, strict=True))
    for level, groups in enumerate(columns[1:], start=1):
        if len({float if type(group) is int else type(group) for group in groups}) > 1:
            columns[level] = tuple(str(group) for group in groups)
    return tuple(zip(*columns, strict=True))
