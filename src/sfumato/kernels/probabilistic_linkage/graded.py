"""Probabilistic linkage of numbers that agree more or less: all pairs looked at, weights in between.

Two numbers are alike by 1 where they are equal, by 0 where they are a width or more apart, and in proportion between.
EM takes those alike by at least a half as agreeing; a pair's weight then lies, for each variable, between that of
agreement and that of disagreement, in proportion to the likeness (Winkler 1990, String comparator metrics and enhanced
decision rules in the Fellegi-Sunter model of record linkage).
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.assignment import own_link_probability
from sfumato.kernels.probabilistic_linkage import Counts, Floats, LinkageResult, MatchModel, fit_matches, raked

MOST_RECORDS = 5_000
"""All pairs are held at once, in two tables of numbers: 0.4 GB here."""


def graded_linkage(left: Floats, right: Floats, widths: Floats, rng: np.random.Generator) -> list[LinkageResult]:
    """Links when the first variable is known, the first two, ..., all; row i of both files of values is one record.

    ``widths`` says, for each variable, how far apart two numbers are that are not alike at all. As in
    ``nested_linkage`` non-matches are the pairs of different records of the left file, pairs of weight 0 or less are
    not made, and ``rng`` orders the records for the assignment.
    """
    if left.shape != right.shape:
        raise ValueError(f"graded_linkage: files of one shape; got {left.shape} and {right.shape}")
    across, within = (np.zeros((len(left), len(left)), dtype=np.uint16) for _ in range(2))
    order = rng.permutation(len(left))
    kinds = [np.stack([_codes(column) for column in file.T], axis=1) for file in (left, right)]
    results = []
    for j, width in enumerate(widths):
        across |= (likeness(left[:, j], right[:, j], width) >= 0.5).astype(np.uint16) << np.uint16(j)
        within |= (likeness(left[:, j], left[:, j], width) >= 0.5).astype(np.uint16) << np.uint16(j)
        known = j + 1
        counts, apart = (_counted(patterns, known) for patterns in (across, within))
        apart -= np.bincount(within.diagonal(), minlength=len(apart))  # a record with itself
        rates = counts @ (np.arange(2**known)[:, np.newaxis] >> np.arange(known) & 1) / counts.sum()
        model = fit_matches(counts, len(left), raked(apart, rates))
        partner = graded_assignment(left[:, :known], right[order, :known], widths, model)
        partner[partner >= 0] = order[partner[partner >= 0]]
        probability = own_link_probability(kinds[0][:, :known], kinds[1][:, :known], partner)
        results.append(LinkageResult(known, probability, int((partner >= 0).sum()), model))
    return results


def likeness(left: Floats, right: Floats, width: float) -> Floats:
    """How alike each number of the one file is to each of the other, 1 to 0; a missing one is like none.

    >>> likeness(np.array([0.0, np.nan]), np.array([0.0, 1.0, 2.0, 9.0]), 4.0).tolist()
    [[1.0, 0.75, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    with np.errstate(over="ignore", invalid="ignore"):  # numbers too large for a difference are not alike
        apart = np.abs(left[:, np.newaxis] - right)
        alike = 1.0 - apart / width if width > 0 else (apart == 0).astype(np.float64)
    return np.asarray(np.fmax(alike, 0.0))  # of a number and no number the number


def graded_assignment(left: Floats, right: Floats, widths: Floats, model: MatchModel) -> NDArray[np.int64]:
    """The right record linked to each left record (-1: none) so that the total weight is the greatest."""
    from scipy.optimize import linear_sum_assignment

    weight = np.zeros((len(left), len(right)))
    for j, (agreeing, apart) in enumerate(zip(*_sides(model), strict=True)):
        weight += apart + likeness(left[:, j], right[:, j], widths[j]) * (agreeing - apart)
    np.maximum(weight, 0.0, out=weight)
    rows, columns = linear_sum_assignment(weight, maximize=True)
    partner = np.full(len(left), -1, dtype=np.int64)
    linked = weight[rows, columns] > 0
    partner[rows[linked]] = columns[linked]
    return partner


def _sides(model: MatchModel) -> tuple[Floats, Floats]:
    """The weights of agreement and of disagreement by variable; 0 for one that tells nothing."""
    m, u = model.match_agreement, model.non_match_agreement
    telling = m != u
    agreeing, apart = np.zeros(len(m)), np.zeros(len(m))
    agreeing[telling] = np.log2(m[telling] / u[telling])
    apart[telling] = np.log2((1 - m[telling]) / (1 - u[telling]))
    return agreeing, apart


def _counted(patterns: NDArray[np.uint16], known: int) -> Counts:
    return np.bincount(patterns.ravel(), minlength=2**known)


def _codes(column: Floats) -> NDArray[np.int32]:
    """Number the values of a variable, so that equal ones can be told by whole numbers; missing ones are equal."""
    return np.unique(column, return_inverse=True)[1].astype(np.int32)
