"""Where a bounded figure meets its bound, if figures are random: a straight line through values next to it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.compare.search.tried import Finding, Tried, quantile

ROUNDS = 4  # times the values next to the crossing are set anew before the budget goes into replicates


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """Where a bounded figure meets its bound: distance from the first value, half of its 95 % interval, slope."""

    at: float
    margin: float  # infinite where one replicate leaves it unknown
    slope: float


@dataclass(frozen=True, eq=False)
class Narrowing:
    """A search for the crossing of the bounds that the first value does not keep, ``draws`` replicates at a time.

    ``reserve`` tables are not spent on further replicates.
    """

    tried: Tried
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

    def _ahead(self, place: int, falls: Mapping[str, float]) -> Crossing:
        """Guess the crossing from one place and how steeply the figures fall over the bracket around it."""
        found = []
        for key, fall in falls.items():
            values = self.tried.curve.drawn(place, key)
            margin = quantile(values.size) * float(values.std(ddof=1)) / math.sqrt(values.size)
            step = fall or math.inf  # a figure that does not fall tells nothing of where to go
            at = float(self.tried.curve.distances[place]) + self.tried.excess(place, key) / step
            found.append(Crossing(at=at, margin=margin / step, slope=-fall))
        return max(found, key=lambda crossing: crossing.at)

    def _crossing(self, near: Sequence[int]) -> Crossing:
        """Return where the last of the bounds is met, by a straight line through the figures at these places."""
        found = [self._meets(near, key, min(map(self.tried.curve.draws, near))) for key in self.active]
        return max(found, key=lambda crossing: crossing.at)

    def _meets(self, near: Sequence[int], key: str, draws: int) -> Crossing:
        places = sorted(set(near))
        drawn = np.array([self.tried.signs[key] * self.tried.curve.drawn(place, key, draws) for place in places])
        if places[-1] - places[0] < len(places) and len(places) > 2:
            # neighbours: between whole numbers nothing is straight, so that the last one to violate and the next decide
            last = max((i for i, mean in enumerate(drawn.mean(axis=1)) if mean > self.tried.bounds[key]), default=0)
            kept = slice(min(last, len(places) - 2), min(last, len(places) - 2) + 2)
            places, drawn = places[kept], drawn[kept]
        x = self.tried.curve.distances[places]
        if len(places) < 2:
            return Crossing(at=float(x[0]), margin=math.inf, slope=0.0)
        centred = x - x.mean()
        slope = float(centred @ drawn.mean(axis=1) / (centred @ centred))
        if slope >= 0:  # by chance the figure does not fall here: keep to the safe side
            beyond = float(drawn.mean()) > self.tried.bounds[key]
            return Crossing(at=float(x[-1] if beyond else x[0]), margin=math.inf, slope=slope)
        at = float(x.mean() + (self.tried.bounds[key] - drawn.mean()) / slope)
        weights = 1 / len(x) + centred * (at - x.mean()) / (centred @ centred)
        heights = weights @ drawn  # of the line at the crossing, one per replicate
        margin = math.inf if draws < 2 else quantile(draws) * float(heights.std(ddof=1)) / math.sqrt(draws)
        return Crossing(at=at, margin=margin / abs(slope), slope=slope)

    def _sharpen(self, near: list[int], crossing: Crossing) -> Finding:
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

    def _decided(self, crossing: Crossing) -> bool:
        """Tell whether one value only is left open."""
        if not math.isfinite(crossing.margin):
            return False
        return self.tried.safe(crossing.at - crossing.margin) == self.tried.safe(crossing.at + crossing.margin)
