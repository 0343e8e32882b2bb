"""Steps of walks down a tree of boxes, and squared Euclidean distances.

Subtraction, squaring and addition are monotone in floating point, so the distance to a box, summed in the order of the
columns, is never above that to a point in it. Which distance a search goes by is written into it, for machine code that
chooses as it runs takes three to eight times as long.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.boxes import Boxes
from sfumato.kernels.compiling import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DEPTH = 128  # of the stack: two per level of a tree that memory can hold


@compiled
def first_leaf(boxes: Boxes) -> int:
    """Return the number of the first node that is a leaf."""
    return len(boxes.low) - (len(boxes.starts) - 1)


@compiled
def push_children(first: int, second: int, stack: Integers, depth: int) -> int:
    """Put both children of a node on the stack, the first on top; how deep it is now."""
    stack[depth] = second
    stack[depth + 1] = first
    return depth + 2


@compiled
def squared_to_box(boxes: Boxes, node: int, centre: Floats) -> float:
    """Return the least squared distance of a centre to what is in a box."""
    squared = 0.0
    for j in range(len(centre)):
        gap = max(boxes.low[node, j] - centre[j], centre[j] - boxes.high[node, j], 0.0)
        squared += gap * gap
    return squared


@compiled
def squared_to_point(boxes: Boxes, point: int, centre: Floats) -> float:
    """Return the squared distance of a centre to a point."""
    squared = 0.0
    for j in range(len(centre)):
        gap = centre[j] - boxes.points[point, j]
        squared += gap * gap
    return squared
