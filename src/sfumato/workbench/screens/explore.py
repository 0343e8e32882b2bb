"""Screen: Explore."""

from collections.abc import Mapping
from typing import Any

from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Screen


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show nothing yet."""
    return {}


SCREEN = Screen(
    slug="explore",
    title="Explore",
    why="Each point is one way to protect the file, measured like all others: how much an intruder finds, and how "
    "much users keep.",
    practice="run all candidates, look at the frontier, and take the most useful one within the bounds; move a bound only "
    "with a reason that you can write down.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
)
