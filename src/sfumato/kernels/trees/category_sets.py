"""The best split of unordered categories into two sets, in machine code."""

import numpy as np

from sfumato.kernels.compiling import compiled
from sfumato.kernels.trees.lists import BETTER, ROUNDS, SHARES, Codes, Counts, Flags, Floats


@compiled
def _places(members: Codes, code: Codes, count: int) -> tuple[Counts, int]:
    """Number the categories that occur, in the order of their codes; -1 for the others."""
    place = np.full(count, -1, dtype=np.int64)
    for i in range(members.size):
        place[code[members[i]]] = 0
    return place, _numbered(place)


@compiled
def _numbered(place: Counts) -> int:
    """Number in place what is 0, and return how many there are."""
    number = 0
    for c in range(place.size):
        if place[c] == 0:
            place[c] = number
            number += 1
    return number


@compiled
def _sided(place: Counts, right: Flags, larger: int) -> Flags:
    """Give each category its side; one that does not occur goes with the larger."""
    sides = np.full(place.size, larger, dtype=np.uint8)
    for c in range(place.size):
        if place[c] >= 0:
            sides[c] = right[place[c]]
    return sides


@compiled
def set_by_means(
    members: Codes, targets: Floats, code: Codes, count: int, criterion: int, weight: float, mean: float, least: int
) -> tuple[float, Flags]:
    """Find the set of categories with which the sum of squares falls most: one that goes by their means."""
    n = members.size
    place, number = _places(members, code, count)
    amounts, records = np.zeros(number), np.zeros(number)
    weights = records
    if criterion == SHARES:
        weights = np.zeros(number)
        for i in range(n):
            c = place[code[members[i]]]
            weights[c] += abs(targets[i])
            amounts[c] += max(targets[i], 0.0)
            records[c] += 1
    else:
        for i in range(n):
            c = place[code[members[i]]]
            amounts[c] += targets[i]
            records[c] += 1
    order = np.argsort(amounts / weights, kind="mergesort")
    better = BETTER if criterion == SHARES else 1.0
    most, cut, lefts = 0.0, -1, 0.0
    summed, amount, before = 0.0, 0.0, 0.0
    for i in range(number - 1):
        summed += weights[order[i]]
        amount += amounts[order[i]]
        before += records[order[i]]
        if before >= least and n - before >= least:
            apart = amount - mean * summed
            gain = apart * apart * weight / (summed * (weight - summed))
            if gain > most * better:
                most, cut, lefts = gain, i, before
    right = np.ones(number, dtype=np.uint8)
    right[order[: cut + 1]] = 0
    return most, _sided(place, right, 1 if 2 * lefts < n else 0)


@compiled
def set_by_classes(
    members: Codes, classes: Floats, code: Codes, count: int, kinds: int, least: int
) -> tuple[float, Flags]:
    """Find a set of categories with which the impurity falls much.

    Categories are first ordered by their share of the class whose share differs most between them, which is best where
    there are two classes; then, as long as it helps, by the direction in which the classes of the two sides differ,
    since the best split of all is a cut in such an order.
    """
    n = members.size
    place, number = _places(members, code, count)
    class_place = np.full(kinds, -1, dtype=np.int64)
    for i in range(n):
        class_place[int(classes[i])] = 0
    class_number = _numbered(class_place)
    table = np.zeros((number, class_number), dtype=np.int64)
    for i in range(n):
        table[place[code[members[i]]], class_place[int(classes[i])]] += 1
    sizes = table.sum(axis=1)
    sums = table.sum(axis=0)
    squares = (sums * sums).sum()
    widest, telling = -1.0, 0
    for c in range(class_number):
        spread = 0.0
        for k in range(number):
            spread += table[k, c] * table[k, c] / sizes[k]
        spread -= sums[c] * sums[c] / n
        if spread > widest:
            widest, telling = spread, c
    score = table[:, telling] / sizes
    most, lefts = 0.0, 0
    right = np.ones(number, dtype=np.uint8)
    for _ in range(ROUNDS):
        order = np.argsort(score, kind="mergesort")
        gain, cut, before, inside = _best_prefix(table, sizes, sums, squares, order, n, least)
        if gain <= most:
            break
        most, lefts = gain, before
        right[:] = 1
        right[order[: cut + 1]] = 0
        score = np.zeros(number)
        for k in range(number):
            for c in range(class_number):
                score[k] += table[k, c] * (inside[c] / before - (sums[c] - inside[c]) / (n - before))
            score[k] /= sizes[k]
    return most, _sided(place, right, 1 if 2 * lefts < n else 0)


@compiled
def _best_prefix(
    table: Counts, sizes: Counts, sums: Counts, squares: int, order: Counts, n: int, least: int
) -> tuple[float, int, int, Counts]:
    """Cut an order of categories where the impurity falls most; also the records and classes before the cut."""
    most, cut, most_before = 0.0, -1, 0
    inside = np.zeros(sums.size, dtype=np.int64)
    kept = np.zeros(sums.size, dtype=np.int64)
    lefts, rights, before = 0, squares, 0
    for i in range(order.size - 1):
        k = order[i]
        for c in range(sums.size):
            moved = table[k, c]
            lefts += moved * (2 * inside[c] + moved)
            rights -= moved * (2 * (sums[c] - inside[c]) - moved)
            inside[c] += moved
        before += sizes[k]
        if before >= least and n - before >= least:
            gain = lefts / before + rights / (n - before) - squares / n
            if gain > most:
                most, cut, most_before = gain, i, before
                kept[:] = inside
    return most, cut, most_before, kept
