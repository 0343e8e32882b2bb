"""The heaviest one-to-one matching of records, over the pairs of positive weight only, compiled.

Shortest augmenting paths after a round of bidding (Jonker and Volgenant 1987, Computing 38, 325-340), with
one ending more: a path may end at a record that gives up its link. Weights are whole numbers, so that ties are
ties and the result is exactly optimal. Left records of one kind share one list of candidates, the heaviest first:
few different weights exist, and most pairs weigh too little to matter.

Throughout, profit[i] + price[j] >= weight of (i, j), with equality on links; profits and prices are never
negative, and are zero for records without a link: that certifies the matching as the heaviest.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.assignment import Codes, Floats
from sfumato.kernels.compiling import compiled

Integers = NDArray[np.int64]
Indices = NDArray[np.int32]

BIDS_PER_RECORD = 4
"""When bidding has taken this many bids per record, what is left is dearer to bid for than to search for."""
UNITS_PER_BIT = 2.0**32
"""Weights are compared as whole multiples of 2^-32 bit: far below their error, far above rounding's."""


class Edges(NamedTuple):
    """The pairs of positive weight: for each kind of left record the right ones, the heaviest first.

    The groups of kind i are ``range(kinds[i], kinds[i + 1])``; those of group g weigh ``weights[g]`` each and are
    ``columns[starts[g] : ends[g]]``, in ascending order. Who agrees on one variable is in the bin of that variable, and
    the bin serves as a group for all kinds that share it. It also holds records that agree on more: these are listed
    before with their own weight, which is no smaller, so that listing them again changes nothing.
    """

    kinds: Integers
    starts: Integers
    ends: Integers
    weights: Integers
    columns: Indices


def heaviest_assignment(left: Codes, right: Codes, allowed: Floats) -> NDArray[np.int64]:
    """The right record linked to each left record (-1: none), by the pairs of positive weight only."""
    kinds, kind = np.unique(left, axis=0, return_inverse=True)
    edges = positive_pairs(kinds, right, np.rint(allowed * UNITS_PER_BIT).astype(np.int64))
    partner, _, _ = heaviest_matching(kind.ravel(), edges, len(right))
    return partner


@compiled
def heaviest_matching(kind: Integers, edges: Edges, records: int) -> tuple[Integers, Integers, Integers]:
    """The right record of each left record (-1: none), with the profits and prices that certify it."""
    profit = np.zeros(len(kind), np.int64)
    price = np.zeros(records, np.int64)
    partner = np.full(len(kind), -1, np.int64)
    owner = np.full(records, -1, np.int64)
    left_over = _bid(kind, edges, profit, price, partner, owner)
    distance = np.zeros(records, np.int64)
    via = np.zeros(records, np.int64)
    state = np.zeros(records, np.int8)
    reached = np.zeros(records, np.int64)
    settled = np.zeros(records, np.int64)
    for source in left_over:
        profit[source] = _best(edges, kind[source], price)[0]
        if profit[source] > 0:
            _search(kind, edges, source, profit, price, partner, owner, distance, via, state, reached, settled)
    return partner, profit, price


@compiled
def _best(edges: Edges, kind: int, price: Integers) -> tuple[int, int, int]:
    """The greatest profit at the present prices, the second greatest, and where the greatest is (-1: none).

    Prices are never negative, so what weighs less than the second best profit need not be looked at.
    """
    best = second = 0
    at = -1
    for group in range(edges.kinds[kind], edges.kinds[kind + 1]):
        weight = edges.weights[group]
        if weight < second:
            break
        here = after = 0
        place = -1
        for edge in range(edges.starts[group], edges.ends[group]):
            value = weight - price[edges.columns[edge]]
            if value > here:
                here, after, place = value, here, edges.columns[edge]
            elif value > after:
                after = value
        if here > best:
            best, second, at = here, max(best, after), place
        elif here == best and place >= 0:
            second, at = best, min(at, place)  # a tie goes to the first in the (random) order, not to the heavier
        else:
            second = max(second, here)
    return best, second, at


@compiled
def _free_among_best(edges: Edges, kind: int, price: Integers, owner: Integers, best: int) -> int:
    """The first right record without a link that gives the best profit; -1 if there is none."""
    at = -1
    for group in range(edges.kinds[kind], edges.kinds[kind + 1]):
        weight = edges.weights[group]
        if weight < best:
            break
        for edge in range(edges.starts[group], edges.ends[group]):
            j = edges.columns[edge]
            if owner[j] < 0 and weight - price[j] == best:
                at = j if at < 0 else min(at, j)
                break
    return at


