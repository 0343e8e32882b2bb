"""Scripts that make a release again, byte for byte, in a folder that holds nothing but the data file.

They state everything that a plan settled: schema, methods, measures, bounds, seed. They are as internal as the seed is.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sfumato
from sfumato.errors import ParameterError
from sfumato.project.options import Tell, named, unheard
from sfumato.project.reading import read_measures, read_methods
from sfumato.project.tables import digest
from sfumato.table.sample_size import FEWEST

if TYPE_CHECKING:
    from sfumato.core import Measure, Method
    from sfumato.project.plan import Plan

OUT, SCHEMA = "sweep", "reproduce.schema.toml"  # no name that another file beside the data may have
SHELL, PYTHON = "reproduce.sh", "reproduce.py"


def write_scripts(plan: "Plan", tell: Tell = unheard) -> None:
    """Write both scripts into the folder of a plan, for its owner alone; say so if it cannot be told as text."""
    from sfumato.report.page import save

    try:
        written = {SHELL: shell_script(plan), PYTHON: python_script(plan)}
    except ParameterError as refusal:
        for name in (SHELL, PYTHON):
            (plan.out / name).unlink(missing_ok=True)  # those of another plan would mislead
        tell(f"no script that makes the release again: {refusal}")
        return
    for name, text in written.items():
        save(plan.out / name, text.encode())


def shell_script(plan: "Plan") -> str:
    """Return a script for the shell that runs a plan again: it writes the schema and calls ``sfumato sweep``."""
    schema = schema_of(plan)
    end = _end_mark(schema)
    words = [["sfumato", "sweep", _of_parts(plan)], ["--schema", SCHEMA], *_options(plan), ["--out", OUT]]
    command = " \\\n  ".join(shlex.join(group) for group in words)
    said = "".join(f"# {line}\n" for line in _heading(plan))
    return f"#!/bin/sh\n{said}set -eu\n\ncat > {SCHEMA} <<'{end}'\n{schema}{end}\n\n{command}\n"


def python_script(plan: "Plan") -> str:
    """Return a Python script that runs a plan again: it writes the schema and calls ``sfumato.sweep``."""
    schema = "".join(f"    {line!r}\n" for line in schema_of(plan).splitlines(keepends=True))
    said = "".join(f"# {line}\n" for line in _heading(plan))
    given = "".join(f"        {line},\n" for line in _arguments(plan))
    return (
        f"{said}from pathlib import Path\n\nimport sfumato\n\nSCHEMA = (\n{schema})\n\n"
        'if __name__ == "__main__":\n'
        f"    Path({SCHEMA!r}).write_bytes(SCHEMA.encode())\n"
        f"    summary = sfumato.sweep(\n{given}        tell=print,\n    )\n"
        "    print(summary.verdict.words)\n"
    )


def schema_of(plan: "Plan") -> str:
    """Return the schema of the original as a text that needs no file beside it: hierarchies are written out.

    What names units is not listed: the data file has it.
    """
    from sfumato.table.schema_file import schema_text

    schema = plan.data.schema.unnamed()
    named = (v for v in schema if v.hierarchy is not None)
    bare = schema.replace(*(replace(v, hierarchy=replace(v.hierarchy, file=None)) for v in named if v.hierarchy))
    return schema_text(bare).rstrip("\n") + "\n"


def _heading(plan: "Plan") -> Iterator[str]:
    yield f"Makes a release again with Sfumato {sfumato.__version__}. Internal: it holds the seed."
    if plan.whole is None:
        yield f"Beside it has to stand {_beside(plan.file)!r}, SHA-256 {digest(plan.file)}"
    else:
        yield f"Beside it has to stand the table in parts {_of_parts(plan)!r}, fingerprint {plan.whole.fingerprint}"
    for path in plan.candidates:
        yield f"and {_beside(path)!r} with its notes, SHA-256 {digest(path)}"


def _beside(path: Path) -> str:
    """Name a file as it stands beside the script; none is mistaken for an option."""
    return f"./{path.name}" if path.name.startswith("-") else path.name


def _of_parts(plan: "Plan") -> str:
    """Name the table as it stands beside the script; of one in parts, its folder and the pattern in it."""
    if plan.whole is None or plan.file.is_dir():
        return _beside(plan.file)
    return f"./{plan.name}/{plan.file.name}"


def _end_mark(text: str) -> str:
    """Return a word that ends the text for the shell, and that no line of the text is."""
    mark, lines = "END_OF_SCHEMA", set(text.splitlines())
    while mark in lines:
        mark += "_"
    return mark


def _options(plan: "Plan") -> Iterator[list[str]]:
    """Write a plan as options, each with its value."""
    for name, value in _said(plan):
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            yield [option if value else option.replace("--", "--no-", 1)]
        elif isinstance(value, dict):
            yield from ([option, f"{key}={limit!r}"] for key, limit in value.items())
        elif isinstance(value, tuple):
            yield from ([_SINGULAR[name], entry] for entry in value)
        else:
            yield [option, str(value)]


_SINGULAR = {"methods": "--method", "measures": "--measure", "candidates": "--candidate"}


def _arguments(plan: "Plan") -> Iterator[str]:
    """Write a plan as arguments of ``sfumato.sweep``."""
    yield repr(_of_parts(plan))
    yield f"schema={SCHEMA!r}"
    for name, value in _said(plan):
        if isinstance(value, tuple):
            listed = "".join(f"            {entry!r},\n" for entry in value)
            yield f"{name}=[\n{listed}        ]"
        else:
            yield f"{name}={value!r}"
    yield f"out={OUT!r}"


def _said(plan: "Plan") -> Iterator[tuple[str, Any]]:
    """Name everything that a plan states, as ``sfumato.sweep`` calls it; what is as by default is left out."""
    if plan.methods:
        yield "methods", _texts(plan.methods)
    yield "measures", _texts(plan.measures)
    for name in ("at_most", "at_least"):
        if bounds := dict(getattr(plan, name)):
            yield name, bounds
    yield "utility", plan.utility
    yield "risk", plan.risk
    if plan.candidates:
        yield "candidates", tuple(map(_beside, plan.candidates))
    yield "replicates", plan.replicates
    yield "seed", plan.seed
    settled = named("settled")
    yield from ((name, value) for name, value in plan.given().items() if name not in settled)
    if plan.whole is not None:
        yield "sample", max(len(plan.data), FEWEST)


def _texts(things: "Sequence[Method] | Sequence[Measure]") -> tuple[str, ...]:
    """Write methods or measures as they are read again; refuse what would be read as something else."""
    from sfumato.core import Method

    texts = tuple(map(repr, things))
    for thing, text in zip(things, texts, strict=True):
        read: Sequence[Any] = read_methods([text]) if isinstance(thing, Method) else read_measures([text])
        if [repr(one) for one in read] != [text]:
            raise ParameterError(f"{text} cannot be written into a script: it would be read as {read}")
    return texts
