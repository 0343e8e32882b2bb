"""Attacks on single records by codes and numbers that a test writes down; what is published is counted in two parts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.risk.attacks import AlikeAttack, Attack, FewestChanged, LookedFor, PublishedRecords
from sfumato.risk.points import Ends, SoughtRecords, Space, linked, with_missing_apart

Rows = NDArray[Any]


def columns(codes: Rows) -> dict[str, Rows]:
    return {str(place): column for place, column in enumerate(codes.astype(np.int32).T)} or {
        "": np.zeros(len(codes), dtype=np.int32)
    }


def counted(attack: Attack, after: Rows, weights: Rows | None = None) -> dict[str, Rows]:
    """Add up what the records of two parts hold."""
    middle, found = len(after) // 3, dict[str, Rows]()
    for rows in (slice(None, middle), slice(middle, None)):
        part = PublishedRecords.of(columns(after[rows]), None if weights is None else weights[rows])
        for name, counts in attack.counted(part).items() if len(after[rows]) else ():
            found[name] = found.get(name, 0) + counts
    return found


def alike(before: Rows, after: Rows, weights: Rows | None = None) -> tuple[Rows, Rows, Rows]:
    """Return the chance of each record among those alike, their number, and their units."""
    attack = AlikeAttack.of(columns(before), columns(after), [str(place) for place in range(before.shape[1])])
    found = counted(attack, after, weights)
    return attack.chance(found), found["number"], found.get("units", found["number"])


def fewest_changed(before: Rows, after: Rows, changed: Sequence[int]) -> Rows:
    """Return the chance of each record among those with the fewest changed keys."""
    names = [str(place) for place in range(before.shape[1])]
    alike = AlikeAttack.of(columns(before), columns(after), names)
    attack = FewestChanged(alike.coder, alike.before, alike.own, tuple(changed))
    return attack.chance(counted(attack, after))


def nearest(before: Rows, after: Rows, here: Rows, there: Rows) -> Rows:
    """Return the chance of each record among the nearest of those that agree in the codes."""
    here, there, space = with_missing_apart(here, there)
    attack = LookedFor.of(before, after, here, there, space)
    return attack.chance(*attack.among(after, there, space))


def own_is_nearest(here: Rows, there: Rows, *, share: bool) -> tuple[Rows, Rows]:
    """Tell how surely row i of ``there`` is the nearest, or second nearest, of all its rows to row i of ``here``."""
    space = Space.between(Ends.of(here), Ends.of(there))
    return linked(*SoughtRecords.euclidean(here, there, space).among(there), share=share)


def own_is_nearest_mixed(here: Rows, there: Rows, *, share: bool) -> tuple[Rows, Rows]:
    """Tell the same in the capped city-block distance of ``mixed_distance``, which holds all kinds of variables."""
    return linked(*SoughtRecords.gower(here, there).among(there), share=share)
