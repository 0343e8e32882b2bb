"""A large table made ready for the compiled search: keys in a good order, codes packed into words, room to work in."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.uniques.compiled import MASK, TOP, UPTO, WANTED, WORD, minimal, search

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
BITS = 62  # of a word
MERGED_BITS = 17  # of the keys up to which equal rows are merged: a table of so many entries stays in the cache


def minimal_uniques(cells: Codes, candidate: NDArray[np.bool_], size: int) -> tuple[Integers, Integers]:
    """Return the minimal sample uniques as pairs (row, keys as a sum of 2^column), row by row."""
    number, keys = cells.shape
    # keys of many values come last: most sets hold them, and the groups of those sets are then small
    order = np.argsort(cells.max(axis=0), kind="stable")
    fields = _fields(cells, order)
    codes = np.zeros((number, int(fields[:, WORD].max()) + 1), dtype=np.int64)
    for (word, shift, *_), column in zip(fields.tolist(), order, strict=True):
        codes[:, word] |= cells[:, column].astype(np.int64) + 1 << shift
    some_codes, some_rows = np.empty_like(codes), np.empty(number, dtype=np.int32)
    row = np.arange(number, dtype=np.int32)
    room = size * number
    codes, rows = _longer(codes, room), _longer(np.where(candidate, row, ~row), room)
    ends = _longer(np.array([number]), room)
    stack = np.zeros((size, 5), dtype=np.int64)
    stack[0] = 0, number, 0, 0, keys
    state = np.zeros(3, dtype=np.int64)
    parts = np.tile(np.array([0, -1]), (int(fields[:, MASK].max()) + 1, 1))
    seen = np.zeros(int(fields[:, UPTO].max()) + 1, dtype=np.int64)
    found_rows, found_sets = (np.empty(2 * (keys + number), dtype=kind) for kind in (np.int32, np.int64))
    found = []
    while state[TOP] >= 0:
        noted = search(
            codes, rows, ends, fields, stack, state, parts, seen, some_codes, some_rows, found_rows, found_sets
        )
        found.append((found_rows[:noted].copy(), found_sets[:noted].copy()))
        if state[WANTED]:
            codes, rows, ends = (_longer(array, 2 * int(state[WANTED])) for array in (codes, rows, ends))
            state[WANTED] = 0
    return minimal(*(np.concatenate(noted) for noted in zip(*found, strict=True)), number)


def _fields(cells: Codes, order: NDArray[np.intp]) -> Integers:
    """Say of each key where its code is, from 1 on with 0 for missing, and the other figures of the search."""
    fields = np.zeros((len(order), 5), dtype=np.int64)
    word = bit = 0
    for key, column in enumerate(order.tolist()):
        length = (int(cells[:, column].max()) + 1).bit_length()
        if bit + length > BITS:
            word, bit = word + 1, 0
        upto = 2 ** (bit + length) - 1 if word == 0 and bit + length <= MERGED_BITS else 0
        fields[key] = word, bit, 2**length - 1, 2**column, upto
        bit += length
    return fields


def _longer(array: NDArray[np.generic], length: int) -> NDArray[np.generic]:
    """Return an array with the same first entries and room for more."""
    longer = np.empty((length, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
