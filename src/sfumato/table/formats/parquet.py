"""Parquet in and out, through pyarrow; and parts of a table on disk, which are row groups of Parquet files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import DataError, FileError
from sfumato.table import columns as read_columns
from sfumato.table.atomic import reason
from sfumato.table.formats.format import Format, ReadOptions, content_of, labels_lost, under_schema
from sfumato.table.frames import to_arrow
from sfumato.table.microdata import Microdata
from sfumato.table.on_demand import Column, OnDemand, digest_of
from sfumato.table.schema import Variable


def _read_parquet(path: Path, content: bytes) -> pa.Table:
    """Turn the bytes of a Parquet file into an arrow table; an empty, truncated or foreign file is refused."""
    import pyarrow.parquet as pq

    if not content:
        raise FileError(f"{path} is empty")
    try:
        found = pq.read_table(pa.BufferReader(content))
        found.validate(full=True)  # codes of texts that are not there come through the reader, and texts that are none
        return found
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # names of columns may be no text
        if content[:4] == b"PAR1" and content[-4:] != b"PAR1":
            raise FileError(f"{path} is a truncated Parquet file: its end is missing; fetch it again") from None
        raise FileError(f"{path} cannot be read as Parquet: {error}") from None


def write_parquet(table: pa.Table, out: BinaryIO) -> None:
    """Write an arrow table as Parquet."""
    import pyarrow.parquet as pq

    try:
        pq.write_table(table, out)
    except pa.ArrowNotImplementedError as error:
        entry = next((entry for entry in table.schema if _short(entry.type)), None)
        if entry is None:
            raise
        name, kind = entry.name, entry.type
        raise DataError(
            f"variable {name!r} is of type {kind}, which pyarrow {pa.__version__} cannot write as Parquet ({error}); "
            f"make it decimal128({kind.precision}, {kind.scale}), or install a newer pyarrow"
        ) from None


def _short(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind))


# A part of a table on disk: some row groups of a Parquet file, read column by column, and known by their content.

Times = tuple[int, int]

BLOCK = 1 << 18  # bytes digested at a time, few enough to stay near the processor
LENGTH = 32  # of a digest, 128 bits: equal ones of different columns do not occur
OPEN_FILES = 8
TOUCHED = 4_096  # parts touched since they were scanned whose digests are kept


@dataclass(frozen=True)
class Place:
    """Where a part lies, and what its file was like when it was first looked at."""

    path: Path
    groups: tuple[int, ...]
    records: int
    size: int  # bytes of the whole file
    changed: Times  # when
    digests: Mapping[str, str]  # of the columns: of the bytes of each in the row groups, and of its type
    last: bool = field(default=True, compare=False)  # whether these are all row groups of the file

    @cached_property
    def digest(self) -> str:
        """A digest of all columns."""
        return digest_of(*(text for column in self.digests.items() for text in column))

    @property
    def name(self) -> str:
        """The name of a part: its file, and which row groups of it if there are others."""
        if self.last:
            return str(self.path)
        ends = f"{self.groups[0] + 1}" + (f" to {self.groups[-1] + 1}" if len(self.groups) > 1 else "")
        return f"{self.path}, row group{'s' if len(self.groups) > 1 else ''} {ends}"

    def check(self) -> None:
        """Refuse a part that is not what it was; a file that was only copied or touched is."""
        now = stated(self.path)
        if (now.st_size, times(now)) == (self.size, self.changed):
            return
        if now.st_size != self.size or _digests_then(self.path, self.groups, times(now)) != self.digests:
            raise FileError(
                f"part {self.name} has changed since it was first looked at; scan the table again, and let nobody "
                "write to its files meanwhile"
            )


class ParquetColumns(OnDemand):
    """The columns of a part, as the variables of the whole table say."""

    def __init__(self, place: Place, variables: Mapping[str, Variable]) -> None:
        self.place, self.variables = place, dict(variables)

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.place.records

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.variables)

    @property
    def digest(self) -> str:
        """A digest of what the row groups hold."""
        return self.place.digest

    def column_digest(self, name: str) -> str | None:
        """A digest of the bytes of one column."""
        return self.place.digests[name]

    def read(self, name: str) -> Column:
        """Read one column; refused where the file has changed."""
        self.place.check()
        column = raw(self.place.path, self.place.groups, name)
        try:
            return read_columns.read(name, column, self.variables[name])[1]
        except DataError as error:
            raise type(error)(f"part {self.place.name}: {error}") from None

    def exact(self, name: str) -> Any:
        """Return one column as it lies there, where what is read of it does not tell all."""
        kind = types(self.place.path).field(name).type
        if not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            return None
        self.place.check()
        return read_columns.more_than_read(raw(self.place.path, self.place.groups, name), self.variables[name])


def stated(path: Path) -> Any:
    """Return what the file system says of a file."""
    try:
        return path.stat()
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from None


def times(state: Any) -> Times:
    """Return when a file was written and when anything of it changed, in nanoseconds: the first can be put back."""
    return state.st_mtime_ns, state.st_ctime_ns


def opened(path: Path) -> Any:
    """Open a Parquet file; an empty, truncated or foreign one is refused."""
    now = stated(path)
    return _opened(path, now.st_size, times(now))[0]


def types(path: Path) -> pa.Schema:
    """Return the names and types of the columns of a Parquet file."""
    now = stated(path)
    return _opened(path, now.st_size, times(now))[1]


@lru_cache(maxsize=OPEN_FILES)
def _opened(path: Path, size: int, _: Times) -> tuple[Any, pa.Schema]:
    if not size:
        raise FileError(f"{path} is empty")
    try:
        with path.open("rb") as file:
            start = file.read(4)
            file.seek(max(size - 4, 0))
            end = file.read(4)
        if start == b"PAR1" and end != b"PAR1":
            raise FileError(f"{path} is a truncated Parquet file: its end is missing; fetch it again")
        plain = pq.ParquetFile(path)
        schema = plain.schema_arrow
        return pq.ParquetFile(path, metadata=plain.metadata, read_dictionary=_texts(schema)), schema
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be read as Parquet: {error}") from None


def _texts(schema: pa.Schema) -> list[str]:
    """Name the columns of text, which are read as codes of the texts that occur."""
    return [entry.name for entry in schema if pa.types.is_string(entry.type) or pa.types.is_large_string(entry.type)]


def raw(path: Path, groups: tuple[int, ...], name: str) -> Any:
    """Read one column of some row groups as arrow."""
    try:
        column = opened(path).read_row_groups(list(groups), columns=[name], use_threads=False)[name]
        if pa.types.is_dictionary(column.type):
            column.validate(full=True)  # codes of texts that are not there come through the reader
    except OSError as error:  # of a file that ends before its data do, too
        raise FileError(f"{path} cannot be read: {error}; fetch it again") from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be read as Parquet: {error}") from None
    return column


def digests(path: Path, groups: tuple[int, ...]) -> dict[str, str]:
    """Return a digest of each column: of its bytes in some row groups, and of its type."""
    file, block = opened(path), memoryview(bytearray(BLOCK))
    found = {entry.name: sha256(str(entry.type).encode()) for entry in types(path)}
    try:
        with path.open("rb", buffering=0) as content:
            for group in groups:
                for name, start, end in _spans(file.metadata.row_group(group), list(found)):
                    content.seek(start)
                    left = end - start
                    while left:
                        size = content.readinto(block[:left])
                        if not size:
                            raise FileError(f"{path} is a truncated Parquet file: its data end early; fetch it again")
                        found[name].update(block[:size])
                        left -= size
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from None
    return {name: digest.hexdigest()[:LENGTH] for name, digest in found.items()}


@lru_cache(maxsize=TOUCHED)
def _digests_then(path: Path, groups: tuple[int, ...], _changed: Times) -> dict[str, str]:
    """Return the digests of a file that was touched or copied: once, and not anew for each column."""
    return digests(path, groups)


def _spans(group: Any, names: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield each chunk of a row group: its column, and where its bytes begin and end in the file.

    A column is one chunk; only those of lists and the like, which no table has here, are several.
    """
    flat = group.num_columns == len(names)
    for place in range(group.num_columns):
        chunk = group.column(place)
        pages = [chunk.data_page_offset, chunk.dictionary_page_offset]
        start = min(page for page in pages if page is not None and page > 0)
        name = names[place] if flat else chunk.path_in_schema.partition(".")[0]
        yield name, start, start + chunk.total_compressed_size


