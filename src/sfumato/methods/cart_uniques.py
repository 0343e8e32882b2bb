"""Synthetic records that equal, in every variable, an original record that is alone with its values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Digests = NDArray[np.uint64]


def digests(columns: Sequence[NDArray[Any]]) -> Digests:
    """Return a number per record that equal records share; others do so once in 10^19 pairs."""
    found = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        numbers = column.astype(np.float64) + 0.0  # so that -0.0 is 0.0
        numbers[np.isnan(numbers)] = np.nan  # of one pattern of bits
        found = _mixed(found ^ numbers.view(np.uint64))
    return found


def alone(found: Digests) -> Digests:
    """Return the numbers that only one record has, in ascending order."""
    numbers, counts = np.unique(found, return_counts=True)
    return np.asarray(numbers[counts == 1])


def among(found: Digests, sorted_numbers: Digests) -> NDArray[np.intp]:
    """Return the places of the records whose number is among these."""
    if not sorted_numbers.size:
        return np.empty(0, dtype=np.intp)
    place = np.minimum(np.searchsorted(sorted_numbers, found), sorted_numbers.size - 1)
    return np.flatnonzero(sorted_numbers[place] == found)


def _mixed(numbers: Digests) -> Digests:
    """Scatter numbers over all 64 bits, one to one (the finaliser of splitmix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
