"""A form for any method: its parameters as fields, filled from a method or from what was sent, and read back.

What is read goes through the text that the command line takes, so that a page can say nothing that a terminal cannot.
"""

import ast
import math
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from sfumato import catalogue
from sfumato.about import Group
from sfumato.compare.figures import listed
from sfumato.composition import Chain, Within
from sfumato.core import Method
from sfumato.errors import NotApplicable, SfumatoError
from sfumato.methods import LocalSuppression, VariableRemoval
from sfumato.table.microdata import Microdata
from sfumato.workbench.screens.screen import Form, Refused

# Values as they are typed into fields, and as Python writes them: numbers, variables, lists, methods, texts


def variable(said: str, known: Iterable[str]) -> str:
    """Return the variable that a form names: a browser sends every line end as two characters."""
    return next((name for name in known if _lines(name) == _lines(said)), said)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def number(form: Form, name: str) -> str:
    """Return a number of a form as Python writes it, whole if it was typed so; refuse what is none."""
    value, said = form.number(name), form.text(name)
    if not math.isfinite(value):
        raise Refused(name, f"a number is needed here; got {said!r}")
    return str(int(said)) if re.fullmatch(r"[+-]?\d+", said) else repr(value)


def literal(said: str) -> str:
    """Return what was typed as Python reads it: a number, a list, a method; anything else is a text.

    >>> literal("[18, 65]"), literal("10 years"), literal("MDAV(k=3)")
    ('[18, 65]', "'10 years'", 'MDAV(k=3)')
    """
    try:
        ast.literal_eval(said)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return said if _is_call(said) else repr(said)
    return said


