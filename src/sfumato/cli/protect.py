"""``sfumato protect``: protect a file by one method."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import (
    Decimal,
    Delimiter,
    DespiteAudit,
    Encoding,
    Json,
    KeepHouseholds,
    KeepOrder,
    KeepWeights,
    SchemaFile,
    Seed,
    TableFile,
    print_json,
    say,
    tell,
)
from sfumato.errors import FileError, ParameterError
from sfumato.project.reading import read_methods
from sfumato.project.settle import settled_seed

if TYPE_CHECKING:
    from sfumato.data.microdata import Microdata
    from sfumato.restoration.findings import Checked


def protect(
    file: TableFile,
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
    json: Json = False,
) -> None:
    """Protect a file by one method; write it in the format it came in, and a note on how it was made.

    As in a sweep, the table is made ready to go out: ids are left out, records stand in random order, and what the
    rest of the file gives back is audited and repaired. A table that still gives values back is not written, and the
    exit code is 1, unless you say --despite-audit. With a sweep's seed it is the very table of that candidate.

    Example: `sfumato protect census.csv --method "RankSwapping(p=0.15)" --out protected.csv`
    """
    from sfumato.compare.seeds import generator
    from sfumato.core import speaking
    from sfumato.data.file_names import protected_path
    from sfumato.data.files import read
    from sfumato.project.release import release_name
    from sfumato.project.tables import write_protected
    from sfumato.restoration.findings import Checked
    from sfumato.restoration.repairs import Prepared, prepare

    found = read_methods([method])
    if len(found) != 1:
        raise ParameterError(
            f"protect takes one method; {method!r} stands for {len(found)}: give each parameter one value"
        )
    target = out or protected_path(file)
    if target.exists() and not force:
        raise FileError(f"{target} exists; overwrite it with --force or choose another name with --out")
    seed = settled_seed(seed, say)
    data = read(file, schema, encoding=encoding, delimiter=delimiter, decimal=decimal)
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
            left_out=ready.checked.left_out,
            tell=say,
        )
    if json:
        written = {"table": str(target) if note is not None else None, "provenance": str(note) if note else None}
        told = {**written, "method": repr(found[0]), "seed": seed, "masked": masked, "done": done}
        print_json({**told, "audit": ready.checked.audit, "unaudited": ready.checked.unaudited})
    else:
        for line in (*protected.notes, *done):
            say(line)
        _say_what_comes_back(ready.checked)
    if note is None:
        say(
            f"{target} is not written, for the file gives values back, or it is not known that it does not; write it "
            "all the same with --despite-audit, if you know why that does no harm"
        )
        raise typer.Exit(1)
    if not json:
        _say_what_stays(data, protected, ready.table, masked)
        tell(f"wrote {target} and {note}")


def _say_what_comes_back(checked: "Checked") -> None:
    if checked.unaudited:
        say(f"what the rest of the file gives back was not tried: {checked.unaudited}")
    for route in checked.audit.routes if checked.audit is not None else ():
        if route.alarm:
            say(f"warning: {route.title} {route.verdict}; {route.repair}")


def _say_what_stays(data: "Microdata", protected: "Microdata", written: "Microdata", masked: tuple[str, ...]) -> None:
    """Say which variables are as they were, and which name the units."""
    followed = [v.name for v in protected.schema if v.sources and v.treatment != data.schema[v.name].treatment]
    untouched = [name for name in protected.schema.analysed() if name not in (*masked, *followed)]
    if untouched:
        say(f"left as they are: {', '.join(untouched)}")
    kept = [v for v in written.schema if v.role == "identifier" or v.name == written.schema.id]
    naming = [v.name for v in kept if not v.treatment.perturbed]  # a synthetic table numbers its records anew
    if naming:
        say(f"still in the file, and naming the units: {', '.join(naming)}; leave out --as-is before it goes out")
