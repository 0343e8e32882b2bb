"""The search along one parameter for the value of best utility whose risk keeps its bounds.

Where risk and utility are monotone in the parameter, the best value is the one where a risk meets its bound. The search
goes there in steps that get dearer: five values over the whole range, one table each; the value where the straight line
between the last violation and the first value that keeps the bounds meets the bound, with several replicates, which
tells how much chance moves the figures; then two values to either side, as far as chance reaches. A straight line
through these gives the crossing and, from the spread of its height over the replicates, the standard error of the
crossing: replicates share their draws over all values, so that they, not the tables, are what is independent. What is
left of the budget adds replicates there. Where nothing is random, halving finds the exact value instead.
"""

from collections.abc import Mapping

import numpy as np

from sfumato.about import MeasureAbout
from sfumato.compare.curve import Curve
from sfumato.compare.search.crossing import Narrowing
from sfumato.compare.search.halving import halve
from sfumato.compare.search.peak import peak
from sfumato.compare.search.tried import Finding, Tried

__all__ = ["Finding", "Search"]

PROBES = 5  # values over the whole range that are tried first
SHORT = 10  # values of a range that is tried whole where halving cannot be trusted


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
        """Find the value; a short range where nothing is random is tried whole, if the figures go up and down in it."""
        finding = self._searched()
        curve, tried = self.curve, self.tried
        rest = [place for place in range(len(curve.values)) if place not in curve.rows]
        short = curve.certain and len(curve.values) <= SHORT and len(rest) <= curve.left
        if rest and short and not all(map(tried.monotone, (tried.objective, *tried.bounds))):
            curve.at(rest)
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
        found = halve(tried, active) if curve.certain else Narrowing(tried, active, self.draws).run()
        return peak(tried, found, self.draws)

    def _best_tried(self, finding: Finding) -> Finding:
        """Return the best of the values tried that keep the bounds, of those drawn as often as the one found.

        The search goes where a bound is met; a value it passed on the way may have turned out better.
        """
        curve, tried, place = self.curve, self.tried, finding.place
        if curve.draws(place) < 2 and not curve.certain:
            curve.at([place], curve.affordable([place], self.draws))
        often = max(min(curve.draws(place), self.draws), min(2, self.draws))
        kept = [p for p in curve.rows if tried.keeps(p)]
        firm = [p for p in kept if curve.draws(p) >= often] or [p for p in kept if curve.draws(p) > 1] or kept
        if not firm:
            return Finding(place=place, why="none", open=finding.open, known=tried.known(place))
        best = min(firm, key=lambda p: (tried.cost(p, tried.objective), abs(p - place)))
        why = self._reason(finding, best)
        open_ = (min(finding.open[0], best), max(finding.open[1], best))
        if curve.certain and (len(curve.rows) == len(curve.values) or finding.open[0] == finding.open[1]):
            open_ = (best, best)  # it was tried, and the value of the search was decided
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

    def _none(self, active: list[str]) -> Finding:
        """Make sure that no value keeps the bounds: the one that comes nearest is drawn several times."""
        curve, tried = self.curve, self.tried

        def worst(place: int) -> float:
            return max(tried.excess(place, key) / (abs(tried.bounds[key]) or 1.0) for key in active)

        place = min(sorted(curve.rows, reverse=True), key=worst)
        curve.at([place], curve.affordable([place], self.draws))
        if not tried.violated(place, active):
            return Narrowing(tried, active, self.draws).run()
        return Finding(place=place, why="none", open=(place, place), known=tried.known(place))
