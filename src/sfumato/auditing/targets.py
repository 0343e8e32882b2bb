"""What an intruder is after: the protected values of a variable, what the file still says of them, and the best guess.

How near two numbers are is told by the records that lie between them.

The best guess is made without the rest of the file: from a record's own published value of that variable alone. It
grants the distribution of the protected values. If a method blanks all records of one region, or changes a variable of
two values, that distribution is the answer, and a copy of the variable tells no more than it does. Beside it stands the
guess of an intruder who has the file alone: he knows neither which values were changed nor what the blanks are. He is
granted only what is published, and is judged over all records that he has to decide on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from sfumato.auditing.findings import Level
from sfumato.table import dates
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding, aligned, recoding

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]

MIN_SHARE_TRUE = 0.5  # of the values published must be true, for the file itself to teach a relation
MIN_SHARE_LEFT = 0.1  # of the values must be published truly for that
RELATIVE_TOLERANCE = 1e-9  # numbers that differ by less, relative to their size, differ by how they were written

MIN_PROTECTED_VALUES = 30  # protected values from which on the share guessed right is known well enough
MIN_IN_BAND = 10  # protected values in a band from which on the intruder is granted their distribution

MAX_TRIED_VALUES = 20_000  # protected values of a variable that are tried; a random sample where there are more
SCREENED = (10_000, 1_000)  # records that teach, and values tried, when many columns are looked through


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

    @classmethod
    def of(cls, column: Floats, near: float) -> "Ranks":
        """Take the values of a column; ``near`` is a share of its records."""
        values = np.sort(column[~np.isnan(column)])
        return cls(values, near * len(values))

    def place(self, numbers: Floats) -> Floats:
        """Return the ranks of numbers among the values."""
        low = np.searchsorted(self.values, numbers, side="left")
        return np.asarray((low + np.searchsorted(self.values, numbers, side="right")) / 2)

    def likely(self, places: Floats) -> float:
        """Return the largest share of these ranks that lies near one of them.

        >>> Ranks(np.empty(0), distance=1.0).likely(np.array([0.5, 1.5, 2.5, 9.0]))
        0.75
        """
        return float(near_each(np.sort(places), self.distance).max() / len(places))

    def near(self, true: Floats, found: Floats) -> Mask:
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
class Guess:
    """What is guessed for each protected value, and whether that is right.

    ``chance`` is the share of all records that one value for all would get right: where protected values are few, the
    least that luck must be granted.
    """

    values: NDArray[Any]
    right: Mask
    chance: float

    @property
    def share(self) -> float:
        """The share of protected values guessed right."""
        return float(self.right.mean())

    @property
    def granted(self) -> float:
        """The chance that luck is granted at each value."""
        return max(self.share, self.chance) if len(self.right) < MIN_PROTECTED_VALUES else self.share


def luck(share: float, values: int, chance: float) -> float:
    """Return the probability that luck gets such a share of so many values right."""
    right = np.floor(share * values + 1e-9)
    return float(bdtrc(right - 1, values, chance)) if right > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Lesson:
    """The records that teach, sorted as the evidence needs them: their values, and each record's own teacher."""

    values: Values
    learners: Rows
    own: Rows  # of each record of the file, the record that must not teach it


