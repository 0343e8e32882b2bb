"""The table of which figures are asked again and again while keys are ticked and cuts are moved: one at a time."""

from dataclasses import dataclass, field, replace
from threading import Lock

from sfumato.compare.live import Live
from sfumato.data.schema import Scenario
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft


@dataclass
class _Last:
    """The one that was asked last; an older one would only hold memory."""

    lock: Lock = field(default_factory=Lock)
    of: str = ""
    live: Live | None = None


def still_known(scenario: Scenario, draft: Draft) -> Scenario | None:
    """Return what an intruder can use of the keys once variables are left out of every candidate; None if nothing."""
    return scenario.only(name for name in scenario.keys if name not in draft.removed)


def live_of(desk: Desk, draft: Draft) -> Live:
    """Return the table of a draft for live questions; another intruder or role makes no new one."""
    data = desk.table(draft)
    schema = data.schema
    said = [(variable.linked, variable.hierarchy) for variable in schema]
    of = f"{desk.form(draft)} {schema.analysed()} {said}"
    last = desk.kept("live", "", _Last)
    with last.lock:
        if last.live is None or last.of != of:
            last.live, last.of = Live(replace(data, schema=replace(schema, scenarios=()))), of
        return last.live
