"""Files of every format, written and read by libraries that are not ours."""

import csv
import datetime as dt
import gzip
import io
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import rdata

from adversary.attack import Rng, one_of
from sfumato.table.formats.format import MISSING
from sfumato.table.microdata import Microdata

Columns = dict[str, list[Any]]
TEXTS = ["north", "south", "", "Köln", 'say "no"', "a,b", "line\nbreak", "007", "1e5", "NA", " spaced ", "-1", "x" * 40]
FIRST = dt.date(1990, 1, 1)


def table(rng: Rng) -> Columns:
    """Draw a small table: numbers, whole numbers, text, dates, with gaps."""
    n = int(rng.integers(2, 14))
    columns: Columns = {
        "id": [int(i) for i in range(n)],
        "pay": [round(float(value), int(rng.integers(0, 5))) for value in rng.lognormal(5, 2, n)],
        "size": [float(value) for value in rng.normal(size=n)],
        "town": [one_of(rng, TEXTS) for _ in range(n)],
        "sex": [one_of(rng, ["m", "f"]) for _ in range(n)],
        "born": [FIRST + dt.timedelta(int(day)) for day in rng.integers(0, 9000, n)],
        "code": [int(value) for value in rng.integers(-3, 2**40, n)],
    }
    for name in ("pay", "size", "sex", "born"):
        columns[name] = [None if rng.random() < 0.15 else value for value in columns[name]]
    kept = [name for name in columns if rng.random() < 0.75] or ["pay"]
    return {name: columns[name] for name in kept}


def _text(columns: Columns, delimiter: str) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(["" if cell is None else cell for cell in row] for row in zip(*columns.values(), strict=True))
    return out.getvalue().encode()


def _zipped(content: bytes) -> bytes:
    with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
        archive.writestr("table.csv", content)
    return packed.getvalue()


def _parquet(columns: Columns, path: Path) -> None:
    made = pa.table(columns)
    if len(made) % 2 and "town" in columns:
        made = made.set_column(made.column_names.index("town"), "town", made["town"].dictionary_encode())
    pq.write_table(made, path, compression=("snappy", "none", "zstd", "gzip")[len(made) % 4])


def _excel(columns: Columns, path: Path) -> None:
    book = openpyxl.Workbook()
    for row in ([*columns], *zip(*columns.values(), strict=True)):
        book.active.append(row)
    book.save(path)


def _rds(columns: Columns, path: Path) -> None:
    frame = {}
    for name, held in columns.items():
        words = any(isinstance(cell, str | dt.date) for cell in held)
        plainly = [cell if cell is None or not words else str(cell) for cell in held]
        frame[name] = np.array(plainly, dtype=object) if words else np.array(plainly, dtype=float)
    made = pd.DataFrame({name: pd.Series(held, dtype=held.dtype) for name, held in frame.items()})
    made.index = pd.RangeIndex(1, len(made) + 1)
    rdata.write_rds(path, made)


def _labelled(writer: Callable[..., None], **options: Any) -> Callable[[Columns, Path], None]:
    def write(columns: Columns, path: Path) -> None:
        frame = pl.DataFrame(
            {name: [c.replace("\n", " ") if isinstance(c, str) else c for c in held] for name, held in columns.items()},
            schema_overrides={name: pl.Date for name in columns if name == "born"},
        )
        more = dict(options)
        if writer is not pyreadstat.write_xport and "id" in columns:
            more["variable_value_labels"] = {"id": {0: "none", 1: "one"}}
        writer(frame, path, **more)

    return write


WRITERS: dict[str, Callable[[Columns, Path], Any]] = {
    "csv": lambda columns, path: path.write_bytes(_text(columns, ",")),
    "txt": lambda columns, path: path.write_bytes(_text(columns, ";")),
    "tsv": lambda columns, path: path.write_bytes(_text(columns, "\t")),
    "csv.gz": lambda columns, path: path.write_bytes(gzip.compress(_text(columns, ","), mtime=0)),
    "zip": lambda columns, path: path.write_bytes(_zipped(_text(columns, ","))),
    "parquet": _parquet,
    "xlsx": _excel,
    "rds": _rds,
    "sav": _labelled(pyreadstat.write_sav),
    "zsav": _labelled(pyreadstat.write_sav, compress=True),
    "dta": _labelled(pyreadstat.write_dta),
    "xpt": _labelled(pyreadstat.write_xport, file_format_version=5),
}


def again(form: str, path: Path, found: Microdata) -> Columns | None:
    """Read a file that Sfumato has read by another reader; None if that one has nothing to say of it."""
    try:
        return _AGAIN[form](path, found)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # it is stricter, or panics, and nothing can be compared
        return None


