"""What a format of files is: its name and suffixes, what reads and writes it, and what it needs and holds."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from sfumato.errors import DataError, FileError, ParameterError
from sfumato.table.atomic import reason
from sfumato.table.capacity import ALLOWED, in_bytes
from sfumato.table.frames import Dialect, computed_names, row_names_of, stating_row_names, to_arrow
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", ".")
OPTIONS = ("delimiter", "decimal", "encoding", "missing")  # that are for text, and some for other formats too


@dataclass(frozen=True)
class ReadOptions:
    """What is said of a file that is to be read; None: what the file itself tells."""

    schema: Schema | None = None
    table: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: Sequence[str] | None = None
    max_unpacked: int | None = None  # bytes that a compressed file may hold

    @property
    def markers(self) -> Sequence[str]:
        """The cells that are missing values."""
        return MISSING if self.missing is None else self.missing

    @property
    def numeric(self) -> frozenset[str]:
        """The variables of which the schema says that they are numbers."""
        return frozenset(v.name for v in self.schema or () if v.kind == "numeric" and not v.kind_by_rule)


def allowed_unpacked(size: int | str | None) -> int | None:
    """Return how many bytes a compressed file may hold, as said here or for the whole process; None: by the rule."""
    size = os.environ.get(ALLOWED) if size is None else size
    return None if size is None else in_bytes("max_unpacked", size)


@dataclass(frozen=True)
class Format:
    """A format of files.

    ``write`` returns what the format could not hold, in sentences; without it files are only read. ``tables`` names the
    tables of a file, where it may hold several. ``stream`` turns files into Parquet files of a folder, with row groups
    of so many records, without holding them in memory; without it files are not read in parts.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path, ReadOptions], Microdata]
    write: Callable[[Microdata, Path, BinaryIO], tuple[str, ...]] | None = None
    tables: Callable[[Path], tuple[str, ...]] | None = None
    stream: Callable[[Sequence[Path], Path | None, int, ReadOptions], list[Path]] | None = None
    options: tuple[str, ...] = ()  # of ``OPTIONS``, those that reading heeds
    compressed: bool = False  # whether survey.csv.gz is such a file too
    memory: Callable[[Path], float] | float = 4.0  # bytes that reading takes, at least; or times the bytes of the file
    library: str = ""  # that reads and writes these files, if not every installation has it
    extra: str = ""  # of sfumato, which brings the library

    def require(self) -> None:
        """Refuse where the library is not installed."""
        if self.library and find_spec(self.library) is None:
            raise FileError(
                f"{self.name} files need {self.library}, which is not installed; run: pip install "
                f"'sfumato[{self.extra}]'"
            )

    def check(self, file: Path, options: ReadOptions) -> None:
        """Refuse options that have no meaning for these files."""
        without = [name for name in OPTIONS if name not in self.options]
        if any(getattr(options, name) is not None for name in without):
            named = " and ".join([", ".join(without[:-1]), without[-1]] if without[1:] else without)
            raise ParameterError(f"{file}: {named} {'are' if without[1:] else 'is'} for text files, not {self.name}")


def content_of(file: Path) -> bytes:
    """Return the bytes of a file."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {file}: {reason(error)}") from None


def under_schema(file: Path, found: pa.Table, options: ReadOptions, dialect: Dialect | None = None) -> Microdata:
    """Return what a file holds as a table under the schema that was stated for it."""
    stated, notes = stating_row_names(options.schema, row_names_of(found.schema))
    arrow, origin = to_arrow(found)
    origin = replace(origin, path=file.resolve(), dialect=dialect)
    try:
        return replace(Microdata.from_arrow(arrow, origin, stated), notes=(*notes, *computed_names(found.column_names)))
    except DataError as error:
        raise type(error)(f"{file}: {error}") from None


def labels_lost(table: Microdata) -> tuple[str, ...]:
    """Say what files without labels do not hold of a labelled table."""
    named = [variable.name for variable in table.schema if variable.label or variable.labels]
    lost = []
    if named and table.origin.labelled:  # labels from a schema.toml are where they were
        lost.append(
            "labels are not in the file; write_schema(data, 'schema.toml') keeps them beside it: " + ", ".join(named)
        )
    if table.origin.labelled and table.origin.labelled.cells:
        lost.append("missing values lose their codes: " + ", ".join(table.origin.labelled.cells))
    return tuple(lost)
