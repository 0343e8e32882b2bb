"""One level for each of several keys: which choice of levels loses least, among those that keep records alike enough.

A node of the lattice is a level for each key. Records whose groups agree in every key at those levels are a class;
``Rows`` holds the different rows once, ``Assessor`` says what a node comes to, ``Search`` finds the best of all nodes
without looking at most of them.

The best node of a lattice, by branch and bound over boxes of nodes. A box holds all nodes between a low and a high one.
If the high node cannot be kept, none of the box can, as far as what is asked is nested; and no node of the box loses
less than the bound of the two. The box of least bound is split next, so that the search may end when the best node
found loses no more than that: it is then the best of all. Whatever stops it before, the least bound left says how far
the best found may be from that.
"""

import heapq
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import WORTH_COMPILING, worth_compiling
from sfumato.kernels.agreement import agreeing_pairs, spans
from sfumato.kernels.expected_inverse import expected_inverse
from sfumato.kernels.groups import class_sums, classes, first_records
from sfumato.kernels.lattice import plain

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Levels = tuple[int, ...]  # one of each key
Flags = NDArray[np.bool_]
Figure = Literal["distinct", "entropy", "equal distance", "ordered distance"]

MAX_PACKED = 2**62  # different numbers that a row is packed into
_WORTH = 1_000 * WORTH_COMPILING  # records times nodes
KINDS: dict[Figure, int] = {"distinct": 0, "entropy": 1, "equal distance": 2, "ordered distance": 3}
_MAX_ENTRIES = 4_000_000  # of classes and values at a time
MAX_KEPT_BYTES = 2**28  # bytes of classes that are kept to make coarser ones of
WORTH = 3  # levels that lie between two nodes whose classes are kept
EVERY = 0.1  # seconds between two looks at a watch


@dataclass(frozen=True, eq=False)
class Table:
    """The classes of a node: the first row of each, its records, and the sum of their weights where these count."""

    levels: Levels
    rows: Codes
    counts: Integers
    weights: Floats | None

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.rows.nbytes + self.counts.nbytes + (0 if self.weights is None else self.weights.nbytes)


