"""Screen: Compare."""

from collections.abc import Mapping
from typing import Any

from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Screen


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show nothing yet."""
    return {}


SCREEN = Screen(
    slug="compare",
    title="Compare",
    why="Figures hide what users will meet: which distribution moved, which table changed, which coefficient turned.",
    practice="lay two or three candidates side by side on the uses that matter before you settle on one.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    optional=True,
)
