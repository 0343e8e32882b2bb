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
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from sfumato.about import MeasureAbout
from sfumato.compare.curve import Curve
from sfumato.compare.search.crossing import Narrowing
from sfumato.compare.search.halving import halve
from sfumato.compare.search.peak import peak
from sfumato.compare.search.tried import Finding, Tried

__all__ = ["Finding", "Search"]

PROBES = 5  # values over the whole range that are tried first
BETWEEN = 0.4  # of the budget is put aside for values between those found, where they cannot be told beforehand


class Search:
    """A search on a curve for the least of one figure while others keep their bounds; ``tried`` judges the values."""

    def __init__(
        self,
        curve: Curve,
        *,
        objective: str,
        bounds: Mapping[str, float],
        figures: Mapping[str, MeasureAbout],
        draws: int,
    ) -> None:
        self.curve, self.draws = curve, 1 if curve.certain else draws
        self.tried = Tried.on(curve, objective, bounds, figures)

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
            finding = Narrowing(tried, active, self.draws, reserve=2 * self.draws).again(near)
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

    def _narrowing(self, active: list[str]) -> Narrowing:
        return Narrowing(self.tried, active, self.draws, math.floor(BETWEEN * self.curve.budget))

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
