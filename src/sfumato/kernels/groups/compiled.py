"""Whole numbers of a large table numbered anew, from 0 in the order of first appearance."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Integers = NDArray[np.int64]


@compiled
def number_few(values: Integers, number: int) -> Integers:
    """Number values that lie in [0, number), in place, and return how often each occurs: a table of all of them."""
    place = np.full(number, -1, dtype=np.int32)
    counts = np.empty(min(number, values.size), dtype=np.int64)
    found = 0
    for i in range(values.size):
        value = values[i]
        if place[value] < 0:
            place[value] = found
            counts[found] = 0
            found += 1
        counts[place[value]] += 1
        values[i] = place[value]
    return counts[:found].copy()


@compiled
def number_many(values: Integers) -> Integers:
    """Number values in place, and return how often each occurs: a hash table that grows when it is half full."""
    room = 1 << 16
    slots = np.full(room, -1, dtype=np.int32)  # the number of the value kept there
    keys = np.empty(room // 2, dtype=np.int64)  # the value of each number
    counts = np.zeros(room // 2, dtype=np.int64)
    found = 0
    for i in range(values.size):
        value = values[i]
        slot = _slot(value, room)
        while slots[slot] >= 0 and keys[slots[slot]] != value:
            slot = (slot + 1) & (room - 1)
        if slots[slot] < 0:
            if found == keys.size:
                room *= 4 if room < values.size else 2
                slots = np.full(room, -1, dtype=np.int32)
                for number in range(found):
                    free = _slot(keys[number], room)
                    while slots[free] >= 0:
                        free = (free + 1) & (room - 1)
                    slots[free] = number
                keys, counts = _longer(keys, room // 2), _longer(counts, room // 2)
                slot = _slot(value, room)
                while slots[slot] >= 0:
                    slot = (slot + 1) & (room - 1)
            slots[slot] = found
            keys[found] = value
            counts[found] = 0
            found += 1
        counts[slots[slot]] += 1
        values[i] = slots[slot]
    return counts[:found].copy()


@compiled
def _slot(value: int, room: int) -> int:
    """Scatter a value over the table: products with odd constants, high bits folded into low ones."""
    mixed = np.uint64(value)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(room - 1))  # type: ignore[return-value]


@compiled
def _longer(array: Integers, length: int) -> Integers:
    longer = np.empty(length, dtype=np.int64)
    longer[: array.size] = array
    return longer
