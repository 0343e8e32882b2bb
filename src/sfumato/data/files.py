"""Tables from and to files: delimited text, compressed or not, Parquet, Excel, R, and files of SPSS, Stata and SAS."""

from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from sfumato.arguments import require
from sfumato.data import frames
from sfumato.data.atomic import reason, replacing
from sfumato.data.capacity import require_to_read
from sfumato.data.columns import still_read_as
from sfumato.data.file_form import Dialect, row_names_of, stating_row_names
from sfumato.data.file_names import EXCEL, LABELLED, PARQUET, TEXT, PathLike, R, a_path, located, refuse_unknown
from sfumato.data.formats.compression import compressing, decompressed, inner_name
from sfumato.data.formats.delimited import MISSING, formulas, read_csv, typed, write_csv
from sfumato.data.formats.excel import read_excel, sheets_in, write_excel
from sfumato.data.formats.parquet import read_parquet, write_parquet
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Schema, is_text
from sfumato.data.schema_file import read_schema
from sfumato.errors import DataError, FileError, ParameterError


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
    ``sfumato.data.microdata``. SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat, .xpt) files say themselves
    what their variables are, by the rule in ``sfumato.data.formats.labelled.reading``; they need ``sfumato[labelled]``.
    R files (.rds, .rda, .RData) do so too (``sfumato.data.formats.r``), and need ``sfumato[r]``. Excel files
    (.xlsx, .xlsm) need ``sfumato[excel]``; their rule is in ``sfumato.data.formats.excel``.

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
    suffix = file.suffix.lower()
    refuse_unknown(file)
    check_options("read", delimiter, decimal, encoding, missing)
    require_to_read(file)
    markers, dialect = MISSING if missing is None else missing, None
    if suffix in LABELLED:
        from sfumato.data.formats.labelled.reading import read_labelled

        _only_for_text(file, f"{file.suffix} files", delimiter=delimiter, decimal=decimal, missing=missing)
        return read_labelled(file, stated, encoding)
    if suffix in R:
        from sfumato.data.formats.r import read_r

        _only_for_text(file, "R", delimiter=delimiter, decimal=decimal, encoding=encoding, missing=missing)
        return read_r(file, _content(file), part, stated)
    if suffix in EXCEL:
        _only_for_text(file, "Excel", delimiter=delimiter, decimal=decimal, encoding=encoding)
        found = read_excel(file, _content(file), part, markers)
    elif suffix in PARQUET:
        _only_for_text(file, "Parquet", delimiter=delimiter, decimal=decimal, encoding=encoding, missing=missing)
        found = read_parquet(file, _content(file))
    else:
        inner, content = decompressed(file, _content(file))
        if inner.suffix.lower() not in TEXT:
            raise FileError(f"{file} holds {inner.name}; of compressed files only text is read ({', '.join(TEXT)})")
        found, dialect = read_csv(
            file,
            content,
            delimiter="\t" if delimiter is None and inner.suffix.lower() == ".tsv" else delimiter,
            decimal=decimal,
            encoding=encoding,
            missing=markers,
            numeric=frozenset(v.name for v in stated or () if v.kind == "numeric" and not v.kind_by_rule),
        )
    stated, notes = stating_row_names(stated, row_names_of(found.schema))
    arrow, origin = frames.to_arrow(found)
    origin = replace(origin, path=file.resolve(), dialect=dialect)
    try:
        return replace(Microdata.from_arrow(arrow, origin, stated), notes=notes)
    except DataError as error:
        raise type(error)(f"{file}: {error}") from None


def tables_in(path: PathLike) -> tuple[str, ...]:
    """Name the tables of a file that may hold several: sheets of Excel that are not empty, data frames of R."""
    file, _ = located(path)
    if file.suffix.lower() in EXCEL:
        return sheets_in(file, _content(file))
    if file.suffix.lower() in R:
        from sfumato.data.formats.r import frames_in

        return tuple(name for name, found in frames_in(file, _content(file)).items() if "data.frame" in found.classes)
    return ()


