"""Screen: Mask."""

from collections.abc import Mapping
from typing import Any

from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Screen


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show nothing yet."""
    return {}


SCREEN = Screen(
    slug="mask",
    title="Mask",
    why="Where coarser values are not enough, values are blanked, changed or drawn anew. Every way costs something "
    "else.",
    practice="suppress a few percent of one or two variables, never of those that users group by; mask amounts by noise, "
    "swapping or groups of alike records; let the program propose, and add what your house uses.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    optional=True,
)
