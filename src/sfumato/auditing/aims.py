"""What an intruder is after: the protected values of a variable, and what the file still says of each.

How near two numbers are is told by the records that lie between them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.findings import Level
from sfumato.table import dates
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding, aligned, recoding

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

MIN_SHARE_TRUE = 0.5  # of the values published must be true, for the file itself to teach a relation
MIN_SHARE_LEFT = 0.1  # of the values must be published truly for that
RELATIVE_TOLERANCE = 1e-9  # numbers that differ by less, relative to their size, differ by how they were written


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


@dataclass(frozen=True, eq=False)
class Values:
    """A column as codes with -1 for missing: categories by how common they are, numbers in their order."""

    codes: Integers
    levels: NDArray[Any]  # of numbers the numbers, of categories their names

    @property
    def present(self) -> Mask:
        """Which records have a value."""
        return self.codes >= 0


@dataclass(frozen=True, eq=False)
class Aim:
    """The protected values of one variable, at one level.

    ``truth`` are the values the intruder is after, ``told`` what the file publishes of them, ``band`` the class that a
    record's own published value puts it into, ``cells`` the rows that hold protected values, in the order of the
    file. ``taught`` says whether the file itself shows enough values to learn a relation from; of values that were
    coarsened it shows none of the kind. ``hidden`` are the rows whose value no record of such a file shows any more: of
    these the relation is taken as known.
    """

    name: str
    level: Level
    number: bool
    truth: Values
    told: Values
    band: Integers
    cells: NDArray[np.intp]
    taught: bool
    ranks: Ranks | None = None
    shown: Floats | None = None  # the number that stands in the file, rounded, coded or changed as it may be
    hidden: Mask | None = None

    @property
    def lesson(self) -> Values:
        """The values from which a relation is learnt."""
        if not self.taught:
            return self.truth
        if self.hidden is None:
            return self.told
        return Values(np.where(self.hidden, self.truth.codes, self.told.codes), self.told.levels)

    def right(self, rows: NDArray[np.intp], found: NDArray[Any]) -> tuple[Mask, Mask]:
        """Tell which answers for these rows are right, and which exactly; -1 and NaN answer nothing."""
        true = self.truth.codes[rows]
        if self.ranks is None:
            exact = (found == true) & (true >= 0)
            return exact, exact
        values = np.asarray(self.truth.levels[np.maximum(true, 0)])
        answered = ~np.isnan(found) & (true >= 0)
        apart = np.abs(self.level_ranks[np.maximum(true, 0)] - self.ranks.place(found))
        exact = answered & close(values, found)  # a computed number may miss its place by the last digit
        return exact | (answered & (apart <= self.ranks.distance)), exact

    @property
    def level_ranks(self) -> Floats:
        """The rank of each different number."""
        assert self.ranks is not None
        return self.ranks.places(self.truth.levels)

    def part(self, rows: NDArray[np.intp]) -> "Aim":
        """Return the aim as it is in a part of the rows, in their order."""
        held = np.zeros(len(self.band), dtype=bool)
        held[self.cells] = True
        truth, told = (Values(values.codes[rows], values.levels) for values in (self.truth, self.told))
        shown = None if self.shown is None else self.shown[rows]
        hidden = None if self.hidden is None else self.hidden[rows]
        cells = np.flatnonzero(held[rows])
        return replace(self, truth=truth, told=told, band=self.band[rows], cells=cells, shown=shown, hidden=hidden)


def aims(original: Microdata, protected: Microdata, near: float) -> Iterator[Aim]:
    """Yield what there is to restore; record i is the same in both tables."""
    for name in original.schema.analysed():
        if name not in protected.columns:
            yield from gone(original, name, near)
        elif not _untouched(original, protected, name):
            yield from _of_variable(original, protected, name, near)


def _untouched(original: Microdata, protected: Microdata, name: str) -> bool:
    before, after = original.schema[name], protected.schema[name]
    x, y = original.columns[name], protected.columns[name]
    if before.quantitative and after.quantitative:
        return bool(np.array_equal(x, y, equal_nan=True))
    return before.categories == after.categories and x.dtype == y.dtype and bool(np.array_equal(x, y))


def gone(original: Microdata, name: str, near: float) -> Iterator[Aim]:
    """A variable that was removed: all of its values are protected, and the file tells nothing of them."""
    number = original.schema[name].quantitative
    truth = numbers(original.columns[name]) if number else categories(original, name)
    cells = np.flatnonzero(truth.present)
    nothing = Values(np.full(len(original), -1), truth.levels)
    if cells.size:
        yield Aim(
            name,
            "in full",
            number,
            truth,
            nothing,
            np.zeros(len(original), dtype=np.int64),
            cells,
            taught=False,
            ranks=Ranks.of(original.columns[name], near) if number else None,
        )


def _of_variable(original: Microdata, protected: Microdata, name: str, near: float) -> Iterator[Aim]:
    """A variable that is still there: what was blanked or changed, and what was coarsened."""
    footing = recoding(original, protected, name, matched=True)
    same = _same_value(original, protected, name, footing)
    present, shown = ~original.missing(name), ~protected.missing(name)
    told_truly = np.zeros(len(original), dtype=bool)
    if footing.comparable:
        truth, told = _both(footing)
        number = footing.quantitative
        agree = told_truly = truth.present & told.present & _agree(truth, told, number=number)
        cells = np.flatnonzero(truth.present & ~agree & ~(same & shown))
        if cells.size:
            taught = _teaches(truth, told, agree)
            band = told.present.astype(np.int64) if number else told.codes + 1
            ranks = Ranks.of(footing.original, near) if number else None
            figures = footing.protected if number else None
            hidden = _hidden(truth, told, cells) if taught and not number else None
            yield Aim(name, "as published", number, truth, told, band, cells, taught, ranks, figures, hidden)
    coarse = footing.recoded or not footing.comparable
    cells = np.flatnonzero(present & shown & ~same & (told_truly | (not footing.comparable)))
    if coarse and cells.size:
        number = original.schema[name].quantitative
        truth = numbers(original.columns[name]) if number else categories(original, name)
        band = np.unique(protected.columns[name], return_inverse=True)[1].astype(np.int64)
        told = Values(np.where(same & shown, truth.codes, -1), truth.levels)  # such as what lies below a top code
        ranks = Ranks.of(original.columns[name], near) if number else None
        figures = protected.columns[name] if number and protected.schema[name].quantitative else None
        yield Aim(name, "in full", number, truth, told, band, cells, taught=False, ranks=ranks, shown=figures)


def _hidden(truth: Values, told: Values, cells: NDArray[np.intp]) -> Mask | None:
    """Return the protected rows whose category no record of the file shows; None where there are none."""
    seen = np.isin(truth.codes[cells], told.codes)
    if seen.all():
        return None
    rows = np.zeros(len(truth.codes), dtype=bool)
    rows[cells[~seen]] = True
    return rows


def _teaches(truth: Values, told: Values, agree: Mask) -> bool:
    """Tell whether enough true values are left in the file to learn a relation from it."""
    true, published, there = (int(np.count_nonzero(mask)) for mask in (agree, told.present, truth.present))
    return true >= MIN_SHARE_TRUE * published and true >= MIN_SHARE_LEFT * there


def _same_value(original: Microdata, protected: Microdata, name: str, footing: Recoding) -> Mask:
    """Tell which records publish the value they had."""
    kinds = {table.schema[name].quantitative for table in (original, protected)}
    if kinds == {True}:
        return close(original.columns[name], protected.columns[name])
    if kinds == {False}:
        both = aligned(original, protected, name)
        return np.asarray(both.original == both.protected)
    if footing.comparable and not footing.recoded:
        if footing.quantitative:
            return close(footing.original, footing.protected)
        return np.asarray(footing.original == footing.protected)
    return np.zeros(len(original), dtype=bool)


def close(one: Floats, other: Floats) -> Mask:
    """Tell which numbers are the same but for how they were written; two missing ones are.

    >>> close(np.array([1.0, 0.1 + 0.2, np.nan]), np.array([2.0, 0.3, np.nan]))
    array([False,  True,  True])
    """
    with np.errstate(invalid="ignore"):
        alike = np.abs(one - other) <= RELATIVE_TOLERANCE * np.maximum(np.abs(one), np.abs(other))
    return np.asarray(alike | (np.isnan(one) & np.isnan(other)))


def _agree(truth: Values, told: Values, *, number: bool) -> Mask:
    if not number:
        return np.asarray(truth.codes == told.codes)
    pairs = (values.levels[np.maximum(values.codes, 0)] for values in (truth, told))
    return close(*pairs)


def _both(footing: Recoding) -> tuple[Values, Values]:
    """Return both columns of a footing under the same codes."""
    if footing.quantitative:
        return numbers(footing.original), numbers(footing.protected)
    recode, names = _by_frequency(footing.original.astype(np.int64), tuple(map(str, footing.categories)))
    return tuple(Values(recode[codes], names) for codes in (footing.original, footing.protected))  # type: ignore[return-value]


def numbers(column: Floats) -> Values:
    """Return numbers as codes in their order."""
    present = ~np.isnan(column)
    codes = np.full(len(column), -1, dtype=np.int64)
    levels, codes[present] = np.unique(column[present], return_inverse=True)
    return Values(codes, levels if levels.size else np.array([np.nan]))


def categories(data: Microdata, name: str) -> Values:
    """Return categories as codes, the most common first, so that nothing depends on how they are labelled."""
    variable = data.schema[name]
    codes = data.columns[name].astype(np.int64)
    recode, names = _by_frequency(codes, tuple(map(str, variable.categories)))
    return Values(recode[codes], names)


def _by_frequency(codes: Integers, names: tuple[str, ...]) -> tuple[Integers, NDArray[Any]]:
    """Return the new code of each category, with -1 last, and the names in the new order."""
    used, first, counts = np.unique(codes[codes >= 0], return_index=True, return_counts=True)
    rank = np.lexsort((first, -counts))
    order = np.concatenate([used[rank], np.setdiff1d(np.arange(len(names)), used)]).astype(np.int64)
    recode = np.full(len(names) + 1, -1, dtype=np.int64)
    recode[order] = np.arange(len(names))
    return recode, np.array([names[code] for code in order] or [""], dtype=object)


def spelled(data: Microdata, name: str, rows: NDArray[np.intp]) -> list[str]:
    """Return some values of a column as a reader writes them."""
    variable, column = data.schema[name], data.columns[name][rows]
    if variable.kind == "date":
        return ["blank" if np.isnan(day) else dates.spelled(float(day)) for day in column]
    if variable.kind == "numeric":
        return ["blank" if np.isnan(value) else f"{value:.15g}" for value in column]
    return ["blank" if code < 0 else str(variable.categories[code]) for code in column]
