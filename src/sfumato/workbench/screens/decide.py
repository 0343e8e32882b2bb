"""Screen 11, Decide: the verdict on one page, and the signature under it."""

import shlex
from collections.abc import Mapping
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.project import decision as decisions
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.latest import latest, signature
from sfumato.workbench.screens.screen import ActionResult, Form, Refused, SameCommand, Screen

MAX_SAID = 20_000  # characters of a reason


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show the verdict of the last run, and who signed it."""
    found = latest(desk, draft)
    return {
        "found": found,
        "summary": found.summary,
        "decision": signature(desk, found.summary),
        "can_sign": _can_sign(desk, draft) == "",
        "cannot": _can_sign(desk, draft),
    }


def _can_sign(desk: Desk, draft: Draft) -> str:
    """Say why the release cannot be signed; nothing if it can."""
    found = latest(desk, draft)
    if found.summary is None or found.why_old:
        return found.why_old or "Nothing has been run yet."
    if not found.summary.verdict.publish:
        return "There is no release to sign: the verdict is not to publish."
    return ""


def sign(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Sign the release: who approves it, and why."""
    by, reasons = form.text("by"), form.text("reasons")
    if not by:
        raise Refused("by", "name the person who approves")
    if len(reasons) < 10:
        raise Refused("reasons", "write down why this release is right: a decision without a reason cannot be defended")
    if len(by) > 200 or len(reasons) > MAX_SAID:
        raise Refused("reasons" if len(by) <= 200 else "by", f"this is too long; at most {MAX_SAID:,} characters")
    desk.refuse_stale(form.revision)  # the reasons are those for the release that the page shows
    why_not = _can_sign(desk, draft)
    if why_not:
        raise Refused("", f"{why_not} Run again, then sign.")
    there = decisions.read(desk.folder)
    said = tuple(line.strip() for line in reasons.splitlines() if line.strip())
    if there is not None and not there.void and (there.by, there.reasons) == (by, said):
        return ActionResult(goto="release")  # a second click
    made = decisions.sign(desk.folder, by=by, reasons=said)
    return ActionResult(None, f"release of {made.file} signed by {made.by}", goto="release", said="Signed.")


def decline(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Write down that nothing is released, and why."""
    by, reasons = form.text("by"), form.text("reasons")
    if not by:
        raise Refused("by", "name the person who decides")
    if len(reasons) < 10:
        raise Refused("reasons", "write down why nothing is released")
    desk.refuse_stale(form.revision)
    what = f"decided by {by[:200]}: nothing is released; {reasons[:MAX_SAID]}"
    if [event.what for event in desk.journal.events(1)] == [what]:
        return ActionResult()  # a second click
    said = "Kept in the journal."
    if decisions.read(desk.folder) is not None:
        decisions.withdraw(desk.folder)
        what, said = f"{what} (the signature is taken back)", f"{said} The signature is taken back."
    return ActionResult(None, what, said=said)


def same(desk: Desk, draft: Draft) -> SameCommand | None:
    """Say how a release is signed elsewhere."""
    there = signature(desk, latest(desk, draft).summary)
    by, reasons = (there.by, there.reasons) if there is not None else ("NAME", ("REASON",))
    words = ["sfumato", "sign", ".", "--by", by]
    command = shlex.join([*words, *(word for reason in reasons for word in ("--reason", reason))])
    code = f"from sfumato.project.decision import sign\n\nsign({'.'!r}, by={by!r}, reasons={list(reasons)!r})"
    return SameCommand(command, code)


def _signed(desk: Desk, draft: Draft) -> bool:
    try:
        found = latest(desk, draft)
        there = signature(desk, found.summary)
    except SfumatoError:
        return False
    return there is not None and not there.void and not found.why_old


SCREEN = Screen(
    slug="decide",
    title="Decide",
    why="Somebody has to sign. This page says in a minute what is released, what an intruder finds, and what users "
    "lose.",
    practice="read it to a colleague, write down the reasons, and name who approved.",
    view=view,
    actions={"sign": sign, "decline": decline},
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    done=_signed,
    same=same,
)
