"""Points inside the window around each record, in a tree of boxes."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import in_chunks
from sfumato.kernels.boxes import Boxes, build, distinct
from sfumato.kernels.boxes.compiled import DEPTH, first_leaf, push_children
from sfumato.kernels.compiling import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
CHUNK = 1024


def search_windows(
    table: Floats, low: Floats, high: Floats, centre: Floats, own: Floats, steps: Floats, *, threads: int | None = None
) -> tuple[Integers, Integers, Integers]:
    """Count the rows of ``table`` in each window [low, high], those farther than ``own`` from its centre, and as far.

    1 stands for one farther or more, and the count of those as far may stop short then. Boxes that lie wholly inside,
    and of which none can be as far as ``own``, are counted unseen.
    """
    rows, _, copies = distinct(table)
    boxes = build(rows)
    weights = np.ascontiguousarray(copies[boxes.order]).astype(np.int64)
    held = [np.add.reduceat(weights, boxes.starts[:-1])]
    while len(held[0]) > 1:
        held.insert(0, held[0][0::2] + held[0][1::2])
    below = np.concatenate(held)
    inside, farther, tied = (np.zeros(len(low), dtype=np.int64) for _ in range(3))
    low, high, centre = (np.ascontiguousarray(side) for side in (low, high, centre))

    def search(part: slice) -> None:
        _search(
            boxes, weights, below, low[part], high[part], centre[part], own[part], steps,
            inside[part], farther[part], tied[part],
        )  # fmt: skip

    in_chunks(search, len(low), CHUNK, threads=threads)
    return inside, farther, tied


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
    inside: Integers,
    farther: Integers,
    tied: Integers,
) -> None:
    leaves = first_leaf(boxes)
    stack = np.empty(DEPTH, dtype=np.int64)
    for row in range(len(low)):
        depth = 1
        stack[0] = 0
        while depth > 0:
            depth -= 1
            node = stack[depth]
            meets, holds, reach = _place(boxes, node, low[row], high[row], centre[row], steps)
            if not meets:
                continue
            if holds and (farther[row] > 0 or reach < own[row]):
                inside[row] += below[node]
                continue
            if node < leaves:
                depth = push_children(2 * node + 1, 2 * node + 2, stack, depth)
                continue
            for point in range(boxes.starts[node - leaves], boxes.starts[node - leaves + 1]):
                within = True
                moved = 0.0
                for j in range(low.shape[1]):
                    x = boxes.points[point, j]
                    within = within and low[row, j] <= x <= high[row, j]
                    moved += abs(x - centre[row, j]) * steps[j]
                if within:
                    inside[row] += weights[point]
                    if moved > own[row]:
                        farther[row] = 1
                    elif moved == own[row]:
                        tied[row] += weights[point]


@compiled
def _place(
    boxes: Boxes, node: int, low: Floats, high: Floats, centre: Floats, steps: Floats
) -> tuple[bool, bool, float]:
    """Tell whether a box meets a window, whether it lies in it, and how far from the centre its farthest corner is."""
    holds = True
    reach = 0.0
    for j in range(len(low)):
        least, greatest = boxes.low[node, j], boxes.high[node, j]
        if least > high[j] or greatest < low[j]:
            return False, False, 0.0
        holds = holds and low[j] <= least and greatest <= high[j]
        reach += max(centre[j] - least, greatest - centre[j]) * steps[j]
    return True, holds, reach
