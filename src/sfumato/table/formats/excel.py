"""Excel workbooks in and out: one sheet, its first row that is not empty the names.

openpyxl reads and writes; workbooks of plain numbers, texts and dates are read by calamine in a quarter of the time.

The rule for columns: all dates, all truth values or all numbers are that, whole numbers as such. A column with any text
is text, and then read by the rule of text files: numbers if every cell is one, though not with leading zeros. Formulas
count by the value that Excel kept of them; one without is refused with its cell. #N/A is missing; any other error is
refused with its cell.
"""

import datetime as dt
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers.expat import ParserCreate

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import DataError, FileError, SfumatoError
from sfumato.table.capacity import check_unpacked, step
from sfumato.table.columns import EXACT, short
from sfumato.table.dates import is_moment
from sfumato.table.formats.delimited import checked_names, typed, without_markers
from sfumato.table.formats.format import Format, ReadOptions, allowed_unpacked, content_of, labels_lost, under_schema
from sfumato.table.frames import named_table, to_arrow, with_row_names
from sfumato.table.microdata import Microdata

MAX_ROWS, MAX_COLUMNS, MAX_CHARACTERS = 1_048_576, 16_384, 32_767
DIGITS, LARGEST = 16, 1e308  # of a number, as openpyxl writes it
_UNWRITABLE = r"[\x00-\x08\x0b\x0c\x0e-\x1f]"  # what XML has no character for
TIMES_UNPACKED = 2.0  # the bytes of its XML, that a workbook takes in memory at least
_NOT_AVAILABLE = "#N/A"
_ERRORS = {"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"}
_SHEET, _WORKSHEET = re.compile(rb"<sheet\s"), re.compile(rb"<(?:\w+:)?worksheet[\s>]")
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
_ROW = re.compile(rb"<(?:\w+:)?row\s(?:[^<>]*?\s)?r=\"(\d+)\"")
# a row of numbers, texts and truth values alone, each cell in the row that it says
_PLAIN_ROW = re.compile(
    rb'<row r="(\d+)"[^<>]*(?:(?<=/)>|(?<!/)>(?:<c r="[A-Z]{1,3}\1"(?: s="\d+")?(?:(?: t="n")?\s*/>|'
    rb'(?: t="n")?>(?:<v>[-+.\deE]+</v>|<v\s*/>|<v></v>)?</c>| t="s"><v>\d+</v></c>|'
    rb' t="b"><v>[01]</v></c>| t="str"><v>[^<]*</v></c>|'
    rb' t="inlineStr"><is><t(?: xml:space="preserve")?>[^<]*</t></is></c>))*+</row>)\s*'
)
# numbers in a style, such as that of a date, which may be too small or large for one
_COLUMN = re.compile(rb'<c r="([A-Z]{1,3})')
_DOUBTFUL = re.compile(rb' s="[1-9]\d*"(?: t="n")?><v>(?:-|\d{7}|[^<]*[eE])')
# texts that are empty, that escape a sign, or have spaces at their ends of which nobody says that they are kept
_DOUBTFUL_TEXT = re.compile(
    rb"_x|<t>(?:\s|&#)|<t>[^<]*(?:\s|&#\w+;)</t>|<t></t>|<(?:t|si)\s*/>|<si></si>|<\w+:(?:t|si)[\s/>]"
)
_Rows = Callable[[], Iterable[Sequence[Any]]]
_Sheets = Mapping[str, _Rows]
FIRST_DAY = dt.datetime(1900, 3, 1)
_MOMENTS = {dt.date, dt.datetime, dt.time, dt.timedelta}


def sheets_in(path: Path, content: bytes, options: ReadOptions) -> tuple[str, ...]:
    """Name the sheets of a workbook that are not empty."""
    with _sheets_of(path, content, options) as (sheets, _):
        return tuple(name for name, rows in sheets.items() if any(True for _ in _filled(rows)))


