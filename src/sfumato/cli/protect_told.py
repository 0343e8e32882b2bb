"""What ``sfumato protect`` says of the table it wrote: what still comes back, and what stays as it was."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sfumato.cli.options import say

if TYPE_CHECKING:
    from sfumato.data.microdata import Microdata
    from sfumato.data.parts import TableInParts
    from sfumato.project.reading import OnUndeclared
    from sfumato.restoration.findings import Checked


def settled_columns(
    data: "Microdata", whole: "TableInParts | None", on_undeclared: "OnUndeclared", file: Path
) -> "tuple[Microdata, TableInParts | None, tuple[str, ...]]":
    """Return the table and what is left out of it; leave where nobody has said what some variables are."""
    from sfumato.project.checks import settle_undeclared

    data, whole, found, without = settle_undeclared(data, whole, on_undeclared, say)
    if found.names:
        for line in (*found.sentences, *found.advice(str(file))):
            say(line)
        say("nothing is written; for use inside the house say --as-is")
        raise typer.Exit(1)
    return data, whole, without


def say_what_comes_back(checked: "Checked") -> None:
    """Warn of what the rest of the file gives back."""
    if checked.unaudited:
        say(f"what the rest of the file gives back was not tried: {checked.unaudited}")
    for route in checked.audit.routes if checked.audit is not None else ():
        if route.alarm:
            say(f"warning: {route.title} {route.verdict}; {route.repair}")


def say_what_stays(data: "Microdata", protected: "Microdata", written: "Microdata", masked: tuple[str, ...]) -> None:
    """Say which variables are as they were, and which name the units."""
    followed = [v.name for v in protected.schema if v.sources and v.treatment != data.schema[v.name].treatment]
    untouched = [name for name in protected.schema.analysed() if name not in (*masked, *followed)]
    if untouched:
        say(f"left as they are: {', '.join(untouched)}")
    kept = [v for v in written.schema if v.role == "identifier" or v.name == written.schema.id]
    naming = [v.name for v in kept if not v.treatment.perturbed]  # a synthetic table numbers its records anew
    if naming:
        say(f"still in the file, and naming the units: {', '.join(naming)}; leave out --as-is before it goes out")
