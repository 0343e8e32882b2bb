"""Which variables a method for categories works on."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sfumato.errors import NotApplicable
from sfumato.pair import Half
from sfumato.pair.statistics import Sums
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


def refuse_strangers(names: tuple[str, ...], **stated: Mapping[str, Any] | None) -> None:
    """Refuse a parameter by key that names what is none of the keys."""
    for what, by_key in stated.items():
        strangers = [name for name in by_key or () if name not in names]
        if strangers:
            raise NotApplicable(f"{what} names {strangers[0]!r}, which is not one of the keys {', '.join(names)}")


def refuse_small_weights(data: Microdata | Half) -> None:
    """Refuse weights that have been rescaled: a record stands at least for itself."""
    if data.schema.weight is None:
        return
    if isinstance(data, Half):
        found, first = data.total(lambda part: Sums({"small": int((part.weights() < 1).sum())}))["small"], ""
    else:
        small = np.flatnonzero(data.weights() < 1)
        found, first = len(small), f" (first in row {small[0] + 1})" if len(small) else ""
    if found:
        raise NotApplicable(
            f"the weight {data.schema.weight!r} is below one in {found:,} record{'s' if found > 1 else ''}{first}, but "
            "a record stands for itself at least; give weights that add up to the population"
        )
