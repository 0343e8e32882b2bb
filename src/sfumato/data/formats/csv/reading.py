"""Delimited text in: bytes to an arrow table of whole numbers, decimals and text, by a stated rule."""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from sfumato.data.file_form import Dialect, TextForm, named_table, with_row_names
from sfumato.data.formats.csv.cells import any_true, detect_decimal, typed, with_more_digits, without_markers
from sfumato.data.formats.csv.detection import DELIMITERS, detect_delimiter, first_records, quoted_columns
from sfumato.errors import DataError, FileError

SAMPLE_BYTES = 1 << 18
_LINE_END = re.compile(rb"\r\n|\n|\r")
_IN_QUOTES = re.compile(rb'"[^"]*+(?:""[^"]*+)*+"')  # possessive: a doubled quote never closes


def read_csv(
    path: Path,
    raw: bytes,
    *,
    delimiter: str | None,
    decimal: str | None,
    encoding: str | None,
    missing: Sequence[str],
    numeric: frozenset[str],
) -> tuple[pa.Table, Dialect]:
    """Turn the bytes of a delimited text file into typed columns; ``numeric`` names those a schema says are numbers."""
    data, encoding, mark = _as_utf8(path, raw, encoding)
    start, end = header_span(path, data, delimiter)
    sample = data[start : start + SAMPLE_BYTES].decode("utf-8", errors="ignore")
    complete = len(data) - start <= SAMPLE_BYTES
    delimiter = delimiter or detect_delimiter(sample, complete=complete)
    names = header(path, data[start:end].decode("utf-8"), delimiter)
    body = memoryview(data)[end:]
    lines = len(_LINE_END.findall(data, 0, end))
    records = first_records(sample, delimiter, complete=complete)
    table = _parsed(path, body, names, records, delimiter, lines)
    texts, markers = {}, {}
    for name in table.column_names:
        texts[name], markers[name] = without_markers(_one_chunk(table[name]), missing)
    decimal = decimal or detect_decimal(path, texts, delimiter, numeric)
    quoted = quoted_columns(bytes(body[:SAMPLE_BYTES]).decode("utf-8", errors="ignore"), delimiter, len(names))
    usual = next((marker for marker in markers.values() if marker is not None), "")
    columns, forms, exact = [], {}, {}
    for place, (name, text) in enumerate(texts.items()):
        column, decimals = typed(text, decimal, stated=name in numeric)
        columns.append(column)
        if pa.types.is_floating(column.type) and with_more_digits(text, column, decimal):
            exact[name] = text
        marker = markers[name]
        forms[name] = TextForm(usual if marker is None else marker, decimals, quoted[place])
    return named_table(names, columns), Dialect(
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        byte_order_mark=mark,
        newline="\r\n" if data[start:end].endswith(b"\r\n") else "\n",
        quoted_header=data[start : start + 1] == b'"',
        missing=usual,
        columns=forms,
        exact=exact,
    )


def _as_utf8(path: Path, raw: bytes, encoding: str | None) -> tuple[bytes, str, bool]:
    """Return the text as UTF-8 bytes without byte-order mark; nothing is tried that nobody asked for."""
    mark = raw.startswith(b"\xef\xbb\xbf")
    if encoding is None and raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FileError(f"{path} is UTF-16, not UTF-8; read it with encoding='utf-16'")
    chosen = "utf-8" if encoding is None or encoding.lower() in ("utf-8", "utf8", "utf-8-sig") else encoding
    if mark and chosen == "utf-8":
        raw = raw[3:]
    try:
        if chosen != "utf-8":
            text = raw.decode(chosen)
            marked = text.startswith("\ufeff")  # which codecs of a stated byte order leave there
            return text.removeprefix("\ufeff").encode("utf-8"), chosen, marked
        if not raw.isascii():
            raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        place = error.start + 1 + (3 if mark and chosen == "utf-8" else 0)
        remedy = "name its encoding, for example encoding='cp1252' (Windows) or 'latin-1'"
        raise FileError(
            f"{path} is not {chosen.upper()}: line {line} holds the byte 0x{raw[error.start]:02x} (byte {place:,} of "
            f"the file); {remedy if encoding is None else 'name another encoding'}"
        ) from None
    except (LookupError, ValueError):  # the latter for names that no encoding can have
        raise FileError(f"{path}: there is no encoding {encoding!r}; common ones are utf-8, cp1252, latin-1") from None
    except UnicodeError as error:  # of codecs that do not say where
        raise FileError(f"{path} is not {chosen.upper()}: {error}; name another encoding") from None
    return raw, chosen, mark


