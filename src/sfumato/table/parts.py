"""A table in parts: files too large for memory, read a part at a time under one schema.

    original = sfumato.scan("register/*.parquet", "schema.toml")
    sfumato.KAnonymity(3).evaluate(original, sfumato.scan("protected/*.parquet", "schema.toml"))

One pass learns what the parts have in common: which categories occur, which kind each variable has. After that each
part is a ``Microdata`` whose columns are read when they are asked for. A part that changes between two looks at it is
refused.
"""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from glob import glob
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.arguments import require, require_whole
from sfumato.errors import DataError, FileError, ParameterError, SchemaError
from sfumato.table import columns as read_columns
from sfumato.table.columns import EXACT
from sfumato.table.formats import PathLike, a_path, format_of
from sfumato.table.formats.format import ReadOptions, allowed_unpacked
from sfumato.table.formats.parquet import (
    PARQUET,
    ParquetColumns,
    Place,
    bounds,
    digests,
    opened,
    raw,
    stated,
    times,
    types,
)
from sfumato.table.frames import Origin, computed_names, row_names_of, stating_row_names, to_arrow
from sfumato.table.microdata import Microdata, check_names, check_special
from sfumato.table.on_demand import OnDemand, SelectedColumns, SelectedRecords, in_one
from sfumato.table.schema import Category, Schema, Variable, a_kind
from sfumato.table.schema_file import read_schema

# What the parts of a table have in common: each is looked through once, and those that disagree are named.

MAX_CATEGORIES = 2**20  # more than that are names of the records, which a schema cannot list


@dataclass(frozen=True)
class Column:
    """What one part tells of one variable."""

    variable: Variable | None  # None: it does not fit what is known of the original's
    type: pa.DataType
    sorted: bool = True  # whether its categories come in ascending order, not in an order of their own

    @property
    def silent(self) -> bool:
        """Whether the part has no value that could tell."""
        return bool(pa.types.is_null(self.type))


@dataclass(frozen=True)
class Learned:
    """What one part tells of all variables."""

    place: Place
    columns: Mapping[str, Column]
    weighs: bool = True  # whether a record has a weight above zero


def _learn(place: Place, told: Schema, *, fitting: bool = False, only: Sequence[str] | None = None) -> Learned:
    """Look through a part: read what its types do not tell, and refuse what cannot be right whatever the others hold.

    ``fitting``: what is told comes from the original of a protected table, and need not hold.
    """
    found: dict[str, Column] = {}
    special: dict[str, NDArray[Any]] = {}
    stated = {variable.name: variable for variable in told}
    needed = {told.weight, told.id}
    try:
        for entry in types(place.path):
            if only is not None and entry.name not in only:
                continue
            known = stated.get(entry.name)
            variable = None if entry.name in needed else _by_type(place, entry, known)
            if variable is not None:
                found[entry.name] = Column(variable, entry.type)
                continue
            column = raw(place.path, place.groups, entry.name)
            variable = None if entry.name in needed else _by_texts(entry, column, known)
            if variable is not None:
                found[entry.name] = Column(variable, entry.type)
                continue
            if fitting and known is not None:
                found[entry.name] = Column(read_columns.fitted(known, _decoded(column, entry.type)), entry.type)
                continue
            listed = known is None or known.kind != "ordinal" or bool(known.categories)
            typed = _as_typed(column, entry.type) if listed else _decoded(column, entry.type)
            variable, values = read_columns.read(entry.name, typed, known)
            found[entry.name] = Column(variable, entry.type, not pa.types.is_dictionary(entry.type))
            if entry.name in needed:
                special[entry.name] = values
        weighs = _special(told, found, special)
    except DataError as error:
        raise type(error)(f"part {place.name}: {error}") from None
    return Learned(place, found, weighs)


def _by_type(place: Place, entry: pa.Field, known: Variable | None) -> Variable | None:
    """Return a variable whose kind shows in the type of its column; None: its values must be looked at."""
    if known is not None and not known.kind_by_rule and known.kind != "numeric":
        return None
    bare = Variable(entry.name, declared=False)
    variable = bare if known is None else replace(known, kind="numeric", kind_by_rule=False)
    if pa.types.is_floating(entry.type) or pa.types.is_null(entry.type):
        return variable
    if pa.types.is_integer(entry.type):
        ends = bounds(place.path, place.groups, entry.name)
        if ends is not None and max(abs(end) for end in ends) <= EXACT:
            return variable
    return None


def _by_texts(entry: pa.Field, column: Any, known: Variable | None) -> Variable | None:
    """Return a nominal variable of text by the texts that occur, without a look at who has which; None: not so."""
    if pa.types.is_dictionary(entry.type) or not pa.types.is_dictionary(column.type):
        return None
    variable = Variable(entry.name, kind="nominal", declared=False) if known is None else known
    if variable.kind != "nominal" or variable.kind_by_rule or variable.missing:
        return None
    texts = pa.concat_arrays([chunk.dictionary for chunk in column.chunks]).unique().drop_null().to_pylist()
    if not variable.categories:
        return replace(variable, categories=tuple(sorted(texts)))
    return variable if set(texts).issubset(variable.categories) else None


