"""Screen 8, Explore: candidates are run, seen on the map, and chosen within the bounds."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sfumato.compare.figures import written
from sfumato.compare.naming import in_words
from sfumato.errors import FileError, ParameterError, SfumatoError
from sfumato.project.reading import read_methods
from sfumato.report.map_plot import bounds_in_words, map_in_words, risk_utility_map, shortened
from sfumato.report.page import embeddable
from sfumato.report.summary import CandidateLine, Summary
from sfumato.table.schema import Schema
from sfumato.workbench.board import Board, mark, weigh
from sfumato.workbench.bounding import stated
from sfumato.workbench.commands import judging, recoded_first, sweep_call, sweep_words
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.jobs import PHASES
from sfumato.workbench.latest import Latest, kept_candidates, seen_before
from sfumato.workbench.screens.screen import ActionResult, Form, Refused, SameCommand, Screen, place_of

OPEN = 12  # rows of the table that are not folded
PARTS = ("run", "answer")  # what is asked for alone: how far the run is; what bounds that are tried out come to


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show what will be tried, how far the run is, and what is finished, under bounds that may be tried out."""
    from markupsafe import Markup

    part = query.get("part", "") if query.get("part", "") in PARTS else ""
    found = desk.latest(draft)
    told = desk.jobs.told()
    running = told is not None and told.running
    named = ((place_of(name.removeprefix("bound")), said) for name, said in query.items() if name.startswith("bound"))
    tried = {place: said for place, said in named if place is not None}
    of = " ".join((*draft.at_most, *draft.at_least))
    if query.get("of", of) != of:
        tried = {}  # they stand at the places of other bounds: those of a page that is old by now
    board = None if part == "run" and not running else weigh(desk, draft, found, tried)
    summary = board.summary if board is not None else None if running else found.summary
    drawn = summary is not None and summary.risk is not None and bool(summary.on_map)
    pick = _by_mark(summary, query.get("pick", "")) if board is not None and not board.moved else None
    return {
        "part": part,
        "latest": found,
        "running": running,
        "phases": PHASES,
        "plan": None if part or running else _plan(desk, draft, found),
        "board": board,
        "summary": summary,
        "map": Markup(embeddable(risk_utility_map(summary, width="container"))) if summary and drawn else "",
        "map_words": map_in_words(summary) if summary and drawn else "",
        "lines": Markup(embeddable(_lines(summary, desk.stated(draft)))) if summary and drawn else "",
        "mark": mark,
        "open_rows": OPEN,
        "pick": pick,
        "of": of,
        "trying": urlencode({f"bound{place}": limit.shown for place, limit in enumerate(board.limits)} | {"of": of})
        if board
        else "",
    }


def _lines(summary: Summary, schema: Schema) -> dict[str, dict[str, Any]]:
    """Return what the map says of each candidate that is pointed at or clicked, by its label."""
    chosen = summary.chosen
    return {
        line.label: {
            "name": line.name,
            "sentence": line.why or _sentence(line.label, schema),
            "status": ", ".join(filter(None, (line.status, _broken(summary, line)))),
            "figures": [(m.title, line.figures[m.key].text) for m in summary.measures if m.key in line.figures],
            "mark": mark(line.label),
            "chosen": "" if chosen is None or line.chosen else mark(chosen.label),
            "may_be_chosen": bool(line.feasible and not line.chosen and summary.bounds),
        }
        for line in summary.candidates
    }


def _broken(summary: Summary, line: CandidateLine) -> str:
    broken = summary.broken(line, summary.bounds)
    return f"breaks {bounds_in_words(broken)}" if broken else ""


def _sentence(label: str, schema: Schema) -> str:
    try:
        return in_words(read_methods([label])[0], schema)
    except SfumatoError:
        return "Protected elsewhere."


def _plan(desk: Desk, draft: Draft, found: Latest) -> dict[str, Any]:
    """Say what a run would try, measure and bound."""
    first = recoded_first(draft)
    kept = [label for label in kept_candidates(draft, found) if label not in draft.own]
    measures = judging(desk, draft)
    bounds = []
    for side, limits in (("at most", draft.at_most), ("at least", draft.at_least)):
        for name, limit in limits.items():
            about = next((m.about for m in measures if repr(m) == name or type(m).__name__ == name), None)
            said = f"{about.title} {side} {written(limit, about.unit)}" if about else f"{name} {side} {limit:g}"
            bounds.append(said)
    return {
        "first": "" if first is None else in_words(first),
        "own": [shortened(text) for text in draft.own],
        "proposed": draft.proposed,
        "breadth": ("a few", "more", "many")[draft.breadth - 1],
        "kept": len(kept),
        "elsewhere": list(draft.elsewhere),
        "risks": [m.about.title for m in measures if m.about.purpose == "risk"],
        "losses": [m.about.title for m in measures if m.about.purpose == "utility"],
        "bounds": bounds,
        "nothing": not (draft.own or draft.proposed or draft.elsewhere or first),
        "draws": draft.replicates,
    }


def _by_mark(summary: Summary | None, marked: str) -> CandidateLine | None:
    if summary is None or not marked:
        return None
    return next((line for line in summary.candidates if mark(line.label) == marked), None)


# the run