@compiled
def _bid(
    kind: Integers, edges: Edges, profit: Integers, price: Integers, partner: Integers, owner: Integers
) -> Integers:
    """Each record takes its best, raising the price to its second best; the outbid and the tied are returned."""
    left_over = np.empty(len(kind), np.int64)
    waiting = 0
    bids_left = BIDS_PER_RECORD * len(kind)
    for newcomer in range(len(kind)):
        row = newcomer
        while row >= 0:
            best, second, at = _best(edges, kind[row], price)
            profit[row] = second
            if at < 0:
                break
            if best == second and owner[at] >= 0:
                # A tie cannot outbid the owner; a free record among the tied ones serves as well.
                at = _free_among_best(edges, kind[row], price, owner, best)
                if at < 0:
                    left_over[waiting] = row
                    waiting += 1
                    break
            price[at] += best - second
            outbid = owner[at]
            owner[at] = row
            partner[row] = at
            row = outbid
            if outbid >= 0:
                partner[outbid] = -1
                bids_left -= 1
                if bids_left < 0:
                    left_over[waiting] = outbid
                    waiting += 1
                    row = -1
    return left_over[:waiting]


@compiled
def _search(
    kind: Integers,
    edges: Edges,
    source: int,
    profit: Integers,
    price: Integers,
    partner: Integers,
    owner: Integers,
    distance: Integers,
    via: Integers,
    state: NDArray[np.int8],
    reached: Integers,
    settled: Integers,
) -> None:
    """Link ``source`` along the cheapest chain of changes, or leave unlinked the one who loses least.

    ``state`` of a right record: 0 not reached, 1 reached, 2 settled; all 0 before and after.
    """
    reached_count = settled_count = scanned = 0
    now = 0
    row = source
    # Cheapest ending so far: a free right record, or (end < 0) a left record that stays without a link.
    cost, end, loser = profit[source], -1, source
    while True:
        for group in range(edges.kinds[kind[row]], edges.kinds[kind[row] + 1]):
            base = now + profit[row] - edges.weights[group]
            if base >= cost:
                break  # prices are never negative, and all that follows weighs less
            for edge in range(edges.starts[group], edges.ends[group]):
                j = edges.columns[edge]
                length = base + price[j]
                if state[j] == 2 or length >= cost or (state[j] == 1 and length >= distance[j]):
                    continue
                if state[j] == 0:
                    state[j] = 1
                    reached[reached_count] = j
                    reached_count += 1
                distance[j] = length
                via[j] = row
                if owner[j] < 0:
                    cost, end = length, j
                elif length == now:
                    state[j] = 2
                    settled[settled_count] = j
                    settled_count += 1
        if cost > now and scanned == settled_count:
            nearest = cost
            for at in range(reached_count):
                if state[reached[at]] == 1 and distance[reached[at]] < nearest:
                    nearest = distance[reached[at]]
            now = nearest
            if now < cost:
                for at in range(reached_count):
                    j = reached[at]
                    if state[j] == 1 and distance[j] == now:
                        state[j] = 2
                        settled[settled_count] = j
                        settled_count += 1
        if cost <= now:
            break
        row = owner[settled[scanned]]
        scanned += 1
        if now + profit[row] < cost:
            cost, end, loser = now + profit[row], -1, row
            if cost <= now:
                break

    profit[source] -= cost
    for at in range(settled_count):
        j = settled[at]
        price[j] += cost - distance[j]
        profit[owner[j]] -= cost - distance[j]
    for at in range(reached_count):
        state[reached[at]] = 0
    if end < 0:
        end = partner[loser]
        partner[loser] = -1
        if loser == source:
            return
    row = -1
    while row != source:
        row = via[end]
        owner[end] = row
        partner[row], end = end, partner[row]


def positive_pairs(kinds: Codes, right: Codes, weights: Integers) -> Edges:
    """For each kind of left record the right records it may be linked to, ordered by weight.

    ``weights`` has one entry per pattern of agreement. There are few different ones, so the pairs need not be sorted:
    they are dealt out to the classes of equal weight.
    """
    variables = right.shape[1]
    classes = np.unique(weights[weights > 0])[::-1]
    class_of = np.where(weights > 0, len(classes) - np.searchsorted(classes[::-1], weights) - 1, -1)
    shared = np.bincount(class_of[class_of >= 0], minlength=len(classes)) > 1
    whole_bin = np.full(variables, -1)  # the class of those who agree on this variable, if its bins can serve as groups
    for j in range(variables):
        alone = class_of[1 << j]
        with_more = weights[np.arange(len(weights)) >> j & 1 > 0]
        if alone >= 0 and not shared[alone] and with_more.min() >= weights[1 << j]:
            whole_bin[j] = alone
            class_of[1 << j] = -1
    starts, members = bin_members(right)
    found = _dealt_out(kinds, starts, members, class_of, shared, whole_bin)
    return Edges(found[0], found[1], found[2], classes[found[3]], found[4])


