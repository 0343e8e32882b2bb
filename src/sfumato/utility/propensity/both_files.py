"""The original and the protected table as models need them: what is learned of the variables first, then the records.

Each of Newton's steps of a logistic model is one pass over the records of both tables, in memory or in parts. No more
than a block of them is held as terms. Trees and clusters get all records below each other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import fsum, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.core import Measure
from sfumato.kernels.newton import State
from sfumato.pair import Half, Pair
from sfumato.pair.half import each_part
from sfumato.pair.sorting import Runs
from sfumato.pair.statistics import Statistic, Sums
from sfumato.table.microdata import Microdata
from sfumato.utility.distribution_functions import functions
from sfumato.utility.propensity import logistic, scores
from sfumato.utility.propensity.logistic import Column, Degree, Design, arranged
from sfumato.utility.propensity.pooled import Categories, Codes, Floats, Numbers, Pooled, of_one_kind
from sfumato.utility.propensity.scores import Sizes

# What a model must know of the variables of both tables before it looks at a part by itself.
#
# The first look tells what occurs: ranges, gaps, categories, weights. The second tells means and spreads.

Integers = NDArray[np.int64]
STRETCH = 65_536  # records of a part whose columns are made at a time
NOBODY = np.empty(0)  # what a column holds as long as no records are looked at


Stretch = tuple[list[Floats | Codes], Floats]  # the columns of some records, and what these weigh
SumsOfRecords = Callable[[float, Iterable[Stretch]], Sums]  # of one table, with the response of its records

# how a part enters the model


@dataclass(frozen=True, eq=False)
class Number:
    """How a column of numbers is made: gaps filled with the mean, then standardised; or the marks of the gaps."""

    name: str
    score: Floats | None  # of an ordinal variable the number of each code, that of a missing one last
    fill: float
    size: float
    centre: float  # in units of the size, as the spread
    spread: float
    mark: bool = False

    def filled(self, column: NDArray[Any]) -> Floats:
        """Return the numbers of some records as they are, or the marks."""
        raw = _raw(column, self.score)
        missing = np.isnan(raw)
        return missing.astype(np.float64) if self.mark else np.where(missing, self.fill, raw)

    def of(self, column: NDArray[Any]) -> Floats:
        """Return the numbers of some records, standardised."""
        return (self.filled(column) / self.size - self.centre) / self.spread


@dataclass(frozen=True, eq=False)
class Category:
    """How the codes of a nominal variable are made: those that occur in either table, missing among them."""

    name: str
    numbered: Codes  # the new code of each code, that of a missing one last

    def of(self, column: NDArray[Any]) -> Codes:
        """Return the codes of some records."""
        codes: Codes = self.numbered[column]
        return codes


@dataclass(frozen=True, eq=False)
class File:
    """How the records of one of the two tables enter the model."""

    protected: bool
    heaviest: float
    factor: float  # by which weights in units of the heaviest sum to the number of records
    rules: tuple[Number | Category, ...]
    places: tuple[int, ...]  # for each column of the design the rule that makes it

    @property
    def response(self) -> float:
        """1 for the protected table, 0 for the original."""
        return float(self.protected)

    def stretches(self, part: Microdata) -> Iterator[Stretch]:
        """Yield the columns of a part, some records at a time, and what these weigh; those of no weight left out."""
        weights = part.weights()
        whole = {rule.name: part.columns[rule.name] for rule in self.rules}
        for start in range(0, len(part), STRETCH):
            rows = slice(start, start + STRETCH)
            counted = weights[rows] > 0
            if counted.any():
                made = [rule.of(whole[rule.name][rows][counted]) for rule in self.rules]
                yield [made[place] for place in self.places], weights[rows][counted] / self.heaviest * self.factor


def _raw(column: NDArray[Any], score: Floats | None) -> Floats:
    return column if score is None else score[column]


# what is seen at the first look


@dataclass(frozen=True, eq=False)
class Occurring(Statistic):
    """Of the records that weigh something: how many, what they weigh, and what occurs in each variable."""

    records: int
    dead: int  # records of weight zero
    lightest: float
    heaviest: float
    low: Mapping[str, float]  # of quantities
    high: Mapping[str, float]
    counts: Mapping[str, Integers]  # of each category, missing first; of quantities those missing and those present

    @classmethod
    def of(cls, names: Sequence[str], part: Microdata) -> Self:
        """Look at a part."""
        weights = part.weights()
        counted = weights > 0
        low, high, counts = {}, {}, {}
        for name in names:
            column, variable = part.columns[name][counted], part.schema[name]
            if variable.quantitative:
                there = column[~np.isnan(column)]
                low[name], high[name] = float(there.min(initial=np.inf)), float(there.max(initial=-np.inf))
                counts[name] = np.array([len(column) - len(there), len(there)])
            else:
                counts[name] = np.bincount(column + 1, minlength=len(variable.categories) + 1)
        records, own = int(np.count_nonzero(counted)), weights[counted]
        lightest, heaviest = float(own.min(initial=np.inf)), float(own.max(initial=0.0))
        return cls(records, len(part) - records, lightest, heaviest, low, high, counts)

    def merge(self, other: Self) -> Self:
        """Add counts, and take the ends of both."""
        return type(self)(
            self.records + other.records,
            self.dead + other.dead,
            min(self.lightest, other.lightest),
            max(self.heaviest, other.heaviest),
            {name: min(low, other.low[name]) for name, low in self.low.items()},
            {name: max(high, other.high[name]) for name, high in self.high.items()},
            {name: counts + other.counts[name] for name, counts in self.counts.items()},
        )


@dataclass(frozen=True)
class Range:
    """A variable that enters as a number: how each table's codes are scored, its ends, and how often it is missing."""

    name: str
    scores: tuple[Floats | None, Floats | None]
    low: float
    high: float
    missing: int

    @property
    def varies(self) -> bool:
        """Whether there are two values."""
        return self.low < self.high

    @property
    def size(self) -> float:
        """The largest value without its sign, so that no square is too large or too small for a float."""
        return max(abs(self.low), abs(self.high)) if self.varies else 1.0


