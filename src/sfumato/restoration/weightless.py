"""What a weight of zero tells: who is out of scope, or of a stratum that was not drawn, is so for a reason.

Raking leaves weights of zero as they are. Among all protected values those of such records are few, so that the audit,
which looks at all of them, may not see that theirs are given back.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from sfumato.data.microdata import Microdata
from sfumato.restoration import wording
from sfumato.restoration.aims import Aim, aims
from sfumato.restoration.audit import FALSE_ALARMS
from sfumato.restoration.findings import Audit, Restored, Route
from sfumato.restoration.guess import MANY, best_guess
from sfumato.restoration.judging import DEPENDENCE

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]


def with_zero_weights(found: Audit, original: Microdata, table: Microdata) -> Audit:
    """Return the audit with an alarm of the weight where a weight of zero gives values back; records are in one order.

    The intruder knows why records have none, so he is granted what most of those have whose value is published alike.
    That is an alarm if it gives back two thirds of what the best guess leaves open, by more than the audit's margin and
    by more than luck, in ten records at least.
    """
    weight = table.schema.weight
    if weight is None or found["weight"].alarm:
        return found
    zero = table.weights() == 0
    if not zero.any() or zero.all():
        return found
    tried = [one for aim in aims(original, table, found.near) if (one := _told(aim, zero, weight)) is not None]
    level = FALSE_ALARMS / max(len(tried), 1)
    alarms = [one for one, luck in tried if one.excess > found.margin and luck < level and _depends(one)]
    if not alarms:
        return found
    alarms.sort(key=lambda one: (-one.excess * one.values**0.5, one.variable))
    names = wording.listed(list(dict.fromkeys(one.variable for one in alarms)))
    repair = (
        f"leave out the records whose {weight} is 0, or give them a weight, or suppress {names} in no way that goes "
        "with it: raking leaves a weight of 0 as it is"
    )
    alarm = Route("weight", alarms[0], tuple(alarms), verdict=wording.verdict(alarms[0]), repair=repair)
    routes = tuple(alarm if route.name == "weight" else route for route in found.routes)
    return replace(found, routes=routes, verdict=wording.overall(routes, dict(found.protected)))


def _depends(one: Restored) -> bool:
    return one.excess >= DEPENDENCE * (1 - one.guess)


def _told(aim: Aim, zero: Mask, weight: str) -> tuple[Restored, float] | None:
    """Return what a weight of zero gives back of a variable, and the chance that luck does; None for few values."""
    asked = zero[aim.cells]
    cells = aim.cells[asked]
    if len(cells) < MANY:
        return None
    guess = best_guess(aim)
    right = guess.right[asked].copy()
    exact = aim.right(cells, guess.values[asked])[1]
    guessed = float(right.mean())
    for band in np.unique(aim.band[cells]):
        mine = aim.band[cells] == band
        if np.count_nonzero(mine) >= MANY:
            right[mine], exact[mine] = aim.right(cells[mine], _usual(aim, cells[mine]))
    share = float(right.mean())
    luck = float(bdtrc(right.sum() - 1, len(cells), max(guessed, guess.chance))) if right.any() else 1.0
    told = Restored(
        variable=aim.name,
        level=aim.level,
        evidence=(f"{weight} = 0",),
        values=len(cells),
        restored=share,
        exactly=float(exact.mean()),
        guess=guessed,
        holds=None,
        learnt="the original",
        reading="restores",
        columns=(weight,),
    )
    return told, luck


def _usual(aim: Aim, cells: Rows) -> NDArray[np.int64] | NDArray[np.float64]:
    """Return one answer for all: the most common category, or the median number."""
    true = aim.truth.codes[cells]
    if aim.number:
        return np.full(len(cells), float(np.median(aim.truth.levels[true])))
    return np.full(len(cells), np.bincount(true).argmax())
