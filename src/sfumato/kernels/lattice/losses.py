"""What a node loses, and the least that any node between two others can lose."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.lattice.assessor import Assessed
from sfumato.kernels.lattice.rows import Levels, Rows

Floats = NDArray[np.float64]


class Loss(Protocol):
    """A loss of a node, and a bound for all nodes between a ``low`` and a ``high`` one."""

    @property
    def bounded(self) -> bool:
        """Whether there is a bound, and a value costs nothing."""

    @property
    def by_classes(self) -> bool:
        """Whether the bound needs the classes of the low node."""

    def value(self, node: Assessed) -> float:
        """Return the loss of a node."""

    def bound(self, low: Levels, finest: Assessed | None, high: Assessed) -> float:
        """Return what every node between the two loses at least; ``finest`` is the low one, where it is needed."""

    def gap(self, key: int, low: int, high: int) -> float:
        """Return how much lies between two levels of a key, to tell which key to split."""


@dataclass(frozen=True, eq=False)
class ValueLoss:
    """A sum over the values of the records: what each loses by its group, or by being suppressed.

    ``base[j][l]`` is what the values of key j lose at level l if none is suppressed. That sum grows with every level.
    A suppressed value loses more, by ``gains`` of its group (see ``of``), and the sum of that over the records
    suppressed falls with every level: fewer records are, and their groups have less to lose. So between two nodes at
    least the base of the low one is lost and the rest of the high one.
    """

    base: tuple[Floats, ...]
    gains: Floats
    gone: float  # what is lost if all records are suppressed

    bounded = True
    by_classes = False

    @classmethod
    def of(
        cls, rows: Rows, costs: Sequence[Sequence[Floats]], gone: Sequence[Floats], worth: Sequence[float]
    ) -> "ValueLoss":
        """Add up the costs of values: of code v of key j at level l ``costs[j][l][v]``, if suppressed ``gone[j][v]``.

        Costs rise from level to level and are at most those of a suppressed value; values of one group have the same
        to lose. A missing value costs nothing. ``worth`` is the weight of a value of each key.
        """
        gains, base, everything = [], [], 0.0
        for j, (levels, lost, weight) in enumerate(zip(costs, gone, worth, strict=True)):
            often = np.bincount(rows.codes[:, j], weights=rows.table.counts, minlength=len(lost) + 1)[:-1]
            base.append(np.array([weight * float((often * cost).sum()) for cost in levels]))
            gains += [np.append(weight * (lost - cost), 0.0) for cost in levels]
            everything += weight * float((often * lost).sum())
        return cls(tuple(base), np.concatenate(gains), everything)

    def value(self, node: Assessed) -> float:
        """Return the loss of a node."""
        return self.unsuppressed(node.levels) + node.lost.penalty

    def bound(self, low: Levels, finest: Assessed | None, high: Assessed) -> float:
        """Return what every node between the two loses at least."""
        return self.unsuppressed(low) + high.sure.penalty

    def gap(self, key: int, low: int, high: int) -> float:
        """Return how much lies between two levels of a key."""
        return float(self.base[key][high] - self.base[key][low])

    def unsuppressed(self, levels: Levels) -> float:
        """Return the loss at these levels if no record is suppressed."""
        total = 0.0
        for base, level in zip(self.base, levels, strict=True):
            total += float(base[level])
        return total


@dataclass(frozen=True)
class Discernibility:
    """The sum over the records of how many look like each, n for one suppressed; from that of the rows to n squared.

    The squared sizes of all classes grow with every level. Suppressed records add n less their class, which falls with
    every level: there are fewer of them, in larger classes.
    """

    records: int
    rows: int  # the sum of the squared sizes of the rows
    heights: Levels

    bounded = True
    by_classes = True

    def value(self, node: Assessed) -> float:
        """Return the loss of a node."""
        return self._share(node.squares + self.records * node.lost.records - node.lost.squares)

    def bound(self, low: Levels, finest: Assessed | None, high: Assessed) -> float:
        """Return what every node between the two loses at least."""
        least = self.rows if finest is None else finest.squares
        return self._share(least + self.records * high.sure.records - high.sure.squares)

    def gap(self, key: int, low: int, high: int) -> float:
        """Return how much lies between two levels of a key."""
        return (high - low) / max(self.heights[key], 1)

    def _share(self, penalty: int) -> float:
        most = self.records * self.records
        return max(0.0, (penalty - self.rows) / (most - self.rows)) if most > self.rows else 0.0


@dataclass(frozen=True)
class ClassSize:
    """Records per class, the suppressed being one class.

    A class that is kept has ``least`` records or more. It holds a class of the low node that could be kept there, or
    is made of records that could not, without those that cannot be kept at the high node either: so many classes there
    can be at most, and never more than the low node has.
    """

    records: int
    least: int
    heights: Levels

    bounded = True
    by_classes = True

    def value(self, node: Assessed) -> float:
        """Return the loss of a node."""
        return self.records / (node.classes - node.lost.classes + (node.lost.records > 0))

    def bound(self, low: Levels, finest: Assessed | None, high: Assessed) -> float:
        """Return what every node between the two loses at least."""
        if finest is None:
            return 1.0
        made = (finest.sure.records - high.sure.records) // self.least
        return self.records / min(finest.classes, finest.classes - finest.sure.classes + made + 1)

    def gap(self, key: int, low: int, high: int) -> float:
        """Return how much lies between two levels of a key."""
        return (high - low) / max(self.heights[key], 1)
