"""A table in parts: files too large for memory, read a part at a time under one schema.

    original = sfumato.scan("register/*.parquet", "schema.toml")
    sfumato.KAnonymity(3).evaluate(original, sfumato.scan("protected/*.parquet", "schema.toml"))

One pass learns what the parts have in common: which categories occur, which kind each variable has. After that each
part is a ``Microdata`` whose columns are read when they are asked for. A part that changes between two looks at it is
refused.
"""

import os
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from glob import glob
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.arguments import require, require_whole
from sfumato.data.file_form import row_names_of, stating_row_names
from sfumato.data.file_names import PARQUET, PathLike, a_path
from sfumato.data.formats.parquet import ParquetColumns, Place, digests, opened, stated, times, types
from sfumato.data.frames import Origin, to_arrow
from sfumato.data.ids_in_parts import refuse_repeated
from sfumato.data.learning import Learned, common, learn
from sfumato.data.microdata import Microdata, check_names
from sfumato.data.on_demand import Chosen, OnDemand, Taken, in_one
from sfumato.data.schema import Schema, Variable
from sfumato.data.schema_file import read_schema
from sfumato.errors import DataError, FileError, ParameterError, SchemaError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RECORDS = 500_000  # of a part, unless a row group holds more


@dataclass(frozen=True, eq=False, repr=False)
class TableInParts:
    """A table on disk: the parts, each read when it is asked for, and the schema that all of them have."""

    parts: tuple[Microdata, ...]

    @property
    def schema(self) -> Schema:
        """What is known of the variables."""
        return self.parts[0].schema

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of records of each part."""
        return tuple(len(part) for part in self.parts)

    @property
    def matched(self) -> bool:
        """Whether record i is about the same unit as record i of the table it was made from."""
        return all(part.matched for part in self.parts)

    @property
    def placed(self) -> bool:
        """Whether more than its place told which record is which."""
        return all(part.placed for part in self.parts)

    @property
    def drawn(self) -> "NDArray[np.intp] | None":
        """Of a sample, the numbers of its records in the table it was drawn from, which ascend; else None."""
        import numpy as np

        rows = [part.drawn for part in self.parts if part.drawn is not None]
        return np.concatenate(rows) if len(rows) == len(self.parts) else None

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all parts: two tables with the same fingerprint give the same figures."""
        return sha256(" ".join(part.fingerprint for part in self.parts).encode()).hexdigest()[:16]

    def __len__(self) -> int:
        return sum(self.sizes)

    def __repr__(self) -> str:
        parts = f"{len(self.parts)} part{'s' if len(self.parts) > 1 else ''}"
        return f"TableInParts({len(self):,} records in {parts}: {len(self.schema)} variables)"

    def unmatched(self) -> "TableInParts":
        """Return the table as one whose records correspond to none of the original: synthetic, or a sample."""
        return TableInParts(tuple(replace(part, matched=False) for part in self.parts))

    def only(self, names: Iterable[str]) -> "TableInParts":
        """Return the table with these variables alone; none is read for that."""
        wanted = set(names)
        kept = tuple(name for name in self.schema.names if name in wanted)
        if not kept:
            raise DataError("a table needs at least one variable; all of them would go")
        schema = self.schema.only(kept)
        return TableInParts(tuple(_chosen(part, schema) for part in self.parts))

    def loaded(self) -> Microdata:
        """Return the whole table in memory."""
        import numpy as np

        first = self.parts[0]
        columns, exact = {}, {}
        for name in self.schema.names:
            read = [part.columns[name] for part in self.parts]
            columns[name] = np.concatenate(read)
            came = in_one([part.exact(name) for part in self.parts], read)
            if came is not None:
                exact[name] = came
        origin = replace(first.origin, path=None, exact=exact)
        return Microdata(self.schema, columns, origin, first.notes, self.matched, self.drawn)


def is_in_parts(path: PathLike) -> bool:
    """Tell whether a path means the files of a table in parts: a folder, or a pattern."""
    place = Path(path)
    return place.is_dir() or (any(mark in str(path) for mark in "*?[") and not place.exists())


def name_of_parts(path: PathLike) -> str:
    """Return what a table in parts is called: its folder.

    >>> name_of_parts("data/register/*.parquet"), name_of_parts("register/2024-*.parquet")
    ('register', 'register')
    """
    place = Path(path)
    folder = place if place.is_dir() else next(p for p in place.parents if not any(m in p.name for m in "*?["))
    return folder.resolve().name or "table"


