"""``sfumato protect``: protect a file by one method."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import (
    Decimal,
    Delimiter,
    DespiteAudit,
    Encoding,
    EngineName,
    Json,
    KeepHouseholds,
    KeepOrder,
    KeepWeights,
    Memory,
    OnUndeclaredColumns,
    SampleSize,
    SchemaFile,
    Seed,
    TableOrParts,
    print_json,
    say,
    tell,
)
from sfumato.cli.protect_told import say_what_comes_back, say_what_stays, settled_columns
from sfumato.data.sample_size import SAMPLED
from sfumato.errors import FileError, ParameterError
from sfumato.project.reading import read_methods
from sfumato.project.settle import settled_seed


def protect(
    file: TableOrParts,
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
    keep_order: KeepOrder = False,
    keep_weights: KeepWeights = False,
    keep_households: KeepHouseholds = False,
    despite_audit: DespiteAudit = False,
    on_undeclared: OnUndeclaredColumns = "refuse",
    as_is: Annotated[
        bool,
        typer.Option(
            "--as-is",
            help="Write the table as the method made it, in order, with ids and weights: for use inside the house.",
        ),
    ] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    engine: EngineName = None,
    memory: Memory = None,
    sample: SampleSize = SAMPLED,
    json: Json = False,
) -> None:
    """Protect a file by one method; write it in the format it came in, and apart from it a note on how it was made.

    As in a sweep, the table is made ready to go out: ids are left out, records stand in random order, and what the
    rest of the file gives back is audited and repaired. A table that still gives values back is not written, and the
    exit code is 1, unless you say --despite-audit; nor is one with variables of which nobody has said the role, unless
    you say --on-undeclared. With a sweep's seed it is the very table of that candidate.

    A table in parts, `"register/*.parquet"` or a folder, need not fit into memory: it is masked part by part, audited
    in some of its records and written as a folder of Parquet files, in random order over all of them.

    Example: `sfumato protect census.csv --method "RankSwapping(p=0.15)" --out protected.csv`
    """
    from sfumato.cli.protect_parts import folder_for, protect_in_parts
    from sfumato.compare.seeds import generator
    from sfumato.core import speaking
    from sfumato.data.files import read
    from sfumato.data.formats import protected_path
    from sfumato.project.in_parts import engine_for
    from sfumato.project.parts_watch import PartsWatch
    from sfumato.project.release import release_name
    from sfumato.project.tables import write_protected
    from sfumato.restoration.findings import Checked
    from sfumato.restoration.repairs import Prepared, prepare

    found = read_methods([method])
    if len(found) != 1:
        raise ParameterError(
            f"protect takes one method; {method!r} stands for {len(found)}: give each parameter one value"
        )
    dialect = {"encoding": encoding, "delimiter": delimiter, "decimal": decimal}
    with engine_for(file, engine=engine, memory=memory, progress=PartsWatch(), tell=say) as parts:
        if parts is not None:
            protect_in_parts(
                file,
                found[0],
                schema=schema,
                target=folder_for(file, out, force=force),
                seed=settled_seed(seed, say),
                keep_order=keep_order,
                keep_weights=keep_weights,
                keep_households=keep_households,
                despite_audit=despite_audit,
                on_undeclared="accept" if as_is else on_undeclared,
                as_is=as_is,
                sample=sample,
                dialect=dialect,
                json=json,
            )
            return
    target = out or protected_path(file)
    if target.exists() and not force:
        raise FileError(f"{target} exists; overwrite it with --force or choose another name with --out")
    if target.exists() and target.samefile(file):
        raise FileError(f"{target} is the file the table was read from; choose another name with --out")
    seed = settled_seed(seed, say)
    data, _, without = settled_columns(read(file, schema, **dialect), None, "accept" if as_is else on_undeclared, file)
    with speaking(found[0]):
        masked = found[0].masked(data)
    protected = found[0].protect(data, rng=generator(seed, found[0], 0))
    ready = Prepared(protected, None, Checked())
    if not as_is:
        key = release_name(data, found[0], "")
        ready = prepare(
            data,
            protected,
            seed=seed,
            key=key,
            keep_order=keep_order,
            keep_weights=keep_weights,
            keep_households=keep_households,
        )
    done = ready.checked.done
    order_key = None if ready.order is None else release_name(data, found[0], "")
    passed = as_is or ready.checked.passed
    note = None
    if passed or despite_audit:
        note = write_protected(
            ready.table,
            target,
            source=file,
            method=found[0],
            seed=seed,
            figures={},
            notes=done,
            order_key=order_key,
            left_out=(*ready.checked.left_out, *without),
            tell=say,
        )
    if json:
        written = {"table": str(target) if note is not None else None, "provenance": str(note) if note else None}
        told = {**written, "method": repr(found[0]), "seed": seed, "masked": masked, "done": done}
        print_json({**told, "audit": ready.checked.audit, "unaudited": ready.checked.unaudited})
    else:
        for line in (*protected.notes, *done):
            say(line)
        say_what_comes_back(ready.checked)
    if note is None:
        say(
            f"{target} is not written, for the file gives values back, or it is not known that it does not; write it "
            "all the same with --despite-audit, if you know why that does no harm"
        )
        raise typer.Exit(1)
    if not json:
        say_what_stays(data, protected, ready.table, masked)
        tell(f"wrote {target}; how it was made, with the seed, is in {note}, which must not go out")
