"""Screen 6, Mask: candidates that the program proposes, and those that the steward puts together."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from sfumato import catalogue
from sfumato.about import Group
from sfumato.compare.figures import listed
from sfumato.compare.naming import in_words, short_names
from sfumato.composition import Within
from sfumato.core import Method
from sfumato.errors import SfumatoError
from sfumato.project.reading import read_methods
from sfumato.project.tables import read_protected
from sfumato.table.formats import known_suffixes
from sfumato.table.microdata import Microdata
from sfumato.workbench import tries
from sfumato.workbench.commands import of_table, recoded_first, sweep_call, sweep_words
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.method_forms import (
    Field,
    SuppressionForm,
    blamed,
    fields_of,
    group_of,
    has_form,
    inner_suppression,
    read_step,
    read_suppression,
    suppression_form,
    usual,
)
from sfumato.workbench.screens.screen import ActionResult, Form, Refused, SameCommand, Screen, place_of
from sfumato.workbench.tries import TrialOutcome, behind
from sfumato.workbench.uploads import inside

# The steward's own candidates: chains of steps that are added, changed, reordered and taken out one by one

MAX_CANDIDATES = 200  # candidates of one's own
TEXT = "text"


def method_of(text: str) -> Method:
    """Return the method that the draft holds as a text."""
    return read_methods([text])[0]


def add(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Begin a candidate with a method, and open its form."""
    method = usual(_class(form, "method"))
    place = len(draft.own)
    own = _with(desk, draft, place, (method,), "method")
    return ActionResult(_put(own), f"candidate added: {method!r}", goto=_edit(place, 0))


