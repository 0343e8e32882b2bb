"""Rank swapping of large tables: the free ranks counted in a Fenwick tree."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled


@compiled
def pair_up(draws: NDArray[np.float64], free: NDArray[np.bool_], partner: NDArray[np.intp], window: int) -> None:
    """Pair ranks from the lowest up: rank i with the floor(draws[i] * m)-th of the m free ranks in its window.

    There is a draw for each rank that has its turn; ``free`` and ``partner`` go on beyond these by the window, and are
    changed in place. Counting and finding the free ranks of a window takes log n steps, whatever the window.
    """
    n = free.size
    # tree[i] counts the free ranks among the i & -i ranks that end at rank i - 1
    tree = np.zeros(n + 1, dtype=np.intp)
    for i in range(1, n + 1):
        tree[i] += free[i - 1]
        above = i + (i & -i)
        if above <= n:
            tree[above] += tree[i]
    top = 1
    while 2 * top <= n:
        top *= 2
    # free ranks below rank i: none, as every rank below has had its turn
    for i in range(draws.size):
        if not free[i]:
            continue
        free[i] = False
        _take(tree, i)
        count = _free_before(tree, min(n, i + 1 + window))
        if count > 0:
            j = _find(tree, int(draws[i] * count), top)
            partner[i], partner[j] = j, i
            free[j] = False
            _take(tree, j)


@compiled
def _take(tree: NDArray[np.intp], rank: int) -> None:
    position = rank + 1
    while position < tree.size:
        tree[position] -= 1
        position += position & -position


@compiled
def _free_before(tree: NDArray[np.intp], rank: int) -> int:
    total = 0
    while rank > 0:
        total += tree[rank]
        rank -= rank & -rank
    return total


@compiled
def _find(tree: NDArray[np.intp], nth: int, top: int) -> int:
    """Return the rank of the nth free one, counted from 0."""
    position = 0
    step = top
    while step > 0:
        if position + step < tree.size and tree[position + step] <= nth:
            position += step
            nth -= tree[position]
        step //= 2
    return position
