"""Options that several commands share, and where their messages and results go."""

import shlex
import sys
from collections.abc import Callable
from dataclasses import Field, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.display import visible
from sfumato.project.options import DEFAULTS, HELP, SweepOptions
from sfumato.project.reading import read_bounds
from sfumato.table.sample_size import FEWEST

if TYPE_CHECKING:
    from rich.console import Console

BOUNDS = ("at_most", "at_least")

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")]
TableFile = Annotated[
    Path, typer.Argument(help="A CSV, Parquet, Excel, R, SPSS, Stata or SAS file.", show_default=False)
]
TableOrParts = Annotated[
    Path,
    typer.Argument(
        help="A CSV, Parquet, Excel, R, SPSS, Stata or SAS file; of a table in parts its folder or a pattern.",
        show_default=False,
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Of tables in parts: local (default), here, dask://host:port, spark://host:port or ray://host:port.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help='Of tables in parts: memory to use, such as "2 GB"; half of what is free.'),
]
SampleSize = Annotated[int, typer.Option("--sample", min=FEWEST, help=HELP["sample"])]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="The schema.toml that `sfumato inspect` wrote and you edited.")
]
Seed = Annotated[int | None, typer.Option(min=0, help=HELP["seed"])]
Workers = Annotated[int | None, typer.Option(min=1, help=HELP["workers"])]
MeasureTexts = Annotated[list[str] | None, typer.Option("--measure", help=HELP["measures"])]
Population = Annotated[float | None, typer.Option(min=1, help=HELP["population"])]


def with_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options of a sweep, as :class:`SweepOptions` declares them; it gets them as ``options``."""
    declared = [one for one in fields(SweepOptions) if one.name in names]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in signature(command, eval_str=True).parameters.values() if p.name != "options"]
        options = [_parameter(one) for one in declared]
        least = next((k for k, p in enumerate(own) if p.name in ("engine", "json")), len(own))
        parameters = Signature([*own[:least], *options, *own[least:]])

        @wraps(command)
        def called(*words: Any, **given: Any) -> None:
            asked = parameters.bind(*words, **given)
            asked.apply_defaults()
            read = {name: _read(name, asked.arguments.pop(name)) for name in names}
            command(**asked.arguments, options=read)

        called.__signature__ = parameters  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters.parameters.values()}
        return called

    return decorate


def _parameter(option: Field[Any]) -> Parameter:
    """Return an option of a sweep as typer reads it."""
    told, name = option.metadata, option.name
    word, kind = told.get("word", f"--{name.replace('_', '-')}"), option.type
    if name == "candidates":
        kind = list[Path] | None
    elif "word" in told or name in BOUNDS:
        kind = list[str] | None
    elif name == "first":
        kind = str | None
    elif name == "out":
        kind = Path
    words = [f"{word}/--no-{word[2:]}" if option.default is True else word]
    limits = {edge: told[key] for edge, key in (("min", "least"), ("max", "most")) if key in told}
    default = None if "word" in told or name in BOUNDS else option.default
    annotation = Annotated[kind, typer.Option(*words, help=told["help"], **limits)]  # type: ignore[valid-type]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _read(name: str, given: Any) -> Any:
    """Return an option as it was meant: bounds as numbers, nothing said as nothing."""
    if name in BOUNDS:
        return read_bounds(f"--{name.replace('_', '-')}", given or ())
    return given if given is not None or DEFAULTS[name] is None else DEFAULTS[name]


def console(*, stderr: bool = False) -> "Console":
    """Return where to print: messages go to standard error, results to standard output."""
    from sfumato.cli.screen import Screen

    return Screen(stderr=stderr)


def say(message: str) -> None:
    """Print a message that is not a result; what a file holds is shown, not obeyed by the terminal."""
    typer.echo(visible(message), err=True)


def tell(message: str) -> None:
    """Print a line that is a result."""
    typer.echo(visible(message))


def command_line(seed: int | None = None) -> str:
    """Return the command as it was typed, with the seed that was drawn where none was said."""
    words = ["sfumato", *sys.argv[1:]]
    if seed is not None and not any(word.split("=")[0] == "--seed" for word in words):
        words += ["--seed", str(seed)]
    return shlex.join(words)


def print_json(thing: Any) -> None:
    """Print a result as JSON."""
    from sfumato.compare.plain import to_json

    typer.echo(to_json(thing, indent=1))
