"""A method along one of its parameters: masked and measured where a search asks, each table once, counted."""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.compare.experiment import Experiment
from sfumato.compare.results import Results
from sfumato.compare.rows import Row
from sfumato.compare.score import Recipe
from sfumato.compare.store import Cell, Key
from sfumato.core import Measure, Method
from sfumato.data.microdata import Microdata
from sfumato.data.parts import TableInParts
from sfumato.errors import NotApplicable, ParameterError

Floats = NDArray[np.float64]
FINENESS = 200  # steps a range is parted into, at least, where no tolerance is given


@dataclass(kw_only=True, eq=False)
class Curve:
    """The figures of a method at some of the values its parameter may take, which are numbered from 0.

    All values share the draws of a replicate, as in every experiment, and replicates are added, never drawn anew.
    """

    data: Microdata | TableInParts
    make: Callable[[float], Method]
    values: tuple[float, ...]
    measures: tuple[Measure, ...]
    scores: tuple[Recipe, ...]
    seed: int
    workers: int
    store: str | os.PathLike[str] | None
    budget: int
    rows: dict[int, Row] = field(default_factory=dict)
    spent: int = 0  # masked tables
    memory: dict[Key, Cell] = field(default_factory=dict)
    rounded: bool = False

    def __post_init__(self) -> None:
        self.random = self.make(self.values[0]).about.random
        self.certain = not self.random and not any(measure.about.random for measure in self.measures)

    @property
    def left(self) -> int:
        """How many tables may still be masked."""
        return self.budget - self.spent

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

    def draws(self, place: int) -> int:
        """How many replicates there are at a place."""
        return self.rows[place].replicates if place in self.rows else 0

    def cost(self, places: Iterable[int], draws: int) -> int:
        """How many tables it takes to have so many replicates at these places."""
        lacking = [max(self._wanted(draws) - self.draws(place), 0) for place in set(places)]
        return sum(lacking) if self.random else sum(lack > 0 for lack in lacking)

    def _wanted(self, draws: int) -> int:
        return 1 if self.certain else draws

    def affordable(self, places: Sequence[int], draws: int, keep: int = 0) -> int:
        """Return how many replicates, up to ``draws``, these places can have while ``keep`` tables stay unspent."""
        return next((d for d in range(draws, 0, -1) if self.cost(places, d) <= self.left - keep), 0)

    def at(self, places: Iterable[int], draws: int = 1) -> None:
        """Mask and measure until these places have so many replicates."""
        lacking = sorted(place for place in set(places) if self.draws(place) < self._wanted(draws))
        if not lacking:
            return
        self.spent += self.cost(lacking, draws)
        methods = {place: self.make(self.values[place]) for place in lacking}
        experiment = Experiment(
            self.data, list(methods.values()), self.measures, replicates=draws, seed=self.seed, rounded=self.rounded
        )
        results = experiment.run(workers=self.workers, store=self.store, memory=self.memory)
        for score in self.scores:
            results = results.with_score(score)
        for place, method in methods.items():
            row = results.row(repr(method))
            if row.reasons:
                reason = next(iter(row.reasons.values()))
                raise NotApplicable(
                    f"tune: {method!r} has no figure ({reason}); give a range of values that fit, between=(low, high)"
                )
            self.rows[place] = row
        self._last = results

    def drawn(self, place: int, key: str, draws: int | None = None) -> Floats:
        """Return a figure in each replicate, or in the first few; what is not random is the same in all."""
        count = self.draws(place) if draws is None else draws
        values = np.array(self.rows[place].values[key])
        return values[:count] if values.size >= count else np.full(count, values[0])

    def results(self) -> Results:
        """Return every value tried with all its replicates, in the order of the parameter."""
        ordered = sorted(self.rows, key=lambda place: self.values[place])
        rows = tuple(self.rows[place] for place in ordered)
        return replace(
            self._last,
            rows=rows,
            replicates=max(row.replicates for row in rows),
            seconds=math.fsum(row.seconds for row in rows),
        )


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
