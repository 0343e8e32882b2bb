"""Which variables and strata a method for categories works on."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.keys import key_codes
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Kind
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes


def keys_or_all(data: Microdata, kinds: tuple[Kind, ...], apart: Iterable[str] = ()) -> tuple[str, ...]:
    """Name the keys of these kinds, or all variables of these kinds where the schema names no key."""
    schema = data.schema
    stated = bool(schema.analysed(role="key"))
    left_out = set(apart)
    names = tuple(n for n in schema.analysed(*kinds, role="key" if stated else None) if n not in left_out)
    if not names and not left_out:
        needed = " or ".join(kinds)
        if stated:
            raise NotApplicable(f"none of the keys is {needed}; name other variables with variables=[...]")
        raise NotApplicable(f"the table has no {needed} variable")
    return names


def checked(data: Microdata, names: Iterable[str]) -> None:
    """Refuse a name that is no variable of the table."""
    for name in names:
        if name not in data.schema:
            raise NotApplicable(f"there is no variable {name!r}; there are {', '.join(data.names)}")


def refuse_special(data: Microdata, names: Iterable[str]) -> None:
    """Refuse to change the categories of what weighs, groups or names the records."""
    for special, name in data.schema.special().items():
        if name in names:
            raise NotApplicable(
                f"{name!r} is the {special} of the records, which would no longer work as one; leave it, or "
                "take it out with VariableRemoval"
            )


def refuse_small_weights(data: Microdata) -> None:
    """Refuse weights that have been rescaled: a record stands at least for itself."""
    small = np.flatnonzero(data.weights() < 1)
    if small.size:
        records = f"{small.size:,} record{'s' if small.size > 1 else ''}"
        raise NotApplicable(
            f"the weight {data.schema.weight!r} is below one in {records} (first in row "
            f"{small[0] + 1}), but a record stands for itself at least; give weights that add up to the population"
        )


@dataclass(frozen=True, eq=False)
class Strata:
    """The parts of a table that are treated each by itself: each record's part, and the values that make each part."""

    codes: NDArray[np.int64]
    values: tuple[tuple[object, ...], ...]

    def spelled(self, stratum: int) -> str:
        """Write a stratum as a reader knows it."""
        return " and ".join("missing" if value is None else str(value) for value in self.values[stratum]) or "all"


def strata(data: Microdata, names: tuple[str, ...]) -> Strata:
    """Part a table by variables; a missing value is a value like any other, no names give one part."""
    if not names:
        return Strata(np.zeros(len(data), dtype=np.int64), ((),))
    checked(data, names)
    part, counts = classes(key_codes(data, names, "strata: key"))
    first = np.empty(len(counts), dtype=np.intp)
    first[part[::-1]] = np.arange(len(data))[::-1]
    return Strata(part, tuple(tuple(_value(data, name, row) for name in names) for row in first.tolist()))


def _value(data: Microdata, name: str, row: int) -> object:
    found = data.columns[name][row]
    if data.schema[name].kind != "numeric":
        return None if found < 0 else data.schema[name].categories[found]
    if np.isnan(found):
        return None
    return int(found) if found == int(found) else float(found)