# what is seen at the second look


@dataclass(frozen=True, eq=False)
class Scaled(Statistic):
    """Weights in units of the heaviest, and of each number in units of its size: mean, squares about it, and gaps."""

    weight: float
    squares: float
    present: Floats  # what the records with a value weigh
    absent: Floats
    means: Floats
    deviations: Floats  # sums of squares about the means
    between: Integers  # how many values are neither the smallest nor the largest

    @classmethod
    def of(cls, ranges: Sequence[Range], side: int, heaviest: float, part: Microdata) -> Self:
        """Look at a part of one of the tables."""
        weights = part.weights()
        counted = weights > 0
        own = weights[counted] / heaviest
        present, absent, means, deviations = np.zeros((4, len(ranges)))
        between = np.zeros(len(ranges), dtype=np.int64)
        for place, known in enumerate(ranges):
            raw = _raw(part.columns[known.name][counted], known.scores[side])
            missing = np.isnan(raw)
            there, weighs = raw[~missing] / known.size, own[~missing]
            present[place], absent[place] = weighs.sum(), own[missing].sum()
            means[place] = weighs @ there / present[place] if len(there) else 0.0
            deviations[place] = weighs @ (there - means[place]) ** 2
            between[place] = np.count_nonzero((raw[~missing] != known.low) & (raw[~missing] != known.high))
        return cls(float(own.sum()), float(own @ own), present, absent, means, deviations, between)

    def merge(self, other: Self) -> Self:
        """Add the squares about the common means (Chan, Golub and LeVeque 1983)."""
        present = self.present + other.present
        share, apart = other.present / np.where(present > 0, present, 1.0), other.means - self.means
        return type(self)(
            self.weight + other.weight,
            self.squares + other.squares,
            present,
            self.absent + other.absent,
            self.means + apart * share,
            self.deviations + other.deviations + apart**2 * self.present * share,
            self.between + other.between,
        )

    def times(self, factor: float) -> Self:
        """Return the same with weights that are so many times as large."""
        sums = (self.present * factor, self.absent * factor, self.means, self.deviations * factor)
        return type(self)(self.weight * factor, self.squares * factor**2, *sums, self.between)


# both together


@dataclass(frozen=True, eq=False)
class Learned:
    """What is known of both tables."""

    files: tuple[File, File]
    columns: tuple[Column, ...]
    constant: list[str]
    dead: int  # records of weight zero
    sizes: Sizes


