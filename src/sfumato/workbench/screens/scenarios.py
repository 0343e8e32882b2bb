"""Screen: Scenarios."""

from collections.abc import Mapping
from typing import Any

from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Screen


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show nothing yet."""
    return {}


SCREEN = Screen(
    slug="scenarios",
    title="Scenarios",
    why="Nobody can be protected against everybody. A scenario says who might look, what that person knows, and how "
    "many records must look alike to them.",
    practice="name two to four intruders before any figure is seen: a register, an acquaintance, somebody who knows that a"
    " person took part. Few keys each; coarsen the others first.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
)
