"""The steward's own candidates: chains of steps that are added, changed, reordered and taken out one by one."""

from collections.abc import Callable

from sfumato import catalogue
from sfumato.compare.figures import listed
from sfumato.compare.naming import steps_of
from sfumato.core import Method
from sfumato.data.microdata import Microdata
from sfumato.errors import SfumatoError
from sfumato.project.reading import read_methods
from sfumato.workbench.commands import recoded_first
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.method_forms import blamed, fields_of, has_form, read_step, usual
from sfumato.workbench.screens.screen import Done, Form, Refused
from sfumato.workbench.suppression_form import inner_suppression, read_suppression
from sfumato.workbench.tries import behind

MOST = 200  # candidates of one's own
TEXT = "text"


def method_of(text: str) -> Method:
    """Return the method that the draft holds as a text."""
    return read_methods([text])[0]


def add(desk: Desk, draft: Draft, form: Form) -> Done:
    """Begin a candidate with a method, and open its form."""
    method = usual(_class(form, "method"))
    place = len(draft.own)
    own = _with(desk, draft, place, (method,), "method")
    return Done(_put(own), f"candidate added: {method!r}", goto=_edit(place, 0))


def write(desk: Desk, draft: Draft, form: Form) -> Done:
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
        _fits(desk, draft, steps_of(method), field)
    texts = [repr(method) for method in new]
    own = (*draft.own[:place], *texts, *draft.own[place + 1 :])
    if len(own) > MOST:
        raise Refused(field, f"this would make {len(own)} candidates of your own; {MOST} are the most")
    many = f"{len(new)} candidates added" if len(new) > 1 else "candidate written"
    return Done(_put(own), f"{many}: {listed(tuple(texts), most=3)}", goto="mask#own", said=f"{many}.")


def take(desk: Desk, draft: Draft, form: Form) -> Done:
    """Take a proposal over, to change it."""
    method = method_of(form.text("proposal"))
    if repr(method) in draft.own:
        raise Refused("proposal", "this candidate is among yours already")
    own = _with(desk, draft, len(draft.own), steps_of(method), "proposal")
    said = f"It is candidate {len(own)} of your own: change its steps below."
    return Done(_put(own), f"proposal taken over: {method!r}", goto="mask#own", said=said)


def remove(desk: Desk, draft: Draft, form: Form) -> Done:
    """Take a candidate out."""
    place = _candidate(draft, form)
    gone = draft.own[place]
    return Done(_put((*draft.own[:place], *draft.own[place + 1 :])), f"candidate taken out: {gone}", goto="mask#own")


def add_step(desk: Desk, draft: Draft, form: Form) -> Done:
    """Add a step at the end of a candidate, or make a further candidate with it, and open its form."""
    place, new = _candidate(draft, form), usual(_class(form, f"method.{form.text('candidate')}"))
    steps = (*steps_of(method_of(draft.own[place])), new)
    field = f"method.{form.text('candidate')}"
    if form.has("copy"):
        own = _with(desk, draft, len(draft.own), steps, field)
        return Done(_put(own), f"candidate added: {own[-1]}", goto=_edit(len(own) - 1, len(steps) - 1))
    own = _with(desk, draft, place, steps, field)
    return Done(_put(own), f"step {new!r} added to candidate {place + 1}", goto=_edit(place, len(steps) - 1))


def change_step(desk: Desk, draft: Draft, form: Form) -> Done:
    """Give a step other parameters; as a further candidate, if that is asked for."""
    place, steps, at = _step(draft, form)
    data = desk.table(draft)
    changed = read_changed(steps[at], form, data)
    new = (*steps[:at], changed, *steps[at + 1 :])
    known = fields_of(steps[at], data)
    target = len(draft.own) if form.has("copy") else place
    try:
        own = _with(desk, draft, target, new, "")
    except Refused as error:
        raise Refused(blamed(str(error), known, "parameter.variables"), str(error)) from None
    return Done(_put(own), f"step {at + 1} of candidate {target + 1}: {changed!r}", goto=f"mask?at={target}.{at}")


def read_changed(step: Method, form: Form, data: Microdata) -> Method:
    """Return a step with the parameters of its form."""
    if not has_form(step):
        raise Refused("", "several methods are done inside blocks here; change the candidate as text")
    read = read_step if inner_suppression(step) is None else read_suppression
    return read(step, form, data)


def move_step(desk: Desk, draft: Draft, form: Form) -> Done:
    """Do a step earlier or later; the page then holds the focus on it."""
    place, steps, at = _step(draft, form)
    to = form.whole("to", least=0, most=len(steps) - 1)
    moved = list(steps)
    moved.insert(to, moved.pop(at))
    own = _with(desk, draft, place, tuple(moved), f"chain.{place}")
    way = "up" if to < at else "down"
    name = type(steps[at]).__name__
    said = f"{name} is now step {to + 1} of {len(steps)}."
    return Done(_put(own), f"candidate {place + 1}: {said}", goto=f"mask?at={place}.{to}&way={way}", said=said)


def remove_step(desk: Desk, draft: Draft, form: Form) -> Done:
    """Take a step out of a candidate."""
    place, steps, at = _step(draft, form)
    left = (*steps[:at], *steps[at + 1 :])
    if not left:
        return remove(desk, draft, form)
    own = _with(desk, draft, place, left, f"chain.{place}")
    return Done(_put(own), f"step taken out of candidate {place + 1}: {steps[at]!r}", goto=f"mask?at={place}.0")


def _class(form: Form, field: str) -> type[Method]:
    found = catalogue.methods().get(form.text(field))
    if found is None:
        raise Refused(field, "choose a method")
    return found


def _candidate(draft: Draft, form: Form) -> int:
    return form.whole("candidate", least=0, most=len(draft.own) - 1)


def _step(draft: Draft, form: Form) -> tuple[int, tuple[Method, ...], int]:
    place = _candidate(draft, form)
    steps = steps_of(method_of(draft.own[place]))
    return place, steps, form.whole("step", least=0, most=len(steps) - 1)


def _with(desk: Desk, draft: Draft, place: int, steps: tuple[Method, ...], field: str) -> tuple[str, ...]:
    """Return the candidates with one put at a place; refuse what the table does not allow or is there already."""
    made = behind(None, steps)
    text = repr(made)
    if any(text == other for at, other in enumerate(draft.own) if at != place):
        raise Refused(field, "then two of your candidates would be the same; change one of them")
    if place >= MOST:
        raise Refused(field, f"{MOST} candidates of one's own are the most")
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
