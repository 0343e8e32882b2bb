"""The search along one parameter for the value of best utility whose risk keeps its bounds.

Where risk and utility are monotone in the parameter, the best value is the one where a risk meets its bound. The search
goes there in steps that get dearer: five values over the whole range, one table each; the value where the straight line
between the last violation and the first value that keeps the bounds meets the bound, with several replicates, which
tells how much chance moves the figures; then two values to either side, as far as chance reaches. A straight line
through these gives the crossing and, from the spread of its height over the replicates, the standard error of the
crossing: replicates share their draws over all values, so that they, not the tables, are what is independent. What is
left of the budget adds replicates there. Where nothing is random, halving finds the exact value instead.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.about import MeasureAbout
from sfumato.compare.curve import Curve, Floats
from sfumato.compare.rows import students_t

PROBES = 5  # values over the whole range that are tried first
FAR = 3.0  # standard errors that a figure must be off a monotone curve to count as a violation
ROUNDS = 4  # times the values next to the crossing are set anew before the budget goes into replicates


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """Where a bounded figure meets its bound: distance from the first value, half of its 95 % interval, slope."""

    at: float
    margin: float  # infinite where one replicate leaves it unknown
    slope: float


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The place found, why it, and the places the standard errors leave open."""

    place: int
    why: str  # "bound": a bound decides; "free": none does; "peak": utility is best inside; "none": no value keeps them
    open: tuple[int, int]
    known: bool = True  # whether there are replicates to tell how sure it is


