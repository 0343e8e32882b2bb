"""Tables in and out: protected files, and protected tables with their provenance."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sfumato
from sfumato.errors import DataError, FileError
from sfumato.project.tell import Tell, unheard

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core import Method
    from sfumato.data.microdata import Microdata
    from sfumato.data.schema import Schema

_INTERNAL = (
    "# Of a protected table, for compare --protected-schema. It tells what was merged and how many values are missing\n"
    "# by suppression: do not publish it unseen.\n"
)

RANDOM = "random"  # the order of the records of a release


def read_protected(
    path: Path,
    original: "Microdata",
    schema: Path | None = None,
    *,
    as_written: bool = False,
    tell: Tell = unheard,
    **dialect: str | None,
) -> "Microdata":
    """Read a file protected elsewhere: what is known of the original's variables holds for their namesakes.

    A release of ours is put back into the order of the original, if its note is there, unless ``as_written``.
    """
    from sfumato.data.files import read
    from sfumato.data.formats.labelled.beside import file_beside

    if schema is None:
        schema = _schema_beside(path, tell)
    if schema is not None:
        found = read(path, schema, **dialect)
        return found if as_written else _in_order(found, path, tell)
    found = read(path, **dialect)
    found = found if as_written else _in_order(found, path, tell)
    names = found.names
    if not any(name in names for name in original.names):
        raise DataError(
            f"{path} has no variable of the original; it has {', '.join(names)}, "
            f"the original {', '.join(original.names)}"
        )
    try:
        return file_beside(original, found)
    except DataError as error:
        raise DataError(f"{path}: {error}; or describe the file with --protected-schema") from None


def _schema_beside(path: Path, tell: Tell) -> Path | None:
    """Find the schema that was written with a protected table."""
    place = _written_with(path, f"{path.name}.schema.toml")
    if place is not None:
        tell(f"{path.name} is read with {place}, which was written with it; say --protected-schema for another")
    return place


def _written_with(path: Path, name: str) -> Path | None:
    """Find a file that was written with a protected table: beside it, or beside the folder of a release."""
    for place in (path.with_name(name), path.parent.parent / name):
        if place.is_file() and (place.parent == path.parent or path.parent.name == "release"):
            return place
    return None


def _in_order(table: "Microdata", path: Path, tell: Tell) -> "Microdata":
    import numpy as np

    order = order_of(path, len(table), tell)
    return table if order is None else table.take(np.argsort(order))


def order_of(path: Path, records: int, tell: Tell = unheard) -> "NDArray[np.intp] | None":
    """Return which record of the original each record of a release is, by the note that was written with it."""
    from sfumato.restoration.repairs import record_order

    told = _note_of(path)
    if told is None or told.get("order") != RANDOM:
        return None
    try:
        seed, key = int(told["seed"]), str(told["order_key"])
    except (ValueError, KeyError, TypeError):
        return None
    tell(
        f"{path.name} is in random order; {_written_with(path, provenance_path(path).name)} tells which record is which"
    )
    return record_order(records, seed, key)


def without_left_out(original: "Microdata", path: Path, tell: Tell = unheard) -> "Microdata":
    """Return the original without what the repairs left out of a release: it went to keep others."""
    told = _note_of(path)
    names = [name for name in (told or {}).get("left_out", ()) if name in original.names]
    if not names or len(names) == len(original.names):
        return original
    tell(f"not counted as protected, for they were left out to keep others: {', '.join(names)}")
    return original.without(names)


def _note_of(path: Path) -> "dict[str, Any] | None":
    """Read the note that was written with a release; None where there is none, or it is of another file."""
    note = _written_with(path, provenance_path(path).name)
    if note is None:
        return None
    try:
        told = json.loads(note.read_text(encoding="utf-8"))
        return told if told["sha256"] == digest(path) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_protected(
    protected: "Microdata",
    path: Path,
    *,
    note: Path | None = None,
    source: Path,
    method: "Method | None",
    seed: int,
    figures: dict[str, Any],
    notes: tuple[str, ...] = (),
    key: str = "",
    order_key: str | None = None,
    left_out: tuple[str, ...] = (),
    tell: Tell = unheard,
) -> Path:
    """Write a protected table, and in ``note``, or else beside it, how it was made; return the path of that note.

    ``key`` names all that the table and its note depend on, so that ``is_written`` can tell that they are there.
    ``order_key`` names the random order of the seed in which the records stand; None: in the original's. ``left_out``
    names the variables that went so that others are kept.
    """
    from sfumato.compare.plain import to_json
    from sfumato.data.files import write
    from sfumato.data.schema_file import schema_text
    from sfumato.show.page import save

    lost = write(protected, path)
    for line in lost:
        tell(line)
    schema = _INTERNAL + schema_text(_publishable(protected))
    told = {
        "keep_internal": "whoever knows the seed can undo a random method; do not publish this file with the table",
        "table": path.name,
        "sha256": digest(path),
        "records": len(protected),
        "made_from": {"file": source.name, "sha256": digest(source)},
        "method": repr(method) if method is not None else None,
        "seed": seed,
        "order": "as in the original" if order_key is None else RANDOM,
        "order_key": order_key,
        "left_out": left_out,
        "notes": [*protected.notes, *notes, *lost],
        "figures": figures,
        "sfumato": sfumato.__version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "schema": schema,
        **({"key": key} if key else {}),
    }
    place = save(note or provenance_path(path), to_json(told, indent=1).encode())
    save(protected_schema_path(place), schema.encode())
    return place


def is_written(path: Path, *, note: Path, source: Path, key: str) -> bool:
    """Tell whether a protected table stands where ``write_protected`` put it, as it was, made of the same source."""
    try:
        told = json.loads(note.read_text(encoding="utf-8"))
        made = (told["key"], told["sha256"], told["made_from"]["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    there = path.is_file() and protected_schema_path(note).is_file()
    return there and made == (key, digest(path), digest(source))


def _publishable(protected: "Microdata") -> "Schema":
    """Return the schema with no category that no record has, and without the ids and names, which the table has.

    Hierarchies stay behind too: they list what the records had, and cuts may follow their distribution.
    """
    from dataclasses import replace

    from sfumato.data.present import only_present

    schema, changed = protected.schema, []
    schema = schema.replace(*(replace(variable, hierarchy=None) for variable in schema))
    for variable in schema:
        if variable.kind == "nominal" and (variable.name in schema.special().values() or variable.role == "identifier"):
            changed.append(replace(variable, categories=(), labels=()))
        elif not variable.quantitative:
            changed.append(only_present(variable, protected.columns[variable.name])[0])
    return schema.replace(*changed)


def provenance_path(path: Path) -> Path:
    """Return where the note on how a protected table was made goes: beside it."""
    return path.with_name(path.name + ".provenance.json")


def protected_schema_path(note: Path) -> Path:
    """Return where the protected table's schema goes: beside the note, for ``compare --protected-schema``."""
    return note.with_name(note.name.removesuffix(".provenance.json") + ".schema.toml")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    import hashlib

    from sfumato.data.atomic import reason
    from sfumato.data.file_names import located

    try:
        with located(path)[0].open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from None
