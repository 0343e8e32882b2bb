"""Attacks on households: the intruder knows the keys of all members and looks for records of such members.

Two households are alike if they have as many members and these can be paired so that each pair agrees in every key, a
missing value with any. Where no value is missing that means the same members; else it is a question of perfect
matchings, asked of each pair of different households in which every member agrees with somebody.

Where the file does not number households, records that share what households share are taken for one: a group may be a
household, a part of one, or several.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.agreement import agreeing_pairs
from sfumato.kernels.groups import classes, first_records
from sfumato.table.households import counted

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Unit = Literal["record", "household"]  # of which a measure tells how many are found

AT_ONCE = 500  # original households that are compared with all protected ones at a time
BY_SUBSETS = 8  # members up to which pairings are found over all subsets of them
CELLS = 4_000_000  # distances between members that are computed at a time
NOBODY = -1


def alike_households(before: Codes, after: Codes, unit: Integers, group: Integers | None = None) -> Floats:
    """Return the chance of each household among the protected ones that are alike in the keys of all members.

    ``unit`` numbers the household of each record, the same in both tables. The chance is one over the number of
    households alike if the own is among them, else 0. ``group`` says which protected records are taken for a household
    where the file does not number them; a household is then found only if its members are a group.

    >>> keys, home = np.array([[0], [1], [0], [1], [1], [1]]), np.array([0, 0, 1, 1, 2, 2])
    >>> alike_households(keys, keys, home).tolist()
    [0.5, 0.5, 1.0]
    >>> alike_households(keys, keys, home, np.array([0, 0, 1, 1, 1, 1])).tolist()
    [1.0, 0.0, 0.0]
    """
    return Members.of(before, after).alike(unit, group)


@dataclass(frozen=True, eq=False)
class Members:
    """Which of some different persons each record is, in both tables, and which of these agree in every key."""

    known: Integers
    shown: Integers
    agreement: "_Agreement"

    @classmethod
    def of(cls, before: Codes, after: Codes) -> "Members":
        """Tell the different persons of both tables apart by their keys."""
        both = np.concatenate([before, after])
        person, _ = classes(both)
        return cls(person[: len(before)], person[len(before) :], _Agreement(both[first_records(person)]))

    def alike(self, unit: Integers, group: Integers | None) -> Floats:
        """Return the chance of each household, as ``alike_households`` does."""
        chance = np.zeros(counted(unit))
        for homes, mine, theirs, own in _by_size(unit, group):
            if len(theirs):
                chance[homes] = _chances(np.sort(self.known[mine]), np.sort(self.shown[theirs]), own, self.agreement)
        return chance

    def in_groups(self, unit: Integers, group: Integers) -> Floats:
        """Return the share of the members of each household that is found among records that share something.

        The intruder takes one of the groups that have as many records like each member as the household has; there he
        takes for each member one of those that agree. A household whose records are in several groups is not found.

        >>> keys, home = np.array([[0], [1], [0], [1], [0], [0]]), np.array([0, 0, 1, 1, 2, 3])
        >>> Members.of(keys, keys).in_groups(home, np.array([0, 0, 1, 1, 1, 2])).tolist()
        [0.5, 0.375, 0.16666666666666666, 0.3333333333333333]
        """
        like = self.agreement.like(self.shown, group)
        home, first = np.unique(unit, return_index=True)
        of_home = group[first]
        torn = np.zeros(len(home), dtype=bool)
        torn[unit[group != of_home[unit]]] = True
        number, own, share = (np.zeros(len(home)) for _ in range(3))
        for homes, mine, theirs, _ in _by_size(unit, None):
            asked, of = _different(np.sort(self.known[mine]))
            for start in range(0, len(asked), AT_ONCE):
                holding = _holding(asked[start : start + AT_ONCE], like)
                these = np.flatnonzero((of >= start) & (of < start + AT_ONCE))
                number[homes[these]] = np.asarray(holding.sum(axis=1)).ravel()[of[these] - start]
                own[homes[these]] = np.asarray(holding[of[these] - start, of_home[homes[these]]]).ravel()
            size = mine.shape[1]
            pairs = np.repeat(self.known[mine].ravel(), size), np.repeat(self.shown[theirs], size, axis=0).ravel()
            ours = self.agreement.of(*pairs).reshape(*mine.shape, size).sum(axis=2)
            there = np.asarray(like[self.known[mine].ravel(), group[mine].ravel()]).reshape(mine.shape)
            share[homes] = (ours / np.maximum(there, 1)).mean(axis=1)
        return np.where((own > 0) & ~torn, share / np.maximum(number, 1), 0.0)


def _holding(kinds: Integers, like: Any) -> Any:
    """Return a matrix of households by groups: which have as many records like each member as the household has."""
    place = np.zeros_like(kinds)  # how many of the members before are the same person to whoever knows the keys
    for member in range(1, kinds.shape[1]):
        place[:, member] = np.where(kinds[:, member] == kinds[:, member - 1], place[:, member - 1] + 1, 0)
    found: Any = None
    for member in range(kinds.shape[1]):
        rows = like[kinds[:, member]]
        if isinstance(rows, np.ndarray):
            enough = rows > place[:, member, None]
            found = enough if found is None else found & enough
            continue
        rows.data = (rows.data > np.repeat(place[:, member], np.diff(rows.indptr))).astype(np.int32)
        rows.eliminate_zeros()
        found = rows if found is None else found.multiply(rows).tocsr()
    return found


def nearest_households(here: Floats, there: Floats, unit: Integers, group: Integers | None = None) -> Floats:
    """Return the chance of each household among the nearest protected ones, all members together.

    Records are points, and as far apart as in Gower's distance; members are paired so that the sum of their distances
    is least. Households of more than ``BY_SUBSETS`` members are not looked for.

    >>> points, home = np.array([[0.0], [0.4], [0.5], [0.9]]), np.array([0, 0, 1, 1])
    >>> nearest_households(points, points + 0.2, home).tolist()
    [1.0, 1.0]
    """
    person, _ = classes(_ranked(np.concatenate([here, there])))
    points = np.concatenate([here, there])[first_records(person)]
    known, shown = person[: len(here)], person[len(here) :]
    chance = np.zeros(counted(unit))
    for homes, mine, theirs, own in _by_size(unit, group):
        if mine.shape[1] > BY_SUBSETS or not len(theirs):
            continue
        asked, of = _different(np.sort(known[mine]))
        found, kind = _different(np.sort(shown[theirs]))
        copies = np.bincount(kind)
        at_once = max(CELLS // (len(found) * mine.shape[1] ** 2), 1)
        for start in range(0, len(asked), at_once):
            apart = _paired_at_least(points[asked[start : start + at_once]], points[found])
            slack = 1e-9 * (1 + apart)
            these = np.flatnonzero((of >= start) & (of < start + at_once) & (own != NOBODY))
            mine_apart = apart[of[these] - start]
            reached = mine_apart[np.arange(len(these)), kind[own[these]]][:, None]
            nearer = ((mine_apart < reached - slack[of[these] - start]) * copies).sum(axis=1)
            tied = ((np.abs(mine_apart - reached) <= slack[of[these] - start]) * copies).sum(axis=1)
            chance[homes[these]] = np.where(nearer == 0, 1 / np.maximum(tied, 1), 0.0)
    return chance


def _ranked(points: Floats) -> Codes:
    """Return the columns of points as codes, so that equal points can be found."""
    ranks = [np.unique(column, return_inverse=True)[1] for column in points.T]
    return np.column_stack(ranks).astype(np.int32)


def _different(members: Integers) -> tuple[Integers, Integers]:
    """Return the different households, and which of them each one is."""
    kinds, of = np.unique(members, axis=0, return_inverse=True)
    return kinds, of.reshape(-1)


def _paired_at_least(known: Floats, shown: Floats) -> Floats:
    """Return the least sum of distances over all ways to pair the members of each two households.

    ``known`` and ``shown`` are households x members x columns. Subsets of the members of the one are gone through, a
    member of the other at a time.
    """
    members = known.shape[1]
    apart = np.zeros((len(known), len(shown), members, members))
    for column in range(known.shape[2]):
        away = np.abs(known[:, None, :, None, column] - shown[None, :, None, :, column])
        apart += np.minimum(away, 1.0, out=away)
    least = {0: np.zeros((len(known), len(shown)))}  # by the members taken so far, as bits
    for row in range(members):
        then: dict[int, Floats] = {}
        for bits, so_far in least.items():
            for column in range(members):
                if not bits >> column & 1:
                    now, reached = bits | 1 << column, so_far + apart[:, :, row, column]
                    then[now] = np.minimum(then[now], reached) if now in then else reached
        least = then
    return least[2**members - 1]


def _by_size(
    unit: Integers, group: Integers | None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
    """Yield for each size the households, their records, the records of what is taken for such, and the own among it.

    ``group`` says what is taken for a household, None the households themselves. Records stand a household a row; who
    is no group, or not the whole of it, has ``NOBODY`` among them.
    """
    sizes = np.bincount(unit, minlength=counted(unit))
    shown = unit if group is None else group
    groups = np.bincount(shown, minlength=counted(shown))
    order = np.argsort(unit, kind="stable")
    ordered = np.argsort(shown, kind="stable")
    for size in np.unique(sizes):
        homes = np.flatnonzero(sizes == size)
        mine = order[sizes[unit[order]] == size].reshape(-1, size)
        alike_size = np.flatnonzero(groups == size)
        theirs = ordered[groups[shown[ordered]] == size].reshape(-1, size)
        place = np.full(len(groups), NOBODY)
        place[alike_size] = np.arange(len(alike_size))
        together = (shown[mine] == shown[mine][:, :1]).all(axis=1)
        yield homes, mine, theirs, np.where(together, place[shown[mine[:, 0]]], NOBODY)


class _Agreement:
    """Which of some different persons agree in every key."""

    def __init__(self, rows: Codes) -> None:
        self.exact = not rows.size or bool(rows.min() >= 0)
        one, other = (np.arange(len(rows)),) * 2 if self.exact else agreeing_pairs(rows)
        self.persons = len(rows)
        self._pairs = one.astype(np.int64) * self.persons + other  # in ascending order

    @cached_property
    def square(self) -> NDArray[np.bool_] | None:
        """Every person by every other, whether they agree; None where there are too many to lay side by side."""
        if self.persons**2 > CELLS:
            return None
        agree = np.zeros(self.persons**2, dtype=bool)
        agree[self._pairs] = True
        return agree.reshape(self.persons, self.persons)

    @cached_property
    def matrix(self) -> Any:
        """The same as a sparse matrix."""
        from scipy.sparse import csr_matrix

        one, other = np.divmod(self._pairs, self.persons)
        return csr_matrix((np.ones(len(one), dtype=np.int32), (one, other)), shape=(self.persons,) * 2)

    def of(self, one: Integers, other: Integers) -> NDArray[np.bool_]:
        """Tell of pairs of persons whether they agree."""
        if self.square is not None:
            return np.asarray(self.square[one, other])
        asked = one.astype(np.int64) * self.persons + other
        place = np.minimum(np.searchsorted(self._pairs, asked), len(self._pairs) - 1)
        agree: NDArray[np.bool_] = self._pairs[place] == asked
        return agree

    def like(self, shown: Integers, group: Integers) -> Any:
        """Count the records of each group that agree with each person: an array, or a sparse matrix if it is large."""
        from scipy.sparse import csr_matrix

        groups = counted(group)
        lives = csr_matrix((np.ones(len(shown), dtype=np.int32), (shown, group)), shape=(self.persons, groups))
        found = (self.matrix @ lives).tocsr()
        return found.toarray() if self.persons * groups <= CELLS else found


def _chances(known: Integers, shown: Integers, own: NDArray[np.intp], agreement: _Agreement) -> Floats:
    """Return the chances of households of one size, given the members of each, and of those shown; ``own`` is which."""
    mine, _ = classes(known)
    theirs, copies = classes(shown)
    there_is = own != NOBODY
    if agreement.exact:
        both, _ = classes(np.concatenate([shown, known]))
        there, asked = both[: len(shown)], both[len(shown) :]
        copies_of = np.bincount(there, minlength=int(both.max()) + 1)[asked]
        return np.where(there_is & (there[own] == asked), 1 / np.maximum(copies_of, 1), 0.0)
    kinds, found = known[first_records(mine)], shown[first_records(theirs)]
    number, hit = np.zeros(len(kinds)), np.zeros(len(known), dtype=bool)
    if agreement.square is not None and known.shape[1] <= BY_SUBSETS:
        at_once = max(CELLS // (len(found) * known.shape[1] ** 2), 1)
        for start in range(0, len(kinds), at_once):
            asking = kinds[start : start + at_once]
            agree = agreement.square[asking[:, None, :, None], found[None, :, None, :]]
            paired = _paired_by_subsets(agree)
            number[start : start + at_once] = paired @ copies
            households = np.flatnonzero((mine >= start) & (mine < start + at_once) & there_is)
            hit[households] = paired[mine[households] - start, theirs[own[households]]]
        return np.where(hit & there_is, 1 / np.maximum(number[mine], 1), 0.0)
    reach = _reach(found, agreement)
    for start in range(0, len(kinds), AT_ONCE):
        asking = np.arange(start, min(start + AT_ONCE, len(kinds)))
        one, other = _alike_pairs(kinds[asking], found, reach, agreement)
        np.add.at(number, start + one, copies[other])
        households = np.flatnonzero((mine >= start) & (mine < start + AT_ONCE))
        matched = (start + one) * len(found) + other
        hit[households] = np.isin(mine[households] * len(found) + theirs[own[households]], matched)
    return np.where(hit & there_is, 1 / np.maximum(number[mine], 1), 0.0)


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
    members = agree.shape[-1]
    taken = {0: np.ones(agree.shape[:-2], dtype=bool)}  # by the columns taken so far, as bits
    for row in range(members):
        then: dict[int, NDArray[np.bool_]] = {}
        for bits, possible in taken.items():
            for column in range(members):
                if not bits >> column & 1:
                    now = bits | 1 << column
                    then[now] = then.get(now, False) | (possible & agree[..., row, column])
        taken = then
    return taken[2**members - 1]


def _paired_one_by_one(agree: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The same for large households, each by a maximum matching."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return np.array([(maximum_bipartite_matching(csr_matrix(square)) >= 0).all() for square in agree], dtype=bool)
