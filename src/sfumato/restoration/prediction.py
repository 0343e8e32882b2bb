"""What evidence says of a record: the values of the others that share it, or else of its neighbours in its order.

A record never helps to predict itself. Where a relation is taken as known from the original, neither do the members of
its own household, because their values are protected as well: of each household one record teaches.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.restoration.aims import Aim, Values

Integers = NDArray[np.int64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Evidence:
    """A column of the file as codes from 0: in the order of its values where they have one.

    ``shown`` names the columns it is made of, or says how it is made of ``parts``. Records with no value have a code of
    their own, the first; ``blank`` tells which these are, of several columns the records without a value of some.
    """

    shown: tuple[str, ...]
    codes: Integers
    ordered: bool
    parts: tuple[str, ...] = ()
    blank: NDArray[np.bool_] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it is made of."""
        return self.parts or self.shown

    @property
    def number(self) -> int:
        """How many different values there may be."""
        return int(self.codes.max(initial=0)) + 1

    def shows(self, rows: Rows) -> NDArray[np.bool_]:
        """Tell which of these records have a value."""
        return np.ones(len(rows), dtype=bool) if self.blank is None else ~self.blank[rows]

    def part(self, rows: Rows) -> "Evidence":
        """Return the evidence for some of the records."""
        if len(rows) == len(self.codes):
            return self
        blank = None if self.blank is None else self.blank[rows]
        return Evidence(self.shown, self.codes[rows], self.ordered, self.parts, blank)


@dataclass(frozen=True, eq=False)
class Lesson:
    """The records that teach, sorted as the evidence needs them: their values, and each record's own teacher."""

    values: Values
    learners: Rows
    own: Rows  # of each record of the file, the record that must not teach it


def lesson_of(aim: Aim, units: Integers | None) -> Lesson:
    """Return who teaches: the published values, or, where none are published, one record of each household."""
    values = aim.lesson
    learners = np.flatnonzero(values.present)
    own = np.arange(len(values.codes))
    if units is not None and aim.hidden is not None:
        hidden = np.flatnonzero(aim.hidden)
        homes, first = np.unique(units[hidden], return_index=True)
        own[hidden] = hidden[first][np.searchsorted(homes, units[hidden])]
        learners = np.setdiff1d(learners, np.setdiff1d(hidden, hidden[first]))
    if units is not None and not aim.taught:
        first = np.full(int(units.max(initial=-1)) + 1, -1, dtype=np.intp)
        first[units[learners][::-1]] = learners[::-1]
        learners = np.sort(first[first >= 0])
        own = first[units]
    return Lesson(values, learners, own)


def predicted(
    aim: Aim,
    evidence: Evidence,
    lesson: Lesson,
    rows: Rows,
    *,
    banded: bool,
    ties: bool = True,
    apart: int = 0,
) -> NDArray[Any]:
    """Return what the evidence says for these rows: codes or numbers, -1 or NaN where it says nothing.

    Records that share the evidence answer with their most common value, of numbers with the median. If there are none
    and the evidence has an order, the next ones on both sides do. ``banded``: only records of the same band are asked;
    without ``ties`` only the next ones; ``apart`` is how many records are passed over on each side.
    """
    width = evidence.number
    keys = evidence.codes + aim.band * width if banded else evidence.codes
    values = lesson.values
    span = max(len(values.levels), 1)
    teaching = keys[lesson.learners]
    taught = values.codes[lesson.learners]
    order = np.argsort(teaching * span + taught)  # ties are equal in key and value, so their order does not matter
    sorted_keys, sorted_values, who = teaching[order], taught[order], lesson.learners[order]
    asked = keys[rows]
    low = np.searchsorted(sorted_keys, asked, side="left")
    high = np.searchsorted(sorted_keys, asked, side="right")
    place = np.full(len(values.codes) + 1, -1, dtype=np.int64)
    place[who] = np.arange(len(who))
    own = place[lesson.own[rows]]
    inside = (own >= low) & (own < high)
    others = high - low - inside
    if not ties:
        others = np.zeros_like(others)
    if aim.number:
        found = _median(values.levels, sorted_values, low, others, np.where(inside, own, -1))
    else:
        found = _mode(sorted_keys, sorted_values, low, others, np.where(inside, own, -1))
    if evidence.ordered:
        alone = np.flatnonzero(others == 0)
        before = _step(low[alone] - 1 - apart, own[alone], -1)
        after = _step(high[alone] + apart, own[alone], 1)
        bands = sorted_keys // width
        sides = [
            np.where(_inside(bands, at, asked[alone] // width), sorted_values[np.clip(at, 0, len(who) - 1)], -1)
            if len(who)
            else np.full(len(alone), -1)
            for at in (before, after)
        ]
        found[alone] = _between(values.levels, *sides) if aim.number else np.where(sides[0] >= 0, *sides)
    return found


def _median(levels: NDArray[Any], values: Integers, low: Integers, others: Integers, own: Integers) -> NDArray[Any]:
    """Return the median of each run of sorted values without one's own; the lower of two, for it is a value."""
    found = np.full(len(low), np.nan)
    some = np.flatnonzero(others > 0)
    at = low[some] + (others[some] - 1) // 2
    at += (own[some] >= 0) & (at >= own[some])
    found[some] = levels[values[at]]
    return found


def _mode(keys: Integers, values: Integers, low: Integers, others: Integers, own: Integers) -> Integers:
    """Return the most common value of each run of equal keys without one's own; the lower code where two are."""
    found = np.full(len(low), -1, dtype=np.int64)
    some = np.flatnonzero(others > 0)
    if not some.size:
        return found
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]) | (values[1:] != values[:-1])
    start = np.flatnonzero(new)
    counts = np.diff(np.append(start, len(keys)))
    group = np.cumsum(np.concatenate([[True], keys[1:] != keys[:-1]])) - 1
    of_group, of_value = group[start], values[start]
    best = np.lexsort((of_value, -counts, of_group))
    first = np.searchsorted(of_group[best], np.arange(group[-1] + 1))
    last = np.append(first[1:], len(best))
    mine = np.where(own[some] >= 0, values[np.maximum(own[some], 0)], -1)
    at = first[group[low[some]]]
    two = np.minimum(at + 1, len(best) - 1)
    has_two = at + 1 < last[group[low[some]]]
    one, other = best[at], best[two]
    count_one = counts[one] - (of_value[one] == mine)
    count_two = np.where(has_two, counts[other] - (of_value[other] == mine), 0)
    second = (count_two > count_one) | ((count_two == count_one) & has_two & (of_value[other] < of_value[one]))
    found[some] = np.where(second, of_value[other], of_value[one])
    return found


def _step(at: Integers, own: Integers, way: int) -> Integers:
    """Pass over one's own teacher."""
    return np.asarray(at + way * (at == own))


def _inside(bands: Integers, at: Integers, wanted: Integers) -> NDArray[np.bool_]:
    there = (at >= 0) & (at < len(bands))
    return np.asarray(there & (bands[np.clip(at, 0, len(bands) - 1)] == wanted))


def _between(levels: NDArray[Any], before: Integers, after: Integers) -> NDArray[Any]:
    """Return the mean of the two neighbours, or the one there is."""
    left, right = (np.where(side >= 0, levels[np.maximum(side, 0)], np.nan) for side in (before, after))
    both = (left + right) / 2
    return np.where(np.isnan(both), np.where(np.isnan(left), right, left), both)
