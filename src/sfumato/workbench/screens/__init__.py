"""The screens, in the order of work."""

from sfumato.workbench.screens.audit import SCREEN as AUDIT
from sfumato.workbench.screens.bounds import SCREEN as BOUNDS
from sfumato.workbench.screens.decide import SCREEN as DECIDE
from sfumato.workbench.screens.explore import SCREEN as EXPLORE
from sfumato.workbench.screens.mask import SCREEN as MASK
from sfumato.workbench.screens.opening import SCREEN as OPEN
from sfumato.workbench.screens.recode import SCREEN as RECODE
from sfumato.workbench.screens.release import SCREEN as RELEASE
from sfumato.workbench.screens.risk import SCREEN as RISK
from sfumato.workbench.screens.scenarios import SCREEN as SCENARIOS
from sfumato.workbench.screens.screen import Screen
from sfumato.workbench.screens.side_by_side import SCREEN as COMPARE
from sfumato.workbench.screens.variables import SCREEN as VARIABLES

SCREENS: tuple[Screen, ...] = (
    OPEN,
    VARIABLES,
    SCENARIOS,
    RISK,
    RECODE,
    MASK,
    BOUNDS,
    EXPLORE,
    COMPARE,
    AUDIT,
    DECIDE,
    RELEASE,
)
