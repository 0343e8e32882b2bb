"""Screen 5, Recode: coarser values, and what they do to risk and to detail, at once."""

import shlex
from collections.abc import Mapping
from typing import Any

from sfumato.compare.live import Live
from sfumato.compare.recodings import Recodings
from sfumato.data.schema import Schema
from sfumato.workbench.commands import read_call, recoded_first, recodings_of, sweep_words
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.living import live_of, still_known
from sfumato.workbench.screens.recode_edits import ACTIONS
from sfumato.workbench.screens.recode_shown import (
    SPANS,
    groups,
    hierarchy_files,
    histogram,
    in_dates,
    levels,
    lines,
    percent,
    plain,
    proposal,
    proposed,
    result,
    risks,
    small_bars,
    told,
)
from sfumato.workbench.screens.screen import Same, Screen, place_of

FEW = 10  # variables that are found without a search
MANY_GROUPS = 15  # categories that are searched


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show the variables, the one to work on (variable), and what all recodings do; saves: count for the list too."""
    data, recodings = desk.table(draft), recodings_of(draft)
    schema, live = data.schema, live_of(desk, draft)
    left = (still_known(intruder, draft) for intruder in schema.intruders())
    effect = live.effect(recodings, [intruder for intruder in left if intruder is not None])
    fitting = live.fitting(recodings)[0]
    of = f"{desk.form(draft)} {draft.schema} {fitting!r}"
    counted = "saves" in query or desk.is_kept("saves", of)
    saves = desk.kept("saves", of, lambda: _saves(live, schema, fitting)) if counted else None
    listed = lines(desk, draft, recodings, live, effect, saves)
    shown: dict[str, Any] = {
        "lines": listed,
        "search": len(listed) > FEW,
        "counted": counted,
        "work": None,
        "risks": risks(live, schema, effect),
        "overall": effect.overall,
        "number_recoded": len(recodings),
    }
    at = _chosen(query.get("variable", ""), [line.place for line in listed])
    if at is None:
        return shown
    variable, column = schema.variables[at], data.columns[schema.names[at]]
    said = recodings[variable.name]
    own = said if said is not None and said.way == "merge" else None
    found = proposal(desk, draft, variable.name)
    shown["work"] = {
        "place": at,
        "variable": variable,
        "recode": said,
        "said": "" if said is None else told(said),
        "refused": effect.refused.get(variable.name, ""),
        "loss": effect.loss.get(variable.name),
        "groups": [] if variable.quantitative else groups(variable, column, own),
        "histogram": histogram(variable, column) if variable.quantitative else None,
        "before": small_bars(desk, draft)[variable.name],
        "after": result(variable, live.thumbnail(variable.name, fitting)),
        "cuts": ", ".join(map(plain, said.cuts)) if said is not None else "",
        "limits": {word: _typed(getattr(said, word, None)) for word in ("bottom", "top")},
        "share": percent(getattr(said, "share", None)),
        "ends": getattr(said, "ends", "both"),
        "width": _typed(getattr(said, "width", None)),
        "rare": percent(getattr(said, "rare", None)),
        "levels": levels(variable.hierarchy),
        "level": (said.level if said is not None else None) or 0,
        "files": hierarchy_files(desk, draft),
        "proposed": proposed(found) if variable.hierarchy is None else "",
        "widths": found.values if found is not None and found.way == "bands" else (),
        "dated": bool(variable.categories) and in_dates(desk, draft, variable.name),
    }
    return {**shown, "spans": SPANS, "many_groups": MANY_GROUPS}


def _typed(value: Any) -> str:
    return "" if value is None else plain(value)


def _chosen(said: str, places: list[int]) -> int | None:
    """Return which variable is worked on: the one that is asked for, or the first; None if there is none."""
    asked = place_of(said)
    return asked if asked in places else next(iter(places), None)


def _saves(live: Live, schema: Schema, recodings: Recodings) -> dict[str, int]:
    """Return, by key, how many records at most would no longer be below k of an intruder who did not know it."""
    saved: dict[str, int] = {}
    for intruder in schema.intruders():
        counts = live.counts(intruder, recodings)
        for name, left in live.without(intruder, recodings).items() if counts is not None else ():
            saved[name] = max(saved.get(name, 0), counts.below - left if counts is not None else 0)
    return saved


def same(desk: Desk, draft: Draft) -> Same | None:
    """Say how the recodings are done elsewhere."""
    first = recoded_first(draft)
    if first is None:  # the whole draft: without its bounds a sweep into this folder would take a release away
        words = ["sfumato", *sweep_words(desk, draft)]
        return Same(f"{shlex.join(words)}    # nothing is recoded yet", f"import sfumato\n\ndata = {read_call(draft)}")
    words = ["sfumato", *sweep_words(desk, draft)]
    used = [name for name in ("GlobalRecoding", "TopBottomCoding", "VariableRemoval") if f"{name}(" in repr(first)]
    code = (
        f"import sfumato\nfrom sfumato import {', '.join(used)}\n\n"
        f"data = {read_call(draft)}\nmethod = {first!r}\nrecoded = method.protect(data)"
    )
    return Same(shlex.join(words), code)


SCREEN = Screen(
    slug="recode",
    title="Recode",
    why="Coarser values protect without making anything false, and users can see what was done.",
    practice="recode first, then suppress the few that are left: ages in bands of five or ten with an open end, "
    "regions merged, occupations in a few groups.",
    view=view,
    actions=ACTIONS,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    done=lambda desk, draft: bool(draft.recodings),
    same=same,
    optional=True,
)
