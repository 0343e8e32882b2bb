"""What every statistic of a table in parts can do: be made of a part, and merge with that of another part."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

S = TypeVar("S", bound="Statistic")


class Statistic(ABC):
    """A figure, or a few, of a part of the records, from which that of all parts can be put together.

    A statistic has a class method ``of`` that makes it of a part. ``merge`` knows, alone, how two parts come together.
    The law: in whatever way records are cut into parts, the merged statistic is that of all records; counts are equal,
    sums agree but for the rounding of additions in another order.
    """

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """Return the statistic of this part and of another together."""

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        return sum(entry.nbytes for entry in vars(self).values() if isinstance(entry, np.ndarray))


def merged(statistics: Iterable[S]) -> S:
    """Merge the statistics of parts, in the order of the parts."""
    return reduce(lambda one, other: one.merge(other), statistics)


@dataclass(frozen=True, eq=False)
class Sums(Statistic):
    """Named sums over records: numbers or arrays that add up from part to part.

    >>> one, two = Sums({"n": 2.0, "x": np.array([1.0, 5.0])}), Sums({"n": 3.0, "x": np.array([0.0, 2.0])})
    >>> one.merge(two)["n"], one.merge(two)["x"].tolist()
    (5.0, [1.0, 7.0])
    """

    named: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.named[name]

    def merge(self, other: Self) -> Self:
        """Add name by name."""
        return type(self)({name: value + other.named[name] for name, value in self.named.items()})

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        return sum(value.nbytes for value in self.named.values() if isinstance(value, np.ndarray))


def distinct_sums(keys: NDArray[Any], *sums: NDArray[Any]) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """Return the different keys in ascending order, and of each array the sums over the entries of equal keys."""
    found, place = np.unique(keys, return_inverse=True)
    added: list[NDArray[Any]] = []
    for values in sums:
        total = np.zeros(len(found), dtype=values.dtype)
        np.add.at(total, place, values)
        added.append(total)
    return found, added
