"""Screen: Release."""

from collections.abc import Mapping
from typing import Any

from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Screen


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show nothing yet."""
    return {}


SCREEN = Screen(
    slug="release",
    title="Release",
    why="What goes out is the protected file and the page for its users. All else stays inside the house.",
    practice="send the file and its page, keep the report, the note and the scripts; make the next release of this survey "
    "from this one.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
)
