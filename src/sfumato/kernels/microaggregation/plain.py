"""MDAV microaggregation of small tables, as the textbook has it."""

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

    def _squared_distances(self, point: Floats) -> Floats:
        squared = np.zeros(self.count)
        for column, coordinate in zip(self.columns, point, strict=True):
            difference = column - coordinate
            squared += difference * difference
        return squared

    def farthest(self, point: Floats) -> int:
        """Position of the remaining record farthest from a point."""
        return int(self._squared_distances(point).argmax())

    def take(self, centre: int, k: int) -> NDArray[np.intp]:
        """Remove a record and its k - 1 nearest; their rows."""
        self.last_centre = self.columns[:, centre].copy()
        squared = self._squared_distances(self.last_centre)
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