@dataclass(frozen=True, eq=False)
class Target:
    """The protected values of one variable, at one level, and the best guess at each.

    ``truth`` are the values the intruder is after, ``told`` what the file publishes of them, ``band`` the class that a
    record's own published value puts it into, ``cells`` the rows that hold protected values, in the order of the
    file. ``taught`` says whether the file itself shows enough values to learn a relation from; of values that were
    coarsened it shows none of the kind. ``hidden`` are the rows whose value no record of such a file shows any more: of
    these the relation is taken as known. ``units`` numbers the households of the original.
    """

    name: str
    level: Level
    number: bool
    truth: Values
    told: Values
    band: Integers
    cells: Rows
    taught: bool
    ranks: Ranks | None = None
    shown: Floats | None = None  # the number that stands in the file, rounded, coded or changed as it may be
    hidden: Mask | None = None
    order: Rows | None = None  # the records in random order, the same for all variables: samples are its beginnings
    units: Integers | None = None
    prior: Guess | None = None  # of a part: the guess at the whole

    @cached_property
    def lesson(self) -> Lesson:
        """Who teaches a relation."""
        return lesson_of(self)

    @cached_property
    def guess(self) -> Guess:
        """The best guess at each protected value."""
        return best_guess(self) if self.prior is None else self.prior

    @property
    def known(self) -> Values:
        """The values from which a relation is learnt."""
        if not self.taught:
            return self.truth
        if self.hidden is None:
            return self.told
        return Values(np.where(self.hidden, self.truth.codes, self.told.codes), self.told.levels)

    def right(self, rows: Rows, found: NDArray[Any]) -> tuple[Mask, Mask]:
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

    @cached_property
    def level_ranks(self) -> Floats:
        """The rank of each different number."""
        assert self.ranks is not None
        return self.ranks.place(self.truth.levels)

    def sampled(self, rows: Rows, most: int) -> Rows:
        """Return at most so many of these rows, drawn at random, in the order of the file."""
        if len(rows) <= most:
            return rows
        assert self.order is not None
        wanted = np.zeros(len(self.order), dtype=bool)
        wanted[rows] = True
        return np.sort(self.order[wanted[self.order]][:most])

    @cached_property
    def asked(self) -> Rows:
        """The rows whose values are tried."""
        return self.sampled(self.cells, MAX_TRIED_VALUES)

    @property
    def screened(self) -> bool:
        """Whether looking through many columns is done on a sample."""
        return len(self.band) > SCREENED[0] or len(self.cells) > SCREENED[1]

    def part(self, teaching: int, asked: int) -> "tuple[Target, Rows]":
        """Return the target in a sample with fewer who teach and fewer who ask, and the rows of that sample."""
        everybody = np.arange(len(self.band))
        cells = self.sampled(self.cells, asked)
        rows = np.union1d(self.sampled(everybody, teaching), cells)
        if len(rows) == len(everybody) and len(cells) == len(self.cells):
            return self, rows
        values, right = self.guessed(cells)
        part = replace(
            self,
            truth=Values(self.truth.codes[rows], self.truth.levels),
            told=Values(self.told.codes[rows], self.told.levels),
            band=self.band[rows],
            cells=np.searchsorted(rows, cells),
            shown=None if self.shown is None else self.shown[rows],
            hidden=None if self.hidden is None else self.hidden[rows],
            order=np.arange(len(rows)),
            units=None if self.units is None else np.unique(self.units[rows], return_inverse=True)[1],
            prior=replace(self.guess, values=values, right=right),
        )
        return part, rows

    @cached_property
    def unseen(self) -> tuple[Mask, Mask] | None:
        """The protected rows of a category that no record shows, and the rows that show theirs; None without."""
        if self.number:
            return None
        shown = self.told.present & (self.told.codes == self.truth.codes)
        shown[self.cells] = False
        rows = np.zeros(len(shown), dtype=bool)
        rows[self.cells] = ~np.isin(self.truth.codes[self.cells], self.told.codes)
        return (rows, shown) if rows.any() else None

    @cached_property
    def guessed_exactly(self) -> Mask:
        """Which protected values the guess meets exactly."""
        return self.right(self.cells, self.guess.values)[1]

    @cached_property
    def guessable_exactly(self) -> Mask:
        """Which protected numbers are met exactly by the guess, or by the most common ones if these meet more."""
        common = exact_guess(self)
        return common if common.sum() > self.guessed_exactly.sum() else self.guessed_exactly

    @cached_property
    def unaware(self) -> Floats | None:
        """For each record, how likely an intruder is right who has the file alone."""
        return unaware_guess(self)

    @cached_property
    def unchanged(self) -> Rows:
        """The rows that show their true value, where he cannot know that they do."""
        if self.unaware is None:
            return np.empty(0, dtype=np.intp)
        return np.setdiff1d(np.flatnonzero(~np.isnan(self.unaware)), self.cells, assume_unique=True)

    def guessed(self, rows: Rows) -> tuple[NDArray[Any], Mask]:
        """Return what is guessed for some of the protected values, and whether it is right."""
        at = np.searchsorted(self.cells, rows)
        return self.guess.values[at], self.guess.right[at]


