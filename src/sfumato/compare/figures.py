"""How a figure is written: shares as percentages, everything else as a plain number."""

import math
import re
from dataclasses import dataclass

from sfumato.display import Unit
from sfumato.display import listed as listed
from sfumato.display import written as written

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


def numberless(text: str) -> str:
    """Return a sentence without its numbers, to tell whether two say the same.

    >>> numberless("3 of 1,997 pairs") == numberless("12 of 2,004 pairs")
    True
    """
    return re.sub(r"\d[\d,.]*", "#", text)