def bounds(path: Path, groups: tuple[int, ...], name: str) -> tuple[int, int] | None:
    """Return the smallest and largest whole number of a column, as the file says itself; None: it does not."""
    metadata = opened(path).metadata
    low, high = [], []
    for group in groups:
        found = metadata.row_group(group)
        chunks = (found.column(place) for place in range(found.num_columns))
        chunk = next((c for c in chunks if c.path_in_schema == name), None)
        told = None if chunk is None else chunk.statistics
        if told is None or not told.has_min_max:
            return None
        low.append(int(told.min))
        high.append(int(told.max))
    return min(low), max(high)


# Parquet as a format of files.

PER_CELL = 24  # bytes of memory that reading takes at least, for each number


def _read(file: Path, options: ReadOptions) -> Microdata:
    return under_schema(file, _read_parquet(file, content_of(file)), options)


def _write(table: Microdata, _: Path, out: BinaryIO) -> tuple[str, ...]:
    if table.origin.dialect is not None:
        table = _with_dates(table)
    write_parquet(to_arrow(table.to_frame())[0], out)
    return labels_lost(table)


def _with_dates(table: Microdata) -> Microdata:
    """Return a table whose dates are dates, though they were text in the file it came from."""
    dated = [replace(variable, format="") for variable in table.schema if variable.format]
    native = {name: kind for name, kind in (table.origin.native or {}).items() if name not in {v.name for v in dated}}
    return replace(table, schema=table.schema.replace(*dated), origin=replace(table.origin, native=native))


def _memory(file: Path) -> float:
    import pyarrow.parquet as pq

    try:
        told = pq.read_metadata(file)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return file.stat().st_size  # reading it says what is wrong
    return int(told.num_rows) * int(told.num_columns) * PER_CELL


PARQUET = Format("Parquet", (".parquet", ".pq"), _read, _write, memory=_memory)
FORMATS = (PARQUET,)
