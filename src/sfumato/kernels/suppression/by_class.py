"""Suppression until every record shares all it publishes, missing values included, with k records: classes of k.

Each record chooses which of its keys to suppress, one of 2^q *masks*; what it then publishes is a *row*, and every row
that is published at all must be published by k records or more. Finding the cheapest choice is hard (Meyerson and
Williams 2004), so a start by cheapest cost per record helped is improved by local search with small disturbances. The
moves are in ``class_search``; this file prepares the tables they work on.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import class_sums, classes

Codes = NDArray[np.integer]
Masks = NDArray[np.int64]

MOST_ENTRIES = 2**27  # rows looked up: records times sets of keys; four bytes each, twice
DISTURBANCES = 8_000  # divided by the sets of keys: each costs as much time as there are
_ALIKE = 4  # of identical records, so many times k take part; the others stay as they are


def taking_part(k: int) -> int:
    """Return how many of identical records take part in the search, the first ones; the others stay as they are."""
    return _ALIKE * k


def cheapest_classes(
    codes: Codes, k: int, costs: NDArray[np.float64], preference: list[int], counts: NDArray[np.int64] | None = None
) -> NDArray[np.bool_]:
    """Return which values each record goes on showing (n x q), so that the others cost little; -1 is a value.

    ``counts`` says how many records each row stands for, if not one: those of a class that take part are rows of their
    own, in the order of the records, and a last row stands for all others.
    """
    n, q = codes.shape
    class_of, rows = classes(codes)
    sizes = rows if counts is None else class_sums(class_of, counts, len(rows))
    if sizes.min() >= k:
        return np.ones(codes.shape, dtype=bool)
    by_class = np.argsort(class_of, kind="stable")
    place = np.empty(n, dtype=np.int64)
    place[by_class] = np.arange(n) - np.repeat(np.cumsum(rows) - rows, rows)
    there = np.flatnonzero(place < taking_part(k))
    apart = sizes[class_of[there]] > taking_part(k)
    masks = np.zeros(n, dtype=np.int64)
    masks[there] = _chosen_masks(codes[there], k, _mask_costs(costs, preference), apart)
    kept: NDArray[np.bool_] = (masks[:, None] >> np.arange(q)) & 1 == 0
    return kept | (codes < 0)


def _mask_costs(costs: NDArray[np.float64], preference: list[int]) -> NDArray[np.float64]:
    """Return the cost of each mask; of masks that cost the same, a millionth less where it is preferred to suppress."""
    ranks = np.argsort(np.argsort(preference, kind="stable"))
    nudged = costs + 1e-6 * costs.min() * ranks / len(costs)
    bits = (np.arange(2 ** len(costs))[:, None] >> np.arange(len(costs))) & 1
    return np.asarray(bits @ nudged)


def _chosen_masks(codes: Codes, k: int, mask_costs: NDArray[np.float64], apart: NDArray[np.bool_]) -> Masks:
    """Return the mask of each record; records ``apart`` have more of their kind that take no part."""
    from sfumato.kernels.suppression import class_search, class_state

    q = codes.shape[1]
    missing = ((codes < 0) * (1 << np.arange(q))).sum(axis=1)
    rows, mask_of = _rows(codes, missing)
    tables = class_state.tables(rows, mask_of, mask_costs, missing, k)
    tables.anchored[rows[np.flatnonzero(apart), missing[apart]]] = True
    # suppressing mask m for x records that need it costs k / x times as much where others must join them
    steps = sorted((mask_costs[m] * k / x, -x, m) for m in range(2**q) for x in range(1, k + 1))
    class_search.start(tables, np.array([m for _, _, m in steps]), np.array([-x for _, x, _ in steps]))
    class_search.improve(tables)
    return class_search.disturb(tables, DISTURBANCES // 2**q)


def _rows(codes: Codes, missing: Masks) -> tuple[NDArray[np.int32], Masks]:
    """Number what each record publishes under each mask (n x 2^q, -1 where it shows no such key), mask by mask."""
    n, q = codes.shape
    rows = np.full((n, 2**q), -1, dtype=np.int32)
    mask_of = []
    used = 0
    for mask in range(2**q):
        able = np.flatnonzero(missing & ~mask == 0)  # what is missing stays missing
        if able.size:
            shown = [v for v in range(q) if not mask >> v & 1]
            found, sizes = classes(codes[able][:, shown])
            rows[able, mask] = used + found
            mask_of.append(np.full(len(sizes), mask))
            used += len(sizes)
    return rows, np.concatenate(mask_of)
