"""One-to-one assignment of records whose weight depends on which variables agree, exact.

Only pairs of positive weight that agree on something may be linked; a record may stay unlinked.
"""

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

WORTH_COMPILING = 2_500
"""Records from which the compiled search pays here: a dense assignment takes seconds before other kernels matter."""

UNITS_PER_BIT = 2.0**32
"""Weights are compared as whole multiples of 2^-32 bit: far below their error, far above rounding's."""


def assign(left: Codes, right: Codes, weights: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """The right record linked to each left record (-1: none) so that the total weight is the greatest.

    ``weights`` has one entry per pattern of agreement, bit j standing for variable j. The best assignment
    is rarely unique, and solvers prefer low indices; files in the same order would then be paired along the
    diagonal. So both files are put in an order drawn from ``rng`` first.
    """
    from_left, from_right = rng.permutation(len(left)), rng.permutation(len(right))
    allowed = np.maximum(weights, 0.0)
    allowed[0] = 0.0
    solve = _dense if max(len(left), len(right)) < WORTH_COMPILING else _sparse
    shuffled = solve(left[from_left], right[from_right], allowed)
    partner = np.full(len(left), -1, dtype=np.int64)
    linked = shuffled >= 0
    partner[from_left[linked]] = from_right[shuffled[linked]]
    return partner


def agreement_patterns(left: Codes, right: Codes) -> NDArray[np.uint16]:
    """The pattern of every pair, bit j set where both have variable j and are in the same bin."""
    patterns = np.zeros((len(left), len(right)), dtype=np.uint16)
    for j in range(left.shape[1]):
        # -1 in one file never equals -2 in the other: missing agrees with nothing.
        theirs = np.where(right[:, j] < 0, -2, right[:, j])
        patterns |= (left[:, j, np.newaxis] == theirs).astype(np.uint16) << np.uint16(j)
    return patterns


def _dense(left: Codes, right: Codes, allowed: Floats) -> NDArray[np.int64]:
    """All pairs in a matrix, for files too small to repay compilation."""
    from scipy.optimize import linear_sum_assignment

    patterns = agreement_patterns(left, right)
    rows, columns = linear_sum_assignment(-allowed[patterns])
    partner = np.full(len(left), -1, dtype=np.int64)
    linked = allowed[patterns[rows, columns]] > 0
    partner[rows[linked]] = columns[linked]
    return partner


def _sparse(left: Codes, right: Codes, allowed: Floats) -> NDArray[np.int64]:
    """Pairs of positive weight only, found through the records that share a bin."""
    from sfumato.kernels.assignment import compiled as matching

    kinds, kind = np.unique(left, axis=0, return_inverse=True)
    starts, members = bin_members(right)
    whole = np.rint(allowed * UNITS_PER_BIT).astype(np.int64)
    first, columns, patterns = matching.positive_pairs(kinds, starts, members, whole, len(right))
    partner, _, _ = matching.heaviest_matching(kind.ravel(), first, columns, patterns, whole, len(right))
    return partner


def bin_members(codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """For each variable the records ordered by bin (members) and where each bin begins (starts)."""
    largest = int(codes.max(initial=0)) + 1
    starts = np.zeros((codes.shape[1], largest + 1), dtype=np.int64)
    members = np.empty((codes.shape[1], len(codes)), dtype=np.int32)
    for j in range(codes.shape[1]):
        order = np.argsort(codes[:, j], kind="stable")
        members[j] = order
        starts[j] = np.searchsorted(codes[order, j], np.arange(largest + 1))
    return starts, members


def own_link_probability(left: Codes, right: Codes, partner: NDArray[np.int64]) -> Floats:
    """The probability that record i is paired with record i when records of equal bins are interchangeable.

    With f records of kind a (bins of the left file) linked to kind b (of the right), spread evenly over the
    n_a and m_b records of these kinds, record i of kinds (a, b) has f / (n_a m_b).
    """
    kind, size = _kinds(left)
    their_kind, their_size = _kinds(right)
    linked = partner >= 0
    flow_keys = kind[linked] * np.int64(len(their_size)) + their_kind[partner[linked]]
    keys, flow = np.unique(flow_keys, return_counts=True)
    own = kind * np.int64(len(their_size)) + their_kind
    probability = np.zeros(len(left))
    if len(keys) == 0:
        return probability
    at = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
    found = keys[at] == own
    probability[found] = flow[at[found]] / (size[kind[found]] * their_size[their_kind[found]])
    return probability


def _kinds(codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    _, kind, size = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    return kind.ravel().astype(np.int64), size.astype(np.int64)
