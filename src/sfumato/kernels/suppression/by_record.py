"""The cheapest set of values to suppress in each record, so that enough records share what it still shows.

What a record shows is judged by the table as it was given, so every record has a problem of its own and the cheapest
answer is exact: the sets of keys that may stay are tried from the dearest to lose nothing up, for all records at once.
"""

from collections.abc import Iterator, Sequence
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

CLOSE = 1e-6  # parts of a household add up to one but for rounding
_KEPT = 2**27  # bytes of answers that are kept, because several sets of keys ask for them


class Shared(NamedTuple):
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


class Standing(NamedTuple):
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
        sets: Sequence[Shared],
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

    def _judge(self, one: Shared, bound: RiskBound | None, part: Floats | None) -> "_Judge":
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
        self, rows: Codes, sizes: NDArray[np.int64] | Floats, shared: Shared, units: Floats | None, risk: float | None
    ) -> None:
        self.rows, self.sizes, self.units, self.risk = rows, sizes, units, risk
        self.k, self.subsets = shared.k, shared.subsets
        self.mine = np.zeros(rows.shape[1], dtype=bool)
        self.mine[list(shared.keys)] = True
        number = len(shared.keys)
        # if all keys are in the set, no part of it is asked for twice
        keeps = number < rows.shape[1] and 2**number * len(rows) <= _KEPT
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
        enough = frequency >= self.k - CLOSE
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
