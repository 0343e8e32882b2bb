"""A tree grown in numpy, for tables not worth compiling for: the twin of ``sfumato.kernels.trees.compiled``."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Flags = NDArray[np.uint8]

ROUNDS = 10  # of looking for a better order of the categories


def grow(
    members: Codes,
    orders: Codes,
    ranks: Codes,
    codes: Codes,
    counts: Counts,
    values: Floats,
    classes: Codes,
    kinds: int,
    least: int,
    parent: int,
    depth: int,
    tiny: float,
) -> tuple[Codes, Codes, Codes, Codes, Codes, Counts, Flags]:
    """Grow a tree; see ``sfumato.kernels.trees.compiled.grow``, which gives the same."""
    p = len(orders)
    side = np.zeros(len(values), dtype=np.uint8)
    column, bounds, children = [-1], [(0, 0)], [(-1, -1)]
    stretch, level, begins = [(0, members.size)], [0], [-1]
    flags: list[Flags] = []
    used = 0
    stack = [0]
    while stack:
        node = stack.pop()
        start, end = stretch[node]
        inside = slice(start, end)
        rows = members[inside]
        target = classes[rows] if kinds else values[rows]
        if end - start < parent or level[node] >= depth or (target == target[0]).all():
            continue
        most, best, place = tiny, -1, -1
        for j in range(p):
            order = orders[j, inside]
            gain = _gains_of_classes(classes[order]) if kinds else _gains_of_values(values[order], _sum(values[rows]))
            gain[: least - 1] = 0.0
            gain[gain.size - least + 1 :] = 0.0
            gain[np.diff(ranks[j, order]) == 0] = 0.0
            found = int(np.argmax(gain))
            if gain[found] > most:
                most, best, place = float(gain[found]), j, found
        chosen = np.empty(0, dtype=np.uint8)
        for j in range(len(codes)):
            code, count = codes[j, rows], int(counts[j])
            if kinds:
                reached, right = _best_set_of_classes(code, count, classes[rows], least)
            else:
                reached, right = _best_set_of_values(code, count, values[rows], least)
            if reached > most:
                most, best, chosen = reached, p + j, right
        if best < 0:
            continue
        column[node] = best
        if best < p:
            order = orders[best, inside]
            bounds[node] = int(ranks[best, order[place]]), int(ranks[best, order[place + 1]])
            side[order] = np.arange(order.size) > place
        else:
            begins[node] = used
            flags.append(chosen)
            used += chosen.size
            side[rows] = chosen[codes[best - p, rows]]
        first = int((side[rows] == 0).sum())
        members[inside] = rows[np.argsort(side[rows], kind="stable")]
        for j in range(p):
            order = orders[j, inside]
            orders[j, inside] = order[np.argsort(side[order], kind="stable")]
        nodes = len(column)
        children[node] = nodes, nodes + 1
        for ends in ((start, start + first), (start + first, end)):
            column.append(-1)
            bounds.append((0, 0))
            children.append((-1, -1))
            stretch.append(ends)
            level.append(level[node] + 1)
            begins.append(-1)
        stack += [nodes + 1, nodes]
    return (
        np.array(column, dtype=np.int32),
        np.array(bounds, dtype=np.int32).T,
        np.array(children, dtype=np.int32).T,
        np.array(stretch, dtype=np.int32).T,
        members,
        np.array(begins, dtype=np.int64),
        np.concatenate([*flags, np.zeros(1, dtype=np.uint8)]),
    )


def _sum(values: Floats) -> float:
    """Add one after the other, as the kernel does."""
    return float(np.cumsum(values)[-1])


def _gains_of_values(ordered: Floats, total: float) -> Floats:
    """Return the fall in the sum of squares of a cut behind each record but the last."""
    n = ordered.size
    before = np.arange(1, n)
    apart = np.cumsum(ordered)[:-1] - before * (total / n)
    return np.asarray(apart * apart * n / (before * (n - before)))


def _gains_of_classes(ordered: Codes) -> Floats:
    """Return the fall in records times Gini impurity of a cut behind each record but the last."""
    n = ordered.size
    sums = np.bincount(ordered)
    squares = int((sums * sums).sum())
    by_class = np.argsort(ordered, kind="stable")
    earlier = np.empty(n, dtype=np.int64)  # how many records of the same class come before each
    earlier[by_class] = np.arange(n) - (np.cumsum(sums) - sums)[ordered[by_class]]
    lefts = np.cumsum(2 * earlier + 1)[:-1]
    rights = squares - np.cumsum(2 * (sums[ordered] - earlier) - 1)[:-1]
    before = np.arange(1, n)
    return np.asarray(lefts / before + rights / (n - before) - squares / n)


def _sided(count: int, present: Codes, right: Flags, lefts: int, n: int) -> Flags:
    """Give each category its side; one that does not occur goes with the larger."""
    sides = np.full(count, 2 * lefts < n, dtype=np.uint8)
    sides[present] = right
    return sides


def _best_set_of_values(code: Codes, count: int, target: Floats, least: int) -> tuple[float, Flags]:
    n = code.size
    present, place = np.unique(code, return_inverse=True)
    sums, sizes = np.bincount(place, target), np.bincount(place)
    order = np.argsort(sums / sizes, kind="stable")
    before = np.cumsum(sizes[order])[:-1]
    apart = np.cumsum(sums[order])[:-1] - before * (_sum(target) / n)
    gain = apart * apart * n / (before * (n - before))
    gain[(before < least) | (n - before < least)] = 0.0
    if not (gain > 0).any():
        return 0.0, np.empty(0, dtype=np.uint8)
    cut = int(np.argmax(gain))
    right = np.ones(present.size, dtype=np.uint8)
    right[order[: cut + 1]] = 0
    return float(gain[cut]), _sided(count, present, right, int(before[cut]), n)


def _best_set_of_classes(code: Codes, count: int, target: Codes, least: int) -> tuple[float, Flags]:
    n = code.size
    present, place = np.unique(code, return_inverse=True)
    _, class_place = np.unique(target, return_inverse=True)
    table = np.zeros((present.size, int(class_place.max()) + 1), dtype=np.int64)
    np.add.at(table, (place, class_place), 1)
    sizes, sums = table.sum(axis=1), table.sum(axis=0)
    squares = int((sums * sums).sum())
    spread = np.cumsum(table * table / sizes[:, None], axis=0)[-1] - sums * sums / n
    score = table[:, np.argmax(spread)] / sizes
    most, lefts = 0.0, 0
    right = np.ones(present.size, dtype=np.uint8)
    for _ in range(ROUNDS):
        order = np.argsort(score, kind="stable")
        inside = np.cumsum(table[order], axis=0)[:-1]
        before = inside.sum(axis=1)
        beyond = sums - inside
        gain = (inside * inside).sum(axis=1) / before + (beyond * beyond).sum(axis=1) / (n - before) - squares / n
        gain[(before < least) | (n - before < least)] = 0.0
        if not (gain > most).any():
            break
        cut = int(np.argmax(gain))
        most, lefts = float(gain[cut]), int(before[cut])
        right[:] = 1
        right[order[: cut + 1]] = 0
        direction = inside[cut] / lefts - beyond[cut] / (n - lefts)
        score = np.zeros(present.size)
        for c in range(sums.size):  # one after the other, as the kernel adds
            score += table[:, c] * direction[c]
        score /= sizes
    return most, _sided(count, present, right, lefts, n)
