"""Classes of a date: months, quarters, years and longer spans, cut points as dates, and what each is called."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from sfumato.arguments import entries, require
from sfumato.errors import ParameterError
from sfumato.table.dates import YEARS, day_of, spelled

MONTHS = {"month": 1, "quarter": 3, "year": 12}
DAYS = {"day": 1, "week": 7}
MONDAY = -3  # 29 December 1969, from which weeks are counted
EXAMPLES = "'month', 'quarter', 'year' or '10 years'"
ROUND = (1200, 600, 120, 60, 12, 3, 1)  # months, the roundest spans first


@dataclass(frozen=True)
class Span:
    """A stretch of the calendar: so many months, from January of the year 0 on, or so many days."""

    count: int
    unit: Literal["months", "days"]

    @classmethod
    def of(cls, text: str) -> "Span | None":
        """Read a span as a user writes it; None where it is none.

        >>> Span.of("quarter"), Span.of("10 years"), Span.of("2 weeks"), Span.of("soon")
        (Span(count=3, unit='months'), Span(count=120, unit='months'), Span(count=14, unit='days'), None)
        """
        found = re.fullmatch(r"(?:([1-9]\d{0,3}) +)?(day|week|month|quarter|year)(s?)", text.strip().lower())
        if found is None or (found[3] and found[1] is None):
            return None
        number = int(found[1] or 1)
        if found[2] in MONTHS:
            return cls(number * MONTHS[found[2]], "months")
        return cls(number * DAYS[found[2]], "days")

    @property
    def days(self) -> float:
        """About how many days it has."""
        return self.count * (365.2425 / 12 if self.unit == "months" else 1)

    def edges(self, low: float, high: float) -> list[float]:
        """Return the edges of the spans that hold everything from low to high.

        >>> [spelled(edge) for edge in Span(12, "months").edges(day_of("1990-05-03"), day_of("1991-12-31"))]
        ['1990-01-01', '1991-01-01', '1992-01-01']
        """
        if self.unit == "days":
            start = MONDAY if self.count % 7 == 0 else 0
            first, last = (math.floor((day - start) / self.count) for day in (low, high))
            return [float(start + i * self.count) for i in range(first, last + 2)]
        first, last = (month_of(day) // self.count for day in (low, high))
        return [first_day(i * self.count) for i in range(first, last + 2)]


def month_of(day: float) -> int:
    """Return the number of a day's month, counted from January of the year 0."""
    return int(np.datetime64(math.floor(day), "D").astype("datetime64[M]").astype(np.int64)) + 1970 * 12


def first_day(month: int) -> float:
    """Return the first day of a month that is counted from January of the year 0."""
    return float(np.datetime64(month - 1970 * 12, "M").astype("datetime64[D]").astype(np.int64))


