"""Transition matrices of post-randomisation: with which probability a category is published as which."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.schema import Category

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Transition:
    """One transition matrix: ``matrix[k, l]`` is the probability that category k is published as category l.

    ``frequencies`` are the (survey-weighted) counts of the categories before; publish the matrix with the file, since
    with it an analyst can correct estimates for what was changed.
    """

    stratum: str
    categories: tuple[Category, ...]
    frequencies: Floats
    matrix: Floats

    @property
    def expected(self) -> Floats:
        """The frequencies to be expected after."""
        expected: Floats = self.matrix.T @ self.frequencies
        return expected

    @property
    def kept(self) -> float:
        """The expected share of values that stay the same."""
        return kept_share(self.matrix, self.frequencies)


def kept_share(matrix: Floats, frequencies: Floats) -> float:
    """Return the expected share of values that a matrix leaves the same."""
    if not frequencies.any():  # of records without weight
        return float(np.diag(matrix).mean())
    return float(np.diag(matrix) @ frequencies / frequencies.sum())


def spread_change(frequencies: Floats, retention: float, *, uniform: bool) -> Floats:
    """Return the matrix that keeps each category with this probability and spreads the change over the others.

    It is spread evenly, or in proportion to the others' frequencies.

    >>> spread_change(np.array([2.0, 1.0, 1.0]), 0.8, uniform=False).round(3).tolist()
    [[0.8, 0.1, 0.1], [0.133, 0.8, 0.067], [0.133, 0.067, 0.8]]
    """
    size = len(frequencies)
    if size < 2:
        return np.eye(size)
    shares = np.tile(np.ones(size) if uniform else frequencies, (size, 1))
    np.fill_diagonal(shares, 0.0)
    alone = shares.sum(axis=1) == 0  # all weight is in this category: the others are as likely as one another
    shares[alone] = 1.0
    np.fill_diagonal(shares, 0.0)
    matrix: Floats = (1 - retention) * shares / shares.sum(axis=1, keepdims=True)
    np.fill_diagonal(matrix, retention)
    return matrix


def two_stage(matrix: Floats, frequencies: Floats) -> Floats:
    """Return the invariant matrix of two stages: its transpose leaves the frequencies as they are.

    The second stage goes back by Bayes' rule, ``Q[l, k] = P[k, l] t[k] / sum_m P[m, l] t[m]``, so that R = P Q has
    ``R' t = t``.
    """
    joint = matrix * frequencies[:, None]
    reached = joint.sum(axis=0)
    back = np.eye(len(frequencies))  # what no weight reaches may go anywhere: it stays
    there = reached > 0
    back[there] = joint.T[there] / reached[there, None]
    invariant: Floats = matrix @ back
    return invariant


def invariant_change(frequencies: Floats, retention: float, *, uniform: bool) -> Floats:
    """Return an invariant matrix that keeps an expected share of ``retention`` of the values, or the least it can.

    A mixture of an invariant matrix and no change is invariant too, which brings the share kept up to what is asked.
    Where even the two stages keep more (with one large category, most must stay for the frequencies to stay), they are
    taken as they are.
    """
    if len(frequencies) < 2 or not frequencies.any():
        return np.eye(len(frequencies))
    stages = two_stage(spread_change(frequencies, retention, uniform=uniform), frequencies)
    changed = 1 - kept_share(stages, frequencies)
    part = min(1.0, (1 - retention) / changed) if changed > 0 else 0.0
    mixed: Floats = part * stages + (1 - part) * np.eye(len(frequencies))
    return mixed


def drawn(codes: NDArray[np.integer], matrix: Floats, draws: Floats) -> NDArray[np.int32]:
    """Draw the published category of each record, by one uniform draw each; low draws keep the category.

    So a record that a low retention leaves alone, a higher one leaves alone as well.
    """
    published = np.empty(len(codes), dtype=np.int32)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(matrix) + 1))
    for k in np.flatnonzero(np.diff(ends)):
        rows = order[ends[k] : ends[k + 1]]
        targets = np.concatenate([[k], np.delete(np.arange(len(matrix)), k)])
        targets = targets[matrix[k, targets] > 0]
        reached = np.cumsum(matrix[k, targets])
        place = np.searchsorted(reached, draws[rows] * reached[-1], side="right")
        published[rows] = targets[np.minimum(place, len(targets) - 1)]
    return published
