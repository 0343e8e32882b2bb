"""Screen: Recode."""

from collections.abc import Mapping
from typing import Any

from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Screen


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show nothing yet."""
    return {}


SCREEN = Screen(
    slug="recode",
    title="Recode",
    why="Coarser values protect without making anything false, and users can see what was done.",
    practice="recode first, then suppress the few that are left: ages in bands of five or ten with an open end, regions "
    "merged, occupations in a few groups.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    optional=True,
)
