"""The best guess without the rest of the file: from a record's own published value of that variable alone.

It grants the distribution of the protected values. If a method blanks all records of one region, or changes a variable
of two values, that distribution is the answer, and a copy of the variable tells no more than it does. Beside it stands
the guess of an intruder who has the file alone: he knows neither which values were changed nor what the blanks are. He
is granted only what is published, and is judged over all records that he has to decide on.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from sfumato.auditing.aims import Aim, near_each

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

MIN_PROTECTED_VALUES = 30  # protected values from which on the share guessed right is known well enough
MIN_IN_BAND = 10  # protected values in a band from which on the intruder is granted their distribution


@dataclass(frozen=True, eq=False)
class Guess:
    """What is guessed for each protected value, and whether that is right.

    ``chance`` is the share of all records that one value for all would get right: where protected values are few, the
    least that luck must be granted.
    """

    values: NDArray[Any]
    right: Mask
    chance: float

    @property
    def share(self) -> float:
        """The share of protected values guessed right."""
        return float(self.right.mean())

    def surprise(self, right: float, values: int) -> float:
        """Return the probability that luck gets so many of so many values right."""
        p = max(self.share, self.chance) if len(self.right) < MIN_PROTECTED_VALUES else self.share
        return float(bdtrc(right - 1, values, p)) if right > 0 else 1.0


def best_guess(aim: Aim) -> Guess:
    """Return the best guess: within each band the value that most protected values have.

    The intruder is granted the distribution of the protected values of a band that holds ``MIN_IN_BAND`` or more of
    them; in smaller ones he takes what is most common in the file. Of a number he may also take the published one as it
    is; if it was published as a narrow class, such as a month, that class itself tells it nearly: he is granted the
    median of the others in it, as the evidence is.
    """
    return _number(aim) if aim.ranks is not None else _category(aim)


def _category(aim: Aim) -> Guess:
    true, band = aim.truth.codes[aim.cells], aim.band[aim.cells]
    number = len(aim.truth.levels)
    common = modes(band * number + true, number)
    counts = dict(zip(*np.unique(band, return_counts=True), strict=True))
    lesson = aim.lesson
    there = np.flatnonzero(lesson.present)
    bands = np.zeros(len(there), dtype=np.int64) if aim.taught else aim.band[there]
    usual = modes(bands * number + lesson.codes[there], number)
    overall = int(np.bincount(lesson.codes[there]).argmax()) if there.size else -1
    choice = {
        one: common[one] if counts[one] >= MIN_IN_BAND else usual.get(0 if aim.taught else one, overall)
        for one in counts
    }
    values = np.array([choice[one] for one in band.tolist()], dtype=np.int64)
    shares = np.bincount(aim.truth.codes[aim.truth.present])
    return Guess(values, values == true, float(shares.max() / shares.sum()))


def exact_guess(aim: Aim) -> Mask:
    """Tell which protected numbers are met exactly by the most common one of their band, if others share it.

    >>> from sfumato.auditing.aims import numbers
    >>> ages = numbers(np.array([30.0, 30.0, 34.0, 41.0]))
    >>> band, cells = np.array([3, 3, 3, 4]), np.arange(4)
    >>> exact_guess(Aim("age", "in full", True, ages, ages, band, cells, taught=False))
    array([ True,  True, False, False])
    """
    number = len(aim.truth.levels)
    keys = aim.band[aim.cells] * number + aim.truth.codes[aim.cells]
    common = modes(keys, number)
    _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    chosen = np.array([common[one] for one in (keys // number).tolist()], dtype=np.int64)
    return np.asarray((chosen == keys % number) & (counts[place] > 1))


def modes(keys: NDArray[np.int64], number: int) -> dict[int, int]:
    """Return the most common value of each group, the lower code where two are; keys are group * number + value."""
    cells, counts = np.unique(keys, return_counts=True)
    order = np.lexsort((cells, -counts))
    groups, first = np.unique(cells[order] // number, return_index=True)
    return dict(zip(groups.tolist(), (cells[order][first] % number).tolist(), strict=True))


def _number(aim: Aim) -> Guess:
    assert aim.ranks is not None
    true = aim.truth.levels[aim.truth.codes[aim.cells]]
    band, rank = aim.band[aim.cells], aim.ranks.place(true)
    values, right = _nearest(band, rank, true, aim.ranks.distance)
    if aim.level == "in full":
        values, right = _in_small_classes(band, rank, true, aim.ranks.distance, values, right)
    if aim.shown is not None:
        own = aim.shown[aim.cells]
        as_shown = aim.right(aim.cells, own)[0]
        if as_shown.sum() > right.sum():
            values, right = np.where(np.isnan(own), values, own), as_shown
    return Guess(values, right, aim.ranks.likely(aim.ranks.place(aim.ranks.values)))


def _in_small_classes(
    band: NDArray[np.int64],
    rank: NDArray[np.float64],
    true: NDArray[np.float64],
    distance: float,
    values: NDArray[np.float64],
    right: Mask,
) -> tuple[NDArray[np.float64], Mask]:
    """Return the guess with the (lower) median of the others for values in classes of two to ``MIN_IN_BAND``."""
    order = np.lexsort((rank, band))
    _, starts, sizes = np.unique(band[order], return_index=True, return_counts=True)
    small = np.repeat((sizes > 1) & (sizes < MIN_IN_BAND), sizes)
    place = np.arange(len(order))
    middle = np.repeat(starts + (sizes - 2) // 2, sizes)
    others = np.where(middle >= place, middle + 1, middle)[small]
    mine = order[small]
    taken = order[others]
    values, right = values.copy(), right.copy()
    values[mine] = true[taken]
    right[mine] = np.abs(rank[mine] - rank[taken]) <= distance * (1 + 1e-12)
    return values, right


def _nearest(
    band: NDArray[np.int64], rank: NDArray[np.float64], true: NDArray[np.float64], distance: float
) -> tuple[NDArray[np.float64], Mask]:
    """Return, for each band, the value that is near most of its values, and which values it is near."""
    order = np.lexsort((rank, band))
    numbered = np.unique(band[order], return_inverse=True)[1]
    key = numbered * float(rank.max() + 2 * distance + 2) + rank[order]  # bands lie too far apart to be near
    count = near_each(key, distance)
    starts = np.flatnonzero(np.diff(numbered, prepend=-1))
    sizes = np.diff(np.append(starts, len(key)))
    most = np.flatnonzero(count == np.repeat(np.maximum.reduceat(count, starts), sizes))
    chosen = np.repeat(most[np.unique(numbered[most], return_index=True)[1]], sizes)
    enough = np.repeat(sizes >= MIN_IN_BAND, sizes)
    values, right = np.empty(len(key)), np.empty(len(key), dtype=bool)
    values[order] = np.where(enough, true[order][chosen], float(np.median(true)))
    right[order] = enough & (np.abs(key - key[chosen]) <= distance * (1 + 1e-12))
    return values, right


def unaware_guess(aim: Aim, granted: Guess) -> Floats | None:
    """Return for each record how likely the guess is right, NaN where there is nothing to decide; None if not asked.

    Judged are blanks and, of a category of which values were changed, all records that show one. A blank is guessed by
    the published distribution: the most common value or a draw, whichever is right more often. A published category is
    guessed by what it stands for most often; if fewer than ``MIN_IN_BAND`` records show it, by itself or by the most
    common one. Of values that were coarsened or removed the distribution is granted, because their relations are as
    well.
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
    many = (np.bincount(told) >= MIN_IN_BAND)[told]
    guess = np.array([stands_for[code] for code in told.tolist()])
    few = _better((true == told)[~many].astype(np.float64), (true == np.bincount(told).argmax())[~many].astype(float))
    right: Floats = (guess == true).astype(np.float64)
    right[~many] = few
    return right


def _better(one: Floats, other: Floats) -> Floats:
    return one if one.sum() >= other.sum() else other
