"""Hierarchies of all forms, drawn for properties."""

import math

from hypothesis import strategies as st

from sfumato import Hierarchy

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6)
NAME = st.one_of(TEXT, st.integers(-50, 50))


@st.composite
def rows(draw: st.DrawFn) -> Hierarchy:
    """Draw categories, and put the groups of each level into fewer of the next."""
    below = draw(st.lists(NAME, min_size=1, max_size=8, unique_by=str))
    table = [[entry] for entry in below]
    for _ in range(draw(st.integers(1, 4))):
        groups = list(dict.fromkeys(str(row[-1]) for row in table))
        above = draw(st.lists(TEXT, min_size=len(groups), max_size=len(groups)))
        into = dict(zip(groups, above, strict=True))
        for row in table:
            row.append(into[str(row[-1])])
    named = draw(st.booleans())
    names = tuple(f"level {i}" for i in range(1, len(table[0]))) if named else ()
    return Hierarchy(rows=tuple(map(tuple, table)), names=names)


@st.composite
def cuts(draw: st.DrawFn) -> Hierarchy:
    """Draw cut points, and take some out at each level."""
    level = tuple(sorted(draw(st.sets(st.one_of(st.integers(-99, 99), st.floats(-99, 99)), min_size=1, max_size=8))))
    levels = [level]
    for _ in range(draw(st.integers(0, 3))):
        kept = draw(st.lists(st.booleans(), min_size=len(level), max_size=len(level)))
        level = tuple(cut for cut, keep in zip(level, kept, strict=True) if keep)
        levels.append(level)
    return Hierarchy(cuts=tuple(levels))


@st.composite
def widths(draw: st.DrawFn) -> Hierarchy:
    """Draw a width and multiples of it, now and then one class at the top."""
    wide = [draw(st.sampled_from([0.25, 0.5, 1, 2, 5, 7]))]
    for factor in draw(st.lists(st.integers(2, 5), max_size=3)):
        wide.append(wide[-1] * factor)
    top = [math.inf] if draw(st.booleans()) else []
    return Hierarchy(widths=(*wide, *top), start=draw(st.sampled_from([0, 1, -2.5])))


ROWS, CUTS, WIDTHS = rows(), cuts(), widths()
SPANS = st.sampled_from([("month", "quarter", "year"), ("day", "week", "all"), ("10 years",)]).map(
    lambda spans: Hierarchy(spans=spans)
)