def read_excel(path: Path, content: bytes, options: ReadOptions) -> pa.Table:
    """Read one sheet of a workbook: the one named, or the only one that is not empty."""
    with _sheets_of(path, content, options) as (sheets, without):
        name, cells = _chosen(path, sheets, options, without)
        if name in without:
            raise DataError(
                f"{path}: cell {without[name]} of sheet {name!r} is a formula without a value, because the program "
                "that wrote it computed none; open the file in Excel or LibreOffice and save it"
            )
    names, records = cells[0], cells[1:]
    if not records:
        raise FileError(f"{path}: sheet {name!r} has a header but no records")
    written = with_row_names([_as_name(value) for value in names])
    header = checked_names(f"{path}: sheet {name!r}", written)
    columns = []
    for place in range(len(header)):
        step("reading columns", place, len(header))
        columns.append(_column([row[place] for row in records], options.markers))
    return named_table(header, columns)


def _as_name(value: Any) -> str:
    """Return a cell of the first row as the name of a column: calamine gives years as floats, moments as dates."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is dt.date:
        value = dt.datetime.combine(value, dt.time())
    return "" if value is None else str(value).strip()


@contextmanager
def _sheets_of(path: Path, content: bytes, options: ReadOptions) -> Iterator[tuple[_Sheets, Mapping[str, str]]]:
    """Open a workbook: the rows of its sheets, and the first cell of each that is a formula of which no value was kept.

    Sheets are parsed while they are read, so that damage may show at any time until then.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())  # more of it is not read
            check_unpacked(path, len(content), unpacked, options.max_unpacked, times=TIMES_UNPACKED)
            members = {name: archive.read(name) for name in archive.namelist()}
        # wherever they are in the file, and whatever their names
        sheets_at = [name for name, part in members.items() if _WORKSHEET.search(part)]
        parts = [members[name] for name in sheets_at]
        for part in parts:
            _refuse_rows_twice(part)
        xml = {name: part for name, part in members.items() if name.endswith((".xml", ".rels"))}
        stated = len(_SHEET.findall(xml.get("xl/workbook.xml", b"")))
        known = stated == len(parts) and all(name in xml for name in sheets_at)
        doubtful = any(_DOUBTFUL_TEXT.search(part) for part in xml.values() if b"sst" in part)
        if find_spec("python_calamine") and known and not doubtful and all(map(_is_plain, parts)):
            for part in xml.values():
                ParserCreate().Parse(part, True)  # noqa: FBT003 - calamine does not look whether XML is well-formed
            yield _plain_sheets(content), {}
        else:
            with _book(content, values=True) as book:
                sheets = {sheet.title: partial(_rows_of, sheet) for sheet in book.worksheets}
                computed = any(_FORMULA.search(part) for part in parts)
                yield sheets, _without_value(content, book.worksheets) if computed else {}
    except (SfumatoError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a damaged file may raise anything: of zip, of XML, panics of the library
        locked = content[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
        why = "it is protected by a password, or an old .xls; save it as .xlsx without password" if locked else error
        raise FileError(f"{path} cannot be read as an Excel workbook: {why}") from None


def _is_plain(part: bytes) -> bool:
    """Tell whether calamine reads a sheet as openpyxl does: it passes over errors, and over dates that are none."""
    start, end = part.find(b"<sheetData>"), part.find(b"</sheetData>")
    if start < 0 or end < 0 or _DOUBTFUL.search(part) or _DOUBTFUL_TEXT.search(part):
        return start < 0 and b"<sheetData/>" in part
    from openpyxl.utils import column_index_from_string

    start += len(b"<sheetData>")
    last = max((int(row[1]) for row in _ROW.finditer(part)), default=0)
    width = max((len(letters), letters) for letters in {*_COLUMN.findall(part), b"A"})[1].decode()
    held = last * column_index_from_string(width)  # by calamine: all cells from the first to the last
    if held > 10**6 + 20 * part.count(b"<c "):
        return False
    return sum(row.end() - row.start() for row in _PLAIN_ROW.finditer(part, start, end)) == end - start


def _plain_sheets(content: bytes) -> _Sheets:
    """Return the sheets of a workbook whose sheets are all plain."""
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    book = CalamineWorkbook.from_object(io.BytesIO(content))
    worksheets = [sheet.name for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]

    @cache
    def rows(name: str) -> list[list[Any]]:
        cells = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
        return [[None if value == "" else value for value in row] for row in cells]

    return {name: partial(rows, name) for name in worksheets}


@contextmanager
def _book(content: bytes, *, values: bool) -> Iterator[Any]:
    """Open a workbook with openpyxl: the values that formulas have, or the formulas."""
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(content), read_only=True, data_only=values, keep_links=False)
    try:
        yield book
    finally:
        book.close()


def _rows_of(sheet: Any) -> Iterator[Sequence[Any]]:
    sheet.reset_dimensions()  # some programs write a size that is not the sheet's, and openpyxl would believe it
    yield from sheet.iter_rows(values_only=True)


def _without_value(content: bytes, sheets: Sequence[Any]) -> dict[str, str]:
    """Return the first cell of each sheet that is a formula of which no value was kept: read, it would be a gap."""
    cells: dict[str, str] = {}
    with _book(content, values=False) as book:
        for stated, kept in zip(book.worksheets, sheets, strict=True):
            stated.reset_dimensions()
            kept.reset_dimensions()
            pairs = (
                pair
                for rows in zip(stated.iter_rows(), kept.iter_rows(), strict=True)
                for pair in zip(*rows, strict=True)
            )
            # a formula may give empty text, which is kept as such: its cell is of the type of text
            for formula, value in pairs:
                if formula.data_type == "f" and value.value is None and value.data_type != "str":
                    cells[stated.title] = formula.coordinate
                    break
    return cells


def _refuse_rows_twice(part: bytes) -> None:
    """Refuse rows that do not stand in the order of their numbers: the library passes over those that come late."""
    last = 0
    for row in _ROW.finditer(part):
        number = int(row[1])
        if number <= last:
            raise ValueError(f"row {number} stands behind row {last}")
        last = number


def _chosen(
    path: Path, sheets: _Sheets, options: ReadOptions, without: Mapping[str, str]
) -> tuple[str, list[list[Any]]]:
    """Return the name and the rows of the sheet to read; one with formulas is not empty, whatever came of them."""
    sheet = options.table
    if sheet is not None:
        if sheet not in sheets:
            raise FileError(f"{path} has no sheet {sheet!r}; it has {', '.join(sheets)}")
        cells = _rows(path, sheet, sheets[sheet])
        if not cells and sheet not in without:
            raise FileError(f"{path}: sheet {sheet!r} is empty")
        return sheet, cells
    filled = [name for name, rows in sheets.items() if name in without or any(True for _ in _filled(rows))]
    if not filled:
        raise FileError(f"{path} is empty: none of its sheets holds a value")
    if len(filled) > 1:
        raise FileError(
            f"{path} has several sheets: {', '.join(filled)}; say which, for example table={filled[0]!r}, or "
            f"{path.name}#{filled[0]} where a file is named"
        )
    return filled[0], _rows(path, filled[0], sheets[filled[0]])


def _filled(rows: _Rows) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield the rows in which any cell holds something, with their numbers."""
    for number, row in enumerate(rows(), start=1):
        if any(value is not None for value in row):
            yield number, row


def _rows(path: Path, name: str, sheet: _Rows) -> list[list[Any]]:
    """Return the values of a sheet without empty rows, and without columns that are empty from the names on."""
    from openpyxl.utils import get_column_letter

    rows = []
    for number, row in _filled(sheet):
        if number % 1000 == 0:
            step("reading records", number, MAX_ROWS)
        for place, value in enumerate(row, start=1):
            if isinstance(value, str) and value in _ERRORS:
                raise DataError(
                    f"{path}: cell {get_column_letter(place)}{number} of sheet {name!r} is the error {value}; correct "
                    "its formula or empty the cell"
                )
        rows.append([None if value == _NOT_AVAILABLE else value for value in row])
    used = sorted({place for row in rows for place, value in enumerate(row) if value is not None})
    return [[row[place] if place < len(row) else None for place in used] for row in rows]


def _column(values: list[Any], missing: Sequence[str]) -> Any:
    codes = {marker for marker in missing if any(sign.isdigit() for sign in marker)}
    if codes:  # such as -9, which is a number in a sheet
        values = [None if isinstance(value, int | float) and _spelled(value) in codes else value for value in values]
    kinds = set(map(type, values)) - {type(None)}
    if str in kinds:
        text, _ = without_markers(pa.array([_spelled(value) for value in values], pa.string()), missing)
        return typed(text, ".")[0]
    if not kinds:
        return pa.nulls(len(values))
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds <= _MOMENTS:
        return _moments(values)
    if kinds <= {int, float}:
        whole = all(value is None or (float(value).is_integer() and abs(value) <= EXACT) for value in values)
        return pa.array([None if value is None else (int if whole else float)(value) for value in values])
    return pa.array([_spelled(value) for value in values], pa.string())


def _moments(values: list[Any]) -> Any:
    """Return dates, moments, times or durations; a date among moments is its midnight."""
    kinds = {type(value) for value in values if value is not None}
    midnight = dt.time()
    if kinds <= {dt.date, dt.datetime}:
        moments = [dt.datetime.combine(value, midnight) if type(value) is dt.date else value for value in values]
        if all(moment is None or moment.time() == midnight for moment in moments):  # Excel knows no other dates
            return pa.array([None if moment is None else moment.date() for moment in moments], pa.date32())
        return pa.array(moments, pa.timestamp("us"))
    if len(kinds) > 1:
        return pa.array([_spelled(value) for value in values], pa.string())
    return pa.array(values)


def _spelled(value: Any) -> str | None:
    """Write a cell as text, a whole number without decimals."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return str(short(value))
    midnight = isinstance(value, dt.datetime) and value.time() == dt.time()
    return str(value.date() if midnight else value)


def _write_without_time(content: io.BytesIO, out: BinaryIO) -> None:
    """Pack a workbook anew with the first day of 1980 in all places that say when it was made."""
    with zipfile.ZipFile(content) as packed, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in packed.namelist():
            held = packed.read(name)
            if name == "docProps/core.xml":
                held = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"1980-01-01T00:00:00Z", held)
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), held, zipfile.ZIP_DEFLATED)


