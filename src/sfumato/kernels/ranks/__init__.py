"""Mid-ranks of many columns with gaps: ranked once, and ranked anew among the records that a second column has.

Ranks are kept doubled and centred, 2R - (n + 1), so that they are whole numbers that sum to zero: sums of their
products are exact as long as they stay below 2^53, and a missing value may stand as a zero.
"""

import numpy as np

from sfumato.kernels import worth_compiling
from sfumato.kernels.ranks import plain
from sfumato.kernels.ranks.ranked import Counts, Floats, Indices, Placed, Places, Ranked, found, ranked
from sfumato.kernels.threads import Progress, in_chunks

__all__ = ["Placed", "Ranked", "rank_correlations", "rank_sums", "ranked"]

AT_ONCE = 64  # pairs that a thread takes at a time


def rank_correlations(
    columns: Ranked, first: Indices, second: Indices, progress: Progress | None = None
) -> tuple[Counts, Floats, Floats, Floats]:
    """Correlate the ranks of pairs of columns among the records that have both, and only those.

    Returns, for each pair, the number of such records, the sum of products of the doubled, centred ranks, and the sums
    of their squares.
    """
    counts, sums = np.zeros(len(first), dtype=np.int64), np.zeros((len(first), 3))
    if worth_compiling(columns.places.shape[1]):
        from sfumato.kernels.ranks import compiled

        def work(part: slice) -> None:
            compiled.correlate(*columns.arrays, first[part], second[part], counts[part], sums[part])

        in_chunks(work, len(first), AT_ONCE, progress=progress)
    else:
        for k, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            counts[k], *sums[k] = plain.correlation(columns, i, j)
    if progress is not None:
        progress(len(first))
    return counts, sums[:, 0], sums[:, 1], sums[:, 2]


def rank_sums(columns: Ranked, group: Places, groups: int, which: Indices) -> tuple[Counts, Floats, Floats]:
    """Sum the ranks of columns by group, ranked among the records that have a group (``group < groups``).

    Returns the counts and the sums of the doubled, centred ranks (columns x groups), and each column's sum of squares.
    """
    counts = np.zeros((len(which), groups + 1), dtype=np.int64)
    sums, squares = np.zeros((len(which), groups + 1)), np.zeros(len(which))
    gone = found(group >= groups)
    if worth_compiling(len(group)):
        from sfumato.kernels.ranks import compiled

        def work(part: slice) -> None:
            compiled.sum_by_group(*columns.arrays, group, gone, which[part], counts[part], sums[part], squares[part])

        in_chunks(work, len(which), AT_ONCE)
    else:
        for k, j in enumerate(which.tolist()):
            counts[k], sums[k], squares[k] = plain.sums_by_group(columns, j, group, groups, gone)
    return counts[:, :groups], sums[:, :groups], squares