@dataclass(frozen=True, eq=False)
class Rows:
    """Records with the same keys once, how many there are, and the group of every value at every level.

    ``codes`` holds a row for each; the value after the last is a missing one. ``maps`` has the groups of all keys and
    levels one after the other: that of value v of key j at level l is ``maps[starts[j][l] + v]``, a number below
    ``groups[j][l]``. A missing value is a group of its own, until a level leaves one group only: it is then in that,
    because neither tells anything. ``gaps`` says whether any key is missing in any record.
    """

    codes: Codes
    row_of: Integers
    table: Table
    maps: Codes
    starts: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    records: int
    gaps: bool

    @classmethod
    def of(cls, codes: Sequence[Codes], parents: Sequence[Sequence[Codes]], weights: Floats | None = None) -> "Rows":
        """Put records into rows: the ``codes`` of each key, -1 where missing, and the group of each code by level.

        >>> rows = Rows.of([np.array([0, 1, 1, -1])], [[np.array([0, 1]), np.array([0, 0])]])
        >>> rows.table.counts, rows.groups, rows.maps
        (array([1, 2, 1]), ((3, 1),), array([0, 1, 2, 0, 0, 0], dtype=int32))
        """
        maps: list[Codes] = []
        starts, groups, start, any_gaps = [], [], 0, False
        filled = []
        for code, levels in zip(codes, parents, strict=True):
            gaps = bool((code < 0).any())
            any_gaps |= gaps
            filled.append(np.where(code < 0, len(levels[0]), code).astype(np.int32))
            first, number = [], []
            for parent in levels:
                found = int(parent.max(initial=-1)) + 1
                alone = found > 1
                maps.append(np.append(parent, found if alone else 0).astype(np.int32))
                number.append(found + 1 if gaps and alone else max(found, 1))
                first.append(start)
                start += len(parent) + 1
            starts.append(tuple(first))
            groups.append(tuple(number))
        stacked = np.column_stack(filled)
        row_of, counts = classes(stacked)
        sums = None if weights is None else class_sums(row_of, weights, len(counts))
        table = Table((0,) * len(starts), np.arange(len(counts), dtype=np.int32), counts, sums)
        rows = np.ascontiguousarray(stacked[first_records(row_of)])
        return cls(rows, row_of, table, np.concatenate(maps), tuple(starts), tuple(groups), len(stacked), any_gaps)

    @property
    def top(self) -> Levels:
        """The highest level of every key."""
        return tuple(len(levels) - 1 for levels in self.starts)

    @property
    def nodes(self) -> int:
        """How many choices of levels there are."""
        number = 1
        for levels in self.starts:
            number *= len(levels)
        return number

    @property
    def kernel(self) -> ModuleType:
        """The functions that do the work: in machine code, or the same in numpy.

        Many nodes look at the same records, so it is both together that repay compiling.
        """
        return _compiled() if worth_compiling(self.records * self.nodes, _WORTH) else plain

    def values_kernel(self, classes: int, values: int) -> ModuleType:
        """The functions that look at so many values in so many classes."""
        return _compiled() if classes * values > plain.DENSE else self.kernel

    def places(self, levels: Levels) -> Integers:
        """Return where the groups of each key at these levels start in ``maps``."""
        return np.array([starts[level] for starts, level in zip(self.starts, levels, strict=True)], dtype=np.int64)

    def numbered(self, rows: Codes, columns: Sequence[int], levels: Levels) -> tuple[Codes, int]:
        """Return the class of each of these rows by some of the keys, from 0 as they appear, and how many there are."""
        places = self.places(levels)
        # a key of one group tells nothing apart
        left = [(j, self.groups[j][levels[j]]) for j in columns if self.groups[j][levels[j]] > 1]
        class_of, found = np.zeros(len(rows), dtype=np.int32), 1
        while left:
            factors, chunk = [found], []
            number = found
            while left and number <= MAX_PACKED // left[0][1]:  # too many for 64 bits: the classes so far are one key
                column, groups = left.pop(0)
                number *= groups
                chunk.append(column)
                factors.append(groups)
            at = np.array(chunk, dtype=np.int64)
            found = self.kernel.numbered(
                self.codes, rows, self.maps, at, places[at], np.array(factors, dtype=np.int64), class_of
            )
        return class_of, found

    def rolled(self, source: Table, levels: Levels) -> tuple[Table, Codes]:
        """Return the classes of a node from those of a finer one, and the class that each of the finer ones is in.

        Two records that agree at a level agree at every higher one, so that classes only come together.
        """
        class_of, found = self.numbered(source.rows, range(len(levels)), levels)
        first, counts = np.empty(found, dtype=np.int32), np.zeros(found, dtype=np.int64)
        self.kernel.gathered(source.rows, source.counts, class_of, first, counts)
        weights = None if source.weights is None else class_sums(class_of.astype(np.int64), source.weights, found)
        return Table(levels, first, counts, weights), class_of


def _compiled() -> ModuleType:
    from sfumato.kernels.lattice import compiled

    return compiled


class AlikeRequirement(NamedTuple):
    """Keys that are known together, by their places: how many records must agree in them, the largest risk of one.

    A record that has enough others alike has them at every coarser node, because its class only grows. So has one
    whose individual risk E(1 / F | f) is low enough: with u = v^f the integral of ``expected_inverse`` becomes that of
    1 / (f + d u^(1/f)) over u from 0 to 1, where d = (sum of weights) - f. Classes that come together add up their f
    and, weights being at least 1, their d >= 0; both f + d u^(1/f) and u^(1/f), u < 1, grow with f, so the risk falls.
    """

    columns: tuple[int, ...]
    k: int
    risk: float | None = None