def write_excel(table: pa.Table, path: Path, out: BinaryIO) -> tuple[str, ...]:
    """Write a table as a workbook of one sheet, and say what it could not hold; text is text, never a formula."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    columns = [_plain(column) for column in table.columns]
    early = [name for name, column in zip(table.column_names, table.columns, strict=True) if _is_early(column)]
    why = _refused(table.column_names, columns, len(table))
    if why:
        raise FileError(f"cannot write {path}: {why}; write .csv or .parquet instead")
    book = Workbook(write_only=True)
    book.properties.creator = ""
    sheet = book.create_sheet("data")

    def cell(value: Any) -> Any:
        if not isinstance(value, str) or value[:1] not in ("=", "#"):
            return value
        written = WriteOnlyCell(sheet, value=value)
        written.data_type = "s"  # else a text that begins with = would be a formula, and #REF! an error
        return written

    sheet.append([cell(name) for name in table.column_names])
    for batch in pa.table(columns, names=table.column_names).to_batches(max_chunksize=10_000):
        for record in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            sheet.append([cell(value) for value in record])
    book.save(content := io.BytesIO())
    _write_without_time(content, out)
    short_of = [name for name, column in zip(table.column_names, columns, strict=True) if _has_more_digits(column)]
    fine = [name for name, column in zip(table.column_names, columns, strict=True) if _is_fine(column)]
    told = {
        f"numbers are kept to {DIGITS} digits": short_of,
        "dates before March 1900, which a sheet has no place for, are written as text, and with them all of": early,
        "times are kept to the millisecond": fine,
    }
    return tuple(f"{what}: {', '.join(names)}" for what, names in told.items() if names)


def _plain(column: Any) -> Any:
    """Return a column as values a sheet can hold; whole numbers that a sheet would round become text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _is_early(column):
        return _in_words(column)
    bounds = pc.min_max(column).as_py() if pa.types.is_integer(column.type) else {}
    wide = any(bound is not None and abs(bound) > EXACT for bound in bounds.values())
    return column.cast(pa.string()) if wide else column