def _learned(halves: tuple[Half, Half], names: Sequence[str]) -> Learned:
    """Look through both tables twice."""
    before, after = (half.total(partial(Occurring.of, tuple(names))) for half in halves)
    ranges, categories = _told_apart(halves, (before, after), names)
    numbers = tuple(ranges.values())
    looks = [
        half.total(partial(Scaled.of, numbers, side, seen.heaviest))
        for side, (half, seen) in enumerate(zip(halves, (before, after), strict=True))
    ]
    factors = [seen.records / look.weight for seen, look in zip((before, after), looks, strict=True)]
    ours, theirs = (look.times(factor) for look, factor in zip(looks, factors, strict=True))
    size = before.records + after.records
    made = _Made([], [], [])
    for name in names:
        if name in categories:
            made.add_category(name, *categories[name])
        else:
            made.add_number(ranges[name], list(ranges).index(name), ours.merge(theirs), size)
    files = [
        File(bool(side), seen.heaviest, factor, tuple(rule[side] for rule in made.rules), tuple(made.places))
        for side, (seen, factor) in enumerate(zip((before, after), factors, strict=True))
    ]
    squares = theirs.squares / after.records, ours.squares / before.records
    unequal = any(seen.lightest < seen.heaviest for seen in (before, after))
    constant = [name for name in names if name not in {column.variable for column in made.columns}]
    sizes = Sizes(size, after.records / size, squares, unequal)
    return Learned((files[0], files[1]), tuple(made.columns), constant, before.dead + after.dead, sizes)


def _told_apart(
    halves: tuple[Half, Half], seen: tuple[Occurring, Occurring], names: Sequence[str]
) -> tuple[dict[str, Range], dict[str, tuple[Codes, Codes, int]]]:
    """Return which variables enter as numbers, and how the categories of the others are numbered in each table."""
    ranges, categories = {}, {}
    for name in names:
        variables = [half.schema[name] for half in halves]
        counts = [one.counts[name] for one in seen]
        if variables[0].quantitative:
            low, high = min(one.low[name] for one in seen), max(one.high[name] for one in seen)
            ranges[name] = Range(name, (None, None), low, high, int(counts[0][0] + counts[1][0]))
            continue
        known = len(variables[0].categories)
        codes, together = _aligned([variable.categories for variable in variables], counts)
        if {variable.kind for variable in variables} == {"ordinal"} and len(together) == known + 1:
            there = np.flatnonzero(together[1:]).astype(np.float64)
            low, high = there.min(initial=np.inf), there.max(initial=-np.inf)
            scores = [np.where(side < 0, np.nan, side) for side in codes]
            ranges[name] = Range(name, (scores[0], scores[1]), float(low), float(high), int(together[0]))
        else:
            numbered = (np.cumsum(together > 0) - 1).astype(np.int32)
            categories[name] = numbered[codes[0] + 1], numbered[codes[1] + 1], int(np.count_nonzero(together))
    return ranges, categories


def _aligned(listed: Sequence[tuple[Any, ...]], counts: Sequence[Integers]) -> tuple[list[Codes], Integers]:
    """Return the code of each code in both tables, missing last, and how often each occurs, missing first.

    As ``data.alignment``: categories that occur in the protected table and are none of the original's come last.
    """
    place = {category: code for code, category in enumerate(listed[0])}
    for code in np.flatnonzero(counts[1][1:]):
        place.setdefault(listed[1][code], len(place))
    codes = [np.array([*(place.get(category, -1) for category in side), -1], dtype=np.int32) for side in listed]
    together = np.zeros(len(place) + 1, dtype=np.int64)
    for side, count in zip(codes, counts, strict=True):
        np.add.at(together, np.append(side[-1:], side[:-1]) + 1, count)
    return codes, together


