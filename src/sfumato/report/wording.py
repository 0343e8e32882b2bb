"""How figures are written in tables and pictures; values of measures as ``compare`` writes them in its sentences."""

import math

from sfumato.compare.figures import written
from sfumato.table.dates import spelled


def number(value: float) -> str:
    """Write a number with as many digits as a reader can use.

    >>> number(1234567.0), number(23.456), number(0.01234), number(0.0), number(float("nan"))
    ('1,234,567', '23.46', '0.0123', '0', '–')
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    size = abs(value)
    if value == 0 or (size < 1e15 and value == round(value) and size >= 1):
        return f"{value:,.0f}"
    if size >= 10_000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:,.1f}"
    return f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def quantity(value: float, kind: str) -> str:
    """Write a value of a variable: a date as such, of the nearest day, else a number.

    >>> quantity(0.4, "date"), quantity(0.4, "numeric")
    ('1970-01-01', '0.4')
    """
    return spelled(float(round(value))) if kind == "date" and math.isfinite(value) else number(value)


def spread(value: float, kind: str) -> str:
    """Write a standard deviation, of dates in days.

    >>> spread(365.0, "date"), spread(365.0, "numeric")
    ('365 days', '365')
    """
    return f"{number(value)} days" if kind == "date" else number(value)


def percentage(share: float) -> str:
    """Write a share as a percentage; a very small one with two digits of the figure that tables have.

    >>> percentage(0.042), percentage(0.00123), percentage(1.0), percentage(0.0), percentage(0.0000098)
    ('4.2 %', '0.12 %', '100 %', '0 %', '0.00098 %')
    """
    if not math.isfinite(share):
        return number(share)
    value = 100 * share
    if value == 0 or value == 100:
        return f"{value:.0f} %"
    if abs(value) < 0.01:
        return written(float(f"{share:.2g}"), "share")
    return f"{value:.2f} %" if abs(value) < 1 else f"{value:.1f} %"


def count(n: int, noun: str) -> str:
    """Write a count with its noun.

    >>> count(1, "record"), count(1080, "record")
    ('1 record', '1,080 records')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def lower_first(text: str) -> str:
    """Write a title in the middle of a sentence; what begins with a name or an abbreviation stays.

    >>> lower_first("Information loss (IL)"), lower_first("MDAV groups")
    ('information loss (IL)', 'MDAV groups')
    """
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def duration(seconds: float) -> str:
    """Write a time as one would say it.

    >>> duration(0.42), duration(42.0), duration(150.0)
    ('0.4 s', '42 s', '2 min 30 s')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 90 else f"{int(seconds) // 60} min {int(seconds) % 60} s"