def scan(
    paths: PathLike | Sequence[PathLike],
    schema: Schema | PathLike | None = None,
    *,
    beside: TableInParts | Microdata | None = None,
    records: int = RECORDS,
    folder: PathLike | None = None,
    executor: Executor | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] | None = None,
) -> TableInParts:
    """Look through the files of a table that is too large for memory, and return it in parts.

    ``paths`` is a pattern such as ``"register/*.parquet"``, a folder, or a list of files; the parts stand in the order
    of the files' names. A file is cut into parts between its row groups, of up to ``records`` records each. Text files
    (.csv, .tsv, .txt; compressed: .gz, .bz2, .zst) are converted to Parquet once, a block at a time, into ``folder``,
    which nobody else can read; they follow the rule of ``sfumato.read``, and so do ``delimiter``, ``decimal`` and
    ``missing``.

    ``schema`` is a ``Schema`` or the path of a ``schema.toml``; kinds that it does not state follow the type of the
    columns, as in memory. ``beside`` is the original of a protected table: what is known of its variables holds for
    their namesakes where it can. Parts that disagree, or hold the same ids, are refused, and the part is named.
    ``executor`` is where parts are looked through; without one, here.
    """
    require_whole("scan", least=1, records=records)
    require("scan", TableInParts | Microdata | None, "the original, in parts or not", beside=beside)
    files, told = _found(paths), _schema(schema, beside)
    text = [file for file in files if file.suffix.lower() not in PARQUET]
    if text and len(text) < len(files):
        raise FileError(f"{text[0]} is no Parquet file, but others of the table are; give files of one kind")
    if text:
        from sfumato.data.files import check_options
        from sfumato.data.formats.delimited import MISSING
        from sfumato.data.formats.delimited_stream import TextOptions, converted

        check_options("scan", delimiter, decimal, None, missing)
        numeric = frozenset(v.name for v in told or () if v.kind == "numeric" and not v.kind_by_rule)
        options = TextOptions(delimiter, decimal, MISSING if missing is None else tuple(missing), numeric)
        files = converted(files, None if folder is None else a_path(folder), records, options)
    run = map if executor is None else executor.map
    cuts = [(file, groups) for file in files for groups in _cut(file, records)]
    if not cuts:
        raise DataError(f"{files[0]}: the table has no records")
    origin = _origin(files[0], text=bool(text))
    names = tuple(types(files[0]).names)
    told, notes = (told, ()) if beside is not None else stating_row_names(told, row_names_of(types(files[0])))
    if told is not None and beside is None:
        check_names(told, names)
        absent = [name for name in (*told.names, *told.special().values()) if name not in names]
        if absent:
            raise SchemaError(
                f"{files[0]}: the schema names {', '.join(map(repr, dict.fromkeys(absent)))}, which the table does not "
                f"have; it has {', '.join(names)}"
            )
    told = Schema() if told is None else told.only(names) if beside is not None else told
    learned = list(run(partial(_looked_through, told=told, fitting=beside is not None), *zip(*cuts, strict=True)))
    places = [part.place for part in learned]
    variables = common(learned, {variable.name: variable for variable in told}, fitting=beside is not None)
    again = tuple(name for name in names if variables[name] is None)
    if again:  # of a variable that is no longer what it was in the original: its own type says what it is
        bare = replace(told, variables=tuple(variable for variable in told if variable.name not in again))
        anew = list(run(partial(learn, told=bare, only=again), places))
        variables |= common(anew, {})
    whole = replace(told, variables=tuple(_known(variables[name]) for name in names))
    _check_weights(whole, learned)
    refuse_repeated(whole, learned, run)
    by_name = {variable.name: variable for variable in whole}
    return TableInParts(tuple(Microdata(whole, ParquetColumns(place, by_name), origin, notes) for place in places))


def _chosen(part: Microdata, schema: Schema) -> Microdata:
    if isinstance(part.columns, OnDemand):
        return replace(part, schema=schema, columns=Chosen(part.columns, schema.names))
    return replace(part, schema=schema, columns={name: part.columns[name] for name in schema.names})


def cut_alike(one: TableInParts, other: TableInParts) -> tuple[TableInParts, TableInParts]:
    """Return two tables of as many records in the same parts: cut wherever one of them is."""
    ends = sorted({*accumulate(one.sizes), *accumulate(other.sizes)})
    return _cut_at(one, ends), _cut_at(other, ends)


