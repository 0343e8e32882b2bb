"""What a look at the table tells of each variable, and where its kind or role is likely to be another."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.columns import short
from sfumato.data.dates import date_formats, spelled
from sfumato.data.households import household_level
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Category, Kind
from sfumato.data.suggestion import Suggestion

FEW = 12  # so few distinct whole numbers may be codes
ENOUGH = 20  # records from which on it says something that all values differ
MISSING_CODES = (-1, -2, -3, -6, -7, -8, -9, -97, -98, -99, -997, -998, -999, -9999)
_WEIGHT = re.compile(r"weight|wgt|gewicht|(^|[_ .-])(wt|pond)\d*([_ .-]|$)|^w$", re.IGNORECASE)
_HOUSEHOLD = re.compile(r"household|haushalt|hous?hld|^hh|(^|[_ .-])(hh|hid|hhid)([_ .-]|$)", re.IGNORECASE)
_GROUPED = re.compile(r"\s*[+-]?\d{1,3}([., '\u00a0\u202f]\d{3})+([.,]\d+)?\s*|[\d.,]+")
_THOUSANDS = re.compile(r"\d[., '\u00a0\u202f]\d{3}")
_IDENTIFIER = re.compile(r"(^|[_ .-])(id|nr|no|number|key|code|uuid|pnr|ssn)$|^id|id$", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    """One variable as found in the table; ``suggestion`` is None where nothing looks odd."""

    name: str
    kind: Kind
    role: str  # its role, or weight, household or id where the schema names it so
    distinct: int
    missing: int
    minimum: Category  # numbers, dates (as text) and ordinal variables; None for nominal ones and where all is missing
    maximum: Category
    examples: tuple[Category, ...]  # the most frequent values of a category, the first ones of a number
    suggestion: Suggestion | None
    label: str = ""  # what a reader knows the variable by, if the file or the schema says it
    labels: tuple[tuple[Category, str], ...] = ()  # the words for the values named above


def describe(data: Microdata) -> list[Finding]:
    """Describe every variable: how many values, how many missing, the extremes, and what its schema may lack.

    >>> import pyarrow as pa
    >>> table = pa.table({"sex": [1, 2, None, 2] * 10, "income": [1200.5 * i for i in range(40)]})
    >>> for finding in describe(Microdata.from_frame(table)):
    ...     print(finding.name, finding.distinct, finding.missing, finding.suggestion and finding.suggestion.doubt)
    sex 2 10 codes
    income 40 0 None
    """
    findings = [_finding(data, name) for name in data.names]
    shared = {name for name in household_level(data) if data.schema[name].level is None}
    told = shared & set(data.schema.analysed())
    return [
        replace(finding, suggestion=Suggestion(finding.name, "shared"))
        if finding.suggestion is None and finding.name in told
        else finding
        for finding in findings
    ]


def _finding(data: Microdata, name: str) -> Finding:
    variable, column = data.schema[name], data.columns[name]
    special = {column_name: key for key, column_name in data.schema.special().items()}
    minimum: Category = None
    maximum: Category = None
    if variable.quantitative:
        present = column[~np.isnan(column)]
        values, counts = np.unique(present, return_counts=True)
        _, first = np.unique(present[:1000], return_index=True)
        plain: Callable[[float], Category] = spelled if variable.kind == "date" else short
        examples: tuple[Category, ...] = tuple(plain(x) for x in present[np.sort(first)[:3]])
        if present.size:
            minimum, maximum = plain(values[0]), plain(values[-1])
    else:
        present = column[column >= 0]
        values, counts = np.unique(present, return_counts=True)
        frequent = values[np.argsort(-counts, kind="stable")[:3]]
        examples = tuple(variable.categories[code] for code in frequent)
        if variable.kind == "ordinal" and present.size:
            minimum, maximum = variable.categories[values[0]], variable.categories[values[-1]]
    words = dict(variable.labels)
    named = dict.fromkeys(value for value in (minimum, maximum, *examples) if value in words)
    settled = name in special or variable.role == "identifier"
    return Finding(
        name=name,
        kind=variable.kind,
        role=special.get(name, variable.role),
        distinct=len(values),
        missing=len(column) - len(present),
        minimum=minimum,
        maximum=maximum,
        examples=examples,
        suggestion=None if settled else _suggestion(data, name, values, counts, len(present)),
        label=variable.label,
        labels=tuple((value, words[value]) for value in named),
    )


def _suggestion(
    data: Microdata, name: str, values: NDArray[Any], counts: NDArray[np.intp], present: int
) -> Suggestion | None:
    """Return what the variable may rather be; the first that fits."""
    variable, records = data.schema[name], len(data)
    if not present:
        return Suggestion(name, "all missing")
    if len(values) == 1:
        return Suggestion(name, "one value")
    if _HOUSEHOLD.search(name) and data.schema.household is None and _in_runs(data.columns[name], len(values)):
        return Suggestion(name, "household")
    if variable.kind == "nominal":
        nearly = _of_text(name, tuple(variable.categories[code] for code in values), counts)
        if nearly is not None:
            return nearly
    if len(values) == records >= ENOUGH and _may_name(data, name, values):
        return Suggestion(name, "identifier", id_free=data.schema.id is None)
    return _of_numbers(data, name, values, counts) if variable.kind == "numeric" else None


def _of_numbers(data: Microdata, name: str, values: NDArray[Any], counts: NDArray[np.intp]) -> Suggestion | None:
    """Point out numbers that weigh, name categories or stand for missing values."""
    if _WEIGHT.search(name) and data.schema.weight is None and values[0] > 0:
        return Suggestion(name, "weight")
    negative = values[values < 0]
    if 0 < len(negative) <= 5 and np.isin(negative, MISSING_CODES).all() and len(values) > len(negative) + 1:
        return Suggestion(name, "missing codes", codes=tuple(short(code) for code in negative))
    if np.isin(values, [value for value, _ in data.schema[name].labels if isinstance(value, int | float)]).all():
        return Suggestion(name, "labelled codes")
    whole = np.array_equal(values, np.round(values))
    if whole and len(values) <= FEW and counts.sum() >= 3 * len(values):
        return Suggestion(name, "codes", distinct=len(values))
    return None


def _of_text(name: str, categories: tuple[Category, ...], counts: NDArray[np.intp]) -> Suggestion | None:
    """Point out text that is dates, or numbers but for a few cells or for thousands separators."""
    texts = [category for category in categories if isinstance(category, str)]
    if len(texts) < len(categories):
        return None
    forms = date_formats(texts)
    if forms:
        return Suggestion(name, "dates", forms=forms)
    if all(_GROUPED.fullmatch(text) for text in texts):
        return Suggestion(name, "thousands") if any(_THOUSANDS.search(text) for text in texts) else None
    odd = [place for place, text in enumerate(texts) if not _is_number(text)]
    cells = int(counts[odd].sum())
    if len(odd) <= 5 and cells <= counts.sum() / 4 and len(texts) - len(odd) > len(odd):
        return Suggestion(name, "nearly numbers", codes=tuple(texts[place] for place in odd), cells=cells)
    return None


def _may_name(data: Microdata, name: str, values: NDArray[Any]) -> bool:
    """Tell whether values that all differ look like names of records rather than measurements."""
    if not data.schema[name].quantitative:
        return True
    whole = np.array_equal(values, np.round(values)) and data.schema[name].kind != "date"
    return bool(whole and (_IDENTIFIER.search(name) or values[-1] - values[0] + 1 == len(values)))


def _in_runs(column: NDArray[Any], distinct: int) -> bool:
    """Tell whether equal values stand in consecutive rows, as the members of a household do."""
    runs = 1 + int(np.count_nonzero(column[1:] != column[:-1]))
    return runs == distinct and len(column) / 10 < distinct < len(column)


def _is_number(text: str) -> bool:
    try:
        float(text.strip().replace(",", "."))
    except ValueError:
        return False
    return True
