"""The key variables of a table, what an intruder may know, as codes; and the strata that are treated each by itself."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes
from sfumato.table.dates import spelled
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable

Codes = NDArray[np.int32]


def key_names(schema: Schema, stated: Iterable[str] | None) -> tuple[str, ...]:
    """Name the keys: those stated, or the variables the schema gives the role of key."""
    names = tuple(stated) if stated is not None else schema.analysed(role="key")
    if not names:
        raise NotApplicable(
            'no variable has the role key; give variables=[...], or role = "key" in the schema to what an intruder may '
            f"know ({', '.join(schema.analysed()[:12])})"
        )
    for name in names:
        if name not in schema:
            raise NotApplicable(schema.unknown(name))
    return names


def key_codes(data: Microdata, names: tuple[str, ...], called: str = "key") -> Codes:
    """Return the keys as an n x q array of codes; missing values are -1, whole numbers and dates count as categories.

    A continuous key is refused. ``called`` says what the variables are to whom they are refused.
    """
    return np.column_stack([_codes(data, name, called) for name in names]).astype(np.int32, copy=False)


def _codes(data: Microdata, name: str, called: str) -> NDArray[np.integer]:
    column = data.columns[name]
    if not data.schema[name].quantitative:
        return column
    values, codes = np.unique(column, return_inverse=True)
    missing = np.isnan(column)
    refuse_continuous(data.schema[name], values[~np.isnan(values)], int((~missing).sum()), called)
    codes[missing] = -1
    return codes


def refuse_continuous(variable: Variable, values: NDArray[np.float64], present: int, called: str = "key") -> None:
    """Refuse a numeric key of these different values, among so many, because nearly every record would be alone.

    Continuous are numbers of which more than half are different and more than a hundred, or more than a third where
    they are not whole. A date of whole days is never continuous, because an intruder knows the day itself.
    """
    distinct, whole = len(values), np.array_equal(values, np.round(values))
    if variable.kind == "date" and whole:
        return
    if (distinct > 100 and 2 * distinct > present) or (not whole and 3 * distinct > present):
        raise NotApplicable(
            f"{called} {variable.name!r} is continuous ({distinct:,} different values among {present:,}), so counting "
            "records that agree in it says nothing; recode it into classes first, as GlobalRecoding does, or leave it "
            "out of the keys"
        )


# The parts of a table that are treated each by itself.


@dataclass(frozen=True, eq=False)
class Strata:
    """The parts of a table that are treated each by itself: each record's part, and the values that make each part."""

    codes: NDArray[np.int64]
    values: tuple[tuple[object, ...], ...]

    def spelled(self, stratum: int) -> str:
        """Write a stratum as a reader knows it."""
        return " and ".join("missing" if value is None else str(value) for value in self.values[stratum]) or "all"


def strata(data: Microdata, names: tuple[str, ...], called: str = "strata: key") -> Strata:
    """Part a table by variables; a missing value is a value like any other, no names give one part."""
    if not names:
        return Strata(np.zeros(len(data), dtype=np.int64), ((),))
    for name in names:
        if name not in data.schema:
            raise NotApplicable(data.schema.unknown(name))
    part, counts = classes(key_codes(data, names, called))
    first = np.empty(len(counts), dtype=np.intp)
    first[part[::-1]] = np.arange(len(data))[::-1]
    return Strata(part, tuple(tuple(_value(data, name, row) for name in names) for row in first.tolist()))


def _value(data: Microdata, name: str, row: int) -> object:
    found = data.columns[name][row]
    if not data.schema[name].quantitative:
        return None if found < 0 else data.schema[name].categories[found]
    if np.isnan(found):
        return None
    if data.schema[name].kind == "date":
        return spelled(found)
    return int(found) if found == int(found) else float(found)
