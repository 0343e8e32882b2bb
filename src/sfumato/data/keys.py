"""The key variables of a table, what an intruder may know, as codes that can be counted."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sfumato.data.alignment import aligned
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable

Codes = NDArray[np.int32]


def key_names(who: str, data: Microdata, stated: Iterable[str] | None) -> tuple[str, ...]:
    """Name the keys: those stated, or the variables the schema gives the role of key."""
    names = tuple(stated) if stated is not None else data.schema.analysed(role="key")
    if not names:
        raise NotApplicable(
            f'{who}: no variable has the role key; give variables=[...], or role = "key" in the schema to what an '
            f"intruder may know ({', '.join(data.schema.analysed()[:12])})"
        )
    for name in names:
        if name not in data.schema:
            raise NotApplicable(f"{who}: {data.schema.unknown(name)}")
    return names


def key_codes(who: str, data: Microdata, names: tuple[str, ...]) -> Codes:
    """Return the keys as an n x q array of codes; missing values are -1, whole numbers count as categories.

    A continuous key is refused, for nearly every record would be alone with its value: numbers of which more than half
    are different and more than a hundred, or more than a third where they are not whole.
    """
    return np.column_stack([_codes(who, data, name) for name in names]).astype(np.int32, copy=False)


def common_codes(who: str, original: Microdata, protected: Microdata, names: tuple[str, ...]) -> tuple[Codes, Codes]:
    """Return the keys of both tables under codes that mean the same value in both."""
    columns: tuple[list[Codes], list[Codes]] = ([], [])
    for name in names:
        kinds = [table.schema[name].kind if name in table.schema else "absent" for table in (original, protected)]
        if "absent" in kinds or (len(set(kinds)) > 1 and "numeric" in kinds):
            raise NotApplicable(
                f"{who}: key {name!r} is {kinds[0]} in the original and {kinds[1]} in the protected table, so its "
                "values cannot be matched"
            )
        if kinds[0] == "numeric":
            for table in (original, protected):
                _refuse_continuous(who, table, name)
            pooled = np.concatenate([original.columns[name], protected.columns[name]])
            numbered = np.unique(pooled, return_inverse=True)[1]
            codes = np.where(np.isnan(pooled), -1, numbered).astype(np.int32)
            pair = codes[: len(original)], codes[len(original) :]
        else:
            both = aligned(original, protected, name)
            pair = both.original, both.protected
        for side, column in zip(columns, pair, strict=True):
            side.append(column)
    before, after = (np.column_stack(side) for side in columns)
    return before, after


def _codes(who: str, data: Microdata, name: str) -> NDArray[np.integer]:
    column = data.columns[name]
    if data.schema[name].kind != "numeric":
        return column
    _refuse_continuous(who, data, name)
    missing = np.isnan(column)
    _, codes = np.unique(column, return_inverse=True)
    codes[missing] = -1
    return codes


def _refuse_continuous(who: str, data: Microdata, name: str) -> None:
    column = data.columns[name]
    present = column[~np.isnan(column)]
    distinct = len(np.unique(present))
    whole = np.array_equal(present, np.round(present))
    if (distinct > 100 and 2 * distinct > len(present)) or (not whole and 3 * distinct > len(present)):
        raise NotApplicable(
            f"{who}: key {name!r} is continuous ({distinct:,} different values among {len(present):,}), so counting "
            "records that agree in it says nothing; recode it into classes first, as GlobalRecoding does, or leave it "
            "out of the keys"
        )
