"""Variables as an intruder compares them: what is known of the original put into the protected table's terms.

Someone who knows that a person lives in Bonn, and sees a file that says north or south, looks among the northern
records. So values are compared after the original's were recoded as the protected's were (``data/recoding.py``).
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.data.recoding import Recoding
from sfumato.errors import NotApplicable
from sfumato.pair import Pair

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Notes = tuple[str, ...]


def compared(pair: Pair, names: Iterable[str], *, asked: bool) -> tuple[dict[str, Recoding], Notes]:
    """Put each variable of both tables on the same footing; one for which that cannot be told is left out, and said.

    ``asked``: somebody named the variables, so that none may be left out.
    """
    found = {name: pair.footing(name) for name in names}
    untold = [name for name, seen in found.items() if not seen.comparable]
    if untold and (asked or len(untold) == len(found)):
        raise NotApplicable(f"the protected table has no comparable {untold[0]}: {found[untold[0]].note}")
    notes = tuple(f"left out, {name}: {found[name].note}" for name in untold)
    kept = {name: seen for name, seen in found.items() if seen.comparable}
    return kept, (*notes, *(f"{name}: {seen.note}" for name, seen in kept.items() if seen.note))


def followed(original: Microdata, more: Microdata, name: str, seen: Recoding) -> Recoding:
    """Return a variable with further records after the original's, recoded as their nearest original value was.

    A category that no original has stays apart from all others; where categories are ordered it counts as missing.
    """
    before, added = original.columns[name], more.columns[name]
    if original.schema[name].quantitative:
        coded = added.astype(seen.original.dtype) if not seen.recoded else _as_nearest(before, added, seen.original)
    else:
        taken = {original.schema[name].categories[code]: seen.original[place] for code, place in _first(before)}
        place = {category: code for code, category in enumerate(seen.categories)}
        lookup = []
        for category in more.schema[name].categories:
            if category in taken:
                lookup.append(taken[category])
            else:
                lookup.append(-1 if seen.kind == "ordinal" else place.setdefault(category, len(place)))
        coded = np.array([*lookup, -1], dtype=np.int32)[added]
    return replace(seen, original=np.concatenate([seen.original, coded]))


def _as_nearest(before: Floats, added: Floats, coded: NDArray[Any]) -> NDArray[Any]:
    present = np.flatnonzero(~np.isnan(before))
    order = present[np.argsort(before[present], kind="stable")]
    middles = (before[order][1:] + before[order][:-1]) / 2
    found = coded[order[np.searchsorted(middles, added)]]
    return np.where(np.isnan(added), np.nan if coded.dtype.kind == "f" else -1, found).astype(coded.dtype)


def _first(codes: Codes) -> list[tuple[int, int]]:
    """Return each code that occurs, and the first place where it does."""
    values, places = np.unique(codes, return_index=True)
    return [(int(code), int(place)) for code, place in zip(values, places, strict=True) if code >= 0]
