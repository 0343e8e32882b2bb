"""Hierarchies: what each value of a variable is part of, level by level."""

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from dataclasses import replace as changed
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError, SchemaError, refusing
from sfumato.table import bands
from sfumato.table.bands import age_at
from sfumato.table.dates import day_of
from sfumato.table.hierarchy_levels import (
    ALL,
    FORMS,
    TOP,
    class_levels,
    cut_fault,
    entry_fault,
    levels_of,
    name_fault,
    recoded,
    row_fault,
    shape_fault,
    span_fault,
    width_fault,
)
from sfumato.table.hierarchy_levels import Levels as Levels
from sfumato.table.merging import in_classes

if TYPE_CHECKING:
    from sfumato.table.schema import Variable


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
        if ends is None:
            return made
        low, high = (float(end) for end in ends)
        if not low < high:
            raise ParameterError(f"the ends of bands must rise; got {ends!r}")
        inner = [bands.of_width(low, high, width, start) if width < math.inf else None for width in made.widths]
        return cls(cuts=tuple(() if e is None else (low, *(cut for cut in e if low < cut < high), high) for e in inner))

    @classmethod
    def nice(cls, column: NDArray[np.float64], levels: int = 3) -> "Hierarchy":
        """Return bands of round widths that suit a number: some 15 at first, then wider."""
        return cls(widths=nice_widths(column, levels))

    @classmethod
    def quantiles(cls, column: NDArray[np.float64], *groups: int) -> "Hierarchy":
        """Return groups of about as many records, cut at round numbers, level by level fewer.

        >>> Hierarchy.quantiles(np.array([1., 2., 3., 4., 5., 6., 7., 8.]), 4, 2).cuts
        ((3.0, 5.0, 7.0), (5.0,))
        """
        _falling("groups", groups, least=2)
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        starts = bands.equal_counts(counts, groups[0])
        if not starts:
            raise ParameterError("a column with one value has no quantiles; use it as it is")
        levels = [[bands.roundest(float(values[j - 1]), float(values[j])) for j in starts]]
        for number in groups[1:]:
            finer = levels[-1]
            held = np.bincount(in_classes(values, finer), weights=counts, minlength=len(finer) + 1).astype(np.int64)
            levels.append([finer[j - 1] for j in bands.equal_counts(held, number)])
        return cls(cuts=tuple(map(tuple, levels)))

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
        if len(categories) < 3 and not sizes:
            raise ParameterError(
                f"there are {len(categories)} categories; to merge neighbours there must be three or more"
            )
        doubled = [2**i for i in range(1, len(categories).bit_length()) if 2**i < len(categories)]
        chosen = sizes or tuple(doubled)
        for size in chosen:
            _whole("sizes of groups", size, least=2)
        for small, large in pairwise(chosen):
            if large <= small or large % small:
                raise ParameterError(f"each size of groups must be a multiple of the last; {large} is none of {small}")
        return cls(rows=tuple(zip(categories, *(_level(categories, size) for size in chosen), strict=True)))

    @classmethod
    def truncated(cls, codes: Iterable[object], keep: Sequence[int], *, mask: str = "*") -> "Hierarchy":
        """Return codes (NUTS, ISCO, ICD, postcodes) with so many first characters left, level by level fewer.

        Others are masked, or with ``mask=""`` left out; of nothing left there is one group.

        >>> Hierarchy.truncated(["AT127", "AT130"], keep=(4, 2), mask="").rows
        (('AT127', 'AT12', 'AT'), ('AT130', 'AT13', 'AT'))
        >>> Hierarchy.truncated(["81667", "81925"], keep=(3, 1)).rows
        (('81667', '816**', '8****'), ('81925', '819**', '8****'))
        """
        _falling("characters to keep", keep, least=0)
        if len(mask) > 1:
            raise ParameterError(f"mask must be one character, or '' for the first characters alone; got {mask!r}")
        rows = [(code, *(_cut(str(code), length, mask) for length in keep)) for code in dict.fromkeys(codes)]
        return cls(rows=tuple(rows))

    @classmethod
    def rare(cls, variable: "Variable", column: NDArray[Any], *shares: float) -> "Hierarchy":
        """Return categories with less than a share of the records as one, other, level by level a larger share."""
        if variable.kind != "nominal":
            raise ParameterError(
                f"variable {variable.name!r} is {variable.kind}; rare categories are merged of a nominal one only: "
                "merge neighbours (ordered) or give bands"
            )
        for low, high in pairwise((0.0, *shares)):
            if not low < high < 1:
                raise ParameterError(f"shares must rise and lie between 0 and 1; got {list(shares)}")
        categories = variable.categories
        counts = np.bincount(column[column >= 0], minlength=len(categories))
        levels = []
        for share in shares:
            codes = rarest(counts, share)
            if not codes.size:
                raise ParameterError(
                    f"every category that occurs has {share:.4g} of the records or more, so none is rare; ask for a "
                    "larger share"
                )
            others = {*codes.tolist(), *(code for code, category in enumerate(categories) if category == OTHER)}
            if len(others) >= len(categories):
                raise ParameterError(f"no category has {share:.4g} of the records, so all would be other; ask for less")
            levels.append([OTHER if code in others else category for code, category in enumerate(categories)])
        return cls(rows=tuple(zip(categories, *levels, strict=True)))

    @classmethod
    def from_table(cls, frame: Any, *columns: str) -> "Hierarchy":
        """Return what a table says whose columns go from fine to coarse: municipality, district, state.

        >>> import pyarrow as pa
        >>> Hierarchy.from_table(pa.table({"town": ["Aix", "Bonn", "Aix"], "country": ["F", "D", "F"]}))
        Hierarchy(rows=(('Aix', 'F'), ('Bonn', 'D')), names=('country',))
        """
        import narwhals as nw  # only to read tables, which few hierarchies are made of

        table = nw.from_native(frame, eager_only=True)
        names = columns or tuple(table.columns)
        absent = [name for name in names if name not in table.columns]
        if absent:
            raise ParameterError(f"the table has no column {absent[0]!r}; it has {', '.join(table.columns)}")
        if len(names) < 2:
            raise ParameterError("a hierarchy needs two columns or more, from fine to coarse")
        cells = ([None if value != value else value for value in table[name].to_list()] for name in names)
        return cls(rows=tuple(dict.fromkeys(zip(*cells, strict=True))), names=names[1:])

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


