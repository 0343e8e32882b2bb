"""The screens, in the order of work.

Only the first is loaded with the server, so that its first page is there at once; the others reach nearly all of the
package, and are loaded when a file has been opened.
"""

from functools import cache

from sfumato.workbench.screens.opening import SCREEN as OPEN
from sfumato.workbench.screens.screen import Screen

__all__ = ["OPEN", "TITLES", "UNOPENED", "Screen", "screen_of", "screens"]
TITLES = {
    "open": "Open",
    "variables": "Variables",
    "scenarios": "Scenarios",
    "risk": "Risk now",
    "recode": "Recode",
    "mask": "Mask",
    "bounds": "Bounds",
    "explore": "Explore",
    "compare": "Compare",
    "audit": "Audit",
    "decide": "Decide",
    "release": "Release",
}
UNOPENED = "Open a file first, and confirm how it is read."  # what all but the first screen wait for


@cache
def screens() -> tuple[Screen, ...]:
    """Return all screens."""
    from sfumato.workbench.screens.audit import SCREEN as AUDIT
    from sfumato.workbench.screens.bounds import SCREEN as BOUNDS
    from sfumato.workbench.screens.decide import SCREEN as DECIDE
    from sfumato.workbench.screens.explore import SCREEN as EXPLORE
    from sfumato.workbench.screens.mask import SCREEN as MASK
    from sfumato.workbench.screens.recode import SCREEN as RECODE
    from sfumato.workbench.screens.release import SCREEN as RELEASE
    from sfumato.workbench.screens.risk import SCREEN as RISK
    from sfumato.workbench.screens.scenarios import SCREEN as SCENARIOS
    from sfumato.workbench.screens.side_by_side import SCREEN as COMPARE
    from sfumato.workbench.screens.variables import SCREEN as VARIABLES

    return OPEN, VARIABLES, SCENARIOS, RISK, RECODE, MASK, BOUNDS, EXPLORE, COMPARE, AUDIT, DECIDE, RELEASE


def screen_of(slug: str) -> Screen | None:
    """Return a screen by its slug."""
    if slug == OPEN.slug:
        return OPEN
    return next((screen for screen in screens() if screen.slug == slug), None) if slug in TITLES else None