def header_span(path: Path, data: bytes, delimiter: str | None = None) -> tuple[int, int]:
    """Find the first line that is not blank; a name in quotes may hold a line break, a quote inside a name is text."""
    found = re.search(rb"[^\r\n\t ]", data)
    if found is None:
        raise FileError(f"{path} is empty")
    start = max(data.rfind(b"\n", 0, found.start()), data.rfind(b"\r", 0, found.start())) + 1
    between = re.escape("".join(DELIMITERS) if delimiter is None else delimiter).encode()
    plain = re.compile(rb"[^\r\n" + between + rb"]*")
    end = start
    while True:
        if data[end : end + 1] == b'"':
            closed = _IN_QUOTES.match(data, end)
            if closed is None:
                raise FileError(f"{path}: a quote opened in the header is never closed")
            end = closed.end()
        end = _end_of(plain, data, end)
        if end == len(data) or data[end : end + 1] in b"\r\n":
            break
        end += 1
    end = _end_of(_LINE_END, data, end)
    if re.compile(rb"[^\r\n\t ]").search(data, end) is None:
        raise FileError(f"{path} has a header but no records")
    return start, end


def _end_of(pattern: "re.Pattern[bytes]", data: bytes, start: int) -> int:
    found = pattern.match(data, start)
    return start if found is None else found.end()


def header(path: Path, line: str, delimiter: str) -> list[str]:
    """Return the names in a header."""
    try:
        names = [name.strip() for name in next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter))]
    except csv.Error as error:
        longest = csv.field_size_limit()
        if any(len(name) > longest for name in line.split(delimiter)):
            raise FileError(
                f"{path}: a name in the header has more than {longest:,} characters; the first line must hold the "
                "names of the columns, and every quote in it must close"
            ) from None
        raise FileError(f"{path}: the header cannot be read ({error}); correct the first line") from None
    if len(names) > 1 and not names[-1]:
        names.pop()  # a delimiter at the end of the line; _parsed sees to it that nothing stands behind it
    return checked_names(f"{path}", with_row_names(names))


def checked_names(where: str, names: list[str]) -> list[str]:
    """Return the names of a header; one that is empty, or two that are alike, are refused."""
    nameless = [place for place, name in enumerate(names, start=1) if not name]
    if nameless:
        raise DataError(f"{where}: column {nameless[0]} has no name; give every column a name in the header")
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        places = ", ".join(str(place) for place, name in enumerate(names, start=1) if name == twice)
        raise DataError(f"{where}: columns {places} have the same name {twice!r}; names must differ")
    return names


def _parsed(
    path: Path, body: memoryview, names: list[str], records: list[list[str]], delimiter: str, lines_before: int
) -> pa.Table:
    """Parse the records as text, under the header's names."""
    trailing = len(records) > 1 and len(records[1]) == len(names) + 1
    nothing = "\0nothing"  # what stands behind a delimiter at the end of a line
    columns = [*names, nothing] if trailing else names
    quotes = len(re.findall(b'"', body))
    if quotes % 2:
        _check_closed(path, body, delimiter, lines_before)
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(body)),
            read_options=arrow_csv.ReadOptions(column_names=columns, block_size=(1 << 24) if quotes else (1 << 20)),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=quotes > 0),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False, check_utf8=False
            ),
        )
    except pa.ArrowInvalid as error:
        raise _uneven(path, body, len(names), delimiter, lines_before, str(error)) from None
    if trailing:
        if any_true(pc.not_equal(pc.utf8_trim_whitespace(table[nothing]), "")):
            if len(records[0]) > len(names):  # the header ends in a delimiter too
                raise DataError(f"{path}: column {len(columns)} has no name; give every column a name in the header")
            raise _uneven(path, body, len(names), delimiter, lines_before, "more fields than names")
        table = table.drop_columns([nothing])
    return table


def _check_closed(path: Path, body: memoryview, delimiter: str, lines_before: int) -> None:
    """Refuse a quote that is never closed: it would swallow the rest of the file."""
    reader = csv.reader(io.StringIO(bytes(body).decode("utf-8"), newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for _ in reader:
            line = reader.line_num + 1
    except csv.Error as error:
        if "end of data" in str(error):
            raise FileError(
                f"{path}: a quote opened in the record of line {lines_before + line} is never closed; close it, or "
                "double a quote that belongs to the text"
            ) from None


def _uneven(path: Path, body: memoryview, width: int, delimiter: str, lines_before: int, reason: str) -> FileError:
    """Name the first line that does not have as many fields as the header has names."""
    reader = csv.reader(io.StringIO(bytes(body).decode("utf-8"), newline=""), delimiter=delimiter)
    line, names = 1, f"{width} name{'s' if width > 1 else ''}"
    try:
        for record in reader:
            wide = len(record) == width + 1 and not record[-1].strip()
            if record and len(record) != width and not wide:
                return FileError(
                    f"{path}: line {lines_before + line} has {len(record)} field{'s' if len(record) > 1 else ''}, but "
                    f"the header has {names} (delimiter {delimiter!r}); correct the line, or say delimiter="
                )
            line = reader.line_num + 1
    except csv.Error as error:
        return FileError(f"{path}: line {lines_before + line} cannot be read: {error}")
    return FileError(f"{path} cannot be read with delimiter {delimiter!r}: {reason}")


def _one_chunk(column: Any) -> Any:
    chunks = column.combine_chunks()
    return chunks if isinstance(chunks, pa.Array) else pa.concat_arrays(chunks.chunks)