def bin_members(codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """For each variable the records ordered by bin (members) and where each bin begins (starts)."""
    largest = int(codes.max(initial=0)) + 1
    starts = np.zeros((codes.shape[1], largest + 1), dtype=np.int64)
    members = np.empty((codes.shape[1], len(codes)), dtype=np.int32)
    for j in range(codes.shape[1]):
        order = np.argsort(codes[:, j], kind="stable")
        members[j] = order
        starts[j] = np.searchsorted(codes[order, j], np.arange(largest + 1))
    return starts, members


@compiled
def _dealt_out(
    kinds: Indices,
    starts: Integers,
    members: Indices,
    class_of: Integers,
    shared: NDArray[np.bool_],
    whole_bin: Integers,
) -> tuple[Integers, Integers, Integers, Integers, Indices]:
    """The groups of each kind: where they start and end, their classes, and the right records.

    Only records that share a bin with the kind are visited. The records of all bins come first among the columns.
    """
    variables, records = members.shape
    patterns = np.zeros(records, np.uint16)
    touched, waiting = np.empty(records, np.int32), np.empty(records, np.int32)
    count, place = np.zeros(len(shared), np.int64), np.zeros(len(shared), np.int64)
    used = np.empty(len(shared), np.int64)
    of_kind = np.zeros(len(kinds) + 1, np.int64)
    groups = np.empty((3, len(kinds) + 1024), np.int64)  # start, end, class
    columns = np.empty(members.size + 1024, np.int32)
    columns[: members.size] = members.ravel()
    filled, dealt = members.size, 0
    for kind in range(len(kinds)):
        reached = _agreements(kinds[kind], starts, members, patterns, touched)
        classes = kept = 0
        for at in range(reached):
            j = touched[at]
            found = class_of[patterns[j]]
            if found >= 0:
                if count[found] == 0:
                    used[classes] = found
                    classes += 1
                count[found] += 1
                waiting[kept] = j
                kept += 1
            else:
                patterns[j] = 0
        for j in range(variables):
            if whole_bin[j] >= 0 and kinds[kind, j] >= 0 and kinds[kind, j] + 1 < starts.shape[1]:
                used[classes] = whole_bin[j]
                classes += 1
        used[:classes].sort()
        columns = _with_room(columns, filled + kept)
        if dealt + classes > groups.shape[1]:
            larger = np.empty((3, 2 * groups.shape[1] + classes), np.int64)
            larger[:, :dealt] = groups[:, :dealt]
            groups = larger
        for at in range(classes):
            c = used[at]
            groups[0, dealt], groups[1, dealt], groups[2, dealt] = filled, filled + count[c], c
            place[c] = filled
            filled += count[c]
            if count[c] == 0:  # a bin
                j = 0
                while whole_bin[j] != c:
                    j += 1
                code = kinds[kind, j]
                groups[0, dealt], groups[1, dealt] = j * records + starts[j, code], j * records + starts[j, code + 1]
            dealt += 1
        for at in range(kept):
            j = waiting[at]
            c = class_of[patterns[j]]
            columns[place[c]] = j
            place[c] += 1
            patterns[j] = 0
        for at in range(classes):
            c = used[at]
            # Records of one pattern come in their (random) order. Where patterns share a weight they would come pattern
            # by pattern, and ties would go to those that agree on the first variable.
            if shared[c] and count[c] > 1:
                columns[place[c] - count[c] : place[c]].sort()
            count[c] = 0
        of_kind[kind + 1] = dealt
    return of_kind, groups[0, :dealt].copy(), groups[1, :dealt].copy(), groups[2, :dealt].copy(), columns[:filled]


@compiled
def _with_room(columns: Indices, needed: int) -> Indices:
    """The same array, or a larger one that begins with it."""
    if needed <= len(columns):
        return columns
    larger = np.empty(max(needed, len(columns) + len(columns) // 2), np.int32)
    larger[: len(columns)] = columns
    return larger


@compiled
def _agreements(
    bins: Indices, starts: Integers, members: Indices, patterns: NDArray[np.uint16], touched: Indices
) -> int:
    """Note the pattern of every right record that shares a bin; how many there are."""
    reached = 0
    for variable in range(len(bins)):
        code = bins[variable]
        if code < 0 or code + 1 >= starts.shape[1]:
            continue
        for at in range(starts[variable, code], starts[variable, code + 1]):
            j = members[variable, at]
            if patterns[j] == 0:
                touched[reached] = j
                reached += 1
            patterns[j] |= np.uint16(1 << variable)
    return reached
