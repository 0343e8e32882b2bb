"""The search over several parameters for the point of best utility whose risk keeps its bounds, and for the frontier.

A scrambled Sobol sequence spreads a third of the tables over the whole range. Then a smooth surface (radial basis
functions, exact at the points tried) is laid through each figure, and the next point is the one of best predicted
utility among those predicted to keep the bounds: just so, with a little to spare, and a little beyond, in turn, since
the best point lies where a bound is met and the surface is not exact there. Every fourth point goes where the surface
is known least, so that the frontier is filled and no better valley is missed.

Points are drawn once, all with the same draws, so that what chance does to them is much the same. The best point so far
is drawn again before the last third of the search: what its means differ by from its first draw is then taken off at
all points that were drawn once. At the end the best points are drawn again, until the best has all its replicates.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sfumato.compare.search import Trials

Floats = NDArray[np.float64]
Point = tuple[int, ...]  # the place of each parameter's value among those it may take
POOL = 4096  # points among which the next one is looked for
MARGINS = (0.0, 0.03, -0.03)  # of a figure's spread: what a point may be predicted beyond its bound
FINALISTS = 3  # points that the budget can draw again


@dataclass(kw_only=True, eq=False)
class Surface(Trials[Point]):
    """The figures of a method at some points of the ranges of its parameters; a point may fail, with its reason."""

    sizes: tuple[int, ...]  # how many values each parameter may take

    @property
    def start(self) -> Point:
        """The first corner."""
        return (0,) * len(self.sizes)


class JointSearch:
    """A search on a surface for the least of one figure while others keep their bounds."""

    def __init__(self, surface: Surface) -> None:
        goal = surface.goal
        self.surface, self.objective = surface, goal.objective
        self.draws = 1 if surface.certain else surface.replicates
        self._signs = {key: goal.figures[key].sign for key in (goal.objective, *goal.bounds)}
        self.bounds = {key: self._signs[key] * bound for key, bound in goal.bounds.items()}
        self._pool = self._points()

    def run(self) -> Point | None:
        """Spend the budget and return the best point; None where no point has its figures."""
        surface = self.surface
        again = min(FINALISTS * (self.draws - 1), surface.budget // 3) if surface.random else 0
        start = self._spread_out(max(2 * len(surface.sizes) + 2, (surface.budget - again) // 3))
        first = 1 if surface.random else self.draws  # of a table that is not random, a measure may yet draw
        surface.at(start, first)
        turn, last = 0, (surface.budget - again) // 3
        while surface.left > again and (point := self._next(turn)) is not None:
            surface.at([point], first)
            turn += 1
            if again and surface.left <= again + last:
                again -= self._draw_again(self.best())
                last = 0
        while self._draw_again(self.best()):
            pass
        return self.best(firm=True)

    def _draw_again(self, point: Point | None) -> int:
        """Draw a point as often as asked, if the budget allows; return how many tables it took."""
        cost = 0 if point is None else self.surface.cost([point], self.draws)
        if point is None or not cost or cost > self.surface.left:
            return 0
        self.surface.at([point], self.draws)
        return cost

    def best(self, *, firm: bool = False) -> Point | None:
        """Return the point of best utility that keeps the bounds, or the one that comes nearest to keeping them.

        ``firm``: of those that were drawn most often, if any of these keeps the bounds.
        """

        def worth(point: Point) -> tuple[float, float, Point]:
            return self.excess(point), self._cost(point, self.objective), point

        tried = self._complete()
        if firm and tried:
            most = max(self.surface.rows[point].replicates for point in tried)
            often = [point for point in tried if self.surface.rows[point].replicates == most]
            tried = often if any(self.excess(point) == 0 for point in often) else tried
        return min(tried, key=worth, default=None)

    def excess(self, point: Point) -> float:
        """How far a point's means are beyond the bounds, at worst, in parts of each figure's spread; 0 if nowhere."""
        return max(max(self._cost(point, key) - bound, 0.0) / self._spread(key) for key, bound in self.bounds.items())

    def doubt(self, point: Point) -> float:
        """By how much the surface misses the objective at the points tried near this one, each left out in turn."""
        tried = self._complete()
        near = sorted(tried, key=lambda other: float(np.linalg.norm(self._unit([other])[0] - self._unit([point])[0])))
        misses = []
        for other in near[: 4 * len(self.surface.sizes)]:
            rest = [p for p in tried if p != other]
            if len(rest) > len(self.surface.sizes) + 1:
                predicted = float(self._laid(self.objective, rest)(self._unit([other]))[0])
                misses.append(predicted - self._cost(other, self.objective))
        return math.sqrt(math.fsum(miss**2 for miss in misses) / len(misses)) if misses else math.nan

    def _complete(self) -> list[Point]:
        keys = (self.objective, *self.bounds)
        return [
            p for p, row in self.surface.rows.items() if all(math.isfinite(row.means.get(k, math.nan)) for k in keys)
        ]

    def _cost(self, point: Point, key: str) -> float:
        row = self.surface.rows[point]
        often = row.replicates >= self.draws
        return self._signs[key] * (row.means[key] + (0.0 if often else self._shift(key)))

    def _shift(self, key: str) -> float:
        """What chance does to the first draw, by the points that were drawn as often as asked: 0 where none was."""
        full = [row for row in self.surface.rows.values() if 1 < row.replicates >= self.draws and key in row.means]
        return math.fsum(row.means[key] - row.values[key][0] for row in full) / len(full) if full else 0.0

    def _spread(self, key: str) -> float:
        """The range of a figure over the points tried, or 1 for a figure that is the same at all."""
        values = [self._cost(point, key) for point in self._complete()]
        return (max(values) - min(values)) or 1.0

    def _points(self) -> list[Point]:
        """List all points where they are few, else as many as a Sobol sequence spreads over the ranges."""
        if math.prod(self.surface.sizes) <= 4 * POOL:
            return list(product(*map(range, self.surface.sizes)))
        return list(dict.fromkeys(map(self._rounded, self._sobol(POOL))))

    def _sobol(self, count: int) -> Floats:
        from scipy.stats import qmc

        sequence = qmc.Sobol(len(self.surface.sizes), scramble=True, rng=np.random.default_rng(self.surface.seed))
        return np.asarray(sequence.random(2 ** math.ceil(math.log2(count))))

    def _rounded(self, place: Floats) -> Point:
        return tuple(round(float(x) * (size - 1)) for x, size in zip(place, self.surface.sizes, strict=True))

    def _unit(self, points: Sequence[Point]) -> Floats:
        return np.array(points, dtype=float) / [max(size - 1, 1) for size in self.surface.sizes]

    def _spread_out(self, count: int) -> list[Point]:
        """Return different points all over the ranges, the two far corners among them."""
        corners = [(0,) * len(self.surface.sizes), tuple(size - 1 for size in self.surface.sizes)]
        return list(dict.fromkeys([*corners, *map(self._rounded, self._sobol(2 * count))]))[:count]

    def _laid(self, key: str, points: Sequence[Point]) -> Callable[[Floats], Floats]:
        """Lay a surface through a figure at these points."""
        from scipy.interpolate import RBFInterpolator

        values = np.array([self._cost(point, key) for point in points])
        if np.ptp(values) == 0:
            return lambda places: np.full(len(places), values[0])
        try:
            found = RBFInterpolator(self._unit(points), values, kernel="cubic", degree=1, smoothing=1e-6)
        except np.linalg.LinAlgError:  # points in one plane: the nearest one must do
            found = RBFInterpolator(self._unit(points), values, kernel="linear", degree=0, smoothing=1e-6)
        return lambda places: np.asarray(found(places))

    def _next(self, turn: int) -> Point | None:
        """Return the point to try next; None where all have been tried."""
        tried = self._complete()
        pool = [point for point in (*self._pool, *self._around(self.best())) if point not in self.surface.rows]
        if not pool:
            return None
        places = self._unit(pool)
        if len(tried) < len(self.surface.sizes) + 2:
            return pool[turn * 7919 % len(pool)]
        away = np.min(np.linalg.norm(places[:, None] - self._unit(list(self.surface.rows))[None], axis=2), axis=1)
        objective = self._laid(self.objective, tried)(places) / self._spread(self.objective)
        beyond = np.max(
            [
                (self._laid(key, tried)(places) - bound) / self._spread(key)
                for key, bound in self.bounds.items()
            ],
            axis=0,
        )  # fmt: skip
        if turn % 4 == 3:  # the least known of those that are not hopeless
            return pool[int(np.argmax(np.where(beyond < 0.2, away, -1.0)))]
        over = np.maximum(beyond - MARGINS[turn % 4] - 1e-9, 0.0)
        return pool[int(np.lexsort((objective, over))[0])]

    def _around(self, best: Point | None) -> list[Point]:
        """List the neighbours of the best point, near and farther, along each parameter and two at once."""
        if best is None:
            return []
        reach = [sorted({0, *(s * max(1, round(size * f)) for s in (-1, 1) for f in (0.0, 0.02, 0.05, 0.1))})
                 for size in self.surface.sizes]  # fmt: skip
        moved = (tuple(b + m for b, m in zip(best, move, strict=True)) for move in product(*reach))
        return [p for p in moved if all(0 <= x < size for x, size in zip(p, self.surface.sizes, strict=True))][:POOL]
