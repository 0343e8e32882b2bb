"""Tables in and out, in memory and in parts: protected files as they are read, put beside the original and written."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import sfumato
from sfumato.errors import DataError, FileError
from sfumato.project.options import Tell, unheard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core import Method
    from sfumato.table.microdata import Microdata
    from sfumato.table.parts import TableInParts
    from sfumato.table.schema import Variable

INTERNAL = (
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
    from sfumato.table.files import read
    from sfumato.table.formats.labelled.reading import file_beside

    if schema is None:
        schema = schema_beside(path, tell)
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


def released_in(places: "Iterable[Path]") -> dict[str, Path]:
    """Return the tables of other releases by a name of their own: files, or those in the folders of sweeps.

    A folder is that of a sweep, of which ``release`` is looked into, or that of a release; each table in it counts.
    """
    from sfumato.table.formats import known_suffixes

    known = known_suffixes()
    files: list[Path] = []
    for place in map(Path, places):
        if not place.is_dir():
            files.append(place)
            continue
        folder = place / "release" if (place / "release").is_dir() else place
        held = sorted(
            path for path in folder.iterdir() if path.suffix.lower() in known and not path.name.startswith(".")
        )
        if not held:
            raise FileError(f"{folder} holds no table; name the folder of a sweep, that of its release, or a file")
        files += held
    named: dict[str, Path] = {}
    for file in files:
        parents = [part for part in file.resolve().parent.parts[::-1] if part not in ("release", "/")]
        name = file.name
        while name in named and named[name].resolve() != file.resolve() and parents:
            name = f"{parents.pop(0)}/{name}"
        if name in named and named[name].resolve() != file.resolve():
            name = str(file.resolve())
        named[name] = file
    return named


def schema_beside(path: Path, tell: Tell) -> Path | None:
    """Find the schema that was written with a protected table."""
    place = written_with(path, f"{path.name}.schema.toml")
    if place is not None:
        tell(f"{path.name} is read with {place}, which was written with it; say --protected-schema for another")
    return place


def written_with(path: Path, name: str) -> Path | None:
    """Find a file that was written with a protected table.

    It is in the folder of what is internal; of a sweep beside the folder of its release; of earlier versions beside
    the table.
    """
    if not path.name:  # such as ".": no file of ours
        return None
    places = [internal_folder(path) / name, path.with_name(name)]
    if path.parent.name == "release":
        places.append(path.parent.parent / name)
    return next((place for place in places if place.is_file()), None)


def _in_order(table: "Microdata", path: Path, tell: Tell) -> "Microdata":
    order = order_of(path, len(table), tell)
    return table if order is None else table.put_back(order)


def order_of(path: Path, records: int, tell: Tell = unheard) -> "NDArray[np.intp] | None":
    """Return which record of the original each record of a release is, by the note that was written with it."""
    from sfumato.auditing.repairs import record_order

    found = order_told(path, tell)
    return None if found is None else record_order(records, *found)


def order_told(path: Path, tell: Tell = unheard) -> tuple[int, str] | None:
    """Return the seed and the key of the random order of a release, by the note that was written with it."""
    told = _note_of(path)
    if told is None or told.get("order") != RANDOM:
        return None
    try:
        found = int(told["seed"]), str(told["order_key"])
    except (ValueError, KeyError, TypeError):
        return None
    tell(
        f"{path.name} is in random order; {written_with(path, provenance_path(path).name)} tells which record is which"
    )
    return found


def made_of(path: Path, fingerprint: str) -> bool:
    """Tell whether the note on a release of parts says that it was made of the table with this fingerprint."""
    made = (_note_of(path) or {}).get("made_from")
    return isinstance(made, dict) and made.get("fingerprint") == fingerprint


def without_left_out(original: "Microdata", path: Path, tell: Tell = unheard) -> "Microdata":
    """Return the original without what the repairs left out of a release: it went to keep others."""
    names = left_out_of(path, original.names, tell)
    return original.without(names) if names else original


def left_out_of(path: Path, names: tuple[str, ...], tell: Tell = unheard) -> tuple[str, ...]:
    """Name the variables that the repairs left out of a release; none if they were all."""
    found = tuple(name for name in (_note_of(path) or {}).get("left_out", ()) if name in names)
    if not found or len(found) == len(names):
        return ()
    tell(f"not counted as protected, for they were left out to keep others: {', '.join(found)}")
    return found


def _note_of(path: Path) -> "dict[str, Any] | None":
    """Read the note that was written with a release; None where there is none, or it is of another file."""
    note = written_with(path, provenance_path(path).name)
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
    private: bool = False,
    tell: Tell = unheard,
) -> Path:
    """Write a protected table, and apart from it how it was made; return the path of that note.

    The note goes to ``note``, or else to a folder that says that it is internal.

    ``key`` names all that the table and its note depend on, so that ``is_written`` can tell that they are there.
    ``order_key`` names the random order of the seed in which the records stand; None: in the original's. ``left_out``
    names the variables that went so that others are kept. A ``private`` table can be read by its owner alone.
    """
    from sfumato.table.files import write
    from sfumato.table.present import as_published
    from sfumato.table.schema_file import schema_text

    lost = write(protected, path, private=private)
    for line in lost:
        tell(line)
    schema = INTERNAL + schema_text(as_published(protected.schema, lambda variable: protected.columns[variable.name]))
    told = {
        "records": len(protected),
        "made_from": {"file": source.name, "sha256": digest(source)},
        "method": repr(method) if method is not None else None,
        "seed": seed,
        "order": "as in the original" if order_key is None else RANDOM,
        "order_key": order_key,
        "left_out": left_out,
        "notes": [*protected.notes, *notes, *lost],
        "figures": figures,
        **({"key": key} if key else {}),
    }
    return save_note(path, note, told, schema)


def save_note(path: Path, note: Path | None, told: "dict[str, Any]", schema: str) -> Path:
    """Write how a protected table was made, and the schema that it has, apart from it; return the path of the note."""
    from sfumato.compare.plain import to_json
    from sfumato.report.page import save

    whole = {
        "keep_internal": "whoever knows the seed can undo a random method; do not publish this file with the table",
        "table": path.name,
        "sha256": digest(path),
        **told,
        "sfumato": sfumato.__version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "schema": schema,
    }
    if note is None:
        _make_internal(path)
    place = save(note or provenance_path(path), to_json(whole, indent=1).encode())
    save(protected_schema_path(place), schema.encode())
    return place


def _make_internal(path: Path) -> None:
    """Make the folder of what is internal, and remove what an earlier version wrote beside a table that is gone."""
    from sfumato.table.atomic import reason

    folder, beside = internal_folder(path), path.with_name(provenance_path(path).name)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if beside.is_file() and "keep_internal" in beside.read_text(encoding="utf-8", errors="replace"):
            beside.unlink()
            protected_schema_path(beside).unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"cannot keep the note on {path} in {folder}: {reason(error)}") from None


def is_written(path: Path, *, note: Path, source: Path | None, key: str) -> bool:
    """Tell whether a protected table stands where ``write_protected`` put it, as it was, made of the same source.

    ``source`` is None of a table in parts, which the key names by its content.
    """
    try:
        told = json.loads(note.read_text(encoding="utf-8"))
        made = (told["key"], told["sha256"], None if source is None else told["made_from"]["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    there = (path.is_file() or path.is_dir()) and protected_schema_path(note).is_file()
    return there and made == (key, digest(path), None if source is None else digest(source))


def internal_folder(path: Path) -> Path:
    """Return the folder of what is known of a protected table and must not go out with it."""
    return path.with_name(path.name + ".internal")


def provenance_path(path: Path) -> Path:
    """Return where the note on how a protected table was made goes: not beside it, for it holds the seed."""
    return internal_folder(path) / (path.name + ".provenance.json")


def protected_schema_path(note: Path) -> Path:
    """Return where the protected table's schema goes: beside the note, for ``compare --protected-schema``."""
    return note.with_name(note.name.removesuffix(".provenance.json") + ".schema.toml")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file; of a folder, that of the names and digests of its files."""
    import hashlib

    from sfumato.table.atomic import reason
    from sfumato.table.formats import located

    try:
        if path.is_dir():
            lines = [f"{digest(file)}  {file.name}\n" for file in sorted(path.iterdir())]
            return hashlib.sha256("".join(lines).encode()).hexdigest()
        with located(path)[0].open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from None


def place_of(path: Path) -> Path:
    """Return the folder of a table in parts, which its note is about; of one file the file."""
    from sfumato.table.parts import is_in_parts

    return path.parent if is_in_parts(path) and not path.is_dir() else path


def scan_protected(
    path: Path, original: "TableInParts", schema: Path | None = None, tell: Tell = unheard
) -> "TableInParts":
    """Look through a protected table as its records stand, by the schema that was written with it, if there is one."""
    from sfumato.project.in_parts import executor
    from sfumato.table.parts import scan

    stated = schema or schema_beside(place_of(path), tell)
    if stated is not None:
        return scan(path, stated, executor=executor())
    return scan(path, beside=original, executor=executor())


def beside_original(
    protected: "TableInParts", path: Path, original: "TableInParts", tell: Tell = unheard
) -> "TableInParts":
    """Return a protected table of which record i is record i of the original, or one that matches none.

    A release of ours is put in order by its note. Otherwise records without an id are in place only if columns that
    were not touched agree row by row, for a release may stand in any order.
    """
    from sfumato.auditing.of_parts import in_place
    from sfumato.pair.matching import put_in_order
    from sfumato.pair.sampled import sampled

    key, place = original.schema.id, place_of(path)
    if len(protected) != len(original) or (key is not None and key == protected.schema.id):
        return protected
    order = _noted_order(path, len(protected), tell)
    placed = protected if order is None else put_in_order(protected, order, original.sizes)
    if made_of(place, original.fingerprint):
        return placed
    how = in_place(sampled(original), sampled(placed))
    named = [name for name in (key, original.schema.household) if name and name not in protected.schema.names]
    if how or (how is None and order is None and not named):
        return placed
    lacking = f"it has no {' and no '.join(map(repr, named))}, " if named else ""
    tell(
        f"{place.name} is not matched record by record: {lacking}its rows do not agree with those of the original, and "
        "no note tells which is which; give both tables an id, or of a release of ours put the note back that was "
        "written with it"
    )
    return protected.unmatched()


def _noted_order(path: Path, records: int, tell: Tell) -> "Iterable[NDArray[np.int64]] | None":
    """Return which record of the original each record of a release is, in stretches, by the note on it."""
    from sfumato.pair.random_order import RandomOrder
    from sfumato.table.parts import is_in_parts

    if not is_in_parts(path):
        whole = order_of(path, records, tell)
        return None if whole is None else [whole.astype("int64")]
    found = order_told(place_of(path), tell)
    return None if found is None else RandomOrder(*found).records(records)


def write_protected_parts(
    protected: "TableInParts",
    path: Path,
    *,
    names: Iterable[str],
    order_key: str | None,
    note: Path | None = None,
    source: Path,
    original: "TableInParts",
    method: "Method | None",
    seed: int,
    figures: Mapping[str, Any],
    notes: tuple[str, ...] = (),
    key: str = "",
    left_out: tuple[str, ...] = (),
    private: bool = False,
) -> Path:
    """Write a protected table in parts with these variables, and apart from it how it was made; return that note.

    Records stand in the random order that ``order_key`` names; None: as in the original. What is ``private`` can be
    read by its owner alone.
    """
    from sfumato.pair.random_order import RandomOrder, write_in_random_order
    from sfumato.table.present import as_published
    from sfumato.table.schema_file import schema_text

    out = protected.only(names)
    order = None if order_key is None else RandomOrder(seed, order_key)
    schema = INTERNAL + schema_text(as_published(out.schema, partial(_codes, out)))
    write_in_random_order(out, path, order, private=private)
    told = {
        "records": len(out),
        "made_from": {"file": source.name, "fingerprint": original.fingerprint, "records": len(original)},
        "method": repr(method) if method is not None else None,
        "seed": seed,
        "order": "as in the original" if order is None else RANDOM,
        "order_key": order_key,
        "left_out": left_out,
        "notes": [*out.parts[0].notes, *notes],
        "figures": figures,
        **({"key": key} if key else {}),
    }
    return save_note(path, note, told, schema)


def _codes(table: "TableInParts", variable: "Variable") -> "NDArray[np.int32]":
    """Return the codes of the categories that some record of a table has."""
    from sfumato.pair import Half
    from sfumato.pair.masking import category_weights

    found = Half.of(table).total(partial(category_weights, variable.name, len(variable.categories)))
    return np.flatnonzero(found["records"]).astype(np.int32)
