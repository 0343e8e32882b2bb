"""Screen: Variables."""

from collections.abc import Mapping
from typing import Any

from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Screen


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show nothing yet."""
    return {}


SCREEN = Screen(
    slug="variables",
    title="Variables",
    why="What an intruder may know and what a value means decide everything: which variables are keys, which are "
    "amounts, which column is the weight, the household, the id.",
    practice="take direct identifiers out, name weight and household, and look at every proposed copy: a copy that is not "
    "protected gives the original back.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
)
