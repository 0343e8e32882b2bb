"""One of the two tables: whole or in parts, with its statistics computed once and kept."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data import dates
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Category, Schema, Variable
from sfumato.data.units import units
from sfumato.errors import DataError, NotApplicable
from sfumato.pair.kept import Kept
from sfumato.pair.statistics import KeyClasses, Moments, Statistic, Values, merged

S = TypeVar("S", bound=Statistic)
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


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
        codes = np.searchsorted(self.values, column).astype(np.int32)
        codes[np.isnan(column)] = -1
        return codes

    def spelled(self, code: int) -> str:
        """Spell out a code as a reader knows its value."""
        if code < 0:
            return "missing"
        if self.values is not None:
            value = float(self.values[code])
            return dates.spelled(value) if self.variable.kind == "date" else f"{value:g}"
        category: Category = self.variable.categories[code]
        return self.variable.spelled(category)


class Half:
    """A table of a pair: its schema, its records in one part or several, and the statistics asked for so far.

    The parts of a table have one schema. A table in memory is a table of one part.
    """

    def __init__(self, parts: Sequence[Microdata], *, most_bytes: int | None = None) -> None:
        self.parts = tuple(parts)
        if not self.parts or not any(len(part) for part in self.parts):
            raise DataError("the table has no records")
        self.schema: Schema = self.parts[0].schema
        for number, part in enumerate(self.parts[1:], start=2):
            if part.schema != self.schema:
                raise DataError(
                    f"part {number} of the table has another schema than part 1: {_first_difference(self.schema, part)}"
                )
        self.matched = all(part.matched for part in self.parts)
        self._kept = Kept() if most_bytes is None else Kept(most_bytes)

    @classmethod
    def of(cls, table: "Half | Microdata | Sequence[Microdata]") -> "Half":
        """Take a table, or the parts of one."""
        if isinstance(table, Half):
            return table
        return cls((table,) if isinstance(table, Microdata) else table)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    @property
    def in_parts(self) -> bool:
        """Whether the records are in several parts."""
        return len(self.parts) > 1

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
        return np.concatenate([part.columns[name] for part in self.parts])

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

    # statistics

    def total(self, of: Callable[[Microdata], S], key: Hashable = None) -> S:
        """Make a statistic of each part and merge them in the order of the parts; under a key it is kept."""
        if key is None:
            return merged(of(part) for part in self.parts if len(part))
        return self._kept.get(key, lambda: self.total(of))

    def keep(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Compute something of this table once, and keep it."""
        return self._kept.get(key, compute)

    def moments(self, names: Iterable[str]) -> Moments:
        """Return means, variances and covariances of numbers and dates."""
        chosen = tuple(names)
        return self.total(lambda part: Moments.of(part.quantities(chosen)), ("moments", chosen))

    def values(self, name: str, *, weighted: bool = False) -> Values:
        """Return the different values of a numeric variable and how often each occurs."""
        return self.total(
            lambda part: Values.of(part.columns[name], part.weights() if weighted else None), ("values", name, weighted)
        )

    def coding(self, name: str) -> Coding:
        """Return how the values of a variable are numbered in this table."""
        variable = self.schema[name]
        return Coding(variable, self.values(name).values if variable.quantitative else None)

    def codes(self, part: Microdata, names: Iterable[str]) -> Codes:
        """Return variables of a part as an n x q array of codes that mean the same in all parts; missing is -1."""
        chosen = tuple(names)
        codes = np.empty((len(part), len(chosen)), dtype=np.int32, order="F")
        for place, name in enumerate(chosen):
            codes[:, place] = self._numbered(part, name)
        return codes

    def _numbered(self, part: Microdata, name: str) -> Codes:
        """Return one variable of a part as codes; those of a table in memory are kept."""
        coding, column = self.coding(name), part.columns[name]
        if coding.values is None or self.in_parts:
            return coding.codes(column)
        return self._kept.get(("codes", name), lambda: coding.codes(column))

    def classes(self, names: Iterable[str], *, weighted: bool = False) -> KeyClasses:
        """Return the combinations of values of some variables, and how many records have each."""
        chosen = tuple(names)
        return self.total(
            lambda part: KeyClasses.of(self.codes(part, chosen), part.weights() if weighted else None),
            ("classes", chosen, weighted),
        )

    def spelled(self, names: Iterable[str], codes: Iterable[int]) -> dict[str, str]:
        """Spell out a combination of codes."""
        return {name: self.coding(name).spelled(int(code)) for name, code in zip(names, codes, strict=True)}


def _first_difference(schema: Schema, part: Microdata) -> str:
    """Say where the schema of a part first differs."""
    if schema.names != part.schema.names:
        odd = sorted(set(schema.names) ^ set(part.schema.names))
        return f"its variables differ in {', '.join(odd) or 'their order'}"
    for one, other in zip(schema, part.schema, strict=True):
        if one != other:
            return f"variable {one.name!r} is declared differently"
    return "its weight, household or id differ"
