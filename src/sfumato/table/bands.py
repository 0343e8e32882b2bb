"""Classes of a numeric variable: where to cut, and what to call what lies between."""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

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
