"""``sfumato audit``: what a protected file still gives back of the values that were protected."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import (
    EngineName,
    Json,
    Memory,
    SampleSize,
    SchemaFile,
    console,
    print_json,
    say,
    with_options,
)
from sfumato.project.options import DIALECT
from sfumato.table.sample_size import SAMPLED

if TYPE_CHECKING:
    from sfumato.auditing.findings import Audit


@with_options(*DIALECT)
def audit(
    original: Annotated[
        Path, typer.Argument(help="The original file; of a table in parts its folder or a pattern.", show_default=False)
    ],
    protected: Annotated[Path, typer.Argument(help="The file to be released.", show_default=False)],
    *,
    schema: SchemaFile = None,
    protected_schema: Annotated[
        Path | None, typer.Option(help="The schema of the protected file, if its variables were recoded.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            help="Another release of the same records that an intruder may have: a file, or the folder of a sweep or "
            "of its release; may be said several times."
        ),
    ] = None,
    near: Annotated[
        float, typer.Option(help="A number is restored if its rank is off by at most this share of the records.")
    ] = 0.01,
    margin: Annotated[
        float, typer.Option(help="A route restores only what exceeds the best guess by more than this share.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Fixes the sample that large files are looked through with.")] = 0,
    engine: EngineName = None,
    memory: Memory = None,
    sample: SampleSize = SAMPLED,
    json: Json = False,
    options: dict[str, Any],
) -> None:
    """Try to restore protected values from the rest of the file: weight, order, households, ids, other columns, sums.

    With --beside it also says what several releases of one file give away together: which records can be joined, how
    many are found then, and how near averages come.

    For each route back it tells how many protected values of the worst variable an intruder gets right, beside the
    best guess without it, and what to do. Exit code 1 if a route restores values, 0 if none does.

    Of tables in parts some records are audited, the same in both: such with suppressed values first, others at random.

    Example: `sfumato audit census.csv masked.csv --schema schema.toml --beside public.csv`
    """
    from sfumato.project.comparison import audit_files

    found = audit_files(
        original,
        protected,
        schema,
        protected_schema=protected_schema,
        beside=beside,
        near=near,
        margin=margin,
        seed=seed,
        engine=engine,
        memory=memory,
        sample=sample,
        tell=say,
        bars=True,
        **options,
    )
    if json:
        print_json(found)
    else:
        _print(found)
    if not found.passed:
        raise typer.Exit(1)


def _print(found: "Audit") -> None:
    from rich.padding import Padding
    from rich.text import Text

    from sfumato.report.terminal import audit_verdict, evidence_lines, nearness, routes_table, untried_lines

    out = console()
    out.print(audit_verdict(found))
    out.print()
    if found.protected:
        out.print(routes_table(found), "")
    for heading, lines in (("what is given back", evidence_lines(found)), ("what to do", found.repairs)):
        if lines:
            out.print(Text(heading, style="bold"))
            for line in lines:
                inner = len(line) - len(line.lstrip())
                out.print(Padding(Text(line.lstrip()), (0, 0, 0, 2 + inner)))
            out.print()
    if found.together is not None:
        out.print(Text("with other releases", style="bold"))
        out.print(Padding(Text(found.together.sentence), (0, 0, 0, 2)))
        out.print()
    small = [*(f"no figure: {line}" for line in untried_lines(found)), f"records matched by {found.matched}"]
    for line in filter(None, (nearness(found), *small, *found.notes)):
        out.print(Padding(Text(line, style="dim"), (0, 0, 0, 2)))