def _in_words(column: Any) -> Any:
    """Return dates or moments as text of ISO 8601, to the second if that is exact."""
    for unit in ("s", "us") if pa.types.is_timestamp(column.type) else ():
        with suppress(pa.ArrowInvalid):
            return column.cast(pa.timestamp(unit)).cast(pa.string())
    return column.cast(pa.string())


def _is_early(column: Any) -> bool:
    """Tell whether a column has a day before those that a sheet counts as the calendar does: Excel has 29 Feb 1900."""
    if not is_moment(column.type) or getattr(column.type, "tz", None) is not None:
        return False
    first = pc.min(column.cast(pa.timestamp("us"), safe=False)).as_py()
    return first is not None and first < FIRST_DAY


def _is_fine(column: Any) -> bool:
    """Tell whether a column has moments between two milliseconds."""
    if not pa.types.is_timestamp(column.type) or column.type.unit not in ("us", "ns"):
        return False
    ticks = pc.drop_null(column.cast(pa.int64())).to_numpy()
    return bool((ticks % (1_000 if column.type.unit == "us" else 1_000_000)).any())


def _has_more_digits(column: Any) -> bool:
    numbers = column.drop_null().to_pylist() if pa.types.is_floating(column.type) else []
    return any(float(f"{number:.{DIGITS}g}") != number for number in numbers)