# What suits a column: widths of bands, rare categories, names of groups.

Floats = NDArray[np.float64]
OTHER = "other"
CLASSES = 15  # bands that the finest level has about, if nobody says how wide they are


def nice_widths(column: Floats, levels: int = 3) -> tuple[float, ...]:
    """Return round widths of bands that suit a number: some 15 bands at first, then the next round multiple each time.

    The range is that without the outermost hundredths, so that a few large amounts do not make bands wide.

    >>> nice_widths(np.arange(100.0)), nice_widths(np.linspace(0, 90_000, 1000))
    ((5.0, 10.0, 20.0), (5000.0, 10000.0, 20000.0))
    """
    present = column[~np.isnan(column)]
    low, high = np.quantile(present, [0.01, 0.99]) if present.size else (0.0, 0.0)
    if high <= low:
        raise ParameterError("the values hardly differ, so no width of bands suits them; say the widths")
    ideal = (high - low) / CLASSES
    first = min(_rounds(ideal), key=lambda width: abs(math.log(width / ideal)))
    widths = [max(first, 2.0) if bands.is_whole(present) else first]  # a band of one whole number is no band
    while len(widths) < levels:
        last = widths[-1]
        widths.append(next(w for w in _rounds(last) if w > 1.5 * last and abs(w / last - round(w / last)) < 1e-9))
    return tuple(widths)


def _rounds(near: float) -> list[float]:
    """Return round numbers about one, rising: 1, 2, 5, 10, 20 and so on."""
    power = math.floor(math.log10(near))
    return [float(f"{digit}e{power + up}") for up in (0, 1, 2) for digit in (1, 2, 5)]


def rarest(counts: NDArray[np.integer], share: float) -> NDArray[np.intp]:
    """Return the categories with a smaller share of the records, and the next rarest until these have it together.

    None where there is no such category with a record.

    >>> rarest(np.array([90, 6, 3, 1]), 0.05).tolist()
    [3, 2, 1]
    """
    needed = share * counts.sum() * (1 - 1e-12)  # a share of exactly that much is enough
    order = np.argsort(counts, kind="stable")
    rare = int(np.count_nonzero(counts < needed))
    if not np.count_nonzero(counts[order[:rare]]):
        return order[:0]
    gathered = np.cumsum(counts[order])
    return order[: max(rare, int(np.searchsorted(gathered, needed)) + 1)]


def _cut(code: str, length: int, mask: str) -> str:
    if mask:
        return code[:length] + mask * (len(code) - length) if length else TOP
    return code[:length].rstrip(".-/ ") or TOP


def _level(categories: Sequence[object], size: int) -> list[object]:
    parts = [categories[start : start + size] for start in range(0, len(categories), size)]
    return [name for part, name in zip(parts, range_names(parts), strict=True) for _ in part]


def range_names(parts: Sequence[Sequence[object]]) -> list[object]:
    """Name neighbouring categories that are put together: bands by their outer ends, else by the first and the last.

    >>> range_names([("0-9", "10-19"), ("20+",)]), range_names([("low", "middle"), ("high",)])
    (['0-19', '20+'], ['low to middle', 'high'])
    """
    names = [part[0] if len(part) == 1 else bands.joined_label([str(one) for one in part]) for part in parts]
    if len(set(names)) == len(names):
        return names
    return [part[0] if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts]


def _falling(what: str, numbers: Sequence[int], *, least: int) -> None:
    for number in numbers:
        _whole(what, number, least=least)
    if not numbers or any(coarse >= fine for fine, coarse in pairwise(numbers)):
        raise ParameterError(f"{what} must fall from level to level, such as 10, 5; got {list(numbers)}")


def _whole(what: str, number: object, *, least: int) -> None:
    if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < least:
        raise ParameterError(f"{what} must be whole numbers of at least {least}; got {number!r}")