@dataclass(frozen=True, eq=False)
class Values:
    """A bound on what a class tells of a confidential variable: its value in each record, -1 where missing.

    A class fails if it has fewer different values than the bound, or its entropy is worth fewer, or its values are
    farther than the bound from those of the file, by equal or by ordered distance. One without any value tells nothing
    and fails never.
    """

    values: Codes
    number: int
    figure: Figure
    bound: float

    def nested(self, most: int) -> bool:
        """Tell whether records in classes that keep it are so at every coarser node, if so many may be suppressed.

        A class that comes together with another has at least as many different values, so those of different values
        do, if every record has a value (else a class without any, which keeps it, may come to one that fails). Entropy
        and distance are means: a class that keeps the bound may break it with one that does not. Of two classes that
        both keep it, the class of both does, because entropy is concave in the shares and distance convex; so if no
        record may be suppressed, and every class must keep it, every coarser node keeps it too.
        """
        return most == 0 or (self.figure == "distinct" and bool((self.values >= 0).all()))

    @property
    def mixes(self) -> bool:
        """Whether a class that keeps the bound may break it with the suppressed records counted in it.

        Not of different values, unless a class has none: then it has those of the suppressed.
        """
        return self.figure != "distinct" or bool((self.values < 0).any())

    def fails(self, figure: Floats, total: Integers) -> Flags:
        """Tell which classes break the bound; within rounding, as the measures of risk have it."""
        if self.figure in ("distinct", "entropy"):
            return (figure < self.bound - 1e-9) & (total > 0)
        return (figure > self.bound + 1e-12) & (total > 0)


class Sums(NamedTuple):
    """Classes that fail, together: their records, how many they are, their squared sizes, what they would lose."""

    records: int
    classes: int
    squares: int
    penalty: float


NOTHING = Sums(0, 0, 0, 0.0)


@dataclass(frozen=True)
class AssessedNode:
    """What a node comes to.

    ``sure`` are the records that cannot be kept here nor at any finer node (if none may go: all that cannot be kept
    here), ``lost`` all that cannot be kept here; the two differ only if something is asked that is not nested. ``kept``
    says whether what is asked is kept with no more suppressed than may be.
    """

    levels: Levels
    classes: int
    squares: int
    sure: Sums
    lost: Sums
    possible: bool  # whether a finer node may be kept, as far as this one tells
    kept: bool


@dataclass(frozen=True, eq=False)
class _Entries:
    """How often each row has each value of a confidential variable."""

    asked: Values
    row: Integers
    value: Codes
    count: Integers
    whole: Floats
    nested: bool
    mixes: bool

    @classmethod
    def of(cls, rows: Rows, asked: Values, most: int) -> "_Entries":
        known = asked.values >= 0
        packed = rows.row_of[known] * asked.number + asked.values[known]
        different, count = np.unique(packed, return_counts=True)
        value = (different % max(asked.number, 1)).astype(np.int32)
        often = np.bincount(value, weights=count, minlength=asked.number)
        there = often > 0  # distances are between values that occur
        recode = (np.cumsum(there) - 1).astype(np.int32)
        whole = often[there] / max(often.sum(), 1)
        row = different // max(asked.number, 1)
        return cls(asked, row, recode[value], count.astype(np.int64), whole, asked.nested(most), asked.mixes)


