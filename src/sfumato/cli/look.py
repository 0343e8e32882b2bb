"""``sfumato look``: candidates of a sweep side by side, looked at closely."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import Json, SchemaFile, console, say

if TYPE_CHECKING:
    from sfumato.show.side_by_side import SideBySide

LISTED = 15  # rows of each table


def look(
    folder: Annotated[Path, typer.Argument(help="The folder of a sweep.", show_default=False)],
    *,
    candidate: Annotated[
        list[str],
        typer.Option(help="A candidate by its label or short name; one to three.", show_default=False),
    ],
    schema: SchemaFile = None,
    json: Json = False,
) -> None:
    """Lay candidates of a sweep side by side: what becomes of variables, associations and regressions in each of them.

    What is found is kept in FOLDER/results.sqlite: a second look takes a moment.

    Example: `sfumato look sweep --candidate "MDAV(k=3)" --candidate "MDAV(k=5)"`
    """
    from sfumato.project.closely import look as looked
    from sfumato.show.side_by_side import to_json

    found = looked(folder, candidate, schema=schema, tell=say, bars=True)
    if json:
        typer.echo(to_json(found))
    else:
        _print(found)


def _print(found: "SideBySide") -> None:
    from rich.text import Text

    from sfumato.show.terminal import figures_table, pairs_table, uses_table

    out = console()
    if found.basis:
        out.print(Text(f"{found.basis}\n"))
    for place, line in enumerate(found.candidates):
        out.print(Text(f"{line.name}", style="bold"))
        for said in found.prices[place]:
            out.print(Text(f"  {said}"))
    out.print()
    for title, table in (
        ("figures", figures_table(found)),
        ("what variables are good for, where that changed", uses_table(found, LISTED)),
        ("associations that changed", pairs_table(found, LISTED)),
    ):
        if table is not None:
            out.print(Text(f"{title}\n", style="bold"))
            out.print(table, "")
