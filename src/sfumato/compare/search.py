"""The search along one parameter for the value of best utility whose risk keeps its bounds.

Where risk and utility are monotone in the parameter, the best value is the one where a risk meets its bound. The search
goes there in steps that get dearer: five values over the whole range, one table each; the value where the straight line
between the last violation and the first value that keeps the bounds meets the bound, with several replicates, which
tells how much chance moves the figures; then two values to either side, as far as chance reaches. A straight line
through these gives the crossing and, from the spread of its height over the replicates, the standard error of the
crossing: replicates share their draws over all values, so that they, not the tables, are what is independent. What is
left of the budget adds replicates there. Where nothing is random, halving finds the exact value instead.

What is found is then tried against what lies next to it: between a value that keeps the bounds and one of better
utility that breaks them, values are tried until the two are one step apart, and where nothing is random so are the
values a step to either side of the best. A part of the budget is put aside for it where figures are random.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.about import MeasureAbout
from sfumato.compare.experiment import Experiment
from sfumato.compare.results import Results
from sfumato.compare.rows import Row, students_t
from sfumato.compare.score import Recipe
from sfumato.compare.store import Cell, Key
from sfumato.core import Measure, Method
from sfumato.errors import NotApplicable, ParameterError
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts

Floats = NDArray[np.float64]
P = TypeVar("P", bound=Any)  # where a search tries the method: the places of the values of its parameters
FINENESS = 200  # steps a range is parted into, at least, where no tolerance is given
MIN_STANDARD_ERRORS = 3.0  # standard errors that a figure must be off a monotone curve to count as a violation
ROUNDS = 4  # times the values next to the crossing are set anew before the budget goes into replicates
PROBES = 5  # values over the whole range that are tried first
BETWEEN = 0.4  # of the budget is put aside for values between those found, where they cannot be told beforehand


# A method along its parameters: masked and measured where a search asks, each table once, counted.


@dataclass(frozen=True, kw_only=True)
class Goal:
    """The key of the measure to make as good as possible, the bounds by key, and what must be computed for them."""

    objective: str
    bounds: Mapping[str, float]
    measures: tuple[Measure, ...]
    scores: tuple[Recipe, ...]
    figures: Mapping[str, MeasureAbout]


@dataclass(kw_only=True, eq=False)
class Trials(Generic[P]):
    """The figures of a method at the places that a search tries.

    All places share the draws of a replicate, as in every experiment, and replicates are added, never drawn anew.
    """

    data: Microdata | TableInParts
    make: Callable[[P], Method]
    goal: Goal
    replicates: int  # of values that matter, where anything is random
    seed: int
    workers: int
    store: str | os.PathLike[str] | None
    budget: int
    rounded: bool = False
    rows: dict[P, Row] = field(default_factory=dict)
    spent: int = 0  # masked tables
    memory: dict[Key, Cell] = field(default_factory=dict)

    @cached_property
    def random(self) -> bool:
        """Whether the method draws."""
        return self.make(self.start).about.random

    @cached_property
    def certain(self) -> bool:
        """Whether nothing draws."""
        return not self.random and not any(measure.about.random for measure in self.goal.measures)

    @property
    def start(self) -> P:
        """A place that there is."""
        raise NotImplementedError

    @property
    def left(self) -> int:
        """How many tables may still be masked."""
        return self.budget - self.spent

    def draws(self, place: P) -> int:
        """How many replicates there are at a place."""
        return self.rows[place].replicates if place in self.rows else 0

    def cost(self, places: Iterable[P], draws: int) -> int:
        """How many tables it takes to have so many replicates at these places."""
        lacking = [max(self._wanted(draws) - self.draws(place), 0) for place in set(places)]
        return sum(lacking) if self.random else sum(lack > 0 for lack in lacking)

    def _wanted(self, draws: int) -> int:
        return 1 if self.certain else draws

    def at(self, places: Iterable[P], draws: int = 1) -> None:
        """Mask and measure until these places have so many replicates."""
        lacking = sorted(place for place in set(places) if self.draws(place) < self._wanted(draws))
        if not lacking:
            return
        self.spent += self.cost(lacking, draws)
        methods = {place: self.make(place) for place in lacking}
        experiment = Experiment(
            self.data,
            list(methods.values()),
            self.goal.measures,
            replicates=draws,
            seed=self.seed,
            rounded=self.rounded,
        )
        results = experiment.run(workers=self.workers, store=self.store, memory=self.memory)
        for score in self.goal.scores:
            results = results.with_score(score)
        self.rows |= {place: results.row(repr(method)) for place, method in methods.items()}
        self._last = results

    def results(self) -> Results:
        """Return every place tried with all its replicates, in the order of the parameters."""
        rows = tuple(self.rows[place] for place in self._ordered())
        most = max(row.replicates for row in rows)
        return replace(self._last, rows=rows, replicates=most, seconds=math.fsum(row.seconds for row in rows))

    def _ordered(self) -> list[P]:
        return sorted(self.rows)


@dataclass(kw_only=True, eq=False)
class Curve(Trials[int]):
    """The figures of a method at some of the values its one parameter may take, which are numbered from 0."""

    values: tuple[float, ...]

    @property
    def start(self) -> int:
        """The first place."""
        return 0

    @property
    def far(self) -> int:
        """The last place."""
        return len(self.values) - 1

    @property
    def distances(self) -> Floats:
        """How far each value is from the first, in units of the parameter."""
        return np.abs(np.array(self.values) - self.values[0])

    def turn(self) -> None:
        """Number the values from the other end."""
        self.values = self.values[::-1]
        self.rows = {self.far - place: row for place, row in self.rows.items()}

    def affordable(self, places: Sequence[int], draws: int, keep: int = 0) -> int:
        """Return how many replicates, up to ``draws``, these places can have while ``keep`` tables stay unspent."""
        return next((d for d in range(draws, 0, -1) if self.cost(places, d) <= self.left - keep), 0)

    def at(self, places: Iterable[int], draws: int = 1) -> None:
        """Mask and measure until these places have so many replicates; a value without its figures ends the search."""
        super().at(places, draws)
        for row in self.rows.values():
            if row.reasons:
                reason = next(iter(row.reasons.values()))
                raise NotApplicable(
                    f"tune: {row.method!r} has no figure ({reason}); give a range of values that fit, "
                    "between=(low, high)"
                )

    def drawn(self, place: int, key: str, draws: int | None = None) -> Floats:
        """Return a figure in each replicate, or in the first few; what is not random is the same in all."""
        count = self.draws(place) if draws is None else draws
        values = np.array(self.rows[place].values[key])
        return values[:count] if values.size >= count else np.full(count, values[0])

    def _ordered(self) -> list[int]:
        return sorted(self.rows, key=lambda place: self.values[place])


def lattice(low: float, high: float, *, whole: bool, tolerance: float | None) -> tuple[float, ...]:
    """Return the values a search may try: whole numbers, or multiples of a round step, and both ends.

    >>> lattice(3, 6, whole=True, tolerance=None), lattice(0.02, 0.05, whole=False, tolerance=0.01)
    ((3, 4, 5, 6), (0.02, 0.03, 0.04, 0.05))
    """
    if whole:
        apart = 1 if tolerance is None else max(int(tolerance), 1)
        return (*range(int(low), int(high), apart), int(high))
    step = _round_step((high - low) / FINENESS) if tolerance is None else tolerance
    if step >= high - low:
        raise ParameterError(f"tune: a tolerance of {step:g} leaves nothing to search between {low:g} and {high:g}")
    first, last = math.ceil(low / step), math.floor(high / step)
    inner = (float(f"{number * step:.12g}") for number in range(first, last + 1))
    return tuple(sorted({low, high, *(value for value in inner if low < value < high)}))


def _round_step(most: float) -> float:
    """Return the greatest of 1, 2 and 5 times a power of ten that is no more than this.

    >>> _round_step(0.0009), _round_step(0.31)
    (0.0005, 0.2)
    """
    power = math.floor(math.log10(most))
    return max(float(f"{digit}e{power}") for digit in (1, 2, 5) if float(f"{digit}e{power}") <= most * (1 + 1e-9))


# What the values tried so far tell: their means, which bounds they keep, and how much of it may be chance.


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The place found, why it, and the places the standard errors leave open."""

    place: int
    # "bound": a bound decides; "free": none does; "peak": utility is best inside; "barred": as "peak", but bounds bar
    # better values; "none": no value keeps them
    why: str
    open: tuple[int, int]
    known: bool = True  # whether there are replicates to tell how sure it is
    near: tuple[int, ...] = ()  # the places next to a bound that further replicates would tell most of


