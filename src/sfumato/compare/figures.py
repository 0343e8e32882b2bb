"""How a figure is written: shares as percentages, everything else as a plain number."""

import math
import re
from dataclasses import dataclass

from sfumato.about import Unit

NOTHING = 1e-9  # what is left of zero by rounding is written as zero


@dataclass(frozen=True)
class Figure:
    """A value as it is shown, with the standard error of its mean if replicates give one."""

    value: float
    text: str
    error: float | None = None
    width: float | None = None  # half the 95 % interval of the mean, by Student's t


def figure(value: float, unit: Unit, error: float | None = None, width: float | None = None) -> Figure:
    """Dress a value of a measure for showing; an unknown or zero standard error is not written."""
    known = error is not None and math.isfinite(error) and error > 0
    spread = error if error is not None and known else 0.0
    shown = 0.0 if abs(value) < NOTHING else value
    return Figure(value, written(shown, unit, spread), spread if known else None, width if known else None)


def written(value: float, unit: Unit, error: float = 0.0) -> str:
    """Write a figure, with its standard error where there is one.

    >>> written(0.0417, "share"), written(13.5534, "percent", 0.2134), written(2.5, "number", math.nan)
    ('4.17 %', '13.55 ± 0.21', '2.5 ± ?')
    >>> written(123456.7, "number"), written(123456.7, "number", 321.0)
    ('123,457', '123,457 ± 321')
    """
    scale, sign = (100, " %") if unit == "share" else (1, "")
    value, error = value * scale, error * scale
    if 0 < error < math.inf:  # two digits of the error, but no more than four of the value
        most = 3 - math.floor(math.log10(abs(value))) if value else 4
        decimals = max(min(1 - math.floor(math.log10(error)), most), 0)
        if round(error, decimals) > 0:
            return f"{value:,.{decimals}f} ± {error:,.{decimals}f}{sign}"
    shown = f"{value:,.0f}" if 9999.5 <= abs(value) < math.inf else f"{value:.4g}"
    return shown + (" ± ?" if math.isnan(error) else "") + sign


def numberless(text: str) -> str:
    """Return a sentence without its numbers, to tell whether two say the same.

    >>> numberless("3 of 1,997 pairs") == numberless("12 of 2,004 pairs")
    True
    """
    return re.sub(r"\d[\d,.]*", "#", text)


def listed(names: tuple[str, ...], most: int = 5) -> str:
    """List names in a sentence, the first few of them.

    >>> listed(("a", "b", "c")), listed(("a", "b", "c"), most=1)
    ('a, b and c', 'a and 2 others')
    """
    if len(names) > most:
        rest = len(names) - most
        return f"{', '.join(names[:most])} and {rest} other{'s' if rest > 1 else ''}"
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
