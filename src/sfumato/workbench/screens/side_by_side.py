"""Screen 9, Compare: two or three candidates side by side, with the original."""

import shlex
from collections.abc import Mapping
from typing import Any

from sfumato.compare.examine import examined
from sfumato.errors import FileError
from sfumato.project.record import STORE
from sfumato.show.side_by_side import PIECES, SideBySide, side_by_side
from sfumato.show.summary import CandidateLine, Summary
from sfumato.workbench.board import finished, mark, weigh
from sfumato.workbench.desk import Desk, stamp
from sfumato.workbench.draft import Draft
from sfumato.workbench.latest import Latest
from sfumato.workbench.pictures import distributions, in_words, intervals
from sfumato.workbench.screens.screen import Done, Form, Refused, Same, Screen

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


def look(desk: Desk, draft: Draft, form: Form) -> Done:
    """Look closely at the candidates, in a process of its own; a second click changes nothing."""
    board = weigh(desk, draft, desk.latest(draft))
    known = {mark(line.label): line.label for line in board.summary.candidates} if board is not None else {}
    labels = [known[one] for one in form.texts("candidate") if one in known]
    if not labels:
        raise Refused("candidate", "these candidates are not there any more; choose others")
    back = _address(labels)
    told = desk.jobs.told()
    if told is not None and told.running:
        return Done(goto=back)
    try:
        desk.jobs.start(look_words(labels))
    except FileError:
        told = desk.jobs.told()
        if told is None or not told.running:
            raise
    return Done(what=f"looked closely at {len(labels)} candidates", goto=back)


def cancel(desk: Desk, draft: Draft, form: Form) -> Done:
    """Stop looking; what was found is kept."""
    told = desk.jobs.told()
    if told is not None and told.running:
        desk.jobs.cancel()
    labels = [one for one in form.texts("candidate") if one.isalnum()]
    return Done(goto="compare?" + "&".join(f"{p}={m}" for p, m in zip(PLACES, labels, strict=False)))


def look_words(labels: list[str]) -> list[str]:
    """Return the words of the command that looks at candidates, run in the project's folder."""
    return ["look", ".", *(word for label in labels for word in ("--candidate", label))]


def same(desk: Desk, draft: Draft) -> Same | None:
    """Say how candidates are laid side by side elsewhere."""
    board = weigh(desk, draft, desk.latest(draft))
    if board is None:
        return None
    labels = [line.label for line in _picked(board.summary, {})]
    return Same(
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
