"""Tables from and to files: delimited text, compressed or not, Parquet, Excel, R, and files of SPSS, Stata and SAS."""

from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

from sfumato.arguments import require
from sfumato.errors import FileError, ParameterError
from sfumato.table.atomic import replacing
from sfumato.table.capacity import require_to_read
from sfumato.table.formats import PathLike, a_path, format_of, known_format, located
from sfumato.table.formats.delimited import DELIMITED, formulas
from sfumato.table.formats.format import ReadOptions
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

    The other arguments are for text files (``encoding`` for labelled ones too, ``missing`` for Excel too) and say what
    is otherwise told by this rule:

    - The first line that is not blank is the header; spaces around names are dropped. Blank lines are skipped, and so
      is a delimiter at the end of every line. A first column without a name, as R and pandas write it, holds the names
      of the rows: it is called row, and an identifier.
    - ``delimiter``: the one of tab, bar, semicolon and comma that splits the header and the first 50 records into the
      same number of fields; always a tab in a .tsv file. Cells may stand in double quotes; a quote inside is doubled.
    - ``missing``: an empty cell and NA, N/A, NaN, nan, null, NULL and a lone point are missing, quoted or not; spaces
      around them are ignored. Give the list yourself where, say, NA means Namibia.
    - ``decimal``: a point; a comma where the delimiter is another and a column of numbers has decimal commas. A file in
      which both or only thousands such as 1,234 are found is refused until you say which. Thousands separators are not
      read as numbers: such a column is text.
    - Dates are text unless the schema says kind = "date", with a format such as %d.%m.%Y if they are not 1990-01-31.
    - A column is whole numbers if every cell is one, decimals if every cell is a number, and text otherwise. Numbers
      with leading zeros (00123) and whole numbers beyond 64 bits are text, so that they come back as they are.
    - ``encoding``: UTF-8, with or without byte-order mark; nothing else is tried unless you name it.
    """
    file, part = located(path, table)
    stated = schema if isinstance(schema, Schema) or schema is None else read_schema(schema)
    found = known_format(file)
    check_options("read", delimiter, decimal, encoding, missing)
    require_to_read(file)
    options = ReadOptions(stated, part, delimiter, decimal, encoding, missing)
    found.check(file, options)
    found.require()
    return found.read(file, options)


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