def _from_text(path: Path, found: Microdata) -> Columns:
    dialect = found.origin.dialect
    assert dialect is not None
    content = path.read_bytes()
    if path.name.endswith(".gz"):
        content = gzip.decompress(content)
    elif path.name.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            content = archive.read(archive.namelist()[0])
    text = content.decode("utf-8-sig")
    rows = [
        row
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter)
        if len(row) > 1 or row == [""] or any(map(str.strip, row))  # an empty line is no record; delimiters, quotes are
    ]
    names = [name.strip() for name in rows[0]]
    width = len(names) - (not names[-1])
    if any(len(row) != width and not (len(row) == width + 1 and not row[-1].strip()) for row in rows):
        raise ValueError("rows of several lengths")
    cells = {name: [row[place] for row in rows[1:]] for place, name in enumerate(names[:width])}
    types = {field.name: field.type for field in found.to_arrow().schema}
    return {name: [_cell(cell, types[name], dialect.decimal) for cell in held] for name, held in cells.items()}


def _cell(cell: str, kind: pa.DataType, decimal: str) -> Any:
    if cell.strip() in MISSING:
        return None
    if pa.types.is_integer(kind):
        return int(cell)
    return float(cell.strip().replace(decimal, ".")) if pa.types.is_floating(kind) else cell


def _from_parquet(path: Path, found: Microdata) -> Columns:
    """Read by another library; days that no calendar of Python has as their numbers, as they are told here too.

    A file says twice what a column is. Where damage left only one of the two, that they are days, numbers are compared.
    """
    read = pl.read_parquet(path)
    if [*read.columns] != [*found.names]:
        return {name: [] for name in read.columns}
    types = found.to_arrow().schema
    numbers = {name for name in found.names if pa.types.is_integer(types.field(name).type)}
    columns = {
        name: held.to_physical() if name in numbers and held.dtype.is_temporal() else held
        for name, held in read.to_dict().items()
    }
    return {name: held.to_arrow().to_pylist() for name, held in columns.items()}


_FIRST_OF_EXCEL = dt.datetime(1899, 12, 30)
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def _from_excel(path: Path, found: Microdata) -> Columns:
    """Read the only sheet from its XML; numbers of a date column are days since the last of 1899."""
    with zipfile.ZipFile(path) as archive:
        shared = []
        if "xl/sharedStrings.xml" in archive.namelist():
            strings = ET.fromstring(archive.read("xl/sharedStrings.xml"))
            shared = ["".join(part.text or "" for part in item.iter(f"{_MAIN}t")) for item in strings]
        sheet = ET.fromstring(archive.read("xl/worksheets/sheet1.xml"))
        dates = _date_styles(ET.fromstring(archive.read("xl/styles.xml")))
    rows = []
    for row in sheet.iter(f"{_MAIN}row"):
        cells: dict[str, Any] = {}
        for cell in row.iter(f"{_MAIN}c"):
            letters = "".join(sign for sign in cell.attrib["r"] if sign.isalpha())
            if len(cell) > 1:
                raise ValueError("a cell with several values, which damage makes: who knows which is meant")
            held = cell.find(f"{_MAIN}v")
            if held is not None and held.text is not None:
                kind = cell.attrib.get("t", "n")
                cells[letters] = (
                    shared[int(held.text)] if kind == "s" else held.text if kind == "str" else float(held.text)
                )
                if kind == "n" and int(cell.attrib.get("s", "0")) in dates:
                    cells[letters] = _of_excel(float(held.text))
            elif cell.attrib.get("t") == "inlineStr":
                cells[letters] = "".join(part.text or "" for part in cell.iter(f"{_MAIN}t"))
        rows.append(cells)
    names = {letters: str(name).strip() for letters, name in rows[0].items()}
    full = [row for row in rows[1:] if any(str(cell).strip() for cell in row.values())]
    read: Columns = {name: [row.get(letters) for row in full] for letters, name in names.items()}
    return {name: [_of_sheet(cell, found, name) for cell in held] for name, held in read.items()}


def _of_excel(number: float) -> dt.datetime:
    """Return the day of a number; Excel takes 1900 for a leap year, and counts the days before March otherwise."""
    return _FIRST_OF_EXCEL + dt.timedelta(number + (number < 60))


def _date_styles(styles: ET.Element) -> set[int]:
    """Return the numbers of the styles that show a number as a date: formats 14 to 22, or one with a year in it."""
    own = {int(one.attrib["numFmtId"]): one.attrib["formatCode"] for one in styles.iter(f"{_MAIN}numFmt")}
    cells = styles.find(f"{_MAIN}cellXfs")
    assert cells is not None
    formats = [int(one.attrib["numFmtId"]) for one in cells.findall(f"{_MAIN}xf")]
    return {place for place, number in enumerate(formats) if 14 <= number <= 22 or "y" in own.get(number, "").lower()}


