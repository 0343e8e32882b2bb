"""``sfumato protect``: protect a file by one method."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import (
    Decimal,
    Delimiter,
    Encoding,
    Json,
    SchemaFile,
    Seed,
    print_json,
    read_methods,
    say,
)
from sfumato.errors import FileError, ParameterError


def protect(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", show_default=False)],
    *,
    method: Annotated[
        str, typer.Option(help='One method with its parameters, such as "RankSwapping(p=0.15)".', show_default=False)
    ],
    schema: SchemaFile = None,
    seed: Seed = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write; census.protected.csv for census.csv if not said.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file.")] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    json: Json = False,
) -> None:
    """Protect a file by one method; write it in the format it came in, and a note on how it was made.

    With the seed of a sweep it makes the very table of that candidate.

    Example: `sfumato protect census.csv --method "RankSwapping(p=0.15)" --out protected.csv`
    """
    from sfumato.cli.tables import drawn_seed, write_protected
    from sfumato.compare.seeds import generator
    from sfumato.core import speaking
    from sfumato.data.files import read

    found = read_methods([method])
    if len(found) != 1:
        raise ParameterError(
            f"protect takes one method; {method!r} stands for {len(found)}: give each parameter one value"
        )
    target = out or file.with_name(f"{file.stem}.protected{file.suffix}")
    if target.exists() and not force:
        raise FileError(f"{target} exists; overwrite it with --force or choose another name with --out")
    seed = drawn_seed() if seed is None else seed
    data = read(file, schema, encoding=encoding, delimiter=delimiter, decimal=decimal)
    with speaking(found[0]):
        masked = found[0].masked(data)
    protected = found[0].protect(data, rng=generator(seed, found[0], 0))
    note = write_protected(protected, target, source=file, method=found[0], seed=seed, figures={})
    if json:
        print_json(
            {"table": str(target), "provenance": str(note), "method": repr(found[0]), "seed": seed, "masked": masked}
        )
        return
    for line in protected.notes:
        say(line)
    untouched = [name for name in protected.schema.analysed() if name not in masked]
    if untouched:
        say(f"left as they are: {', '.join(untouched)}")
    kept = [v for v in protected.schema if v.role == "identifier" or v.name == protected.schema.id]
    naming = [v.name for v in kept if not v.treatment.perturbed]  # a synthetic table numbers its records anew
    if naming:
        say(f"still in the file, and naming the units: {', '.join(naming)}; take them out with ... + VariableRemoval()")
    typer.echo(f"wrote {target} and {note}")
