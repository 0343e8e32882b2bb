"""How near two numbers are: by the records that lie between them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def near_each(places: Floats, distance: float) -> NDArray[np.int64]:
    """Return, for each of some sorted places, how many of them are no further away, itself included.

    >>> near_each(np.array([0.0, 1.0, 2.0, 5.0]), 1.0)
    array([2, 3, 2, 1])
    """
    slack = distance * (1 + 1e-12)
    low = np.searchsorted(places, places - slack, side="left")
    return np.asarray(np.searchsorted(places, places + slack, side="right") - low)


@dataclass(frozen=True, eq=False)
class Ranks:
    """The values of a numeric variable in order, and how far apart two of them may be in rank to count as the same.

    The rank of a number is the mean rank of the values equal to it, so that a value that many records share is far
    from its neighbours.

    >>> ranks = Ranks.of(np.array([10.0, 20.0, 20.0, 30.0]), near=0.25)
    >>> ranks.place(np.array([10.0, 20.0, 25.0]))
    array([0.5, 2. , 3. ])
    >>> ranks.near(np.array([20.0, 20.0]), np.array([25.0, 10.0]))
    array([ True, False])
    """

    values: Floats
    distance: float
    _kept: list[tuple[Floats, Floats]] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, column: Floats, near: float) -> "Ranks":
        """Take the values of a column; ``near`` is a share of its records."""
        values = np.sort(column[~np.isnan(column)])
        return cls(values, near * len(values))

    def place(self, numbers: Floats) -> Floats:
        """Return the ranks of numbers among the values."""
        low = np.searchsorted(self.values, numbers, side="left")
        return np.asarray((low + np.searchsorted(self.values, numbers, side="right")) / 2)

    def places(self, levels: Floats) -> Floats:
        """Return the ranks of the different values, computed once."""
        if not self._kept or self._kept[0][0] is not levels:
            self._kept[:] = [(levels, self.place(levels))]
        return self._kept[0][1]

    def likely(self, places: Floats) -> float:
        """Return the largest share of these ranks that lies near one of them.

        >>> Ranks(np.empty(0), distance=1.0).likely(np.array([0.5, 1.5, 2.5, 9.0]))
        0.75
        """
        return float(near_each(np.sort(places), self.distance).max() / len(places))

    def near(self, true: Floats, found: Floats) -> NDArray[np.bool_]:
        """Tell which numbers found are as good as the true ones."""
        return np.asarray(np.abs(self.place(true) - self.place(found)) <= self.distance)
