"""Trees grown by recursive partitioning: one way to split a node, by values, by classes or by the shares of two files.

By *values* the sum of squares of a number falls most; by *classes* the number of records times Gini's impurity does; by
*shares* the same of two classes, the files, with weights. ``grow`` splits as long as there are records enough;
``grow_pruned`` stops and collapses as rpart does.
"""

from collections.abc import Sequence

import numpy as np

from sfumato.kernels import worth_compiling
from sfumato.kernels.trees import plain
from sfumato.kernels.trees.lists import CLASSES, VALUES, Codes, Counts, Criterion, Floats, Grown, Lists, Room
from sfumato.kernels.trees.pruned import LEAST_LEAF, LEAST_SPLIT, LackOfFit, Pruned, grow_pruned

__all__ = ["LEAST_LEAF", "LEAST_SPLIT", "Criterion", "Grown", "LackOfFit", "Pruned", "grow", "grow_pruned"]

LEAST_CELLS = 50_000
"""Records times variables from which compiling pays here: many deep trees repay it sooner than one pass does."""


def grow(
    members: Codes,
    ordered: Sequence[tuple[Codes, Codes]],
    codes: Codes,
    counts: Counts,
    target: Floats,
    criterion: Criterion,
    *,
    least: int,
    parent: int,
    depth: int,
    tiny: float,
    cells: int,
) -> Grown:
    """Split nodes of ``parent`` records or more until no split with ``least`` on each side gains more than ``tiny``.

    ``members`` lists the records to fit. Each ordered predictor gives these in ascending order, and the rank of every
    record; ``codes`` holds the categories of the nominal predictors, ``counts`` of them, by record. ``target`` is the
    value of every record, or its class from 0. ``depth`` is the most splits from the root, and ``cells`` the records
    times variables of the whole table, whose trees are all grown in one way.

    >>> x, y = np.arange(6, dtype=np.int32), np.array([0.0, 0, 0, 5, 5, 5])
    >>> none = np.empty((0, 6), dtype=np.int32), np.empty(0, dtype=np.int64)
    >>> tree = grow(x, [(x, x)], *none, y, "values", least=1, parent=3, depth=9, tiny=0.0, cells=6)
    >>> tree.column.tolist(), tree.bounds[:, 0].tolist()
    ([0, -1, -1], [2, 3])
    """
    lists = _lists(members, ordered, target)
    side = np.zeros(target.size, dtype=np.uint8)
    how = CLASSES if criterion == "classes" else VALUES
    if not worth_compiling(cells, LEAST_CELLS):
        return plain.grow(lists, codes, counts, side, how, least, parent, depth, tiny)
    from sfumato.kernels.trees import compiled

    kinds = int(target[members].max(initial=-1.0)) + 1 if criterion == "classes" else 0
    held = np.empty(members.size + 1, dtype=np.int32), np.empty(members.size + 1, dtype=np.int32)
    room = Room(side, *held, np.empty(members.size + 1), *np.zeros((2, kinds), dtype=np.int64))
    return compiled.grow(lists, codes, counts, room, how, least, parent, depth, tiny)


def _lists(members: Codes, ordered: Sequence[tuple[Codes, Codes]], target: Floats) -> Lists:
    rows = np.empty((len(ordered) + 1, members.size), dtype=np.int32)
    ranks = np.zeros_like(rows)
    targets = np.empty(rows.shape)
    for j, (order, rank) in enumerate(ordered):
        rows[j], ranks[j] = order, rank[order]
    rows[-1] = members
    for listed, mine in zip(targets, rows, strict=True):
        listed[:] = target[mine]
    return Lists(rows, ranks, targets, ordered=len(ordered), members=len(ordered))
