"""Screen: Risk now."""

from collections.abc import Mapping
from typing import Any

from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Screen


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show nothing yet."""
    return {}


SCREEN = Screen(
    slug="risk",
    title="Risk now",
    why="This is what the file gives away as it is: the risk that protection has to take away.",
    practice="look at the rarest combinations one by one, and see which key makes most records rare: that is the one to "
    "coarsen first.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    optional=True,
)
