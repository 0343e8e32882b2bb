"""Screen: Bounds."""

from collections.abc import Mapping
from typing import Any

from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Screen


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show nothing yet."""
    return {}


SCREEN = Screen(
    slug="bounds",
    title="Bounds",
    why="A bound that is set after the figures were seen justifies whatever one wanted anyway.",
    practice="fix the largest risk you would sign before anything is run: 5 % found by the worst intruder is usual for a "
    "file under contract, far less for a public one. State too what users must still be able to do.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
)