def _as_typed(column: Any, kind: pa.DataType) -> Any:
    """Return text that is read as codes as what it is: the order of its categories is that of the texts."""
    if pa.types.is_dictionary(kind) or not pa.types.is_dictionary(column.type):
        return column
    whole = column.unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    order = pc.sort_indices(whole.dictionary)
    place = np.empty(len(order), dtype=np.int32)
    place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(place).take(whole.indices), whole.dictionary.take(order))


def _decoded(column: Any, kind: pa.DataType) -> Any:
    return column if pa.types.is_dictionary(kind) else column.cast(kind)


def _special(told: Schema, found: Mapping[str, Column], values: Mapping[str, NDArray[Any]]) -> bool:
    """Refuse weights and ids of this part that cannot be right; tell whether a record has a weight above zero."""
    if not values:
        return True
    variables = tuple(column.variable for name, column in found.items() if name in values and column.variable)
    weight = told.weight if told.weight in values else None
    weighs = weight is None or bool(values[weight].any())
    # a part may weigh nothing as long as another does; missing and negative weights are refused in any
    schema = Schema(variables, weight=weight if weighs else None, id=told.id if told.id in values else None)
    check_special(schema, values)
    return weighs


def common(
    learned: Sequence[Learned], stated: Mapping[str, Variable], *, fitting: bool = False
) -> dict[str, Variable | None]:
    """Return the variables of the whole table; None: of one that does not fit what is known of the original's."""
    first = learned[0]
    for part in learned[1:]:
        if list(part.columns) != list(first.columns):
            odd = sorted(set(part.columns) ^ set(first.columns))
            why = f"its columns differ in {', '.join(odd)}" if odd else "its columns stand in another order"
            raise DataError(f"part {part.place.name} does not go with {first.place.name}: {why}")
    return {name: _common(name, learned, stated.get(name), fitting=fitting) for name in first.columns}


def _common(name: str, learned: Sequence[Learned], known: Variable | None, *, fitting: bool) -> Variable | None:
    telling = [part for part in learned if not part.columns[name].silent] or list(learned[:1])
    found = [part.columns[name].variable for part in telling]
    variables = [variable for variable in found if variable is not None]
    if len(variables) < len(found):
        return None
    first, where = variables[0], telling[0].place.name
    for part, variable in zip(telling, variables, strict=True):
        if variable.kind != first.kind:
            if fitting:
                return None
            raise SchemaError(
                f"part {part.place.name}: variable {name!r} is {a_kind(variable.kind)}, as its column of type "
                f"{part.columns[name].type} says, but {a_kind(first.kind)} in {where}; state its kind in the schema, "
                "or make the files alike"
            )
        if variable.format != first.format:
            raise SchemaError(
                f"part {part.place.name}: variable {name!r} has dates of the form {variable.format!r}, but "
                f"{first.format!r} in {where}; state its format in the schema"
            )
    if first.quantitative or (known is not None and known.categories and not fitting):
        return first
    return replace(first, categories=_categories(name, telling, variables, known))


def _categories(
    name: str, parts: Sequence[Learned], variables: Sequence[Variable], known: Variable | None
) -> tuple[Category, ...]:
    before: tuple[Category, ...] = () if known is None else known.categories
    if not parts[0].columns[name].sorted and variables[0].kind == "ordinal":
        for part, variable in zip(parts, variables, strict=True):
            if variable.categories != variables[0].categories:
                raise SchemaError(
                    f"part {part.place.name}: variable {name!r} has other ordered categories than in "
                    f"{parts[0].place.name}; list them in the schema from lowest to highest"
                )
        return variables[0].categories
    occurring = dict.fromkeys(category for variable in variables for category in variable.categories)
    if len(occurring) > MAX_CATEGORIES:
        raise DataError(
            f"variable {name!r} has more than {MAX_CATEGORIES:,} different values, so it names records rather than "
            "classes; number its values, or leave it out of the files"
        )
    new = [category for category in occurring if category not in set(before)]
    if not parts[0].columns[name].sorted:
        return (*before, *new)
    try:
        return (*before, *sorted(new))  # type: ignore[type-var]
    except TypeError:
        odd = next(p for p, v in zip(parts, variables, strict=True) if _sort(v) != _sort(variables[0]))
        raise SchemaError(
            f"part {odd.place.name}: variable {name!r} has values of another type than in {parts[0].place.name}; make "
            "the files alike"
        ) from None


def _sort(variable: Variable) -> set[type]:
    return {type(category) for category in variable.categories}


# Ids of a table in parts: a part that was delivered twice, and ids that occur in several parts, are refused.
#
# Each part was looked through by itself, so that ids are told apart within it. Two parts share none if their
# categories, or the ranges of their whole numbers as the files say them, do not overlap. Only else are the ids read
# again and sorted, of tables that are not too long for that.

MAX_IDS_AT_ONCE = 2**22  # records whose ids are sorted in memory, if only that can tell; some 30 bytes each


