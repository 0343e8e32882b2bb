"""Tables from and to files: delimited text, compressed or not, Parquet, Excel, R, and files of SPSS, Stata and SAS."""

from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

from sfumato.arguments import require
from sfumato.errors import FileError, ParameterError
from sfumato.table import capacity
from sfumato.table.atomic import replacing
from sfumato.table.formats import PathLike, a_path, format_of, known_format, located
from sfumato.table.formats.delimited import DELIMITED, formulas
from sfumato.table.formats.format import ReadOptions, allowed_unpacked
from sfumato.table.frames import to_arrow
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, is_text
from sfumato.table.schema_file import read_schema


def read(
    path: PathLike,
    schema: Schema | PathLike | None = None,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] | None = None,
    table: str | None = None,
    max_unpacked: int | str | None = None,
) -> Microdata:
    """Read a table from a CSV (.csv, .tsv, .txt), Parquet (.parquet, .pq), Excel, R, SPSS, Stata or SAS file.

    ``schema`` is a ``Schema`` or the path of a ``schema.toml``; columns it does not name get the kind of the rule in
    ``sfumato.table.microdata``. SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat, .xpt) files say themselves
    what their variables are, by the rule in ``sfumato.table.formats.labelled.reading``; they need
    ``sfumato[labelled]``. R files (.rds, .rda, .RData) do so too (``sfumato.table.formats.r``), and need
    ``sfumato[r]``. Excel files (.xlsx, .xlsm) need ``sfumato[excel]``; their rule is in
    ``sfumato.table.formats.excel``.

    ``table`` names the sheet, or the data frame of R, where a file holds several; ``survey.xlsx#persons`` does so in
    the path. Text may be compressed: survey.csv.gz, .bz2, .xz, .zst, or a .zip that holds one file.

    A file that unpacks to 100 times its size and more than 134 MB, as an Excel or a compressed file made to fill a
    memory does, is refused unless ``max_unpacked`` allows so much, in bytes or such as "4 GB".

    The other arguments are for text files (``encoding`` for labelled ones too, ``missing`` for Excel too) and say what
    is otherwise told by the rules of docs/how-to/files.md: delimiter and decimal sign are detected, and asked for where
    the cells leave them open; the encoding is UTF-8; an empty cell and NA, N/A, NaN, nan, null, NULL and a lone point
    are missing; a column is whole numbers or decimals if every cell is one, and text otherwise.
    """
    file, part = located(path, table)
    stated = schema if isinstance(schema, Schema) or schema is None else read_schema(schema)
    found = known_format(file)
    check_options("read", delimiter, decimal, encoding, missing)
    _require_to_read(file)
    allowed = allowed_unpacked(max_unpacked)
    options = ReadOptions(stated, part, delimiter, decimal, encoding, missing, allowed)
    found.check(file, options)
    found.require()
    return found.read(file, options)


def _require_to_read(file: Path) -> None:
    """Refuse a file that does not fit into memory as a table."""
    try:
        needed = bytes_to_read(file)
    except OSError:
        return  # reading it says why
    cure = "read it in parts with sfumato.scan (docs/how-to/larger-than-memory.md), or take a sample of its records"
    capacity.require(needed, f"{file} as one table", cure)


def bytes_to_read(file: Path) -> int:
    """Estimate from below what a file takes at the height of its reading."""
    found = format_of(file)
    if found is None:
        return 0  # nothing reads it
    return int(found.memory(file) if callable(found.memory) else found.memory * file.stat().st_size)


def tables_in(path: PathLike) -> tuple[str, ...]:
    """Name the tables of a file that may hold several: sheets of Excel that are not empty, data frames of R."""
    file, _ = located(path)
    found = format_of(file)
    if found is None or found.tables is None:
        return ()
    found.require()
    return found.tables(file)


def write(data: Any, path: PathLike, *, overwrite: bool = False, private: bool = False) -> tuple[str, ...]:
    """Write a table to a CSV, Parquet, Excel (.xlsx), SPSS (.sav, .zsav), Stata (.dta) or SAS (.xpt) file, by suffix.

    Text is written as it came: with the delimiter, decimal sign, encoding, line ends, quotes and missing markers of the
    file the table was read from; a table from elsewhere is written as plain CSV. A further suffix compresses it (.gz,
    .bz2, .xz, .zst, .zip). Labelled files keep labels, missing codes, formats and measurement levels
    (``sfumato.table.formats.labelled.writing``). R files are not written. Numbers read back exactly, from Excel to 16
    digits. The file is complete or not there at all. The file the table was read from is replaced only if
    ``overwrite`` says so. A ``private`` file can be read by its owner alone.

    Returned is what the format could not hold, in sentences, and what cells of a text file a spreadsheet would compute
    (``sfumato.table.formats.delimited``); nothing where all of it was kept.
    """
    table, file = Microdata.from_frame(data), a_path(path)
    found = known_format(file, writing=True)
    source = table.origin.path
    if source is not None and not overwrite and _same(source, file):
        raise FileError(f"{file} is the file the table was read from; choose another name or say overwrite=True")
    found.require()
    assert found.write is not None  # else it was refused
    with replacing(file, private=private) as out:
        return found.write(table, file, out)


def formulas_in(data: Microdata, path: PathLike) -> tuple[str, ...]:
    """Say which cells of a text file a spreadsheet would compute; nothing of a file of another format."""
    if format_of(a_path(path)) is not DELIMITED:
        return ()
    return formulas(to_arrow(data.to_frame())[0])


def check_options(
    who: str, delimiter: str | None, decimal: str | None, encoding: str | None, missing: Sequence[str] | None
) -> None:
    """Refuse what cannot be said of a text file."""
    single = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    if delimiter is not None and (not single or delimiter in '"\r\n\0'):
        raise ParameterError(f"{who}: delimiter must be one plain character, for example ';'; got {delimiter!r}")
    require(who, str | None, "'.' or ','", decimal=decimal)
    if decimal not in (None, ".", ","):
        raise ParameterError(f"{who}: decimal must be '.' or ','; got {decimal!r}")
    named = isinstance(encoding, str) and encoding and is_text(encoding) and "\0" not in encoding
    if encoding is not None and not named:
        raise ParameterError(f"{who}: encoding must name one, for example 'cp1252'; got {encoding!r}")
    listed = missing is None or (isinstance(missing, Sequence | Set) and not isinstance(missing, str))
    if not listed or not all(isinstance(marker, str) and is_text(marker) for marker in missing or ()):
        raise ParameterError(f"{who}: missing must be a list of texts, for example ['', 'NA']; got {missing!r}")


def _same(source: Path, target: Path) -> bool:
    try:
        return source.samefile(target)
    except OSError:  # one of them is not there
        return source == target.resolve()
