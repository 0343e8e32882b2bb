"""What ``class_search`` works on: which row each record publishes, and moves that can be taken back."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Integers = NDArray[np.int64]
Small = NDArray[np.int32]

INF = np.inf


class Tables(NamedTuple):
    """The state of the search; the arrays are changed in place."""

    rows: Small  # the row that each record publishes under each mask, or -1
    member: Small  # row by row, the records that can publish it
    begin: Integers  # where each row's records begin in ``member``
    mask_of: Integers  # the mask of each row
    cost: NDArray[np.float64]  # of each mask
    mask: Integers  # of each record, now
    size: Integers  # of each row, now
    first: Small  # a record that publishes the row now, or -1 ...
    after: Small  # ... and for each record the next one,
    before: Small  # and the one before
    anchored: NDArray[np.bool_]  # rows that records outside the search publish too: they never close
    log: Integers  # (record, mask before) of every move; the number of moves in [0, 0]
    k: int
    look: int  # how many of a row's records are looked at


def tables(rows: Small, mask_of: Integers, cost: NDArray[np.float64], mask: Integers, k: int) -> Tables:
    """Set up the state in which each record has the given mask."""
    n, number = len(rows), len(mask_of)
    counts = np.zeros(number, dtype=np.int64)
    parts = []
    for column in rows.T:  # rows are numbered mask by mask, so one sort per mask puts all in order
        able = np.flatnonzero(column >= 0)
        parts.append(able[np.argsort(column[able], kind="stable")].astype(np.int32))
        counts += np.bincount(column[able], minlength=number)
    begin = np.concatenate([[0], np.cumsum(counts)])
    made = Tables(
        rows=rows,
        member=np.concatenate(parts),
        begin=begin,
        mask_of=mask_of.astype(np.int64),
        cost=cost,
        mask=mask.astype(np.int64).copy(),
        size=np.zeros(number, dtype=np.int64),
        first=np.full(number, -1, dtype=np.int32),
        after=np.full(n, -1, dtype=np.int32),
        before=np.full(n, -1, dtype=np.int32),
        anchored=np.zeros(number, dtype=np.bool_),
        log=np.zeros((200_000 + 1_000 * k, 2), dtype=np.int64),
        k=k,
        look=max(48, 4 * k),
    )
    _enter(made)
    return made


@compiled
def _enter(t: Tables) -> None:
    for i in range(t.mask.size):
        _link(t, i)


@compiled
def _link(t: Tables, i: int) -> None:
    row = t.rows[i, t.mask[i]]
    t.size[row] += 1
    t.after[i], t.before[i] = t.first[row], -1
    if t.first[row] >= 0:
        t.before[t.first[row]] = i
    t.first[row] = i


@compiled
def _unlink(t: Tables, i: int) -> None:
    row = t.rows[i, t.mask[i]]
    t.size[row] -= 1
    if t.before[i] >= 0:
        t.after[t.before[i]] = t.after[i]
    else:
        t.first[row] = t.after[i]
    if t.after[i] >= 0:
        t.before[t.after[i]] = t.before[i]


@compiled
def move(t: Tables, i: int, mask: int) -> float:
    """Give a record another mask and return what it costs more; without room to note it, nothing is done."""
    moves = t.log[0, 0] + 1
    if moves == len(t.log):
        return INF
    t.log[0, 0], t.log[moves, 0], t.log[moves, 1] = moves, i, t.mask[i]
    more: float = t.cost[mask] - t.cost[t.mask[i]]
    _unlink(t, i)
    t.mask[i] = mask
    _link(t, i)
    return more


@compiled
def take_back(t: Tables, kept: int) -> None:
    """Undo all moves but the first ``kept``."""
    while t.log[0, 0] > kept:
        moves = t.log[0, 0]
        i = t.log[moves, 0]
        _unlink(t, i)
        t.mask[i] = t.log[moves, 1]
        _link(t, i)
        t.log[0, 0] = moves - 1


@compiled
def short(t: Tables, row: int) -> bool:
    """Whether a row is published, but by fewer than k."""
    return bool(0 < t.size[row] < t.k)


@compiled
def looked_at(t: Tables, row: int) -> int:
    """Return where the records of a row that are looked at end in ``member``."""
    return int(min(t.begin[row + 1], t.begin[row] + t.look))


@compiled
def move_all(t: Tables, row: int, mask: int) -> float:
    """Move all records that publish a row."""
    more = 0.0
    i = t.first[row]
    while i >= 0:
        following = t.after[i]
        more += move(t, i, mask)
        if more == INF:
            return INF
        i = following
    return more
