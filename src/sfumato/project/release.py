"""What may go out of a sweep: prepared, audited, written into a folder of its own, and removed when it is void."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from sfumato.errors import OF_THE_RUN, FileError, unexpected
from sfumato.project.options import Tell
from sfumato.table.atomic import remove

if TYPE_CHECKING:
    from sfumato.auditing.findings import Checked
    from sfumato.auditing.repairs import Prepared
    from sfumato.compare.examine import ProtectedTable
    from sfumato.compare.results import Results
    from sfumato.core import Method
    from sfumato.project.plan import Plan
    from sfumato.report.summary import Summary
    from sfumato.table.microdata import Microdata
    from sfumato.table.parts import TableInParts

_READY: "WeakKeyDictionary[ProtectedTable, Prepared]" = WeakKeyDictionary()  # what was prepared in this run


def checked_release(results: "Results", table: "ProtectedTable", plan: "Plan") -> "Checked":
    """Prepare the chosen table and audit it, or return what an earlier run found."""
    from sfumato.auditing.findings import Checked
    from sfumato.compare import plain

    return results.examined(
        table.candidate,
        f"release, {repairs_asked(plan)}",
        lambda: prepared_release(results, table, plan).checked,
        encode=lambda found: plain.to_json(found, exact=True).encode(),
        decode=lambda kept: plain.from_json(Checked, kept.decode()),
    )


def repairs_asked(plan: "Plan") -> str:
    """Name the repairs that were asked for, as what is kept of them in the store is known by."""
    return ", ".join(f"{name.removeprefix('keep_')} kept {value}" for name, value in plan.kept().items())


def prepared_release(results: "Results", table: "ProtectedTable", plan: "Plan") -> "Prepared":
    """Make the chosen table ready to go out."""
    from sfumato.auditing.findings import Checked
    from sfumato.auditing.of_parts import at_hand_of_both
    from sfumato.auditing.repairs import Prepared, prepare

    if table not in _READY:
        whole = results.whole
        made = table.made if whole is None else table.whole
        both = at_hand_of_both(results.original if whole is None else whole, made, len(results.original))
        try:
            ready = prepare(
                both.original,
                both.protected,
                seed=plan.seed,
                key=release_name(results.table, results.row(table.candidate).method, table.candidate),
                **plan.kept(),
                of_parts=both.seen,
            )
        except OF_THE_RUN:
            raise
        except Exception as error:
            why = f"it could not be made ready to go out: {unexpected(error)}"
            return Prepared(both.protected, None, Checked(unaudited=why, unready=why))
        if both.seen is not None:  # gaps are counted in the random sample: those audited hold more of them than others
            shares = {name: float(table.made.missing(name).mean()) for name in ready.checked.missing}
            ready = replace(ready, checked=replace(ready.checked, missing=shares))
        _READY[table] = ready
    return _READY[table]


def release_name(original: "Microdata | TableInParts", method: "Method | None", candidate: str) -> str:
    """Name a release by all that it is made of, so that the order of its records is its own."""
    return f"{original.fingerprint} {method!r}" if method is not None else f"{original.fingerprint} {candidate}"


def release_key(results: "Results", table: "ProtectedTable", summary: "Summary") -> str:
    """Name all that the chosen table and its note depend on."""
    import hashlib

    from sfumato.compare.plain import to_json
    from sfumato.compare.store import identify

    row = results.row(table.candidate)
    made = identify(row.method or results.tables[row.candidate], rounded=results.rounded)
    told = (results.table.fingerprint, made, results.seed, row.values, summary.cautions, summary.checked)
    return hashlib.sha256(to_json(told, exact=True).encode()).hexdigest()


def write_chosen(
    results: "Results", table: "ProtectedTable", plan: "Plan", summary: "Summary", key: str, tell: Tell
) -> None:
    """Write the chosen table as it goes out, and the note on how it was made."""
    from sfumato.project.tables import Provenance, write_protected

    row, whole = results.row(table.candidate), results.whole
    released: Microdata | TableInParts
    if whole is None:
        prepared = prepared_release(results, table, plan)
        checked, released, in_order = prepared.checked, prepared.table, prepared.order is None
    else:  # what the audit of the sample left out is left out of all records
        checked = checked_release(results, table, plan)
        released, in_order = table.whole.only(checked.missing), plan.keep_order
    for line in checked.done:
        tell(f"release: {line}")
    made = Provenance(
        source=plan.file,
        original=whole,
        method=row.method,
        seed=plan.seed,
        figures=_figures(results, table, summary),
        notes=(*checked.done, *summary.cautions),
        key=key,
        order_key=None if in_order else release_name(results.table, row.method, table.candidate),
        left_out=(*checked.left_out, *plan.without),
    )
    write_protected(released, protected_path(plan), made, note=provenance_path(plan), tell=tell)


def _figures(results: "Results", table: "ProtectedTable", summary: "Summary") -> dict[str, float]:
    """Return the figures of the table that is written, not of all draws; after its repairs where that is known."""
    values = results.row(table.candidate).values
    return {key: drawn[0] for key, drawn in values.items()} | dict(summary.checked.after if summary.checked else {})


def forget_release(plan: "Plan", tell: Tell) -> None:
    """Remove the release of an earlier run: beside a report that chose another, or none, it would mislead."""
    from sfumato.project.tables import protected_schema_path

    names = ("about.html", "about.md", "about.json")
    notes = _notes(plan)  # also those of tables of another name: an earlier sweep may have been of another file
    places = [release_folder(plan) / name for name in names]
    for note in notes:
        table = release_folder(plan) / note.name.removesuffix(".provenance.json")
        places += [table, note, protected_schema_path(note)]
    found = [place for place in places if place.exists()]
    seeds = {_seed_of(note) for note in notes}
    try:
        for place in found:
            shutil.rmtree(place) if place.is_dir() else place.unlink()
    except OSError as error:
        raise FileError(f"cannot remove {error.filename}, of an earlier run: {error.strerror}") from None
    if found:
        tell(f"removed the release of an earlier run from {release_folder(plan)}")
    if plan.seed in seeds:
        tell("if it went out already, begin another folder: two tables of one seed share their random draws")


def remove_unfinished(plan: "Plan") -> None:
    """Remove what a killed run left of its tables among what may go out; the folder has one run at a time."""
    for found in release_folder(plan).glob(".*"):
        if found.suffix in (".part", ".old", ".new"):
            remove(found)


def only_release(plan: "Plan") -> bool:
    """Tell whether no other table than this plan's was released into the folder."""
    return _notes(plan) == [provenance_path(plan)]


def _notes(plan: "Plan") -> list[Path]:
    """Return where the notes on releases into this folder are: that of this plan, and those that are there."""
    return list(dict.fromkeys([provenance_path(plan), *sorted(plan.out.glob("*.provenance.json"))]))


def _seed_of(note: Path) -> int | None:
    """Return the seed that the note of an earlier release holds."""
    try:
        return int(json.loads(note.read_text(encoding="utf-8"))["seed"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def release_folder(plan: "Plan") -> Path:
    """Return the folder of what may be published; all else in the sweep's folder is internal."""
    return plan.out / "release"


def protected_path(plan: "Plan") -> Path:
    """Return where the chosen table goes."""
    from sfumato.table.formats import protected_path as named

    return release_folder(plan) / (named(plan.file).name if plan.whole is None else f"{plan.name}.protected")


def provenance_path(plan: "Plan") -> Path:
    """Return where the note on how the chosen table was made goes: not beside it, for it holds the seed."""
    return plan.out / f"{protected_path(plan).name}.provenance.json"