@dataclass(frozen=True, eq=False)
class TriedValues:
    """The values tried on a curve, judged by one figure that should be least while others keep their bounds.

    ``signs`` turn figures so that lower is better, and ``bounds`` are those of the turned figures.
    """

    curve: Curve
    objective: str
    signs: Mapping[str, float]
    bounds: Mapping[str, float]

    @classmethod
    def on(
        cls, curve: Curve, objective: str, bounds: Mapping[str, float], figures: Mapping[str, MeasureAbout]
    ) -> "TriedValues":
        """Take the directions of the figures from what is said of them."""
        signs = {key: figures[key].sign for key in (objective, *bounds)}
        return cls(curve, objective, signs, {key: signs[key] * bound for key, bound in bounds.items()})

    def cost(self, place: int, key: str) -> float:
        """Return the mean at a place, with the sign that makes lower better."""
        values = self.curve.drawn(place, key)
        # summed as the rows' means are, so that both keep a bound or neither does
        return self.signs[key] * math.fsum(values) / len(values)

    def excess(self, place: int, key: str) -> float:
        """Return by how much the mean at a place is beyond its bound."""
        return self.cost(place, key) - self.bounds[key]

    def violated(self, place: int, among: Sequence[str] | None = None) -> list[str]:
        """Name the figures, of all that have bounds or of some, that are beyond theirs at a place, or undefined."""
        return [key for key in (self.bounds if among is None else among) if not self.excess(place, key) <= 0]

    def keeps(self, place: int) -> bool:
        """Tell whether the means at a place keep all bounds."""
        return not self.violated(place)

    def known(self, place: int) -> bool:
        """Tell whether there are replicates at a place to tell how sure it is."""
        return self.curve.certain or self.curve.draws(place) > 1

    def spread(self, key: str) -> float:
        """Return a figure's standard deviation within values, over all; unknown where none has two replicates."""
        if self.curve.certain:
            return 0.0
        drawn = [self.curve.drawn(place, key) for place in self.curve.rows]
        freedom = sum(values.size - 1 for values in drawn)
        squares = math.fsum(float(((values - values.mean()) ** 2).sum()) for values in drawn)
        return math.sqrt(squares / freedom) if freedom else math.nan

    def monotone(self, key: str) -> bool:
        """Tell whether a figure rises or falls all along the values tried, but for what chance may do."""
        from scipy.optimize import isotonic_regression

        places = sorted(self.curve.rows)
        drawn = [self.curve.drawn(place, key) for place in places]
        weights = np.array([len(values) for values in drawn], dtype=float)
        means = np.array([values.mean() for values in drawn])
        if len(places) < 3 or not np.isfinite(means).all():
            return True
        rising = bool(means[-1] >= means[0])
        off = np.abs(isotonic_regression(means, weights=weights, increasing=rising).x - means)
        spread = self.spread(key)
        return math.isnan(spread) or bool(
            (off <= MIN_STANDARD_ERRORS * spread / np.sqrt(weights) + 1e-9 * np.ptp(means)).all()
        )

    def alike(self, found: int) -> tuple[int, int]:
        """Return how far to either side the values tried keep the bounds with a utility not to be told from this one's.

        Standard errors are those of one standard deviation for all values, for most of them are drawn once only.
        """
        curve, reach = self.curve, [found, found]
        drawn = [curve.drawn(place, self.objective) for place in curve.rows]
        spread = self.spread(self.objective)
        sure = 0.0 if curve.certain else quantile(1 + sum(values.size - 1 for values in drawn))
        for side, step in ((0, -1), (1, 1)):
            for place in sorted((p for p in curve.rows if (p - found) * step > 0), key=lambda p: p * step):
                error = spread * math.sqrt(1 / curve.draws(found) + 1 / curve.draws(place))
                apart = abs(self.cost(place, self.objective) - self.cost(found, self.objective))
                if not self.keeps(place) or not apart <= sure * error:  # an unknown error tells nothing
                    break
                reach[side] = place
        return reach[0], reach[1]

    def bracket(self, active: list[str]) -> tuple[int, int]:
        """Return the first value tried that keeps the bounds, by its mean, and the one tried before it."""
        places = sorted(self.curve.rows)
        good = next((place for place in places[1:] if not self.violated(place, active)), places[-1])
        return max(place for place in places if place < good), good

    def between(self, bad: int, good: int, active: list[str]) -> int:
        """Return the place between two where the straight lines between their figures meet all bounds."""
        distances = self.curve.distances
        crossings = [0.0]
        for key in active:
            above, below = self.excess(bad, key), self.excess(good, key)
            if above > 0 >= below and math.isfinite(above - below):
                crossings.append(above / (above - below))
        target = distances[bad] + max(crossings) * (distances[good] - distances[bad])
        return min(max(self.safe(float(target)), bad + 1), good - 1)

    def safe(self, distance: float) -> int:
        """Return the first place at least this far from the first value."""
        distances = self.curve.distances
        return int(min(np.searchsorted(distances, distance - 1e-9 * distances[-1]), self.curve.far))

    def beside(self, place: int) -> tuple[int | None, int | None]:
        """Return the values tried next to one, before and behind it."""
        others = self.curve.rows
        return (
            max((p for p in others if p < place), default=None),
            min((p for p in others if p > place), default=None),
        )

    def step(self, place: int) -> float:
        """The distance from a place to the next."""
        distances = self.curve.distances
        after = min(place + 1, self.curve.far)
        return float(distances[after] - distances[after - 1])

    def settled(self, finding: Finding) -> Finding:
        """Say so if bounds of opposite directions leave no value, or the budget ended before one was found."""
        if self.keeps(finding.place):
            return finding
        return Finding(place=finding.place, why="none", open=finding.open, known=finding.known, near=finding.near)


