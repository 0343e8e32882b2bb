"""The attack of an intruder who knows by which method numbers were masked: by rank, or by the means of groups.

What was kept in its order, or swapped with others near in rank, lies in a window of ranks around the rank of the known
value. A record that was averaged with others has the mean of its group. Each key so narrows the candidates, which must
also agree in the keys that were not perturbed.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.agreement import by_shown_keys
from sfumato.kernels.groups import classes, first_records
from sfumato.kernels.rank_windows import search_windows
from sfumato.kernels.spread import mean_and_spread, standardised
from sfumato.risk.attacks import agree
from sfumato.risk.rank_attack import Window

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


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
