"""Classes of a number or a date: where to cut, and what to call what lies between."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import entries, require
from sfumato.errors import ParameterError
from sfumato.table.dates import YEARS, day_of, spelled

Floats = NDArray[np.float64]
NUMBER = r"-?(?:0|[1-9]\d{0,14})"  # codes such as 007 are no numbers
DECIMAL = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
CLOSED = re.compile(rf"<({NUMBER})|({NUMBER})(?:(-| to )({NUMBER}))?|({NUMBER})\+")
HALF_OPEN = re.compile(rf"<({DECIMAL})|\[({DECIMAL}), ({DECIMAL})\)|>=({DECIMAL})")


def equal_counts(counts: NDArray[np.integer], groups: int) -> list[int]:
    """Return where to part ordered values into at most so many groups of about the same number of records.

    Each ideal boundary, i/groups of all records, goes to the nearest place between two values, since equal values
    cannot be parted. The places are those of the first value of each group but the lowest; values that do not occur
    join the group below.

    >>> equal_counts(np.array([5, 1, 1, 1, 4]), 3)
    [1, 4]
    """
    there = np.flatnonzero(counts)
    if len(there) < 2:
        return []
    below = np.cumsum(counts[there])[:-1]
    ideal = counts.sum() * np.arange(1, groups) / groups
    after = np.clip(np.searchsorted(below, ideal), 0, len(below) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(ideal - below[before] <= below[after] - ideal, before, after)
    return [int(there[place + 1]) for place in np.unique(nearest)]


def equal_widths(low: float, high: float, groups: int, *, whole: bool) -> list[float]:
    """Return the cuts between so many classes of the same width, to round numbers within a tenth of that width."""
    width = (high - low) / groups
    unit = round_below(width / 5)
    unit = max(unit, 1.0) if whole else unit
    return sorted({_multiple(round((low + i * width) / unit), unit) for i in range(1, groups)})


def of_width(low: float, high: float, width: float, start: float = 0.0) -> list[float]:
    """Return the edges of the classes of this width, at its multiples from a start, that hold all from low to high.

    >>> of_width(18, 34, 10), of_width(18, 34, 10, start=5)
    ([10.0, 20.0, 30.0, 40.0], [15.0, 25.0, 35.0])
    """
    first = math.floor((low - start) / width + 1e-9)
    last = math.floor((high - start) / width + 1e-9) + 1
    return [float(f"{start + i * width:.14g}") for i in range(first, last + 1)]


def round_below(value: float) -> float:
    """Return the largest of 1, 2, 5, 10, 20, 50 and so on, up and down, that is not above a positive value.

    >>> round_below(37), round_below(0.3), round_below(1000)
    (20.0, 0.2, 1000.0)
    """
    power = math.floor(math.log10(value))
    return max(c for e in (power - 1, power, power + 1) for d in (1, 2, 5) if (c := float(f"{d}e{e}")) <= value)


def roundest(below: float, upto: float) -> float:
    """Return the roundest number above one and not above another, so that no record's own value is published.

    >>> roundest(34, 41), roundest(61.2, 68), roundest(-3, 8), roundest(34, 35)
    (40.0, 65.0, 0.0, 35.0)
    """
    if below < 0 <= upto:
        return 0.0
    for unit in _units(max(abs(below), abs(upto))):
        start = math.floor(below / unit)
        for k in (start, start + 1, start + 2):
            candidate = _multiple(k, unit)
            if below < candidate <= upto:
                return candidate
    return upto


def labels(edges: Sequence[float], *, whole: bool) -> tuple[str, ...]:
    """Name the classes between edges, the outer ones of which may be infinite; a class holds its lower edge.

    >>> labels([-math.inf, 18, 25, 26, math.inf], whole=True)
    ('<18', '18-24', '25', '26+')
    >>> labels([-math.inf, 1200, 3400.5, math.inf], whole=False)
    ('<1200', '[1200, 3400.5)', '>=3400.5')
    """
    return tuple(_label(low, high, whole=whole) for low, high in pairwise(edges))


def _label(low: float, high: float, *, whole: bool) -> str:
    first, beyond = float(np.ceil(low)), float(np.ceil(high))
    if whole and first < beyond:  # 17.5 up to 24.5 holds the whole numbers 18 to 24
        low, high = first, beyond
        if low == high - 1:
            return shown(low)
        if math.isfinite(low) and math.isfinite(high):
            return f"{shown(low)}-{shown(high - 1)}" if low >= 0 else f"{shown(low)} to {shown(high - 1)}"
    if low == -math.inf:
        return f"<{shown(high)}"
    if high == math.inf:
        return f"{shown(low)}+" if whole and low >= 0 else f">={shown(low)}"
    return f"[{shown(low)}, {shown(high)})"


def shown(value: float) -> str:
    """Write a number with the fewest digits that read back as the same.

    >>> shown(18.0), shown(0.25), shown(1200000.0)
    ('18', '0.25', '1200000')
    """
    return str(int(value)) if value == round(value) and abs(value) < 2**53 else repr(float(value))


def joined_label(labels: Sequence[str]) -> str:
    """Name neighbouring classes that are put together: bands by their outer ends, all else by the first and the last.

    >>> joined_label(["20-29", "30-39"]), joined_label(["<20", "20-29"]), joined_label(["50-59", "60+"])
    ('20-39', '<30', '50+')
    >>> joined_label(["[0, 100)", "[100, 250)"]), joined_label(["1 to 3", "4 to 7"]), joined_label(["much", "all"])
    ('[0, 250)', '1 to 7', 'much to all')
    """
    if len(labels) == 1:
        return labels[0]
    for read, write in ((_closed, _closed_label), (_half_open, _half_open_label)):
        ends = [read(label) for label in labels]
        bands = [end for end in ends if end is not None]
        rising = all(
            before[1] < after[0] or (read is _half_open and before[1] == after[0]) for before, after in pairwise(bands)
        )
        if len(bands) == len(labels) and rising:
            return write(bands[0][0], bands[-1][1], labels)
    return f"{labels[0]} to {labels[-1]}"


def _closed(label: str) -> tuple[float, float] | None:
    """Read a class of whole numbers with both of its ends: 20-29, -5 to 4, 18, <20 and 60+; None if it is none."""
    found = CLOSED.fullmatch(label)
    if found is None:
        return None
    below, low, dash, high, above = found.groups()
    if below is not None:
        return -math.inf, int(below) - 1
    if above is not None:
        return int(above), math.inf
    ends = int(low), int(high) if dash else int(low)
    return ends if ends[0] <= ends[1] else None  # 1990-12 is a month


def _closed_label(low: float, high: float, labels: Sequence[str]) -> str:
    if math.isinf(low) and math.isinf(high):
        return f"{labels[0]} to {labels[-1]}"
    if low == -math.inf:
        return f"<{shown(high + 1)}"
    if high == math.inf:
        return f"{shown(low)}+"
    dashed = low >= 0 and any("-" in label for label in labels)
    return f"{shown(low)}-{shown(high)}" if dashed else f"{shown(low)} to {shown(high)}"


def _half_open(label: str) -> tuple[float, float] | None:
    """Read a class with its lower end only: [0, 100), <1200 and >=3400; None if it is none."""
    found = HALF_OPEN.fullmatch(label)
    if found is None:
        return None
    below, low, high, above = found.groups()
    if below is not None:
        return -math.inf, float(below)
    return (float(above), math.inf) if above is not None else (float(low), float(high))


def _half_open_label(low: float, high: float, labels: Sequence[str]) -> str:
    if math.isinf(low) and math.isinf(high):
        return f"{labels[0]} to {labels[-1]}"
    return _label(low, high, whole=False)


def is_whole(values: Floats) -> bool:
    """Tell whether all numbers are whole."""
    return bool(np.array_equal(values, np.round(values)))


def _multiple(k: int, unit: float) -> float:
    """Return k times a unit as the decimal it is: 3 times 0.1 is 0.3."""
    return float(f"{k * unit:.14g}")


def _units(size: float) -> Iterator[float]:
    """Round units from the size of a number down to its last digits."""
    power = math.floor(math.log10(size)) + 1
    for exponent in range(power, power - 17, -1):
        yield from (unit for unit in (float(f"1e{exponent}"), float(f"5e{exponent - 1}")) if 0 < unit < math.inf)


# Classes of a date: months, quarters, years and longer spans, cut points as dates, and what each is called.

MONTHS = {"month": 1, "quarter": 3, "year": 12}
DAYS = {"day": 1, "week": 7}
MONDAY = -3  # 29 December 1969, from which weeks are counted
SPAN_EXAMPLES = "'month', 'quarter', 'year' or '10 years'"
ROUND_SPANS = (1200, 600, 120, 60, 12, 3, 1)  # months, the roundest spans first


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


def roundest_day(below: float, upto: float) -> float:
    """Return the roundest day after one and not after another: the first of a century, decade, year, quarter or month.

    >>> spelled(roundest_day(day_of("1968-11-02"), day_of("1973-04-05")))
    '1970-01-01'
    >>> spelled(roundest_day(day_of("1990-03-20"), day_of("1990-04-05")))
    '1990-04-01'
    """
    for count in ROUND_SPANS:
        candidate = first_day(month_of(upto) // count * count)
        if candidate > below:
            return candidate
    return float(math.floor(upto)) if math.floor(upto) > below else upto


def equal_spans(low: float, high: float, groups: int) -> list[float]:
    """Return the cuts between so many classes of about the same width, at the roundest days within a tenth of it."""
    width = (high - low) / groups
    return sorted({roundest_day(low + i * width - width / 10, low + i * width + width / 10) for i in range(1, groups)})


def date_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Name the classes between edges, the outer ones of which may be infinite; a class holds its lower edge.

    >>> year = [day_of(f"{y}-01-01") for y in (1950, 1960, 1961)]
    >>> date_labels([-math.inf, *year, math.inf])
    ('<1950', '1950-1959', '1960', '1961+')
    >>> date_labels([day_of("1990-01-01"), day_of("1990-04-01"), day_of("1990-07-01")])
    ('1990-Q1', '1990-Q2')
    >>> date_labels([day_of("1990-01-01"), day_of("1990-01-15"), math.inf])
    ('1990-01-01 to 1990-01-14', '1990-01-15+')
    """
    finite = [edge for edge in edges if math.isfinite(edge)]
    if any(edge != math.floor(edge) for edge in finite):
        return tuple(_moment_label(low, high) for low, high in pairwise(edges))
    months = [month_of(edge) for edge in finite]
    if any(first_day(month) != edge for month, edge in zip(months, finite, strict=True)):
        return tuple(_day_label(low, high) for low, high in pairwise(edges))
    if all(month % 12 == 0 for month in months):
        return tuple(_year_label(low, high) for low, high in pairwise(edges))
    quarters = all(month % 3 == 0 for month in months) and all(b - a == 3 for a, b in pairwise(months))
    return tuple(_month_label(low, high, quarters=quarters) for low, high in pairwise(edges))


def _year_label(low: float, high: float) -> str:
    first, last = _year(low), _year(high - 1)
    if low == -math.inf:
        return f"<{_year(high)}"
    return f"{first}+" if high == math.inf else first if first == last else f"{first}-{last}"


def _year(day: float) -> str:
    return f"{month_of(day) // 12:04d}" if math.isfinite(day) else ""


def _month_label(low: float, high: float, *, quarters: bool) -> str:
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


def _day_label(low: float, high: float) -> str:
    if low == -math.inf:
        return f"<{spelled(high)}"
    if high == math.inf:
        return f"{spelled(low)}+"
    return spelled(low) if high - low == 1 else f"{spelled(low)} to {spelled(high - 1)}"


def _moment_label(low: float, high: float) -> str:
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
