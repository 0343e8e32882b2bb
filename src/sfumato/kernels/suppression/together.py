"""Suppression for several sets of keys at once, with at most so many values of a key suppressed.

Sets that have no key in common are problems of their own. Those that have are solved together, exactly, as long as
their keys are few; else one after the other. With a limit on the values of one key the cheapest answer is exact too:
of the records that would lose such a value those give way for which another way costs least more. With limits on
several keys that is done key by key, which need not be the cheapest way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.suppression.by_household import Households, limited_by_household
from sfumato.kernels.suppression.by_record import Homes, RiskBound, Search, Shared, Standing

Codes = NDArray[np.integer]
Flags = NDArray[np.bool_]

MOST_KEYS = 16  # the sets of keys that may stay double with each key


class NeedsRecords(Exception):  # noqa: N818 - no error: the caller asks again with the records
    """Raised if rows that stand for several records lose values of which only so many may go.

    Which of the records give way is decided one by one. ``rows`` are the rows that lose a value.
    """

    def __init__(self, rows: NDArray[np.intp]) -> None:
        super().__init__("which records give way is decided one by one")
        self.rows = rows


@dataclass(frozen=True, eq=False)
class Answer:
    """What each record goes on showing (n x q).

    ``stuck`` counts, by the place of the key whose limit they break, the records that cannot be protected otherwise;
    None stands for no limit: not even all values suppressed would do. ``exact`` tells that sets were solved together.
    """

    shown: Flags
    stuck: Mapping[int | None, int]
    exact: bool = True


def cheapest_shown(
    codes: Codes,
    sets: Sequence[Shared],
    costs: NDArray[np.float64],
    preference: Sequence[int],
    bound: RiskBound | None = None,
    limits: Mapping[int, int] | None = None,
    homes: Homes | None = None,
    standing: Standing | None = None,
) -> Answer:
    """Return which values each record may go on showing, so that the others cost least; see :class:`Search`.

    ``limits`` are the most values of a key, by its place, that may be suppressed. The members of ``homes`` lose what
    they share together. ``standing`` says how many records each row of ``codes`` stands for, if not one; with limits it
    may turn out that the records of some rows must be told apart (:class:`NeedsRecords`).
    """
    left = dict(limits or {})
    answer = Answer(np.ones(codes.shape, dtype=bool), {})
    for several in _connected(sets):
        keys = sorted({key for one in several for key in one.keys})
        # too many to be solved together: the widest sets first, each on what those before it left
        rounds = [several] if len(keys) <= MOST_KEYS else [[one] for one in sorted(several, key=_widest)]
        for asked in rounds:
            answer = _with(answer, codes, asked, costs, preference, bound, left, homes, standing)
        answer = replace(answer, exact=answer.exact and len(rounds) == 1)
    return answer


def _with(
    answer: Answer,
    codes: Codes,
    sets: Sequence[Shared],
    costs: NDArray[np.float64],
    preference: Sequence[int],
    bound: RiskBound | None,
    limits: dict[int, int],
    homes: Homes | None,
    standing: Standing | None,
) -> Answer:
    """Return the answer with what these sets ask for as well; what it takes is taken off the limits."""
    keys = sorted({key for one in sets for key in one.keys})
    place = {key: number for number, key in enumerate(keys)}
    here = [one._replace(keys=tuple(place[key] for key in one.keys)) for one in sets]
    part = np.where(answer.shown, codes, -1)[:, keys]
    living = None if homes is None else Homes(homes.unit, homes.shared[keys])
    counts = None if standing is None else standing.counts
    search = Search(part, here, costs[keys], [preference[key] for key in keys], bound, living, counts)
    here_limits = {place[key]: most for key, most in limits.items() if key in place}
    if living is None or not living.shared.any():
        found, stuck = _limited(search, here_limits, standing or _single(len(codes)))
    else:
        found, stuck = limited_by_household(Households(search, *living), here_limits)
    shown = answer.shown.copy()
    shown[:, keys] &= found
    for key in place.keys() & limits.keys():
        gone = ~found[:, place[key]]
        limits[key] -= int(gone.sum() if counts is None else counts[gone].sum())
    told: dict[int | None, int] = dict(answer.stuck)
    for number, records in stuck.items():
        which = None if number is None else keys[number]
        told[which] = told.get(which, 0) + records
    return Answer(shown, told, answer.exact)


def _widest(one: Shared) -> tuple[int, int]:
    return -len(one.keys), -one.k


def _connected(sets: Sequence[Shared]) -> list[list[Shared]]:
    """Part the sets so that two which have a key in common are in one part."""
    parts: list[list[Shared]] = []
    for one in sets:
        touching = [part for part in parts if any(set(one.keys) & set(other.keys) for other in part)]
        parts = [part for part in parts if part not in touching]
        parts.append([*(other for part in touching for other in part), one])
    return parts


def _single(records: int) -> Standing:
    return Standing(np.ones(records, dtype=np.int64), np.ones(records, dtype=bool))


def _limited(search: Search, limits: Mapping[int, int], standing: Standing) -> tuple[Flags, dict[int | None, int]]:
    """Return what each record shows with no more values of the limited keys suppressed, and where that failed."""
    counts, told = standing
    keys = search.rows.shape[1]
    none_left = np.array([limits.get(key, 1) <= 0 for key in range(keys)])
    rows, prices = search.cheapest(np.arange(len(search.rows)), none_left)
    class_of = search.class_of
    stuck: dict[int | None, int] = {}
    if np.isinf(prices).any():
        freely = search.cheapest(np.flatnonzero(np.isinf(prices)), np.zeros(keys, dtype=bool))[1]
        hopeless = np.isinf(prices)
        hopeless[hopeless] = np.isinf(freely)
        if hopeless.any():
            stuck[None] = int(counts[hopeless[class_of]].sum())
        blocked = np.isinf(prices) & ~hopeless
        if blocked.any():
            stuck[int(none_left.argmax())] = int(counts[blocked[class_of]].sum())
        return rows[class_of], stuck
    shown, cost = rows[class_of], prices[class_of]
    if not limits:
        return shown, stuck
    spared = np.tile(none_left, (len(shown), 1))
    while True:
        lost = counts @ ~shown
        over = [key for key, most in limits.items() if lost[key] > most]
        if not over:
            return shown, stuck
        losing = ~shown.all(axis=1)
        if not told[losing].all():
            raise NeedsRecords(np.flatnonzero(losing))
        key = max(over, key=lambda one: int(lost[one]) - limits[one])
        full = np.array([lost[other] >= limits.get(other, np.inf) for other in range(keys)])
        users = np.flatnonzero(~shown[:, key])
        # another value that may go no more either is no way out, unless the record loses it already
        without = spared[users] | (full & shown[users])
        without[:, key] = True
        other_shown, other_cost = _again(search, class_of[users], without)
        order = np.argsort(other_cost - cost[users], kind="stable")[: int(lost[key]) - limits[key]]
        if np.isinf(other_cost[order]).any():
            stuck[key] = int(np.isinf(other_cost[order]).sum())
            return shown, stuck
        moved = users[order]
        shown[moved], cost[moved] = other_shown[order], other_cost[order]
        spared[moved, key] = True


def _again(search: Search, rows: NDArray[np.int64], spared: Flags) -> tuple[Flags, NDArray[np.float64]]:
    """Return what is shown and its cost for rows that each have keys of their own to spare."""
    shown, cost = np.empty(spared.shape, dtype=bool), np.empty(len(rows))
    patterns, pattern_of = np.unique(spared, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        there = np.flatnonzero(pattern_of.ravel() == number)
        different, place = np.unique(rows[there], return_inverse=True)
        found, price = search.cheapest(different, pattern)
        shown[there], cost[there] = found[place], price[place]
    return shown, cost
