"""Screen: Audit."""

from collections.abc import Mapping
from typing import Any

from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Screen


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show nothing yet."""
    return {}


SCREEN = Screen(
    slug="audit",
    title="Audit",
    why="Protected values can come back through the rest of the file: weights, order, household members, copies, sums.",
    practice="attack the file with all that it still holds, repair what gives values back, and never release a file that "
    "fails.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
)
