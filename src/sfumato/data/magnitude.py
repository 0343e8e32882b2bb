"""Numbers so large or small that arithmetic with them overflows: refused with a reason, not warned of and then nan."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import numpy as np

from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable

LARGE, SMALL = 1e70, 1e-70  # their fourth powers, which measures of shape need, are still numbers


_KNOWN: WeakKeyDictionary[Microdata, dict[str, float]] = WeakKeyDictionary()  # every measure asks of the same tables


def extreme_numbers(tables: Iterable[Microdata]) -> dict[str, float]:
    """Return the variables whose greatest number, whatever its sign, is beyond these, with that number.

    Of tables in memory: parts on disk would have to be read for it.
    """
    found: dict[str, float] = {}
    for table in tables:
        if not table.on_disk:
            if table not in _KNOWN:
                _KNOWN[table] = dict(_beyond(table))
            found |= _KNOWN[table]
    return found


def _beyond(table: Microdata) -> Iterator[tuple[str, float]]:
    for name in (variable.name for variable in table.schema if variable.kind == "numeric"):  # weights too
        column = table.columns[name].astype(np.float64, copy=False)
        high, low = np.fmax.reduce(column, initial=np.nan), np.fmin.reduce(column, initial=np.nan)
        most = float(max(high, -low))  # nan where all is missing
        if most > LARGE or 0 < most < SMALL:
            yield name, most


@contextmanager
def within_arithmetic(*tables: Microdata) -> Iterator[dict[str, float]]:
    """Refuse what overflows in here if the tables have extreme numbers; they are handed over."""
    extremes = extreme_numbers(tables)
    if not extremes:
        yield extremes
        return
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            yield extremes
    except (ArithmeticError, np.linalg.LinAlgError):  # a FloatingPointError, an OverflowError
        raise beyond_arithmetic(extremes) from None


def beyond_arithmetic(extremes: dict[str, float]) -> NotApplicable:
    """Say which numbers are too large or too small."""
    name, most = next(iter(extremes.items()))
    size = "large" if most > LARGE else "small"
    reach = "reach" if most > LARGE else "stay below"
    return NotApplicable(f"the values of {name!r} {reach} {most:.3g}, too {size} to compute with; rescale the variable")
