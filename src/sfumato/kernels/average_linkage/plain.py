"""Average linkage of a few points: the nearest cluster found among all."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


class Merges(NamedTuple):
    """The tree: a cluster goes by its lowest point, so each point but point 0 is once merged into a lower one."""

    into: Integers  # the cluster that took this one in; -1 for point 0
    height: Floats  # mean squared distance at which it did
    step: Integers  # how many merges came before


def merges(points: Floats, masses: Floats) -> Merges:
    """Follow nearest neighbours, each found among all clusters.

    Of clusters as near as each other, the one that led here is taken, else the one with the lowest point.
    """
    n = len(points)
    centres = np.array(points.T, order="C")
    mass = masses.astype(np.float64)
    spread = np.zeros(n)  # infinite where a cluster is no more
    free = np.zeros(n)  # the spread of those that are not on the chain, infinite for those that are
    tree = Merges(np.full(n, -1), np.zeros(n), np.zeros(n, dtype=np.intp))
    reached = np.zeros(n)
    chain: list[int] = []
    first = 0
    for step in range(n - 1):
        if not chain:
            while spread[first] == np.inf:
                first += 1
            chain.append(first)
            free[first] = np.inf
        while True:
            tip = chain[-1]
            apart = _squared_gaps(centres, tip)
            before = chain[-2] if len(chain) > 1 else -1
            nearest = int(np.argmin(apart + free))
            if before >= 0 and apart[before] + spread[before] <= apart[nearest] + free[nearest]:
                break
            chain.append(nearest)
            free[nearest] = np.inf
        low, high = min(tip, before), max(tip, before)
        height = max(apart[before] + spread[before] + spread[tip], reached[low], reached[high])
        tree.into[high], tree.height[high], tree.step[high] = low, height, step
        total = mass[low] + mass[high]
        share = mass[high] / total
        spread[low] = (1 - share) * spread[low] + share * spread[high] + share * (1 - share) * apart[before]
        centres[:, low] += share * (centres[:, high] - centres[:, low])
        mass[low], reached[low] = total, height
        spread[high] = np.inf
        del chain[-2:]
        free[low], free[high] = spread[low], np.inf
    return tree


def _squared_gaps(centres: Floats, tip: int) -> Floats:
    squared = np.zeros(centres.shape[1])
    for column in centres:  # one after the other, as the compiled search adds them
        gap = column - column[tip]
        squared += gap * gap
    return squared
