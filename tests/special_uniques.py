"""Minimal sample uniques by brute force, for the tests of the search and of SUDA2."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Found = set[tuple[int, tuple[int, ...]]]


def brute_force(codes: Codes, size: int) -> Found:
    """Every record and every set of its keys, from small to large: alone on it, and on no part of it."""
    found = set()
    for i, record in enumerate(codes):
        minimal: list[tuple[int, ...]] = []
        for s in range(1, size + 1):
            for keys in combinations([key for key in range(codes.shape[1]) if record[key] >= 0], s):
                if any(set(smaller) <= set(keys) for smaller in minimal):
                    continue
                others = np.delete(codes, i, axis=0)[:, list(keys)]
                mine = record[list(keys)]
                if not ((others == mine) | (others < 0)).all(axis=1).any():
                    minimal.append(keys)
                    found.add((i, keys))
    return found
