"""Distributions before and after as plain shapes: small pictures that need no script, on axes that they share."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from sfumato.compare.examine.findings import VariableDetail
from sfumato.show.side_by_side import Coefficient
from sfumato.show.wording import percentage, quantity

WIDTH, HEIGHT, FOOT = 320.0, 104.0, 16.0  # of a histogram, and what stands below it
LABEL, ROW = 118.0, 17.0  # room for a category's name, and the height of its two bars
LETTERS = 17  # of a name that fit
ROOM = 30.0  # for the bars of what is missing
Look = Literal["before", "after", "gone"]


@dataclass(frozen=True)
class Bar:
    """A rectangle with what it says."""

    x: float
    y: float
    width: float
    height: float
    look: Look
    says: str


@dataclass(frozen=True)
class Word:
    """A word in a picture."""

    x: float
    y: float
    text: str
    anchor: Literal["start", "middle", "end"] = "start"


@dataclass(frozen=True)
class Picture:
    """A picture of one variable in one candidate."""

    width: float
    height: float
    bars: tuple[Bar, ...]
    words: tuple[Word, ...]
    says: str


def distributions(row: Sequence[VariableDetail]) -> tuple[Picture | None, ...]:
    """Draw one variable in each candidate, on the same axes; None where nothing of it is left to compare.

    What is missing or was made blank has bars of its own: beside a histogram they reach from none to all records, for
    they would leave no room for its bins.
    """
    there = [one for one in row if not one.gone]
    shares = [share for one in there for side in one.of_all_records for share in side]
    shares += [share for one in there if not one.edges for _, *both in one.gaps for share in both]
    top = max(shares, default=0.0) or 1.0
    edges = [edge for one in row if one.edges for edge in (one.edges[0], one.edges[-1])]
    span = (min(edges), max(edges)) if edges else (0.0, 1.0)
    return tuple(
        None if one.gone else _histogram(one, top, span) if one.edges else _categories(one, top) for one in row
    )


def in_words(one: VariableDetail) -> str:
    """Say what became of a variable."""
    if one.gone:
        return "nothing of it is left that could be compared"
    blank = one.suppressed or 0.0
    said = [f"{percentage(blank)} made blank"] if blank > 0 else []
    before, after = one.missing_shares
    if one.suppressed is None and after > before:
        said.append(f"missing: {percentage(before)} before, {percentage(after)} after")
    if one.changed is not None and one.changed - blank > 1e-12:
        said.append(f"{percentage(one.changed - blank)} of the values are others")
    left = "of what is left " if blank > 0 else ""
    said.append(
        f"distribution {left}moved by {percentage(one.moved)}" if one.moved else f"distribution {left}as before"
    )
    return "; ".join(said)


def _histogram(one: VariableDetail, top: float, span: tuple[float, float]) -> Picture:
    gaps = one.gaps
    plot = WIDTH - ROOM * len(gaps) - (8 if gaps else 0)
    low, wide = span[0], (span[1] - span[0]) or 1.0
    bars = []
    for look, shares in zip(("before", "after"), one.of_all_records, strict=True):
        for (left, right), share in zip(pairwise(one.edges), shares, strict=True):
            if share <= 0:
                continue
            x, end = (plot * (edge - low) / wide for edge in (left, right))
            tall = HEIGHT * share / top
            said = f"{quantity(left, one.kind)} to {quantity(right, one.kind)}: {percentage(share)} {look}"
            bars.append(_bar(x, HEIGHT - tall, max(end - x, 0.6), tall, look, said))
    words = [
        Word(0, HEIGHT + 12, quantity(span[0], one.kind)),
        Word(plot, HEIGHT + 12, quantity(span[1], one.kind), "end"),
    ]
    for place, (what, before, after) in enumerate(gaps):
        x = WIDTH - ROOM * (len(gaps) - place)
        for shift, (share, look) in enumerate(((before, "before"), (after, "gone"))):
            said = f"{what}: {percentage(share)} of all records {'before' if look == 'before' else 'after'}"
            bars.append(_bar(x + 11 * shift + 3, HEIGHT * (1 - share), 10, HEIGHT * share, look, said))
        words.append(Word(x + ROOM / 2, HEIGHT + 12, {"suppressed": "blank"}.get(what, "miss."), "middle"))
    return Picture(WIDTH, HEIGHT + FOOT, tuple(bars), tuple(words), in_words(one))


def _categories(one: VariableDetail, top: float) -> Picture:
    rows = [(name, a, b, "after") for name, a, b in zip(one.categories, *one.of_all_records, strict=True)]
    rows += [(what, a, b, "gone") for what, a, b in one.gaps]
    room = WIDTH - LABEL
    bars, words = [], []
    for place, (name, before, after, look) in enumerate(rows):
        y = place * ROW
        words.append(Word(LABEL - 6, y + 12, name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…", "end"))
        for shift, (share, own) in enumerate(((before, "before"), (after, look))):
            said = f"{name}: {percentage(share)} {'before' if own == 'before' else 'after'}"
            bars.append(_bar(LABEL, y + 2 + 6.5 * shift, room * share / top, 6, own, said))
    return Picture(WIDTH, max(len(rows), 1) * ROW + 2, tuple(bars), tuple(words), in_words(one))


def _bar(x: float, y: float, width: float, height: float, look: str, says: str) -> Bar:
    return Bar(round(x, 1), round(y, 1), round(width, 1), round(height, 1), look, says)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Interval:
    """An interval in units in which the original's reaches from -1 to 1, cut where the picture ends."""

    low: float
    high: float
    estimate: float
    out: bool  # whether it lies beyond the picture


def intervals(one: Coefficient, most: float = 4.0) -> tuple[Interval | None, ...]:
    """Return the interval of the original and of each candidate."""
    centre, low, high = one.before
    half = (high - low) / 2 or 1.0
    found: list[Interval | None] = []
    for ends in (one.before, *one.after):
        if ends is None:
            found.append(None)
            continue
        estimate, left, right = ((value - centre) / half for value in ends)
        low, high, middle = (min(max(value, -most), most) for value in (left, right, estimate))
        found.append(Interval(low, high, middle, out=not -most <= estimate <= most))
    return tuple(found)