def _cut_at(table: TableInParts, ends: Sequence[int]) -> TableInParts:
    parts, start = [], 0
    for part in table.parts:
        stop = start + len(part)
        for low, high in pairwise([start, *ends[bisect_right(ends, start) : bisect_right(ends, stop)]]):
            rows = range(low - start, high - start)
            if isinstance(part.columns, OnDemand) and len(rows) < len(part):
                drawn = None if part.drawn is None else part.drawn[rows.start : rows.stop]
                parts.append(replace(part, columns=Taken(part.columns, rows), drawn=drawn))
            else:
                parts.append(part)
        start = stop
    return TableInParts(tuple(parts))


def _found(paths: PathLike | Sequence[PathLike]) -> list[Path]:
    """List the files meant, in the order of their names."""
    listed: Iterable[PathLike] = (paths,)  # type: ignore[assignment]
    if isinstance(paths, Iterable) and not isinstance(paths, str | bytes):
        with suppress(TypeError):  # what says that it holds others and does not is refused as a path
            listed = list(paths)
    found: list[Path] = []
    for entry in listed:
        path = a_path(entry)
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.suffix.lower() in PARQUET and file.is_file())
            if not inside:
                raise FileError(f"{path} holds no Parquet files; name files of another kind: {path / '*.csv'}")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            named = map(Path, glob(str(entry), recursive=True))  # noqa: PTH207 - a pattern may be absolute
            matching = sorted(file for file in named if file.is_file())
            if not matching:
                raise FileError(f"{_none_fits(path)}; give a pattern such as 'folder/*.parquet', or a folder")
            found += matching
    if not found:
        raise ParameterError("scan: no file was named")
    return [path.resolve() for path in found]


def _none_fits(path: Path) -> str:
    """Say that there is no such file, or none that a pattern fits, and whether the folder is there."""
    if not any(mark in str(path) for mark in "*?["):
        return f"no file is called {path}"
    folder = next(place for place in path.parents if not any(mark in str(place) for mark in "*?["))
    where = f"none in the folder {folder} fits" if folder.is_dir() else f"there is no folder {folder}"
    return f"no file is called {path}, which is a pattern: {where}"


def _schema(schema: Schema | PathLike | None, beside: TableInParts | Microdata | None) -> Schema | None:
    if schema is not None and beside is not None:
        raise ParameterError("scan: give a schema, or the original that it stands beside, not both")
    if beside is not None:
        return beside.schema
    if isinstance(schema, Schema) or schema is None:
        return schema
    if isinstance(schema, str | os.PathLike):
        return read_schema(schema)
    raise SchemaError(f"schema must be a Schema or the path of a schema.toml; got {type(schema).__name__}")


def _cut(file: Path, records: int) -> list[tuple[int, ...]]:
    """Put the row groups of a file together to parts of no more records than that; empty ones are left out."""
    metadata = opened(file).metadata
    parts: list[tuple[int, ...]] = []
    held: list[int] = []
    count = 0
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).num_rows
        if held and count + size > records:
            parts.append(tuple(held))
            held, count = [], 0
        if size:
            held.append(group)
            count += size
    return [*parts, tuple(held)] if held else parts


def _looked_through(file: Path, groups: tuple[int, ...], *, told: Schema, fitting: bool) -> Learned:
    return learn(_placed(file, groups), told, fitting=fitting)


def _placed(file: Path, groups: tuple[int, ...]) -> Place:
    before, metadata = stated(file), opened(file).metadata
    found = digests(file, groups)
    return Place(
        file,
        groups,
        sum(metadata.row_group(group).num_rows for group in groups),
        before.st_size,
        times(before),
        found,
        len(groups) == sum(metadata.row_group(group).num_rows > 0 for group in range(metadata.num_row_groups)),
    )


def _origin(file: Path, *, text: bool) -> Origin:
    """Remember the types of the columns, so that a protected part goes back as the same; refuse what is no table.

    Decimals that stand for the digits of text are not remembered: masked, these are floats.
    """
    schema = types(file).remove_metadata()
    empty = pa.table([pa.nulls(0, entry.type) for entry in schema], schema)  # an empty_table would load pandas
    try:
        origin = replace(to_arrow(empty)[1], path=file)
    except DataError as error:
        raise DataError(f"{file}: {error}") from None
    kept = {name: kind for name, kind in origin.native.items() if not (text and pa.types.is_decimal(kind))}
    return replace(origin, native=kept)


def _known(variable: Variable | None) -> Variable:
    assert variable is not None  # what fitted no part was learned anew
    return variable


def _check_weights(schema: Schema, learned: Sequence[Learned]) -> None:
    """Refuse a weight that is zero in all parts: what is wrong in one was refused there."""
    if schema.weight is not None and not any(part.weighs for part in learned):
        raise DataError(f"the weight {schema.weight!r} is zero in every record")
