"""Stated classes of a number or a date: what may be said, checked before any table is seen."""

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from sfumato import parameters
from sfumato.data.date_bands import EXAMPLES, Span
from sfumato.data.dates import day_of, written_out


def checked_bins(owner: object, bins: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bins by variable as a width, rising cuts, or named classes in their order."""
    good: dict[str, Any] = {}
    for name, stated in bins.items():
        where = f"bins of {name!r}"
        if isinstance(stated, Mapping):
            good[name] = _checked_classes(owner, where, stated)
        elif isinstance(stated, tuple):
            places = [_place(cut) for cut in stated]
            known = bool(places) and not any(map(math.isnan, places)) and not _mixed(stated)
            if not known or any(a >= b for a, b in pairwise(places)):
                raise parameters.refuse(owner, f"{where} must be cut points that rise; got {stated!r}")
            good[name] = tuple(map(written_out, stated))
        elif _is_width(stated):
            good[name] = stated
        else:
            raise parameters.refuse(
                owner,
                f"{where} must be a width above 0, of a date {EXAMPLES}, a list of cut points or a dict of "
                f"classes; got {stated!r}",
            )
    return good


def _checked_classes(owner: object, where: str, stated: Mapping[Any, Any]) -> dict[str, Any]:
    for label, ends in stated.items():
        pair = isinstance(ends, tuple) and len(ends) == 2
        if not isinstance(label, str) or not pair or not _low(ends) < _high(ends):
            raise parameters.refuse(
                owner, f"{where} must name each class by its two ends, such as {{'young': [0, 30]}}; got {stated!r}"
            )
    if len(stated) < 2:
        raise parameters.refuse(owner, f"{where}: one class leaves nothing of the variable; use VariableRemoval")
    if _mixed(end for ends in stated.values() for end in ends if end is not None):
        raise parameters.refuse(owner, f"{where} must have numbers or dates for ends, not both; got {stated!r}")
    ordered = sorted(stated.items(), key=lambda item: _low(item[1]))
    for (one, ends), (other, following) in pairwise(ordered):
        if _high(ends) > _low(following):
            raise parameters.refuse(owner, f"{where}: {one!r} and {other!r} overlap")
    return {label: tuple(map(written_out, ends)) for label, ends in ordered}


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_width(stated: Any) -> bool:
    """Tell whether a number is a width, or a text a span of the calendar."""
    return Span.of(stated) is not None if isinstance(stated, str) else _finite(stated) and stated > 0


def _place(value: Any) -> float:
    """Return a number, or a date in days; NaN where it is neither."""
    found = float(value) if _finite(value) else day_of(value)
    return math.nan if found is None else found


def _low(ends: tuple[Any, Any]) -> float:
    return -math.inf if ends[0] is None else _place(ends[0])


def _high(ends: tuple[Any, Any]) -> float:
    return math.inf if ends[1] is None else _place(ends[1])


def _mixed(values: Iterable[Any]) -> bool:
    return len({_finite(value) for value in values}) > 1


def of_dates(stated: Any) -> bool:
    """Tell whether bins are those of a date: a span, or cut points and ends that are dates."""
    if isinstance(stated, Mapping):
        return not any(_finite(end) for ends in stated.values() for end in ends)
    return isinstance(stated[0] if isinstance(stated, tuple) else stated, str)