def quantile(draws: int) -> float:
    """Return how many standard errors of a mean of so many draws make its 95 % interval: Student's t."""
    return students_t(draws) if draws > 1 else math.inf


# Where a bounded figure meets its bound, if figures are random: a straight line through values next to it.


@dataclass(frozen=True, kw_only=True)
class _Crossing:
    """Where a bounded figure meets its bound: distance from the first value, half of its 95 % interval, slope."""

    at: float
    margin: float  # infinite where one replicate leaves it unknown
    slope: float


@dataclass(frozen=True, eq=False)
class _Narrowing:
    """A search for the crossing of the bounds that the first value does not keep, ``draws`` replicates at a time.

    ``reserve`` tables are not spent on further replicates.
    """

    tried: TriedValues
    active: list[str]
    draws: int
    reserve: int = 0

    def run(self) -> Finding:
        """Find the crossing, and the value to take there."""
        tried, curve = self.tried, self.tried.curve
        bad, good = tried.bracket(self.active)
        guess = tried.between(bad, good, self.active) if good - bad > 1 else good
        curve.at([guess], max(curve.affordable([guess], self.draws, keep=keep) for keep in (self.draws, 2)))
        if curve.draws(guess) < 2:
            bad, good = self.tried.bracket(self.active)
            return self.tried.settled(Finding(place=good, why="bound", open=(bad + 1, good), known=False))
        run = float(curve.distances[good] - curve.distances[bad])
        falls = {key: max((tried.excess(bad, key) - tried.excess(good, key)) / run, 0.0) for key in self.active}
        near, crossing = [guess], self._ahead(guess, falls)
        for _ in range(ROUNDS):
            reach = min(max(crossing.margin, self.tried.step(guess)), run / 2)
            wanted = {self.tried.safe(crossing.at + side) for side in (-reach, 0.0, reach)}
            # the value chosen in the end needs replicates of its own
            draws = max(curve.affordable(sorted(wanted), self.draws, keep=keep) for keep in (self.draws, 2))
            if draws < 2:
                break
            curve.at(wanted, draws)
            near, crossing = sorted(wanted), self._crossing(sorted(wanted))
            if near[0] <= self.tried.safe(crossing.at) <= near[-1]:
                break
        return self._sharpen(near, crossing)

    def again(self, near: tuple[int, ...]) -> Finding:
        """Spend what is left on replicates of values that were found to lie next to the crossing."""
        return self._sharpen(list(near), self._crossing(near))

    def _ahead(self, place: int, falls: Mapping[str, float]) -> _Crossing:
        """Guess the crossing from one place and how steeply the figures fall over the bracket around it."""
        found = []
        for key, fall in falls.items():
            values = self.tried.curve.drawn(place, key)
            margin = quantile(values.size) * float(values.std(ddof=1)) / math.sqrt(values.size)
            step = fall or math.inf  # a figure that does not fall tells nothing of where to go
            at = float(self.tried.curve.distances[place]) + self.tried.excess(place, key) / step
            found.append(_Crossing(at=at, margin=margin / step, slope=-fall))
        return max(found, key=lambda crossing: crossing.at)

    def _crossing(self, near: Sequence[int]) -> _Crossing:
        """Return where the last of the bounds is met, by a straight line through the figures at these places."""
        found = [self._meets(near, key, min(map(self.tried.curve.draws, near))) for key in self.active]
        return max(found, key=lambda crossing: crossing.at)

    def _meets(self, near: Sequence[int], key: str, draws: int) -> _Crossing:
        places = sorted(set(near))
        drawn = np.array([self.tried.signs[key] * self.tried.curve.drawn(place, key, draws) for place in places])
        if places[-1] - places[0] < len(places) and len(places) > 2:
            # neighbours: between whole numbers nothing is straight, so that the last one to violate and the next decide
            last = max((i for i, mean in enumerate(drawn.mean(axis=1)) if mean > self.tried.bounds[key]), default=0)
            kept = slice(min(last, len(places) - 2), min(last, len(places) - 2) + 2)
            places, drawn = places[kept], drawn[kept]
        x = self.tried.curve.distances[places]
        if len(places) < 2:
            return _Crossing(at=float(x[0]), margin=math.inf, slope=0.0)
        centred = x - x.mean()
        slope = float(centred @ drawn.mean(axis=1) / (centred @ centred))
        if slope >= 0:  # by chance the figure does not fall here: keep to the safe side
            beyond = float(drawn.mean()) > self.tried.bounds[key]
            return _Crossing(at=float(x[-1] if beyond else x[0]), margin=math.inf, slope=slope)
        at = float(x.mean() + (self.tried.bounds[key] - drawn.mean()) / slope)
        weights = 1 / len(x) + centred * (at - x.mean()) / (centred @ centred)
        heights = weights @ drawn  # of the line at the crossing, one per replicate
        margin = math.inf if draws < 2 else quantile(draws) * float(heights.std(ddof=1)) / math.sqrt(draws)
        return _Crossing(at=at, margin=margin / abs(slope), slope=slope)

    def _sharpen(self, near: list[int], crossing: _Crossing) -> Finding:
        """Spend what is left on replicates next to the crossing, and settle on a value that keeps the bounds itself."""
        curve = self.tried.curve
        while len(near) > 1 and not self._decided(crossing):
            draws = min(map(curve.draws, near))
            more = curve.affordable(near, 2 * draws, keep=draws + self.reserve)
            if more <= draws:
                break
            curve.at(near, more)
            crossing = self._crossing(near)
        place, draws = self.tried.safe(crossing.at), min(map(curve.draws, near))
        while place < curve.far:
            own = curve.affordable([place], draws)
            if own > curve.draws(place):
                curve.at([place], own)
            if curve.draws(place) > 1 and not self.tried.violated(place, self.active):
                break
            if curve.draws(place) < 2:  # nothing left to try it with: what was tried beyond must do
                beyond = [p for p in sorted(curve.rows) if p >= place and not self.tried.violated(p, self.active)]
                place = beyond[0] if beyond else curve.far
                break
            over = max(self.tried.excess(place, key) for key in self.active)
            leap = over / -crossing.slope if crossing.slope < 0 else 0.0
            place = max(place + 1, self.tried.safe(float(curve.distances[place]) + leap))
        if place not in curve.rows:
            place = max(curve.rows)
        known = math.isfinite(crossing.margin)
        ends = [self.tried.safe(crossing.at + side * crossing.margin) for side in (-1, 1)] if known else near
        open_ = (min(*ends, place), max(*ends, place))
        return self.tried.settled(Finding(place=place, why="bound", open=open_, known=known, near=tuple(near)))

    def _decided(self, crossing: _Crossing) -> bool:
        """Tell whether one value only is left open."""
        if not math.isfinite(crossing.margin):
            return False
        return self.tried.safe(crossing.at - crossing.margin) == self.tried.safe(crossing.at + crossing.margin)


