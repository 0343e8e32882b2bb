"""Who is nearer than the own record: a search in a tree of boxes that ends as soon as two are."""

import numpy as np

from sfumato.kernels import in_chunks
from sfumato.kernels.boxes import Boxes, build
from sfumato.kernels.boxes.compiled import DEPTH, first_leaf, push_children, squared_to_box, squared_to_point
from sfumato.kernels.compiling import compiled
from sfumato.kernels.euclidean_distance import Counts, Floats

CHUNK = 4096


def nearer_and_tied(
    points: Floats, copies: Counts, here: Floats, short: Floats, reach: Floats, *, threads: int | None = None
) -> tuple[Counts, Counts]:
    """Count, for each row of ``here``, the points nearer than ``short`` (2 stands for more) and those up to ``reach``.

    Each row is searched by itself, so that the number of threads changes nothing but the time. Where two are nearer,
    the count up to ``reach`` is not completed.
    """
    boxes = build(points)
    nearer, tied = np.zeros(len(here), dtype=np.int64), np.zeros(len(here), dtype=np.int64)
    weights = np.ascontiguousarray(copies[boxes.order])
    queries = np.ascontiguousarray(here)

    def search(rows: slice) -> None:
        _search(boxes, weights, queries[rows], short[rows], reach[rows], nearer[rows], tied[rows])

    in_chunks(search, len(here), CHUNK, threads=threads)
    return nearer, tied


@compiled
def _search(
    boxes: Boxes, weights: Counts, here: Floats, short: Floats, reach: Floats, nearer: Counts, tied: Counts
) -> None:
    leaves = first_leaf(boxes)
    stack = np.empty(DEPTH, dtype=np.int64)
    for row in range(len(here)):
        limit, near = reach[row] * reach[row], short[row] * short[row]
        depth = 1
        stack[0] = 0
        while depth > 0 and nearer[row] < 2:
            depth -= 1
            node = stack[depth]
            if squared_to_box(boxes, node, here[row]) > limit:
                continue
            if node < leaves:
                left, right = 2 * node + 1, 2 * node + 2
                if squared_to_box(boxes, left, here[row]) > squared_to_box(boxes, right, here[row]):
                    left, right = right, left  # the nearer child is searched first
                depth = push_children(left, right, stack, depth)
                continue
            for point in range(boxes.starts[node - leaves], boxes.starts[node - leaves + 1]):
                squared = squared_to_point(boxes, point, here[row])
                if squared < near:
                    nearer[row] += weights[point]
                elif squared <= limit:
                    tied[row] += weights[point]
        nearer[row] = min(nearer[row], 2)
