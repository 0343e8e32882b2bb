"""The page of a method or measure: what it is, its formula, how to read it, when it misleads, where it comes from."""

import inspect
import re
from collections.abc import Sequence
from dataclasses import MISSING, fields

from sfumato.about import MeasureAbout, MethodAbout
from sfumato.core import Measure, Method

_DATA = "import sfumato\n\ndata = sfumato.household_survey(households=100)\n"
UNITS = {"share": "a share, shown in percent", "percent": "in percent", "number": "a number"}


def catalogue_page(cls: type[Method] | type[Measure]) -> str:
    """Return the Markdown page of a class, from its docstring and what is known of it."""
    about = cls.about
    parts = [f"# {cls.__name__}", f"*{about.title}*", f"```text\n{about.formula.strip()}\n```"]
    parts.insert(2, _described(inspect.getdoc(cls) or ""))
    if about.reading:
        parts += ["## How to read it", _sentence(about.reading)]
    if about.caveat:
        parts += ["## When it misleads", _sentence(about.caveat)]
    parts += ["## Parameters", _parameters(cls), "## What it does with the data", _facts(cls)]
    parts += ["## Try it", _example(cls), "## Source", _sentence(about.source)]
    return "\n\n".join(part for part in parts if part) + "\n"


def catalogue_index(methods: dict[str, type[Method]], measures: dict[str, type[Measure]]) -> str:
    """Return the page that lists every class, each with a link to its own."""
    lines = ["# Catalogue", "Every method and measure has a page; the same text is in `sfumato methods NAME`."]
    by_purpose = {
        purpose: [c for c in measures.values() if c.about.purpose == purpose] for purpose in ("risk", "utility")
    }
    sections: list[tuple[str, str, Sequence[type[Method] | type[Measure]]]] = [
        ("Methods", "methods", list(methods.values())),
        ("Measures of risk", "measures", by_purpose["risk"]),
        ("Measures of utility", "measures", by_purpose["utility"]),
    ]
    for title, folder, known in sections:
        rows = [
            f"| [{name}]({folder}/{name}.md) | {_flat(about.title)} | {', '.join(about.kinds)} |"
            for name, about in ((cls.__name__, cls.about) for cls in known)
        ]
        lines += [f"## {title}", "\n".join(["| Name | What it is | Kinds of variables |", "|---|---|---|", *rows])]
    return "\n\n".join(lines) + "\n"


def _described(doc: str) -> str:
    """Turn a docstring into Markdown: examples into code blocks, double back quotes into single ones."""
    paragraphs = []
    for paragraph in doc.split("\n\n"):
        if paragraph.lstrip().startswith(">>>"):
            paragraphs.append(f"```pycon\n{paragraph}\n```")
        elif re.search(r"^    ", paragraph, re.MULTILINE) and not re.match(r"\s*[-*]", paragraph):
            paragraphs.append(f"```text\n{inspect.cleandoc(paragraph)}\n```")
        else:
            paragraphs.append(paragraph.replace("``", "`").replace("<", "&lt;"))
    return "\n\n".join(paragraphs)


def _parameters(cls: type[Method] | type[Measure]) -> str:
    rows = []
    for entry in fields(cls):
        default = "required" if entry.default is MISSING else f"`{entry.default!r}`"
        rows.append(f"| `{entry.name}` | {_flat(default)} |")
    return "\n".join(["| Parameter | Default |", "|---|---|", *rows])


def _facts(cls: type[Method] | type[Measure]) -> str:
    about = cls.about
    facts = [("Kinds of variables", ", ".join(about.kinds)), ("Missing values", about.missing)]
    facts.append(("Survey weights", "used" if about.weights else "not used"))
    if isinstance(about, MethodAbout):
        facts.append(("Random", "yes: the seed decides the draw" if about.random else "no"))
        facts.append(("Records", "stay the same ones" if about.keeps_records else "are others: a sample, or synthetic"))
    elif isinstance(about, MeasureAbout):
        low, high = about.range
        facts.append(("Value", f"from {low:g} to {high:g}, {UNITS[about.unit]}; {about.better} is better"))
        facts.append(("Records", "must match one to one" if about.paired else "need not match, nor be as many"))
        if about.keys:
            facts.append(("Keys", "the variables with the role key, or those named in `variables`"))
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {_flat(value)} |" for name, value in facts)])


def _example(cls: type[Method] | type[Measure]) -> str:
    if issubclass(cls, Method):
        grid = {name: values[0] for name, values in cls.about.grid.items()}
        call = f"{cls.__name__}({', '.join(f'{name}={value!r}' for name, value in grid.items())})"
        shell = f'sfumato protect survey.csv --schema schema.toml --method "{call}"'
        python = f"{_DATA}masked = sfumato.{call}.protect(data, rng=1)"
    else:
        shell = f"sfumato compare survey.csv protected.csv --schema schema.toml --measure {cls.__name__}"
        python = (
            f"{_DATA}masked = sfumato.RankSwapping(0.05).protect(data, rng=1)\n"
            f"print(sfumato.{cls.__name__}().evaluate(data, masked, rng=1))"
        )
    return f"```python\n{python}\n```\n\n```sh\n{shell}\n```"


def _sentence(text: str) -> str:
    text = text.strip().replace("<", "&lt;")
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
