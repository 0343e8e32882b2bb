"""Stated hierarchies: what each category is part of, level by level."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.data.merging import listed
from sfumato.data.schema import Category, Variable
from sfumato.errors import NotApplicable


def check(owner: object, hierarchy: Mapping[str, Any] | None, level: int | Mapping[str, int]) -> None:
    """Refuse hierarchies that are none, and levels they do not have."""
    levels = level if isinstance(level, Mapping) else dict.fromkeys(hierarchy or {}, level)
    for name in levels:
        if name not in (hierarchy or {}):
            raise parameters.refuse(owner, f"level names {name!r}, which has no hierarchy")
    for value in (*levels.values(), *(() if isinstance(level, Mapping) else (level,))):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise parameters.refuse(owner, f"level must be a whole number of at least 0; got {value!r}")
    for name, stated in (hierarchy or {}).items():
        where = f"hierarchy of {name!r}"
        height = _height(owner, where, stated)
        if levels.get(name, 1) > height:
            raise parameters.refuse(owner, f"{where} has {height} levels; there is no level {levels.get(name, 1)}")


def _height(owner: object, where: str, stated: Any) -> int:
    if isinstance(stated, tuple) and stated and all(type(width) in (int, float) and width > 0 for width in stated):
        for fine, coarse in pairwise(stated):
            if coarse <= fine or abs(coarse / fine - round(coarse / fine)) > 1e-9:
                raise parameters.refuse(owner, f"{where}: each width must be a multiple of the last; got {stated}")
        return len(stated)
    rows = stated.values() if isinstance(stated, Mapping) else ()
    if not rows or not all(isinstance(row, tuple) and row and None not in row for row in rows):
        raise parameters.refuse(
            owner,
            f"{where} must be a dict from each category to its ancestors, such as {{'Aix': ['south', 'France']}}, or "
            f"the rising widths of a number's classes, such as [5, 10]; got {stated!r}",
        )
    heights = {len(row) for row in rows}
    if len(heights) > 1:
        raise parameters.refuse(owner, f"{where}: every category needs as many ancestors; there are {sorted(heights)}")
    height = heights.pop()
    for below in range(height - 1):
        above: dict[Any, Any] = {}
        for row in rows:
            if above.setdefault(row[below], row[below + 1]) != row[below + 1]:
                raise parameters.refuse(
                    owner,
                    f"{where}: {row[below]!r} of level {below + 1} is in {above[row[below]]!r} and in "
                    f"{row[below + 1]!r}; it can be part of one only",
                )
    return height


def ancestors(variable: Variable, codes: NDArray[np.int32], stated: Any, level: int) -> list[Category]:
    """Return the ancestor of each category at a level; categories that do not occur may lack one and stay."""
    if not isinstance(stated, Mapping):
        raise NotApplicable(
            f"variable {variable.name!r} is {variable.kind}: its hierarchy is a dict from each category to its "
            "ancestors, not widths"
        )
    texts = {str(category): row for category, row in stated.items()}
    rows = [stated.get(category, texts.get(str(category))) for category in variable.categories]
    used = np.bincount(codes[codes >= 0], minlength=len(rows))
    absent = [c for c, row, count in zip(variable.categories, rows, used, strict=True) if not row and count]
    if absent:
        raise NotApplicable(f"hierarchy of {variable.name!r} lacks {listed(absent)}")
    return [c if row is None else row[level - 1] for c, row in zip(variable.categories, rows, strict=True)]