class Assessor:
    """What is asked of a table, and what each node of its lattice comes to.

    In each of ``sets`` of keys records must be alike, and the classes must keep each of ``bounds``; at most ``most``
    records may be suppressed, that is lose all their keys. ``gains`` says, in the order of ``rows.maps``, what a value
    of a group has that a suppressed one has not.

    A missing key agrees with every value, so that a suppressed record is counted in every class by the measures of
    risk. It is not counted here: a class must keep what is asked by the records that show its keys. Where it also
    matters what the suppressed ones add (``Values.mixes``), the class must keep the bound with them too. A record with
    a key missing agrees with several classes and the suppressed. Their union keeps the bound, as above, if one class
    does with the suppressed and the others do alone, without those of their records that are suppressed for another
    set of keys: that is asked too, if there are several sets and a key is missing.
    """

    def __init__(
        self,
        rows: Rows,
        sets: Sequence[AlikeRequirement],
        bounds: Sequence[Values] = (),
        *,
        most: int = 0,
        gains: Floats | None = None,
    ) -> None:
        self.rows, self.sets, self.most = rows, tuple(sets), most
        self.gains = np.zeros(len(rows.maps)) if gains is None else gains
        self._entries = [_Entries.of(rows, one, most) for one in bounds]
        self._kernel = rows.kernel
        self._everything = tuple(range(len(rows.top)))
        self._parted = len(self.sets) > 1 and rows.gaps

    def hopeless(self) -> bool:
        """Tell whether all records as one class break what is asked: then nothing that is published can keep it.

        Two classes together have no less of what is asked than the worse of them, and a suppressed record agrees with
        all records.
        """
        whole = self.rows.table
        weights = None if whole.weights is None else np.array([whole.weights.sum()])
        one_class = Table(whole.levels, whole.rows[:1], np.array([self.rows.records]), weights)
        place = np.zeros(1, dtype=np.int32)
        if any(self._rare(one_class, one, place, 1).any() for one in self.sets):
            return True
        return any(self._broken(one, np.zeros(len(one.row), dtype=np.int32), 1).any() for one in self._entries)

    @property
    def rolls(self) -> bool:
        """Whether a node can be assessed from the classes of a finer one: not if values must be counted."""
        return not self._entries

    def assess(self, levels: Levels, source: Table | None = None) -> tuple[AssessedNode, Table]:
        """Return what a node comes to, and its classes; ``source`` are those of a finer node."""
        if source is None or not self.rolls:
            source = self.rows.table
        table, class_of = self.rows.rolled(source, levels)
        # the class of each class of the node, by the keys of each set
        by_set = [self._by_set(table, one) for one in self.sets]
        bad = np.zeros(len(table.counts), dtype=bool)
        for alike, (place, number) in zip(self.sets, by_set, strict=True):
            bad |= self._rare(table, alike, place, number)[place]
        entries = [(one, place[class_of[one.row]], place, number) for one in self._entries for place, number in by_set]
        for one, place_of_entry, place, number in entries:
            if one.nested:
                bad |= self._broken(one, place_of_entry, number)[place]
        squares = int((table.counts * table.counts).sum())
        sure = self._sums(table, bad)
        possible = sure.records <= self.most
        kept, lost = possible, sure
        if possible and not all(one.nested for one in self._entries):
            for one, place_of_entry, place, number in entries:
                if not one.nested:
                    bad |= self._broken(one, place_of_entry, number)[place]
            lost = self._sums(table, bad)
            kept = lost.records <= self.most
            if kept and lost.records:
                kept = not any(
                    self._broken_with(one, place_of_entry, number, bad[class_of[one.row]], place[~bad])
                    for one, place_of_entry, place, number in entries
                    if one.mixes
                )
        return AssessedNode(levels, len(table.rows), squares, sure, lost, possible, kept), table

    def suppressed(self, levels: Levels) -> Flags:
        """Tell which records lose their keys at a node."""
        table, class_of = self.rows.rolled(self.rows.table, levels)
        bad = np.zeros(len(table.counts), dtype=bool)
        for one in self.sets:
            place, number = self._by_set(table, one)
            bad |= self._rare(table, one, place, number)[place]
            for entries in self._entries:
                bad |= self._broken(entries, place[class_of[entries.row]], number)[place]
        return bad[class_of][self.rows.row_of]

    def _by_set(self, table: Table, one: AlikeRequirement) -> tuple[Codes, int]:
        if one.columns == self._everything:
            return np.arange(len(table.rows), dtype=np.int32), len(table.rows)
        return self.rows.numbered(table.rows, one.columns, table.levels)

    def _rare(self, table: Table, one: AlikeRequirement, place: Codes, number: int) -> Flags:
        """Tell which classes of a set of keys have too few records, or a risk too high."""
        counts, weights = table.counts, table.weights
        if one.columns != self._everything:
            counts = np.bincount(place, weights=table.counts, minlength=number).astype(np.int64)
            weights = None if weights is None else class_sums(place.astype(np.int64), weights, number)
        rare = counts < one.k
        if one.risk is not None:
            sizes = counts.astype(np.float64)
            population = sizes if weights is None else np.maximum(weights, sizes)
            rare |= expected_inverse(sizes, population) > one.risk
        return rare

    def _broken(self, one: _Entries, place: Codes, number: int) -> Flags:
        """Tell which classes break a bound on their values."""
        shown, extra = np.zeros(len(place), dtype=bool), np.zeros(len(one.whole), dtype=np.int64)
        return one.asked.fails(*self._figures(one, place, number, shown, extra))

    def _broken_with(self, one: _Entries, place: Codes, number: int, hidden: Flags, seen: Codes) -> bool:
        """Tell whether any class that is still seen breaks a bound if the suppressed are counted in it, or left out."""
        if self._parted:
            none = np.zeros(len(one.whole), dtype=np.int64)
            if one.asked.fails(*self._figures(one, place, number, hidden, none))[seen].any():
                return True
        extra = np.bincount(one.value[hidden], weights=one.count[hidden], minlength=len(one.whole)).astype(np.int64)
        figure, total = self._figures(one, place, number, hidden, extra)
        return bool(one.asked.fails(figure, total)[seen].any())

    def _figures(
        self, one: _Entries, place: Codes, number: int, hidden: Flags, extra: Integers
    ) -> tuple[Floats, Integers]:
        figure, total = self.rows.values_kernel(number, len(one.whole)).figures(
            place, one.value, one.count, hidden, extra, number, one.whole, KINDS[one.asked.figure]
        )
        return figure, total

    def _sums(self, table: Table, bad: Flags) -> Sums:
        if not bad.any():
            return NOTHING
        places = self.rows.places(table.levels)
        return Sums(*self._kernel.totals(self.rows.codes, table.rows, table.counts, bad, places, self.gains))


