"""Tables in and out, in memory and in parts: protected files as they are read, put beside the original and written."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import sfumato
from sfumato.errors import DataError, FileError, ParameterError
from sfumato.project.options import Tell, unheard
from sfumato.table.formats import a_path
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts, is_in_parts, name_of_parts, scan
from sfumato.table.sample_size import SAMPLED, check_sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core import Method
    from sfumato.table.schema import Schema, Variable

INTERNAL = (
    "# Of a protected table, for compare --protected-schema. It tells what was merged and how many values are missing\n"
    "# by suppression: do not publish it unseen.\n"
)

RANDOM = "random"  # the order of the records of a release
T = TypeVar("T", Microdata, TableInParts)


def read_table(
    file: Path, schema: "str | Path | None", sample: int = SAMPLED, tell: Tell = unheard, **dialect: str | None
) -> tuple[Microdata, TableInParts | None]:
    """Read a table; of one in parts, a folder or a pattern, return a random sample and the whole."""
    from sfumato.pair.sample import sampled
    from sfumato.table.files import read

    if not is_in_parts(file):
        return read(file, schema, **dialect), None
    check_sample(sample)
    whole = scan_table(file, schema, **dialect)
    if len(whole) > sample:
        tell(
            f"{name_of_parts(file)}: {whole!r}; figures are of all records, or called estimates; candidates are "
            f"composed and details are told of a random sample of {sample:,}"
        )
    return sampled(whole, sample), whole


def scan_table(
    file: Path,
    schema: "str | Path | Schema | None",
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> TableInParts:
    """Look through a table in parts."""
    from sfumato.project.engines import executor

    if encoding is not None:
        raise ParameterError("--encoding: text files of a table in parts are read as UTF-8; convert them")
    return scan(file, schema, executor=executor(), delimiter=delimiter, decimal=decimal)


def read_elsewhere(paths: Iterable[str | Path], original: T, tell: Tell = unheard, **dialect: Any) -> dict[str, T]:
    """Read tables that were protected elsewhere, by the names of their files or folders."""
    tables: dict[str, T] = {}
    for path in map(a_path, paths):
        name = name_of_parts(path) if is_in_parts(path) else path.name
        if name in tables:
            kind = "folders" if isinstance(original, TableInParts) else "files"
            raise DataError(f"two candidates are called {name}; rename one of the {kind}")
        tables[name] = read_protected(path, original, tell=tell, **dialect)
    return tables


def read_protected(
    path: Path,
    original: T,
    schema: Path | None = None,
    *,
    as_written: bool = False,
    tell: Tell = unheard,
    **dialect: str | None,
) -> T:
    """Read a table protected elsewhere: what is known of the original's variables holds for their namesakes.

    A release of ours is put back into the order of the original, if its note is there, unless ``as_written``; of other
    tables in parts it is looked whether their records stand as in the original.
    """
    from sfumato.project.engines import executor
    from sfumato.table.files import read

    schema = schema or schema_beside(place_of(path), tell)
    if isinstance(original, TableInParts):
        beside = None if schema is not None else original
        table = scan(path, schema, beside=beside, executor=executor())
        # in parts as the original is
        return table if as_written else beside_original(table, path, original, tell)  # type: ignore[return-value]
    found = read(path, schema, **dialect)
    order = None if as_written else order_of(path, len(found), tell)
    found = found if order is None else found.put_back(order)
    return found if schema is not None else _like_the_original(found, path, original)


def _like_the_original(protected: Microdata, path: Path, original: Microdata) -> Microdata:
    """Read the variables of a table without a schema as the original has them."""
    from sfumato.table.formats.labelled.reading import file_beside

    if not any(name in protected.names for name in original.names):
        raise DataError(
            f"{path} has no variable of the original; it has {', '.join(protected.names)}, "
            f"the original {', '.join(original.names)}"
        )
    try:
        return file_beside(original, protected)
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


def without_left_out(original: T, path: Path, tell: Tell = unheard) -> T:
    """Return the original without what the repairs left out of a release to keep others, unless that is all."""
    names = original.schema.names
    gone = [name for name in (_note_of(path) or {}).get("left_out", ()) if name in names]
    if not gone or len(gone) == len(names):
        return original
    tell(f"not counted as protected, for they were left out to keep others: {', '.join(gone)}")
    if isinstance(original, TableInParts):
        return original.only(name for name in names if name not in gone)  # type: ignore[return-value]
    return original.without(gone)


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


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """How a protected table was made, for the note on it, which is internal."""

    source: Path
    original: TableInParts | None = None  # of a table in parts
    method: "Method | None"
    seed: int
    figures: Mapping[str, float]
    notes: tuple[str, ...] = ()
    key: str = ""  # names all that the table and its note depend on, so that ``is_written`` can tell they are there
    order_key: str | None = None  # names the random order of the seed in which records stand; None: as in the original
    left_out: tuple[str, ...] = ()  # variables that went so that others are kept


def write_protected(
    protected: Microdata | TableInParts,
    path: Path,
    made: Provenance,
    *,
    note: Path | None = None,
    private: bool = False,
    tell: Tell = unheard,
) -> Path:
    """Write a protected table, and apart from it how it was made; return the path of that note.

    The note goes to ``note``, or else to a folder that says that it is internal. Parts are put into the order that was
    noted; a table in memory stands in it already. A ``private`` table can be read by its owner alone.
    """
    from sfumato.compare.plain import to_json
    from sfumato.pair.random_order import RandomOrder, write_in_random_order
    from sfumato.report.page import save
    from sfumato.table.files import write
    from sfumato.table.present import as_published
    from sfumato.table.schema_file import schema_text

    origin: dict[str, Any] = {"file": made.source.name}
    lost: tuple[str, ...] = ()
    if isinstance(protected, TableInParts):
        assert made.original is not None
        first = protected.parts[0]
        order = None if made.order_key is None else RandomOrder(made.seed, made.order_key)
        shown = as_published(protected.schema, partial(_codes, protected))
        write_in_random_order(protected, path, order, private=private)
        origin |= {"fingerprint": made.original.fingerprint, "records": len(made.original)}
    else:
        lost = tuple(write(protected, path, private=private))
        for line in lost:
            tell(line)
        first = protected
        shown = as_published(protected.schema, lambda variable: protected.columns[variable.name])
        origin["sha256"] = digest(made.source)
    schema = INTERNAL + schema_text(shown)
    told = {
        "keep_internal": "whoever knows the seed can undo a random method; do not publish this file with the table",
        "table": path.name,
        "sha256": digest(path),
        "records": len(protected),
        "made_from": origin,
        "method": repr(made.method) if made.method is not None else None,
        "seed": made.seed,
        "order": "as in the original" if made.order_key is None else RANDOM,
        "order_key": made.order_key,
        "left_out": made.left_out,
        "notes": [*first.notes, *made.notes, *lost],
        "figures": made.figures,
        **({"key": made.key} if made.key else {}),
        "sfumato": sfumato.__version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "schema": schema,
    }
    if note is None:
        _make_internal(path)
    place = save(note or provenance_path(path), to_json(told, indent=1).encode())
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
    return path.parent if is_in_parts(path) and not path.is_dir() else path


def beside_original(protected: TableInParts, path: Path, original: TableInParts, tell: Tell = unheard) -> TableInParts:
    """Return a protected table of which record i is record i of the original, or one that matches none.

    A release of ours is put in order by its note. Otherwise records without an id are in place only if columns that
    were not touched agree row by row, for a release may stand in any order.
    """
    from sfumato.auditing.of_parts import in_place
    from sfumato.pair.matching import put_in_order
    from sfumato.pair.sample import sampled

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

    if not is_in_parts(path):
        whole = order_of(path, records, tell)
        return None if whole is None else [whole.astype("int64")]
    found = order_told(place_of(path), tell)
    return None if found is None else RandomOrder(*found).records(records)


def _codes(table: TableInParts, variable: "Variable") -> "NDArray[np.int32]":
    """Return the codes of the categories that some record of a table has."""
    from sfumato.pair import Half
    from sfumato.pair.masking import category_weights

    found = Half.of(table).total(partial(category_weights, variable.name, len(variable.categories)))
    return np.flatnonzero(found["records"]).astype(np.int32)
