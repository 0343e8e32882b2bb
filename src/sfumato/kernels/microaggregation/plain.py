"""MDAV and maximum-distance microaggregation of small tables, as the textbooks have them."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mdav_groups(X: Floats, k: int) -> NDArray[np.intp]:
    """Group labels of MDAV microaggregation; see ``kernels.microaggregation.mdav_groups``."""
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


def maximum_distance_groups(X: Floats, k: int) -> NDArray[np.intp]:
    """Group labels, the rest as a group whatever its size; see ``kernels.microaggregation.maximum_distance_groups``."""
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