def write(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Read candidates as the command line takes them: new ones, or in place of one."""
    place = _candidate(draft, form) if form.has("candidate") else len(draft.own)
    field = f"{TEXT}.{place}" if form.has("candidate") else TEXT
    said = form.text(field)
    if not said:
        raise Refused(field, 'write a method, such as "MDAV(k=[3, 5, 10])"')
    try:
        found = read_methods([said])
    except SfumatoError as error:
        raise Refused(field, str(error)) from None
    others = [text for at, text in enumerate(draft.own) if at != place]
    new = [method for method in found if repr(method) not in others]
    if not new:
        raise Refused(field, "this candidate is in the list already")
    for method in new:
        _fits(desk, draft, method.steps, field)
    texts = [repr(method) for method in new]
    own = (*draft.own[:place], *texts, *draft.own[place + 1 :])
    if len(own) > MAX_CANDIDATES:
        raise Refused(field, f"this would make {len(own)} candidates of your own; {MAX_CANDIDATES} are the most")
    many = f"{len(new)} candidates added" if len(new) > 1 else "candidate written"
    return ActionResult(_put(own), f"{many}: {listed(tuple(texts), most=3)}", goto="mask#own", said=f"{many}.")


def take(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take a proposal over, to change it."""
    method = method_of(form.text("proposal"))
    if repr(method) in draft.own:
        raise Refused("proposal", "this candidate is among yours already")
    own = _with(desk, draft, len(draft.own), method.steps, "proposal")
    said = f"It is candidate {len(own)} of your own: change its steps below."
    return ActionResult(_put(own), f"proposal taken over: {method!r}", goto="mask#own", said=said)


def remove(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take a candidate out."""
    place = _candidate(draft, form)
    gone = draft.own[place]
    return ActionResult(
        _put((*draft.own[:place], *draft.own[place + 1 :])), f"candidate taken out: {gone}", goto="mask#own"
    )


def add_step(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Add a step at the end of a candidate, or make a further candidate with it, and open its form."""
    place, new = _candidate(draft, form), usual(_class(form, f"method.{form.text('candidate')}"))
    steps = (*method_of(draft.own[place]).steps, new)
    field = f"method.{form.text('candidate')}"
    if form.has("copy"):
        own = _with(desk, draft, len(draft.own), steps, field)
        return ActionResult(_put(own), f"candidate added: {own[-1]}", goto=_edit(len(own) - 1, len(steps) - 1))
    own = _with(desk, draft, place, steps, field)
    return ActionResult(_put(own), f"step {new!r} added to candidate {place + 1}", goto=_edit(place, len(steps) - 1))


def change_step(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Give a step other parameters; as a further candidate, if that is asked for."""
    place, steps, at = _sent_step(draft, form)
    data = desk.table(draft)
    changed = read_changed(steps[at], form, data)
    new = (*steps[:at], changed, *steps[at + 1 :])
    known = fields_of(steps[at], data)
    target = len(draft.own) if form.has("copy") else place
    try:
        own = _with(desk, draft, target, new, "")
    except Refused as error:
        raise Refused(blamed(str(error), known, "parameter.variables"), str(error)) from None
    return ActionResult(
        _put(own), f"step {at + 1} of candidate {target + 1}: {changed!r}", goto=f"mask?at={target}.{at}"
    )


def read_changed(step: Method, form: Form, data: Microdata) -> Method:
    """Return a step with the parameters of its form."""
    if not has_form(step):
        raise Refused("", "several methods are done inside blocks here; change the candidate as text")
    read = read_step if inner_suppression(step) is None else read_suppression
    return read(step, form, data)


def move_step(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Do a step earlier or later; the page then holds the focus on it."""
    place, steps, at = _sent_step(draft, form)
    to = form.whole("to", least=0, most=len(steps) - 1)
    moved = list(steps)
    moved.insert(to, moved.pop(at))
    own = _with(desk, draft, place, tuple(moved), f"chain.{place}")
    way = "up" if to < at else "down"
    name = type(steps[at]).__name__
    said = f"{name} is now step {to + 1} of {len(steps)}."
    return ActionResult(_put(own), f"candidate {place + 1}: {said}", goto=f"mask?at={place}.{to}&way={way}", said=said)


def remove_step(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take a step out of a candidate."""
    place, steps, at = _sent_step(draft, form)
    left = (*steps[:at], *steps[at + 1 :])
    if not left:
        return remove(desk, draft, form)
    own = _with(desk, draft, place, left, f"chain.{place}")
    return ActionResult(_put(own), f"step taken out of candidate {place + 1}: {steps[at]!r}", goto=f"mask?at={place}.0")


def _class(form: Form, field: str) -> type[Method]:
    found = catalogue.methods().get(form.text(field))
    if found is None:
        raise Refused(field, "choose a method")
    return found


def _candidate(draft: Draft, form: Form) -> int:
    return form.whole("candidate", least=0, most=len(draft.own) - 1)


def _sent_step(draft: Draft, form: Form) -> tuple[int, tuple[Method, ...], int]:
    place = _candidate(draft, form)
    steps = method_of(draft.own[place]).steps
    return place, steps, form.whole("step", least=0, most=len(steps) - 1)


def _with(desk: Desk, draft: Draft, place: int, steps: tuple[Method, ...], field: str) -> tuple[str, ...]:
    """Return the candidates with one put at a place; refuse what the table does not allow or is there already."""
    made = behind(None, steps)
    text = repr(made)
    if any(text == other for at, other in enumerate(draft.own) if at != place):
        raise Refused(field, "then two of your candidates would be the same; change one of them")
    if place >= MAX_CANDIDATES:
        raise Refused(field, f"{MAX_CANDIDATES} candidates of one's own are the most")
    _fits(desk, draft, steps, field)
    return (*draft.own[:place], text, *draft.own[place + 1 :])


def _fits(desk: Desk, draft: Draft, steps: tuple[Method, ...], field: str) -> None:
    """Refuse a candidate that cannot be applied to the table, as far as it can be told without trying."""
    trouble = unfit(desk.table(draft), recoded_first(draft), steps)
    if trouble:
        raise Refused(field, trouble)


def unfit(data: Microdata, first: Method | None, steps: tuple[Method, ...]) -> str:
    """Say why a candidate cannot be applied to the table, as far as it can be told without trying."""
    whole = behind(first, steps)
    if whole is None:
        return ""
    for step in steps:
        for name in step.variables or ():
            if name not in data.schema:
                return data.schema.unknown(name)
    try:
        whole.masked(data)
    except SfumatoError as error:
        return str(error)
    return ""


def _put(own: tuple[str, ...]) -> Callable[[Draft], Draft]:
    return lambda old: old.but(own=own)


def _edit(place: int, step: int) -> str:
    return f"mask?edit={place}.{step}"


# the screen

BREADTHS = {1: "some 10 to 25", 2: "about twice as many", 3: "all that may be worth trying"}


@dataclass(frozen=True)
class StepView:
    """One step of a chain."""

    name: str
    title: str
    sentence: str
    text: str
    has_form: bool


@dataclass(frozen=True)
class OwnView:
    """One candidate of the steward's own."""

    text: str
    name: str
    sentence: str
    steps: tuple[StepView, ...]
    trouble: str
    tried: TrialOutcome | None  # None: not asked for yet


@dataclass(frozen=True)
class OpenStep:
    """The step whose form is open."""

    candidate: int
    step: int
    name: str
    about: Any
    fields: tuple[Field, ...]
    suppression: SuppressionForm | None
    estimate: TrialOutcome | None
    refused: str  # what was typed so far and is no method


@dataclass(frozen=True)
class Choice:
    """One method in the list to choose from."""

    name: str
    title: str
    caveat: str
    reading: str
    not_here: str  # why it cannot be applied to this table


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show what every candidate begins with, the proposals if they were asked for, and one's own candidates."""
    data, first = desk.table(draft), recoded_first(draft)
    own = _own(desk, draft, data, query)
    shown = desk.is_kept("proposed", tries.proposed_from(desk, draft)) or query.get("show") == "proposals"
    proposals = tries.proposed(desk, draft) if shown and draft.proposed else None
    looked = desk.is_kept("dependencies", of_table(desk, draft)) or query.get("show") == "links"
    return {
        "records": len(data),
        "first": "" if first is None else in_words(first, data.schema),
        "breadths": BREADTHS,
        "proposals": None if proposals is None else _named(proposals),
        "own": own,
        "edited": _edited(desk, draft, data, query),
        "at": query.get("at", ""),
        "way": query.get("way", ""),
        "written": query.get("text", ""),
        "choices": _choices(data),
        "files": _files(desk, draft),
        "links": data.schema.links(),
        "found": tries.depends(desk, draft).found if looked else None,
        "most_records": tries.MAX_RECORDS,
    }


def _files(desk: Desk, draft: Draft) -> list[str]:
    """Name the files of the folder that may have been protected elsewhere, and those that were named already."""
    found = (path for path in desk.folder.iterdir() if path.is_file() and not path.name.startswith("."))
    there = {path.name for path in found if path.suffix.lower() in known_suffixes()}
    return sorted((there | set(draft.elsewhere)) - {draft.source})


def _named(proposals: tuple[Any, ...]) -> list[dict[str, str]]:
    names = short_names({repr(one.method): one.method for one in proposals})
    return [{"text": repr(one.method), "name": names[repr(one.method)], "why": one.why} for one in proposals]


def _own(desk: Desk, draft: Draft, data: Microdata, query: Mapping[str, str]) -> list[OwnView]:
    methods = {text: method_of(text) for text in draft.own}
    names, first = short_names(methods), recoded_first(draft)
    key = f"{of_table(desk, draft)} {draft.recodings} {draft.own}"
    troubles = desk.kept("own that do not fit", key, lambda: [unfit(data, first, m.steps) for m in methods.values()])
    shown = []
    for place, (text, method) in enumerate(methods.items()):
        asked = query.get("try") == str(place) or tries.is_tried(desk, draft, method)
        shown.append(
            OwnView(
                text,
                names[text],
                in_words(method, data.schema),
                tuple(_step(step, data) for step in method.steps),
                troubles[place],
                tries.tried(desk, draft, method) if asked else None,
            )
        )
    return shown


def _step(step: Method, data: Microdata) -> StepView:
    inner = step.method if isinstance(step, Within) else step
    return StepView(type(inner).__name__, step.about.title, in_words(step, data.schema), repr(step), has_form(step))


def _edited(desk: Desk, draft: Draft, data: Microdata, query: Mapping[str, str]) -> OpenStep | None:
    """Return the form that is asked for, with an estimate if that is asked for too."""
    place, at = map(place_of, query.get("edit", "").partition(".")[::2])
    if place is None or at is None or place >= len(draft.own):
        return None
    steps = method_of(draft.own[place]).steps
    if at >= len(steps) or not has_form(steps[at]):
        return None
    step = steps[at]
    method = inner_suppression(step)
    estimate, refused, said = None, "", step
    if "parameter.form" in query:
        try:
            said = read_changed(step, Form(list(query.items())), data)
        except SfumatoError as error:
            refused = str(error)
    if "estimate" in query and not refused:
        estimate = tries.step_tried(desk, draft, steps[:at], said)
    return OpenStep(
        place,
        at,
        type(step.method if isinstance(step, Within) else step).__name__,
        step.about,
        fields_of(step, data),
        None if method is None else suppression_form(step, method, data),
        estimate,
        refused,
    )


def _choices(data: Microdata) -> dict[str, list[Choice]]:
    """Return all methods by group; those that find nothing in this table say so."""
    groups: dict[str, list[Choice]] = {group: [] for group in get_args(Group)}
    for name, method in catalogue.methods().items():
        about = method.about
        lacks = "" if data.schema.analysed(*about.kinds) else f"no {' or '.join(about.kinds)} variable"
        if group_of(method) == "Weights" and data.schema.weight is None:
            lacks = "no weight is named"
        groups[group_of(method)].append(Choice(name, about.title, about.caveat, about.reading, lacks))
    return groups


def propose(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Let the program propose candidates, or not, and how many."""
    breadth = form.whole("breadth", least=1, most=3)
    proposed = form.has("proposed")
    if not proposed and not draft.own and recoded_first(draft) is None:
        raise Refused("proposed", "without a candidate of your own there would be nothing to try; add one below first")
    said = f"candidates are proposed, {BREADTHS[breadth]}" if proposed else "only one's own candidates are tried"
    return ActionResult(lambda old: old.but(proposed=proposed, breadth=breadth), said)


def elsewhere(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take files of the folder that were protected elsewhere as candidates."""
    chosen = tuple(dict.fromkeys(form.texts("file")))
    original = desk.table(draft)
    for name in chosen:
        path = inside(desk.folder, name)
        if not path.is_file() or name == draft.source:
            raise Refused("file", f"there is no other file {name} in the project's folder")
        if name in draft.elsewhere:
            continue
        try:
            read_protected(path, original, encoding=draft.encoding, delimiter=draft.delimiter, decimal=draft.decimal)
        except SfumatoError as error:
            raise Refused("file", f"{name}: {str(error).replace(str(path), name).removeprefix(f'{name}: ')}") from None
    said = f"protected elsewhere: {', '.join(chosen)}" if chosen else "no file protected elsewhere"
    return ActionResult(lambda old: old.but(elsewhere=chosen), said)


def bring(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take a file that was dropped on this page as a candidate, beside those that were named before."""
    name = form.text("name")
    if not name:
        raise Refused("file", "choose a file, or drop one here")
    return elsewhere(desk, draft, Form([*(("file", one) for one in draft.elsewhere), ("file", name)]))


def same(desk: Desk, draft: Draft) -> SameCommand | None:
    """Say the sweep of these candidates elsewhere."""
    command = shlex.join(["sfumato", *sweep_words(desk, draft)])
    return SameCommand(command, f"import sfumato\n\n{sweep_call(desk, draft)}")


def _done(desk: Desk, draft: Draft) -> bool:
    return bool(draft.own or draft.elsewhere or replace(draft, proposed=True, breadth=1) != draft)


SCREEN = Screen(
    slug="mask",
    title="Mask",
    why="Where coarser values are not enough, values are blanked, changed or drawn anew. Every way costs something "
    "else.",
    practice="suppress a few percent of one or two variables, never of those that users group by; mask amounts by "
    "noise, swapping or groups of alike records; let the program propose, and add what your house uses.",
    view=view,
    actions={
        "propose": propose,
        "add": add,
        "write": write,
        "take": take,
        "remove": remove,
        "add_step": add_step,
        "change_step": change_step,
        "move_step": move_step,
        "remove_step": remove_step,
        "elsewhere": elsewhere,
        "bring": bring,
    },
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    done=_done,
    same=same,
    optional=True,
)
