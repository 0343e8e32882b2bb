"""Which variables a method for categories works on."""

from collections.abc import Iterable

import numpy as np

from sfumato.errors import NotApplicable
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Kind


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
