"""Values put together, categories into groups and numbers into classes: the variable, its codes, the record of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.table.treatment import Treatment

if TYPE_CHECKING:  # a variable holds a hierarchy, which merges by this
    from sfumato.table.schema import Category, Variable

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


def merged(
    variable: "Variable",
    codes: Codes,
    into: "Sequence[Category]",
    *,
    labels: "Mapping[Category, str] | None" = None,
    last: "Category" = None,
) -> "tuple[Variable, Codes]":
    """Put the i-th category of a variable into the i-th group of ``into``; ``labels`` are those of new groups.

    Groups stand in the order of their first category, but for a ``last`` one. Those of an ordinal variable must hold
    neighbours only, for else they have no order. Where some groups are texts and others numbers, all become text.
    """
    if tuple(into) == variable.categories:
        return variable, codes
    if len({float if type(group) is int else type(group) for group in into}) > 1:
        into = [str(group) for group in into]
    if variable.kind == "ordinal":
        refuse_gaps(variable, into)
    groups = tuple(sorted(dict.fromkeys(into), key=lambda group: group == last))
    place = {group: code for code, group in enumerate(groups)}
    recode = np.array([*(place[group] for group in into), -1], dtype=np.int32)
    known = dict(variable.labels)
    told = {g: known[c] for c, g in zip(variable.categories, into, strict=True) if c in known and str(c) == str(g)}
    told |= {group: text for group, text in (labels or {}).items() if group in place}
    done = _treatment(variable, into)
    changed = replace(variable, categories=groups, labels=tuple(told.items()), treatment=done, hierarchy=None)
    return changed, recode[codes]


def classed(
    variable: "Variable",
    column: Floats,
    cuts: Iterable[float],
    names: "tuple[Category, ...]",
    *,
    ends: tuple[float, float] | None = None,
) -> "tuple[Variable, Codes]":
    """Return a number as an ordinal variable of the classes between these cuts; a class holds its lower boundary.

    One class has one cut all the same, which says in the treatment that the number is gone. ``ends`` are the outer
    boundaries where the classes follow the records and are not stated.
    """
    cuts = tuple(float(cut) for cut in cuts)
    codes = in_classes(column, cuts if len(names) > 1 else ())
    classes = replace(variable, kind="ordinal", categories=names, labels=(), missing=(), format="", hierarchy=None)
    return classes.treated(Treatment(cuts=cuts, ends=ends)), codes


def in_classes(column: Floats, cuts: "Sequence[float] | Floats") -> Codes:
    """Return the class of each number between these cuts, of which a class holds its lower one; -1 for missing.

    >>> in_classes(np.array([17.0, 18.0, np.nan]), [18.0])
    array([ 0,  1, -1], dtype=int32)
    """
    return np.where(np.isnan(column), -1, np.searchsorted(np.asarray(cuts), column, side="right")).astype(np.int32)


def refuse_gaps(variable: "Variable", into: "Sequence[Category]") -> None:
    """Refuse groups of an ordinal variable that hold categories which are no neighbours."""
    seen: set[Category] = set()
    for before, after in pairwise(into):
        if after == before:
            continue
        seen.add(before)
        if after in seen:
            between = variable.categories[into.index(after) :]
            raise NotApplicable(
                f"variable {variable.name!r} is ordinal, but {after!r} would hold categories that are no "
                f"neighbours ({between[0]!r} and others beyond {before!r}), so the order is lost; put those between "
                "with them, or make the variable nominal in the schema"
            )


def _treatment(variable: "Variable", into: "Sequence[Category]") -> Treatment:
    """Record the merging; of classes of a number only the cuts that are left."""
    done = variable.treatment
    if variable.kind == "ordinal" and len(done.cuts) == len(variable.categories) - 1:
        left = tuple(cut for cut, (low, high) in zip(done.cuts, pairwise(into), strict=True) if low != high)
        if left:
            return replace(done, cuts=left)
    # every category is listed, merged or not: a later treatment finds its way through all of them
    return done.then(Treatment(groups=tuple(zip(variable.categories, into, strict=True))))


def places(variable: "Variable", stated: "Iterable[Category]", where: str) -> "dict[Category, int]":
    """Return the codes of categories as a user wrote them; 1 and "1" are taken for the same.

    ``where`` says what names them: a category that the variable does not have is refused.
    """
    exact = {category: code for code, category in enumerate(variable.categories)}
    texts = {str(category): code for category, code in exact.items()}
    codes: dict[Category, int] = {}
    for category in stated:
        code = exact.get(category, texts.get(str(category)))
        if code is None:
            near = get_close_matches(str(category), texts, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise NotApplicable(
                f"{where} names {category!r}, which is no category of variable {variable.name!r}{hint}; it has "
                f"{listed(variable.categories)}"
            )
        codes[category] = code
    if len(set(codes.values())) < len(codes):  # as 1 and as "1"
        raise NotApplicable(f"{where} names a category of variable {variable.name!r} twice")
    return codes


def listed(categories: "Iterable[Category]", most: int = 12) -> str:
    """Write categories in a row, a long list shortened.

    >>> listed(["north", "south", "east"], most=2)
    "'north', 'south', ..."
    """
    shown = [repr(category) for category in categories]
    return ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")