def run(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Start the run, or go on with one that was stopped; a second click changes nothing."""
    desk.refuse_stale(form.revision)
    told = desk.jobs.told()
    if told is not None and told.running:
        return ActionResult()
    again = told is not None and told.state in ("stopped", "failed") and told.command == "sweep"
    try:
        desk.jobs.start(sweep_words(desk, with_kept(desk, draft)))
    except FileError:
        told = desk.jobs.told()
        if told is not None and told.running:  # another tab was faster
            return ActionResult()
        raise
    return ActionResult(what="the run goes on" if again else "a run was started")


def cancel(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Stop the run; what it has finished is kept."""
    told = desk.jobs.told()
    if told is None or not told.running:
        return ActionResult()
    desk.jobs.cancel()
    return ActionResult(what="the run was cancelled")


def with_kept(desk: Desk, draft: Draft) -> Draft:
    """Return the draft with the candidates of the last run that stay candidates."""
    kept = (label for label in kept_candidates(draft, desk.latest(draft)) if label not in draft.own)
    return draft.but(own=(*draft.own, *kept))


# the choice


def take(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take the bounds that were tried out; the journal keeps from where to where, and why."""
    board = _board(desk, draft)
    known = {limit.key: limit for limit in board.limits}
    moved, words = {}, []
    for key, said in zip(form.texts("key"), form.texts("limit"), strict=False):
        limit = known.get(key)
        if limit is None:
            raise Refused("limit", "the bounds were changed meanwhile; look at them again")
        try:
            value = limit.read(said)
        except ParameterError as error:
            raise Refused("limit", str(error)) from None
        if value != limit.stated:
            moved[key] = value
            words.append(f"{limit.title} {limit.side} {limit.stated_words} -> {written(value, limit.unit)}")
    if not moved:
        return ActionResult()
    reason = _reason(form)

    def made(old: Draft) -> Draft:
        sides = {side: {k: moved.get(k, v) for k, v in getattr(old, side).items()} for side in ("at_most", "at_least")}
        return old.but(**sides, bounds_stated=stated(old, seen=True))

    return ActionResult(made, f"bound moved after results were seen: {'; '.join(words)}. Reason: {reason}")


def choose(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Choose a candidate by hand instead of the most useful one within the bounds."""
    board = _board(desk, draft.but(choose=None))
    line = _by_mark(board.summary, form.text("pick"))
    if line is None:
        raise Refused("pick", "there is no such candidate any more; look at the table again")
    if not board.summary.bounds:
        raise Refused("pick", "state a bound first, on screen 7: the chosen one has to keep it")
    tried = _board(desk, draft.but(choose=line.label))
    if tried.refused:
        raise Refused("pick", tried.refused)
    best = board.summary.chosen
    instead = f" instead of {best.name}" if best is not None and best.label != line.label else ""
    what = f"chose {line.name} by hand{instead}. Reason: {_reason(form)}"
    return ActionResult(lambda old: old.but(choose=line.label), what)


def unchoose(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Go back to the candidate that the figures speak for."""
    return ActionResult(lambda old: old.but(choose=None), "took the choice by hand back")


def compare(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Lay the ticked candidates side by side."""
    ticked = list(dict.fromkeys(form.texts("tick")))
    if not 2 <= len(ticked) <= 3 or not all(one.isalnum() for one in ticked):
        raise Refused("tick", "tick two or three candidates to compare them")
    return ActionResult(goto="compare?" + urlencode(dict(zip(("first", "second", "third"), ticked, strict=False))))


def _board(desk: Desk, draft: Draft) -> Board:
    board = weigh(desk, draft, desk.latest(draft))
    if board is None:
        raise Refused("", "there are no figures of this draft yet; run first")
    return board


def _reason(form: Form) -> str:
    reason = " ".join(form.text("reason").split())
    if not reason:
        raise Refused("reason", "say why: who signs the release will read it in the journal")
    return reason[:1000]


def same(desk: Desk, draft: Draft) -> SameCommand | None:
    """Say how the run is started elsewhere."""
    if not draft.confirmed:
        return None
    whole = with_kept(desk, draft)
    command = shlex.join(["sfumato", *sweep_words(desk, whole)])
    return SameCommand(command, f"import sfumato\n\nsummary = {sweep_call(desk, whole)}")


def _ready(desk: Desk, draft: Draft) -> str:
    return "" if draft.confirmed else "Open a file first, and confirm how it is read."


def _done(desk: Desk, draft: Draft) -> bool:
    """Tell whether something of this file was run; whether it is of the draft is said on the screen itself."""
    ran = (desk.folder / "results.json").exists() and Path(desk.folder / "plan.json").exists()
    return ran and seen_before(desk, draft)


SCREEN = Screen(
    slug="explore",
    title="Explore",
    why="Each point is one way to protect the file, measured like all others: how much an intruder finds, and how "
    "much users keep.",
    practice="run all candidates, look at the frontier, and take the most useful one within the bounds; move a bound "
    "only with a reason that you can write down.",
    view=view,
    actions={
        "run": run,
        "cancel": cancel,
        "take": take,
        "choose": choose,
        "unchoose": unchoose,
        "compare": compare,
    },
    ready=_ready,
    done=_done,
    same=same,
)
