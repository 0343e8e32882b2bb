"""Dates and times in labelled files: numbers with a format there, dates here.

SPSS counts seconds from 14 October 1582, Stata days or milliseconds from 1960, SAS days or seconds from 1960; times of
day are seconds (Stata: milliseconds). A column with a date format becomes dates only if every number in it is exactly
a date, a moment to the microsecond or a time of day, so that it goes back as the same number.
"""

import datetime as dt
import re
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data import dates
from sfumato.data.file_form import Family, Moment
from sfumato.data.schema import Category

Floats = NDArray[np.float64]

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


def usual_format(family: Family, moment: Moment) -> str:
    """Return the format a date gets in a file where it had none."""
    return _USUAL[family][moment]


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


def moment_in(categories: tuple[Category, ...]) -> Moment | None:
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


def from_days(family: Family, moment: Moment, days: Floats) -> Floats:
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
