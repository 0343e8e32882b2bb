"""``sfumato sign``: the steward's signature under a release."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Json, print_json


def sign(
    folder: Annotated[Path, typer.Argument(help="The folder of a sweep.", show_default=False)],
    *,
    by: Annotated[str, typer.Option(help="Who approves the release.", show_default=False)],
    reason: Annotated[list[str], typer.Option(help="Why; may be said several times.", show_default=False)],
    json: Json = False,
) -> None:
    """Sign the release of a sweep: who approved it, why, when, and which file it was.

    The decision is kept in FOLDER/decision.json and shown in the internal report. It is void as soon as the release is
    another file.

    Example: `sfumato sign sweep --by "A. Steward" --reason "The bounds are those of the release policy."`
    """
    from sfumato.project.decision import sign as signed

    decision = signed(folder, by=by, reasons=reason)
    if json:
        print_json(decision)
    else:
        typer.echo(f"signed by {decision.by}: {decision.candidate}, {decision.file}, SHA-256 {decision.sha256}")
        typer.echo(f"internal report  {folder / 'report.html'}")
