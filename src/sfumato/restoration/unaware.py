"""The guess of an intruder who has the file alone: he knows neither which values were changed nor what the blanks are.

The best guess grants the distribution of the protected values. If a method blanks all records of one region, or changes
a variable of two values, that distribution is the answer, and a copy of the variable tells no more than it does. This
guess grants only what is published, and is judged over all records that an intruder has to decide on.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.restoration.aims import Aim
from sfumato.restoration.guess import MANY, Guess, modes
from sfumato.restoration.ranks import near_each

Floats = NDArray[np.float64]


def unaware_guess(aim: Aim, granted: Guess) -> Floats | None:
    """Return for each record how likely the guess is right, NaN where there is nothing to decide; None if not asked.

    Judged are blanks and, of a category of which values were changed, all records that show one. A blank is guessed by
    the published distribution: the most common value or a draw, whichever is right more often. A published category is
    guessed by what it stands for most often; if fewer than ``MANY`` records show it, by itself or by the most common
    one. Of values that were coarsened or removed the distribution is granted, because their relations are as well.
    """
    if aim.level != "as published":
        return None
    likely = np.full(len(aim.band), np.nan)
    likely[aim.cells] = granted.right
    blanks = aim.cells[~aim.told.present[aim.cells]]
    if aim.taught and blanks.size:
        likely[blanks] = _number_blanks(aim, blanks) if aim.ranks is not None else _category_blanks(aim, blanks)
    if not aim.number and len(blanks) < len(aim.cells):
        shown = np.flatnonzero(aim.truth.present & aim.told.present)
        likely[shown] = _published(aim, shown)
    return likely


def _category_blanks(aim: Aim, blanks: NDArray[np.intp]) -> Floats:
    known = aim.lesson.codes[aim.lesson.present]
    true = aim.truth.codes[blanks]
    shares = np.bincount(known, minlength=len(aim.truth.levels)) / max(len(known), 1)
    return _better((true == shares.argmax()).astype(np.float64), shares[true])


def _number_blanks(aim: Aim, blanks: NDArray[np.intp]) -> Floats:
    assert aim.ranks is not None
    known = np.sort(aim.ranks.place(aim.told.levels[aim.told.codes[aim.told.present]]))
    true = aim.level_ranks[aim.truth.codes[blanks]]
    slack = aim.ranks.distance * (1 + 1e-12)
    near = np.searchsorted(known, true + slack, side="right") - np.searchsorted(known, true - slack, side="left")
    common = known[near_each(known, aim.ranks.distance).argmax()]
    return _better((np.abs(true - common) <= slack).astype(np.float64), near / len(known))


def _published(aim: Aim, shown: NDArray[np.intp]) -> Floats:
    true, told = aim.truth.codes[shown], aim.told.codes[shown]
    number = len(aim.truth.levels)
    stands_for = modes(told * number + true, number)
    many = (np.bincount(told) >= MANY)[told]
    guess = np.array([stands_for[code] for code in told.tolist()])
    few = _better((true == told)[~many].astype(np.float64), (true == np.bincount(told).argmax())[~many].astype(float))
    right: Floats = (guess == true).astype(np.float64)
    right[~many] = few
    return right


def _better(one: Floats, other: Floats) -> Floats:
    return one if one.sum() >= other.sum() else other