def _is_call(said: str) -> bool:
    try:
        found = ast.parse(said, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return _calls(found)


def _calls(node: ast.expr) -> bool:
    """Tell whether something is a call, or several joined by +."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and _calls(node.left) and _calls(node.right)
    return isinstance(node, ast.Call)


def shown(value: Any) -> str:
    """Return a value as it is typed into a field, so that ``literal`` reads it back."""
    bare = isinstance(value, str) and value.strip() == value and literal(value) == repr(value)
    return cast(str, value) if bare else repr(value)


def label_of(method: type[Method], parameter: str) -> str:
    """Return what a parameter is called; of a method that is not our own, by its name.

    >>> from sfumato import MDAV
    >>> label_of(MDAV, "at_a_time")
    'Variables grouped at a time; none: all together (at_a_time)'
    """
    return method.about.labels.get(parameter) or (
        "Variables" if parameter == "variables" else parameter.replace("_", " ")
    )


def group_of(method: type[Method]) -> Group:
    """Return the group that a method stands in; one that names none by what else its About tells."""
    about = method.about
    if about.group is not None:
        return about.group
    if not about.keeps_records:
        return "Sample" if about.draws else "Synthesise"
    return "Change categories" if set(about.kinds) <= {"ordinal", "nominal"} else "Change numbers"


# the form of a method

Shape = Literal["whole", "number", "flag", "choice", "names", "ordered", "rows", "number or rows", "text"]
EMPTY_ROWS = 3  # empty rows at the end of a list
WITHIN = "within"  # of the field that says inside which categories a step is done


@dataclass(frozen=True)
class Field:
    """One parameter on a page: what it is called, what may be said, and what is."""

    name: str
    label: str
    shape: Shape
    required: bool = False
    default: str = ""  # what holds if nothing is said
    choices: tuple[str, ...] = ()  # to choose from, or, of a text, to begin with
    variables: tuple[str, ...] = ()  # that may be named
    numbers: bool = False  # whether what is said of a variable is a number
    main: bool = True  # whether it is shown at once: it is needed, or tried by a sweep, or not left as it is by default
    value: str = ""
    ticked: tuple[str, ...] = ()
    rows: tuple[tuple[str, str], ...] = ()  # of a variable and what is said of it, empty ones at the end

    @property
    def sent(self) -> str:
        """The name under which a page sends it."""
        return f"parameter.{self.name}"


def usual(method: type[Method]) -> Method:
    """Return a method to begin with: of those that a sweep tries, one that makes three records alike, or the first."""
    found = catalogue.default_grid(method)
    return next((one for one in found if getattr(one, "k", None) == 3), found[0])


def has_form(step: Method) -> bool:
    """Tell whether a step can be shown as a form: not if several methods are done inside blocks."""
    return not isinstance(step, Within) or not isinstance(step.method, Chain | Within)


def fields_of(step: Method, data: Microdata) -> tuple[Field, ...]:
    """Return the fields of a step, with its values."""
    inner = step.method if isinstance(step, Within) else step
    made = [_field(inner, name, kind, data) for name, kind in _kinds(type(inner))]
    by = step.by if isinstance(step, Within) else ()
    label = "Only inside each category of (within)"
    variables = _first(by, data.schema.analysed("ordinal", "nominal", "date"))
    whole = "the whole table at once"
    made.append(Field(WITHIN, label, "names", default=whole, variables=variables, ticked=by, main=bool(by)))
    return tuple(made)


def read_step(step: Method, form: Form, data: Microdata) -> Method:
    """Return the method that a form of ``step`` says; what its class refuses is shown at the field that it is about."""
    inner = step.method if isinstance(step, Within) else step
    known = fields_of(step, data)
    said = {one.name: text for one in known if (text := _said(one, form)) is not None}
    blocks = said.pop(WITHIN, None)
    made = _made(type(inner), said, known)
    if blocks is None:
        return replace(step, method=made) if isinstance(step, Within) and step.blocks is not None else made
    least = step.least if isinstance(step, Within) else Within.least
    try:
        return made.within(*ast.literal_eval(blocks), least=least)
    except SfumatoError as error:
        raise Refused(f"parameter.{WITHIN}", _unnamed(str(error))) from None


def _made(cls: type[Method], said: Mapping[str, str], known: tuple[Field, ...]) -> Method:
    text = f"{cls.__name__}({', '.join(f'{name}={value}' for name, value in said.items())})"
    try:
        found = catalogue.parse(text)
    except SfumatoError as error:
        raise Refused(blamed(str(error), known), _unnamed(str(error))) from None
    if len(found) != 1:
        several = next((one.sent for one in known if said.get(one.name, "").startswith("[")), known[0].sent)
        raise Refused(several, "one value is needed here; several at once are written as text, see below")
    return cast(Method, found[0])


def blamed(message: str, known: tuple[Field, ...], otherwise: str = "") -> str:
    """Return the field that a refusal is about: the first parameter that it names, or else another."""
    places = {one.sent: re.search(rf"\b{re.escape(one.name)}\b", _unnamed(message)) for one in known}
    named = {sent: found.start() for sent, found in places.items() if found is not None}
    return min(named, key=lambda sent: named[sent]) if named else otherwise or known[0].sent


def _unnamed(message: str) -> str:
    """Leave out the class that speaks, which the form shows."""
    return re.sub(r"^[A-Z]\w*: ", "", message)


# what a parameter is


@dataclass(frozen=True)
class _Kind:
    """What the type of a parameter says of it."""

    shape: Shape
    choices: tuple[str, ...] = ()
    numbers: bool = False


def _kinds(cls: type[Method]) -> Iterator[tuple[str, _Kind]]:
    """Return the parameters of a class in order, the variables last."""
    try:
        hints = get_type_hints(cls)
    except NameError:  # of a plug-in that imports its types for checkers only
        hints = {}
    for entry in sorted(fields(cls), key=lambda entry: entry.name == "variables"):
        kind = _kind(hints.get(entry.name, Any))
        yield entry.name, replace(kind, shape="ordered") if entry.name == "order" and kind.shape == "names" else kind


def _kind(hint: Any) -> _Kind:
    """Read a type.

    >>> _kind(float | Mapping[str, float] | None)
    _Kind(shape='number or rows', choices=(), numbers=True)
    """
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    parts = tuple(part for part in parts if part is not type(None))
    named = [get_args(part) for part in parts if get_origin(part) is Mapping or _abstract(part)]
    choices = tuple(str(one) for part in parts if get_origin(part) is Literal for one in get_args(part))
    scalar = any(part in (int, float) for part in parts)
    if named and all(key is str for key, _ in named):
        numbers = all(value in (int, float) for _, value in named)
        return _Kind("number or rows" if scalar else "rows", numbers=numbers)
    if parts == (bool,):
        return _Kind("flag")
    if choices and len(parts) == 1:
        return _Kind("choice", choices)
    if scalar and len(parts) == 1:
        return _Kind("whole" if parts == (int,) else "number")
    if len(parts) == 1 and get_args(parts[0]) == (str, ...):
        return _Kind("names")
    return _Kind("text", choices)


def _abstract(part: Any) -> bool:
    origin = get_origin(part)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _field(method: Method, name: str, kind: _Kind, data: Microdata) -> Field:
    cls, value = type(method), getattr(method, name)
    entry = next(entry for entry in fields(cls) if entry.name == name)
    required = entry.default is MISSING and entry.default_factory is MISSING
    made = Field(
        name,
        label_of(cls, name),
        kind.shape,
        required=required,
        default="" if required or entry.default in (None, MISSING) else shown(entry.default),
        choices=kind.choices,
        numbers=kind.numbers,
        main=required or name in cls.about.grid or name == "variables" or value != entry.default,
    )
    if kind.shape in ("names", "ordered", "rows", "number or rows"):
        made = replace(made, variables=_nameable(method, name, data))
    if kind.shape == "names":
        ticked = tuple(value or ())
        default = _taken(method, data) if name == "variables" else "none"
        return replace(made, ticked=ticked, variables=_first(ticked, made.variables), default=default)
    if kind.shape == "ordered":
        rows = tuple((one, "") for one in value or ())
        return replace(made, rows=_spared(rows), default="as they stand in the table")
    if isinstance(value, Mapping) and kind.shape in ("rows", "number or rows"):
        return replace(made, rows=_spared(tuple((str(of), shown(one)) for of, one in value.items())))
    return replace(made, rows=_spared(()), value=_value(kind.shape, value))


def _value(shape: Shape, value: Any) -> str:
    if value is None:
        return ""
    if shape in ("whole", "number", "number or rows"):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return ("on" if value else "") if shape == "flag" else shown(value)


def _nameable(method: Method, name: str, data: Microdata) -> tuple[str, ...]:
    """Name the variables that may stand in a parameter."""
    if isinstance(method, VariableRemoval):
        return data.names
    return data.schema.analysed(*(method.about.kinds if name == "variables" else ()))


def _taken(method: Method, data: Microdata) -> str:
    """Say what is masked if no variable is named."""
    try:
        return listed(replace(method, variables=None).masked(data), most=6)
    except (NotApplicable, SfumatoError):
        return "all that it can take"


def _first(ticked: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Put what is ticked first, in its order, though the table may not have it."""
    return *ticked, *(name for name in names if name not in ticked)


def _spared(rows: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return *rows, *(("", "") for _ in range(EMPTY_ROWS))


# what is said


def _names(one: Field, form: Form) -> tuple[str, ...]:
    """Return the variables that were ticked; each box has a name of its own, so that an address can hold them."""
    begins = f"{one.sent}."
    return tuple(variable(form.texts(name)[-1], one.variables) for name in form.names() if name.startswith(begins))


def _rows(one: Field, form: Form) -> Iterator[tuple[str, str]]:
    places = (name for name in form.names() if name.startswith(f"{one.sent}.") and name.endswith(".variable"))
    for place in places:
        yield variable(form.texts(place)[-1], one.variables), form.text(place.removesuffix("variable") + "value")


def _said(one: Field, form: Form) -> str | None:
    """Return what a field says as the text of a parameter; None if it says nothing."""
    if one.shape == "flag":
        return str(form.has(one.sent))
    if one.shape == "names":
        return repr(names) if (names := _names(one, form)) else None
    if one.shape == "ordered":
        order = tuple(variable for variable, _ in _rows(one, form) if variable)
        return repr(order) if order else None
    by_variable = _mapping(one, form) if one.shape in ("rows", "number or rows") else None
    said = form.text(one.sent)
    if by_variable is not None and said and said != one.default:
        raise Refused(one.sent, "say it for all variables or for single ones, not both")
    if by_variable is not None:
        return by_variable
    if not said:
        if one.required:
            raise Refused(one.sent, "this is needed")
        return None
    if one.shape in ("whole", "number", "number or rows"):
        return number(form, one.sent)
    return repr(said) if one.shape == "choice" else literal(said)


def _mapping(one: Field, form: Form) -> str | None:
    """Return what is said by variable; None if nothing is."""
    entries: dict[str, str] = {}
    for name, said in _rows(one, form):
        if not name and not said:
            continue
        if not name or not said:
            lacks = f"a value for {name}" if name else f"the variable that {said} is for"
            raise Refused(one.sent, f"{lacks} is missing")
        if name in entries:
            raise Refused(one.sent, f"{name} is said twice")
        entries[name] = number(Form([(one.sent, said)]), one.sent) if one.numbers else literal(said)
    return f"{{{', '.join(f'{name!r}: {said}' for name, said in entries.items())}}}" if entries else None


# The form of local suppression: which keys, how dear each is, and how much of it may go

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
