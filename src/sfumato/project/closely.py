"""Candidates of a finished sweep, looked at closely and laid side by side: what ``sfumato look`` does, from Python."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.arguments import entries
from sfumato.errors import DataError, FileError, ParameterError
from sfumato.project.folder import held, refuse_running
from sfumato.project.options import Tell, unheard
from sfumato.project.progress import recorded
from sfumato.project.record import STORE, Record
from sfumato.table.formats import a_path

if TYPE_CHECKING:
    from sfumato.compare.progress import Listener
    from sfumato.compare.results import Results
    from sfumato.report.side_by_side import SideBySide
    from sfumato.table.microdata import Microdata
    from sfumato.table.parts import TableInParts

MAX_CANDIDATES = 3  # candidates beside each other


def look(
    folder: str | Path,
    candidates: Iterable[str],
    *,
    schema: str | Path | None = None,
    tell: "Tell | None" = None,
    watch: "Listener | None" = None,
    bars: bool = False,
) -> "SideBySide":
    """Look closely at two or three candidates of a sweep's folder, and lay them side by side.

    Candidates go by their labels or short names. What was looked at before is in the folder's store and is not done
    again. ``schema`` is the one of the sweep, if it is no longer the one that the folder remembers. ``tell`` hears the
    messages, ``watch`` how far it is; ``bars`` shows that on the terminal.
    """
    from sfumato.compare.examine import examine
    from sfumato.report.side_by_side import PIECES, side_by_side

    named = entries("look", str, "labels of candidates", candidates=candidates)
    folder, wanted = a_path(folder), list(dict.fromkeys(named))
    if not 1 <= len(wanted) <= MAX_CANDIDATES:
        raise ParameterError(f"name one to {MAX_CANDIDATES} candidates to lay side by side; got {len(wanted)}")
    refuse_running(folder)
    results = swept(folder, schema, tell=tell or unheard)
    labels = [label_in(results, said) for said in wanted]
    with held(folder), recorded(folder, hears=watch, bars=bars) as steps:
        found = []
        for label in labels:
            steps.phase("examination", total=len(PIECES), candidate=label)
            found.append(examine(results, label, what=PIECES, progress=steps))
    return side_by_side(results, found)


def swept(folder: Path, schema: str | Path | None = None, *, tell: Tell = unheard) -> "Results":
    """Return the figures of the last sweep into a folder, with the tables they are of; nothing is computed."""
    record = Record.read(folder)
    if record is None or not (folder / STORE).exists():
        raise FileError(f"{folder} holds no sweep: there is no plan.json with its results.sqlite in it")
    data = _original(record, folder, schema)
    if data.fingerprint != record.fingerprint:
        raise DataError(
            f"{record.file} under this schema is not the table that was swept into {folder}: the file or the schema "
            "was changed since; sweep again, or give the schema that it was swept with: --schema"
        )
    results = record.results(data, folder, _elsewhere(record, data, tell))
    if not results.rows:
        raise FileError(f"no candidate of {folder} is finished in this version of Sfumato; sweep again")
    return results


def label_in(results: "Results", said: str) -> str:
    """Return the label of a candidate that was named by its label, its short name, or its method as it is written."""
    from sfumato.project.candidates import label_of

    return label_of(said, {row.candidate: row.method for row in results.rows}, None, option="--candidate")


def _original(record: Record, folder: Path, schema: str | Path | None) -> "Microdata | TableInParts":
    from sfumato.project.tables import scan_table
    from sfumato.table.files import read
    from sfumato.table.schema_file import schema_of

    dialect = {"encoding": record.encoding, "delimiter": record.delimiter, "decimal": record.decimal}
    if record.sample:
        return scan_table(Path(record.file), schema or schema_of(record.schema, folder / "plan.json"), **dialect)
    if schema is not None:
        return read(record.file, schema, **dialect)
    beside = folder / "schema.toml"
    if beside.is_file():  # as a workbench keeps it
        data = read(record.file, beside, **dialect)
        if data.fingerprint == record.fingerprint:
            return data
    return read(record.file, schema_of(record.schema, folder / "plan.json"), **dialect)


def _elsewhere(
    record: Record, data: "Microdata | TableInParts", tell: Tell
) -> "Mapping[str, Microdata] | Mapping[str, TableInParts]":
    from sfumato.project.tables import read_elsewhere
    from sfumato.table.parts import TableInParts

    if isinstance(data, TableInParts):
        return read_elsewhere(record.elsewhere_files, data)
    dialect = {"encoding": record.encoding, "delimiter": record.delimiter, "decimal": record.decimal}
    paths = [path for path in record.elsewhere_files if Path(path).exists()]
    return read_elsewhere(paths, data, tell, **dialect)
