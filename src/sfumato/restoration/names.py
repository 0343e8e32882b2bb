"""Columns that name the units under another name: copies of the id, and of the number of the household."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.households import units
from sfumato.data.microdata import Microdata

MANY_UNITS = 20  # from which a column with as many values is a number of them
ALIKE = 0.99  # of the values that are there must agree with the id, so that a wrong or missing one hides no copy
DIGITS = 15  # of a number that a float holds

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


def copies_of_names(original: Microdata, table: Microdata) -> list[str]:
    """Name the columns of a table that are the id or the number of the household once more.

    Records are those of the original, in its order. An amount that happens to differ from unit to unit, such as income,
    is no copy: a number must go up or down with the id, or count the units without gaps, or consist of the ids; a text
    must hold the id, or go with it likewise. A text of which each household has its own is a copy of its number. Keys
    and confidential variables are what a release is for: they are no copies of the id, whatever they look like.
    """
    if len(table) != len(original):
        return []
    schema = original.schema
    offered = [name for name in table.names if name not in table.schema.special().values()]
    found = []
    if schema.id is not None:
        free = [name for name in offered if table.schema[name].role == "other"]
        found += [name for name in free if _is_id(original, schema.id, table, name)]
    if schema.household is not None:
        homes = units(original)
        there = ~original.missing(schema.household)
        found += [name for name in offered if name not in found and _numbers_homes(table, name, homes, there)]
    return found


def _is_id(original: Microdata, identity: str, table: Microdata, name: str) -> bool:
    there = ~original.missing(identity) & ~table.missing(name)
    if not _one_to_one(np.arange(len(table)), table.columns[name], there) or table.schema[name].kind == "date":
        return False
    ids, values = texts(original, identity, there), texts(table, name, there)
    numeric = table.schema[name].kind == "numeric"
    if numeric and not _whole(table.columns[name][there]):
        return False
    if np.isin(values, ids).mean() >= ALIKE or (not numeric and _held(ids, values)):
        return True
    return _go_together(_number(ids), _number(values))


def _numbers_homes(table: Microdata, name: str, homes: Integers, there: Mask) -> bool:
    there = there & ~table.missing(name)
    column = table.columns[name]
    if not _one_to_one(homes, column, there):
        return False
    if table.schema[name].kind != "numeric":
        return True
    values, first = np.unique(column[there], return_index=True)
    return _go_together(homes[there][first].astype(np.float64), values) or float(np.ptp(values)) == len(values) - 1


def _one_to_one(unit: Integers, column: NDArray[Any], there: Mask) -> bool:
    """Tell whether the values that are there and the units go with each other one by one, but for a few."""
    values, codes = np.unique(column[there], return_inverse=True)
    number = len(np.unique(unit[there]))
    if min(len(values), number) < MANY_UNITS:
        return False
    pairs = len(np.unique(codes.astype(np.int64) * (int(unit.max()) + 1) + unit[there]))
    return min(len(values), number) >= ALIKE * pairs


def _whole(values: NDArray[np.float64]) -> bool:
    return bool((values == np.floor(values)).all())


def texts(table: Microdata, name: str, there: Mask) -> NDArray[Any]:
    """Return values as they are written."""
    column, variable = table.columns[name][there], table.schema[name]
    if variable.quantitative:
        return np.array([f"{value:.15g}" for value in column])
    return np.asarray(np.array([_written(category) for category in variable.categories])[column])


def _written(category: object) -> str:
    return f"{category:.15g}" if isinstance(category, float) else str(category)


def _held(ids: NDArray[Any], values: NDArray[Any]) -> bool:
    """Tell whether texts hold the id: a number as a number of its own, with or without zeros before it."""
    held = 0
    for one, text in zip(ids.tolist(), values.tolist(), strict=True):
        held += (
            one.lstrip("0") in (part.lstrip("0") for part in re.findall(r"\d+", text)) if one.isdigit() else one in text
        )
    return held >= ALIKE * len(ids)


def _number(texts: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the number that the digits of each text make; None where one has none or too many of them."""
    digits = ["".join(re.findall(r"\d", text)) for text in texts.tolist()]
    if not all(0 < len(one) <= DIGITS for one in digits):
        return None
    return np.array(
        [-float(one) if text.startswith("-") else float(one) for one, text in zip(digits, texts, strict=True)]
    )


def _go_together(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    """Tell whether one goes up, or down, wherever the other goes up, but for a few."""
    if one is None or other is None:
        return False
    up = np.diff(other[np.argsort(one, kind="stable")]) > 0
    return max(float(up.mean()), 1 - float(up.mean())) >= ALIKE
