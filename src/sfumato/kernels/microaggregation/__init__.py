"""Groups of records for microaggregation: by distance to the average vector (MDAV), or to each other."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling

Floats = NDArray[np.float64]

MIN_RECORDS = 2_500
"""Records from which the compiled search for the most distant pair pays: numpy takes half a second here."""


def mdav_groups(X: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Group labels of MDAV microaggregation, numbered from 0 in the order in which the groups are made.

    Maximum distance to average vector (Domingo-Ferrer and Torra 2005, doi 10.1007/s10618-005-0007-5, Algorithm
    MDAV-generic): while 3k records remain, the record farthest from their centroid takes its k - 1 nearest, and
    then the record farthest from that one takes its own; a last pair, or a single group, holds the rest.

    Ties, for the farthest as for the nearest, go to the lowest row. Squared distances are summed over the columns
    in order and the centroid is the correctly rounded sum over the count, here and in the compiled kernel, so
    that both decide ties alike.

    Parameters
    ----------
    X : records by variables, finite, standardised by the caller.
    k : least number of records in a group; the caller refuses fewer than k records.
    """
    if not worth_compiling(len(X)):
        return plain_mdav_groups(X, k)
    from sfumato.kernels.microaggregation import compiled

    return compiled.mdav_groups(X, k)


def maximum_distance_groups(X: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Group labels of maximum-distance microaggregation, numbered from 0 in the order in which the groups are made.

    The fixed-size heuristic of Mateo-Sanz and Domingo-Ferrer (1999) and Domingo-Ferrer and Mateo-Sanz (2002, doi
    10.1109/69.979982): while 2k records remain, each of the two most distant takes its k - 1 nearest, the one with the
    lower row first, and neither takes the other. The rest is a group if it has k records; if it has fewer, each of them
    joins the group whose mean is nearest.

    Of pairs that tie the one with the lowest rows is taken, of near records that tie the lowest row.

    Parameters
    ----------
    X : records by variables, finite, standardised by the caller.
    k : least number of records in a group; the caller refuses fewer than k records.
    """
    if worth_compiling(len(X), MIN_RECORDS):
        from sfumato.kernels.microaggregation import compiled

        labels = compiled.maximum_distance_groups(X, k)
    else:
        labels = plain_maximum_distance_groups(X, k)
    groups = len(X) // (2 * k) * 2  # of the pairs
    rest = np.flatnonzero(labels == groups)
    if 0 < rest.size < k and groups:
        sizes = np.bincount(labels, minlength=groups)[:groups]
        means = np.stack([np.bincount(labels, column, groups)[:groups] / sizes for column in X.T], axis=1)
        for row in rest:
            labels[row] = ((means - X[row]) ** 2).sum(axis=1).argmin()
    return labels


def plain_mdav_groups(X: Floats, k: int) -> NDArray[np.intp]:
    """Group labels of MDAV microaggregation; see ``mdav_groups``."""
    labels = np.empty(len(X), dtype=np.intp)
    remaining = _Remaining(X)
    label = 0
    while remaining.count >= 2 * k:
        a_pair = remaining.count >= 3 * k
        labels[remaining.take(remaining.farthest(remaining.centroid()), k)] = label
        label += 1
        if a_pair:
            labels[remaining.take(remaining.farthest(remaining.last_centre), k)] = label
            label += 1
    labels[remaining.rows] = label
    return labels


def plain_maximum_distance_groups(X: Floats, k: int) -> NDArray[np.intp]:
    """Group labels, the rest as a group whatever its size; see ``maximum_distance_groups``."""
    columns = np.ascontiguousarray(X.T)
    squared = np.stack([_squared_distances(columns, record) for record in X])
    np.fill_diagonal(squared, -1.0)
    labels = np.full(len(X), -1, dtype=np.intp)
    greatest, partner = squared.max(axis=1), squared.argmax(axis=1)  # of each record, to any other
    left, label = len(X), 0
    while left >= 2 * k:
        row = int(greatest.argmax())
        while labels[partner[row]] >= 0:  # distances never grow: whose partner is there need not be measured again
            partner[row] = squared[row].argmax()
            greatest[row] = squared[row, partner[row]]
            row = int(greatest.argmax())
        pair = [row, int(partner[row])]
        labels[pair] = label, label + 1
        for centre in pair:
            near = np.where(labels < 0, squared[centre], np.inf)
            labels[near.argsort(kind="stable")[: k - 1]] = labels[centre]
        squared[:, labels >= label] = -1.0
        greatest[labels >= label] = -1.0
        left, label = left - 2 * k, label + 2
    labels[labels < 0] = label
    return labels


def _squared_distances(columns: Floats, point: Floats) -> Floats:
    squared = np.zeros(columns.shape[1])
    for column, coordinate in zip(columns, point, strict=True):
        difference = column - coordinate
        squared += difference * difference
    return squared


class _Remaining:
    """The records not yet in a group, in row order, so that numpy's first match is the lowest row."""

    def __init__(self, X: Floats) -> None:
        self.rows = np.arange(len(X))
        self.columns = np.ascontiguousarray(X.T)
        self.last_centre = np.zeros(X.shape[1])
        self._total = np.zeros(X.shape[1])
        self._carry = np.zeros(X.shape[1])
        for record in X:
            self._add(record)

    @property
    def count(self) -> int:
        return len(self.rows)

    def _add(self, record: Floats) -> None:
        # Knuth's two-sum: total + carry holds the sum to twice the precision, so that taking record after
        # record out of it does not drift.
        total = self._total + record
        shift = total - self._total
        carry = self._carry + ((self._total - (total - shift)) + (record - shift))
        self._total = total + carry
        self._carry = carry - (self._total - total)

    def centroid(self) -> Floats:
        return self._total / self.count

    def farthest(self, point: Floats) -> int:
        """Position of the remaining record farthest from a point."""
        return int(_squared_distances(self.columns, point).argmax())

    def take(self, centre: int, k: int) -> NDArray[np.intp]:
        """Remove a record and its k - 1 nearest; their rows."""
        self.last_centre = self.columns[:, centre].copy()
        squared = _squared_distances(self.columns, self.last_centre)
        squared[centre] = -1.0  # first, whatever lies at distance zero
        within = np.flatnonzero(squared <= np.partition(squared, k - 1)[k - 1])
        group = within[squared[within].argsort(kind="stable")][:k]
        taken = self.rows[group]
        for record in self.columns[:, group].T:
            self._add(-record)
        keep = np.ones(self.count, dtype=np.bool_)
        keep[group] = False
        self.rows = self.rows[keep]
        self.columns = self.columns[:, keep]
        return taken
