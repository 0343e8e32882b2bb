"""Options that several commands share, and where their messages and results go."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.data.sample_size import FEWEST
from sfumato.display import visible
from sfumato.project.reading import OnUndeclared

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.core import Measure
    from sfumato.data.microdata import Microdata

Audience = Literal["internal", "external"]
LARGE, SLOW = 10_000, ("ProbabilisticLinkage",)
WIDE = 10  # variables up to which a propensity model of second order is tried unasked

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
SampleSize = Annotated[
    int,
    typer.Option("--sample", min=FEWEST, help="Of tables in parts: records that are looked at one by one."),
]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="The schema.toml that `sfumato inspect` wrote and you edited.")
]
Encoding = Annotated[str | None, typer.Option(help="The encoding of text files that are not UTF-8, such as cp1252.")]
Delimiter = Annotated[str | None, typer.Option(help="The delimiter of text files, where it cannot be told.")]
Decimal = Annotated[str | None, typer.Option(help="The decimal sign of text files, where it cannot be told.")]

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
OnUndeclaredColumns = Annotated[
    OnUndeclared,
    typer.Option(
        "--on-undeclared",
        help="What to do with variables of which nobody has said the role: publish nothing (refuse), publish the file "
        "without them (leave-out), or publish them as they are (accept).",
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
