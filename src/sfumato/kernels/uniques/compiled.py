"""The search for minimal sample uniques in a large table, in machine code.

Rows travel with their codes, packed into a few words, so that rows that agree lie together in memory. Groups of rows
that agree in some keys are on a stack: the next key splits a group, and its parts are the groups on top. No array is
made or renamed on the way, because numba would then count the references to it at every step.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Integers = NDArray[np.int64]
Rows = NDArray[np.int32]
N = TypeVar("N", bound=np.generic)
Codes = NDArray[np.int32]

MAX_ROWS_UNMERGED = 16  # rows of a group up to which equal ones are not merged
WORD, SHIFT, MASK, POWER, UPTO = range(5)  # of a key: see ``search``
GROUP, END, AGREED, KEY, KEYS = range(5)  # of a line of the stack: see ``search``
TOP, MERGED, WANTED = range(3)  # of the state: see ``search``
SIZE, PLACE = range(2)  # of a part of a group: its rows, and where the next of them goes
BITS = 62  # of a word
MERGED_BITS = 17  # of the keys up to which equal rows are merged: a table of so many entries stays in the cache


@compiled
def search(
    codes: Integers,
    rows: Rows,
    ends: Integers,
    fields: Integers,
    stack: Integers,
    state: Integers,
    parts: Integers,
    seen: Integers,
    some_codes: Integers,
    some_rows: Rows,
    found_rows: Rows,
    found_sets: Integers,
) -> int:
    """Note rows and sets of keys that they are alone on, all minimal ones among them; return how many are noted.

    A group are the entries of ``codes`` and ``rows`` from its first up to the place that ``ends`` has there. Row r is
    written as r if it can be alone, and as -1 - r if it only stands in the way of others. ``fields`` tells of each key
    the word of the codes in which it is, the bit from which on, the bits, its power of two, and the bits that it and
    the keys before it take in the first word, 0 if these are too many for ``seen``.

    Line t of the stack tells of the groups that agree in t keys: the group to be split next, the end of the last one,
    the keys in which they agree, the key to add next, and the end of the keys to add. ``state`` is the line on top, -1
    when all is done, how often rows were merged, and the entries that are wanted where there is no room for the next
    groups. The search stops, to be called again, if there is no room for them or for what is found.
    """
    top, merged, found = state[TOP], state[MERGED], 0
    while top >= 0:
        low, high = stack[top, GROUP], stack[top, END]
        if low == high:
            top -= 1
            continue
        end, key = ends[low], stack[top, KEY]
        if found + 2 * len(fields) + end - low > len(found_rows):
            break
        if key == 0 and end - low == 2:
            found = alone_of_two(
                codes, rows, low, fields, stack[top, KEYS], stack[top, AGREED], found_rows, found_sets, found
            )
            stack[top, GROUP] = end
            continue
        if key == stack[top, KEYS] or (key == 0 and not can_be_alone(rows, low, end)):
            stack[top, GROUP], stack[top, KEY] = end, 0
            continue
        word, shift, mask = fields[key, WORD], fields[key, SHIFT], fields[key, MASK]
        agreed = stack[top, AGREED] | fields[key, POWER]
        if key == 0 or top + 1 == len(stack):  # no further key is added to these
            found = alone_of_many(
                codes, rows, low, end, word, shift, mask, agreed, parts, found_rows, found_sets, found
            )
            stack[top, KEY] = key + 1
            continue
        merged += 1
        alike = fields[key, UPTO] if end - low > MAX_ROWS_UNMERGED else 0
        number, lacking = different(
            codes, rows, low, end, word, shift, mask, alike, merged, seen, some_codes, some_rows
        )
        if high + number + min(number, mask) * lacking > len(rows):
            state[WANTED] = high + number + min(number, mask) * lacking
            break
        found, last = split(
            *(some_codes, some_rows, number, lacking, word, shift, mask, agreed, parts),
            *(codes, rows, ends, high, found_rows, found_sets, found),
        )
        stack[top, KEY] = key + 1
        if last > high:
            top += 1
            stack[top, GROUP], stack[top, END], stack[top, AGREED] = high, last, agreed
            stack[top, KEY], stack[top, KEYS] = 0, key
    state[TOP], state[MERGED] = top, merged
    return found


@compiled
def different(
    codes: Integers,
    rows: Rows,
    low: int,
    end: int,
    word: int,
    shift: int,
    mask: int,
    alike: int,
    merged: int,
    seen: Integers,
    to_codes: Integers,
    to_rows: Rows,
) -> tuple[int, int]:
    """Copy a group: rows that have the key from the first place on, those that lack it from the last place backwards.

    Return how many there are of both. Of rows that agree in the bits ``alike``, that is in this key and all before it,
    none can be alone below: the first is copied, and only stands in the way. So do rows that lack the key. ``seen``
    has, for each value of those bits, the number of the last merging and the place of the row.
    """
    number, lacking, last = 0, 0, len(to_rows) - 1
    for i in range(low, end):
        lacks = codes[i, word] >> shift & mask == 0
        at = last - lacking if lacks else number
        if alike:
            before = seen[codes[i, 0] & alike]
            if before >> 32 == merged:
                at = before & 0xFFFFFFFF
                to_rows[at] = min(to_rows[at], ~to_rows[at])
                continue
            seen[codes[i, 0] & alike] = merged << 32 | at
        copy(codes, rows, i, to_codes, to_rows, at)
        if lacks:
            to_rows[at] = min(rows[i], ~rows[i])
            lacking += 1
        else:
            number += 1
    return number, lacking


@compiled
def split(
    codes: Integers,
    rows: Rows,
    number: int,
    lacking: int,
    word: int,
    shift: int,
    mask: int,
    agreed: int,
    parts: Integers,
    to_codes: Integers,
    to_rows: Rows,
    ends: Integers,
    to: int,
    found_rows: Rows,
    found_sets: Integers,
    found: int,
) -> tuple[int, int]:
    """Note the rows that are alone with their value of a key, and put the others in groups of equal values.

    Rows that lack the key are in every group. Return how many are noted, and where the groups end.
    """
    for i in range(number):
        parts[codes[i, word] >> shift & mask, SIZE] += 1
    for i in range(number):
        value = codes[i, word] >> shift & mask
        size = parts[value, SIZE] + lacking
        if size == 1:
            if rows[i] >= 0:
                found_rows[found], found_sets[found] = rows[i], agreed
                found += 1
            continue
        at = parts[value, PLACE]
        if at < 0:  # the first of its group
            at, to = to, to + size
            ends[at] = to
            for j in range(1, lacking + 1):
                copy(codes, rows, len(rows) - j, to_codes, to_rows, to - j)
        copy(codes, rows, i, to_codes, to_rows, at)
        parts[value, PLACE] = at + 1
    for i in range(number):
        value = codes[i, word] >> shift & mask
        parts[value, SIZE], parts[value, PLACE] = 0, -1
    return found, to


@compiled
def copy(codes: Integers, rows: Rows, i: int, to_codes: Integers, to_rows: Rows, at: int) -> None:
    """Copy a row with its codes."""
    to_rows[at] = rows[i]
    for word in range(codes.shape[1]):
        to_codes[at, word] = codes[i, word]


@compiled
def can_be_alone(rows: Rows, low: int, end: int) -> bool:
    """Tell whether any row of a group can be alone."""
    for i in range(low, end):  # noqa: SIM110
        if rows[i] >= 0:
            return True
    return False


@compiled
def alone_of_many(
    codes: Integers,
    rows: Rows,
    low: int,
    end: int,
    word: int,
    shift: int,
    mask: int,
    agreed: int,
    parts: Integers,
    found_rows: Rows,
    found_sets: Integers,
    found: int,
) -> int:
    """Note the rows of a group that are alone with their value of a key; none is, if a row lacks it."""
    for i in range(low, end):
        parts[codes[i, word] >> shift & mask, SIZE] += 1
    if parts[0, SIZE] == 0:
        for i in range(low, end):
            if parts[codes[i, word] >> shift & mask, SIZE] == 1 and rows[i] >= 0:
                found_rows[found], found_sets[found] = rows[i], agreed
                found += 1
    for i in range(low, end):
        parts[codes[i, word] >> shift & mask, SIZE] = 0
    return found


@compiled
def alone_of_two(
    codes: Integers,
    rows: Rows,
    low: int,
    fields: Integers,
    keys: int,
    agreed: int,
    found_rows: Rows,
    found_sets: Integers,
    found: int,
) -> int:
    """Note the keys in which two rows differ: either row is alone on each of them, and no larger set is minimal."""
    for key in range(keys):
        word, shift, mask = fields[key, WORD], fields[key, SHIFT], fields[key, MASK]
        one, other = codes[low, word] >> shift & mask, codes[low + 1, word] >> shift & mask
        if one != other and one > 0 and other > 0:
            for i in range(low, low + 2):
                if rows[i] >= 0:
                    found_rows[found], found_sets[found] = rows[i], agreed | fields[key, POWER]
                    found += 1
    return found


@compiled
def minimal(rows: Rows, sets: Integers, number: int) -> tuple[Integers, Integers]:
    """Return the pairs, row by row, whose set holds no other set of its row; a set comes after those that it holds."""
    start = np.zeros(number + 1, np.int64)
    for i in range(rows.size):
        start[rows[i] + 1] += 1
    for row in range(number):
        start[row + 1] += start[row]
    at, by_row = start[:-1].copy(), np.empty_like(sets)
    for i in range(rows.size):
        by_row[at[rows[i]]] = sets[i]
        at[rows[i]] += 1
    found, kept = 0, np.empty(rows.size, np.int64)
    for row in range(number):
        first = found
        for i in range(start[row], start[row + 1]):
            one, holds = by_row[i], False
            for j in range(first, found):
                if one & by_row[j] == by_row[j]:
                    holds = True
                    break
            if not holds:
                kept[found], by_row[found] = row, one
                found += 1
    return kept[:found], by_row[:found]


def minimal_uniques(cells: Codes, candidate: NDArray[np.bool_], size: int) -> tuple[Integers, Integers]:
    """Return the minimal sample uniques as pairs (row, keys as a sum of 2^column), row by row."""
    number, keys = cells.shape
    # keys of many values come last: most sets hold them, and the groups of those sets are then small
    order = np.argsort(cells.max(axis=0), kind="stable")
    fields = _fields(cells, order)
    codes: Integers = np.zeros((number, int(fields[:, WORD].max()) + 1), dtype=np.int64)
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
            room = 2 * int(state[WANTED])
            codes, rows, ends = _longer(codes, room), _longer(rows, room), _longer(ends, room)
            state[WANTED] = 0
    noted_rows, noted_sets = (np.concatenate(noted) for noted in zip(*found, strict=True))
    return minimal(noted_rows, noted_sets, number)


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


def _longer(array: NDArray[N], length: int) -> NDArray[N]:
    """Return an array with the same first entries and room for more."""
    longer: NDArray[N] = np.empty((length, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
