"""Screen 10, Audit: by which routes the rest of the file gives protected values back, and how to close each."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato.auditing.findings import Restored, Route
from sfumato.workbench.commands import read_call, reading
from sfumato.workbench.desk import SCHEMA, Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.latest import latest
from sfumato.workbench.screens.screen import ActionResult, Form, Refused, SameCommand, Screen

READINGS = {"association": "an association, no way back", "luck": "too few to tell from luck"}
EXCEPTIONS = {
    "keep_order": (
        "Leave the records in their order",
        "Neighbours in the file often live or were asked together. Without this they stand in random order.",
    ),
    "keep_weights": (
        "Leave the survey weights as they are, even if they give values back",
        "Weights tell region and stratum. Without this they are computed anew where they do.",
    ),
    "keep_households": (
        "Leave the numbers of the households, even if a protected size can be counted from them",
        "Without this they are left out where they would tell how large a household is.",
    ),
}


@dataclass(frozen=True)
class Repair:
    """One thing to do about a route: the button's words, the action that it asks for, and what that is given."""

    words: str
    action: str
    given: Mapping[str, str]


@dataclass(frozen=True)
class Line:
    """One route: what it gave back, and what can be done about it."""

    route: Route
    status: str  # in a word or two
    repairs: tuple[Repair, ...]


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show what was tried against the release that the last run chose."""
    found = latest(desk, draft)
    checked = found.summary.checked if found.summary is not None else None
    audit = checked.audit if checked is not None else None
    return {
        "found": found,
        "chosen": found.summary.chosen if found.summary is not None else None,
        "checked": checked,
        "audit": audit,
        "lines": [_line(route, draft) for route in audit.routes] if audit is not None else [],
        "kept": EXCEPTIONS,
    }


def _line(route: Route, draft: Draft) -> Line:
    if route.untried:
        return Line(route, "not tried", ())
    if not route.alarm:
        reading = route.worst.reading if route.worst is not None else "nothing"
        return Line(route, READINGS.get(reading, "passed"), ())
    return Line(route, "gives values back", tuple(_repairs(route, draft)))


def _repairs(route: Route, draft: Draft) -> list[Repair]:
    """Return what closes a route, the mildest first; each button once."""
    found: dict[str, Repair] = {}
    if route.name == "order" and draft.keep_order:
        found["order"] = Repair("Put the records in random order", "renew", {"which": "keep_order"})
    if route.name == "weight" and draft.keep_weights:
        found["weight"] = Repair("Compute the weights anew", "renew", {"which": "keep_weights"})
    if route.name == "household" and draft.keep_households:
        found["household"] = Repair("Leave the numbers of the households out", "renew", {"which": "keep_households"})
    for one in (one for one in route.by_variable if one.alarm):
        for repair in _of_variable(route, one):
            found.setdefault(repair.words, repair)
    return list(found.values())


def _of_variable(route: Route, one: Restored) -> list[Repair]:
    telling = [name for name in one.columns if name != one.variable]
    if route.name == "household":
        words = f"Protect {one.variable} for all members of a household together"
        return [Repair(words, "shared", {"name": one.variable})]
    if route.name == "ids":
        return [Repair(f"Treat {name} as an identifier: it goes out", "identifier", {"name": name}) for name in telling]
    if route.name not in ("columns", "combinations", "sums", "text"):
        return []
    links = [
        Repair(f"Let {name} follow {one.variable}", "link", {"name": name, "source": one.variable}) for name in telling
    ]
    gone = [Repair(f"Leave {name} out of the file", "leave_out", {"name": name}) for name in telling]
    return [*(links if len(telling) == 1 and route.name != "text" else ()), *gone]


def renew(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Let the repairs do what the steward had kept them from."""
    which = form.text("which")
    if which not in EXCEPTIONS:
        raise Refused("", "there is no such repair")
    return ActionResult(
        lambda old: old.but(**{which: False}), f"repair: no longer {EXCEPTIONS[which][0].lower()}", said=_NOTED
    )


