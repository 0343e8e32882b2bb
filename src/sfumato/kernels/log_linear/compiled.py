"""One cycle of iterative proportional fitting to all margins of two variables, over a long list of cells."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled
from sfumato.kernels.log_linear.plain import Codes, Cycle

Floats = NDArray[np.float64]


def cycle(cells: Codes, counts: Floats) -> Cycle:
    """Make the function that fits to each margin of two variables in turn, in machine code."""
    columns = np.ascontiguousarray(cells.T)
    sizes = columns.max(axis=1).astype(np.int64) + 1
    firsts, seconds = np.array(list(combinations(range(len(sizes)), 2))).T
    starts = np.concatenate([[0], np.cumsum(sizes[firsts] * sizes[seconds])])
    targets = np.concatenate(
        [
            np.bincount(columns[i] * sizes[j] + columns[j], weights=counts, minlength=sizes[i] * sizes[j])
            for i, j in zip(firsts, seconds, strict=True)
        ]
    )
    return lambda expected: _fit_pairs(columns, firsts, seconds, sizes, starts, targets, expected)


@compiled
def _fit_pairs(
    cells: NDArray[np.int32],
    firsts: NDArray[np.int64],
    seconds: NDArray[np.int64],
    sizes: NDArray[np.int64],
    starts: NDArray[np.int64],
    targets: Floats,
    expected: Floats,
) -> float:
    """Fit ``expected``, in place, to each pair's margin in turn; return by how much the worst one was off before.

    ``cells`` has a row per variable. The margin of pair k, of the variables ``firsts[k]`` and ``seconds[k]``, begins at
    ``starts[k]`` in ``targets``.
    """
    margin = np.zeros(targets.size)
    worst = 0.0
    one, other, width, start = cells[firsts[0]], cells[seconds[0]], sizes[seconds[0]], starts[0]
    for i in range(expected.size):
        margin[start + one[i] * width + other[i]] += expected[i]
    for k in range(firsts.size):
        for place in range(starts[k], starts[k + 1]):
            worst = max(worst, abs(margin[place] - targets[place]))
            margin[place] = targets[place] / margin[place] if margin[place] > 0 else 0.0
        one, other, width, start = cells[firsts[k]], cells[seconds[k]], sizes[seconds[k]], starts[k]
        if k + 1 == firsts.size:
            for i in range(expected.size):
                expected[i] *= margin[start + one[i] * width + other[i]]
            break
        first, second = cells[firsts[k + 1]], cells[seconds[k + 1]]  # the next margin, summed on the way
        next_width, next_start = sizes[seconds[k + 1]], starts[k + 1]
        for i in range(expected.size):
            expected[i] *= margin[start + one[i] * width + other[i]]
            margin[next_start + first[i] * next_width + second[i]] += expected[i]
    return worst
