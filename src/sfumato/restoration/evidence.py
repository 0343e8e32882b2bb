"""What a file still holds, as evidence: its columns, its ids and the patterns in them, its households."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dates import date_formats, parsed
from sfumato.data.microdata import Microdata
from sfumato.restoration.prediction import Evidence

Integers = NDArray[np.int64]

LOOKED_AT = 20  # texts that tell whether to look at all of them for dates
MOST_PREFIXES = 6  # lengths of prefixes that are tried
OWN = 0.5  # of the records have a text of their own, if it is looked at as an id is


def column(data: Microdata, name: str, shown: str = "") -> Evidence:
    """Return a column as evidence; missing values share a code of their own.

    Text that nobody declared to be dates counts as dates all the same: whoever reads it sees that it is.
    """
    variable, values = data.schema[name], data.columns[name]
    if variable.kind == "nominal" and (days := _days(variable.categories)) is not None:
        values, ordered = np.append(days, np.nan)[values], True
    else:
        ordered = variable.kind != "nominal"
    missing = data.missing(name)
    codes = np.zeros(len(data), dtype=np.int64)
    codes[~missing] = np.unique(values[~missing], return_inverse=True)[1] + 1
    return Evidence((shown or name,), codes, ordered, blank=missing if missing.any() else None)


def _days(categories: Sequence[object]) -> NDArray[np.float64] | None:
    """Return categories that are written as dates in days; None where they are something else."""
    if not categories or not all(isinstance(category, str) for category in categories):
        return None
    texts = [str(category) for category in categories]
    if not date_formats(texts[:LOOKED_AT]):
        return None
    forms = date_formats(texts)
    return parsed("", pa.array(texts), forms[0])[0] if forms else None


def informative(evidence: Evidence) -> bool:
    """Tell whether not all records have the same value."""
    return bool((evidence.codes != evidence.codes[0]).any())


def rows(data: Microdata) -> Evidence:
    """Return the order of the records as evidence."""
    return Evidence(("row",), np.arange(len(data), dtype=np.int64), ordered=True)


def id_names(original: Microdata, data: Microdata) -> list[str]:
    """Name the columns of a protected table that name units: ids, households, identifiers."""
    named = {table.schema.special().get(key) for table in (original, data) for key in ("id", "household")}
    named |= {variable.name for table in (original, data) for variable in table.schema if variable.role == "identifier"}
    return [name for name in data.names if name in named and name not in (original.schema.weight, data.schema.weight)]


def ids(data: Microdata, name: str) -> Iterator[tuple[Evidence, bool]]:
    """Yield what an id may tell, and whether records that share it count: its order, and the prefixes of a text."""
    variable = data.schema[name]
    if variable.quantitative:
        yield column(data, name), False
        return
    texts = [str(category) for category in variable.categories]
    codes = data.columns[name].astype(np.int64)
    blank = data.missing(name)

    def of(keys: list[str] | list[int], shown: str, *, ordered: bool) -> Evidence:
        gaps = blank if blank.any() else None
        return Evidence((shown,), _ranked(keys, codes), ordered, parts=(name,), blank=gaps)

    figures = [re.sub(r"\D", "", text) for text in texts]
    alphabet = of(texts, f"{name} in alphabetical order", ordered=True)
    numbered = of([int(f) for f in figures], f"figures of {name}", ordered=True) if all(figures) else alphabet
    yield numbered, False
    for length in range(1, MOST_PREFIXES + 1):
        named = f"first {length} characters of {name}" if length > 1 else f"first character of {name}"
        start = of([text[:length] for text in texts], named, ordered=False)
        if 1 < len(np.unique(start.codes)) <= len(data) / 2:
            yield start, True
    if not np.array_equal(numbered.codes, alphabet.codes):
        yield alphabet, False


def _ranked(keys: list[str] | list[int], codes: Integers) -> Integers:
    place = {key: rank for rank, key in enumerate(sorted(set(keys)), start=1)}  # type: ignore[type-var]
    return np.array([*(place[key] for key in keys), 0], dtype=np.int64)[codes]


def counting(data: Microdata, name: str) -> bool:
    """Tell whether a column is a text of which most records have their own, so that it may be like an id."""
    codes = data.columns[name]
    if data.schema[name].kind != "nominal" or _days(data.schema[name].categories) is not None:
        return False
    present = codes[codes >= 0]
    return len(present) > 0 and len(np.unique(present)) > OWN * len(present)


def household(original: Microdata, data: Microdata, units: Integers | None) -> tuple[Evidence, str] | None:
    """Return who belongs together, and how that is seen: by the household's id, or by rows that look alike.

    Without an id, neighbouring rows are taken for a household that have the same weight and agree in the variables that
    are constant within the original's ``units`` and were kept.
    """
    name = original.schema.household
    if name is not None and name in data.columns:
        found = column(data, name)
        alone = data.missing(name)
        codes = np.where(alone, found.number + np.arange(len(data)), found.codes)
        return Evidence((name,), codes, ordered=False), f"the household id {name!r}"
    weight = original.schema.weight
    names = [weight] if weight is not None and weight in data.columns else []
    if units is not None:
        names += [
            n for n in data.schema.analysed() if n in original.columns and _constant(column(data, n).codes, units)
        ]
    if not names:
        return None
    new = np.zeros(len(data), dtype=bool)
    new[0] = True
    for n in names:
        codes = column(data, n).codes
        new[1:] |= codes[1:] != codes[:-1]
    if new.all() or np.count_nonzero(new) < 2:
        return None
    told = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return Evidence(("neighbouring rows",), np.cumsum(new) - 1, ordered=False), f"neighbouring rows alike in {told}"


def _constant(codes: Integers, units: Integers) -> bool:
    """Tell whether a variable is the same throughout nearly all households, and not throughout the file."""
    order = np.argsort(units, kind="stable")
    together = units[order][1:] == units[order][:-1]
    if not together.any() or together.all() or not (codes != codes[0]).any():
        return False
    alike = codes[order][1:] == codes[order][:-1]
    return bool(alike[together].mean() >= 0.99 and alike[~together].mean() < 0.99)