@dataclass(frozen=True)
class _Made:
    """The columns of a design, as far as they are made, and the rules that make them in either table."""

    columns: list[Column]
    rules: list[tuple[Number | Category, Number | Category]]
    places: list[int]

    def add_category(self, name: str, before: Codes, after: Codes, count: int) -> None:
        """Add the indicators of all categories but the first."""
        for level in range(1, count):
            self.columns.append(Column(name, NOBODY, level, two_valued=True))
            self.places.append(len(self.rules))
        if count > 1:
            self.rules.append((Category(name, before), Category(name, after)))

    def add_number(self, known: Range, place: int, look: Scaled, size: int) -> None:
        """Add a number, and the marks of its gaps if it has any."""
        centre, spread, fill = float(look.means[place]), 0.0, known.low
        if known.varies:
            spread = sqrt(look.deviations[place] / size) or (known.high - known.low) / known.size
            fill = min(max(centre * known.size, known.low), known.high)
            whole = not known.missing or fill in (known.low, known.high)
            column = Column(known.name, NOBODY, None, two_valued=whole and not look.between[place])
            self._number(column, known, Number(known.name, None, fill, known.size, centre, spread))
        if 0 < known.missing < size:
            share = float(look.absent[place]) / size
            mark = Number(known.name, None, fill, 1.0, share, sqrt(share * (1 - share)) or 1.0, mark=True)
            self._number(Column(known.name, NOBODY, None, two_valued=True), known, mark)

    def _number(self, column: Column, known: Range, rule: Number) -> None:
        self.columns.append(replace(column, offset=rule.centre / rule.spread))
        self.places.append(len(self.rules))
        self.rules.append((replace(rule, score=known.scores[0]), replace(rule, score=known.scores[1])))


# The sums


@dataclass(frozen=True, eq=False)
class BothFiles:
    """The original and the protected table, as a model needs them."""

    halves: tuple[Half, Half]
    files: tuple[File, File]
    columns: tuple[Column, ...]  # what is known of them; their values are made when a part is looked at
    names: tuple[str, ...]
    notes: tuple[str, ...]
    constant: list[str]
    dead: int  # records of weight zero
    sizes: scores.Sizes

    @classmethod
    def of(cls, measure: Measure, pair: Pair) -> "BothFiles":
        """Look through both tables twice: for what occurs, then for means and spreads."""
        names, notes = of_one_kind(pair, *measure.shared(pair))
        halves = pair.original, pair.protected
        found = _learned(halves, names)
        return cls(halves, found.files, found.columns, names, notes, found.constant, found.dead, found.sizes)

    @property
    def share(self) -> float:
        """The share c of protected records."""
        return self.sizes.share

    def design(self, degree: Degree) -> Design:
        """Build the model, without records."""
        return arranged(self.columns, degree, 0)

    def pooled(self) -> Pooled:
        """Return the records of both tables below each other, which are in memory."""
        tables = [half.parts[0].at_hand() for half in self.halves]
        weights = [table.weights() for table in tables]
        rows = [np.flatnonzero(own > 0) for own in weights]
        numbers, categories = [], []
        for rules in zip(*(file.rules for file in self.files), strict=True):
            columns = [table.columns[rules[0].name][some] for table, some in zip(tables, rows, strict=True)]
            if isinstance(rules[0], Number):
                values = [rule.filled(column) for rule, column in zip(rules, columns, strict=True)]
                numbers.append(Numbers(rules[0].name, np.concatenate(values)))
            else:
                codes = [rule.of(column) for rule, column in zip(rules, columns, strict=True)]
                count = 1 + max(int(rule.numbered.max()) for rule in rules)
                categories.append(Categories(rules[0].name, np.concatenate(codes), count))
        source = np.repeat([False, True], list(map(len, rows)))
        scaled = [
            own[some] / file.heaviest * file.factor for own, some, file in zip(weights, rows, self.files, strict=True)
        ]
        return Pooled(tuple(numbers), tuple(categories), source, np.concatenate(scaled), self.names)

    @property
    def in_parts(self) -> bool:
        """Whether one of the tables is in parts."""
        return any(half.in_parts for half in self.halves)

    @cached_property
    def _held(self) -> list[list[Stretch]]:
        """The columns of both tables, which are in memory: made once for all passes."""
        return [list(file.stretches(half.parts[0])) for half, file in zip(self.halves, self.files, strict=True)]

    def estimated(self, model: Design) -> logistic.Estimate:
        """Find the coefficients of greatest likelihood."""
        return logistic.estimated(model, self.names, self.share, float(self.sizes.size), self.state, self.deviance)

    def state(self, model: Design, coefficients: Floats) -> State:
        """Return deviance, gradient and Hessian."""
        found = self._total(partial(_state, model, coefficients))
        return State(float(found["deviance"]), found["gradient"], found["hessian"])

    def deviance(self, model: Design, coefficients: Floats) -> float:
        """Return the deviance alone."""
        return float(self._total(partial(_deviance, model, coefficients))["deviance"])

    def _total(self, of: SumsOfRecords) -> Sums:
        if self.in_parts:
            sides = [
                half.total(partial(_of_part, of, file)) for half, file in zip(self.halves, self.files, strict=True)
            ]
        else:
            sides = [of(file.response, held) for file, held in zip(self.files, self._held, strict=True)]
        return sides[0].merge(sides[1])

    def figures(self, found: logistic.Estimate) -> tuple[scores.Figures, int]:
        """Return what the propensities of all records say, and how many of them are as good as 0 or 1.

        Those of tables in parts are sorted on disk, because their K-S distance needs them in order.
        """
        if not self.in_parts:
            sides = [_propensities(found.model, found.coefficients, held) for held in self._held]
            every, weights = (np.concatenate(one) for one in zip(*sides, strict=True))
            protected = np.repeat([False, True], [len(own) for own, _ in sides])
            return scores.figures(every, protected, weights), logistic.surely_told(every)
        squares: list[float] = []
        weight, right, separated = [0.0, 0.0], [0.0, 0.0], 0
        runs = Runs(self.halves[0].room, "propensities in order", self.sizes.size, np.float64)
        for side, (half, file) in enumerate(zip(self.halves, self.files, strict=True)):
            parts = [(part,) for part in half.parts if len(part)]
            told = partial(_propensities_of_part, found.model, found.coefficients, file)
            # what comes back is as long as the part: it is not kept with the summaries
            for propensities, weights in each_part(told, parts, stored=False):
                squares.append(float(weights @ (propensities - self.share) ** 2))
                right[side] += scores.told_right(propensities, weights, protected=bool(side))
                weight[side] += float(weights.sum())
                separated += logistic.surely_told(propensities)
                runs.add(np.round(propensities, scores.EQUAL), -weights if side else weights)
        specks = max(
            float(np.abs(ours / weight[0] - theirs / weight[1]).max()) for _, _, ours, theirs in functions(runs)
        )
        runs.close()
        over_fifty = scores.over_fifty_of(self.share, right[0] / weight[0], right[1] / weight[1])
        return scores.Figures(self.sizes.size, fsum(squares) / fsum(weight), specks, over_fifty), separated


