"""What methods, cuts and keys would do to the table, worked out when a page asks for it and kept."""

from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

from sfumato.compare.examine.variables import variable_detail
from sfumato.compare.live import Live
from sfumato.composition import Chain
from sfumato.core import Method
from sfumato.errors import SfumatoError
from sfumato.table.schema import Scenario
from sfumato.workbench.commands import judging, of_table, recoded_first
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft

if TYPE_CHECKING:
    from sfumato.auditing.proposals import Dependencies
    from sfumato.compare.candidates import Candidate
    from sfumato.table.microdata import Microdata


MAX_RECORDS = 100_000  # of a table on which methods are tried out on the page
DRAW = 0  # of random methods; the seed of a sweep is another, and secret


@dataclass(frozen=True)
class Change:
    """What became of one variable."""

    name: str
    blank: int = 0  # values made missing
    share: float = 0.0  # of all values that were there
    changed: float | None = None  # the share of records with another value, a blank apart; None: records do not match
    classes: int | None = None  # categories that are left, where they are coarser
    gone: bool = False


@dataclass(frozen=True)
class TrialOutcome:
    """What a method did to the table, or why it could not."""

    before: int = 0
    records: int = 0
    changes: tuple[Change, ...] = ()
    untouched: int = 0  # variables that came back as they were
    notes: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def blank(self) -> int:
        """Values made missing in all."""
        return sum(change.blank for change in self.changes)


def behind(first: Method | None, steps: tuple[Method, ...]) -> Method | None:
    """Return these steps behind the recodings that every candidate begins with; None if there is nothing to do."""
    all_ = (*(() if first is None else first.steps), *steps)
    return Chain(all_) if len(all_) > 1 else all_[0] if all_ else None


def tried(desk: Desk, draft: Draft, method: Method) -> TrialOutcome:
    """Try a candidate on the table, behind the recodings."""
    whole = behind(recoded_first(draft), method.steps)
    assert whole is not None  # the method has a step
    return desk.kept("tried", f"{of_table(desk, draft)} {whole!r}", lambda: _tried(desk.table(draft), whole))


def is_tried(desk: Desk, draft: Draft, method: Method) -> bool:
    """Tell whether a candidate was tried already."""
    whole = behind(recoded_first(draft), method.steps)
    return desk.is_kept("tried", f"{of_table(desk, draft)} {whole!r}")


def step_tried(desk: Desk, draft: Draft, before: tuple[Method, ...], step: Method) -> TrialOutcome:
    """Try one step on what the steps before it leave of the table."""
    start = behind(recoded_first(draft), before)

    def begun() -> "Microdata":
        data = desk.table(draft)
        return data if start is None else start.protect(data, rng=DRAW, rounded=True)

    key = f"{of_table(desk, draft)} {start!r}"
    if len(desk.table(draft)) > MAX_RECORDS:
        return TrialOutcome(trouble=_too_many(len(desk.table(draft))))
    try:
        table = desk.kept("begun", key, begun)
    except SfumatoError as error:
        return TrialOutcome(trouble=f"a step before this one refuses: {error}")
    return desk.kept("step tried", f"{key} {step!r}", lambda: _tried(table, step))


def _tried(data: "Microdata", method: Method) -> TrialOutcome:
    if len(data) > MAX_RECORDS:
        return TrialOutcome(trouble=_too_many(len(data)))
    try:
        after = method.protect(data, rng=DRAW, rounded=True)
    except SfumatoError as error:
        return TrialOutcome(before=len(data), trouble=str(error))
    names = [name for name in data.names if name not in data.schema.special().values()]
    changes = [_change(name, data, after) for name in names]
    weight = data.schema.weight
    if weight is not None and weight in after.schema and len(after) == len(data):
        changes.append(_change(weight, data, after))
    told = tuple(change for change in changes if change is not None)
    notes = after.notes[len(data.notes) :]
    return TrialOutcome(len(data), len(after), told, untouched=len(names) - len(told), notes=notes)


def _change(name: str, data: "Microdata", after: "Microdata") -> Change | None:
    """Return what became of a variable; None if it is as it was."""
    if name not in after.schema:
        return Change(name, gone=True)
    found = variable_detail(name, data, after)
    there = ~data.missing(name)
    blank = int((there & after.missing(name)).sum()) if len(after) == len(data) and after.matched else 0
    classes = len(after.schema[name].categories) if found.recoded or found.gone else None
    others = None if found.changed is None else round(found.changed * len(data)) - blank
    changed = None if others is None else others / max(len(data), 1)
    if not blank and classes is None and changed == 0:
        return None
    return Change(name, blank, blank / max(int(there.sum()), 1), changed, classes)


def _too_many(records: int) -> str:
    return (
        f"the table has {records:,} records; methods are tried out on the page up to {MAX_RECORDS:,}. "
        "Run the candidates: there every record counts"
    )


def proposed(desk: Desk, draft: Draft) -> "tuple[Candidate, ...]":
    """Return the candidates that the program would propose for this draft, without the recodings they begin with."""
    return desk.kept("proposed", proposed_from(desk, draft), lambda: _proposed(desk, draft))


def proposed_from(desk: Desk, draft: Draft) -> str:
    """Name all that the proposals depend on."""
    said = (draft.recodings, draft.breadth, draft.population, draft.uses, dict(draft.at_most), dict(draft.at_least))
    return f"{of_table(desk, draft)} {said}"


def _proposed(desk: Desk, draft: Draft) -> "tuple[Candidate, ...]":
    from dataclasses import replace

    from sfumato.project.candidates import composed_candidates
    from sfumato.project.options import unheard

    first = recoded_first(draft)
    bounds = {**draft.at_most, **draft.at_least}
    found = composed_candidates(
        desk.table(draft), judging(desk, draft), bounds, draft.breadth, first=first, seed=DRAW, tell=unheard
    )
    before = 0 if first is None else len(first.steps)
    own = ((one, behind(None, one.method.steps[before:])) for one in found)
    return tuple(replace(one, method=method) for one, method in own if method is not None)


def depends(desk: Desk, draft: Draft) -> "Dependencies":
    """Return what the rest of the table tells of variables that are not linked."""
    from sfumato.auditing.proposals import dependencies

    return desk.kept("dependencies", of_table(desk, draft), lambda: dependencies(desk.table(draft)))


# The table of which figures are asked again and again while keys are ticked and cuts are moved: one at a time


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
