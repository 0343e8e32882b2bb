"""The cheapest set of values to suppress in each record, so that k records share what it still shows.

What a record shows is judged by the table as it was given, so every record has a problem of its own and the cheapest
answer is exact: the sets of keys that may stay are tried from the dearest to lose nothing up, for all records at once.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.agreement import matching_sums
from sfumato.kernels.groups import class_sums, classes, first_records

Codes = NDArray[np.integer]
Flags = NDArray[np.bool_]
Rows = NDArray[np.intp]


def cheapest_shown(codes: Codes, k: int, costs: NDArray[np.float64], subsets: int, preference: list[int]) -> Flags:
    """Return which values each record may go on showing (n x q), so that the others cost least.

    A record may show a set of keys when at least ``k`` records agree with it in every ``subsets`` of those keys, or in
    all of them where they are fewer; -1 matches any value. ``costs`` are the costs of a value of each key; of sets that
    cost the same, the one with the lowest sum of ``preference`` is suppressed.
    """
    class_of, sizes = classes(codes)
    rows = np.asfortranarray(codes[first_records(class_of)])
    lacking = rows < 0
    shown = np.ones(rows.shape, dtype=bool)
    open_rows = np.arange(len(rows))
    unsafe = _Unsafe(rows, sizes, k, subsets)
    for kept in _sets_to_show(costs, preference):
        # a missing value costs nothing to leave missing, so a set without it was tried before with it
        asked = open_rows[~lacking[open_rows][:, ~kept].any(axis=1)]
        done = asked[unsafe.free(asked, kept)]
        shown[np.ix_(done, ~kept)] = False
        open_rows = np.setdiff1d(open_rows, done, assume_unique=True)
        if not open_rows.size:
            break
    shown |= lacking
    return shown[class_of]


class _Unsafe:
    """Which records share a set of keys with fewer than k records."""

    def __init__(self, rows: Codes, sizes: NDArray[np.int64], k: int, subsets: int) -> None:
        self.rows, self.sizes, self.k, self.subsets = rows, sizes, k, subsets
        self.known: dict[tuple[int, ...], Flags] = {}

    def free(self, asked: Rows, kept: Flags) -> Flags:
        """Return which of the records asked about have no unsafe combination among the keys kept."""
        keys = tuple(np.flatnonzero(kept).tolist())
        if len(keys) < self.subsets or self.subsets == self.rows.shape[1]:
            return self._frequency(asked, keys) >= self.k
        good = np.ones(len(asked), dtype=bool)
        for combination in combinations(keys, self.subsets):
            if combination not in self.known:
                every = np.arange(len(self.rows))
                self.known[combination] = self._frequency(every, combination) >= self.k
            good &= self.known[combination][asked]
        return good

    def _frequency(self, asked: Rows, keys: tuple[int, ...]) -> NDArray[np.float64]:
        """Return how many records agree with those asked about in these keys."""
        if not asked.size:
            return np.empty(0)
        part = self.rows[:, list(keys)]
        class_of, number = classes(part)
        sums = class_sums(class_of, self.sizes, len(number))
        if not part.size or part.min() >= 0:
            return sums[class_of[asked]]
        there = part[first_records(class_of)]
        wanted, inverse = np.unique(class_of[asked], return_inverse=True)
        return matching_sums(there[wanted], there, sums)[inverse]


def _sets_to_show(costs: NDArray[np.float64], preference: list[int]) -> Iterator[Flags]:
    """Yield every set of keys, from the one whose complement costs nothing to the empty one."""
    keys = range(len(costs))
    sets = [lost for number in range(len(costs) + 1) for lost in combinations(keys, number)]
    # rounded, so that sums of the same costs in another order are the same
    sets.sort(key=lambda lost: (round(float(sum(costs[v] for v in lost)), 9), sum(preference[v] for v in lost)))
    for lost in sets:
        kept = np.ones(len(costs), dtype=bool)
        kept[list(lost)] = False
        yield kept
