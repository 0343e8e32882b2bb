"""Tables in and out as the commands need them: protected files, and protected tables with their provenance."""

import json
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sfumato
from sfumato.errors import DataError, FileError

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


def command_line(seed: int | None = None) -> str:
    """Return the command as it was typed, with the seed that was drawn where none was said."""
    words = ["sfumato", *sys.argv[1:]]
    if seed is not None and not any(word.split("=")[0] == "--seed" for word in words):
        words += ["--seed", str(seed)]
    return shlex.join(words)


def drawn_seed() -> int:
    """Draw a seed nobody can guess: what protects a table can be undone by whoever knows it."""
    import secrets

    return secrets.randbits(63)


def read_protected(
    path: Path, original: "Microdata", schema: Path | None = None, *, as_written: bool = False, **dialect: str | None
) -> "Microdata":
    """Read a file protected elsewhere: what is known of the original's variables holds for their namesakes.

    A release of ours is put back into the order of the original, if its note is there, unless ``as_written``.
    """
    from sfumato.data.files import read
    from sfumato.data.formats.labelled.beside import file_beside

    if schema is None:
        schema = _schema_beside(path)
    if schema is not None:
        found = read(path, schema, **dialect)
        return found if as_written else _in_order(found, path)
    found = read(path, **dialect)
    found = found if as_written else _in_order(found, path)
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


def _schema_beside(path: Path) -> Path | None:
    """Find the schema that was written with a protected table."""
    from sfumato.cli.options import say

    place = _written_with(path, f"{path.name}.schema.toml")
    if place is not None:
        say(f"{path.name} is read with {place}, which was written with it; say --protected-schema for another")
    return place


def _written_with(path: Path, name: str) -> Path | None:
    """Find a file that was written with a protected table: beside it, or beside the folder of a release."""
    for place in (path.with_name(name), path.parent.parent / name):
        if place.is_file() and (place.parent == path.parent or path.parent.name == "release"):
            return place
    return None


def _in_order(table: "Microdata", path: Path) -> "Microdata":
    import numpy as np

    order = order_of(path, len(table))
    return table if order is None else table.take(np.argsort(order))


def order_of(path: Path, records: int) -> "NDArray[np.intp] | None":
    """Return which record of the original each record of a release is, by the note that was written with it."""
    from sfumato.cli.options import say
    from sfumato.restoration.repairs import record_order

    note = _written_with(path, provenance_path(path).name)
    if note is None:
        return None
    try:
        told = json.loads(note.read_text(encoding="utf-8"))
        shuffled = told["order"] == RANDOM and told["sha256"] == _digest(path)
        seed, key = int(told["seed"]), str(told["order_key"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not shuffled:
        return None
    say(f"{path.name} is in random order; {note} tells which record is which")
    return record_order(records, seed, key)


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
) -> Path:
    """Write a protected table, and in ``note``, or else beside it, how it was made; return the path of that note.

    ``key`` names all that the table and its note depend on, so that ``is_written`` can tell that they are there.
    ``order_key`` names the random order of the seed in which the records stand; None: in the original's.
    """
    from sfumato.cli.options import say
    from sfumato.compare.plain import to_json
    from sfumato.data.files import write
    from sfumato.data.schema_file import schema_text
    from sfumato.show.page import save

    lost = write(protected, path)
    for line in lost:
        say(line)
    schema = _INTERNAL + schema_text(_publishable(protected))
    told = {
        "keep_internal": "whoever knows the seed can undo a random method; do not publish this file with the table",
        "table": path.name,
        "sha256": _digest(path),
        "records": len(protected),
        "made_from": {"file": source.name, "sha256": _digest(source)},
        "method": repr(method) if method is not None else None,
        "seed": seed,
        "order": "as in the original" if order_key is None else RANDOM,
        "order_key": order_key,
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
    return there and made == (key, _digest(path), _digest(source))


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


def _digest(path: Path) -> str:
    import hashlib

    from sfumato.data.atomic import reason

    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from None
