"""``sfumato protect`` of a table in parts: masked part by part, audited in a sample, written as a folder."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sfumato.cli.options import print_json, say, tell
from sfumato.cli.protect_told import say_what_comes_back, say_what_stays, settled_columns
from sfumato.errors import FileError

if TYPE_CHECKING:
    from sfumato.core import Method
    from sfumato.project.reading import OnUndeclared


def folder_for(file: Path, out: Path | None, *, force: bool) -> Path:
    """Return the folder that a protected table in parts is written to; one that is there needs ``force``."""
    from sfumato.data.parts import name_of_parts
    from sfumato.project.place import folder_of_parts, refuse_file_of_parts

    target = out or Path(f"{name_of_parts(file)}.protected")
    if out is not None:
        refuse_file_of_parts(out)
    if target.exists() and not force:
        raise FileError(f"{target} exists; overwrite it with --force or choose another name with --out")
    source = folder_of_parts(file)
    if target.resolve() in (source, *source.parents):
        raise FileError(f"{target} holds the table that is read; choose another name with --out")
    return target


def protect_in_parts(
    file: Path,
    method: "Method",
    *,
    schema: Path | None,
    seed: int,
    target: Path,
    keep_order: bool,
    keep_weights: bool,
    keep_households: bool,
    despite_audit: bool,
    on_undeclared: "OnUndeclared",
    as_is: bool,
    sample: int,
    dialect: dict[str, str | None],
    json: bool,
) -> None:
    """Mask a table in parts, audit a sample of it, and write it part by part, in random order over all parts."""
    from sfumato.compare.seeds import generator
    from sfumato.compare.work import protected_parts
    from sfumato.core import speaking
    from sfumato.project.in_parts import read_table
    from sfumato.project.release import release_name
    from sfumato.project.release_parts import write_protected_parts
    from sfumato.restoration.findings import Checked
    from sfumato.restoration.of_parts import at_hand_of_both
    from sfumato.restoration.repairs import prepare

    data, whole = read_table(file, schema, sample, say, **dialect)
    data, whole, without = settled_columns(data, whole, on_undeclared, file)
    assert whole is not None  # the caller asked
    with speaking(method):
        masked = method.masked(data)
    protected = protected_parts(method, whole, generator(seed, method, 0), rounded=not as_is)
    both = at_hand_of_both(whole, protected, sample)
    made = both.protected
    key, checked, written = release_name(whole, method, ""), Checked(), made
    if not as_is:
        ready = prepare(
            both.original,
            made,
            seed=seed,
            key=key,
            keep_order=keep_order,
            keep_weights=keep_weights,
            keep_households=keep_households,
            of_parts=both.seen,
        )
        checked, written = ready.checked, ready.table
    note = None
    if as_is or checked.passed or despite_audit:
        note = write_protected_parts(
            protected,
            target,
            names=written.names,
            order_key=None if as_is or keep_order else key,
            source=file,
            original=whole,
            method=method,
            seed=seed,
            figures={},
            notes=checked.done,
            left_out=(*checked.left_out, *without),
        )
    if json:
        there = {"table": str(target) if note is not None else None, "provenance": str(note) if note else None}
        told = {**there, "method": repr(method), "seed": seed, "masked": masked, "done": checked.done}
        print_json({**told, "audit": checked.audit, "unaudited": checked.unaudited, "records": len(whole)})
    else:
        for line in (*made.notes, *checked.done, *(checked.audit.notes if checked.audit is not None else ())):
            say(line)
        say_what_comes_back(checked)
    if note is None:
        say(
            f"{target} is not written, for the table gives values back, or it is not known that it does not; write it "
            "all the same with --despite-audit, if you know why that does no harm"
        )
        raise typer.Exit(1)
    if not json:
        say_what_stays(data, made, written, masked)
        tell(f"wrote {target} and {note}")
