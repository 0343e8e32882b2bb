"""Where a bounded figure meets its bound, if nothing is random: halving."""

from sfumato.compare.search.tried import Finding, Tried


def halve(tried: Tried, active: list[str]) -> Finding:
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
