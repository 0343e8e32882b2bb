"""One of the two tables: whole or in parts, with its statistics computed once and kept."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, starmap
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.engine import Engine, current
from sfumato.errors import DataError, NotApplicable
from sfumato.pair.files import NumbersInFile, dtype_of
from sfumato.pair.statistics import Gathering, KeyClasses, Moments, Statistic, Values, merged
from sfumato.table import dates
from sfumato.table.households import units
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts
from sfumato.table.schema import Category, Schema, Variable

S = TypeVar("S", bound=Statistic)
R = TypeVar("R")
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Coder = Callable[[Microdata], Codes]
T = TypeVar("T")

MAX_PLACES = 2**16  # of a table of whole numbers
KEPT_ON_DISK = 128 * 2**20  # bytes of statistics that are kept of a table on disk
SHARE = 8  # of the memory, one part in so many is for the different values of a variable
GOES_ALONG = 2**20  # bytes: what is kept of a table on disk goes to another process only if it is this small
MAX_BYTES = 512 * 2**20


@dataclass(frozen=True, eq=False)
class Coding:
    """How the values of a variable are numbered: categories by their codes, numbers by their place among all values."""

    variable: Variable
    values: Floats | None = None  # of numbers and dates, the different ones in ascending order

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return 0 if self.values is None else self.values.nbytes

    def codes(self, column: NDArray[Any]) -> Codes:
        """Return the codes of a column of this variable; missing is -1."""
        if self.values is None:
            return column
        if self._table is not None and len(column):
            places = column - self.values[0]
            places[np.isnan(places)] = len(self._table) - 1  # the last place, of missing values
            codes: Codes = self._table[places.astype(np.int64)]
            return codes
        codes = np.searchsorted(self.values, column).astype(np.int32)
        codes[np.isnan(column)] = -1
        return codes

    @cached_property
    def _table(self) -> Codes | None:
        """The code of every whole number from the smallest on, where there are few; -1 comes last."""
        values = self.values
        if values is None or not len(values):
            return None
        width = float(values[-1]) - float(values[0])
        if width >= MAX_PLACES or (values % 1 != 0).any():
            return None
        table = np.full(int(width) + 2, -1, dtype=np.int32)
        table[(values - values[0]).astype(np.int64)] = np.arange(len(values), dtype=np.int32)
        return table

    def spelled(self, code: int) -> str:
        """Spell out a code as a reader knows its value."""
        if code < 0:
            return "missing"
        if self.values is not None:
            value = float(self.values[code])
            return dates.spelled(value) if self.variable.kind == "date" else f"{value:g}"
        category: Category = self.variable.categories[code]
        return self.variable.spelled(category)


@dataclass(frozen=True, eq=False)
class Codings:
    """How the values of some variables are numbered, in all parts alike."""

    each: tuple[Coding, ...]

    def __call__(self, part: Microdata) -> Codes:
        """Return the variables of a part as an n x q array of codes; missing is -1."""
        codes = np.empty((len(part), len(self.each)), dtype=np.int32, order="F")
        for place, coding in enumerate(self.each):
            codes[:, place] = coding.codes(part.columns[coding.variable.name])
        return codes


class Half:
    """A table of a pair: its schema, its records in one part or several, and the statistics asked for so far.

    The parts of a table have one schema. A table in memory is a table of one part.
    """

    def __init__(self, parts: Sequence[Microdata], *, most_bytes: int | None = None) -> None:
        self.parts = tuple(parts)
        if len(self.parts) == 1:
            self.parts = (self.parts[0].loaded(),)
        if not self.parts or not any(len(part) for part in self.parts):
            raise DataError("the table has no records")
        self.schema: Schema = self.parts[0].schema
        for number, part in enumerate(self.parts[1:], start=2):
            if part.schema != self.schema:
                raise DataError(
                    f"part {number} of the table has another schema than part 1: {_first_difference(self.schema, part)}"
                )
        self.matched = all(part.matched for part in self.parts)
        if most_bytes is None and self.on_disk:
            most_bytes = KEPT_ON_DISK
        self._kept = ByteBoundedCache() if most_bytes is None else ByteBoundedCache(most_bytes)

    @classmethod
    def of(cls, table: "Half | Microdata | TableInParts | Sequence[Microdata]") -> "Half":
        """Take a table, or the parts of one."""
        if isinstance(table, Half):
            return table
        if isinstance(table, TableInParts):
            return cls(table.parts)
        return cls((table,) if isinstance(table, Microdata) else table)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    @property
    def in_parts(self) -> bool:
        """Whether the records are in several parts."""
        return len(self.parts) > 1

    @property
    def on_disk(self) -> bool:
        """Whether the parts are read when they are asked for, so that an engine computes what is wanted of them."""
        return self.in_parts and all(part.on_disk for part in self.parts)

    @property
    def folder(self) -> Path:
        """A folder for what would take too much memory."""
        return self.room.folder

    @property
    def room(self) -> Engine:
        """Where parts are computed: the memory there is, and a folder for what would take more."""
        return current(len(self))

    @property
    def aside(self) -> Path | None:
        """A folder for what would take too much memory, of a table on disk; None: of one in memory."""
        return self.folder if self.on_disk else None

    @property
    def table(self) -> Microdata:
        """The whole table in memory; refused where it is in parts."""
        if self.in_parts:
            raise NotApplicable(
                f"it needs all records at once, and the table is in {len(self.parts)} parts; measure a sample of them "
                "in memory, or choose a measure that works in parts (`sfumato measures` says which)"
            )
        return self.parts[0]

    def column(self, name: str) -> NDArray[Any]:
        """Return a whole variable, its parts put together."""
        if not self.in_parts:
            return self.parts[0].columns[name]
        if self.on_disk:
            return self._mapped(name)
        return np.concatenate([part.columns[name] for part in self.parts])

    def _mapped(self, name: str) -> NDArray[Any]:
        """Put the parts of a column together in a file that is mapped: for what needs all values at once."""
        column = NumbersInFile(self.folder, dtype_of(self.schema[name]), f"variable {name!r}")
        for part in self.parts:
            column.append(part.columns[name])
        return column.mapped()

    def only(self, names: Iterable[str]) -> Microdata:
        """Return these variables, with weight, household and id, as a table in memory."""
        wanted = {*names, *self.schema.special().values()}
        kept = [name for name in self.schema.names if name in wanted]
        return replace(
            self.parts[0],
            schema=self.schema.only(kept),
            columns={name: self.column(name) for name in kept},
            origin=self.parts[0].origin if not self.in_parts else type(self.parts[0].origin)(),
        )

    @property
    def units(self) -> NDArray[np.int64]:
        """The number of each record's unit, its household or the record itself; of a table in memory."""
        return self._kept.get("units", lambda: units(self.table))

    def __getstate__(self) -> dict[str, Any]:
        """Go to another process with little of what is kept: it computes the rest anew if it must."""
        return {**vars(self), "_kept": self._kept.small(GOES_ALONG)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._kept = ByteBoundedCache()
        for key, found in state["_kept"].items():
            self._kept.put(key, found)

    # statistics

    def total(self, of: Callable[[Microdata], S | None], key: Hashable = None) -> S:
        """Make a statistic of each part and merge them in the order of the parts; under a key it is kept."""
        if key in self._kept:
            return cast(S, self._kept[key])
        found = merged(
            each_part(of, [(part,) for part in self.parts if len(part)]), self.room if self.on_disk else None
        )
        return found if key is None else self._kept.put(key, found)

    def total_if_it_fits(self, of: Callable[[Microdata], S]) -> S | None:
        """Make a statistic of each part and merge them; None if it takes more than its share of the memory."""
        if not self.on_disk:
            return self.total(of)
        engine, gathering = current(len(self)), Gathering[S]()
        with closing(engine.each(of, [(part,) for part in self.parts if len(part)])) as found:
            for statistic in found:
                gathering.add(statistic)
                if gathering.nbytes > engine.memory // SHARE and gathering.result().nbytes > engine.memory // SHARE:
                    return None
        return gathering.result()

    def numbered(self, of: Callable[[Microdata, int], R]) -> Iterator[R]:
        """Yield what is made of each part and of the number of its first record, in the order of the parts."""
        begins = [0, *accumulate(len(part) for part in self.parts)]
        parts = [(part, begin) for part, begin in zip(self.parts, begins, strict=False) if len(part)]
        return each_part(of, parts, stored=False)

    def keep(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Compute something of this table once, and keep it."""
        return self._kept.get(key, compute)

    def moments(self, names: Iterable[str]) -> Moments:
        """Return means, variances and covariances of numbers and dates."""
        chosen = tuple(names)
        return self.total(lambda part: Moments.of(part.quantities(chosen)), ("moments", chosen))

    def values(self, name: str, *, weighted: bool = False) -> Values:
        """Return the different values of a numeric variable and how often each occurs."""
        return self.total(_Valued(name, weighted), ("values", name, weighted))

    def values_if_they_fit(self, name: str, *, weighted: bool = False) -> Values | None:
        """Return the different values of a numeric variable; None if they take more than their share of the memory."""
        key = ("values", name, weighted)

        def fit() -> bool:
            found = self.total_if_it_fits(_Valued(name, weighted))
            return found is not None and self._kept.get(key, lambda: found) is not None

        fits = not self.on_disk or self._kept.get(("values fit", name, weighted), fit)
        return self.values(name, weighted=weighted) if fits else None

    def coding(self, name: str) -> Coding:
        """Return how the values of a variable are numbered in this table."""
        variable = self.schema[name]
        return Coding(variable, self.values(name).values if variable.quantitative else None)

    def codes(self, part: Microdata, names: Iterable[str]) -> Codes:
        """Return variables of a part as an n x q array of codes that mean the same in all parts; missing is -1."""
        return self.coder(names)(part)

    def coder(self, names: Iterable[str]) -> Coder:
        """Return what turns a part into codes that mean the same in all parts; it can go to another process."""
        chosen = tuple(names)
        if self.in_parts:
            return Codings(tuple(self.coding(name) for name in chosen))
        return lambda part: self._codes(part, chosen)

    def _codes(self, part: Microdata, names: tuple[str, ...]) -> Codes:
        codes = np.empty((len(part), len(names)), dtype=np.int32, order="F")
        for place, name in enumerate(names):
            codes[:, place] = self._numbered(part, name)
        return codes

    def _numbered(self, part: Microdata, name: str) -> Codes:
        """Return one variable of a table in memory as codes, which are kept."""
        coding, column = self.coding(name), part.columns[name]
        if coding.values is None:
            return coding.codes(column)
        return self._kept.get(("codes", name), lambda: coding.codes(column))

    def classes(self, names: Iterable[str], *, weighted: bool = False) -> KeyClasses:
        """Return the combinations of values of some variables, and how many records have each."""
        chosen = tuple(names)
        key = ("classes", chosen, weighted)
        if key in self._kept:
            return cast(KeyClasses, self._kept[key])
        codes = self.coder(chosen)
        if self.in_parts:
            return self.total(lambda part: KeyClasses.of_part(codes(part), part.weights() if weighted else None), key)
        return self._kept.put(key, KeyClasses.of(codes(self.table), self.table.weights() if weighted else None))

    def spelled(self, names: Iterable[str], codes: Iterable[int]) -> dict[str, str]:
        """Spell out a combination of codes."""
        return {name: self.coding(name).spelled(int(code)) for name, code in zip(names, codes, strict=True)}


@dataclass(frozen=True)
class _Valued:
    """Counts the different values of a variable of a part."""

    name: str
    weighted: bool

    def __call__(self, part: Microdata) -> Values:
        return Values.of(part.columns[self.name], part.weights() if self.weighted else None)


def each_part(of: Callable[..., R], parts: Sequence[tuple[Any, ...]], *, stored: bool = True) -> Iterator[R]:
    """Yield what is made of each part, or of parts beside each other, in their order; on an engine if they are on disk.

    ``stored``: whether the engine keeps it with its summaries.
    """
    tables = [one for part in parts for one in part if isinstance(one, Microdata)]
    if not all(table.on_disk for table in tables):
        return starmap(of, parts)
    return current(sum(map(len, tables))).each(of, parts, stored=stored)


def _first_difference(schema: Schema, part: Microdata) -> str:
    """Say where the schema of a part first differs."""
    if schema.names != part.schema.names:
        odd = sorted(set(schema.names) ^ set(part.schema.names))
        return f"its variables differ in {', '.join(odd) or 'their order'}"
    for one, other in zip(schema, part.schema, strict=True):
        if one != other:
            return f"variable {one.name!r} is declared differently"
    return "its weight, household or id differ"


class ByteBoundedCache:
    """Results by key; beyond so many bytes those that were not asked for longest are dropped, and computed anew.

    >>> kept = ByteBoundedCache(most=100)
    >>> kept.get("a", lambda: 1), kept.get("a", lambda: 2)
    (1, 1)
    """

    def __init__(self, most: int = MAX_BYTES) -> None:
        self.most = most
        self._found: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0

    def __contains__(self, key: Hashable) -> bool:
        return key in self._found

    def __getitem__(self, key: Hashable) -> Any:
        self._found.move_to_end(key)
        return self._found[key][0]

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what is kept under a key, or compute it and keep it."""
        return cast(T, self[key]) if key in self else self.put(key, compute())

    def put(self, key: Hashable, result: T) -> T:
        """Keep a result, and return it."""
        size = int(getattr(result, "nbytes", 0))
        self._found[key] = result, size
        self._bytes += size
        while self._bytes > self.most and len(self._found) > 1:
            _, (_, gone) = self._found.popitem(last=False)
            self._bytes -= gone
        return result

    def small(self, most: int) -> dict[Hashable, Any]:
        """Return what takes few bytes each, to go along to another process."""
        return {key: found for key, (found, size) in self._found.items() if size <= most and _known_size(found)}

    @property
    def nbytes(self) -> int:
        """The memory in use."""
        return self._bytes


def _known_size(found: Any) -> bool:
    """Tell whether the bytes of a result are all that it takes."""
    return hasattr(found, "nbytes") or isinstance(found, bool | int | float | str)