def write(data: Any, path: PathLike, *, overwrite: bool = False, private: bool = False) -> tuple[str, ...]:
    """Write a table to a CSV, Parquet, Excel (.xlsx), SPSS (.sav, .zsav), Stata (.dta) or SAS (.xpt) file, by suffix.

    Text is written as it came: with the delimiter, decimal sign, encoding, line ends, quotes and missing markers of the
    file the table was read from; a table from elsewhere is written as plain CSV. A further suffix compresses it (.gz,
    .bz2, .xz, .zst, .zip). Labelled files keep labels, missing codes, formats and measurement levels
    (``sfumato.data.formats.labelled.writing``). R files are not written. Numbers read back exactly, from Excel to 16
    digits. The file is complete or not there at all. The file the table was read from is replaced only if
    ``overwrite`` says so. A ``private`` file can be read by its owner alone.

    Returned is what the format could not hold, in sentences, and what cells of a text file a spreadsheet would compute
    (``sfumato.data.formats.delimited``); nothing where all of it was kept.
    """
    table, file = Microdata.from_frame(data), a_path(path)
    suffix = file.suffix.lower()
    refuse_unknown(file, writing=True)
    source = table.origin.path
    if source is not None and not overwrite and _same(source, file):
        raise FileError(f"{file} is the file the table was read from; choose another name or say overwrite=True")
    if suffix in LABELLED:
        from sfumato.data.formats.labelled.writing import write_labelled

        with replacing(file, private=private) as out:
            return write_labelled(table, file, out.name)
    if suffix in PARQUET and table.origin.dialect is not None:
        table = _with_dates(table)
    arrow, _ = frames.to_arrow(table.to_frame())
    with replacing(file, private=private) as out:
        if suffix in PARQUET:
            write_parquet(arrow, out)
        elif suffix in EXCEL:
            return (*write_excel(arrow, file, out), *_labels_lost(table))
        else:
            with compressing(file, out) as packed:
                dialect = table.origin.dialect or Dialect()
                _write_text(_with_all_digits(arrow, table, dialect), dialect, file, packed)
            return (*_labels_lost(table), *formulas(arrow))
    return _labels_lost(table)


def formulas_in(data: Microdata, path: PathLike) -> tuple[str, ...]:
    """Say which cells of a text file a spreadsheet would compute; nothing of a file of another format."""
    if inner_name(a_path(path)).suffix.lower() not in TEXT:
        return ()
    return formulas(frames.to_arrow(data.to_frame())[0])


def _with_dates(table: Microdata) -> Microdata:
    """Return a table whose dates are dates, though they were text in the file it came from."""
    dated = [replace(variable, format="") for variable in table.schema if variable.format]
    native = {name: kind for name, kind in (table.origin.native or {}).items() if name not in {v.name for v in dated}}
    return replace(table, schema=table.schema.replace(*dated), origin=replace(table.origin, native=native))


def _with_all_digits(arrow: pa.Table, table: Microdata, dialect: Dialect) -> pa.Table:
    """Return the table with the cells of the file it came from, where they say more than a float and none changed."""
    for name, text in dialect.exact.items():
        if name in arrow.column_names:
            numbers = typed(text, dialect.decimal)[0]
            if still_read_as(table.schema[name], numbers, table.columns[name]):
                arrow = arrow.set_column(arrow.column_names.index(name), name, text)
    return arrow


def _write_text(table: pa.Table, dialect: Dialect, file: Path, out: BinaryIO) -> None:
    """Write delimited text in this dialect; a .tsv file has tabs whatever the file read had."""
    if inner_name(file).suffix.lower() == ".tsv":
        dialect = replace(dialect, delimiter="\t")
    try:
        write_csv(table, dialect, out)
    except UnicodeEncodeError as error:
        raise FileError(
            f"cannot write {file}: the text {error.object[error.start : error.end]!r} is not in "
            f"{dialect.encoding}, the encoding the table was read with"
        ) from None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise FileError(f"cannot write {file} as text: {error}; write Parquet instead") from None


def _labels_lost(table: Microdata) -> tuple[str, ...]:
    """Say what text and Parquet files do not hold of a labelled table."""
    named = [variable.name for variable in table.schema if variable.label or variable.labels]
    lost = []
    if named and table.origin.labelled:  # labels from a schema.toml are where they were
        lost.append(
            "labels are not in the file; write_schema(data, 'schema.toml') keeps them beside it: " + ", ".join(named)
        )
    if table.origin.labelled and table.origin.labelled.cells:
        lost.append("missing values lose their codes: " + ", ".join(table.origin.labelled.cells))
    return tuple(lost)


def _only_for_text(file: Path, what: str, **options: object) -> None:
    """Refuse options that a file which is no text has no use for."""
    if any(option is not None for option in options.values()):
        *others, last = options
        raise ParameterError(f"{file}: {', '.join(others)} and {last} are for text files, not {what}")


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


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {file}: {reason(error)}") from None


def _same(source: Path, target: Path) -> bool:
    try:
        return source.samefile(target)
    except OSError:  # one of them is not there
        return source == target.resolve()
