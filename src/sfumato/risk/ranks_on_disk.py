"""The place of every value among the protected ones of a variable whose different values do not fit into memory.

The values of both tables are sorted together on disk, each with the number of its record; what the order tells of a
record is then brought back into the order of the records.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.pair import Pair
from sfumato.pair.numbers_on_disk import NumbersOnDisk
from sfumato.pair.sorting import Runs, SortedColumn, by_record, ties

Integers = NDArray[np.int64]
PLACE = np.dtype([("below", np.int64), ("upto", np.int64)])
MISSING = np.array([(-1, -1)], dtype=PLACE)


@dataclass(frozen=True, eq=False)
class Places:
    """Of each record's value in one of the tables: how many protected values are smaller, and how many not larger.

    Both are -1 where the value is missing.
    """

    below: Integers
    upto: Integers

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether there is a value."""
        return self.below >= 0

    def ranks(self, *, last: bool) -> NDArray[np.float64]:
        """Return the rank of each value from 0, of those that tie the mean or the last."""
        return self.upto - np.float64(1) if last else (self.below + self.upto - 1) / np.float64(2)


def places(pair: Pair, name: str) -> Iterator[tuple[Places, Places]]:
    """Yield the places of original and protected values, in the order of the records, in stretches that fit."""
    room, what = pair.original.room, f"variable {name!r} in order"
    runs = Runs(room, what, 2 * len(pair.original), np.int64)
    for side, half in enumerate((pair.original, pair.protected)):
        first = 0
        for part in half.parts:
            numbers = np.arange(first, first + len(part))
            runs.add(part.columns[name], ~numbers if side else numbers)  # below zero: a protected record
            first += len(part)
    pooled = SortedColumn.of(runs, room, what)
    upto = NumbersOnDisk(room.folder, np.int64, what)  # how many protected values each different value reaches
    upto.append(np.zeros(1, dtype=np.int64))
    reached = 0
    for some in ties(pooled.pieces(), lambda numbers: (numbers < 0)[:, None].astype(np.int64)):
        upto.append(reached + np.cumsum(some.sums[:, 0]))
        reached += int(some.sums.sum())
    records = len(pair.original)
    sides = (by_record(_told(pooled, upto, side), records, MISSING, room, what) for side in (0, 1))
    for before, after in zip(*sides, strict=True):
        yield Places(before["below"], before["upto"]), Places(after["below"], after["upto"])
    pooled.close()
    upto.close()


def _told(pooled: SortedColumn, upto: NumbersOnDisk, side: int) -> Iterator[tuple[Integers, NDArray[Any]]]:
    """Yield the numbers of one table's records in ascending order of their values, and the place of each."""
    last, value = -1, np.nan  # the number of the different value that was seen last, and that value
    for values, numbers in pooled.pieces():
        begins = np.append(values[0] != value, values[1:] != values[:-1])
        which = last + np.cumsum(begins)
        known = upto.read(int(which[0]), int(which[-1]) + 2)
        last, value = int(which[-1]), float(values[-1])
        chosen = numbers < 0 if side else numbers >= 0
        at = which[chosen] - which[0]
        found = np.empty(len(at), dtype=PLACE)
        found["below"], found["upto"] = known[at], known[at + 1]
        yield (~numbers[chosen] if side else numbers[chosen]), found