def keep(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Say what the repairs may not touch."""
    ticked = {name: form.has(name) for name in EXCEPTIONS}
    words = [EXCEPTIONS[name][0].lower() for name, on in ticked.items() if on]
    return ActionResult(
        lambda old: old.but(**ticked), f"before a release: {'; '.join(words) or 'all repairs'}", said=_NOTED
    )


def link(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Let a variable follow what is done to another."""
    name, source = form.text("name"), form.text("source")
    variable = desk.stated(draft)[name]
    sources = tuple(dict.fromkeys((*variable.sources, source)))
    return _restated(desk, name, f"repair: {name} follows {source}", linked=sources)


def shared(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Protect a variable once for all members of a household."""
    name = form.text("name")
    return _restated(desk, name, f"repair: {name} is protected for whole households", level="household")


def identifier(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Treat a variable as a name of the unit, which never goes out."""
    name = form.text("name")
    return _restated(desk, name, f"repair: {name} is an identifier", role="identifier")


def _restated(desk: Desk, name: str, what: str, **changes: Any) -> ActionResult:
    def make(old: Draft) -> Draft:
        stated = desk.stated(old)
        return old.but(schema=desk.restated(stated.replace(replace(stated[name], **changes))))

    return ActionResult(make, what, said=_NOTED)


def leave_out(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Leave a variable out of every candidate."""
    name = form.text("name")
    if name not in desk.table(draft).schema:
        raise Refused("", f"there is no variable {name}")
    return ActionResult(
        lambda old: old.but(removed=tuple(dict.fromkeys((*old.removed, name)))),
        f"repair: {name} is left out of the file",
        said=_NOTED,
    )


def take_back(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Keep a variable in the file after all."""
    name = form.text("name")
    return ActionResult(
        lambda old: old.but(removed=tuple(kept for kept in old.removed if kept != name)),
        f"{name} is kept in the file after all",
        said=_NOTED,
    )


def despite(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Release a file although it gives values back, for a reason that stays in the journal."""
    if form.text("back"):
        return ActionResult(lambda old: old.but(despite_audit=False), "a file that gives values back is not released")
    reason = form.text("reason")
    if len(reason) < 10:
        raise Refused("reason", "write down why this does no harm: the reason stays in the journal")
    return ActionResult(
        lambda old: old.but(despite_audit=True), f"to be released although it gives values back: {reason}", said=_NOTED
    )


_NOTED = "Noted. Run again, so that the file is made and attacked anew."


def same(desk: Desk, draft: Draft) -> SameCommand | None:
    """Say how the release is attacked elsewhere."""
    found = latest(desk, draft).summary
    if found is None or not found.released:
        return None
    place = f"release/{found.released}"
    command = shlex.join(["sfumato", "audit", reading(draft)[0], place, "--schema", SCHEMA, *reading(draft)[1:]])
    code = (
        f"import sfumato\n\noriginal = {read_call(draft)}\n"
        f"print(sfumato.audit(original, sfumato.read({place!r})))  # by ids; the command knows the records' order"
    )
    return SameCommand(command, code)


SCREEN = Screen(
    slug="audit",
    title="Audit",
    why="Protected values can come back through the rest of the file: weights, order, household members, copies, sums.",
    practice="attack the file with all that it still holds, repair what gives values back, and never release a file "
    "that fails.",
    view=view,
    actions={
        "renew": renew,
        "keep": keep,
        "link": link,
        "shared": shared,
        "identifier": identifier,
        "leave_out": leave_out,
        "take_back": take_back,
        "despite": despite,
    },
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    done=lambda desk, draft: _passed(desk, draft),
    same=same,
)


def _passed(desk: Desk, draft: Draft) -> bool:
    found = latest(desk, draft)
    return not found.why_old and found.summary is not None and bool(found.summary.verdict.publish)
