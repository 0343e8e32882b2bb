"""The heaviest one-to-one matching of records, over the pairs of positive weight only, compiled.

Shortest augmenting paths after a round of bidding (Jonker and Volgenant 1987, Computing 38, 325-340), with
one ending more: a path may end at a record that gives up its link. Weights are whole numbers, so that ties are
ties and the result is exactly optimal. Left records of one kind share one list of candidates.

Throughout, profit[i] + price[j] >= weight of (i, j), with equality on links; profits and prices are never
negative, and are zero for records without a link: that certifies the matching as the heaviest.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.assignment.plain import Codes, Floats
from sfumato.kernels.compiling import compiled

Integers = NDArray[np.int64]
Indices = NDArray[np.int32]

BIDS_PER_RECORD = 4
"""When bidding has taken this many bids per record, what is left is dearer to bid for than to search for."""

UNITS_PER_BIT = 2.0**32
"""Weights are compared as whole multiples of 2^-32 bit: far below their error, far above rounding's."""


def heaviest_assignment(left: Codes, right: Codes, allowed: Floats) -> NDArray[np.int64]:
    """The right record linked to each left record (-1: none), by the pairs of positive weight only."""
    kinds, kind = np.unique(left, axis=0, return_inverse=True)
    starts, members = bin_members(right)
    whole = np.rint(allowed * UNITS_PER_BIT).astype(np.int64)
    first, columns, patterns = positive_pairs(kinds, starts, members, whole, len(right))
    partner, _, _ = heaviest_matching(kind.ravel(), first, columns, patterns, whole, len(right))
    return partner


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
def positive_pairs(
    kinds: Indices, starts: Integers, members: Indices, weights: Integers, records: int
) -> tuple[Integers, Indices, NDArray[np.uint16]]:
    """For each kind of left record, the right records it may be linked to, and the patterns of agreement.

    Only right records that share a bin with the kind are visited; ``starts`` and ``members`` list them.
    """
    patterns = np.zeros(records, np.uint16)
    touched = np.empty(records, np.int32)
    first = np.zeros(len(kinds) + 1, np.int64)
    for kind in range(len(kinds)):
        reached = _agreements(kinds[kind], starts, members, patterns, touched)
        count = 0
        for at in range(reached):
            count += weights[patterns[touched[at]]] > 0
            patterns[touched[at]] = 0
        first[kind + 1] = first[kind] + count
    columns = np.empty(first[-1], np.int32)
    found = np.empty(first[-1], np.uint16)
    edge = 0
    for kind in range(len(kinds)):
        _agreements(kinds[kind], starts, members, patterns, touched)
        # In the (random) order of the records: by variable, ties would go to those that agree on the first.
        for j in range(records):
            if weights[patterns[j]] > 0:
                columns[edge] = j
                found[edge] = patterns[j]
                edge += 1
            patterns[j] = 0
    return first, columns, found


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


@compiled
def heaviest_matching(
    kind: Integers,
    first: Integers,
    columns: Indices,
    patterns: NDArray[np.uint16],
    weights: Integers,
    records: int,
) -> tuple[Integers, Integers, Integers]:
    """The right record of each left record (-1: none), with the profits and prices that certify it."""
    profit = np.zeros(len(kind), np.int64)
    price = np.zeros(records, np.int64)
    partner = np.full(len(kind), -1, np.int64)
    owner = np.full(records, -1, np.int64)
    edges = (kind, first, columns, patterns, weights)
    left_over = _bid(edges, profit, price, partner, owner)
    distance = np.zeros(records, np.int64)
    via = np.zeros(records, np.int64)
    state = np.zeros(records, np.int8)
    reached = np.zeros(records, np.int64)
    settled = np.zeros(records, np.int64)
    for source in left_over:
        profit[source] = _best(edges, source, price)[0]
        if profit[source] > 0:
            _search(edges, source, profit, price, partner, owner, distance, via, state, reached, settled)
    return partner, profit, price


Edges = tuple[Integers, Integers, Indices, NDArray[np.uint16], Integers]


@compiled
def _best(edges: Edges, row: int, price: Integers) -> tuple[int, int, int]:
    """The greatest profit at the present prices, the second greatest, and where the greatest is (-1: none)."""
    kind, first, columns, patterns, weights = edges
    best = second = 0
    at = -1
    for edge in range(first[kind[row]], first[kind[row] + 1]):
        value = weights[patterns[edge]] - price[columns[edge]]
        if value > best:
            best, second, at = value, best, columns[edge]
        elif value > second:
            second = value
    return best, second, at


@compiled
def _bid(edges: Edges, profit: Integers, price: Integers, partner: Integers, owner: Integers) -> Integers:
    """Each record takes its best, raising the price to its second best; the outbid and the tied are returned."""
    kind, first, columns, patterns, weights = edges
    left_over = np.empty(len(kind), np.int64)
    waiting = 0
    bids_left = BIDS_PER_RECORD * len(kind)
    for newcomer in range(len(kind)):
        row = newcomer
        while row >= 0:
            best, second, at = _best(edges, row, price)
            profit[row] = second
            if at < 0:
                break
            if best == second and owner[at] >= 0:
                # A tie cannot outbid the owner; a free record among the tied ones serves as well.
                at = -1
                for edge in range(first[kind[row]], first[kind[row] + 1]):
                    j = columns[edge]
                    if owner[j] < 0 and weights[patterns[edge]] - price[j] == best:
                        at = j
                        break
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
    kind, first, columns, patterns, weights = edges
    reached_count = settled_count = scanned = 0
    now = 0
    row = source
    # Cheapest ending so far: a free right record, or (end < 0) a left record that stays without a link.
    cost, end, loser = profit[source], -1, source
    while True:
        for edge in range(first[kind[row]], first[kind[row] + 1]):
            j = columns[edge]
            if state[j] == 2:
                continue
            length = now + profit[row] + price[j] - weights[patterns[edge]]
            if length >= cost or (state[j] == 1 and length >= distance[j]):
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
