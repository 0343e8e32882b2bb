"""``sfumato protect``: protect a file by one method."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.options import (
    EngineName,
    Json,
    Memory,
    SchemaFile,
    TableOrParts,
    print_json,
    say,
    tell,
    with_options,
)
from sfumato.project.options import DIALECT, named


@with_options(*named("release"), "seed", *DIALECT, "sample")
def protect(
    file: TableOrParts,
    *,
    method: Annotated[
        str, typer.Option(help='One method with its parameters, such as "RankSwapping(p=0.15)".', show_default=False)
    ],
    schema: SchemaFile = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write; census.protected.csv for census.csv if not said.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file.")] = False,
    as_is: Annotated[
        bool,
        typer.Option(
            "--as-is",
            help="Write the table as the method made it, in order, with ids and weights: for use inside the house.",
        ),
    ] = False,
    engine: EngineName = None,
    memory: Memory = None,
    json: Json = False,
    options: dict[str, Any],
) -> None:
    """Protect a file by one method; write it in the format it came in, and apart from it a note on how it was made.

    As in a sweep, the table is made ready to go out: ids are left out, records stand in random order, and what the
    rest of the file gives back is audited and repaired. A table that still gives values back is not written, and the
    exit code is 1, unless you say --despite-audit; nor is one with variables of which nobody has said the role, unless
    you say --on-undeclared. Masked numbers are rounded to the decimals of the original. With a sweep's seed it is the
    very table of that candidate.

    A table in parts, `"register/*.parquet"` or a folder, need not fit into memory: it is masked part by part, audited
    in some of its records and written as a folder of Parquet files, in random order over all of them.

    Example: `sfumato protect census.csv --method "RankSwapping(p=0.15)" --out protected.csv`
    """
    from sfumato.project.protect import protect_file

    done = protect_file(
        file,
        method,
        schema,
        out=out,
        force=force,
        as_is=as_is,
        engine=engine,
        memory=memory,
        tell=say,
        bars=True,
        **options,
    )
    if json:
        paths = {"table": done.table, "provenance": done.provenance}
        written = {name: None if path is None else str(path) for name, path in paths.items()}
        print_json({name: value for name, value in (vars(done) | written).items() if name != "messages"})
    else:
        for line in done.messages:
            say(line)
    if done.table is None:
        raise typer.Exit(1)
    if not json:
        tell(f"wrote {done.table}; how it was made, with the seed, is in {done.provenance}, which must not go out")
