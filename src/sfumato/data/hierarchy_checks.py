"""What makes a hierarchy none: the first fault of its rows, cuts or widths, and what to do about it."""

import datetime as dt
import math
import sys
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sfumato.data.date_bands import EXAMPLES, Span

Row = Sequence[object]
FORMS = ("rows", "cuts", "widths", "spans")
ALL = "all"  # the span that holds every date
TOP = "*"  # what the one group is called in which nothing of a variable is left


def shape_fault(word: str, value: object) -> str | None:
    """Return what is wrong with the shape of what a hierarchy is given: rows, cuts and labels are lists of lists.

    >>> shape_fault("cuts", (18, 65)), shape_fault("widths", (5, 10))
    ('cuts of a hierarchy must be a list of lists, one for each level; got (18, 65)', None)
    """
    inner = {"rows": "category", "cuts": "level", "labels": "level"}.get(word)
    if _listed(value) and (inner is None or all(map(_listed, value))):  # type: ignore[call-overload]
        return None
    meant = "a list" if inner is None else f"a list of lists, one for each {inner}"
    return f"{word} of a hierarchy must be {meant}; got {value!r}"


def entry_fault(rows: Sequence[Row]) -> str | None:
    """Return which entry of a row is neither text, a finite number, a truth value nor a date; gaps are told of later.

    >>> print(entry_fault([("Aix", float("nan"))]))
    row 1: nan is no group; a group is text, a finite number, a truth value or a date
    """
    for number, row in enumerate(rows, start=1):
        for entry in row:
            if entry is not None and not isinstance(entry, str | bool | dt.date) and not _finite(entry):
                nested = "a list, which is no group; write an entry for each level" if _listed(entry) else "no group"
                return f"row {number}: {entry!r} is {nested}; a group is text, a finite number, a truth value or a date"
    return None


def row_fault(rows: Sequence[Row], lines: Sequence[int] | None = None) -> str | None:
    """Return what keeps rows from being a hierarchy, in which row, and the cure; ``lines`` are those of a file.

    >>> print(row_fault([("Aix", "south", "France"), ("Nice", "south", "Italy")], lines=[1, 3]))
    line 3: 'south' of level 1 is part of 'France' in line 1 and of 'Italy' here; it can be part of one only: correct it
    """

    def where(number: int) -> str:
        return f"row {number + 1}" if lines is None else f"line {lines[number]}"

    height = len(rows[0])
    if height < 2:
        return f"{where(0)}: {rows[0][0] if rows[0] else ''!r} has no group; a row is a category, then its groups"
    categories: dict[str, int] = {}
    above: list[dict[object, tuple[object, int]]] = [{} for _ in range(height)]
    for number, row in enumerate(rows):
        if len(row) != height:
            return (
                f"{where(number)}: it has {len(row)} entries and {where(0)} has {height}; every category needs as many "
                "groups: repeat one at the levels where it stays"
            )
        empty = next((level for level, entry in enumerate(row) if entry is None or entry == ""), None)
        if empty is not None:
            return f"{where(number)}: level {empty} is empty; name the group, or repeat the one below"
        first = categories.setdefault(str(row[0]), number)
        if first != number:
            return f"{where(number)}: {row[0]!r} stands in {where(first)} already; keep one of them"
        for level in range(1, height - 1):
            group, one = row[level], row[level + 1]
            other, place = above[level].setdefault(group, (one, number))
            if other != one:
                return (
                    f"{where(number)}: {group!r} of level {level} is part of {other!r} in {where(place)} and of "
                    f"{one!r} here; it can be part of one only: correct it"
                )
    return None


def cut_fault(levels: Sequence[Sequence[float]]) -> str | None:
    """Return what keeps cut points from being a hierarchy."""
    for number, cuts in enumerate(levels, start=1):
        if not all(map(_finite, cuts)) or any(low >= high for low, high in pairwise(cuts)):
            return f"the cuts of level {number} must be numbers or dates that rise; got {cuts!r}"
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
            math.inf > coarse > fine and abs(coarse / fine - round(coarse / fine)) <= 1e-12
        )
        if not nested:
            return f"each width must be a multiple of the last, else a class is split; {coarse:g} is none of {fine:g}"
    return None


def span_fault(spans: Sequence[str]) -> str | None:
    """Return what keeps spans of the calendar from being a hierarchy."""
    found = [Span.of(text) if isinstance(text, str) else None for text in spans]
    for number, (text, span) in enumerate(zip(spans, found, strict=True)):
        if span is None and not (text == ALL and number == len(spans) - 1):
            return f"the spans of a hierarchy are {EXAMPLES}, and '{ALL}' at the last; got {text!r}"
    for (fine, small), (coarse, large) in pairwise(zip(spans, found, strict=True)):
        if small is not None and large is not None and not _nests(small, large):
            return f"each span must be made of the last, else one is split; {coarse!r} is not made of {fine!r}"
    return None


def _nests(small: Span, large: Span) -> bool:
    """Tell whether a span of the calendar is made of whole smaller ones, boundaries and all."""
    if small.unit != large.unit:
        return small == Span(1, "days")
    weeks = small.unit == "days" and small.count > 1 and (small.count % 7 == 0) != (large.count % 7 == 0)
    return large.count > small.count and large.count % small.count == 0 and not weeks


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
        if not all(isinstance(label, str) for label in words):
            return f"the labels of level {number} must be text; got {list(words)!r}"
        if len(words) != len(points) + 1 or len(set(words)) < len(words):
            return f"level {number} has {len(points) + 1} classes, so as many different labels; got {list(words)!r}"
    return None


def _listed(value: object) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


def _finite(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) <= sys.float_info.max  # a whole number may be larger than any float
    return isinstance(value, float) and math.isfinite(value)
