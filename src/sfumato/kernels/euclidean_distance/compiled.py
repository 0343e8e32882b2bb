"""Who is nearer than the own record: a search that ends as soon as two are."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.boxes import Boxes, build
from sfumato.kernels.compiling import compiled
from sfumato.kernels.threads import in_chunks

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
CHUNK = 4096


def nearer_and_tied(
    points: Floats, copies: Counts, here: Floats, short: Floats, reach: Floats, threads: int | None = None
) -> tuple[Counts, Counts]:
    """Count, for each row of ``here``, the points nearer than ``short`` (2 stands for more) and those up to ``reach``.

    ``copies`` says how often each of the distinct points occurs. Each row is searched by itself, so that the number of
    threads changes nothing but the time. Where two are nearer, the count up to ``reach`` is not completed.
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
    first_leaf = len(boxes.low) - (len(boxes.starts) - 1)
    stack = np.empty(128, dtype=np.int64)
    for row in range(len(here)):
        limit, near = reach[row] * reach[row], short[row] * short[row]
        depth = 1
        stack[0] = 0
        while depth > 0 and nearer[row] < 2:
            depth -= 1
            node = stack[depth]
            if _squared_to_box(boxes, node, here[row]) > limit:
                continue
            if node < first_leaf:
                left = _squared_to_box(boxes, 2 * node + 1, here[row])
                right = _squared_to_box(boxes, 2 * node + 2, here[row])
                nearest = 2 * node + 1 if left <= right else 2 * node + 2
                stack[depth] = 4 * node + 3 - nearest  # the farther child waits
                stack[depth + 1] = nearest
                depth += 2
                continue
            leaf = node - first_leaf
            for point in range(boxes.starts[leaf], boxes.starts[leaf + 1]):
                squared = 0.0
                for j in range(here.shape[1]):
                    gap = here[row, j] - boxes.points[point, j]
                    squared += gap * gap
                if squared < near:
                    nearer[row] += weights[point]
                elif squared <= limit:
                    tied[row] += weights[point]
        nearer[row] = min(nearer[row], 2)


@compiled
def _squared_to_box(boxes: Boxes, node: int, centre: Floats) -> float:
    squared = 0.0
    for j in range(len(centre)):
        gap = max(boxes.low[node, j] - centre[j], centre[j] - boxes.high[node, j], 0.0)
        squared += gap * gap
    return squared
