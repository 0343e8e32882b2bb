"""Both tables as an intruder compares them: what is known of the original put into the protected table's terms.

Someone who knows that a person lives in Bonn, and sees a file that says north or south, looks among the northern
records. So values are compared after the original's were recoded as the protected's were (``data/recoding.py``).
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core import Measure
from sfumato.data.keys import common_codes, key_names
from sfumato.data.microdata import Microdata
from sfumato.data.recoding import Recoding, recoding
from sfumato.data.schema import Kind
from sfumato.errors import NotApplicable
from sfumato.kernels.mixed_distance import APART

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Notes = tuple[str, ...]


def compared(
    measure: Measure, original: Microdata, protected: Microdata, names: tuple[str, ...]
) -> tuple[dict[str, Recoding], Notes]:
    """Put each variable of both tables on the same footing; one for which that cannot be told is left out, and said.

    A variable the measure was told by name is never left out: it is refused.
    """
    found = {name: recoding(original, protected, name, matched=protected.matched) for name in names}
    untold = [name for name in names if not found[name].comparable]
    if untold and (measure.variables is not None or len(untold) == len(names)):
        raise NotApplicable(
            f"{type(measure).__name__}: the protected table has no comparable {untold[0]}: {found[untold[0]].note}"
        )
    notes = tuple(f"left out, {name}: {found[name].note}" for name in untold)
    kept = {name: seen for name, seen in found.items() if seen.comparable}
    return kept, (*notes, *(f"{name}: {seen.note}" for name, seen in kept.items() if seen.note))


def compared_keys(
    measure: Measure, original: Microdata, protected: Microdata
) -> tuple[tuple[str, ...], Codes, Codes, Notes]:
    """Name the keys, and return them in both tables under codes that mean the same; a missing value is -1.

    A key that the protected table lacks is left out, and said.
    """
    who = type(measure).__name__
    named = key_names(who, original, measure.variables)
    kept = tuple(name for name in named if name in protected.schema)
    if not kept:
        raise NotApplicable(f"{who}: the protected table has none of the keys {', '.join(named)}")
    gone = tuple(name for name in named if name not in kept)
    notes: Notes = (f"keys the protected table lacks, left out: {', '.join(gone)}",) if gone else ()
    before, after = [], []
    for name in kept:
        seen = recoding(original, protected, name, matched=protected.matched)
        if not seen.comparable:
            raise NotApplicable(f"{who}: key {name!r} cannot be matched: {seen.note}")
        if seen.note:
            notes = (*notes, f"{name}: {seen.note}")
        if seen.kind == "numeric":
            tables = (original.replace({name: seen.original}), protected.replace({name: seen.protected}))
            ours, theirs = common_codes(who, *tables, (name,))
            before.append(ours[:, 0])
            after.append(theirs[:, 0])
        else:
            before.append(seen.original)
            after.append(seen.protected)
    ours, theirs = np.column_stack(before), np.column_stack(after)
    return kept, ours, theirs, (*notes, *_suppressed(protected, kept, ours, theirs))


def _suppressed(protected: Microdata, names: tuple[str, ...], before: Codes, after: Codes) -> Notes:
    """Say that keys were made missing: these measures look for equal keys, an intruder also for those that may be."""
    paired = protected.matched and len(before) == len(after)
    made = []
    for name, ours, theirs in zip(names, before.T, after.T, strict=True):
        new = (theirs < 0) & (ours >= 0) if paired else (theirs < 0) & (ours >= 0).all()
        if new.any() or protected.schema[name].treatment.suppressed:
            made.append(name)
    if not made:
        return ()
    return (
        f"values of {', '.join(made)} were made missing: an intruder who takes such a record for anyone's whose other "
        "keys agree may learn more than this figure says",
    )


def grouped(kind: Kind, base: NDArray[Any], other: NDArray[Any], classes: int) -> tuple[Codes, Codes, Floats]:
    """Return a variable of two tables as codes, numbers in quantile classes of the first; with their inner cuts.

    A number that is a cut belongs to the class above it. A value that as many records share as a class would hold is a
    class of its own (zeros are not small amounts); where no more values occur than there are classes, each is. Missing
    stays -1.

    >>> grouped("numeric", np.array([1.0, 2, 3, 4, 5, 6]), np.array([0.0, 4.0, np.nan]), 2)[1:]
    (array([ 0,  1, -1], dtype=int32), array([3.5]))
    """
    if kind != "numeric":
        return base, other, np.empty(0)
    present = base[~np.isnan(base)]
    values, counts = np.unique(present, return_counts=True)
    if len(values) <= classes:
        cuts = values[1:]
    else:
        own = np.flatnonzero(counts * classes >= len(present))
        around = values[np.concatenate([own, own[own + 1 < len(values)] + 1])]
        cuts = np.unique(np.concatenate([np.quantile(present, np.arange(1, classes) / classes), around]))
        cuts = cuts[cuts > values[0]]
    codes = [
        np.where(np.isnan(column), -1, np.searchsorted(cuts, column, side="right")).astype(np.int32)
        for column in (base, other)
    ]
    return codes[0], codes[1], cuts


def followed(original: Microdata, more: Microdata, name: str, seen: Recoding) -> Recoding:
    """Return a variable with further records after the original's, recoded as their nearest original value was.

    A category that no original has stays apart from all others; where categories are ordered it counts as missing.
    """
    before, added = original.columns[name], more.columns[name]
    if original.schema[name].kind == "numeric":
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


def mixed_points(columns: Iterable[Recoding]) -> tuple[Floats, Floats]:
    """Place the records of both tables so that their capped city-block distance is Gower's, times the variables.

    Numbers are scaled by the range of both tables together, ordered categories by their place from the first to the
    last, and unordered ones are equal or not; two missing values are equal, one missing is as far as can be.
    """
    before, after = [], []
    for seen in columns:
        if seen.kind == "nominal":
            before.append(seen.original * APART)
            after.append(seen.protected * APART)
            continue
        pair = [
            column if seen.kind == "numeric" else np.where(column < 0, np.nan, column)
            for column in (seen.original, seen.protected)
        ]
        # halves, for the range of the largest numbers there are is no number
        both = np.concatenate(pair) / 2
        present = both[~np.isnan(both)]
        if seen.kind == "ordinal":
            low, width = 0.0, max(len(seen.categories) - 1, 1) / 2
        else:
            low = float(present.min(initial=np.inf)) if present.size else 0.0
            width = float(present.max() - low) if present.size else 0.0
        placed = np.where(np.isnan(both), APART, (both - low) / (width if width > 0 else 1.0))
        before.append(placed[: len(pair[0])])
        after.append(placed[len(pair[0]) :])
    return np.column_stack(before).astype(np.float64), np.column_stack(after).astype(np.float64)


def units(data: Microdata) -> Integers:
    """Number the units whose records belong together: households where the schema names them, else each record."""
    name = data.schema.household
    if name is None:
        return np.arange(len(data))
    column = data.columns[name]
    number = np.unique(column, return_inverse=True)[1].astype(np.int64)
    alone = data.missing(name)
    return np.where(alone, len(data) + np.arange(len(data)), number)