def targets_of(original: Microdata, protected: Microdata, near: float) -> Iterator[Target]:
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


def gone(original: Microdata, name: str, near: float) -> Iterator[Target]:
    """A variable that was removed: all of its values are protected, and the file tells nothing of them."""
    number = original.schema[name].quantitative
    truth = numbers(original.columns[name]) if number else categories(original, name)
    cells = np.flatnonzero(truth.present)
    nothing = Values(np.full(len(original), -1), truth.levels)
    if cells.size:
        yield Target(
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


def _of_variable(original: Microdata, protected: Microdata, name: str, near: float) -> Iterator[Target]:
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
            yield Target(name, "as published", number, truth, told, band, cells, taught, ranks, figures, hidden)
    coarse = footing.recoded or not footing.comparable
    cells = np.flatnonzero(present & shown & ~same & (told_truly | (not footing.comparable)))
    if coarse and cells.size:
        number = original.schema[name].quantitative
        truth = numbers(original.columns[name]) if number else categories(original, name)
        band = np.unique(protected.columns[name], return_inverse=True)[1].astype(np.int64)
        told = Values(np.where(same & shown, truth.codes, -1), truth.levels)  # such as what lies below a top code
        ranks = Ranks.of(original.columns[name], near) if number else None
        figures = protected.columns[name] if number and protected.schema[name].quantitative else None
        yield Target(name, "in full", number, truth, told, band, cells, taught=False, ranks=ranks, shown=figures)


def _hidden(truth: Values, told: Values, cells: Rows) -> Mask | None:
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


def lesson_of(target: Target) -> Lesson:
    """Return who teaches: the published values, or, where none are published, one record of each household."""
    values, units = target.known, target.units
    learners = np.flatnonzero(values.present)
    own = np.arange(len(values.codes))
    if units is not None and target.hidden is not None:
        hidden = np.flatnonzero(target.hidden)
        homes, first = np.unique(units[hidden], return_index=True)
        own[hidden] = hidden[first][np.searchsorted(homes, units[hidden])]
        learners = np.setdiff1d(learners, np.setdiff1d(hidden, hidden[first]))
    if units is not None and not target.taught:
        first = np.full(int(units.max(initial=-1)) + 1, -1, dtype=np.intp)
        first[units[learners][::-1]] = learners[::-1]
        learners = np.sort(first[first >= 0])
        own = first[units]
    return Lesson(values, learners, own)


def published_lesson(target: Target, *, own: bool) -> Lesson:
    """Return the published values as those that teach; a blank has nothing to say, a changed value has.

    ``own``: the record's own published number counts as well.
    """
    nobody = np.full(len(target.band), len(target.band)) if own else np.arange(len(target.band))
    return Lesson(target.told, np.flatnonzero(target.told.present), nobody)


def best_guess(target: Target) -> Guess:
    """Return the best guess: within each band the value that most protected values have.

    The intruder is granted the distribution of the protected values of a band that holds ``MIN_IN_BAND`` or more of
    them; in smaller ones he takes what is most common in the file. Of a number he may also take the published one as it
    is; if it was published as a narrow class, such as a month, that class itself tells it nearly: he is granted the
    median of the others in it, as the evidence is.
    """
    return _number(target) if target.ranks is not None else _category(target)


def _category(target: Target) -> Guess:
    true, band = target.truth.codes[target.cells], target.band[target.cells]
    number = len(target.truth.levels)
    common = modes(band * number + true, number)
    counts = dict(zip(*np.unique(band, return_counts=True), strict=True))
    lesson = target.known
    there = np.flatnonzero(lesson.present)
    bands = np.zeros(len(there), dtype=np.int64) if target.taught else target.band[there]
    usual = modes(bands * number + lesson.codes[there], number)
    overall = int(np.bincount(lesson.codes[there]).argmax()) if there.size else -1
    choice = {
        one: common[one] if counts[one] >= MIN_IN_BAND else usual.get(0 if target.taught else one, overall)
        for one in counts
    }
    values = np.array([choice[one] for one in band.tolist()], dtype=np.int64)
    shares = np.bincount(target.truth.codes[target.truth.present])
    return Guess(values, values == true, float(shares.max() / shares.sum()))


def exact_guess(target: Target) -> Mask:
    """Tell which protected numbers are met exactly by the most common one of their band, if others share it.

    >>> ages = numbers(np.array([30.0, 30.0, 34.0, 41.0]))
    >>> band, cells = np.array([3, 3, 3, 4]), np.arange(4)
    >>> exact_guess(Target("age", "in full", True, ages, ages, band, cells, taught=False))
    array([ True,  True, False, False])
    """
    number = len(target.truth.levels)
    keys = target.band[target.cells] * number + target.truth.codes[target.cells]
    common = modes(keys, number)
    _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    chosen = np.array([common[one] for one in (keys // number).tolist()], dtype=np.int64)
    return np.asarray((chosen == keys % number) & (counts[place] > 1))


def modes(keys: Integers, number: int) -> dict[int, int]:
    """Return the most common value of each group, the lower code where two are; keys are group * number + value."""
    cells, counts = np.unique(keys, return_counts=True)
    order = np.lexsort((cells, -counts))
    groups, first = np.unique(cells[order] // number, return_index=True)
    return dict(zip(groups.tolist(), (cells[order][first] % number).tolist(), strict=True))


def _number(target: Target) -> Guess:
    assert target.ranks is not None
    true = target.truth.levels[target.truth.codes[target.cells]]
    band, rank = target.band[target.cells], target.ranks.place(true)
    values, right = _nearest(band, rank, true, target.ranks.distance)
    if target.level == "in full":
        values, right = _in_small_classes(band, rank, true, target.ranks.distance, values, right)
    if target.shown is not None:
        own = target.shown[target.cells]
        as_shown = target.right(target.cells, own)[0]
        if as_shown.sum() > right.sum():
            values, right = np.where(np.isnan(own), values, own), as_shown
    return Guess(values, right, target.ranks.likely(target.ranks.place(target.ranks.values)))


def _in_small_classes(
    band: Integers,
    rank: Floats,
    true: Floats,
    distance: float,
    values: Floats,
    right: Mask,
) -> tuple[Floats, Mask]:
    """Return the guess with the (lower) median of the others for values in classes of two to ``MIN_IN_BAND``."""
    order = np.lexsort((rank, band))
    _, starts, sizes = np.unique(band[order], return_index=True, return_counts=True)
    small = np.repeat((sizes > 1) & (sizes < MIN_IN_BAND), sizes)
    place = np.arange(len(order))
    middle = np.repeat(starts + (sizes - 2) // 2, sizes)
    others = np.where(middle >= place, middle + 1, middle)[small]
    mine = order[small]
    taken = order[others]
    values, right = values.copy(), right.copy()
    values[mine] = true[taken]
    right[mine] = np.abs(rank[mine] - rank[taken]) <= distance * (1 + 1e-12)
    return values, right


def _nearest(band: Integers, rank: Floats, true: Floats, distance: float) -> tuple[Floats, Mask]:
    """Return, for each band, the value that is near most of its values, and which values it is near."""
    order = np.lexsort((rank, band))
    numbered = np.unique(band[order], return_inverse=True)[1]
    key = numbered * float(rank.max() + 2 * distance + 2) + rank[order]  # bands lie too far apart to be near
    count = near_each(key, distance)
    starts = np.flatnonzero(np.diff(numbered, prepend=-1))
    sizes = np.diff(np.append(starts, len(key)))
    most = np.flatnonzero(count == np.repeat(np.maximum.reduceat(count, starts), sizes))
    chosen = np.repeat(most[np.unique(numbered[most], return_index=True)[1]], sizes)
    enough = np.repeat(sizes >= MIN_IN_BAND, sizes)
    values, right = np.empty(len(key)), np.empty(len(key), dtype=bool)
    values[order] = np.where(enough, true[order][chosen], float(np.median(true)))
    right[order] = enough & (np.abs(key - key[chosen]) <= distance * (1 + 1e-12))
    return values, right


def unaware_guess(target: Target) -> Floats | None:
    """Return for each record how likely the guess is right, NaN where there is nothing to decide; None if not asked.

    Judged are blanks and, of a category of which values were changed, all records that show one. A blank is guessed by
    the published distribution: the most common value or a draw, whichever is right more often. A published category is
    guessed by what it stands for most often; if fewer than ``MIN_IN_BAND`` records show it, by itself or by the most
    common one. Of values that were coarsened or removed the distribution is granted, because their relations are as
    well.
    """
    if target.level != "as published":
        return None
    likely = np.full(len(target.band), np.nan)
    likely[target.cells] = target.guess.right
    blanks = target.cells[~target.told.present[target.cells]]
    if target.taught and blanks.size:
        likely[blanks] = (
            _number_blanks(target, blanks) if target.ranks is not None else _category_blanks(target, blanks)
        )
    if not target.number and len(blanks) < len(target.cells):
        shown = np.flatnonzero(target.truth.present & target.told.present)
        likely[shown] = _published(target, shown)
    return likely


def _category_blanks(target: Target, blanks: Rows) -> Floats:
    known = target.known.codes[target.known.present]
    true = target.truth.codes[blanks]
    shares = np.bincount(known, minlength=len(target.truth.levels)) / max(len(known), 1)
    return _better((true == shares.argmax()).astype(np.float64), shares[true])


def _number_blanks(target: Target, blanks: Rows) -> Floats:
    assert target.ranks is not None
    known = np.sort(target.ranks.place(target.told.levels[target.told.codes[target.told.present]]))
    true = target.level_ranks[target.truth.codes[blanks]]
    slack = target.ranks.distance * (1 + 1e-12)
    near = np.searchsorted(known, true + slack, side="right") - np.searchsorted(known, true - slack, side="left")
    common = known[near_each(known, target.ranks.distance).argmax()]
    return _better((np.abs(true - common) <= slack).astype(np.float64), near / len(known))


def _published(target: Target, shown: Rows) -> Floats:
    true, told = target.truth.codes[shown], target.told.codes[shown]
    number = len(target.truth.levels)
    stands_for = modes(told * number + true, number)
    many = (np.bincount(told) >= MIN_IN_BAND)[told]
    guess = np.array([stands_for[code] for code in told.tolist()])
    few = _better((true == told)[~many].astype(np.float64), (true == np.bincount(told).argmax())[~many].astype(float))
    right: Floats = (guess == true).astype(np.float64)
    right[~many] = few
    return right


def _better(one: Floats, other: Floats) -> Floats:
    return one if one.sum() >= other.sum() else other


def spelled(data: Microdata, name: str, rows: Rows) -> list[str]:
    """Return some values of a column as a reader writes them."""
    variable, column = data.schema[name], data.columns[name][rows]
    if variable.kind == "date":
        return ["blank" if np.isnan(day) else dates.spelled(float(day)) for day in column]
    if variable.kind == "numeric":
        return ["blank" if np.isnan(value) else f"{value:.15g}" for value in column]
    return ["blank" if code < 0 else str(variable.categories[code]) for code in column]
