"""Screen 9, Compare: two or three candidates side by side, with the original."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from sfumato.compare.examine import examined
from sfumato.compare.examine.findings import VariableDetail
from sfumato.errors import FileError
from sfumato.project.record import STORE
from sfumato.report.side_by_side import PIECES, Coefficient, SideBySide, side_by_side
from sfumato.report.summary import CandidateLine, Summary
from sfumato.report.wording import percentage, quantity
from sfumato.workbench.board import finished, mark, weigh
from sfumato.workbench.desk import Desk, stamp
from sfumato.workbench.draft import Draft
from sfumato.workbench.latest import Latest
from sfumato.workbench.screens.screen import ActionResult, Form, Refused, SameCommand, Screen

# Distributions before and after as plain shapes: small pictures that need no script, on axes that they share

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


# the screen

PLACES = ("first", "second", "third")
DRAWN = 24  # variables that are drawn at once
OPEN = 8  # of these, those that are not folded


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show the candidates that were named, or the chosen one and the one to be weighed against it."""
    found = desk.latest(draft)
    told = desk.jobs.told()
    board = weigh(desk, draft, found)
    summary = None if board is None else board.summary
    picked = _picked(summary, query)
    shown, waiting = _side_by_side(desk, draft, found, picked)
    rows = shown.variables if shown is not None else ()
    drawn = rows if query.get("variables") == "all" else rows[:DRAWN]
    return {
        "part": "run" if query.get("part") == "run" else "",
        "latest": found,
        "running": told is not None and told.running,
        "summary": summary,
        "picked": picked,
        "places": PLACES,
        "mark": mark,
        "waiting": waiting,
        "shown": shown,
        "variables": [(row, distributions(row)) for row in drawn if any(one.gone or one.shifted > 0 for one in row)],
        "same_variables": [row[0].name for row in rows if not any(one.gone or one.shifted > 0 for one in row)],
        "undrawn": len(rows) - len(drawn),
        "open_variables": OPEN,
        "in_words": in_words,
        "intervals": intervals,
        "address": _address([line.label for line in picked]),
    }


def _picked(summary: Summary | None, query: Mapping[str, str]) -> list[CandidateLine]:
    """Return the candidates that are asked for; without any the chosen one and the next on the frontier."""
    if summary is None:
        return []
    known = {mark(line.label): line for line in summary.candidates}
    asked = dict.fromkeys(query[place] for place in PLACES if query.get(place) in known)
    if asked:
        return [known[one] for one in asked]
    first = summary.chosen or next(iter(summary.candidates), None)
    rest = [line for line in summary.candidates if line is not first]
    second = next((line for line in rest if line.on_frontier), next(iter(rest), None))
    return [line for line in (first, second) if line is not None]


def _side_by_side(
    desk: Desk, draft: Draft, found: Latest, picked: list[CandidateLine]
) -> tuple[SideBySide | None, list[CandidateLine]]:
    """Return what is known of the candidates, and those that were not looked at yet."""
    if found.record is None or not picked:
        return None, []
    results = finished(desk, draft, found.record)
    if results is None:
        return None, []
    labels = [line.label for line in picked]

    def looked() -> tuple[SideBySide | None, list[str]]:
        each = [examined(results, label, what=PIECES) for label in labels]
        waiting = [label for label, one in zip(labels, each, strict=True) if one is None]
        return side_by_side(results, [one for one in each if one is not None]) if not waiting else None, waiting

    key = f"{labels} {stamp(desk.folder / STORE)} {found.record!r}"
    shown, waiting = desk.kept("side by side", key, looked)
    return shown, [line for line in picked if line.label in waiting]


def _address(labels: list[str]) -> str:
    return "compare?" + "&".join(f"{place}={mark(label)}" for place, label in zip(PLACES, labels, strict=False))


def look(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Look closely at the candidates, in a process of its own; a second click changes nothing."""
    board = weigh(desk, draft, desk.latest(draft))
    known = {mark(line.label): line.label for line in board.summary.candidates} if board is not None else {}
    labels = [known[one] for one in form.texts("candidate") if one in known]
    if not labels:
        raise Refused("candidate", "these candidates are not there any more; choose others")
    back = _address(labels)
    told = desk.jobs.told()
    if told is not None and told.running:
        return ActionResult(goto=back)
    try:
        desk.jobs.start(look_words(labels))
    except FileError:
        told = desk.jobs.told()
        if told is None or not told.running:
            raise
    return ActionResult(what=f"looked closely at {len(labels)} candidates", goto=back)


def cancel(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Stop looking; what was found is kept."""
    told = desk.jobs.told()
    if told is not None and told.running:
        desk.jobs.cancel()
    labels = [one for one in form.texts("candidate") if one.isalnum()]
    return ActionResult(goto="compare?" + "&".join(f"{p}={m}" for p, m in zip(PLACES, labels, strict=False)))


def look_words(labels: list[str]) -> list[str]:
    """Return the words of the command that looks at candidates, run in the project's folder."""
    return ["look", ".", *(word for label in labels for word in ("--candidate", label))]


def same(desk: Desk, draft: Draft) -> SameCommand | None:
    """Say how candidates are laid side by side elsewhere."""
    board = weigh(desk, draft, desk.latest(draft))
    if board is None:
        return None
    labels = [line.label for line in _picked(board.summary, {})]
    return SameCommand(
        shlex.join(["sfumato", *look_words(labels)]), f"import sfumato\n\nfound = sfumato.look('.', {labels!r})"
    )


SCREEN = Screen(
    slug="compare",
    title="Compare",
    why="Figures hide what users will meet: which distribution moved, which table changed, which coefficient turned.",
    practice="lay two or three candidates side by side on the uses that matter before you settle on one.",
    view=view,
    actions={"look": look, "cancel": cancel},
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    same=same,
    optional=True,
)
