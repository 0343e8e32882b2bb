"""Pairs of similar units in different places, the units that need one first."""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import classes

Integers = NDArray[np.int64]

SWAPPED, NO_PARTNER, NOT_REACHED = 1, 2, 0


def swap_pairs(
    profile: Integers, places: Integers, level: Integers, turn: Iterable[int], luck: NDArray[np.float64], pairs: int
) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
    """Return each unit's partner (itself where it has none) and what became of it, of at most ``pairs`` pairs.

    ``places`` holds one column per level from coarse to fine, each numbering the places of its level within those
    above. The units take their ``turn``; one not yet paired gets the free unit of its ``profile`` with the lowest
    ``luck`` among those in another place of its ``level`` but the same place above, or else in any other place.
    """
    partner = np.arange(len(profile))
    state = np.full(len(profile), NOT_REACHED, dtype=np.int8)
    free = np.ones(len(profile), dtype=bool)
    order = np.argsort(luck, kind="stable")
    pools: dict[tuple[int, bool], _Pools] = {}
    made = 0
    for unit in turn:
        if made == pairs:
            break
        if not free[unit]:
            continue
        depth = int(level[unit])
        for within in (True, False) if depth else (False,):
            if (depth, within) not in pools:
                above = places[:, depth - 1] if within else np.zeros(len(profile), dtype=np.int64)
                pools[depth, within] = _Pools(np.column_stack([profile, above]), places[:, depth], order)
            found = pools[depth, within].first(unit, free)
            if found >= 0:
                partner[unit], partner[found] = found, unit
                free[unit] = free[found] = False
                state[unit] = state[found] = SWAPPED
                made += 1
                break
        else:
            state[unit] = NO_PARTNER
    return partner, state


class _Pools:
    """The units that may be paired with each other: in each place a queue of them, the queues by their luckiest."""

    def __init__(self, alike: Integers, place: Integers, order: NDArray[np.intp]) -> None:
        self.pool, _ = classes(alike)
        self.place = place
        self.order = order
        queues: dict[int, dict[int, list[int]]] = {}
        for rank in range(len(order) - 1, -1, -1):  # the luckiest last, where a list gives it up at once
            unit = order[rank]
            queues.setdefault(int(self.pool[unit]), {}).setdefault(int(place[unit]), []).append(rank)
        # heaps of (rank of the luckiest, queue): a queue per place, so that no search grows with the number of places
        self.heaps = {pool: [(queue[-1], queue) for queue in found.values()] for pool, found in queues.items()}
        for heap in self.heaps.values():
            heapify(heap)

    def first(self, unit: int, free: NDArray[np.bool_]) -> int:
        """Return the luckiest free unit of the pool in another place, or -1."""
        heap = self.heaps[int(self.pool[unit])]
        best = self._luckiest(heap, free)
        if best < 0 or self.place[best] != self.place[unit]:
            return best
        own = heappop(heap)  # of all other queues then
        best = self._luckiest(heap, free)
        heappush(heap, own)
        return best

    def _luckiest(self, heap: list[tuple[int, list[int]]], free: NDArray[np.bool_]) -> int:
        """Return the luckiest free unit of all queues, and drop those before it that are no longer free."""
        while heap:
            rank, queue = heap[0]
            if free[self.order[rank]]:
                return int(self.order[rank])
            heappop(heap)
            while queue and not free[self.order[queue[-1]]]:
                queue.pop()
            if queue:
                heappush(heap, (queue[-1], queue))
        return -1
