"""The key variables of a table, what an intruder may know: which they are, and as codes that can be counted."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.data.schema import Schema
from sfumato.errors import NotApplicable

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


def key_codes(data: Microdata, names: tuple[str, ...]) -> Codes:
    """Return the keys as an n x q array of codes; missing values are -1, whole numbers count as categories.

    A continuous key is refused.
    """
    return np.column_stack([_codes(data, name) for name in names]).astype(np.int32, copy=False)


def _codes(data: Microdata, name: str) -> NDArray[np.integer]:
    column = data.columns[name]
    if data.schema[name].kind != "numeric":
        return column
    missing = np.isnan(column)
    present = column[~missing]
    whole = np.array_equal(present, np.round(present))
    refuse_continuous(name, distinct=len(np.unique(present)), present=len(present), whole=whole)
    _, codes = np.unique(column, return_inverse=True)
    codes[missing] = -1
    return codes


def refuse_continuous(name: str, *, distinct: int, present: int, whole: bool) -> None:
    """Refuse a numeric key that is continuous, because nearly every record would be alone with its value.

    Continuous are numbers of which more than half are different and more than a hundred, or more than a third where
    they are not whole. ``distinct`` counts the different values, ``present`` the records that have one.
    """
    if (distinct > 100 and 2 * distinct > present) or (not whole and 3 * distinct > present):
        raise NotApplicable(
            f"key {name!r} is continuous ({distinct:,} different values among {present:,}), so counting records that "
            "agree in it says nothing; recode it into classes first, as GlobalRecoding does, or leave it out of the "
            "keys"
        )