def _of_sheet(cell: Any, found: Microdata, name: str) -> Any:
    if isinstance(cell, str) and cell.strip() in MISSING:
        return None
    if found.schema[name].kind == "date" and isinstance(cell, float):
        return _of_excel(cell)
    if found.schema[name].kind == "nominal" and isinstance(cell, dt.datetime):  # a date among texts
        return cell.date().isoformat()
    if found.schema[name].kind == "nominal" and isinstance(cell, float):  # a number among texts
        return str(int(cell) if cell.is_integer() else cell)
    if found.schema[name].kind == "numeric" and isinstance(cell, str):
        return float(cell)
    return cell


def _from_rds(path: Path, _: Microdata) -> Columns:
    return {str(name): held.tolist() for name, held in rdata.read_rds(path).items()}


def _from_stata(path: Path, found: Microdata) -> Columns:
    frame = pd.read_stata(path, convert_categoricals=False, convert_dates=False, preserve_dtypes=False)
    return _dated({str(name): held.tolist() for name, held in frame.items()}, found, "1960-01-01", 86_400)


_NO_ZERO = 16.0**-65  # what pandas makes of a zero of SAS


def _of_sas(cell: Any, missing: bool) -> Any:
    """Return a number of SAS: one without digits but with an exponent is none, and pandas makes a power of 16 of it."""
    if not isinstance(cell, float) or cell == 0 or np.isnan(cell):
        return cell
    if missing and float(np.log2(abs(cell))) % 4 == 0:
        return None
    return 0.0 if cell == _NO_ZERO else cell


def _from_sas(path: Path, found: Microdata) -> Columns:
    frame = pd.read_sas(path, format="xport", encoding="utf-8").rename(columns=lambda name: named(str(name)))
    if len(frame) < len(found):  # it takes a last record that ends in blanks for the padding behind the records
        columns, _ = pyreadstat.read_xport(path, output_format="dict", disable_datetime_conversion=True)
        return _dated(columns, found, "1960-01-01", 86_400)
    gaps = {name: found.missing(name) for name in found.names}
    read: Columns = {}
    for name, held in frame.items():
        missing = gaps.get(str(name), np.zeros(len(held), bool))
        read[str(name)] = [_of_sas(cell, bool(gap)) for cell, gap in zip(held.tolist(), missing, strict=True)]
    return _dated(read, found, "1960-01-01", 86_400)


def _from_spss(path: Path, found: Microdata) -> Columns:
    columns, _ = pyreadstat.read_sav(path, output_format="dict", disable_datetime_conversion=True)
    return _dated(columns, found, "1582-10-14", 1)


def _dated(columns: Columns, found: Microdata, first: str, seconds: int) -> Columns:
    """Return the columns that are dates here as dates, counted from the format's first day."""
    dates = {name for name in columns if name in found.names and found.schema[name].kind == "date"}
    return {
        name: [_day(cell, first, seconds) for cell in held] if name in dates else held for name, held in columns.items()
    }


def _day(cell: Any, first: str, seconds: int) -> Any:
    if cell is None or isinstance(cell, str | dt.date) or np.isnan(cell):
        return cell
    return (np.datetime64(first, "s") + np.timedelta64(int(cell) * seconds, "s")).astype("datetime64[us]").item()


_AGAIN: dict[str, Callable[[Path, Microdata], Columns]] = {
    **dict.fromkeys(("csv", "txt", "tsv", "csv.gz", "zip"), _from_text),
    "parquet": _from_parquet,
    "xlsx": _from_excel,
    "rds": _from_rds,
    **dict.fromkeys(("sav", "zsav"), _from_spss),
    "dta": _from_stata,
    "xpt": _from_sas,
}


def named(name: str) -> str:
    """Return a name as far as all readers give it: some end it at a zero byte, or before white space."""
    return name.partition("\0")[0].strip()


def plain(value: Any) -> Any:
    """Return a value as one that can be compared across libraries: a number, a text, a day or moment, or None.

    A time of day is a number of seconds, which damage to its format makes of any number.
    """
    if (
        value is None
        or value is pd.NaT
        or value is pd.NA
        or (isinstance(value, float | np.floating) and np.isnan(value))
    ):
        return None
    if isinstance(value, pd.Timestamp):
        value = value.to_pydatetime()
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    if isinstance(value, dt.time):
        return (dt.datetime.combine(FIRST, value) - dt.datetime.combine(FIRST, dt.time())).total_seconds()
    return value.item() if isinstance(value, np.generic) else value
