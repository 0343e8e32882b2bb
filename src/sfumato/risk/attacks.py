"""Attacks on single records: how surely an intruder who knows a person's keys finds that person's protected record.

Each takes the keys of both tables on one footing, record i of one about the same unit as record i of the other, and
returns for every original record the chance that its own protected record is found. Where several look alike to the
intruder he draws one of them. A missing category agrees with every value, in either table.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.agreement import by_shown_keys, matching_sums
from sfumato.kernels.boxes import distinct
from sfumato.kernels.euclidean_distance import nearer_and_tied
from sfumato.kernels.groups import class_sums, classes, first_records
from sfumato.risk.distance_linkage import SAME, with_missing_apart

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


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


def nearest(before: Codes, after: Codes, here: Floats, there: Floats) -> Floats:
    """Return the chance of each original record among the nearest of the protected ones that agree in the codes.

    ``here`` and ``there`` hold the numbers of both tables on one scale. A missing and a present number are farther
    apart than any two present, two missing ones are equal. Who does not agree in the codes is not looked at, so a
    record whose own does not agree is not found.

    >>> towns = np.array([[0], [0], [1]])
    >>> nearest(towns, towns, np.array([[20.0], [30.0], [20.0]]), np.array([[27.0], [28.0], [60.0]])).tolist()
    [1.0, 1.0, 1.0]
    """
    here, there = with_missing_apart(here, there)
    both = np.concatenate([here, there])
    apart = 2 * float(np.linalg.norm(both.max(axis=0) - both.min(axis=0))) + 1  # of blocks: out of everyone's reach
    own = np.linalg.norm(here - there, axis=1)
    # what rounding does to a distance grows with the coordinates, not only with the distance
    slack = own * SAME + 4 * np.finfo(np.float64).eps * float(np.abs(there).max(initial=0.0))
    short, reach = np.maximum(own - slack, 0.0), own + slack
    beaten, tied = ~agree(before, after), np.zeros(len(before))
    for shown, protected in by_shown_keys(after):  # as in the counts over keys with gaps: a pattern at a time
        asking = np.flatnonzero(~beaten)
        for known, members in by_shown_keys(before[asking]):
            records = asking[members]
            columns = np.flatnonzero(shown & known)
            block = classes(np.concatenate([after[np.ix_(protected, columns)], before[np.ix_(records, columns)]]))[0]
            places = apart * block[:, None]
            rows, _, copies = distinct(np.hstack([there[protected], places[: len(protected)]]))
            query = np.hstack([here[records], places[len(protected) :]])
            nearer, near = nearer_and_tied(rows, copies, query, short[records], reach[records])
            beaten[records] |= nearer > 0
            tied[records] += near
    return np.where(beaten, 0.0, 1 / np.maximum(tied, 1))
