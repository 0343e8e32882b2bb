"""What every statistic of a table in parts can do: be made of a part, and merge with that of another part."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError

S = TypeVar("S", bound="Statistic")


@dataclass(frozen=True)
class Room:
    """How much memory a merged statistic may take, and the folder for what is more; it is made when it is asked for."""

    memory: int
    made: Callable[[], Path]

    @property
    def folder(self) -> Path:
        """The folder."""
        return self.made()


class Statistic(ABC):
    """A figure, or a few, of a part of the records, from which that of all parts can be put together.

    A statistic has a class method ``of`` that makes it of a part. ``merge`` knows, alone, how two parts come together.
    The law: in whatever way records are cut into parts, the merged statistic is that of all records; counts are equal,
    sums agree but for the rounding of additions in another order.
    """

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """Return the statistic of this part and of another together."""

    @classmethod
    def together(cls, statistics: Sequence[Self]) -> Self:
        """Merge several statistics, in their order; where that is cheaper at once, a class says so."""
        return reduce(lambda one, other: one.merge(other), statistics)

    @classmethod
    def gathering(cls, room: Room | None) -> "Gathering[Any]":  # noqa: ARG003 - for classes that go to files
        """Return what merges statistics of this class as they come."""
        return Gathering()

    def summary(self) -> Self:
        """Return what goes from a part to the whole; what is said of single records stays behind."""
        return self

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        return sum(entry.nbytes for entry in vars(self).values() if isinstance(entry, np.ndarray))


AT_ONCE = 16 * 2**20  # bytes of statistics that are merged at once


class Gathering(Generic[S]):
    """Merges statistics as they come, in their order: many small ones at once, and never more than is there already.

    So each is touched a few times at most, however many parts there are.
    """

    def __init__(self) -> None:
        self._held: list[S] = []
        self._bytes = self._first = 0

    def add(self, statistic: S) -> None:
        """Take the statistic of the next part."""
        if not self._held:
            self._first = statistic.nbytes
        else:
            self._bytes += statistic.nbytes
        self._held.append(statistic)
        if len(self._held) > 1 and self._bytes > max(AT_ONCE, self._first):
            self._fold()

    @property
    def nbytes(self) -> int:
        """The memory that is taken so far."""
        return self._first + self._bytes

    def result(self) -> S:
        """Return the statistic of all parts so far."""
        return self._fold()

    def _fold(self) -> S:
        if len(self._held) > 1:
            self._held = [type(self._held[0]).together(self._held)]
        self._first, self._bytes = self._held[0].nbytes, 0
        return self._held[0]


def merged(statistics: Iterable[S], room: Room | None = None) -> S:
    """Merge the statistics of parts, in the order of the parts; what does not fit into the room goes to files."""
    gathering: Gathering[S] | None = None
    for statistic in statistics:
        gathering = gathering or statistic.gathering(room)
        gathering.add(statistic)
    if gathering is None:
        raise DataError("the table has no records")
    return gathering.result()


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
