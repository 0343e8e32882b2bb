"""Attacks on single records: how surely an intruder who knows a person's keys finds that person's protected record.

Each takes the keys of both tables on one footing, record i of one about the same unit as record i of the other, and
returns for every original record the chance that its own protected record is found. Where several look alike to the
intruder he draws one of them. A missing category agrees with every value, in either table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.agreement import by_shown_keys, matching_sums
from sfumato.kernels.boxes import distinct
from sfumato.kernels.euclidean_distance import nearer_and_tied
from sfumato.kernels.groups import class_sums, classes, first_records
from sfumato.kernels.rank_windows import search_windows
from sfumato.kernels.spread import mean_and_spread, standardised
from sfumato.risk.points import Space, with_missing_apart
from sfumato.risk.rank_attack import Window

Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def agree(before: Codes, after: Codes) -> NDArray[np.bool_]:
    """Tell of which records the keys of both tables agree, row by row; -1 agrees with every value."""
    same: NDArray[np.bool_] = ((before == after) | (before < 0) | (after < 0)).all(axis=1)
    return same


def alike(before: Codes, after: Codes, weights: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    """Return the chance of each original record among the protected ones that agree with it in every key.

    It is one over their number if the own record is among them, else 0. Their number and the sum of their weights
    (None: one each) come after it.

    >>> alike(np.array([[0], [1], [1]]), np.array([[0], [1], [-1]]))[0].tolist()
    [0.5, 0.5, 0.5]
    """
    cell_of, _ = classes(before)
    own, sizes = classes(after)
    wanted, rows = before[first_records(cell_of)], after[first_records(own)]
    number = np.rint(matching_sums(wanted, rows, sizes))[cell_of]
    units = number if weights is None else matching_sums(wanted, rows, class_sums(own, weights, len(sizes)))[cell_of]
    return np.where(agree(before, after), 1 / np.maximum(number, 1), 0.0), number, units


def fewest_changed(before: Codes, after: Codes, changed: Sequence[int]) -> Floats:
    """Return the chance of each original record among those alike in the codes but for as few of some as there are.

    ``changed`` numbers the columns that may differ. With N(T) the records alike in all others and in the set T of
    these, the sum of N(T) over sets of j is the sum over records of C(a, j), if a record agrees in a of them; so the
    numbers of records that agree in exactly a follow from above.

    >>> codes = np.array([[0, 0], [0, 1], [1, 1]])
    >>> fewest_changed(codes, np.array([[0, 2], [0, 1], [1, 2]]), [1]).tolist()  # towns hold, streets may have changed
    [0.5, 1.0, 1.0]
    """
    return fewest_changed_chance(before, after, changed, alike_in_sets(before, after, changed))


def alike_in_sets(before: Codes, after: Codes, changed: Sequence[int]) -> Floats:
    """Count the records of a part alike in all columns but some, over the sets of 0, 1, ... of these that agree too.

    Rows are sizes of sets; counts of parts add up.
    """
    rest = [j for j in range(before.shape[1]) if j not in changed]
    found = np.zeros((len(changed) + 1, len(before)))
    for size in range(len(changed) + 1):
        for some in combinations(changed, size):
            columns = [*rest, *some]
            here, there = before[:, columns], after[:, columns]
            (asked, _), (own, sizes) = classes(here), classes(there)
            wanted, rows = here[first_records(asked)], there[first_records(own)]
            found[size] += np.rint(matching_sums(wanted, rows, sizes))[asked]
    return found


def fewest_changed_chance(before: Codes, own: Codes, changed: Sequence[int], found: Floats) -> Floats:
    """Return the chance of each record, given the codes of its own protected one and ``alike_in_sets`` of all parts."""
    many = len(changed)
    rest = [j for j in range(before.shape[1]) if j not in changed]
    exactly = np.zeros_like(found)  # the records that agree in exactly so many of what may have changed
    for a in range(many, -1, -1):
        exactly[a] = found[a] - sum(comb(more, a) * exactly[more] for more in range(a + 1, many + 1))
    agreed = sum((agree(before[:, [j]], own[:, [j]]).astype(np.int64) for j in changed), np.zeros(len(own), np.int64))
    better = np.array([exactly[a + 1 :].sum(axis=0) for a in range(many + 1)])
    everyone = np.arange(len(own))
    first = agree(before[:, rest], own[:, rest]) & (better[agreed, everyone] < 0.5)
    return np.where(first, 1 / np.maximum(exactly[agreed, everyone], 1), 0.0)


def nearest(before: Codes, after: Codes, here: Floats, there: Floats) -> Floats:
    """Return the chance of each original record among the nearest of the protected ones that agree in the codes.

    ``here`` and ``there`` hold the numbers of both tables on one scale. A missing and a present number are farther
    apart than any two present, two missing ones are equal. Who does not agree in the codes is not looked at, so a
    record whose own does not agree is not found.

    >>> towns = np.array([[0], [0], [1]])
    >>> nearest(towns, towns, np.array([[20.0], [30.0], [20.0]]), np.array([[27.0], [28.0], [60.0]])).tolist()
    [1.0, 1.0, 1.0]
    """
    here, there, space = with_missing_apart(here, there)
    looked_for = LookedFor.of(before, after, here, there, space)
    nearer, tied = looked_for.among(after, there, space)
    return looked_for.chance(nearer, tied)


@dataclass(frozen=True, eq=False)
class LookedFor:
    """Records that are looked for among those alike in their codes: where they lie, and how near a record may come."""

    codes: Codes
    agrees: Flags  # whether the own record is alike in the codes
    here: Floats
    short: Floats  # who is nearer than this is nearer than the own record
    reach: Floats  # who is up to this far is as near as the own record

    @classmethod
    def of(cls, codes: Codes, own_codes: Codes, here: Floats, own: Floats, space: Space) -> "LookedFor":
        """Take the records with their own ones of the other table, both placed in the space."""
        distance = np.linalg.norm(here - own, axis=1)
        slack = space.slack(distance)
        return cls(codes, agree(codes, own_codes), here, np.maximum(distance - slack, 0.0), distance + slack)

    def among(self, after: Codes, there: Floats, space: Space) -> tuple[Integers, Integers]:
        """Count, of the protected records of a part, those nearer than the own record and those as near.

        Of whoever is beaten, or whose own record does not agree, the count is not completed. Numbers of parts add up.
        """
        nearer, tied = np.zeros(len(self.codes), dtype=np.int64), np.zeros(len(self.codes), dtype=np.int64)
        for shown, protected in by_shown_keys(after):  # as in the counts over keys with gaps: a pattern at a time
            asking = np.flatnonzero(self.agrees & (nearer == 0))
            for known, members in by_shown_keys(self.codes[asking]):
                records = asking[members]
                columns = np.flatnonzero(shown & known)
                both = np.concatenate([after[np.ix_(protected, columns)], self.codes[np.ix_(records, columns)]])
                places = space.apart * classes(both)[0][:, None]  # of blocks: out of everyone's reach
                rows, _, copies = distinct(np.hstack([there[protected], places[: len(protected)]]))
                query = np.hstack([self.here[records], places[len(protected) :]])
                found = nearer_and_tied(rows, copies, query, self.short[records], self.reach[records])
                nearer[records] += found[0]
                tied[records] += found[1]
        return nearer, tied

    def chance(self, nearer: Integers, tied: Integers) -> Floats:
        """Return the chance of each record, given how many of all protected ones are nearer, and how many as near."""
        return np.where(self.agrees & (nearer == 0), 1 / np.maximum(tied, 1), 0.0)


# An intruder who knows by which method numbers were masked. What was kept in its order, or swapped with others near in
# rank, lies in a window of ranks around the rank of the known value. A record that was averaged with others has the
# mean of its group. Each key so narrows the candidates, which must also agree in the keys that were not perturbed.


def in_windows(before: Codes, after: Codes, windows: Sequence[Window]) -> Floats:
    """Return the chance of each original record among those in all its windows that agree with it in the codes.

    Of these he takes the one that has moved farthest, as :class:`RankSwappingAttack` does; those as far share the
    chance. A missing code agrees with every one, a missing number with missing ones.

    >>> places = np.array([0.0, 1.0])
    >>> window = Window(places[::-1], places - 1, places + 1, places, 1)
    >>> in_windows(np.zeros((2, 0), np.int32), np.zeros((2, 0), np.int32), [window]).tolist()
    [1.0, 1.0]
    """
    table, low, high, centre = (
        np.column_stack([getattr(window, side) for window in windows])
        for side in ("protected", "low", "high", "centre")
    )
    # whole numbers, so that sums of mean ranks are exact and candidates that have moved as far tie
    steps = np.array([np.round(2**20 / (window.reach + 1)) for window in windows] + [0.0])
    there = ((low <= table) & (table <= high)).all(axis=1) & agree(before, after)
    own = (np.abs(table - centre) * steps[:-1]).sum(axis=1)
    farther, tied = np.zeros(len(before), dtype=np.int64), np.zeros(len(before), dtype=np.int64)
    for shown, protected in by_shown_keys(after):
        asking = np.flatnonzero(there & (farther == 0))
        for known, members in by_shown_keys(before[asking]):
            records = asking[members]
            columns = np.flatnonzero(shown & known)
            both = np.concatenate([after[np.ix_(protected, columns)], before[np.ix_(records, columns)]])
            cell = classes(both)[0] * float(2 * len(before))  # farther apart than ranks, so that the search splits them
            theirs, his = cell[: len(protected)], cell[len(protected) :]
            found = search_windows(
                np.column_stack([table[protected], theirs]),
                np.column_stack([low[records], his]),
                np.column_stack([high[records], his]),
                np.column_stack([centre[records], his]),
                own[records],
                steps,
            )
            farther[records] += found[1]
            tied[records] += found[2]
    return np.where(there & (farther == 0), 1 / np.maximum(tied, 1), 0.0)


def own_group(after: Floats) -> Window:
    """Place each record in the group whose means it shows: he who knows all values forms the groups again."""
    group, _ = classes(_codes(after))
    return _of_groups(group, group)


def nearest_group(before: Floats, after: Floats) -> Window:
    """Place each record in the group whose means are nearest to what he knows of it; a missing value is far from all.

    He knows the values of this record alone, or not all variables of which groups were formed.
    """
    from scipy.spatial import KDTree

    mean, spread = mean_and_spread(before)
    here, there = (standardised(values, mean, spread) for values in (before, after))
    missing = 1e6  # spreads
    here, there = (np.where(np.isnan(side), missing, side) for side in (here, there))
    group, _ = classes(_codes(after))
    nearest = KDTree(there[first_records(group)]).query(here)[1]
    return _of_groups(group, nearest)


def _codes(values: Floats) -> Codes:
    """Number the values of each column, so that equal ones have one number, and missing ones too."""
    return np.column_stack([np.unique(column, return_inverse=True)[1] for column in values.T]).astype(np.int32)


def _of_groups(group: NDArray[np.int64], wanted: NDArray[np.int64]) -> Window:
    place = wanted.astype(np.float64)
    return Window(group.astype(np.float64), place, place, place, 0)
