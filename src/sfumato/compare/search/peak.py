"""Where utility is best inside the range, not at an end and not where a bound is met."""

import math
from collections.abc import Sequence

from sfumato.compare.search.tried import FAR, Finding, Tried, quantile


def peak(tried: Tried, finding: Finding, draws: int) -> Finding:
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


def _better_inside(tried: Tried, found: int) -> bool:
    """Tell whether some value that keeps the bounds is clearly better than the one found."""
    others = [place for place in tried.curve.rows if place != found and tried.keeps(place)]
    spread = tried.spread(tried.objective)
    if math.isnan(spread):
        return False
    gains = [
        (tried.cost(found, tried.objective) - tried.cost(place, tried.objective))
        - FAR * spread * math.sqrt(1 / tried.curve.draws(found) + 1 / tried.curve.draws(place))
        for place in others
    ]
    return max(gains, default=0.0) > 1e-12


def _same(tried: Tried, group: Sequence[int], best: int) -> bool:
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
