"""Points inside the window around each record: how many there are, and whether any is likelier than the own one.

How likely a point is, seen from a record, is the sum over the columns of a score of how far it lies from there:
``scores[j, b]`` for a distance in the class b = min(int(distance * steps[j]), bins - 1).
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.boxes import Boxes, build, distinct
from sfumato.kernels.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
CHUNK = 1024


def search_windows(
    table: Floats,
    low: Floats,
    high: Floats,
    centre: Floats,
    own: Floats,
    steps: Floats,
    scores: Floats,
    *,
    threads: int,
) -> tuple[Integers, Integers, Integers]:
    """Count the rows of ``table`` in each window [low, high], those likelier than ``own``, and those as likely.

    1 stands for one likelier or more, and the count of those as likely may stop short then. Boxes that lie wholly
    inside, and of which none can be as likely as ``own``, are counted unseen.
    """
    rows, _, copies = distinct(table)
    boxes = build(rows)
    weights = np.ascontiguousarray(copies[boxes.order]).astype(np.int64)
    held = [np.add.reduceat(weights, boxes.starts[:-1])]
    while len(held[0]) > 1:
        held.insert(0, held[0][0::2] + held[0][1::2])
    below = np.concatenate(held)
    inside, likelier, tied = (np.zeros(len(low), dtype=np.int64) for _ in range(3))
    low, high, centre = (np.ascontiguousarray(side) for side in (low, high, centre))
    most = _greatest(scores)

    def search(start: int) -> None:
        part = slice(start, start + CHUNK)
        _search(
            boxes, weights, below, low[part], high[part], centre[part], own[part], steps, scores, most,
            inside[part], likelier[part], tied[part],
        )  # fmt: skip

    with ThreadPoolExecutor(max_workers=threads) as pool:
        list(pool.map(search, range(0, len(low), CHUNK)))
    return inside, likelier, tied


def _greatest(scores: Floats) -> Floats:
    """The greatest score of each column from one class up to another."""
    columns, bins = scores.shape
    most = np.full((columns, bins, bins), -np.inf)
    for b in range(bins):
        most[:, b, b:] = np.maximum.accumulate(scores[:, b:], axis=1)
    return most


@compiled
def _search(
    boxes: Boxes,
    weights: Integers,
    below: Integers,
    low: Floats,
    high: Floats,
    centre: Floats,
    own: Floats,
    steps: Floats,
    scores: Floats,
    most: Floats,
    inside: Integers,
    likelier: Integers,
    tied: Integers,
) -> None:
    first_leaf = len(boxes.low) - (len(boxes.starts) - 1)
    last = scores.shape[1] - 1
    stack = np.empty(128, dtype=np.int64)
    for row in range(len(low)):
        depth = 1
        stack[0] = 0
        while depth > 0:
            depth -= 1
            node = stack[depth]
            meets, holds = _place(boxes, node, low[row], high[row])
            if not meets:
                continue
            if holds and (likelier[row] > 0 or _bound(boxes, node, centre[row], steps, most) < own[row]):
                inside[row] += below[node]
                continue
            if node < first_leaf:
                stack[depth] = 2 * node + 2
                stack[depth + 1] = 2 * node + 1
                depth += 2
                continue
            leaf = node - first_leaf
            for point in range(boxes.starts[leaf], boxes.starts[leaf + 1]):
                within = True
                score = 0.0
                for j in range(low.shape[1]):
                    x = boxes.points[point, j]
                    within = within and low[row, j] <= x <= high[row, j]
                    score += scores[j, min(int(abs(x - centre[row, j]) * steps[j]), last)]
                if within:
                    inside[row] += weights[point]
                    if score > own[row]:
                        likelier[row] = 1
                    elif score == own[row]:
                        tied[row] += weights[point]


@compiled
def _place(boxes: Boxes, node: int, low: Floats, high: Floats) -> tuple[bool, bool]:
    """Tell whether a box meets a window, and whether it lies in it."""
    holds = True
    for j in range(len(low)):
        least, greatest = boxes.low[node, j], boxes.high[node, j]
        if least > high[j] or greatest < low[j]:
            return False, False
        holds = holds and low[j] <= least and greatest <= high[j]
    return True, holds


@compiled
def _bound(boxes: Boxes, node: int, centre: Floats, steps: Floats, most: Floats) -> float:
    """Return the greatest score a point of the box can have."""
    last = most.shape[1] - 1
    bound = 0.0
    for j in range(len(centre)):
        below, above = centre[j] - boxes.low[node, j], boxes.high[node, j] - centre[j]
        near, far = max(-below, -above, 0.0), max(abs(below), abs(above))
        bound += most[j, min(int(near * steps[j]), last), min(int(far * steps[j]), last)]
    return bound
