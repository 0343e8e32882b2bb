"""The page of a method or measure: what it is, its formula, how to read it, when it misleads, where it comes from."""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from sfumato import catalogue
from sfumato.about import Households, MeasureAbout, MethodAbout
from sfumato.core import Measure, Method

CataloguedClass = type[Method] | type[Measure]
OF_HOUSEHOLDS: dict[Households, str] = {
    "apart": "what the members of a household share is masked once for all, apart from the other variables",
    "whole": "what the members of a household share, they share afterwards",
    "suppressed": "what one member of a household loses of what they share, all lose",
    "suppressed again": "what one member of a household loses of what they share, all lose",
}
IN_PARTS = {
    "summaries": "yes, from summaries of each part",
    "columns": "yes, with the whole columns that are compared in memory",
    "sample": "yes, for a random sample of the records searched for in all parts, with its standard error",
    "memory": "no: all records must be in memory",
}
UNITS = {"share": "a share, shown in percent", "percent": "in percent", "number": "a number"}
KEYS, AMOUNTS = ["region", "sex", "age"], ["age", "hours", "earnings", "wealth"]  # of the examples
SECRET = (
    "`rng=1` makes the example repeatable. Whoever guesses the seed can undo what is random: for a release leave `rng` "
    "out, or keep a large one secret."
)


def catalogue_page(cls: CataloguedClass) -> str:
    """Return the Markdown page of a class, from its docstring and what is known of it."""
    about = cls.about
    first, *rest = (inspect.getdoc(cls) or "").split("\n\n")
    parts = [f"# {cls.__name__}", f"*{_text(about.title)}*", _prose(first, cls)]
    if about.formula:
        parts += ["## Formula", f"```{{ .text .formula }}\n{about.formula.strip()}\n```"]
    parts += ["## In detail", *(_paragraph(paragraph, cls) for paragraph in rest)] if rest else []
    if about.reading:
        title = "How to choose its parameters" if isinstance(about, MethodAbout) else "How to read it"
        parts += [f"## {title}", _prose(sentence(about.reading), cls)]
    if about.caveat:
        parts += ["## When it misleads", _prose(sentence(about.caveat), cls)]
    parts += ["## Parameters", _parameters(cls), "## What it does with the data", _facts(cls)]
    parts += ["## Try it", _example(cls), "## Source", _text(sentence(about.source))]
    return "\n\n".join(parts) + "\n"


def catalogue_index(methods: Mapping[str, type[Method]], measures: Mapping[str, type[Measure]]) -> str:
    """Return the page that lists every class, each with a link to its own."""
    lines = [
        "# Catalogue",
        "Every method and every measure has a page: what it is, its formula, how to read it, when it misleads, and its "
        "source. The terminal shows the same: `sfumato methods RankSwapping`, `sfumato measures DistanceLinkage`.",
    ]
    of: dict[str, list[type[Measure]]] = {"risk": [], "utility": []}
    for cls in measures.values():
        of[cls.about.purpose].append(cls)
    sections: list[tuple[str, Sequence[CataloguedClass]]] = [
        ("Methods", list(methods.values())),
        ("Measures of risk", of["risk"]),
        ("Measures of utility", of["utility"]),
    ]
    for title, known in sections:
        rows = [(f"[{cls.__name__}]({_address(cls)})", _text(cls.about.title), _kinds(cls)) for cls in known]
        lines += [f"## {title}", _table(("Name", "What it is", "Kinds of variables"), rows)]
    return "\n\n".join(lines) + "\n"


def facts(cls: CataloguedClass) -> list[tuple[str, str]]:
    """Say in plain words what a class does with the data, as pairs of a heading and a text."""
    about = cls.about
    told = [("Kinds of variables", _kinds(cls)), ("Missing values", about.missing)]
    told.append(("Survey weights", "used" if about.weights else "not used"))
    if about.column_order:
        told.append(("Order of the variables", "matters"))
    told.append(("Random", "yes: the seed decides the draw" if about.random else "no: the same again every time"))
    if isinstance(about, MethodAbout):
        told.append(("Records", "stay the same ones" if about.keeps_records else "are others: a sample, or synthetic"))
        if about.keeps_records:
            told.append(("Households", OF_HOUSEHOLDS[about.households]))
        if about.grid:
            told.append(("A sweep tries", "; ".join(f"{n} {_listed(values)}" for n, values in about.grid.items())))
        if about.neutral:
            nothing = ", ".join(f"{name}={value!r}" for name, value in about.neutral.items())
            told.append(("Changes nothing with", nothing))
    elif isinstance(about, MeasureAbout):
        told.insert(0, ("Measures", about.purpose))
        told.insert(1, ("Value", f"{_range(*about.range)}, {UNITS[about.unit]}; {about.better} is better"))
        matched = "record i of both tables must be one person" if about.paired else "need not match, nor be as many"
        told.append(("Records", matched))
        sees = "seen" if about.joint else "not seen: it looks at one variable at a time"
        told.append(("How variables hang together", sees))
        only = f" (with {about.parts_if}; otherwise in memory)" if about.parts_if else ""
        told.append(("Tables in parts", IN_PARTS[about.parts] + only))
        if about.keys:
            told.append(("Keys", "the variables of the role key, or those named in variables"))
    return told


