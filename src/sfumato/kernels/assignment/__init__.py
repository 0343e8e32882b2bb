"""One-to-one assignment of records whose weight depends on which variables agree, exact.

Only pairs of positive weight that agree on something may be linked; a record may stay unlinked.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

MIN_RECORDS = 2_500
"""Records from which the compiled search pays here: a matrix of all pairs takes seconds before other kernels matter."""


def assign(left: Codes, right: Codes, weights: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """The right record linked to each left record (-1: none) so that the total weight is the greatest.

    ``weights`` has one entry per pattern of agreement, bit j standing for variable j. The best assignment
    is rarely unique, and solvers prefer low indices; files in the same order would then be paired along the
    diagonal. So both files are put in an order drawn from ``rng`` first.
    """
    from_left, from_right = rng.permutation(len(left)), rng.permutation(len(right))
    allowed = np.maximum(weights, 0.0)
    allowed[0] = 0.0
    shuffled = _assigned(left[from_left], right[from_right], allowed)
    partner = np.full(len(left), -1, dtype=np.int64)
    linked = shuffled >= 0
    partner[from_left[linked]] = from_right[shuffled[linked]]
    return partner


def _assigned(left: Codes, right: Codes, allowed: Floats) -> NDArray[np.int64]:
    if not worth_compiling(max(len(left), len(right)), MIN_RECORDS):
        return plain_assignment(left, right, allowed)
    from sfumato.kernels.assignment import compiled

    return compiled.heaviest_assignment(left, right, allowed)


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


def plain_assignment(left: Codes, right: Codes, allowed: Floats) -> NDArray[np.int64]:
    """The right record linked to each left record (-1: none), by the weights of all pairs."""
    from scipy.optimize import linear_sum_assignment

    patterns = agreement_patterns(left, right)
    rows, columns = linear_sum_assignment(-allowed[patterns])
    partner = np.full(len(left), -1, dtype=np.int64)
    linked = allowed[patterns[rows, columns]] > 0
    partner[rows[linked]] = columns[linked]
    return partner


def agreement_patterns(left: Codes, right: Codes) -> NDArray[np.uint16]:
    """The pattern of every pair, bit j set where both have variable j and are in the same bin."""
    patterns = np.zeros((len(left), len(right)), dtype=np.uint16)
    for j in range(left.shape[1]):
        # -1 in one file never equals -2 in the other: missing agrees with nothing.
        theirs = np.where(right[:, j] < 0, -2, right[:, j])
        patterns |= (left[:, j, np.newaxis] == theirs).astype(np.uint16) << np.uint16(j)
    return patterns
