"""What the values tried so far tell: their means, which bounds they keep, and how much of it may be chance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.about import MeasureAbout
from sfumato.compare.curve import Curve
from sfumato.compare.rows import students_t

FAR = 3.0  # standard errors that a figure must be off a monotone curve to count as a violation


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
class Tried:
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
    ) -> "Tried":
        """Take the directions of the figures from what is said of them."""
        signs = {key: 1.0 if figures[key].better == "lower" else -1.0 for key in (objective, *bounds)}
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
        return math.isnan(spread) or bool((off <= FAR * spread / np.sqrt(weights) + 1e-9 * np.ptp(means)).all())

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
