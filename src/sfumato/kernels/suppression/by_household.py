"""The cheapest values to suppress where the members of a household lose what they share together.

A shared value that goes for one member goes for all, and costs as many values as members have it. Which shared keys a
household loses is tried in turn; given those, each member has a problem of its own (:class:`Search`), so the cheapest
answer of each household is exact. With limits on how many values of a key may go, households give way for which another
way costs least more for each value spared: the limits hold, and the answer is usually near the cheapest.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.suppression.by_record import Search

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SAME = 1e-9  # costs that differ by less are the same


class Households:
    """The households of a search: the unit of each record, and which keys its members share."""

    def __init__(self, search: Search, unit: Integers, shared: Flags) -> None:
        self.search, self.unit, self.shared = search, unit, shared
        self.number = int(unit.max(initial=-1)) + 1
        present = ~search.lacking[search.class_of]
        self.present = np.column_stack([np.bincount(unit, column, self.number) for column in present.T])

    def records(self, homes: Integers) -> NDArray[np.intp]:
        """Return the records of some households, which stand in ascending order."""
        wanted = np.zeros(self.number, dtype=bool)
        wanted[homes] = True
        return np.flatnonzero(wanted[self.unit])

    def cheapest(self, homes: Integers, spared: Flags) -> tuple[Flags, Floats]:
        """Return what the records of these households show, none of the spared keys blanked, and each one's cost.

        The records come in the order of the table; the cost of a household is infinite where nothing will do.
        """
        rows = self.records(homes)
        home_of = np.searchsorted(homes, self.unit[rows])
        shown = np.ones((len(rows), len(spared)), dtype=bool)
        cost, liking = np.full(len(homes), np.inf), np.full(len(homes), np.inf)
        for lost in self._shared_to_lose(spared):
            price = self.present[homes][:, lost] @ self.search.costs[lost]
            asked = np.flatnonzero(price <= cost + SAME)
            if not asked.size:
                continue
            where = np.zeros(len(homes), dtype=bool)
            where[asked] = True
            members = np.flatnonzero(where[home_of])
            classes, place = np.unique(self.search.class_of[rows[members]], return_inverse=True)
            found, own, liked = self.search.given(classes, lost, self.shared, spared)
            total = price + np.bincount(home_of[members], own[place], len(homes))
            taste = self.present[homes][:, lost] @ np.asarray(self.search.preference, dtype=np.float64)[lost]
            taste = taste + np.bincount(home_of[members], liked[place], len(homes))
            nearer = (total < cost - SAME) | ((total <= cost + SAME) & (taste < liking))
            better = where & np.isfinite(total) & nearer
            taken = members[better[home_of[members]]]
            shown[taken] = found[np.searchsorted(classes, self.search.class_of[rows[taken]])]
            cost[better], liking[better] = total[better], taste[better]
        return shown, cost

    def _shared_to_lose(self, spared: Flags) -> list[Flags]:
        """Return the sets of shared keys that may go, the cheapest first."""
        keys = np.flatnonzero(self.shared & ~spared)
        sets = [lost for number in range(len(keys) + 1) for lost in combinations(keys.tolist(), number)]
        sets.sort(key=lambda lost: round(float(sum(self.search.costs[v] for v in lost)), 9))
        found = []
        for lost in sets:
            flags = np.zeros(len(spared), dtype=bool)
            flags[list(lost)] = True
            found.append(flags)
        return found


def limited_by_household(homes: Households, limits: Mapping[int, int]) -> tuple[Flags, dict[int | None, int]]:
    """Return what each record shows with no more values of the limited keys suppressed, and where that failed."""
    search, keys = homes.search, len(homes.search.costs)
    everyone = np.arange(homes.number)
    none_left = np.array([limits.get(key, 1) <= 0 for key in range(keys)])
    shown, cost = homes.cheapest(everyone, none_left)
    hopeless = np.isinf(cost)
    if hopeless.any():
        freely = homes.cheapest(np.flatnonzero(hopeless), np.zeros(keys, dtype=bool))[1]
        members = np.bincount(homes.unit)[hopeless]
        which: int | None = int(none_left.argmax()) if np.isfinite(freely).all() else None
        blocked = np.isfinite(freely) if which is not None else np.isinf(freely)
        return shown, {which: int(members[blocked].sum())}
    spared = np.tile(none_left, (homes.number, 1))
    lacking = search.lacking[search.class_of]
    while True:
        lost = (~(shown | lacking)).sum(axis=0)
        over = [key for key, most in limits.items() if lost[key] > most]
        if not over:
            return shown | lacking, {}
        key = max(over, key=lambda one: int(lost[one]) - limits[one])
        full = np.array([lost[other] >= limits.get(other, len(shown)) for other in range(keys)])
        failed = _made_way(homes, shown, cost, spared, key, full, int(lost[key]) - limits[key])
        if failed:
            return shown | lacking, {key: failed}


def _made_way(homes: Households, shown: Flags, cost: Floats, spared: Flags, key: int, full: Flags, excess: int) -> int:
    """Let households lose other values than those of a key until enough are spared; return how many values are not."""
    lacking = homes.search.lacking[homes.search.class_of]
    gone = np.bincount(homes.unit, ~(shown | lacking)[:, key], homes.number)
    users = np.flatnonzero(gone > 0)
    loses = np.zeros((homes.number, shown.shape[1]), dtype=bool)
    for other in range(shown.shape[1]):
        loses[homes.unit[~(shown | lacking)[:, other]], other] = True
    # another value that may go no more either is no way out, unless the household loses it already
    without = spared[users] | (full & ~loses[users])
    without[:, key] = True
    patterns, of_pattern = np.unique(without, axis=0, return_inverse=True)
    other_shown, other_cost = shown.copy(), np.empty(len(users))
    for number, pattern in enumerate(patterns):
        there = np.flatnonzero(of_pattern.ravel() == number)
        found, price = homes.cheapest(users[there], pattern)
        other_shown[homes.records(users[there])] = found
        other_cost[there] = price
    order = np.argsort((other_cost - cost[users]) / gone[users], kind="stable")
    enough = int(np.searchsorted(np.cumsum(gone[users][order]), excess)) + 1
    moved = order[:enough]
    stuck = np.isinf(other_cost[moved])
    if stuck.any():
        return int(gone[users][moved[stuck]].sum())
    rows = homes.records(np.sort(users[moved]))
    shown[rows] = other_shown[rows]
    cost[users[moved]] = other_cost[moved]
    spared[users[moved], key] = True
    return 0
