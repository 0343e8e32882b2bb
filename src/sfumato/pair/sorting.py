"""The values of a variable in ascending order where they do not fit into memory: an external sort.

Stretches of the table are sorted and put aside as runs. The runs are merged a range of values at a time: the ranges are
cut at values that were taken from each run at even steps, so that none holds more than memory does. A value that more
records share than fit is handed on in pieces, and needs no sort.

``Ordered`` has the few values of a variable that its quantiles and limits follow from. The values are sorted in files,
where one is found by its rank. Of those asked for, the ones beside them are kept too, and the ends; the records of all
others count with the next value that is kept. So what is found at a kept value is what it is among all of them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sfumato.pair.files import Array, MemoryAndFolder, NumbersInFile
from sfumato.pair.half import Half
from sfumato.pair.statistics import Values

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Places = NDArray[np.int64]

SHARE = 8  # of the memory, one part in so many is for what is sorted
BYTES = 48  # of a record while it is sorted: its value, what goes with it, their order, and all of it once more
MAX_SORTED_RECORDS = 2**22  # records sorted at a time; more are no faster
MIN_STEP = 256  # records of a run from one value to the next that ranges may be cut at
BESIDE = 2  # different values that are kept on either side: sums of weights may be off by their rounding


def at_a_time(room: MemoryAndFolder) -> int:
    """Return how many records may be sorted, or put in order, at a time."""
    return min(max(room.memory // SHARE // BYTES, 1), MAX_SORTED_RECORDS)


class Runs:
    """Values to be sorted, each with a number that goes along with it; equal values stay in the order of coming.

    ``expected`` is about how many there will be. ``along`` is the type of what goes along, None if nothing does.
    """

    def __init__(self, room: MemoryAndFolder, what: str, expected: int, along: DTypeLike | None = None) -> None:
        self._most = at_a_time(room)
        runs = -(-expected // self._most)
        self._step = max(self._most // (2 * runs + 1), min(MIN_STEP, self._most // 16), 1)
        self._values = NumbersInFile(room.folder, np.float64, what)
        self._along = None if along is None else NumbersInFile(room.folder, along, what)
        self._ends = [0]  # where each run ends, and the next begins
        self._marks: list[Floats] = []  # of each run, the last value of every step
        self._held: list[tuple[Floats, Array | None]] = []
        self.missing = 0

    def add(self, values: Floats, along: Array | None = None) -> None:
        """Take values, NaN for missing, which are counted and left out."""
        absent = np.isnan(values)
        missing = int(np.count_nonzero(absent))
        if missing:
            self.missing += missing
            values, along = values[~absent], None if along is None else along[~absent]
        for start in range(0, len(values), self._most):
            rows = slice(start, start + self._most)
            self._hold(values[rows], None if along is None else along[rows])

    def _hold(self, values: Floats, along: Array | None) -> None:
        if sum(len(held) for held, _ in self._held) + len(values) > self._most:
            self._put_aside()
        self._held.append((values, along))

    def _put_aside(self) -> None:
        """Sort what is held to a run."""
        if not self._held:
            return
        values, along = _in_order(self._held)
        self._held = []
        self._values.append(values)
        if self._along is not None and along is not None:
            self._along.append(along)
        self._ends.append(len(self._values))
        self._marks.append(values[self._step - 1 :: self._step].copy())

    def __len__(self) -> int:
        return len(self._values) + sum(len(held) for held, _ in self._held)

    def merged(self) -> Iterator[tuple[Floats, Array | None]]:
        """Yield all values in ascending order, with what goes along, in pieces that fit into memory."""
        self._put_aside()
        start, ends = np.array(self._ends[:-1], dtype=np.int64), np.array(self._ends[1:], dtype=np.int64)
        for cut in self._cuts():
            below, upto = self._places(cut)
            if (upto - start).sum() <= self._most:
                yield from self._range(start, upto)
            else:
                yield from self._range(start, below)
                yield from self._equal(below, upto)
            start = upto
        yield from self._range(start, ends)

    def close(self) -> None:
        """Give the files back to the disk."""
        self._values.close()
        if self._along is not None:
            self._along.close()

    def _cuts(self) -> list[float]:
        """Return values between two of which no more records lie than fit into memory."""
        marks = np.sort(np.concatenate(self._marks)) if self._marks else np.empty(0)
        # between two marks of a run there are less than a step of its values, and a range begins and ends amid steps
        every = max(self._most // self._step - len(self._marks), 1)
        return [float(cut) for cut in np.unique(marks[every - 1 :: every])]

    def _places(self, cut: float) -> tuple[Places, Places]:
        """Return, for each run, where its values of at least the cut begin, and where those beyond it."""
        found = np.empty((2, len(self._marks)), dtype=np.int64)
        for run, marks in enumerate(self._marks):
            first, end = self._ends[run], self._ends[run + 1]
            for side, row in (("left", 0), ("right", 1)):
                low = first + int(np.searchsorted(marks, cut, side)) * self._step  # type: ignore[call-overload]
                step = self._values.read(low, min(low + self._step, end))
                found[row, run] = low + np.searchsorted(step, cut, side)  # type: ignore[call-overload]
        return found[0], found[1]

    def _range(self, start: Places, stop: Places) -> Iterator[tuple[Floats, Array | None]]:
        """Sort a range of values, from the stretch that each run has of it."""
        pieces = [self._read(low, high) for low, high in zip(start.tolist(), stop.tolist(), strict=True) if low < high]
        if pieces:
            yield _in_order(pieces)

    def _equal(self, start: Places, stop: Places) -> Iterator[tuple[Floats, Array | None]]:
        """Hand on equal values, run by run."""
        for low, high in zip(start.tolist(), stop.tolist(), strict=True):
            if low < high:
                yield self._read(low, high)

    def _read(self, start: int, stop: int) -> tuple[Floats, Array | None]:
        return self._values.read(start, stop), None if self._along is None else self._along.read(start, stop)


def _in_order(pieces: list[tuple[Floats, Array | None]]) -> tuple[Floats, Array | None]:
    """Put pieces together and sort them; equal values in the order of the pieces."""
    values = np.concatenate([values for values, _ in pieces])
    along = [beside for _, beside in pieces if beside is not None]
    if not along:
        values.sort()
        return values, None
    order = np.argsort(values, kind="stable")
    return values[order], np.concatenate(along)[order]


class Ties(NamedTuple):
    """Different values in ascending order, how many records have each, and the sums over what goes along with them."""

    values: Floats
    counts: Integers
    sums: Array  # a row for each value

    def only(self, which: slice) -> "Ties":
        """Return some of the values."""
        return Ties(self.values[which], self.counts[which], self.sums[which])


def ties(pieces: Iterable[tuple[Floats, Array | None]], told: Callable[[Array], Array] | None = None) -> Iterator[Ties]:
    """Yield the different values of sorted pieces; one may go over several pieces, and is told once.

    ``told`` makes of what goes along a row of numbers for each record, which are summed for each value.

    >>> found = ties([(np.array([1.0, 2.0]), None), (np.array([2.0]), None), (np.array([2.0, 5.0]), None)])
    >>> [(some.values.tolist(), some.counts.tolist()) for some in found]
    [([1.0], [1]), ([2.0], [3]), ([5.0], [1])]
    """
    last: Ties | None = None  # the value that may go on in the next piece
    for values, along in pieces:
        starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        rows = np.empty((len(values), 0)) if told is None or along is None else told(along)
        found = Ties(values[starts], np.diff(starts, append=len(values)), np.add.reduceat(rows, starts, axis=0))
        if last is not None and found.values[0] == last.values[0]:
            found.counts[0] += last.counts[0]
            found.sums[0] += last.sums[0]
        elif last is not None:
            yield last
        if len(starts) > 1:
            yield found.only(slice(-1))
        last = found.only(slice(-1, None))
    if last is not None:
        yield last


def by_record(
    pieces: Iterable[tuple[Integers, Array]], records: int, missing: Array, room: MemoryAndFolder, what: str
) -> Iterator[Array]:
    """Yield, in stretches in the order of the records, what is told of each in pieces of any order.

    ``pieces`` holds numbers of records and an entry for each, no record twice; one that is told nothing of has the
    entry ``missing``, an array of one.

    >>> pieces = [(np.array([3, 0]), np.array([0.3, 0.0])), (np.array([1]), np.array([0.1]))]
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sfumato.pair.files import Workspace
    >>> with TemporaryDirectory() as folder:
    ...     found = list(by_record(pieces, 4, np.array([np.nan]), Workspace(10**6, Path(folder)), "x"))
    >>> np.concatenate(found).tolist()
    [0.0, 0.1, nan, 0.3]
    """
    width = at_a_time(room)
    stretches = -(-records // width)
    numbers, entries = (NumbersInFile(room.folder, dtype, what) for dtype in (np.int64, missing.dtype))
    filled = np.zeros(stretches, dtype=np.int64)  # how many entries each stretch has so far
    for chosen, told in pieces:
        stretch = chosen // width
        order = np.argsort(stretch, kind="stable")
        ends = np.searchsorted(stretch[order], np.arange(stretches + 1))
        for place in np.flatnonzero(np.diff(ends)).tolist():
            rows = order[ends[place] : ends[place + 1]]
            at = place * width + int(filled[place])
            numbers.write(at, chosen[rows])
            entries.write(at, told[rows])
            filled[place] += len(rows)
    for place in range(stretches):
        first = place * width
        found = np.repeat(missing, min(width, records - first))
        stop = first + int(filled[place])
        found[numbers.read(first, stop) - first] = entries.read(first, stop)
        yield found
    numbers.close()
    entries.close()


@dataclass(frozen=True, eq=False)
class SortedColumn:
    """A variable of a table in ascending order, in files: each value present, and the number of its record.

    Equal values stand in the order of their records, as after numpy's stable ``argsort``. ``missing`` counts the
    records without a value; they stand nowhere.
    """

    values: NumbersInFile
    numbers: NumbersInFile
    missing: int
    room: MemoryAndFolder
    what: str

    @classmethod
    def of(cls, runs: Runs, room: MemoryAndFolder, what: str) -> "SortedColumn":
        """Merge runs of values that the numbers of their records go along with; the runs are gone afterwards."""
        values, numbers = NumbersInFile(room.folder, np.float64, what), NumbersInFile(room.folder, np.int64, what)
        for found, along in runs.merged():
            assert along is not None
            values.append(found)
            numbers.append(along)
        runs.close()
        return cls(values, numbers, runs.missing, room, what)

    def __len__(self) -> int:
        return len(self.values)

    def pieces(self) -> Iterator[tuple[Floats, Integers]]:
        """Yield values in ascending order and the numbers of their records, from 0, in pieces that fit into memory."""
        width = at_a_time(self.room)
        for start in range(0, len(self), width):
            yield self.values.read(start, start + width), self.numbers.read(start, start + width)

    def counts(self) -> Iterator[tuple[Floats, Integers]]:
        """Yield the different values in ascending order, and how many records have each."""
        return ((some.values, some.counts) for some in ties(self.pieces()))

    def by_record(self, entries: Iterable[Array], missing: Array | None = None) -> Iterator[Array]:
        """Take an entry for each value in ascending order, and yield those of the records in their order.

        ``entries`` comes in pieces of any length. A record whose value is missing gets ``missing``, an array of one;
        NaN if nobody says.
        """
        absent = np.array([np.nan]) if missing is None else missing
        return by_record(self._beside(entries), len(self) + self.missing, absent, self.room, self.what)

    def _beside(self, entries: Iterable[Array]) -> Iterator[tuple[Integers, Array]]:
        start = 0
        for told in entries:
            yield self.numbers.read(start, start + len(told)), told
            start += len(told)
        assert start == len(self), "an entry for each value, no more and no less"

    def close(self) -> None:
        """Give the files back to the disk."""
        self.values.close()
        self.numbers.close()


def sorted_column(half: Half, name: str, number: Floats | None = None) -> SortedColumn:
    """Sort a variable of a table, categories by their codes, in the memory and the folder of the engine around.

    ``number`` says what each code stands for, the last entry a missing value.
    """
    room, what = half.room, f"{'id' if name == half.schema.id else 'variable'} {name!r} in order"
    runs, first = Runs(room, what, len(half), np.int64), 0
    for part in half.parts:
        column = part.columns[name]
        runs.add(numbers_of(column) if number is None else number[column], np.arange(first, first + len(part)))
        first += len(part)
    return SortedColumn.of(runs, room, what)


def numbers_of(column: Array) -> Floats:
    """Return a column as numbers, those of categories their codes; missing is NaN."""
    if column.dtype.kind == "f":
        return column
    found = column.astype(np.float64)
    found[column < 0] = np.nan
    return found


@dataclass(frozen=True, eq=False)
class Ordered:
    """The values present of a numeric variable in ascending order, in a file, one for each record.

    ``sums`` has what the records up to each weigh together; None: each counts one, as where none has a weight.
    ``fraction`` is the rank of a value that is no whole number, None if there is none.
    """

    values: NumbersInFile
    sums: NumbersInFile | None
    missing: int
    fraction: int | None

    @classmethod
    def of(cls, half: Half, name: str, *, weighted: bool = False) -> "Ordered":
        """Sort a variable of a table, in the memory and the folder of the engine around."""
        room, what = half.room, f"variable {name!r} in order"
        runs = Runs(room, what, len(half), np.float64 if weighted else None)
        for part in half.parts:
            runs.add(part.columns[name], part.weights() if weighted else None)
        values, sums = NumbersInFile(room.folder, np.float64, what), NumbersInFile(room.folder, np.float64, what)
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
