"""Which values to suppress so that k records share the rest: by record, exactly, or in classes, by local search.

The cheapest set of values to suppress in each record, so that enough records share what it still shows. What a record
shows is judged by the table as it was given, so every record has a problem of its own and the cheapest answer is exact:
the sets of keys that may stay are tried from the dearest to lose nothing up, for all records at once.

The cheapest values to suppress where the members of a household lose what they share together. A shared value that goes
for one member goes for all, and costs as many values as members have it. Which shared keys a household loses is tried
in turn; given those, each member has a problem of its own (:class:`Search`), so the cheapest answer of each household
is exact. With limits on how many values of a key may go, households give way for which another way costs least more for
each value spared: the limits hold, and the answer is usually near the cheapest.

Suppression for several sets of keys at once, with at most so many values of a key suppressed. Sets that have no key in
common are problems of their own. Those that have are solved together, exactly, as long as their keys are few; else one
after the other. With a limit on the values of one key the cheapest answer is exact too: of the records that would lose
such a value those give way for which another way costs least more. With limits on several keys that is done key by key,
which need not be the cheapest way.

Suppression until every record shares all it publishes, missing values included, with k records: classes of k. Each
record chooses which of its keys to suppress, one of 2^q *masks*; what it then publishes is a *row*, and every row that
is published at all must be published by k records or more. Finding the cheapest choice is hard (Meyerson and Williams
2004), so a start by cheapest cost per record helped is improved by local search with small disturbances. The moves are
in ``class_search``, on tables prepared here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.agreement import matching_sums
from sfumato.kernels.expected_inverse import expected_inverse
from sfumato.kernels.groups import class_sums, classes, first_records

Codes = NDArray[np.integer]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Integers = NDArray[np.int64]
Masks = NDArray[np.int64]

TOLERANCE = 1e-6  # parts of a household add up to one but for rounding
MAX_KEPT_BYTES = 2**27  # bytes of answers that are kept, because several sets of keys ask for them
SAME = 1e-9  # costs that differ by less are the same
MAX_KEYS = 16  # the sets of keys that may stay double with each key
MAX_ENTRIES = 2**27  # rows looked up: records times sets of keys; four bytes each, twice
DISTURBANCES = 8_000  # divided by the sets of keys: each costs as much time as there are
_ALIKE = 4  # of identical records, so many times k take part; the others stay as they are


class SharedKeys(NamedTuple):
    """Keys that are known together, by their places, and how many records must agree in every ``subsets`` of them."""

    keys: tuple[int, ...]
    k: int
    subsets: int


class RiskBound(NamedTuple):
    """The largest individual risk a record may have, and the weight of each record."""

    most: float
    weights: Floats


class Homes(NamedTuple):
    """The household of each record, numbered from 0, and which keys, by their places, its members share."""

    unit: NDArray[np.int64]
    shared: Flags


class RowCounts(NamedTuple):
    """How many records each row of the codes stands for, and which rows are single records, in their order."""

    counts: NDArray[np.int64]
    told: Flags


class Search:
    """The search for the cheapest values to suppress; records with the same keys are one row of it.

    A record may show a set of keys when, of each of ``sets``, at least ``k`` records agree with it in every ``subsets``
    of those keys that it shows, or in all of them where they are fewer, and its individual risk there is no more than
    the ``bound``; -1 matches any value. ``costs`` are the costs of a value of each key; of sets that cost the same, the
    one with the lowest sum of ``preference`` is suppressed. The members of ``homes`` who share all keys of a set agree
    with each other whatever happens: of such a set households are counted, not records. ``counts`` says how many
    records each row of ``codes`` stands for, if not one; a weight is then that of all of them.
    """

    def __init__(
        self,
        codes: Codes,
        sets: Sequence[SharedKeys],
        costs: Floats,
        preference: Sequence[int],
        bound: RiskBound | None = None,
        homes: Homes | None = None,
        counts: NDArray[np.int64] | None = None,
    ) -> None:
        self.class_of, sizes = classes(codes)
        self.sizes = sizes if counts is None else class_sums(self.class_of, counts, len(sizes))
        self.rows = np.asfortranarray(codes[first_records(self.class_of)])
        self.lacking = self.rows < 0
        self.costs, self.preference = costs, preference
        part = np.ones(len(codes)) if homes is None else 1 / np.bincount(homes.unit)[homes.unit]
        self.judges = [
            self._judge(one, bound, part if homes and homes.shared[list(one.keys)].all() else None) for one in sets
        ]

    def _judge(self, one: SharedKeys, bound: RiskBound | None, part: Floats | None) -> "_Judge":
        """Return who judges a set of keys; ``part`` is what a record counts, where it is not one."""
        number = len(self.sizes)
        sizes = self.sizes if part is None else class_sums(self.class_of, part, number)
        if bound is None:
            return _Judge(self.rows, sizes, one, None, None)
        weights = bound.weights if part is None else bound.weights * part
        return _Judge(self.rows, sizes, one, class_sums(self.class_of, weights, number), bound.most)

    def cheapest(self, asked: Rows, spared: Flags) -> tuple[Flags, Floats]:
        """Return which values the rows asked about go on showing, none of the spared keys blanked, and the cost.

        The cost is infinite where nothing will do.
        """
        shown = np.ones((len(asked), self.rows.shape[1]), dtype=bool)
        cost = np.full(len(asked), np.inf)
        lacking = self.lacking[asked]
        left = np.arange(len(asked))
        for kept, price in self._sets_to_show():
            if spared[~kept].any():
                continue
            # a missing value costs nothing to leave missing, so a set without it was tried before with it
            tried = left[~lacking[left][:, ~kept].any(axis=1)]
            done = tried
            for judge in self.judges:
                done = done[judge.free(asked[done], kept)]
            shown[np.ix_(done, ~kept)] = False
            cost[done] = price
            left = np.setdiff1d(left, done, assume_unique=True)
            if not left.size:
                break
        return shown | lacking, cost

    def given(self, asked: Rows, lost: Flags, fixed: Flags, spared: Flags) -> tuple[Flags, Floats, Floats]:
        """Return which values rows go on showing that lose some of the fixed keys and no other of these.

        The other two are the cost of what they lose besides, none of it spared, and its sum of ``preference``.
        """
        shown = np.ones((len(asked), self.rows.shape[1]), dtype=bool)
        cost, liked = np.full(len(asked), np.inf), np.zeros(len(asked))
        lacking = self.lacking[asked]
        left = np.arange(len(asked))
        for kept, _ in self._sets_to_show():
            own = ~kept & ~fixed
            if ((~kept & fixed) != lost).any() or spared[~kept].any():
                continue
            tried = left[~lacking[left][:, own].any(axis=1)]
            done = tried
            for judge in self.judges:
                done = done[judge.free(asked[done], kept)]
            shown[np.ix_(done, ~kept)] = False
            cost[done] = round(float(self.costs[own].sum()), 9)
            liked[done] = float(np.asarray(self.preference)[own].sum())
            left = np.setdiff1d(left, done, assume_unique=True)
            if not left.size:
                break
        return shown | lacking, cost, liked

    def _sets_to_show(self) -> Iterator[tuple[Flags, float]]:
        """Yield every set of keys, from the one whose complement costs nothing to the empty one, with that cost."""
        costs = self.costs
        keys = range(len(costs))
        sets = [lost for number in range(len(costs) + 1) for lost in combinations(keys, number)]
        # rounded, so that sums of the same costs in another order are the same
        prices = {lost: round(float(sum(costs[v] for v in lost)), 9) for lost in sets}
        sets.sort(key=lambda lost: (prices[lost], sum(self.preference[v] for v in lost)))
        for lost in sets:
            kept = np.ones(len(costs), dtype=bool)
            kept[list(lost)] = False
            yield kept, prices[lost]


class _Judge:
    """Which rows may show a set of keys, as far as one set of keys that are known together is concerned."""

    def __init__(
        self,
        rows: Codes,
        sizes: NDArray[np.int64] | Floats,
        shared: SharedKeys,
        units: Floats | None,
        risk: float | None,
    ) -> None:
        self.rows, self.sizes, self.units, self.risk = rows, sizes, units, risk
        self.k, self.subsets = shared.k, shared.subsets
        self.mine = np.zeros(rows.shape[1], dtype=bool)
        self.mine[list(shared.keys)] = True
        number = len(shared.keys)
        # if all keys are in the set, no part of it is asked for twice
        keeps = number < rows.shape[1] and 2**number * len(rows) <= MAX_KEPT_BYTES
        self.known: dict[tuple[int, ...], NDArray[np.int8]] | None = {} if keeps or self.subsets < number else None
        self.whole = self.subsets >= number

    def free(self, asked: Rows, kept: Flags) -> Flags:
        """Return which of the rows asked about have no unsafe combination among the keys kept."""
        keys = tuple(np.flatnonzero(kept & self.mine).tolist())
        if self.whole or len(keys) < self.subsets:
            return self._safe(asked, keys)
        good = np.ones(len(asked), dtype=bool)
        for combination in combinations(keys, self.subsets):
            good[good] = self._safe(asked[good], combination)
        return good

    def _safe(self, asked: Rows, keys: tuple[int, ...]) -> Flags:
        """Return which rows enough records agree with in these keys; what was answered before is looked up."""
        if self.known is None:
            return self._counted(asked, keys)
        answers = self.known.setdefault(keys, np.full(len(self.rows), -1, dtype=np.int8))
        new = asked[answers[asked] < 0]
        answers[new] = self._counted(new, keys)
        found: Flags = answers[asked] == 1
        return found

    def _counted(self, asked: Rows, keys: tuple[int, ...]) -> Flags:
        if not asked.size:
            return np.ones(0, dtype=bool)
        part = self.rows[:, list(keys)]
        class_of, number = classes(part)
        rows = None if not part.size or part.min() >= 0 else part[first_records(class_of)]
        frequency = _sums(asked, class_of, class_sums(class_of, self.sizes, len(number)), rows)
        enough = frequency >= self.k - TOLERANCE
        if self.units is None or self.risk is None:
            return enough
        population = _sums(asked, class_of, class_sums(class_of, self.units, len(number)), rows)
        risk = expected_inverse(frequency, np.maximum(population, frequency))
        # a bound such as 1/3 is met by three records, whatever the last digit
        safe: Flags = enough & (risk <= self.risk * (1 + 1e-12))
        return safe


def _sums(asked: Rows, class_of: NDArray[np.int64], sums: Floats, rows: Codes | None) -> Floats:
    """Return the sums over the records that agree with the rows asked about; ``rows`` of each class if any has gaps."""
    if rows is None:
        return sums[class_of[asked]]
    wanted, inverse = np.unique(class_of[asked], return_inverse=True)
    return matching_sums(rows[wanted], rows, sums)[inverse]


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
    sets: Sequence[SharedKeys],
    costs: NDArray[np.float64],
    preference: Sequence[int],
    bound: RiskBound | None = None,
    limits: Mapping[int, int] | None = None,
    homes: Homes | None = None,
    standing: RowCounts | None = None,
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
        rounds = [several] if len(keys) <= MAX_KEYS else [[one] for one in sorted(several, key=_widest)]
        for asked in rounds:
            answer = _with(answer, codes, asked, costs, preference, bound, left, homes, standing)
        answer = replace(answer, exact=answer.exact and len(rounds) == 1)
    return answer


def _with(
    answer: Answer,
    codes: Codes,
    sets: Sequence[SharedKeys],
    costs: NDArray[np.float64],
    preference: Sequence[int],
    bound: RiskBound | None,
    limits: dict[int, int],
    homes: Homes | None,
    standing: RowCounts | None,
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


def _widest(one: SharedKeys) -> tuple[int, int]:
    return -len(one.keys), -one.k


def _connected(sets: Sequence[SharedKeys]) -> list[list[SharedKeys]]:
    """Part the sets so that two which have a key in common are in one part."""
    parts: list[list[SharedKeys]] = []
    for one in sets:
        touching = [part for part in parts if any(set(one.keys) & set(other.keys) for other in part)]
        parts = [part for part in parts if part not in touching]
        parts.append([*(other for part in touching for other in part), one])
    return parts


def _single(records: int) -> RowCounts:
    return RowCounts(np.ones(records, dtype=np.int64), np.ones(records, dtype=bool))


def _limited(search: Search, limits: Mapping[int, int], standing: RowCounts) -> tuple[Flags, dict[int | None, int]]:
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


def taking_part(k: int) -> int:
    """Return how many of identical records take part in the search, the first ones; the others stay as they are."""
    return _ALIKE * k


def cheapest_classes(
    codes: Codes, k: int, costs: NDArray[np.float64], preference: list[int], counts: NDArray[np.int64] | None = None
) -> NDArray[np.bool_]:
    """Return which values each record goes on showing (n x q), so that the others cost little; -1 is a value.

    ``counts`` says how many records each row stands for, if not one: those of a class that take part are rows of their
    own, in the order of the records, and a last row stands for all others.
    """
    n, q = codes.shape
    class_of, rows = classes(codes)
    sizes = rows if counts is None else class_sums(class_of, counts, len(rows))
    if sizes.min() >= k:
        return np.ones(codes.shape, dtype=bool)
    by_class = np.argsort(class_of, kind="stable")
    place = np.empty(n, dtype=np.int64)
    place[by_class] = np.arange(n) - np.repeat(np.cumsum(rows) - rows, rows)
    there = np.flatnonzero(place < taking_part(k))
    apart = sizes[class_of[there]] > taking_part(k)
    masks = np.zeros(n, dtype=np.int64)
    masks[there] = _chosen_masks(codes[there], k, _mask_costs(costs, preference), apart)
    kept: NDArray[np.bool_] = (masks[:, None] >> np.arange(q)) & 1 == 0
    return kept | (codes < 0)


def _mask_costs(costs: NDArray[np.float64], preference: list[int]) -> NDArray[np.float64]:
    """Return the cost of each mask; of masks that cost the same, a millionth less where it is preferred to suppress."""
    ranks = np.argsort(np.argsort(preference, kind="stable"))
    nudged = costs + 1e-6 * costs.min() * ranks / len(costs)
    bits = (np.arange(2 ** len(costs))[:, None] >> np.arange(len(costs))) & 1
    return np.asarray(bits @ nudged)


def _chosen_masks(codes: Codes, k: int, mask_costs: NDArray[np.float64], apart: NDArray[np.bool_]) -> Masks:
    """Return the mask of each record; records ``apart`` have more of their kind that take no part."""
    from sfumato.kernels.suppression import class_search

    q = codes.shape[1]
    missing = ((codes < 0) * (1 << np.arange(q))).sum(axis=1)
    rows, mask_of = _rows(codes, missing)
    tables = class_search.tables(rows, mask_of, mask_costs, missing, k)
    tables.anchored[rows[np.flatnonzero(apart), missing[apart]]] = True
    # suppressing mask m for x records that need it costs k / x times as much where others must join them
    steps = sorted((mask_costs[m] * k / x, -x, m) for m in range(2**q) for x in range(1, k + 1))
    class_search.start(tables, np.array([m for _, _, m in steps]), np.array([-x for _, x, _ in steps]))
    class_search.improve(tables)
    return class_search.disturb(tables, DISTURBANCES // 2**q)


def _rows(codes: Codes, missing: Masks) -> tuple[NDArray[np.int32], Masks]:
    """Number what each record publishes under each mask (n x 2^q, -1 where it shows no such key), mask by mask."""
    n, q = codes.shape
    rows = np.full((n, 2**q), -1, dtype=np.int32)
    mask_of = []
    used = 0
    for mask in range(2**q):
        able = np.flatnonzero(missing & ~mask == 0)  # what is missing stays missing
        if able.size:
            shown = [v for v in range(q) if not mask >> v & 1]
            found, sizes = classes(codes[able][:, shown])
            rows[able, mask] = used + found
            mask_of.append(np.full(len(sizes), mask))
            used += len(sizes)
    return rows, np.concatenate(mask_of)