def _refuse_repeated(schema: Schema, learned: Sequence[Learned], run: Callable[..., Iterable[Any]]) -> None:
    """Refuse ids that occur in several parts; ``run`` maps a function over the parts."""
    name = schema.id
    if name is None or len(learned) < 2:
        return
    places = [part.place for part in learned]
    _refuse_twice(name, places)
    if _apart(schema[name], learned) or sum(place.records for place in places) > MAX_IDS_AT_ONCE:
        return
    found: list[NDArray[Any]] = list(run(partial(_ids, schema[name]), places))
    ids = np.sort(np.concatenate(found))
    twice = np.unique(ids[1:][ids[1:] == ids[:-1]])
    if twice.size:
        variable = schema[name]
        shown = f"{twice[0]:.15g}" if variable.quantitative else variable.spelled(variable.categories[int(twice[0])])
        where = [place.name for place, part in zip(places, found, strict=True) if (part == twice[0]).any()]
        raise DataError(
            f"the id {name!r} must tell records apart; {twice.size:,} of its values occur more than once, for example "
            f"{shown} in {' and in '.join(where)}. If the table has several records per person, name the person as the "
            "household instead of the id: the records of a person are then one unit"
        )


def _refuse_twice(name: str, places: Sequence[Place]) -> None:
    known: dict[str, Place] = {}
    for place in places:
        other = known.setdefault(place.digests[name], place)
        if other is not place:
            raise DataError(
                f"parts {other.name} and {place.name} hold the same ids in {name!r}, as if one were delivered twice; "
                "leave one of them out"
            )


def _apart(variable: Variable, learned: Sequence[Learned]) -> bool:
    """Tell whether it shows without reading them that no two parts have an id in common."""
    name = variable.name
    if not variable.quantitative:
        told = [part.columns[name].variable for part in learned]
        each = [one.categories for one in told if one is not None]
        return len(each) == len(learned) and sum(map(len, each)) == len({one for some in each for one in some})
    ranges = []
    for place in (part.place for part in learned):
        whole = pa.types.is_integer(types(place.path).field(name).type)
        ends = bounds(place.path, place.groups, name) if whole else None
        if ends is None:
            return False
        ranges.append(ends)
    return all(before[1] < after[0] for before, after in pairwise(sorted(ranges)))


def _ids(variable: Variable, place: Place) -> NDArray[Any]:
    """Read the ids of a part, categories as codes; missing ones are left out."""
    column = ParquetColumns(place, {variable.name: variable}).read(variable.name)
    return column[~np.isnan(column)] if variable.quantitative else column[column >= 0]


# The table in parts.

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
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return self.schema.names

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of the table."""
        return self.parts[0].notes

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
    def drawn(self) -> NDArray[np.intp] | None:
        """Of a sample, the numbers of its records in the table it was drawn from, which ascend; else None."""
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


Table = Microdata | TableInParts  # its schema and its parts, one or many


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
    foreign = [file for file in files if format_of(file) is not PARQUET]
    if foreign and len(foreign) < len(files):
        raise FileError(f"{foreign[0]} is no Parquet file, but others of the table are; give files of one kind")
    if foreign:
        from sfumato.table.files import check_options

        check_options("scan", delimiter, decimal, None, missing)
        options = ReadOptions(told, None, delimiter, decimal, None, missing, allowed_unpacked(None))
        files = _streamed(files, None if folder is None else a_path(folder), records, options)
    run = map if executor is None else executor.map
    cuts = [(file, groups) for file in files for groups in _cut(file, records)]
    if not cuts:
        raise DataError(f"{files[0]}: the table has no records")
    origin = _origin(files[0], text=bool(foreign))
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
        anew = list(run(partial(_learn, told=bare, only=again), places))
        variables |= common(anew, {})
    whole = replace(told, variables=tuple(_known(variables[name]) for name in names))
    _check_weights(whole, learned)
    _refuse_repeated(whole, learned, run)
    by_name = {variable.name: variable for variable in whole}
    notes = (*notes, *computed_names(names))
    return TableInParts(tuple(Microdata(whole, ParquetColumns(place, by_name), origin, notes) for place in places))


def _streamed(files: list[Path], folder: Path | None, records: int, options: ReadOptions) -> list[Path]:
    """Turn files of another format into Parquet files."""
    found = format_of(files[0])
    if found is None or found.stream is None:
        from sfumato.table.formats.delimited_stream import in_parts

        raise FileError(f"{files[0]} cannot be read in parts; that can be done with {in_parts()}")
    found.check(files[0], options)
    return found.stream(files, folder, records, options)


def _chosen(part: Microdata, schema: Schema) -> Microdata:
    if isinstance(part.columns, OnDemand):
        return replace(part, schema=schema, columns=SelectedColumns(part.columns, schema.names))
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
                parts.append(replace(part, columns=SelectedRecords(part.columns, rows), drawn=drawn))
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
            inside = sorted(file for file in path.iterdir() if format_of(file) is PARQUET and file.is_file())
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
    return _learn(_placed(file, groups), told, fitting=fitting)


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
