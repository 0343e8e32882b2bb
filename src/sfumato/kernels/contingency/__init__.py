"""Contingency tables of many pairs of coded columns, by their cells that are not empty; chi-squared and residuals."""

from collections.abc import Callable

import numpy as np

from sfumato.kernels import worth_compiling
from sfumato.kernels.contingency import plain
from sfumato.kernels.contingency.table import Codes, Floats, Indices, Table, most_counted, residual_change, table_of
from sfumato.kernels.threads import Progress, in_chunks

__all__ = ["Table", "each_table", "residual_change"]

AT_ONCE = 64  # pairs that a thread takes at a time


def each_table(
    codes: Codes,
    counts: Indices,
    first: Indices,
    second: Indices,
    weights: Floats | None,
    take: Callable[[int, Table], None],
    progress: Progress | None = None,
) -> None:
    """Call ``take`` with the number and the table of each pair, from several threads in any order.

    ``codes`` holds one column in each row, where ``counts[j]`` stands for a missing value of column j; a record counts
    where both are present. Weights are positive.
    """
    dense = (counts[first] + 1) * (counts[second] + 1) <= most_counted(codes.shape[1])

    def tabulate(k: int) -> None:
        i, j = first[k], second[k]
        take(k, plain.tabulate(codes[i], codes[j], (int(counts[i]), int(counts[j])), weights))

    if not worth_compiling(codes.shape[1]):
        for k in range(len(first)):
            tabulate(k)
        if progress is not None:
            progress(len(first))
        return
    from sfumato.kernels.contingency.compiled import count

    weighing = np.ones(0) if weights is None else weights

    def work(part: slice) -> None:
        for k in range(part.start, part.stop):
            if not dense[k]:
                tabulate(k)
                continue
            i, j = first[k], second[k]
            shape = int(counts[i]), int(counts[j])
            table = np.zeros((shape[0] + 1, shape[1] + 1))
            records, squares = count(codes[i], codes[j], weighing, table)
            observed = table[:-1, :-1]
            rows, columns = np.nonzero(observed)
            take(k, table_of(rows, columns, observed[rows, columns], shape, records, squares))

    in_chunks(work, len(first), AT_ONCE, progress=progress)