def worst(codes: NDArray[np.integer], bound: Values) -> float | None:
    """Return the figure of a class that breaks the bound most; None if all keep it.

    ``codes`` has a column for each key, -1 where missing. A class are the records that agree with one, as the measures
    of risk count them.

    >>> told = Values(np.array([0, 1, 1, 1], dtype=np.int32), 2, "distinct", 2.0)
    >>> worst(np.array([[0], [0], [1], [1]]), told), worst(np.array([[0], [-1], [0], [-1]]), told)
    (1.0, None)
    """
    class_of, sizes = classes(codes)
    rows, number = codes[first_records(class_of)], len(sizes)
    known = bound.values >= 0
    packed, count = np.unique(class_of[known] * bound.number + bound.values[known], return_counts=True)
    if not len(packed):
        return None
    row, value = np.divmod(packed, bound.number)
    often = np.bincount(value, weights=count)
    value, whole = (np.cumsum(often > 0) - 1)[value].astype(np.int32), often[often > 0] / often.sum()
    one, other = agreeing_pairs(rows) if rows.min(initial=0) < 0 else (np.arange(number), np.arange(number))
    entries = np.bincount(row, minlength=number)
    start, length = (np.cumsum(entries) - entries)[other], entries[other]
    ends = np.searchsorted(one, np.arange(number), "right")  # of the classes that agree with each one
    done = np.cumsum(length)[ends - 1]
    found: list[float] = []
    low = 0
    while low < number:
        high = max(low + 1, int(np.searchsorted(done, (done[low - 1] if low else 0) + _MAX_ENTRIES, "right")))
        part = slice(ends[low - 1] if low else 0, ends[high - 1])
        place = (np.repeat(one[part], length[part]) - low).astype(np.int32)
        entry = spans(start[part], length[part])
        figure, total = _kernel(len(entry), (high - low) * len(whole)).figures(
            place,
            value[entry],
            count[entry].astype(np.int64),
            np.zeros(len(entry), dtype=bool),
            np.zeros(len(whole), dtype=np.int64),
            high - low,
            whole,
            KINDS[bound.figure],
        )
        found += figure[bound.fails(figure, total)].tolist()
        low = high
    if not found:
        return None
    return min(found) if bound.figure in ("distinct", "entropy") else max(found)