def _of_part(of: SumsOfRecords, file: File, part: Microdata) -> Sums:
    return of(file.response, file.stretches(part))


def _designs(model: Design, response: float, stretches: Iterable[Stretch]) -> Iterator[tuple[Design, Floats, Floats]]:
    """Yield the design over stretches of records, with response and weights."""
    for sources, weights in stretches:
        yield model.on(sources, len(weights)), np.full(len(weights), response), weights


def _state(model: Design, coefficients: Floats, response: float, stretches: Iterable[Stretch]) -> Sums:
    terms = len(model)
    total = Sums({"deviance": 0.0, "gradient": np.zeros(terms), "hessian": np.zeros((terms, terms))})
    for stretch, responses, weights in _designs(model, response, stretches):
        at = logistic.state(stretch, coefficients, responses, weights)
        total = total.merge(Sums({"deviance": at.objective, "gradient": at.gradient, "hessian": at.hessian}))
    return total


def _deviance(model: Design, coefficients: Floats, response: float, stretches: Iterable[Stretch]) -> Sums:
    designs = _designs(model, response, stretches)
    return Sums({"deviance": sum((logistic.deviance(one, coefficients, *rest) for one, *rest in designs), start=0.0)})


def _propensities(model: Design, coefficients: Floats, stretches: Iterable[Stretch]) -> tuple[Floats, Floats]:
    found = [
        (logistic.propensities(stretch, coefficients), weights)
        for stretch, _, weights in _designs(model, 0.0, stretches)
    ]
    propensities, weights = (np.concatenate(side) for side in zip(*found, strict=True)) if found else ((), ())
    return np.asarray(propensities, dtype=np.float64), np.asarray(weights, dtype=np.float64)


def _propensities_of_part(model: Design, coefficients: Floats, file: File, part: Microdata) -> tuple[Floats, Floats]:
    return _propensities(model, coefficients, file.stretches(part))
