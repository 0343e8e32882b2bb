"""What a look at a table tells of each variable, where its kind or role is likely to be another, and its bars."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.table import toml_text
from sfumato.table.columns import short
from sfumato.table.dates import date_formats, spelled
from sfumato.table.households import household_level
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Category, Kind, Variable

# What a variable may rather be than its schema says: typed for those who decide by it, in words for those who read.

Doubt = Literal[
    "all missing",
    "one value",
    "household",
    "identifier",
    "weight",
    "missing codes",  # numbers below zero that stand for missing values
    "labelled codes",  # numbers that all have a label
    "codes",  # few whole numbers
    "dates",  # text: every value is a date
    "thousands",  # text: numbers with thousands separators
    "nearly numbers",  # text: numbers but for a few cells
    "shared",  # the same for all members of each household
]


@dataclass(frozen=True)
class Suggestion:
    """What looks odd in a variable, and what to write in the schema if it is so."""

    name: str
    doubt: Doubt
    codes: tuple[Category, ...] = ()  # what may stand for missing values
    cells: int = 0  # how many records have one of these texts
    distinct: int = 0  # how many numbers may be codes
    forms: tuple[str, ...] = ()  # in which the text may be dates; the first is ISO 8601 if it can be
    id_free: bool = True  # the schema names no id yet

    @property
    def sentence(self) -> str:
        """The suggestion in words, and in the words of schema.toml.

        >>> Suggestion("hh", "household").sentence
        'the household? then write household = "hh" at the top'
        >>> Suggestion("age", "missing codes", codes=(-9, -8)).sentence
        'missing codes? nothing else is below zero: missing = [-9, -8]'
        """
        name = toml_text.quoted(self.name)
        at_top = f"id = {name} at the top, or " if self.id_free else ""
        either = "nominal" if self.distinct == 2 else "nominal or ordinal"
        missing = f"missing = {toml_text.values(self.codes)}"
        words: dict[Doubt, str] = {
            "all missing": "all values are missing: leave it out?",
            "one value": "one value only: it tells nothing of a record",
            "household": f"the household? then write household = {name} at the top",
            "identifier": f'an identifier? every value occurs once: {at_top}role = "identifier"',
            "weight": f"a survey weight? then write weight = {name} at the top",
            "missing codes": f"missing codes? nothing else is below zero: {missing}",
            "labelled codes": 'nominal or ordinal? every value has a label: kind = "nominal"',
            "codes": f'{either}? {self.distinct} distinct whole numbers look like codes: kind = "nominal"',
            "thousands": "numbers with thousands separators? they are read as text: remove the separators in the file",
            "shared": 'the same in each household, so masked once for it: level = "household", or "record" if not so',
            "dates": self._as_date,
            "nearly numbers": f'numbers but for {self.cells:,} cells? kind = "numeric", {missing}',
        }
        return words[self.doubt]

    @property
    def _as_date(self) -> str:
        """How the schema says in which format the dates stand; several formats read the same text otherwise."""
        stated = ['kind = "date"' if "%Y-%m-%d" in form else f'kind = "date", format = "{form}"' for form in self.forms]
        if len(stated) < 2:
            return f"dates? {''.join(stated)}"
        return f"dates? no day is above 12, so the day may be first or the month: {', or '.join(stated)}"


# What a look at the table tells.

MAX_VALUES_OF_CODES = 12  # so few distinct whole numbers may be codes
MIN_RECORDS = 20  # records from which on it says something that all values differ
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
    if len(values) == records >= MIN_RECORDS and _may_name(data, name, values):
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
    if whole and len(values) <= MAX_VALUES_OF_CODES and counts.sum() >= 3 * len(values):
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


# A variable at a glance: at most two dozen bars, as plain data.

MAX_BARS = 24


@dataclass(frozen=True)
class Thumbnail:
    """How often values occur: of a number or date in bins of equal width, else by category.

    ``least`` and ``greatest`` are the ends of the bins, dates as text; None of categories and where all is missing.
    ``names`` are those of the bars of categories: in their order if they are ordered, else the most frequent first.
    ``others`` counts the records of categories that have no bar.
    """

    counts: tuple[int, ...]
    missing: int
    least: Category = None
    greatest: Category = None
    names: tuple[str, ...] = ()
    others: int = 0


def thumbnail(variable: Variable, column: NDArray[Any], *, bars: int = MAX_BARS) -> Thumbnail:
    """Count the values of a variable in at most so many bars.

    A number or date of few different values, such as a number of children, has a bar for each whole step between them.

    >>> thumbnail(Variable("age"), np.array([0.0, 1.0, 1.0, 3.0, np.nan]))
    Thumbnail(counts=(1, 2, 0, 1), missing=1, least=0, greatest=3, names=(), others=0)
    >>> thumbnail(Variable("town", "nominal", categories=("A", "B")), np.array([1, 0, 1, -1]), bars=1)
    Thumbnail(counts=(2,), missing=1, least=None, greatest=None, names=('B',), others=1)
    """
    return _numbers(variable, column, bars) if variable.quantitative else _categories(variable, column, bars)


def thumbnails(data: Microdata, *, bars: int = MAX_BARS) -> dict[str, Thumbnail]:
    """Count the values of every variable of a table."""
    return {variable.name: thumbnail(variable, data.columns[variable.name], bars=bars) for variable in data.schema}


def _numbers(variable: Variable, column: NDArray[Any], bars: int) -> Thumbnail:
    present = column[~np.isnan(column)]
    missing = len(column) - len(present)
    if not present.size:
        return Thumbnail((), missing)
    low, high = float(present.min()), float(present.max())
    number = bars
    if high - low < bars and low.is_integer() and high.is_integer() and not np.mod(present, 1).any():
        number = int(high - low) + 1
        place = (present - low).astype(np.intp)
    elif high > low:
        scaled = (present / 2 - low / 2) / (high / 2 - low / 2)  # halves, because the range itself may be too large
        place = np.minimum((scaled * bars).astype(np.intp), bars - 1)
    else:
        number, place = 1, np.zeros(len(present), dtype=np.intp)
    plain = spelled if variable.kind == "date" else short
    counts = np.bincount(place, minlength=number)
    return Thumbnail(tuple(counts.tolist()), missing, plain(low), plain(high))


def _categories(variable: Variable, codes: NDArray[Any], bars: int) -> Thumbnail:
    counts = np.bincount(codes + 1, minlength=len(variable.categories) + 1)
    missing, counts = int(counts[0]), counts[1:]
    shown = np.argsort(-counts, kind="stable")[:bars]
    shown = shown[counts[shown] > 0] if variable.kind == "nominal" else np.sort(shown)
    names = tuple(variable.spelled(variable.categories[code]) for code in shown)
    return Thumbnail(
        tuple(counts[shown].tolist()), missing, names=names, others=int(counts.sum() - counts[shown].sum())
    )