def _kernel(entries: int, cells: int) -> ModuleType:
    if not worth_compiling(entries) and cells <= plain.DENSE:
        return plain
    return _compiled()


class Loss(Protocol):
    """A loss of a node, and a bound for all nodes between a ``low`` and a ``high`` one."""

    @property
    def bounded(self) -> bool:
        """Whether there is a bound, and a value costs nothing."""

    @property
    def by_classes(self) -> bool:
        """Whether the bound needs the classes of the low node."""

    def value(self, node: AssessedNode) -> float:
        """Return the loss of a node."""

    def bound(self, low: Levels, finest: AssessedNode | None, high: AssessedNode) -> float:
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

    def value(self, node: AssessedNode) -> float:
        """Return the loss of a node."""
        return self.unsuppressed(node.levels) + node.lost.penalty

    def bound(self, low: Levels, finest: AssessedNode | None, high: AssessedNode) -> float:
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

    def value(self, node: AssessedNode) -> float:
        """Return the loss of a node."""
        return self._share(node.squares + self.records * node.lost.records - node.lost.squares)

    def bound(self, low: Levels, finest: AssessedNode | None, high: AssessedNode) -> float:
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

    def value(self, node: AssessedNode) -> float:
        """Return the loss of a node."""
        return self.records / (node.classes - node.lost.classes + (node.lost.records > 0))

    def bound(self, low: Levels, finest: AssessedNode | None, high: AssessedNode) -> float:
        """Return what every node between the two loses at least."""
        if finest is None:
            return 1.0
        made = (finest.sure.records - high.sure.records) // self.least
        return self.records / min(finest.classes, finest.classes - finest.sure.classes + made + 1)

    def gap(self, key: int, low: int, high: int) -> float:
        """Return how much lies between two levels of a key."""
        return (high - low) / max(self.heights[key], 1)


class SearchResult(NamedTuple):
    """The best node that a search found, what it loses, and what any other loses at least.

    ``exact`` says that there is no better one. Without a node that keeps what is asked, ``node`` is None.
    """

    node: AssessedNode | None
    loss: float
    bound: float
    exact: bool
    checked: int


