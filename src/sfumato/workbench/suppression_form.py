"""The form of local suppression: which keys, how dear each is, and how much of it may go."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

from sfumato.composition import Within
from sfumato.core import Method
from sfumato.data.microdata import Microdata
from sfumato.methods import LocalSuppression
from sfumato.workbench.method_forms import Field, fields_of, read_step
from sfumato.workbench.screens.screen import Form, Refused
from sfumato.workbench.typed_values import variable

Which = Literal["role", "scenarios", "chosen", "sets"]
ELSEWHERE = ("variables", "sets", "importance", "caps")  # parameters that the list of keys says


@dataclass(frozen=True)
class Key:
    """One variable in the list of keys."""

    name: str
    label: str
    ticked: bool
    importance: str
    never: bool
    cap: str  # in percent


@dataclass(frozen=True)
class SuppressionForm:
    """Local suppression as it is shown: what the list of keys says, and the other parameters as fields."""

    which: Which
    sets: str
    keys: tuple[Key, ...]  # those that somebody knows or that the step names
    others: tuple[str, ...]
    scenarios: tuple[str, ...]
    fields: tuple[Field, ...]


def inner_suppression(step: Method) -> LocalSuppression | None:
    """Return the suppression that a step is, if it is one, alone or inside blocks."""
    inner = step.method if isinstance(step, Within) else step
    return inner if isinstance(inner, LocalSuppression) else None


def suppression_form(step: Method, method: LocalSuppression, data: Microdata) -> SuppressionForm:
    """Return the form of a suppression."""
    schema = data.schema
    stated = [name for keys, _ in method.sets for name in keys] if isinstance(method.sets, tuple) else []
    knows = [name for intruder in schema.intruders() for name in intruder.keys]
    named = [*(method.variables or ()), *stated, *(method.importance or {}), *(method.caps or {}), *knows]
    named += [*schema.analysed(role="key")]
    first = list(dict.fromkeys(named))
    which: Which = "chosen" if method.variables is not None else "role"
    if method.sets is not None:
        which = "scenarios" if method.sets == "scenarios" else "sets"
    keys = set(method.variables or schema.analysed(role="key"))
    return SuppressionForm(
        which=which,
        sets=repr(method.sets) if which == "sets" else "",
        keys=tuple(_key(name, method, data, ticked=name in keys) for name in first),
        others=tuple(name for name in schema.analysed() if name not in first),
        scenarios=tuple(intruder.name for intruder in schema.scenarios),
        fields=tuple(one for one in fields_of(step, data) if one.name not in ELSEWHERE),
    )


def _key(name: str, method: LocalSuppression, data: Microdata, *, ticked: bool) -> Key:
    cap = (method.caps or {}).get(name)
    worth = (method.importance or {}).get(name)
    return Key(
        name,
        data.schema[name].label if name in data.schema else "",
        ticked=ticked,
        importance="" if worth is None else f"{worth:g}" if float(f"{worth:g}") == worth else repr(worth),
        never=cap == 0,
        cap=percent(cap) if cap else "",
    )


def read_suppression(step: Method, form: Form, data: Microdata) -> Method:
    """Return the suppression that a form says."""
    return read_step(step, Form([*_translated(form, data)]), data)


def _translated(form: Form, data: Microdata) -> Iterator[tuple[str, str]]:
    """Say what the list of keys says by parameter, as the form of any method does."""
    apart = tuple(f"parameter.{name}" for name in ELSEWHERE)
    yield from ((name, form.texts(name)[-1]) for name in form.names() if not name.startswith(apart))
    which = form.text("parameter.which", "role")
    if which == "scenarios":
        yield "parameter.sets", "scenarios"
    elif which == "sets":
        if not form.text("parameter.sets"):
            raise Refused("parameter.sets", "write the sets of keys, such as ((('region', 'age'), 3), (('job',), 5))")
        yield "parameter.sets", form.text("parameter.sets")
    places = [name.removesuffix(".name") for name in form.names() if name.startswith("key.") and name.endswith(".name")]
    others = [name for name in form.names() if name.startswith("other.")]
    if which == "chosen" and not others and not any(form.has(f"{place}.ticked") for place in places):
        raise Refused("parameter.variables", "tick at least one key")
    if which == "chosen":
        yield from (
            (name.replace("other.", "parameter.variables.o"), variable(form.texts(name)[-1], data.names))
            for name in others
        )
    for number, place in enumerate(places):
        name, ticked = variable(form.texts(f"{place}.name")[-1], data.names), form.has(f"{place}.ticked")
        if which == "chosen" and ticked:
            yield f"parameter.variables.{number}", name
        if which == "chosen" and not ticked:
            continue  # what is said of a variable that is no key says nothing
        worth, cap = form.text(f"{place}.importance"), form.text(f"{place}.cap")
        if worth not in ("", "1"):
            yield f"parameter.importance.{number}.variable", name
            yield f"parameter.importance.{number}.value", worth
        if form.has(f"{place}.never") or cap:
            yield f"parameter.caps.{number}.variable", name
            yield f"parameter.caps.{number}.value", "0" if form.has(f"{place}.never") else share(cap, "parameter.caps")


def percent(value: float) -> str:
    """Write a share in percent, to the last digit.

    >>> percent(0.05), percent(0.001), percent(1.0)
    ('5', '0.1', '100')
    """
    return f"{(Decimal(repr(float(value))) * 100).normalize():f}"


def share(said: str, field: str) -> str:
    """Read a percentage as a share, to the last digit; refuse what is none at its field.

    >>> share("5", "cap"), share("0,1 %", "cap")
    ('0.05', '0.001')
    """
    try:
        value = Decimal(said.replace("%", "").replace(",", ".").strip()) / 100
    except InvalidOperation:
        raise Refused(field, f"a percentage is needed here, such as 5; got {said!r}") from None
    if not value.is_finite() or not 0 <= value <= 1:
        raise Refused(field, f"a percentage from 0 to 100 is needed here; got {said}")
    return f"{value:f}"