# Where a bounded figure meets its bound, if nothing is random: halving.


def halve(tried: TriedValues, active: list[str]) -> Finding:
    """Find the first value that keeps the bounds where nothing is random: exact, the budget permitting."""
    curve = tried.curve
    bad, good = tried.bracket(active)
    while good - bad > 1 and curve.left > 0:
        wide = good - bad
        middle = tried.between(bad, good, active)
        curve.at([middle])
        bad, good = (middle, good) if tried.violated(middle, active) else (bad, middle)
        if good - bad > wide / 2 and good - bad > 1 and curve.left > 0:  # the line was of little help
            middle = (bad + good) // 2
            curve.at([middle])
            bad, good = (middle, good) if tried.violated(middle, active) else (bad, middle)
    return tried.settled(Finding(place=good, why="bound", open=(bad + 1, good)))


# Where utility is best inside the range, not at an end and not where a bound is met.


def peak(tried: TriedValues, finding: Finding, draws: int) -> Finding:
    """Look inside the range where utility is clearly better there than at the value found."""
    curve, key = tried.curve, tried.objective
    if finding.why == "none" or not _better_inside(tried, finding.place):
        return finding
    while True:
        kept = [place for place in sorted(curve.rows) if tried.keeps(place)]
        if not kept:
            return tried.settled(finding)
        best = min(kept, key=lambda place: tried.cost(place, key))
        around = [p for p in curve.rows if p < best], [p for p in curve.rows if p > best]
        low, high = max(around[0], default=best), min(around[1], default=best)
        group = sorted({low, best, high})
        more = curve.affordable(group, draws)
        if more > min(map(curve.draws, group)):
            curve.at(group, more)
            continue
        gap = max((best - low, (low + best) // 2), (high - best, (best + high + 1) // 2))
        if gap[0] < 2 or curve.affordable([gap[1]], draws) < draws or _same(tried, group, best):
            decided = curve.certain and gap[0] < 2  # its neighbours were tried
            open_ = (best, best) if decided else (low, high)
            return Finding(place=best, why="peak", open=open_, known=tried.known(best))
        curve.at([gap[1]], draws)


def _better_inside(tried: TriedValues, found: int) -> bool:
    """Tell whether some value that keeps the bounds is clearly better than the one found."""
    others = [place for place in tried.curve.rows if place != found and tried.keeps(place)]
    spread = tried.spread(tried.objective)
    if math.isnan(spread):
        return False
    gains = [
        (tried.cost(found, tried.objective) - tried.cost(place, tried.objective))
        - MIN_STANDARD_ERRORS * spread * math.sqrt(1 / tried.curve.draws(found) + 1 / tried.curve.draws(place))
        for place in others
    ]
    return max(gains, default=0.0) > 1e-12


def _same(tried: TriedValues, group: Sequence[int], best: int) -> bool:
    """Tell whether the neighbours of the best value cannot be told from it, replicate by replicate."""
    if tried.curve.certain:
        return False
    draws = min(map(tried.curve.draws, group))
    if draws < 2:
        return True
    sign = tried.signs[tried.objective]
    differences = [
        sign * (tried.curve.drawn(p, tried.objective, draws) - tried.curve.drawn(best, tried.objective, draws))
        for p in group
        if p != best
    ]
    return all(d.mean() <= quantile(draws) * d.std(ddof=1) / math.sqrt(draws) for d in differences)


class Search:
    """A search on a curve for the least of one figure while others keep their bounds; ``tried`` judges the values."""

    def __init__(self, curve: Curve) -> None:
        goal = curve.goal
        self.curve, self.draws = curve, 1 if curve.certain else curve.replicates
        self.tried = TriedValues.on(curve, goal.objective, goal.bounds, goal.figures)

    def run(self) -> Finding:
        """Find the value; where nothing is random and figures go up and down, the budget goes over the whole range."""
        curve, tried = self.curve, self.tried
        finding = self._searched()
        rest = [place for place in range(len(curve.values)) if place not in curve.rows]
        if curve.certain and not all(map(tried.monotone, (tried.objective, *tried.bounds))):
            most = curve.left if len(rest) <= curve.left else math.floor((1 - BETWEEN) * curve.left)
            at = np.linspace(0, len(rest) - 1, min(most, len(rest))).round().astype(int)
            curve.at(rest[i] for i in at.tolist())
        near, active = finding.near, tried.violated(0)
        finding = self._best_tried(finding)
        if finding.why != "none":
            self._try_between(finding)
        if near and active and min(map(curve.draws, near)) > 1:
            finding = _Narrowing(tried, active, self.draws, reserve=2 * self.draws).again(near)
            self._try_between(finding)
        return self._best_tried(finding)

    def _searched(self) -> Finding:
        """Go where a bound is met, or to the best end if none is."""
        curve, tried = self.curve, self.tried
        curve.at(np.unique(np.linspace(0, curve.far, PROBES).round().astype(int)).tolist())
        ends = [(tried.cost(place, tried.objective), not tried.keeps(place)) for place in (0, curve.far)]
        if ends[1] < ends[0]:
            curve.turn()  # from here on, the first value is the one of best utility
        if not tried.violated(0):
            curve.at([0], curve.affordable([0], self.draws))
        active = tried.violated(0)
        if not active:
            return peak(tried, Finding(place=0, why="free", open=(0, 0), known=tried.known(0)), self.draws)
        first = next((place for place in sorted(curve.rows) if not tried.violated(place, active)), None)
        if first is None:
            return self._none(active)
        found = halve(tried, active) if curve.certain else self._narrowing(active).run()
        return peak(tried, found, self.draws)

    def _try_between(self, finding: Finding) -> None:
        """Try the values between the best and what was tried around it, as long as the budget lasts."""
        curve, stride = self.curve, 1
        best, often = self._best(finding)
        while best is not None:
            wanted, draws = self._untried(best, often, stride)
            if not wanted and stride > 1:
                stride = 1
                continue
            if not wanted or curve.affordable(wanted, draws) < draws:
                return
            curve.at(wanted, draws)
            before = best
            best, often = self._best(finding)
            stride = 1 if best == before else 2 * stride  # far from the best of its neighbourhood, in longer steps

    def _untried(self, best: int, often: int, stride: int) -> tuple[list[int], int]:
        """Return values to try next, and how often: where a bound bars a better value, or beside the best one."""
        curve, tried = self.curve, self.tried
        places, gaps = sorted(curve.rows), []
        for low, high in pairwise(places):
            breaks = [place for place in (low, high) if not tried.keeps(place)]
            if high - low > 1 and len(breaks) == 1 and self._promises(breaks[0], best):
                gaps.append((abs((low + high) / 2 - best), low, high))
        if gaps:
            _, low, high = min(gaps)
            seldom = [place for place in (low, high) if curve.draws(place) < often and not curve.certain]
            return (seldom or [(low + high) // 2]), often
        beside = [best - stride, best + stride] if curve.certain else []
        return [place for place in beside if 0 <= place <= curve.far and place not in curve.rows], often

    def _promises(self, place: int, best: int) -> bool:
        """Tell whether utility at a value that breaks a bound is better than at the best one that keeps them."""
        return self.tried.cost(place, self.tried.objective) < self.tried.cost(best, self.tried.objective)

    def _best(self, finding: Finding) -> tuple[int | None, int]:
        """Return the best value that keeps the bounds, of those drawn as often as the one found, and how often."""
        curve, tried, place = self.curve, self.tried, finding.place
        often = max(min(curve.draws(place), self.draws), min(2, self.draws))
        kept = [p for p in curve.rows if tried.keeps(p)]
        firm = [p for p in kept if curve.draws(p) >= often] or [p for p in kept if curve.draws(p) > 1] or kept
        return min(firm, key=lambda p: (tried.cost(p, tried.objective), abs(p - place)), default=None), often

    def _best_tried(self, finding: Finding) -> Finding:
        """Return the best of the values tried that keep the bounds.

        The search goes where a bound is met; a value it passed on the way may have turned out better.
        """
        curve, tried, place = self.curve, self.tried, finding.place
        if curve.draws(place) < 2 and not curve.certain:
            curve.at([place], curve.affordable([place], self.draws))
        best, _ = self._best(finding)
        if best is None:
            return Finding(place=place, why="none", open=finding.open, known=tried.known(place))
        why = self._reason(finding, best)
        open_ = (min(finding.open[0], best), max(finding.open[1], best))
        if curve.certain:
            low, high = tried.beside(best)
            near = max(0, best - 1) in (best, low) and min(curve.far, best + 1) in (best, high)
            if near:
                open_ = (best, best)
            elif finding.open[0] == finding.open[1]:
                open_ = (best if low is None else low + 1, best if high is None else high - 1)
        return Finding(place=best, why=why, open=open_, known=finding.known and tried.known(best))

    def _reason(self, finding: Finding, best: int) -> str:
        """Say why a value is the best: a bound decides only if a value of better utility breaks one."""
        tried = self.tried
        own = tried.cost(best, tried.objective)
        barred = any(tried.violated(p) and tried.cost(p, tried.objective) < own for p in tried.curve.rows)
        if finding.why in ("bound", "none") and finding.open[0] <= best <= finding.open[1]:
            return "bound"
        if finding.why in ("peak", "free") and not barred:
            return finding.why
        return "barred"

    def _narrowing(self, active: list[str]) -> _Narrowing:
        return _Narrowing(self.tried, active, self.draws, math.floor(BETWEEN * self.curve.budget))

    def _none(self, active: list[str]) -> Finding:
        """Make sure that no value keeps the bounds: the one that comes nearest is drawn several times."""
        curve, tried = self.curve, self.tried

        def worst(place: int) -> float:
            return max(tried.excess(place, key) / (abs(tried.bounds[key]) or 1.0) for key in active)

        place = min(sorted(curve.rows, reverse=True), key=worst)
        curve.at([place], curve.affordable([place], self.draws))
        if not tried.violated(place, active):
            return self._narrowing(active).run()
        return Finding(place=place, why="none", open=(place, place), known=tried.known(place))
