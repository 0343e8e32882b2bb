"""Local search for ``cheapest_classes``: records move between published rows, each move can be taken back.

Whatever the size of the table this is compiled: the search tries many times more moves than there are records.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Integers = NDArray[np.int64]
Small = NDArray[np.int32]

MIN_GAIN = 1e-9  # a gain below is none
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


@compiled
def _fill_from_spare(t: Tables, row: int, closing: int, rob: bool) -> float:
    """Fill a row up to k with records of rows that have more than k, or of the row that is to be emptied anyway.

    ``rob`` takes them from other rows too, which are then left with too few.
    """
    more = 0.0
    while t.size[row] < t.k:
        best = -1
        for p in range(t.begin[row], looked_at(t, row)):
            i = t.member[p]
            own = t.rows[i, t.mask[i]]
            free = t.size[own] > t.k or own == closing or (rob and not t.anchored[own])
            if own != row and free and (best < 0 or t.cost[t.mask[i]] > t.cost[t.mask[best]]):
                best = i
        if best < 0:
            return INF
        more += move(t, best, t.mask_of[row])
        if more == INF:
            return INF
    return more


@compiled
def _fill_with_rows(t: Tables, row: int, avoid: int) -> float:
    """Fill a row up to k with all records of finer rows, those that cost least."""
    more, mask = 0.0, t.mask_of[row]
    while t.size[row] < t.k:
        best, least = -1, INF
        for p in range(t.begin[row], looked_at(t, row)):
            i = t.member[p]
            own = t.rows[i, t.mask[i]]
            finer = own != row and own != avoid and t.mask[i] & ~mask == 0
            if finer and not t.anchored[own] and t.size[own] <= 4 * t.k:
                price = t.size[own] * (t.cost[mask] - t.cost[t.mask[i]])
                if price < least:
                    best, least = own, price
        if best < 0:
            return INF
        more += move_all(t, best, mask)
        if more == INF:
            return INF
    return more


@compiled
def _fill(t: Tables, row: int, avoid: int) -> float:
    """Fill a row up to k the cheaper of both ways."""
    if t.size[row] >= t.k:
        return 0.0
    kept = t.log[0, 0]
    spare = _fill_from_spare(t, row, -1, rob=False)
    take_back(t, kept)
    wholly = _fill_with_rows(t, row, avoid)
    if wholly <= spare < INF or wholly < spare:
        return wholly
    take_back(t, kept)
    return _fill_from_spare(t, row, -1, rob=spare == INF)


@compiled
def _place(t: Tables, i: int, closing: int) -> float:
    """Move a record to the row that costs least: one that k others publish, or one that is filled up to k for it."""
    kept, own = t.log[0, 0], t.mask[i]
    best, least = -1, INF
    for mask in range(t.rows.shape[1]):
        row = t.rows[i, mask]
        if row >= 0 and row != closing and t.size[row] >= t.k and t.cost[mask] - t.cost[own] < least:
            best, least = mask, t.cost[mask] - t.cost[own]
    for mask in range(t.rows.shape[1]):
        row = t.rows[i, mask]
        if row < 0 or t.size[row] > 0 or t.cost[mask] - t.cost[own] >= least - MIN_GAIN:
            continue
        if t.begin[row + 1] - t.begin[row] >= t.k:
            more = move(t, i, mask) + _fill_from_spare(t, row, closing, rob=False)
            take_back(t, kept)
            if more < least - MIN_GAIN:
                best, least = mask, more
    if best >= 0:
        return move(t, i, best) + _fill_from_spare(t, t.rows[i, best], closing, rob=False)
    for mask in range(t.rows.shape[1]):  # at the cost of others, who are placed anew after this
        row = t.rows[i, mask]
        if row >= 0 and row != closing and t.begin[row + 1] - t.begin[row] >= t.k:
            more = move(t, i, mask) + _fill_from_spare(t, row, closing, rob=True)
            take_back(t, kept)
            if more < least - MIN_GAIN:
                best, least = mask, more
    if best < 0:
        return INF
    return move(t, i, best) + _fill_from_spare(t, t.rows[i, best], closing, rob=True)


@compiled
def _scatter(t: Tables, row: int) -> float:
    """Move each record of a row to where it costs least."""
    more = 0.0
    while t.first[row] >= 0 and more < INF:
        more += _place(t, t.first[row], row)
    return more


@compiled
def _close(t: Tables, row: int) -> float:
    """Empty a row the cheapest way known: each record for itself, or all into one coarser row, filled up to k."""
    if t.first[row] < 0:
        return 0.0
    kept, finer = t.log[0, 0], t.mask_of[row]
    least, chosen = _scatter(t, row), -1
    take_back(t, kept)
    some = t.first[row]
    for mask in range(t.rows.shape[1]):
        if finer & ~mask != 0 or mask == finer:
            continue
        coarser = t.rows[some, mask]
        possible = t.begin[coarser + 1] - t.begin[coarser] >= t.k
        if possible and t.size[row] * (t.cost[mask] - t.cost[finer]) < least - MIN_GAIN:
            more = move_all(t, row, mask) + _fill(t, coarser, row)
            take_back(t, kept)
            if more < least - MIN_GAIN:
                least, chosen = more, mask
    if chosen < 0:
        return _scatter(t, row)
    return move_all(t, row, chosen) + _fill(t, t.rows[some, chosen], row)


@compiled
def _open(t: Tables, row: int, forced: bool) -> float:
    """Let all who gain by it publish a row, and fill it up to k; rows may be left with too few."""
    kept, mask, more = t.log[0, 0], t.mask_of[row], 0.0
    for p in range(t.begin[row], looked_at(t, row)):
        i = t.member[p]
        if t.cost[t.mask[i]] > t.cost[mask] + MIN_GAIN and t.rows[i, t.mask[i]] != row:
            more += move(t, i, mask)
    if more == INF or (t.log[0, 0] == kept and not forced):
        return INF
    done = kept + 1
    while t.size[row] < t.k and done <= t.log[0, 0]:  # those left behind come along if they fit
        left = t.rows[t.log[done, 0], t.log[done, 1]]
        if left != row and short(t, left):
            i = t.first[left]
            while i >= 0:
                following = t.after[i]
                if t.rows[i, mask] == row:
                    more += move(t, i, mask)
                i = following
        done += 1
    return more + _fill(t, row, -1)


@compiled
def _tidy(t: Tables, kept: int) -> float:
    """Close the rows that the moves since left with too few; after too many moves, give up."""
    more, done, most = 0.0, kept + 1, kept + 60 * t.k
    while more < INF and done <= t.log[0, 0]:
        left = t.rows[t.log[done, 0], t.log[done, 1]]
        if short(t, left):
            more += _close(t, left)
        if t.log[0, 0] > most:
            return INF
        done += 1
    return more


@compiled
def start(t: Tables, masks: Integers, needed: Integers) -> None:
    """Open rows in the order given, of each mask those that at least so many records in need can publish."""
    for s in range(masks.size):
        mask = masks[s]
        for row in range(np.searchsorted(t.mask_of, mask), np.searchsorted(t.mask_of, mask + 1)):
            if t.begin[row + 1] - t.begin[row] < t.k:
                continue
            in_need = 0
            for p in range(t.begin[row], t.begin[row + 1]):
                in_need += short(t, t.rows[t.member[p], t.mask[t.member[p]]])
            if in_need < needed[s]:
                continue
            for p in range(t.begin[row], t.begin[row + 1]):
                i = t.member[p]
                own = t.rows[i, t.mask[i]]
                if own != row and short(t, own):
                    t.log[0, 0] = 0
                    move(t, i, mask)
            t.log[0, 0] = 0
            if t.size[row] < t.k and _fill_from_spare(t, row, -1, rob=False) == INF:
                take_back(t, 0)
    blank = t.rows.shape[1] - 1
    for i in range(t.mask.size):  # who is still alone shows nothing
        if short(t, t.rows[i, t.mask[i]]):
            t.log[0, 0] = 0
            move(t, i, blank)
    t.log[0, 0] = 0
    if short(t, t.rows[0, blank]):
        _fill(t, t.rows[0, blank], -1)


@compiled
def _settle(t: Tables, waiting: NDArray[np.bool_], stack: Small, top: int, forget: bool) -> float:
    """Open and close the rows on the stack, and those of every record moved thereby, while it pays."""
    total = 0.0
    while top > 0:
        top -= 1
        row = stack[top]
        waiting[row] = False
        if t.begin[row + 1] - t.begin[row] < t.k:
            continue
        for closing in range(2):
            if closing and (t.anchored[row] or not 0 < t.size[row] <= 4 * t.k):
                continue
            kept = t.log[0, 0]
            more = _close(t, row) if closing else _open(t, row, forced=False)
            if more < INF:
                more += _tidy(t, kept)
            if not more < -MIN_GAIN:
                take_back(t, kept)
                continue
            total += more
            top = _push(t, waiting, stack, top, kept)
            if forget:
                t.log[0, 0] = 0
    return total


@compiled
def _push(t: Tables, waiting: NDArray[np.bool_], stack: Small, top: int, kept: int) -> int:
    """Put every row that the records moved since could publish on the stack."""
    for moves in range(kept + 1, t.log[0, 0] + 1):
        for mask in range(t.rows.shape[1]):
            row = t.rows[t.log[moves, 0], mask]
            if row >= 0 and not waiting[row]:
                waiting[row] = True
                stack[top] = row
                top += 1
    return top


@compiled
def improve(t: Tables) -> None:
    """Open and close rows while it pays."""
    t.log[0, 0] = 0
    number = t.mask_of.size
    _settle(t, np.ones(number, np.bool_), np.arange(number).astype(np.int32), number, forget=True)


@compiled
def disturb(t: Tables, most: int) -> Integers:
    """Force one to three rows open near each other and settle, again and again; return the best masks found.

    What is worse by one value at most than the best so far is kept as the next state. The draws are always the same.
    """
    masks = t.rows.shape[1]
    losing = np.flatnonzero(t.cost[t.mask] > 0)
    best, now, least = t.mask.copy(), 0.0, 0.0  # costs are counted from here
    one_value = t.cost[1:].min()
    waiting, stack = np.zeros(t.mask_of.size, np.bool_), np.empty(t.mask_of.size, np.int32)
    state = np.uint64(88172645463325252)
    for turn in range(min(most, 30 * losing.size)):  # none where nothing is lost
        t.log[0, 0] = 0
        more = 0.0
        i = losing[0]
        for again in range(1 + turn % 3):
            state ^= state << np.uint64(13)  # Marsaglia's xorshift
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            drawn = int(state >> np.uint64(2))
            if again == 0:
                i = losing[(drawn >> 24) % losing.size]
            else:
                beside = t.rows[i, drawn >> 12 & (masks - 1)]
                if beside < 0:
                    continue
                i = t.member[t.begin[beside] + (drawn >> 24) % (t.begin[beside + 1] - t.begin[beside])]
            mask = drawn & (masks - 1)
            row = t.rows[i, mask]
            if row < 0 or mask == t.mask[i] or t.begin[row + 1] - t.begin[row] < t.k:
                continue
            kept = t.log[0, 0]
            more += move(t, i, mask) + _open(t, row, forced=True)
            if more < INF:
                more += _tidy(t, kept)
            if more == INF:
                break
        if more < INF:
            more += _settle(t, waiting, stack, _push(t, waiting, stack, 0, 0), forget=False)
        if now + more > least + one_value + MIN_GAIN:
            take_back(t, 0)
            continue
        now += more
        if now < least - MIN_GAIN:
            least = now
            best[:] = t.mask
    return best


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
