"""Classes of a numeric variable: where to cut, and what to call what lies between."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
