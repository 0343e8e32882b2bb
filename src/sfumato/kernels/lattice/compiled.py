"""Classes of the rows of a node, and what they come to, in machine code."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@compiled
def numbered(
    codes: Codes, rows: Codes, maps: Codes, columns: Integers, starts: Integers, factors: Integers, class_of: Codes
) -> int:
    """Number the classes of these rows in ``class_of``, in the order of first appearance; return how many there are.

    The group of a row in column ``columns[j]`` is ``maps[starts[j] + code]``; a class is a number in base ``factors``,
    whose first entry is the number of classes found before: ``class_of`` holds those (zeros at first).
    """
    number = factors[0]
    for j in range(columns.size):
        number *= factors[j + 1]
    if number <= 4 * rows.size + 1024:
        return _by_address(codes, rows, maps, columns, starts, factors, class_of, number)
    return _by_hashing(codes, rows, maps, columns, starts, factors, class_of)


@compiled
def _by_address(
    codes: Codes,
    rows: Codes,
    maps: Codes,
    columns: Integers,
    starts: Integers,
    factors: Integers,
    class_of: Codes,
    number: int,
) -> int:
    place = np.full(number, -1, dtype=np.int32)
    found = 0
    for i in range(rows.size):
        row = codes[rows[i]]
        value = np.int64(class_of[i])
        for j in range(columns.size):
            value = value * factors[j + 1] + maps[starts[j] + row[columns[j]]]
        if place[value] < 0:
            place[value] = found
            found += 1
        class_of[i] = place[value]
    return found


@compiled
def _by_hashing(
    codes: Codes, rows: Codes, maps: Codes, columns: Integers, starts: Integers, factors: Integers, class_of: Codes
) -> int:
    room = 1024
    while room < 2 * rows.size:
        room *= 2
    # half of the room for each row at most: a slot is free soon
    slots = np.full(room, -1, dtype=np.int32)
    keys = np.empty(rows.size, dtype=np.int64)
    found = 0
    for i in range(rows.size):
        row = codes[rows[i]]
        value = np.int64(class_of[i])
        for j in range(columns.size):
            value = value * factors[j + 1] + maps[starts[j] + row[columns[j]]]
        mixed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(room - 1))
        while slots[slot] >= 0 and keys[slots[slot]] != value:
            slot = (slot + 1) & (room - 1)
        if slots[slot] < 0:
            slots[slot] = found
            keys[found] = value
            found += 1
        class_of[i] = slots[slot]
    return found


@compiled
def gathered(rows: Codes, counts: Integers, class_of: Codes, first: Codes, sizes: Integers) -> None:
    """Set the first row of each class, and the records in it."""
    found = 0
    for i in range(rows.size):
        c = class_of[i]
        if c == found:
            first[c] = rows[i]
            sizes[c] = 0
            found += 1
        sizes[c] += counts[i]


@compiled
def totals(
    codes: Codes, first: Codes, sizes: Integers, bad: NDArray[np.bool_], starts: Integers, gains: Floats
) -> tuple[int, int, int, float]:
    """Return the records, the classes, the squared sizes and the penalty of the classes that are bad."""
    records, classes, squares, penalty = 0, 0, 0, 0.0
    for c in range(first.size):
        if bad[c]:
            row = codes[first[c]]
            each = 0.0
            for j in range(starts.size):
                each += gains[starts[j] + row[j]]
            records += sizes[c]
            classes += 1
            squares += sizes[c] * sizes[c]
            penalty += sizes[c] * each
    return records, classes, squares, penalty


@compiled
def figures(
    class_of: Codes,
    values: Codes,
    counts: Integers,
    hidden: NDArray[np.bool_],
    extra: Integers,
    number: int,
    whole: Floats,
    kind: int,
) -> tuple[Floats, Integers]:
    """Return a figure of the values of each class, and how many values it has.

    An entry is a class, a value and how often; hidden ones do not count, and ``extra`` values count in every class.
    ``whole`` has the share of each value in the file. The figure by ``kind``: 0 how many different values, 1 exp of
    the entropy, 2 half the sum of differences from the file, 3 the mean difference of cumulated shares.
    """
    start = np.zeros(number + 1, dtype=np.int64)
    for i in range(class_of.size):
        if not hidden[i]:
            start[class_of[i] + 1] += 1
    for c in range(number):
        start[c + 1] += start[c]
    place = start.copy()
    order = np.empty(start[number], dtype=np.int64)
    for i in range(class_of.size):
        if not hidden[i]:
            order[place[class_of[i]]] = i
            place[class_of[i]] += 1
    figure, totals = np.zeros(number), np.zeros(number, dtype=np.int64)
    often = extra.copy()
    mine = np.empty(values.size, dtype=np.int32)  # the different values of a class
    before = extra.sum()
    cumulated, sums = _cumulated(whole)
    of_extra = _of_extra(extra, kind)
    ratios, above = _by_ratio(extra, whole)
    for c in range(number):
        total, found = before, 0
        for at in range(start[c], start[c + 1]):
            v = values[order[at]]
            if often[v] == extra[v]:
                mine[found] = v
                found += 1
            often[v] += counts[order[at]]
            total += counts[order[at]]
        totals[c] = total
        if total > 0:
            own = mine[:found]
            if kind == 0 or kind == 1:
                figure[c] = _diversity(own, often, extra, total, of_extra, kind)
            elif kind == 2:
                figure[c] = _equal(own, often, extra, total, whole, ratios, above)
            elif before > 0:
                figure[c] = _ordered(often, total, whole)
            else:
                own.sort()
                figure[c] = _ordered_by_steps(own, often, total, cumulated, sums)
        for i in range(found):
            often[mine[i]] = extra[mine[i]]
    return figure, totals


@compiled
def _of_extra(extra: Integers, kind: int) -> float:
    """Return how many values the extra ones have, or the sum of n ln n over them."""
    result = 0.0
    for v in range(extra.size):
        if extra[v] > 0:
            result += 1.0 if kind == 0 else extra[v] * np.log(extra[v])
    return result


@compiled
def _diversity(own: Codes, often: Integers, extra: Integers, total: int, of_extra: float, kind: int) -> float:
    """Return the number of different values, or exp of their entropy: ln n - (sum of n_v ln n_v) / n."""
    result = of_extra
    for i in range(own.size):
        v = own[i]
        if kind == 0:
            result += 1.0 if extra[v] == 0 else 0.0
        else:
            result += often[v] * np.log(often[v])
            if extra[v] > 0:
                result -= extra[v] * np.log(extra[v])
    return result if kind == 0 else float(np.exp(np.log(total) - result / total))


@compiled
def _by_ratio(extra: Integers, whole: Floats) -> tuple[Floats, Floats]:
    """Return how often the extra values occur over their share in the file, rising, and the sums of both from there."""
    there = np.flatnonzero(extra > 0)
    ratio = extra[there] / whole[there]
    order = np.argsort(ratio)
    above = np.zeros((2, there.size + 1))
    for i in range(there.size - 1, -1, -1):
        v = there[order[i]]
        above[0, i] = above[0, i + 1] + extra[v]
        above[1, i] = above[1, i + 1] + whole[v]
    return ratio[order], above


@compiled
def _equal(
    own: Codes, often: Integers, extra: Integers, total: int, whole: Floats, ratios: Floats, above: Floats
) -> float:
    """Return what shares of values are too much, which is half of all differences.

    The extra values alone have a share above the file's where their ratio is above the total.
    """
    at = np.searchsorted(ratios, total)
    result = above[0, at] / total - above[1, at]
    for i in range(own.size):
        v = own[i]
        result += max(often[v] / total - whole[v], 0.0) - max(extra[v] / total - whole[v], 0.0)
    return float(result)


@compiled
def _ordered(often: Integers, total: int, whole: Floats) -> float:
    running, result = 0.0, 0.0
    for v in range(often.size - 1):
        running += often[v] / total - whole[v]
        result += abs(running)
    return result / max(often.size - 1, 1)


@compiled
def _cumulated(whole: Floats) -> tuple[Floats, Floats]:
    """Return the cumulated shares of the file, without the last, and the sums of the first of these."""
    cumulated = np.cumsum(whole)[:-1] if whole.size else np.zeros(0)
    sums = np.zeros(cumulated.size + 1)
    sums[1:] = np.cumsum(cumulated)
    return cumulated, sums


@compiled
def _ordered_by_steps(own: Codes, often: Integers, total: int, cumulated: Floats, sums: Floats) -> float:
    """Return the mean difference of cumulated shares from the values of the class alone, in order.

    Between two of them its cumulated share stays at one level and the file's rises, so that the sum splits where the
    file's passes that level.
    """
    steps = cumulated.size
    if steps == 0:
        return 0.0
    result, running = sums[min(own[0], steps)], 0
    for i in range(own.size):
        first = own[i]
        last = own[i + 1] if i + 1 < own.size else steps
        running += often[first]
        if first >= last:
            continue
        level = running / total
        middle = first + np.searchsorted(cumulated[first:last], level)
        result += level * (middle - first) - (sums[middle] - sums[first])
        result += sums[last] - sums[middle] - level * (last - middle)
    return float(result / steps)
