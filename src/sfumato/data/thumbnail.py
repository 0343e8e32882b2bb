"""A variable at a glance: at most two dozen bars, as plain data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.columns import short
from sfumato.data.dates import spelled
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Category, Variable

MOST_BARS = 24


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


def thumbnail(variable: Variable, column: NDArray[Any], *, bars: int = MOST_BARS) -> Thumbnail:
    """Count the values of a variable in at most so many bars.

    A number or date of few different values, such as a number of children, has a bar for each whole step between them.

    >>> thumbnail(Variable("age"), np.array([0.0, 1.0, 1.0, 3.0, np.nan]))
    Thumbnail(counts=(1, 2, 0, 1), missing=1, least=0, greatest=3, names=(), others=0)
    >>> thumbnail(Variable("town", "nominal", categories=("A", "B")), np.array([1, 0, 1, -1]), bars=1)
    Thumbnail(counts=(2,), missing=1, least=None, greatest=None, names=('B',), others=1)
    """
    return _numbers(variable, column, bars) if variable.quantitative else _categories(variable, column, bars)


def thumbnails(data: Microdata, *, bars: int = MOST_BARS) -> dict[str, Thumbnail]:
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