def roundest(below: float, upto: float) -> float:
    """Return the roundest day after one and not after another: the first of a century, decade, year, quarter or month.

    >>> spelled(roundest(day_of("1968-11-02"), day_of("1973-04-05")))
    '1970-01-01'
    >>> spelled(roundest(day_of("1990-03-20"), day_of("1990-04-05")))
    '1990-04-01'
    """
    for count in ROUND:
        candidate = first_day(month_of(upto) // count * count)
        if candidate > below:
            return candidate
    return float(math.floor(upto)) if math.floor(upto) > below else upto


def equal_widths(low: float, high: float, groups: int) -> list[float]:
    """Return the cuts between so many classes of about the same width, at the roundest days within a tenth of it."""
    width = (high - low) / groups
    return sorted({roundest(low + i * width - width / 10, low + i * width + width / 10) for i in range(1, groups)})


def labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Name the classes between edges, the outer ones of which may be infinite; a class holds its lower edge.

    >>> year = [day_of(f"{y}-01-01") for y in (1950, 1960, 1961)]
    >>> labels([-math.inf, *year, math.inf])
    ('<1950', '1950-1959', '1960', '1961+')
    >>> labels([day_of("1990-01-01"), day_of("1990-04-01"), day_of("1990-07-01")])
    ('1990-Q1', '1990-Q2')
    >>> labels([day_of("1990-01-01"), day_of("1990-01-15"), math.inf])
    ('1990-01-01 to 1990-01-14', '1990-01-15+')
    """
    finite = [edge for edge in edges if math.isfinite(edge)]
    if any(edge != math.floor(edge) for edge in finite):
        return tuple(_moments(low, high) for low, high in pairwise(edges))
    months = [month_of(edge) for edge in finite]
    if any(first_day(month) != edge for month, edge in zip(months, finite, strict=True)):
        return tuple(_days(low, high) for low, high in pairwise(edges))
    if all(month % 12 == 0 for month in months):
        return tuple(_years(low, high) for low, high in pairwise(edges))
    quarters = all(month % 3 == 0 for month in months) and all(b - a == 3 for a, b in pairwise(months))
    return tuple(_months(low, high, quarters=quarters) for low, high in pairwise(edges))


def _years(low: float, high: float) -> str:
    first, last = _year(low), _year(high - 1)
    if low == -math.inf:
        return f"<{_year(high)}"
    return f"{first}+" if high == math.inf else first if first == last else f"{first}-{last}"


def _year(day: float) -> str:
    return f"{month_of(day) // 12:04d}" if math.isfinite(day) else ""


def _months(low: float, high: float, *, quarters: bool) -> str:
    if low == -math.inf:
        return f"<{_month(high)}"
    if high == math.inf:
        return f"{_month(low)}+"
    if quarters:
        return f"{_year(low)}-Q{month_of(low) % 12 // 3 + 1}"
    first, last = _month(low), _month(high - 1)
    return first if first == last else f"{first} to {last}"


def _month(day: float) -> str:
    return f"{_year(day)}-{month_of(day) % 12 + 1:02d}"


def _days(low: float, high: float) -> str:
    if low == -math.inf:
        return f"<{spelled(high)}"
    if high == math.inf:
        return f"{spelled(low)}+"
    return spelled(low) if high - low == 1 else f"{spelled(low)} to {spelled(high - 1)}"


def _moments(low: float, high: float) -> str:
    if low == -math.inf:
        return f"<{spelled(high)}"
    return f">={spelled(low)}" if high == math.inf else f"[{spelled(low)}, {spelled(high)})"


def age_at(reference: str, ages: Sequence[int]) -> dict[str, tuple[str | None, str | None]]:
    """Return classes of birth dates by the age in completed years on a day, as ``bins`` of GlobalRecoding take them.

    ``ages`` are the ages at which a class begins, rising. Who was born on 29 February completes a year on 1 March where
    there is no such day.

    >>> age_at("2020-12-31", [18, 65])
    {'65+': (None, '1956-01-01'), '18-64': ('1956-01-01', '2003-01-01'), '<18': ('2003-01-01', None)}
    """
    require("age_at", str, "a day such as '2020-12-31'", reference=reference)
    then = day_of(reference)
    if then is None or not YEARS[0] <= then < YEARS[1]:
        raise ParameterError(f"age_at: the reference must be a day such as '2020-12-31'; got {reference!r}")
    begins = list(entries("age_at", int, "whole numbers that rise, such as [18, 65]", ages=ages))
    whole = all(isinstance(age, int) and not isinstance(age, bool) and age > 0 for age in begins)
    if not begins or not whole or any(low >= high for low, high in pairwise(begins)):
        raise ParameterError(f"age_at: ages must be whole numbers that rise, such as [18, 65]; got {ages!r}")
    if begins[-1] > 9999 or _born_by(then, begins[-1]) < YEARS[0]:
        raise ParameterError(f"age_at: who is {begins[-1]} on {reference} was born before the year 1")
    first_too_young = [spelled(_born_by(then, age) + 1) for age in begins]
    names = [f"<{begins[0]}", *(_ages(low, high) for low, high in pairwise(begins)), f"{begins[-1]}+"]
    ends: list[str | None] = [None, *reversed(first_too_young), None]
    return dict(zip(reversed(names), pairwise(ends), strict=True))


def _ages(low: int, high: int) -> str:
    return f"{low}" if high == low + 1 else f"{low}-{high - 1}"


def _born_by(then: float, age: int) -> float:
    """Return the last birth date of those who have completed so many years; 29 February has 28 before it."""
    month = month_of(then)
    place = math.floor(then) - first_day(month)
    earlier = month - 12 * age
    return min(first_day(earlier) + place, first_day(earlier + 1) - 1)
