"""One variable between a table and an SPSS, Stata or SAS file: values, labels, dates and codes for missing values."""

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.table import dates
from sfumato.table.columns import EXACT, as_values, declared, short
from sfumato.table.frames import Cells, Family, Labelled, LabelledForm, Moment
from sfumato.table.schema import Category, Variable

# A variable ready to be written to a labelled file, and what the format could not hold of it.

Floats = NDArray[np.float64]
SMALLEST_INT, LARGEST_INT = -2_147_483_647, 2_147_483_620  # what a whole number of Stata may be


@dataclass(eq=False)
class Stored:
    """A variable ready to be written; ``values`` are floats with NaN or texts with None."""

    name: str
    values: NDArray[Any]
    text: bool = False
    whole: bool = False
    numbered: bool = False  # words under new codes
    moment: Moment | None = None
    label: str = ""
    labels: dict[Any, str] = field(default_factory=dict)
    missing: list[Any] = field(default_factory=list)  # SPSS: single codes, and ranges as (low, high)
    tags: dict[int, str] = field(default_factory=dict)  # Stata: record to letter
    format: str = ""
    measure: str = "unknown"
    display: int = 0
    width: int = 0

    def absent(self) -> NDArray[np.bool_]:
        """Tell which records have no value."""
        absent: NDArray[np.bool_] = self.values == None if self.text else np.isnan(self.values)  # noqa: E711
        return absent


def tell_only_what_is_there(column: Stored) -> None:
    """Leave out labels of values that no record has, and the width of a text that is gone; codes stay declared."""
    there = {*column.values[~column.absent()].tolist(), *column.tags.values()}
    column.labels = {value: label for value, label in column.labels.items() if value in there}
    if column.text:
        column.width = column.display = 0
        column.format = ""


