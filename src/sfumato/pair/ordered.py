"""The few values of a variable that its quantiles and limits follow from, where all of them take too much memory.

The values are sorted in files, where one is found by its rank. Of those asked for, the ones beside them are kept too,
and the ends; the records of all others count with the next value that is kept. So what is found at a kept value is what
it is among all of them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.pair.half import Half
from sfumato.pair.numbers_on_disk import NumbersOnDisk
from sfumato.pair.sorting import Runs
from sfumato.pair.statistics import Values

Floats = NDArray[np.float64]
BESIDE = 2  # different values that are kept on either side: sums of weights may be off by their rounding


@dataclass(frozen=True, eq=False)
class Ordered:
    """The values present of a numeric variable in ascending order, in a file, one for each record.

    ``sums`` has what the records up to each weigh together; None: each counts one, as where none has a weight.
    ``fraction`` is the rank of a value that is no whole number, None if there is none.
    """

    values: NumbersOnDisk
    sums: NumbersOnDisk | None
    missing: int
    fraction: int | None

    @classmethod
    def of(cls, half: Half, name: str, *, weighted: bool = False) -> "Ordered":
        """Sort a variable of a table, in the memory and the folder of the engine around."""
        room, what = half.room, f"variable {name!r} in order"
        runs = Runs(room, what, len(half), np.float64 if weighted else None)
        for part in half.parts:
            runs.add(part.columns[name], part.weights() if weighted else None)
        values, sums = NumbersOnDisk(room.folder, np.float64, what), NumbersOnDisk(room.folder, np.float64, what)
        total, fraction = 0.0, None
        for found, weights in runs.merged():
            if fraction is None and (odd := np.flatnonzero(found != np.round(found))).size:
                fraction = len(values) + int(odd[0])
            values.append(found)
            if weights is not None:
                upto = np.cumsum(np.append(total, weights))[1:]
                total = float(upto[-1])
                sums.append(upto)
        runs.close()
        return cls(values, sums if total else None, runs.missing, fraction)

    def __len__(self) -> int:
        return len(self.values)

    def at(self, rank: int) -> float:
        """Return the value of the record with a rank, from 0."""
        return float(self.values.read(rank, rank + 1)[0])

    def upto(self, records: int) -> float:
        """Return what so many of the first records weigh."""
        if self.sums is None or not records:
            return float(records)
        return float(self.sums.read(records - 1, records)[0])

    def least(self, different: int) -> list[int]:
        """Return a rank of each of so many least different values, or of all of them if there are fewer."""
        ranks: list[int] = []
        start = 0
        while start < len(self) and len(ranks) < different:
            ranks.append(start)
            start = self._stop(start)
        return ranks

    def reaching(self, weight: float) -> int:
        """Return the rank of the first record up to which all weigh as much; that of the last if they never do."""
        return min(bisect_left(range(len(self)), weight, key=self._upto_rank), max(len(self) - 1, 0))

    def exceeding(self, weight: float) -> int:
        """Return the rank of the first record up to which all weigh more; that of the last if they never do."""
        return min(bisect_right(range(len(self)), weight, key=self._upto_rank), max(len(self) - 1, 0))

    def _upto_rank(self, rank: int) -> float:
        return self.upto(rank + 1)

    def rank_of(self, value: float) -> int:
        """Return the rank of the first value that is not below this one; that of the last if all are."""
        return min(bisect_left(range(len(self)), value, key=self.at), max(len(self) - 1, 0))

    def around(self, ranks: Iterable[int]) -> Values:
        """Return the values at these ranks, those beside them, the ends, and one that is no whole number, if any is."""
        stops: set[int] = set()
        fraction = [] if self.fraction is None else [self.fraction]
        for rank in {0, len(self) - 1, *fraction, *ranks} if len(self) else ():
            stops |= self._beside(rank)
        ends = sorted(stops)
        values = np.array([self.at(stop - 1) for stop in ends], dtype=np.float64)
        weights = None if self.sums is None else np.diff([self.upto(stop) for stop in ends], prepend=0.0)
        counts = np.array([stop - start for start, stop in pairwise([0, *ends])], dtype=np.int64)
        return Values(values, counts, self.missing, weights)

    def _beside(self, rank: int) -> set[int]:
        """Return where the value of a rank ends, and where those beside it do."""
        low, high = self._start(rank), self._stop(rank)
        found = {high}
        for _ in range(BESIDE):
            found.add(low)
            low = self._start(low - 1) if low else low
            high = self._stop(high) if high < len(self) else high
            found.add(high)
        return found - {0}

    def _start(self, rank: int) -> int:
        """Return the rank of the first record with the value of this one."""
        return bisect_left(range(rank), self.at(rank), key=self.at)

    def _stop(self, rank: int) -> int:
        """Return the rank after the last record with the value of this one."""
        return bisect_right(range(len(self)), self.at(rank), lo=rank, key=self.at)


def middle_of(half: Half, name: str) -> tuple[float, float] | None:
    """Return the two values amid a numeric variable, the same one twice of an odd number; None if it has none."""
    found = half.values_if_they_fit(name)
    if found is not None:
        ranks = np.array([(found.present - 1) // 2, found.present // 2])
        return tuple(found.at_rank(ranks).tolist()) if found.present else None
    ordered = Ordered.of(half, name)
    return (ordered.at((len(ordered) - 1) // 2), ordered.at(len(ordered) // 2)) if len(ordered) else None
