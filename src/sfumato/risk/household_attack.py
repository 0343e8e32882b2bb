"""An attack on households: the intruder knows the keys of all members and looks for households of such members.

Two households are alike if they have as many members and these can be paired so that each pair agrees in every key, a
missing value with any. Where no value is missing that means the same members; else it is a question of perfect
matchings, asked of each pair of different households in which every member agrees with somebody.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.units import counted
from sfumato.kernels.agreement import agreeing_pairs
from sfumato.kernels.groups import classes, first_records

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Unit = Literal["record", "household"]  # of which a measure tells how many are found

AT_ONCE = 500  # original households that are compared with all protected ones at a time
BY_SUBSETS = 8  # members up to which pairings are found over all subsets of them


def alike_households(before: Codes, after: Codes, unit: Integers) -> Floats:
    """Return the chance of each household among the protected ones that are alike in the keys of all members.

    ``unit`` numbers the household of each record, the same in both tables. The chance is one over the number of
    households alike if the own is among them, else 0.

    >>> keys, home = np.array([[0], [1], [0], [1], [1], [1]]), np.array([0, 0, 1, 1, 2, 2])
    >>> alike_households(keys, keys, home).tolist()
    [0.5, 0.5, 1.0]
    """
    person, _ = classes(np.concatenate([before, after]))
    rows = np.concatenate([before, after])[first_records(person)]
    known, shown = person[: len(before)], person[len(before) :]
    agreement = _Agreement(rows)
    sizes = np.bincount(unit, minlength=counted(unit))
    chance = np.zeros(len(sizes))
    for size in np.unique(sizes):
        homes = np.flatnonzero(sizes == size)
        mine, theirs = (_members(side, unit, sizes, size) for side in (known, shown))
        chance[homes] = _chances(mine, theirs, agreement)
    return chance


def _members(person: Integers, unit: Integers, sizes: Integers, size: int) -> Integers:
    """Return the members of the households of one size, a row each, in ascending order."""
    records = np.flatnonzero(sizes[unit] == size)
    order = records[np.lexsort((person[records], unit[records]))]
    return person[order].reshape(-1, size)


class _Agreement:
    """Which of some different persons agree in every key."""

    def __init__(self, rows: Codes) -> None:
        from scipy.sparse import csr_matrix

        self.exact = not rows.size or bool(rows.min() >= 0)
        one, other = (np.arange(len(rows)),) * 2 if self.exact else agreeing_pairs(rows)
        self.persons = len(rows)
        self.matrix: Any = csr_matrix((np.ones(len(one), dtype=np.int32), (one, other)), shape=(self.persons,) * 2)
        self._pairs = one.astype(np.int64) * self.persons + other  # in ascending order

    def of(self, one: Integers, other: Integers) -> NDArray[np.bool_]:
        """Tell of pairs of persons whether they agree."""
        asked = one.astype(np.int64) * self.persons + other
        place = np.minimum(np.searchsorted(self._pairs, asked), len(self._pairs) - 1)
        agree: NDArray[np.bool_] = self._pairs[place] == asked
        return agree


def _chances(known: Integers, shown: Integers, agreement: _Agreement) -> Floats:
    """Return the chances of households of one size, given their members in both tables."""
    mine, _ = classes(known)
    theirs, copies = classes(shown)
    if agreement.exact:
        both, _ = classes(np.concatenate([shown, known]))
        there, asked = both[: len(shown)], both[len(shown) :]
        alike = np.bincount(there, minlength=int(both.max()) + 1)[asked]
        return np.where(there == asked, 1 / np.maximum(alike, 1), 0.0)
    kinds, found = known[first_records(mine)], shown[first_records(theirs)]
    number, own = np.zeros(len(kinds)), np.zeros(len(known), dtype=bool)
    reach = _reach(found, agreement)
    for start in range(0, len(kinds), AT_ONCE):
        asking = np.arange(start, min(start + AT_ONCE, len(kinds)))
        one, other = _alike_pairs(kinds[asking], found, reach, agreement)
        np.add.at(number, start + one, copies[other])
        households = np.flatnonzero((mine >= start) & (mine < start + AT_ONCE))
        matched = (start + one) * len(found) + other
        own[households] = np.isin(mine[households] * len(found) + theirs[households], matched)
    return np.where(own, 1 / np.maximum(number[mine], 1), 0.0)


def _reach(found: Integers, agreement: _Agreement) -> Any:
    """Return a matrix of persons by households: whether some member agrees with the person."""
    from scipy.sparse import csr_matrix

    homes = np.repeat(np.arange(len(found)), found.shape[1])
    lives = csr_matrix(
        (np.ones(found.size, dtype=np.int32), (found.ravel(), homes)), shape=(agreement.persons, len(found))
    )
    return ((agreement.matrix @ lives) > 0).tocsr()


def _alike_pairs(kinds: Integers, found: Integers, reach: Any, agreement: _Agreement) -> tuple[Integers, Integers]:
    """Return the pairs of an asking household and one found that are alike."""
    members = kinds.shape[1]
    possible = reach[kinds[:, 0]]
    for member in range(1, members):
        possible = possible.multiply(reach[kinds[:, member]])
    one, other = (side.astype(np.int64) for side in possible.tocsr().nonzero())
    if members == 1 or not len(one):
        return one, other
    left = kinds[one][:, :, None], found[other][:, None, :]
    agree = agreement.of(*(np.broadcast_to(side, (len(one), members, members)).ravel() for side in left))
    agree = agree.reshape(-1, members, members)
    paired = _paired_by_subsets(agree) if members <= BY_SUBSETS else _paired_one_by_one(agree)
    return one[paired], other[paired]


def _paired_by_subsets(agree: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which of many squares of agreements have a perfect pairing: all subsets of columns, a row at a time.

    >>> _paired_by_subsets(np.array([[[True, True], [True, False]], [[True, False], [True, False]]]))
    array([ True, False])
    """
    members = agree.shape[1]
    taken = {0: np.ones(len(agree), dtype=bool)}  # by the columns taken so far, as bits
    for row in range(members):
        then: dict[int, NDArray[np.bool_]] = {}
        for bits, possible in taken.items():
            for column in range(members):
                if not bits >> column & 1:
                    now = bits | 1 << column
                    then[now] = then.get(now, False) | (possible & agree[:, row, column])
        taken = then
    return taken[2**members - 1]


def _paired_one_by_one(agree: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The same for large households, each by a maximum matching."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return np.array([(maximum_bipartite_matching(csr_matrix(square)) >= 0).all() for square in agree], dtype=bool)