class Search:
    """A search on a curve for the least of one figure while others keep their bounds."""

    def __init__(
        self,
        curve: Curve,
        *,
        objective: str,
        bounds: Mapping[str, float],
        figures: Mapping[str, MeasureAbout],
        draws: int,
    ) -> None:
        self.curve, self.objective, self.draws = curve, objective, 1 if curve.certain else draws
        self._signs = {key: 1.0 if figures[key].better == "lower" else -1.0 for key in (objective, *bounds)}
        self.bounds = {key: self._signs[key] * bound for key, bound in bounds.items()}

    def run(self) -> Finding:
        """Find the value."""
        return self._best_tried(self._searched())

    def _searched(self) -> Finding:
        curve = self.curve
        curve.at(np.unique(np.linspace(0, curve.far, PROBES).round().astype(int)).tolist())
        ends = [(self._cost(place, self.objective), not self.keeps(place)) for place in (0, curve.far)]
        if ends[1] < ends[0]:
            curve.turn()  # from here on, the first value is the one of best utility
        if not self._violated(0):
            curve.at([0], curve.affordable([0], self.draws))
        active = self._violated(0)
        if not active:
            return self._peak(Finding(place=0, why="free", open=(0, 0), known=self._known(0)))
        first = next((place for place in sorted(curve.rows) if not self._violated(place, active)), None)
        if first is None:
            return self._none(active)
        return self._peak(self._halve(active) if curve.certain else self._narrow(active))

    def _best_tried(self, finding: Finding) -> Finding:
        """Return the best of the values tried that keep the bounds, of those drawn as often as the one found.

        The search goes where a bound is met; a value it passed on the way may have turned out better.
        """
        curve, place = self.curve, finding.place
        if curve.draws(place) < 2 and not curve.certain:
            curve.at([place], curve.affordable([place], self.draws))
        often = max(min(curve.draws(place), self.draws), min(2, self.draws))
        kept = [p for p in curve.rows if self.keeps(p)]
        firm = [p for p in kept if curve.draws(p) >= often] or [p for p in kept if curve.draws(p) > 1] or kept
        if not firm:
            return Finding(place=place, why="none", open=finding.open, known=self._known(place))
        best = min(firm, key=lambda p: (self._cost(p, self.objective), abs(p - place)))
        why = "bound" if finding.why == "none" else finding.why
        open_ = (min(finding.open[0], best), max(finding.open[1], best))
        return Finding(place=best, why=why, open=open_, known=finding.known and self._known(best))

    def keeps(self, place: int) -> bool:
        """Tell whether the means at a place keep all bounds."""
        return not self._violated(place)

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
        spread = self._spread(drawn)
        return math.isnan(spread) or bool((off <= FAR * spread / np.sqrt(weights) + 1e-9 * np.ptp(means)).all())

    def alike(self, found: int) -> tuple[int, int]:
        """Return how far to either side the values tried keep the bounds with a utility not to be told from this one's.

        Standard errors are those of one standard deviation for all values, for most of them are drawn once only.
        """
        curve, reach = self.curve, [found, found]
        drawn = [curve.drawn(place, self.objective) for place in curve.rows]
        spread = self._spread(drawn)
        sure = 0.0 if curve.certain else _quantile(1 + sum(values.size - 1 for values in drawn))
        for side, step in ((0, -1), (1, 1)):
            for place in sorted((p for p in curve.rows if (p - found) * step > 0), key=lambda p: p * step):
                error = spread * math.sqrt(1 / curve.draws(found) + 1 / curve.draws(place))
                apart = abs(self._cost(place, self.objective) - self._cost(found, self.objective))
                if not self.keeps(place) or not apart <= sure * error:  # an unknown error tells nothing
                    break
                reach[side] = place
        return reach[0], reach[1]

    def _cost(self, place: int, key: str) -> float:
        values = self.curve.drawn(
            place, key
        )  # summed as the rows' means are, so that both keep a bound or neither does
        return self._signs[key] * math.fsum(values) / len(values)

    def _excess(self, place: int, key: str) -> float:
        return self._cost(place, key) - self.bounds[key]

    def _violated(self, place: int, among: Sequence[str] | None = None) -> list[str]:
        return [key for key in (self.bounds if among is None else among) if self._excess(place, key) > 0]

    def _known(self, place: int) -> bool:
        return self.curve.certain or self.curve.draws(place) > 1

    def _none(self, active: list[str]) -> Finding:
        """Make sure that no value keeps the bounds: the one that comes nearest is drawn several times."""

        def worst(place: int) -> float:
            return max(self._excess(place, key) / (abs(self.bounds[key]) or 1.0) for key in active)

        curve = self.curve
        place = min(sorted(curve.rows, reverse=True), key=worst)
        curve.at([place], curve.affordable([place], self.draws))
        if not self._violated(place, active):
            return self._narrow(active)
        return Finding(place=place, why="none", open=(place, place), known=self._known(place))

    def _halve(self, active: list[str]) -> Finding:
        """Find the first value that keeps the bounds where nothing is random: exact, the budget permitting."""
        curve = self.curve
        bad, good = self._bracket(active)
        while good - bad > 1 and curve.left > 0:
            wide = good - bad
            middle = self._between(bad, good, active)
            curve.at([middle])
            bad, good = (middle, good) if self._violated(middle, active) else (bad, middle)
            if good - bad > wide / 2 and good - bad > 1 and curve.left > 0:  # the line was of little help
                middle = (bad + good) // 2
                curve.at([middle])
                bad, good = (middle, good) if self._violated(middle, active) else (bad, middle)
        return self._settled(Finding(place=good, why="bound", open=(bad + 1, good)))

    def _bracket(self, active: list[str]) -> tuple[int, int]:
        """Return the first value tried that keeps the bounds, by its mean, and the one tried before it."""
        places = sorted(self.curve.rows)
        good = next((place for place in places[1:] if not self._violated(place, active)), places[-1])
        return max(place for place in places if place < good), good

    def _between(self, bad: int, good: int, active: list[str]) -> int:
        """Return the place between two where the straight lines between their figures meet all bounds."""
        distances = self.curve.distances
        crossings = [0.0]
        for key in active:
            above, below = self._excess(bad, key), self._excess(good, key)
            if above > 0 >= below and math.isfinite(above - below):
                crossings.append(above / (above - below))
        target = distances[bad] + max(crossings) * (distances[good] - distances[bad])
        return min(max(self._safe(float(target)), bad + 1), good - 1)

    def _safe(self, distance: float) -> int:
        """Return the first place at least this far from the first value."""
        distances = self.curve.distances
        return int(min(np.searchsorted(distances, distance - 1e-9 * distances[-1]), self.curve.far))

    def _narrow(self, active: list[str]) -> Finding:
        """Find the crossing where figures are random."""
        curve = self.curve
        bad, good = self._bracket(active)
        guess = self._between(bad, good, active) if good - bad > 1 else good
        curve.at([guess], max(curve.affordable([guess], self.draws, keep=keep) for keep in (self.draws, 2)))
        if curve.draws(guess) < 2:
            bad, good = self._bracket(active)
            return self._settled(Finding(place=good, why="bound", open=(bad + 1, good), known=False))
        run = float(curve.distances[good] - curve.distances[bad])
        falls = {key: max((self._excess(bad, key) - self._excess(good, key)) / run, 0.0) for key in active}
        near, crossing = [guess], self._ahead(guess, falls)
        for _ in range(ROUNDS):
            reach = min(max(crossing.margin, self._step(guess)), run / 2)
            wanted = {self._safe(crossing.at + side) for side in (-reach, 0.0, reach)}
            # the value chosen in the end needs replicates of its own
            draws = max(curve.affordable(sorted(wanted), self.draws, keep=keep) for keep in (self.draws, 2))
            if draws < 2:
                break
            curve.at(wanted, draws)
            near, crossing = sorted(wanted), self._crossing(sorted(wanted), active)
            if near[0] <= self._safe(crossing.at) <= near[-1]:
                break
        return self._sharpen(near, crossing, active)

    def _ahead(self, place: int, falls: Mapping[str, float]) -> Crossing:
        """Guess the crossing from one place and how steeply the figures fall over the bracket around it."""
        found = []
        for key, fall in falls.items():
            values = self.curve.drawn(place, key)
            margin = _quantile(values.size) * float(values.std(ddof=1)) / math.sqrt(values.size)
            step = fall or math.inf  # a figure that does not fall tells nothing of where to go
            at = float(self.curve.distances[place]) + self._excess(place, key) / step
            found.append(Crossing(at=at, margin=margin / step, slope=-fall))
        return max(found, key=lambda crossing: crossing.at)

    def _step(self, place: int) -> float:
        """The distance from a place to the next."""
        distances = self.curve.distances
        after = min(place + 1, self.curve.far)
        return float(distances[after] - distances[after - 1])

    def _crossing(self, near: Sequence[int], active: list[str]) -> Crossing:
        """Return where the last of the bounds is met, by a straight line through the figures at these places."""
        found = [self._meets(near, key, min(map(self.curve.draws, near))) for key in active]
        return max(found, key=lambda crossing: crossing.at)

    def _meets(self, near: Sequence[int], key: str, draws: int) -> Crossing:
        places = sorted(set(near))
        drawn = np.array([self._signs[key] * self.curve.drawn(place, key, draws) for place in places])
        if places[-1] - places[0] < len(places) and len(places) > 2:
            # neighbours: between whole numbers nothing is straight, so that the last one to violate and the next decide
            last = max((i for i, mean in enumerate(drawn.mean(axis=1)) if mean > self.bounds[key]), default=0)
            kept = slice(min(last, len(places) - 2), min(last, len(places) - 2) + 2)
            places, drawn = places[kept], drawn[kept]
        x = self.curve.distances[places]
        if len(places) < 2:
            return Crossing(at=float(x[0]), margin=math.inf, slope=0.0)
        centred = x - x.mean()
        slope = float(centred @ drawn.mean(axis=1) / (centred @ centred))
        if slope >= 0:  # by chance the figure does not fall here: keep to the safe side
            beyond = float(drawn.mean()) > self.bounds[key]
            return Crossing(at=float(x[-1] if beyond else x[0]), margin=math.inf, slope=slope)
        at = float(x.mean() + (self.bounds[key] - drawn.mean()) / slope)
        weights = 1 / len(x) + centred * (at - x.mean()) / (centred @ centred)
        heights = weights @ drawn  # of the line at the crossing, one per replicate
        margin = math.inf if draws < 2 else _quantile(draws) * float(heights.std(ddof=1)) / math.sqrt(draws)
        return Crossing(at=at, margin=margin / abs(slope), slope=slope)

    def _sharpen(self, near: list[int], crossing: Crossing, active: list[str]) -> Finding:
        """Spend what is left on replicates next to the crossing, and settle on a value that keeps the bounds itself."""
        curve = self.curve
        while len(near) > 1 and not self._decided(crossing):
            draws = min(map(curve.draws, near))
            more = curve.affordable(near, 2 * draws, keep=draws)
            if more <= draws:
                break
            curve.at(near, more)
            crossing = self._crossing(near, active)
        place, draws = self._safe(crossing.at), min(map(curve.draws, near))
        while place < curve.far:
            own = curve.affordable([place], draws)
            if own > curve.draws(place):
                curve.at([place], own)
            if curve.draws(place) > 1 and not self._violated(place, active):
                break
            if curve.draws(place) < 2:  # nothing left to try it with: what was tried beyond must do
                beyond = [p for p in sorted(curve.rows) if p >= place and not self._violated(p, active)]
                place = beyond[0] if beyond else curve.far
                break
            over = max(self._excess(place, key) for key in active)
            leap = over / -crossing.slope if crossing.slope < 0 else 0.0
            place = max(place + 1, self._safe(float(curve.distances[place]) + leap))
        if place not in curve.rows:
            place = max(curve.rows)
        known = math.isfinite(crossing.margin)
        ends = [self._safe(crossing.at + side * crossing.margin) for side in (-1, 1)] if known else near
        open_ = (min(*ends, place), max(*ends, place))
        return self._settled(Finding(place=place, why="bound", open=open_, known=known))

    def _decided(self, crossing: Crossing) -> bool:
        """Tell whether one value only is left open."""
        if not math.isfinite(crossing.margin):
            return False
        return self._safe(crossing.at - crossing.margin) == self._safe(crossing.at + crossing.margin)

    def _settled(self, finding: Finding) -> Finding:
        """Say so if bounds of opposite directions leave no value, or the budget ended before one was found."""
        if self.keeps(finding.place):
            return finding
        return Finding(place=finding.place, why="none", open=finding.open, known=finding.known)

    def _peak(self, finding: Finding) -> Finding:
        """Look inside the range where utility is clearly better there than at the value found."""
        curve, key = self.curve, self.objective
        if finding.why == "none" or not self._better_inside(finding.place):
            return finding
        while True:
            kept = [place for place in sorted(curve.rows) if self.keeps(place)]
            if not kept:
                return self._settled(finding)
            best = min(kept, key=lambda place: self._cost(place, key))
            around = [p for p in curve.rows if p < best], [p for p in curve.rows if p > best]
            low, high = max(around[0], default=best), min(around[1], default=best)
            group = sorted({low, best, high})
            draws = curve.affordable(group, self.draws)
            if draws > min(map(curve.draws, group)):
                curve.at(group, draws)
                continue
            gap = max((best - low, (low + best) // 2), (high - best, (best + high + 1) // 2))
            if gap[0] < 2 or curve.affordable([gap[1]], self.draws) < self.draws or self._same(group, best):
                return Finding(place=best, why="peak", open=(low, high), known=self._known(best))
            curve.at([gap[1]], self.draws)

    def _better_inside(self, found: int) -> bool:
        """Tell whether some value that keeps the bounds is clearly better than the one found."""
        others = [place for place in self.curve.rows if place != found and self.keeps(place)]
        drawn = [self.curve.drawn(place, self.objective) for place in self.curve.rows]
        spread = self._spread(drawn)
        if math.isnan(spread):
            return False
        gains = [
            (self._cost(found, self.objective) - self._cost(place, self.objective))
            - FAR * spread * math.sqrt(1 / self.curve.draws(found) + 1 / self.curve.draws(place))
            for place in others
        ]
        return max(gains, default=0.0) > 1e-12

    def _spread(self, drawn: Sequence[Floats]) -> float:
        """Return the standard deviation within values, over all of them; unknown where none has two replicates."""
        if self.curve.certain:
            return 0.0
        freedom = sum(values.size - 1 for values in drawn)
        squares = math.fsum(float(((values - values.mean()) ** 2).sum()) for values in drawn)
        return math.sqrt(squares / freedom) if freedom else math.nan

    def _same(self, group: Sequence[int], best: int) -> bool:
        """Tell whether the neighbours of the best value cannot be told from it, replicate by replicate."""
        if self.curve.certain:
            return False
        draws = min(map(self.curve.draws, group))
        if draws < 2:
            return True
        sign = self._signs[self.objective]
        differences = [
            sign * (self.curve.drawn(p, self.objective, draws) - self.curve.drawn(best, self.objective, draws))
            for p in group
            if p != best
        ]
        return all(d.mean() <= _quantile(draws) * d.std(ddof=1) / math.sqrt(draws) for d in differences)


def _quantile(draws: int) -> float:
    """Return how many standard errors make the 95 % interval of a mean of so many draws; infinite for one."""
    return students_t(draws) if draws > 1 else math.inf
