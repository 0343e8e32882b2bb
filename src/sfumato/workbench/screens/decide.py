"""Screen: Decide."""

from collections.abc import Mapping
from typing import Any

from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Screen


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show nothing yet."""
    return {}


SCREEN = Screen(
    slug="decide",
    title="Decide",
    why="Somebody has to sign. This page says in a minute what is released, what an intruder finds, and what users "
    "lose.",
    practice="read it to a colleague, write down the reasons, and name who approved.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
)
