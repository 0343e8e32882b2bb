"""What makes a hierarchy none: the first fault of its rows, cuts or widths, and what to do about it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Row = Sequence[object]


@dataclass(frozen=True)
class Fault:
    """What is wrong in which row, counted from 0."""

    row: int
    text: str


def row_fault(rows: Sequence[Row]) -> Fault | None:
    """Return the first row that keeps rows from being a hierarchy, and the cure.

    >>> row_fault([("Aix", "south", "France"), ("Nice", "south", "Italy")]).text[:67]
    "'south' of level 1 is part of 'France' in row 1 and of 'Italy' here"
    """
    height = len(rows[0])
    if height < 2:
        return Fault(0, f"{rows[0]!r} has no group above it; a row is a category and its group at each level")
    categories: dict[str, int] = {}
    above: list[dict[object, tuple[object, int]]] = [{} for _ in range(height)]
    for number, row in enumerate(rows):
        if len(row) != height:
            return Fault(
                number,
                f"it has {len(row)} entries and the first row {height}; every category needs as many groups: repeat a "
                "group at the levels where it stays",
            )
        if any(entry is None or entry == "" for entry in row):
            level = next(level for level, entry in enumerate(row) if entry is None or entry == "")
            return Fault(number, f"level {level} is empty; name the group, or repeat the one below")
        first = categories.setdefault(str(row[0]), number)
        if first != number:
            return Fault(number, f"{row[0]!r} stands in row {first + 1} already; keep one of them")
        for level in range(1, height - 1):
            group, one = row[level], row[level + 1]
            other, where = above[level].setdefault(group, (one, number))
            if other != one:
                return Fault(
                    number,
                    f"{group!r} of level {level} is part of {other!r} in row {where + 1} and of {one!r} here; it can "
                    "be part of one only: correct one of them",
                )
    return None


def cut_fault(levels: Sequence[Sequence[float]]) -> str | None:
    """Return what keeps cut points from being a hierarchy."""
    for number, cuts in enumerate(levels, start=1):
        if not all(map(_finite, cuts)) or any(low >= high for low, high in pairwise(cuts)):
            return f"the cuts of level {number} must be numbers that rise; got {cuts!r}"
    for number, (fine, coarse) in enumerate(pairwise(levels), start=1):
        new = sorted(set(coarse) - set(fine))
        if new:
            return (
                f"level {number + 1} cuts at {new[0]:g}, where level {number} does not, so it would split a class; add "
                f"that cut to level {number} or take it out"
            )
    return None


def width_fault(widths: Sequence[float], start: float) -> str | None:
    """Return what keeps widths from being a hierarchy."""
    if not _finite(start):
        return f"the start of a hierarchy's classes must be a number; got {start!r}"
    for width in widths:
        if not isinstance(width, int | float) or isinstance(width, bool) or not width > 0:
            return f"the widths of a hierarchy must be numbers above 0; got {width!r}"
    for fine, coarse in pairwise(widths):
        nested = coarse == math.inf > fine or (
            math.inf > coarse > fine and abs(coarse / fine - round(coarse / fine)) <= 1e-9
        )
        if not nested:
            return f"each width must be a multiple of the last, else a class is split; {coarse:g} is none of {fine:g}"
    return None


def name_fault(
    names: Sequence[str], labels: Sequence[Sequence[str]], cuts: Sequence[Sequence[float]], height: int
) -> str | None:
    """Return what is wrong with the names of levels and classes."""
    if names and (len(names) != height or not all(isinstance(name, str) for name in names)):
        return f"there are {height} levels above the values, so as many names are needed; got {list(names)!r}"
    if not labels:
        return None
    if len(labels) != len(cuts):
        return f"labels name the classes of each level of cuts: {len(cuts)} levels; got {len(labels)}"
    for number, (words, points) in enumerate(zip(labels, cuts, strict=True), start=1):
        if len(words) != len(points) + 1 or len(set(words)) < len(words):
            return f"level {number} has {len(points) + 1} classes, so as many different labels; got {list(words)!r}"
    return None


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