def _refused(names: Sequence[str], columns: Sequence[Any], records: int) -> str:
    """Say what a sheet cannot hold, before a line of it is written."""
    if records >= MAX_ROWS or len(names) > MAX_COLUMNS:
        return f"a sheet has at most {MAX_ROWS - 1:,} records and {MAX_COLUMNS:,} variables"
    for name, column in zip(names, columns, strict=True):
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            return f"{name!r} has moments of the zone {column.type.tz}, and a sheet knows no zones"
        if pa.types.is_floating(column.type) and (pc.max(pc.abs(column)).as_py() or 0) > LARGEST:
            return f"{name!r} has numbers beyond {LARGEST:g}"
        if not pa.types.is_string(column.type):
            continue
        if (pc.max(pc.utf8_length(column)).as_py() or 0) > MAX_CHARACTERS:
            return f"a cell has at most {MAX_CHARACTERS:,} characters, and a text of {name!r} has more"
        if pc.any(pc.match_substring_regex(column, _UNWRITABLE)).as_py():
            return f"a text of {name!r} has a control character, which no cell can hold"
    return ""


def _read(file: Path, options: ReadOptions) -> Microdata:
    return under_schema(file, read_excel(file, content_of(file), options), options)


def _write(table: Microdata, file: Path, out: BinaryIO) -> tuple[str, ...]:
    return (*write_excel(to_arrow(table.to_frame())[0], file, out), *labels_lost(table))


EXCEL = Format(
    "Excel",
    (".xlsx", ".xlsm"),
    _read,
    _write,
    tables=lambda file: sheets_in(file, content_of(file), ReadOptions(max_unpacked=allowed_unpacked(None))),
    options=("missing",),
    memory=12.0,
    library="openpyxl",
    extra="excel",
)
FORMATS = (EXCEL,)
