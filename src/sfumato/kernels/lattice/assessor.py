"""What a node comes to: the records that would have to be suppressed, and whether it keeps what is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.expected_inverse import expected_inverse
from sfumato.kernels.groups import class_sums
from sfumato.kernels.lattice.rows import Levels, Rows, Table

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Figure = Literal["distinct", "entropy", "equal distance", "ordered distance"]

KINDS: dict[Figure, int] = {"distinct": 0, "entropy": 1, "equal distance": 2, "ordered distance": 3}


class Alike(NamedTuple):
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
class Assessed:
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
        sets: Sequence[Alike],
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

    def assess(self, levels: Levels, source: Table | None = None) -> tuple[Assessed, Table]:
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
        return Assessed(levels, len(table.rows), squares, sure, lost, possible, kept), table

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

    def _by_set(self, table: Table, one: Alike) -> tuple[Codes, int]:
        if one.columns == self._everything:
            return np.arange(len(table.rows), dtype=np.int32), len(table.rows)
        return self.rows.numbered(table.rows, one.columns, table.levels)

    def _rare(self, table: Table, one: Alike, place: Codes, number: int) -> Flags:
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