class Losses:
    """What a format cannot hold, with the variables it concerns."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, None]] = {}  # the names in order, each once

    def add(self, what: str, name: str = "") -> None:
        """Note a loss, of a variable or of the file."""
        names = self.found.setdefault(what, {})
        if name:
            names[name] = None

    def notes(self) -> tuple[str, ...]:
        """Say each loss in a sentence."""
        return tuple(f"{what}: {', '.join(names)}" if names else what for what, names in self.found.items())


def labels_of(columns: Mapping[str, Stored]) -> dict[str, dict[Any, str]]:
    """Return the value labels of all columns that have some."""
    return {name: column.labels for name, column in columns.items() if column.labels}


def fit_integers(values: Floats) -> bool:
    """Tell whether all numbers are whole ones that Stata can hold as such."""
    present = values[~np.isnan(values)]
    return _all_whole(values) and bool(((present >= SMALLEST_INT) & (present <= LARGEST_INT)).all())


def _all_whole(values: Floats) -> bool:
    present = values[~np.isnan(values)]
    return bool(np.array_equal(present, np.round(present)))


# Dates and times in labelled files: numbers with a format there, dates here.
#
# SPSS counts seconds from 14 October 1582, Stata days or milliseconds from 1960, SAS days or seconds from 1960; times
# of day are seconds (Stata: milliseconds). A column with a date format becomes dates only if every number in it is
# exactly a date, a moment to the microsecond or a time of day, so that it goes back as the same number.

_DAY = 86_400
_EPOCH: dict[Family, int] = {"spss": 12_219_379_200, "stata": 315_619_200, "sas": 315_619_200}  # seconds before 1970
_PER_SECOND: dict[Family, int] = {"spss": 1, "stata": 1_000, "sas": 1}
_YEARS = (-62_135_596_800, 253_402_300_800)  # the years 1 to 9999, in seconds from 1970
_BEYOND = 1e15  # what is so far from zero is no date in any unit
_SPSS: dict[str, Moment] = {
    **dict.fromkeys(("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR"), "date"),
    **dict.fromkeys(("DATETIME", "YMDHMS"), "datetime"),
    **dict.fromkeys(("TIME", "DTIME", "MTIME"), "time"),
}
_SAS: dict[str, Moment] = {
    **dict.fromkeys(("DATE", "WEEKDATE", "WEEKDATX", "WORDDATE", "WORDDATX", "E8601DA", "B8601DA", "IS8601DA"), "date"),
    **dict.fromkeys((f"{order}{sign}" for order in ("MMDDYY", "DDMMYY", "YYMMDD") for sign in ("", *"BCDNPS")), "date"),
    **dict.fromkeys(("DATETIME", "DATEAMPM", "MDYAMPM", "E8601DT", "B8601DT", "IS8601DT"), "datetime"),
    **dict.fromkeys(("TIME", "HHMM", "TOD", "TIMEAMPM", "E8601TM", "B8601TM", "IS8601TM"), "time"),
}
_STATA_TIME = r"(?:[Hh]{2}|MM|mm|SS|ss|\.s+|[aA]\.?[mM]\.?|[:._, ])+"
_USUAL: dict[Family, dict[Moment, str]] = {
    "spss": {"date": "DATE11", "datetime": "DATETIME23.2", "time": "TIME11.2"},
    "stata": {"date": "%td", "datetime": "%tc", "time": "%tcHH:MM:SS"},
    "sas": {"date": "DATE9.", "datetime": "DATETIME22.3", "time": "TIME12.3"},
}


def moment_of(family: Family, form: str) -> Moment | None:
    """Tell by its format whether a number is a date, a moment or a time of day.

    >>> moment_of("spss", "EDATE10"), moment_of("stata", "%tdDD/NN/CCYY"), moment_of("sas", "E8601DA10.")
    ('date', 'date', 'date')
    >>> moment_of("stata", "%tcHH:MM:SS"), moment_of("stata", "%tm"), moment_of("spss", "F8.2")
    ('time', None, None)
    """
    if family == "stata":
        found = re.fullmatch(r"%-?(?:td|d|(tc))(.*)", form, flags=re.DOTALL)
        if found is None:
            return None
        if found[1] is None:
            return "date"
        return "time" if re.fullmatch(_STATA_TIME, found[2]) else "datetime"
    name = re.sub(r"\d*(\.\d*)?$", "", form.upper())
    return (_SPSS if family == "spss" else _SAS).get(name)


def to_dates(family: Family, moment: Moment, numbers: Floats) -> Any:
    """Return a file's numbers as an arrow column of dates, or None where one of them is not exactly a date."""
    missing = np.isnan(numbers)
    present = numbers[~missing]
    if (np.abs(present) > _BEYOND).any():
        return None
    if moment == "date":
        days = present / _DAY if family == "spss" else present
        whole = np.round(days - _EPOCH[family] / _DAY)
        if not _within(whole * _DAY) or not np.array_equal(_date_numbers(family, whole), present):
            return None
        return _arrow(whole, missing, np.int32, pa.date32())
    seconds = present / _PER_SECOND[family] - (_EPOCH[family] if moment == "datetime" else 0)
    if not (_within(seconds) if moment == "datetime" else bool(((seconds >= 0) & (seconds < _DAY)).all())):
        return None
    # whole seconds apart, so that the microseconds keep their digits
    base = np.floor(present / _PER_SECOND[family])
    parts = np.round((present - base * _PER_SECOND[family]) * (1_000_000 // _PER_SECOND[family]))
    shift = _EPOCH[family] if moment == "datetime" else 0
    micros = (base - shift).astype(np.int64) * 1_000_000 + parts.astype(np.int64)
    millis = np.round(micros / 1000).astype(np.int64) * 1000
    # seconds since 1582 as floats are two microseconds apart: of all that are the same number, the roundest is meant
    micros = np.where(_moment_numbers(family, moment, millis) == present, millis, micros)
    if not np.array_equal(_moment_numbers(family, moment, micros), present):
        return None
    if moment == "time" and (micros >= _DAY * 1_000_000).any():
        return None
    return _arrow(micros, missing, np.int64, pa.timestamp("us") if moment == "datetime" else pa.time64("us"))


def _moment_in(categories: tuple[Category, ...]) -> Moment | None:
    """Tell whether categories are dates, moments without time zone, or times of day."""
    kinds: dict[type, Moment] = {dt.date: "date", dt.datetime: "datetime", dt.time: "time"}
    for kind, moment in kinds.items():
        if categories and all(type(c) is kind and getattr(c, "tzinfo", None) is None for c in categories):
            return moment
    return None


def from_dates(family: Family, moment: Moment, categories: tuple[Category, ...]) -> Floats:
    """Return dates as the numbers of a file."""
    if moment == "date":
        days = pa.array(categories, pa.date32()).cast(pa.int32()).to_numpy(zero_copy_only=False)
        return _date_numbers(family, days.astype(np.float64))
    kind = pa.timestamp("us") if moment == "datetime" else pa.time64("us")
    micros = pa.array(categories, kind).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return _moment_numbers(family, moment, micros)


def _from_days(family: Family, moment: Moment, days: Floats) -> Floats:
    """Return days since 1970 as the numbers of a file; NaN for missing."""
    missing = np.isnan(days)
    filled = np.where(missing, 0.0, days)
    numbers = _date_numbers(family, filled)
    if moment != "date":
        micros = dates.from_days(filled, pa.timestamp("us")).cast(pa.int64()).to_numpy(zero_copy_only=False)
        numbers = _moment_numbers(family, moment, micros)
    return np.where(missing, np.nan, numbers)


def _date_numbers(family: Family, days: Floats) -> Floats:
    numbers = days + _EPOCH[family] / _DAY
    return numbers * _DAY if family == "spss" else numbers


def _moment_numbers(family: Family, moment: Moment, micros: NDArray[np.int64]) -> Floats:
    shift = _EPOCH[family] * 1_000_000 if moment == "datetime" else 0
    whole, rest = np.divmod(micros + shift, 1_000_000 // _PER_SECOND[family])
    parts = rest / (1_000_000 // _PER_SECOND[family])
    return np.asarray(whole + parts, dtype=np.float64)


def _within(seconds: Floats) -> bool:
    return bool(((seconds >= _YEARS[0]) & (seconds < _YEARS[1])).all())


def _arrow(values: NDArray[Any], missing: NDArray[np.bool_], dtype: type, kind: pa.DataType) -> Any:
    filled: NDArray[Any] = np.zeros(len(missing), dtype)
    filled[~missing] = values
    return pa.array(filled, mask=missing).cast(kind)


# Codes for missing values: taken out of a variable when a file is read, put back when it is written.

Range = tuple[float, float]


@dataclass(frozen=True)
class Declared:
    """What a file declares missing in one variable: single codes and ranges of numbers."""

    codes: tuple[Category, ...]
    ranges: tuple[Range, ...]

    def __contains__(self, value: object) -> bool:
        number = isinstance(value, int | float)
        return value in self.codes or (number and any(low <= value <= high for low, high in self.ranges))  # type: ignore[operator]


def without_codes(numbers: Floats, marks: NDArray[np.uint8] | None, said: Declared) -> tuple[Floats, Cells | None]:
    """Make the declared codes of a numeric column missing, and keep which one stood where."""
    missing = np.isnan(numbers)
    coded = _are_codes(pa.array(numbers), said.codes, numeric=True)
    for low, high in said.ranges:
        coded |= (numbers >= low) & (numbers <= high)
    tagged = marks is not None and bool(marks.any())
    if not tagged and not coded.any():
        return numbers, None
    found, which = np.unique(numbers[coded], return_inverse=True)
    place = np.where(missing, -2, -1).astype(np.int32)
    place[coded] = which
    listed: list[Category] = [short(code) for code in found]
    if marks is not None:
        tags, which = np.unique(marks[marks > 0], return_inverse=True)
        place[marks > 0] = len(listed) + which
        listed += [f".{chr(tag)}" for tag in tags]
    return np.where(coded, np.nan, numbers), Cells(tuple(listed), place)


def text_without_codes(column: Any, codes: Iterable[Category], *, numeric: bool) -> tuple[Any, Cells | None]:
    """Make empty text and the declared codes missing, and keep which one stood where."""
    column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    coded = _are_codes(column, codes, numeric=numeric)
    if not coded.any():
        return column, None
    found = pc.dictionary_encode(column.filter(pa.array(coded)))
    place = np.where(column.is_null().to_numpy(zero_copy_only=False), -2, -1).astype(np.int32)
    place[coded] = found.indices.to_numpy()
    kept = pc.if_else(pa.array(coded), pa.scalar(None, pa.string()), column)
    return kept, Cells(tuple(found.dictionary.to_pylist()), place)


def _are_codes(column: Any, codes: Iterable[Category], *, numeric: bool) -> NDArray[np.bool_]:
    told: NDArray[np.bool_] = declared(column, codes, numeric=numeric).to_numpy(zero_copy_only=False)
    return told


def _declare(result: Stored, variable: Variable, form: LabelledForm | None, losses: Losses) -> None:
    """Declare the missing codes and ranges that an SPSS file can: three codes, or a range and one code."""
    codes = as_values(variable.missing, text=result.text)
    if result.text:
        wanted = [code for code in codes if isinstance(code, str)]
        single = [code for code in wanted if 0 < len(code.encode()) <= 8]
        ranges: list[Range] = []
    else:
        wanted = [code for code in codes if type(code) in (int, float)]  # type: ignore[misc]
        single = list(wanted)
        ranges = list(form.ranges) if form and not form.text else []
    if _values_among(result, single, ranges):
        losses.add("values now fall among the declared missing codes, so these are no longer declared", variable.name)
        return
    room = 1 if ranges else 3
    if len(single) > room or len(single) < len(wanted):
        losses.add("more missing codes than SPSS can declare; the last ones are left out", variable.name)
    result.missing = [*single[:room], *ranges]


def _values_among(result: Stored, codes: list[Any], ranges: list[Range]) -> bool:
    if result.text:
        return bool(codes) and bool(np.isin(result.values.astype(str), codes).any())
    inside = (((result.values >= low) & (result.values <= high)).any() for low, high in ranges)
    return bool(np.isin(result.values, codes).any()) or any(inside)


def _put_back(result: Stored, family: Family, cells: Cells, losses: Losses, *, follows: bool) -> None:
    """Give cells that are still missing the codes they had, if the records are those of the file (``follows``)."""
    if not follows or (family == "sas" and not result.text):
        why = "the records are not those of the file read" if not follows else "the format has no codes for them"
        losses.add(f"missing values lose their codes, for {why}", result.name)
        return
    absent = result.absent()
    for place, code in enumerate(cells.codes):
        here = np.flatnonzero((cells.place == place) & absent)
        if not here.size:
            continue
        if family == "stata" and not result.text and _is_letter(code):
            result.tags.update(dict.fromkeys(here.tolist(), _letter(code)))
        elif family == "spss" and _is_declared(code, result.missing) and isinstance(code, str) == result.text:
            result.values[here] = code
        else:
            losses.add("missing values lose their codes, for the format cannot declare them", result.name)


def _is_declared(code: Category, declared: list[Any]) -> bool:
    codes = tuple(entry for entry in declared if not isinstance(entry, tuple))
    return code in Declared(codes, tuple(entry for entry in declared if isinstance(entry, tuple)))


def _is_letter(code: Category) -> bool:
    """Tell whether a code is one of the special missing values of Stata and SAS, .a to .z.

    >>> _is_letter(".a"), _is_letter(".B"), _is_letter("a"), _is_letter(1)
    (True, True, False, False)
    """
    return isinstance(code, str) and len(code) == 2 and code[0] == "." and code[1].isascii() and code[1].isalpha()


def _letter(code: Category) -> str:
    """Return the letter of such a code, as Stata writes it.

    >>> _letter(".B")
    'b'
    """
    return str(code)[1:].lower()


# A variable as a file holds it.

_MEASURES = {"numeric": "scale", "ordinal": "ordinal", "nominal": "nominal", "date": "scale"}


def stored(
    variable: Variable,
    column: NDArray[Any],
    family: Family,
    before: Labelled | None,
    losses: Losses,
    *,
    follows: bool,
    moments: pa.DataType | None = None,
) -> Stored:
    """Return a variable as a file of this family holds it.

    ``before`` is what is kept of the file the table was read from. ``follows`` says that the records are those of that
    file, so that cells which are still missing may have their codes again. ``moments`` is the type of a column of dates
    in the frame the table came from.
    """
    form = before.forms.get(variable.name) if before else None
    same = form if before and before.family == family else None
    if same is not None:  # a recoding need not know of missing codes
        codes = dict.fromkeys((*variable.missing, *same.codes))
        variable = replace(variable, missing=tuple(codes))
    if variable.kind == "date":
        result = _dates(variable, column, family, form, moments)
        if getattr(moments, "tz", None):
            losses.add(
                "the clock of a time zone is written without the zone, which the format does not have", variable.name
            )
    else:
        result = _values(variable, column, family, form, losses)
    result.label = variable.label
    foreign = form is not None and same is None and _was_number(form)
    if before is not None and form is not None and foreign and moment_of(before.family, form.format):
        losses.add("dates that were read as numbers stay numbers of the file read", variable.name)
    _dress(result, variable, family, same)
    if family == "spss":
        _declare(result, variable, form, losses)
    cells = before.cells_of(variable.name) if before else None
    if cells is not None:
        _put_back(result, family, cells, losses, follows=follows)
    _keep_labels(result, family, losses)
    return result


def _dress(result: Stored, variable: Variable, family: Family, same: LabelledForm | None) -> None:
    """Give a variable the format, width, measurement level and words of the file read, where they still fit."""
    if same is not None and same.text == result.text:
        result.labels |= {value: word for value, word in same.words if value not in result.labels}
        result.display, result.width = same.display, same.width if same.text else 0
    if family == "spss":
        unchanged = same is not None and same.kind == variable.kind and not result.numbered
        measure = same.measure if same is not None and unchanged else _MEASURES[variable.kind]
        result.measure = measure if measure in _MEASURES.values() else "unknown"
    result.format = _format(result, family, same)


def _format(result: Stored, family: Family, same: LabelledForm | None) -> str:
    """Return the format of the file read where it still fits, or else a usual one."""
    if same is not None and (same.text, same.moment) == (result.text, result.moment) and not result.numbered:
        return same.format
    if result.moment:
        return _USUAL[family][result.moment]
    if family == "spss" and not result.text:
        return "F8.0" if _all_whole(result.values) else "F8.2"
    return ""


def _values(
    variable: Variable, column: NDArray[Any], family: Family, form: LabelledForm | None, losses: Losses
) -> Stored:
    """Return a variable's values as numbers or text, by what its categories are."""
    categories = variable.categories
    if variable.kind == "numeric":
        return _numbers(variable, column, whole=form is not None and form.whole)
    moment = _moment_in(categories)
    if moment:
        numbers = from_dates(family, moment, categories)
        return Stored(variable.name, _spread(numbers, column), moment=moment)
    was_number = _was_number(form)
    if not categories and form is not None and form.text:
        return _texts(variable, column)
    if all(_is_number(category) for category in categories):
        numbers = _spread(np.array(categories, np.float64), column)
        return _numbers(variable, numbers, whole=form is None or form.whole or not was_number)
    if all(type(category) is bool for category in categories):
        return _truths(variable, column)
    if not all(isinstance(category, str) for category in categories):
        losses.add("values of a type the format does not have are written as text", variable.name)
    elif variable.kind == "ordinal" or was_number:
        return _numbered(variable, column, form)
    return _texts(variable, column)


def _was_number(form: LabelledForm | None) -> bool:
    """Tell whether a variable was a plain number in the file read."""
    return form is not None and not form.text and form.moment is None


def _is_number(category: Category) -> bool:
    """Tell whether a category is a number that a float holds exactly."""
    return isinstance(category, int | float) and type(category) is not bool and abs(category) <= EXACT


def _numbers(variable: Variable, values: Floats, *, whole: bool) -> Stored:
    return Stored(variable.name, np.array(values, np.float64), whole=whole, labels=dict(variable.labels))


def _dates(
    variable: Variable, days: Floats, family: Family, form: LabelledForm | None, moments: pa.DataType | None
) -> Stored:
    came = form.moment == "datetime" if form else moments is not None and pa.types.is_timestamp(moments)
    moment: Moment = "datetime" if came or not _all_whole(days) else "date"
    return Stored(variable.name, _from_days(family, moment, days), moment=moment, labels=dict(variable.labels))


def _truths(variable: Variable, column: NDArray[Any]) -> Stored:
    """Return truth values as 0 and 1, with labels that say which is which."""
    numbers = _spread(np.array(variable.categories, np.float64), column)
    labels = {int(bool(category)): variable.spelled(category) for category in variable.categories}
    return Stored(variable.name, numbers, whole=True, labels=labels)


def _texts(variable: Variable, column: NDArray[Any]) -> Stored:
    texts = np.array([*(str(category) for category in variable.categories), None], dtype=object)
    labels = {str(value): label for value, label in variable.labels}
    return Stored(variable.name, texts[column], text=True, labels=labels)


def _numbered(variable: Variable, column: NDArray[Any], form: LabelledForm | None) -> Stored:
    """Give categories that are words the codes 1, 2, ... in their order, and the words as labels."""
    taken = as_values(variable.missing, text=False)
    codes = _free_codes(len(variable.categories), taken, form.ranges if form else ())
    labels: dict[Category, str] = dict(zip(codes, map(variable.spelled, variable.categories), strict=True))
    labels |= {value: label for value, label in variable.labels if value in variable.missing}
    numbers = _spread(np.array(codes, np.float64), column)
    return Stored(variable.name, numbers, whole=True, numbered=True, labels=labels)


def _free_codes(count: int, taken: tuple[Category, ...], ranges: tuple[Range, ...]) -> list[int]:
    codes: list[int] = []
    code = 1
    while len(codes) < count:
        above = max((high for low, high in ranges if low <= code <= high), default=None)
        if above is None:
            codes += [] if code in taken else [code]
            code += 1
        elif above < LARGEST_INT:
            code = int(above) + 1
        else:
            ranges = ()  # nothing is left above; that declaration will have to go
    return codes


def _spread(values: Floats, codes: NDArray[Any]) -> Floats:
    """Return the value of each record's code; NaN for missing."""
    return np.asarray(np.append(values, np.nan)[codes], dtype=np.float64)


def _keep_labels(result: Stored, family: Family, losses: Losses) -> None:
    if not result.labels:
        return
    if family == "sas":
        losses.add("a SAS transport file holds no value labels", result.name)
        result.labels = {}
        return
    can = _spss_label if family == "spss" else _stata_label
    kept: dict[Any, str] = {}
    for value, label in result.labels.items():
        code = can(result, value)
        if code is not None:
            kept[code] = label
    if len(kept) < len(result.labels):
        losses.add("labels of values the format cannot label are left out", result.name)
    result.labels = kept


def _spss_label(result: Stored, value: Any) -> Any:
    """Return a value as SPSS labels it, or None where it cannot."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if number != result.text else None


def _stata_label(result: Stored, value: Any) -> Any:
    """Return a value as Stata labels it, or None where it cannot: whole numbers and letters of numeric variables."""
    if result.text or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if float(value).is_integer() and SMALLEST_INT <= value <= LARGEST_INT else None
    return _letter(value) if _is_letter(value) else None