class Search:
    """A search that can be stopped and taken up again."""

    def __init__(self, assessor: Assessor, loss: Loss) -> None:
        self.assessor, self.loss = assessor, loss
        self.checked: dict[Levels, AssessedNode] = {}
        self.best: AssessedNode | None = None
        self.least = math.inf
        self._bytes = 0
        self._tick = 0
        self._heap: list[tuple[float, int, Levels, Levels, Table]] = []
        top = assessor.rows.top
        self._push((0,) * len(top), top, assessor.rows.table)

    def run(
        self, seconds: float = math.inf, nodes: float = math.inf, watch: Callable[[SearchResult], None] | None = None
    ) -> SearchResult:
        """Search to the end, or until so much time passed or so many more nodes were looked at.

        ``watch`` is told now and then. Unless time bounds it, every machine finds the same.
        """
        start = last = time.perf_counter()
        most = len(self.checked) + nodes
        while self._heap and self._heap[0][0] < self.least:
            now = time.perf_counter()
            if now - start >= seconds or len(self.checked) >= most:
                break
            if watch is not None and now - last >= EVERY:
                last = now
                watch(self.found())
            box = heapq.heappop(self._heap)
            try:
                self._split(*box[2:])
            except BaseException:  # whoever interrupts may search on: the box is not done
                heapq.heappush(self._heap, box)
                raise
        self._lower()
        return self.found()

    def found(self) -> SearchResult:
        """Return the best node so far."""
        left = self._heap[0][0] if self._heap else math.inf
        exact = left >= self.least or not self._heap
        return SearchResult(self.best, self.least, min(left, self.least), exact, len(self.checked))

    def figure(self, levels: Levels, source: Table | None = None) -> AssessedNode:
        """Return what a node comes to, assessed once."""
        return self._assess(levels, source)[0]

    def _assess(self, levels: Levels, source: Table | None) -> tuple[AssessedNode, Table | None]:
        known = self.checked.get(levels)
        if known is not None:
            return known, None
        node, table = self.assessor.assess(levels, source)
        self.checked[levels] = node
        if node.kept:
            loss = self.loss.value(node)
            if loss < self.least:
                self.best, self.least = node, loss
        return node, table

    def _push(self, low: Levels, high: Levels, source: Table) -> None:
        """Keep a box whose nodes may be kept and lose less than the best so far."""
        node = self.figure(high, source)
        if not node.possible or low == high:
            return
        finest = None
        if self.loss.by_classes:
            finest, table = self._assess(low, source)
            source = self._finer(source, table)
        bound = self.loss.bound(low, finest, node)
        if bound < self.least:
            self._tick += 1
            heapq.heappush(self._heap, (bound, self._tick, low, high, source))

    def _split(self, low: Levels, high: Levels, source: Table) -> None:
        """Split a box by one key, high levels from low ones."""
        if self.assessor.rolls and sum(low) - sum(source.levels) >= WORTH:
            source = self._finer(source, self._assess(low, source)[1])
        gaps = [self.loss.gap(j, a, b) if b > a else -1.0 for j, (a, b) in enumerate(zip(low, high, strict=True))]
        key = gaps.index(max(gaps))
        a, b = low[key], high[key]
        middle = b - 1 if b - a <= WORTH else (a + b) // 2  # of few levels the highest is split off
        self._push(low, (*high[:key], middle, *high[key + 1 :]), source)
        self._push((*low[:key], middle + 1, *low[key + 1 :]), high, source)

    def _lower(self) -> None:
        """Lower the levels of the best node one by one, as long as nothing more is lost: no key is coarser in vain."""
        key = 0
        while self.best is not None and key < len(self.best.levels):
            levels = self.best.levels
            if levels[key]:
                node = self.figure((*levels[:key], levels[key] - 1, *levels[key + 1 :]))
                if node.kept and (loss := self.loss.value(node)) <= self.least + 1e-12 * abs(self.least):
                    self.best, self.least = node, min(loss, self.least)
                    key = 0
                    continue
            key += 1

    def _finer(self, source: Table, table: Table | None) -> Table:
        """Return the classes to make coarser ones of: the new ones if they are much fewer and there is room."""
        if table is None or not self.assessor.rolls or 2 * len(table.rows) > len(source.rows):
            return source
        if self._bytes + table.nbytes > MAX_KEPT_BYTES:
            return source
        self._bytes += table.nbytes
        return table


def every_node(search: Search) -> Iterator[AssessedNode]:
    """Assess every node, one after the other; the classes of a node are made from those of a finer one."""
    top = search.assessor.rows.top

    def below(levels: Levels, source: Table) -> Iterator[AssessedNode]:
        key = len(levels)
        for level in range(top[key] + 1):
            node = (*levels, level, *(0,) * (len(top) - key - 1))
            at = source
            if level or not key:
                found, table = search.assessor.assess(node, source)
                search.checked.setdefault(node, found)
                yield found
                at = table
            if key + 1 < len(top):
                yield from below((*levels, level), at)

    yield from below((), search.assessor.rows.table)
