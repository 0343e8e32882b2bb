"""What a look at a table tells of each variable, where its kind or role is likely to be another, and its bars."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import classes
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


# What a column is, told by how it behaves and not by its name: an id, a household's number, a survey weight.

Behaves = Literal["id", "household", "weight", "labelled codes"]
Floats = NDArray[np.float64]

MIN_RECORDS = 20  # records from which on behaviour says something
LARGEST = 12  # mean number of members from which on a group is no household
BY_CHANCE = 0.7  # of pairs of records that agree in a variable: beyond it, agreeing says nothing of the group
ACCIDENT = 0.002  # chance below which a round total is no accident
LOOK = 2_000  # records that mostly suffice to see that something does not hold for all
PAIRS_AT_A_GLANCE, MIN_PAIRS = 64, 8  # pairs of records that mostly suffice to see it of most columns at once
MAX_CELLS = 20_000_000  # held side by side for that


@dataclass(frozen=True)
class Behaviour:
    """What a variable behaves like, and how it shows."""

    name: str
    behaves: Behaves
    evidence: str
    shared: tuple[str, ...] = ()  # of a household's number: what its members have in common


def behaviours(data: Microdata) -> tuple[Behaviour, ...]:
    """Return what behaves like an id, a household's number or a survey weight, and codes that are read as numbers.

    An id has another value in every record, is text or whole, and counts or rises through the file. The number of a
    household is shared by a few records, which stand together or agree in other variables in every group. A survey
    weight is positive everywhere and has a mean of 1, or a total that is round or whole in spite of its decimals, or
    one value for each category of another variable: body weight has none of these. Codes that are read as numbers have
    a label for every value (the level "scale" of SPSS says nothing against it).

    >>> import pyarrow as pa
    >>> table = pa.table({"home": [i // 2 for i in range(40)], "weight": [60.5 + i % 17 for i in range(40)]})
    >>> [(found.name, found.behaves) for found in behaviours(Microdata.from_frame(table))]
    [('home', 'household')]
    """
    if len(data) < MIN_RECORDS:
        return ()
    apart = set(data.schema.special().values())
    names = [name for name in data.names if name not in apart]
    found = [Behaviour(name, "id", said) for name in names if (said := _as_id(data, name))]
    ids = {one.name for one in found}
    others = _Columns(data, names)
    homes = [one for n in names if n not in ids and (one := _as_household(data, n, others)) is not None]
    found += homes
    taken = ids | {one.name for one in homes}
    found += [Behaviour(n, "weight", said) for n in names if n not in taken and (said := _as_weight(data, n, names))]
    found += [Behaviour(name, "labelled codes", said) for name in names if (said := _as_codes(data, name))]
    order = {name: place for place, name in enumerate(data.names)}
    return tuple(sorted(found, key=lambda one: order[one.name]))


def _as_id(data: Microdata, name: str) -> str:
    column = data.columns[name]
    if data.missing(name).any() or len(np.unique(column)) < len(column):
        return ""
    if not data.schema[name].quantitative:
        return "another text in every record" if data.schema[name].kind == "nominal" else ""
    if not _whole(column) or data.schema[name].kind == "date":
        return ""
    if column.max() - column.min() + 1 == len(column):
        return "counts the records without a gap"
    rising = np.diff(column) > 0
    return "rises from record to record" if rising.all() or not rising.any() else ""


class _Columns:
    """The columns that may be constant in a group: the first records side by side, so that most go at a glance.

    A table of thousands of columns has millions of pairs of them, each of which would take a look of its own.
    """

    def __init__(self, data: Microdata, names: Iterable[str]) -> None:
        self.data = data
        self.names = [name for name in names if not self._agrees_by_chance(data.columns[name])]
        self.records = min(len(data), max(MAX_CELLS // max(len(self.names), 1), 1))
        self.first = np.column_stack(
            [data.columns[name][: self.records].astype(np.float64) for name in self.names] or [np.empty((0, 0))]
        )

    @staticmethod
    def _agrees_by_chance(column: NDArray[Any]) -> bool:
        shares = np.unique(column, return_counts=True)[1] / len(column)
        return float((shares**2).sum()) > BY_CHANCE

    def constant_within(self, name: str, group: NDArray[np.int64], rows: NDArray[np.intp]) -> list[str]:
        """Name the others in which records of one group always agree, though records agree seldom by chance."""
        order = rows[np.argsort(group[rows], kind="stable")]
        order = order[order < self.records]
        glance = min(PAIRS_AT_A_GLANCE, max(MIN_PAIRS, MAX_CELLS // (len(self.names) + 1) ** 2 * PAIRS_AT_A_GLANCE))
        pairs = np.flatnonzero(np.diff(group[order]) == 0)[:glance]
        differ = (self.first[order[pairs]] != self.first[order[pairs + 1]]).any(axis=0)
        left = (self.names[place] for place in np.flatnonzero(~differ))
        return [other for other in left if other != name and _constant_within(self.data, other, group, rows)]


def _as_household(data: Microdata, name: str, others: _Columns) -> Behaviour | None:
    column, present = data.columns[name], ~data.missing(name)
    if data.schema[name].kind in ("ordinal", "date"):
        return None
    if data.schema[name].kind == "numeric" and not _whole(column[present]):
        return None
    distinct = len(np.unique(column[present]))
    records = int(present.sum())
    if not records or not records / LARGEST < distinct < 0.95 * records:
        return None
    group, sizes = classes(np.where(present, np.unique(column, return_inverse=True)[1], -1)[:, None])
    several = np.flatnonzero(present & (sizes[group] > 1))
    number = len(np.unique(group[several]))
    runs = 1 + int(np.count_nonzero(column[1:] != column[:-1]))
    shared = others.constant_within(name, group, several)
    members = f"{number:,} groups of {several.size / max(number, 1):.1f} records"
    if runs == distinct:
        also = f"; constant in each: {', '.join(shared[:3])}" if shared else ""
        return Behaviour(name, "household", f"{members} that stand together{also}", tuple(shared))
    told = [other for other in shared if not _in_bands(data.columns[other][several], column[several])]
    said = f"{members}; constant in each: {', '.join(told[:3])}"
    return Behaviour(name, "household", said, tuple(shared)) if len(told) > 1 else None


def _in_bands(values: NDArray[Any], number: NDArray[Any]) -> bool:
    """Tell whether a variable goes with a number, as age does with the year of birth, or is classes of it in order."""
    ordered = values[np.argsort(number, kind="stable")]
    if values.dtype.kind == "f":
        steps = np.diff(ordered)
        return bool((steps >= 0).all() or (steps <= 0).all())
    classes_of_it = len(np.unique(ordered))
    one_run_each = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1])) == classes_of_it
    return one_run_each and classes_of_it <= len(np.unique(number)) / 2


def _constant_within(data: Microdata, name: str, group: NDArray[np.int64], rows: NDArray[np.intp]) -> bool:
    """Tell whether records of one group always agree in a variable."""
    column = data.columns[name]
    if data.missing(name)[rows].any() or _differ(column[rows[:LOOK]], group[rows[:LOOK]]):
        return False
    codes = np.unique(column, return_inverse=True)[1]
    first = np.full(int(group.max()) + 1, -1, dtype=np.int64)
    first[group[rows[::-1]]] = codes[rows[::-1]]
    return bool((codes[rows] == first[group[rows]]).all())


def _differ(values: NDArray[Any], group: NDArray[np.int64]) -> bool:
    order = np.argsort(group, kind="stable")
    return bool(((np.diff(group[order]) == 0) & (values[order][1:] != values[order][:-1])).any())


def _as_weight(data: Microdata, name: str, names: Iterable[str]) -> str:
    column = data.columns[name]
    if data.schema[name].kind != "numeric" or data.missing(name).any() or column.min() <= 0 or np.ptp(column) == 0:
        return ""
    if _whole(column):
        return ""  # a count, an age, an amount; what weighs by whole numbers cannot be told from these
    decimals, total = _decimals(column), float(column.sum())
    # what rounding each value does to the total: five standard deviations of a sum of rounding errors
    slack = 5 * np.sqrt(len(column) / 12) * 10.0**-decimals
    if abs(total / len(column) - 1) <= max(slack / len(column), 1e-6):
        return "positive, with a mean of 1"
    if total > 2 * len(column):
        round_to = 10.0 ** (np.floor(np.log10(total)) - 2)
        for unit, said in ((round_to, "round"), (1.0, "whole")):
            nearest = round(total / unit) * unit
            if 2 * slack < ACCIDENT * unit and abs(total - nearest) <= slack:
                return f"positive, and its total is a {said} number ({nearest:,.0f}), as of a population"
    if total > 2 * len(column) and column.min() >= 1:
        for other in names:
            if other != name and not data.schema[other].quantitative and _function_of(data, name, other):
                return f"positive, with one value for each category of {other}"
    return ""


def _function_of(data: Microdata, name: str, other: str) -> bool:
    """Tell whether a number has one value for each category of another variable, several records each."""
    codes = data.columns[other]
    if (codes < 0).any() or _differ(data.columns[name][:LOOK], codes[:LOOK].astype(np.int64)):
        return False
    pairs, each = (len(classes(c)[1]) for c in (_pair(codes, data.columns[name]), codes[:, None]))
    return pairs == each and 2 < each < len(codes) / 5


def _pair(codes: NDArray[Any], values: Floats) -> NDArray[np.int64]:
    return np.column_stack([codes, np.unique(values, return_inverse=True)[1]])


def _as_codes(data: Microdata, name: str) -> str:
    variable, column = data.schema[name], data.columns[name]
    labelled = [value for value, _ in variable.labels if isinstance(value, int | float)]
    if variable.kind != "numeric" or not labelled:
        return ""
    values = np.unique(column[~np.isnan(column)])
    return f"every one of its {len(values)} values has a label" if np.isin(values, labelled).all() else ""


def _whole(column: Floats) -> bool:
    return bool(column.dtype.kind != "f" or np.array_equal(column, np.round(column)))


def _decimals(column: Floats) -> int:
    return next((d for d in range(9) if np.allclose(column, np.round(column, d), rtol=0, atol=1e-10)), 9)
