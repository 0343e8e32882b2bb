"""Partners for rank swapping."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling

Floats = NDArray[np.float64]
Ranks = NDArray[np.intp]


def swap_partners(draws: Floats, window: int) -> Ranks:
    """Pair ranks from the lowest up: rank i with the floor(draws[i] * m)-th of the m free ranks in its window."""
    return next(partners_by_stretch(lambda _: draws, len(draws), window, len(draws)))


def partners_by_stretch(draw: Callable[[int], Floats], ranks: int, window: int, width: int) -> Iterator[Ranks]:
    """Yield the partner of each rank, of so many ranks at a time; ``draw`` gives the next so many draws.

    Who is paired with whom does not depend on the width: a rank looks no further than its window.

    >>> stream = np.random.default_rng(1)
    >>> np.concatenate(list(partners_by_stretch(stream.random, 8, 3, 3))).tolist()
    [2, 4, 0, 6, 1, 7, 3, 5]
    >>> swap_partners(np.random.default_rng(1).random(8), 3).tolist()
    [2, 4, 0, 6, 1, 7, 3, 5]
    """
    pair_up = plain_pair_up
    if worth_compiling(ranks):
        from sfumato.kernels.rank_swapping import compiled

        pair_up = compiled.pair_up
    free, partner = np.ones(0, dtype=bool), np.empty(0, dtype=np.intp)
    for first in range(0, ranks, max(width, 1)):
        number = min(width, ranks - first)
        length = min(number + window, ranks - first)
        new = length - len(free)
        free = np.concatenate([free, np.ones(new, dtype=bool)])
        partner = np.concatenate([partner, np.arange(length - new, length)])
        pair_up(draw(number), free, partner, window)
        yield first + partner[:number]
        free, partner = free[number:], partner[number:] - number


def plain_pair_up(draws: Floats, free: NDArray[np.bool_], partner: NDArray[np.intp], window: int) -> None:
    """Pair ranks from the lowest up: rank i with the floor(draws[i] * m)-th of the m free ranks in its window.

    There is a draw for each rank that has its turn; ``free`` and ``partner`` go on beyond these by the window, and are
    changed in place.
    """
    for i in range(draws.size):
        if not free[i]:
            continue
        free[i] = False
        choices = np.flatnonzero(free[i + 1 : i + 1 + window])
        if choices.size:
            j = i + 1 + int(choices[int(draws[i] * choices.size)])
            partner[i], partner[j] = j, i
            free[j] = False
