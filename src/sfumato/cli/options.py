"""Options that several commands share, and how their texts are read."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.display import visible
from sfumato.errors import FileError, ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.core import Measure, Method
    from sfumato.data.microdata import Microdata

Audience = Literal["internal", "external"]
LARGE, SLOW = 10_000, ("ProbabilisticLinkage",)
WIDE = 10  # variables up to which a propensity model of second order is tried unasked

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")]
TableFile = Annotated[
    Path, typer.Argument(help="A CSV, Parquet, Excel, R, SPSS, Stata or SAS file.", show_default=False)
]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="The schema.toml that `sfumato inspect` wrote and you edited.")
]
Encoding = Annotated[str | None, typer.Option(help="The encoding of text files that are not UTF-8, such as cp1252.")]
Delimiter = Annotated[str | None, typer.Option(help="The delimiter of text files, where it cannot be told.")]
Decimal = Annotated[str | None, typer.Option(help="The decimal sign of text files, where it cannot be told.")]
GUESSABLE = 2**40  # seeds below are tried out in no time

Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Fixes every random draw. Without it one is drawn and noted. "
        "Keep it secret: whoever knows it can undo random methods.",
    ),
]
KeepOrder = Annotated[
    bool,
    typer.Option(
        "--keep-order",
        help="Leave the records in their order, which tells who lives or was asked together; random by default.",
    ),
]
KeepWeights = Annotated[
    bool,
    typer.Option("--keep-weights", help="Leave the survey weights as they are, even if they give values back."),
]
KeepHouseholds = Annotated[
    bool,
    typer.Option(
        "--keep-households",
        help="Leave the numbers of the households, even if a protected size can be counted from them.",
    ),
]
DespiteAudit = Annotated[
    bool, typer.Option("--despite-audit", help="Release a table although the rest of it gives values back.")
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes to use; all cores but one if not said.")]
MeasureTexts = Annotated[
    list[str] | None,
    typer.Option("--measure", help='A measure such as "Reidentification"; may be said several times.'),
]
Population = Annotated[
    float | None,
    typer.Option(min=1, help="What design weights should sum to, if they were rescaled: the size of the population."),
]
NAMING = ("variables", "targets", "confidential", "first", "known", "scales")  # parameters that name variables


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


def settled_seed(seed: int | None) -> int:
    """Return the seed that was said, with a warning if it can be guessed, or one that is drawn."""
    from sfumato.compare.seeds import drawn_seed

    if seed is not None and seed < GUESSABLE:
        say("a seed this small can be guessed, and then random methods undone; leave --seed out for a release")
    return drawn_seed() if seed is None else seed


def print_json(thing: Any) -> None:
    """Print a result as JSON."""
    from sfumato.compare.plain import to_json

    typer.echo(to_json(thing, indent=1))


def workers_or_default(workers: int | None) -> int:
    """Return how many processes to use: all cores but one, so that the machine stays usable."""
    import os

    return workers or max((os.cpu_count() or 2) - 1, 1)


def read_methods(texts: Iterable[str]) -> "list[Method]":
    """Read method texts such as ``MDAV(k=[3, 5])``."""
    from sfumato.core import Method

    return _read(texts, Method, "method", "sfumato methods")


def read_measures(texts: Iterable[str]) -> "list[Measure]":
    """Read measure texts such as ``Reidentification``."""
    from sfumato.core import Measure

    return _read(texts, Measure, "measure", "sfumato measures")


def _read(texts: Iterable[str], kind: type[Any], word: str, where: str) -> list[Any]:
    from sfumato.catalogue import parse

    found: dict[str, Any] = {}
    for text in texts:
        for made in parse(text):
            if not isinstance(made, kind):
                raise ParameterError(f"{text!r} is not a {word}; see `{where}`")
            found[repr(made)] = made
    return list(found.values())


def affordable(measures: "list[Measure]", data: "Microdata") -> "list[Measure]":
    """Leave out, or take a quicker form of, what would take long and was not asked for by name; and say so."""
    from sfumato.utility import PropensityUtility

    kept = [m for m in measures if len(data) <= LARGE or type(m).__name__ not in SLOW]
    if len(kept) < len(measures):
        say(f"left out, for there are more than {LARGE:,} records: {', '.join(SLOW)}; ask for it with --measure")
    if PropensityUtility() in kept and len(data.schema.analysed()) > WIDE:
        kept[kept.index(PropensityUtility())] = PropensityUtility(model="tree", permutations=20)
        say(
            f"PropensityUtility by a tree and 20 permutations, for there are more than {WIDE} variables: a model of "
            "second order has too many terms; ask for it with --measure PropensityUtility"
        )
    return kept


def read_bounds(option: str, texts: Iterable[str]) -> dict[str, float]:
    """Read bounds such as ``DistanceLinkage=0.05`` or ``DistanceLinkage=5%``.

    A measure with parameters goes by its repr, however it was written; beside it, the name alone is that by defaults.

    >>> read_bounds("--at-most", ["DistanceLinkage=5%", "InformationLoss = 30"])
    {'DistanceLinkage': 0.05, 'InformationLoss': 30.0}
    >>> read_bounds("--at-most", ["Suppressed(region)=5%", "Suppressed=1%"])
    {"Suppressed(variables=('region',))": 0.05, 'Suppressed()': 0.01}
    """
    bounds: dict[str, float] = {}
    for text in texts:
        name, equals, limit = (part.strip() for part in text.rpartition("="))
        number = re.fullmatch(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(%?)", limit)
        if not equals or not name or number is None or name[-1] in "<>=!":
            raise ParameterError(f'{option} must be a measure and a number, such as "DistanceLinkage=5%"; got {text!r}')
        bounds[name] = float(number[1]) / (100 if number[2] else 1)
    several = {name.partition("(")[0] for name in bounds if "(" in name}
    return {_measure_key(name) if name.partition("(")[0] in several else name: b for name, b in bounds.items()}


def _measure_key(text: str) -> str:
    """Return the repr of the one measure that a text stands for."""
    found = read_measures([text])
    if len(found) != 1:
        raise ParameterError(f"{text!r} must name one measure")
    return repr(found[0])


def measure_name(text: str) -> str:
    """Return how a measure is named after it was read: a class's name as it is, anything else by its repr.

    >>> measure_name("KAnonymity"), measure_name("KAnonymity(5)"), measure_name('Suppressed(region)')
    ('KAnonymity', 'KAnonymity(k=5)', "Suppressed(variables=('region',))")
    """
    return text.strip() if text.strip().isidentifier() else _measure_key(text)


def refuse_unknown(measures: "Iterable[Measure]", data: "Microdata") -> None:
    """Refuse a measure that names a variable which the table does not have, and say which one may be meant."""
    for measure in measures:
        for name in _variables_named(measure):
            if name not in data.schema:
                raise ParameterError(f"{measure!r}: {data.schema.unknown(name)}")


def _variables_named(measure: "Measure") -> Iterator[str]:
    """Name the variables that a measure's parameters name, its models' among them."""
    from sfumato.utility.models.formula import parse

    for parameter in NAMING:
        yield from _texts(getattr(measure, parameter, None))
    for parameter in ("model", "models"):
        for formula in _texts(getattr(measure, parameter, None)):
            if "~" in formula:  # else one of a measure's own models, by name
                yield from parse(formula).variables


def _texts(value: Any) -> Iterator[str]:
    """Return the texts in a parameter, however deep; of a model its formula."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list):
        for entry in value:
            yield from _texts(entry)
    elif hasattr(value, "formula"):
        yield value.formula


def of_population(measures: "Iterable[Measure]", population: float | None) -> "list[Measure]":
    """Tell the measures that take it how large the population is, unless it was said for them."""
    return [
        replace(m, population=population)  # type: ignore[call-arg]
        if population is not None and getattr(m, "population", population) is None
        else m
        for m in measures
    ]


def make_folder(path: Path) -> Path:
    """Make a folder where it is not there."""
    from sfumato.data.atomic import reason

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {path}: {reason(error)}") from None
    return path