def parameters(cls: CataloguedClass) -> list[tuple[str, str, str]]:
    """List the parameters of a class: name, what it takes, default."""
    entries = sorted(fields(cls), key=lambda entry: entry.name == "variables")
    unnamed = (
        "the keys" if isinstance(cls.about, MeasureAbout) and cls.about.keys else "all of its kinds, or as said above"
    )
    taken = {"variables": f"names of variables; None: {unnamed}"}
    return [(entry.name, taken.get(entry.name) or _takes(entry.type), _default(entry)) for entry in entries]


def sentence(text: str) -> str:
    """Begin with a capital, unless with the name of a parameter, and end with a full stop."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _kinds(cls: CataloguedClass) -> str:
    return ", ".join(cls.about.kinds)


def _range(low: float, high: float) -> str:
    if high == float("inf"):
        return f"from {low:g} up, without limit"
    return f"from {low:g} to {high:g}"


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(repr(value) if isinstance(value, str) else f"{value}" for value in values)


def _default(entry: Field[Any]) -> str:
    return "required" if entry.default is MISSING else repr(entry.default)


def _takes(hint: Any) -> str:
    """Say what a parameter takes, from its type."""
    words = dict.fromkeys(_spelled(part) for part in _alternatives(hint))
    return " or ".join(word for word in words if word)


def _alternatives(hint: Any) -> list[Any]:
    if get_origin(hint) in (Union, UnionType):
        return [part for alternative in get_args(hint) for part in _alternatives(alternative)]
    return [hint]


def _spelled(hint: Any) -> str:
    origin = get_origin(hint)
    if hint is type(None):
        return ""
    if origin is Literal:
        return ", ".join(map(repr, get_args(hint)))
    if origin is not None and issubclass(origin, Mapping):
        return "a dict"
    if origin is not None and issubclass(origin, Sequence):
        return "a list" if get_args(hint)[:1] != (str,) else "names of variables"
    named = {int: "a whole number", float: "a number", bool: "True or False", str: "a text", Method: "a method"}
    return named.get(hint, f"a {hint.__name__}")


# Markdown


def _address(cls: CataloguedClass) -> str:
    return f"{'methods' if issubclass(cls, Method) else 'measures'}/{cls.__name__}.md"


def _text(text: str) -> str:
    """Make text safe for Markdown; what stands in back quotes is code, in which nothing is to be made safe."""
    code = re.split(r"(`[^`]+`)", text.replace("``", "`"))
    return "".join(part if part.startswith("`") else _escaped(part) for part in code)


def _escaped(text: str) -> str:
    return re.sub(r"([*_\[\]\\])", r"\\\1", text).replace("<", "&lt;")


def _prose(text: str, cls: CataloguedClass) -> str:
    """Make text safe, and link the names of other classes to their pages."""
    text = re.sub(r":class:`~?([\w.]+)`", r"`\1`", text)
    safe = _text(text)

    def linked(found: re.Match[str]) -> str:
        other = _linkable().get(found["code"] or found["plain"])
        return found[0] if other is None or other is cls else f"[{other.__name__}](../{_address(other)})"

    return re.sub(r"`(?P<code>\w+)`|`[^`]+`|\b(?P<plain>[A-Z]+[a-z]*[A-Z0-9]\w*)\b", linked, safe)


@cache
def _linkable() -> dict[str, CataloguedClass]:
    return {**catalogue.methods(), **catalogue.measures()}


def _paragraph(text: str, cls: CataloguedClass) -> str:
    """Turn a paragraph of a docstring into Markdown: an example into a code block, a list into a list."""
    if text.lstrip().startswith(">>>"):
        return f"```pycon\n{text}\n```"
    if text.startswith("    "):
        return f"```text\n{inspect.cleandoc(text)}\n```"
    return _prose(text, cls)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [list(head), ["---"] * len(head), *([" ".join(cell.split()) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _facts(cls: CataloguedClass) -> str:
    return _table(("Property", "What holds"), [(heading, _text(told)) for heading, told in facts(cls)])


def _parameters(cls: CataloguedClass) -> str:
    rows = [
        (f"`{name}`", _text(takes), default if default == "required" else f"`{default}`")
        for name, takes, default in parameters(cls)
    ]
    return _table(("Parameter", "Takes", "Default"), rows)


def _example(cls: CataloguedClass) -> str:
    """Show the class at work on the demonstration survey, in Python and in the terminal."""
    python = ["import sfumato", "", "data = sfumato.household_survey(households=100)"]
    if issubclass(cls, Method):
        grid = {name: values[0] for name, values in cls.about.grid.items()}
        call = f"{cls.__name__}({', '.join(f'{name}={value!r}' for name, value in grid.items())})"
    else:
        call, chosen = "RankSwapping(0.05)", f"variables={AMOUNTS}"
        if cls.about.keys:
            call, chosen = f"LocalSuppression(3, variables={KEYS})", f"variables={KEYS}"
        elif cls.about.purpose == "risk" and not cls.about.paired:  # made for synthetic files
            call, chosen = "CARTSynthesis()", ""
    inside = re.sub(r"(?<=of=)(?=\w)", "sfumato.", call)
    python += [f"masked = sfumato.{inside}.protect(data, rng=1)"]
    shell = f'sfumato protect survey.csv --schema schema.toml --method "{call}"'
    if issubclass(cls, Method):
        python += ["print(masked)"]
    else:
        measure = f"{cls.__name__}({chosen})"
        python += [f"print(sfumato.{measure}.evaluate(data, masked, rng=1))"]
        shell = f'sfumato compare survey.csv protected.csv --schema schema.toml --measure "{measure}"'
    lines = "\n".join(python)
    return f"```python\n{lines}\n```\n\n{SECRET}\n\n```sh\n{shell}\n```"
