"""Delimited text in and out: its dialect is detected, its cells are typed, and what was read goes back as it came."""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from sfumato.errors import DataError, FileError, SfumatoError
from sfumato.table.capacity import step, unpacked
from sfumato.table.columns import EXACT, still_read_as
from sfumato.table.formats import inner_name, is_compressed
from sfumato.table.formats.format import OPTIONS, Format, ReadOptions, content_of, labels_lost, under_schema
from sfumato.table.frames import COMPUTED, Dialect, TextForm, named_table, to_arrow, with_row_names
from sfumato.table.microdata import Microdata

# The delimiter and the quotes of a text file, told from its first records.

DELIMITERS = ("\t", "|", ";", ",")  # the rarer one inside of cells comes first
SAMPLED = 50  # records looked at to tell the delimiter and the quotes


def detect_delimiter(sample: str, *, complete: bool) -> str:
    """Tell the delimiter from the header and the first records, quotes respected.

    It is the one of tab, bar, semicolon and comma that splits the header and every sampled record into the same number
    of fields (a delimiter at the end of a line aside): the most fields if several do, the first so named if these are
    as many; where none does, the one that splits the header into most fields; a comma where there is but one column.
    """
    counts = {
        delimiter: [len(record) for record in _first_records(sample, delimiter, complete=complete)]
        for delimiter in DELIMITERS
    }
    even = {
        delimiter: found[0]
        for delimiter, found in counts.items()
        if found and found[0] > 1 and set(found[1:]) <= {found[0], found[0] + 1}
    }
    fields = even or {delimiter: (found[0] if found else 1) for delimiter, found in counts.items()}
    best = max(DELIMITERS, key=lambda delimiter: fields.get(delimiter, 0))
    return best if fields[best] > 1 else ","


def _first_records(sample: str, delimiter: str, *, complete: bool) -> list[list[str]]:
    """Return the first records of a text, header and all, blank lines left out."""
    records: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter):
            if record:
                records.append(record)
            if len(records) > SAMPLED:
                return records
    except csv.Error:  # a quote that does not close within the sample, or a stray null: what was read so far will do
        pass
    cut = not complete and len(records) > 1  # the sample may end in the middle of its last record
    return records[:-1] if cut else records


def _quoted_columns(sample: str, delimiter: str, width: int) -> list[bool]:
    """Tell which columns have their cells in quotes, by the first records of a text without its header."""
    # a quoted cell becomes one lone quote; an empty one says nothing: it may be how a missing value is made visible
    bare = re.sub(r'"((?:[^"]|"")*)"', lambda cell: '"' if cell.group(1) else "", sample)
    quoted = [False] * width
    for line in [line for line in bare.splitlines() if line][:SAMPLED]:
        for place, cell in enumerate(line.split(delimiter)[:width]):
            quoted[place] |= cell.startswith('"')
    return quoted


# The cells of a text column: which mark missing values, and whether all others are numbers.


def without_markers(text: Any, missing: Sequence[str]) -> tuple[Any, str | None]:
    """Make the markers missing, and return the first one met."""
    bare = pc.utf8_trim_whitespace(text)
    hit = pc.is_in(bare, value_set=pa.array(sorted(set(missing)), pa.string()))
    first = pc.index(hit, True).as_py()
    if first < 0:
        return text, None
    return pc.if_else(hit, pa.scalar(None, pa.string()), text), bare[first].as_py()


def typed(text: Any, decimal: str, *, stated: bool = False) -> tuple[Any, int]:
    """Return a text column as whole numbers or decimals where every cell is one, and the fewest decimals written."""
    if text.null_count == len(text):
        return pa.nulls(len(text)), 0
    numbers = _numbers(text, decimal)
    if numbers is not None:
        return numbers, (_fewest_decimals(text, decimal) if pa.types.is_floating(numbers.type) else 0)
    if stated and decimal != ".":
        # a schema says numeric: the refusal that follows shall name a cell that is no number, not a decimal comma
        swapped = pc.replace_substring_regex(text, r"^(\s*[+-]?\d*),(\d+\s*)$", r"\1.\2")
        return swapped, 0
    return text, 0


def _numbers(text: Any, decimal: str) -> Any:
    """Return the numbers of a column in which every cell is one, else None."""
    bare = pc.utf8_trim_whitespace(text)
    if decimal != ".":
        if any_true(pc.match_substring(bare, ".")):
            return None
        bare = pc.replace_substring(bare, decimal, ".")
    if any_true(pc.match_substring_regex(bare, "^[+-]?0[0-9xX]")):  # 00123 is a code, and 0x1F no number of a survey
        return None
    whole = _cast(bare, pa.int64())
    if whole is not None:
        return whole
    numbers = _cast(bare, pa.float64())
    if numbers is None:
        return None
    if any_true(pc.is_nan(numbers)):  # "nan" that nobody declared missing
        return None
    values = np.abs(numbers.drop_null().to_numpy())
    if values[np.isfinite(values)].max(initial=0) >= EXACT and _names_something(bare, values):
        return None
    return numbers


def _names_something(bare: Any, values: Any) -> bool:
    """Tell whether a cell is a whole number beyond 2^53, digit by digit: no float holds these, their text does.

    One that happens to be a float, such as 1 with 25 zeros, is no exception: it would come back as 1e+25.
    """
    whole = pc.match_substring_regex(bare.drop_null(), r"^[+-]?\d+$").to_numpy(zero_copy_only=False)
    return bool((values[whole] > EXACT).any())


def with_more_digits(text: Any, numbers: Any, decimal: str) -> bool:
    """Tell whether a cell of a column of numbers has more digits than a float holds."""
    bare = pc.utf8_trim_whitespace(text)
    return _loses_digits(pc.replace_substring(bare, decimal, "."), numbers, r"\d.*")


def _loses_digits(bare: Any, numbers: Any, pattern: str) -> bool:
    """Tell whether a number so written is not the float that it is read as; up to 15 digits always are."""
    long = pc.and_(pc.greater(pc.utf8_length(bare), 15), pc.match_substring_regex(bare, pattern))
    cells, floats = bare.filter(long).to_pylist(), numbers.filter(long).to_pylist()
    return any(Decimal(cell) != Decimal(repr(number)) for cell, number in zip(cells, floats, strict=True))


def _cast(text: Any, kind: pa.DataType) -> Any:
    """Return the cells as numbers, or None if one of them is none."""
    try:
        pc.cast(text[:1000], kind)  # a column that is no such thing fails here, which takes less time
        return pc.cast(text, kind)
    except pa.ArrowInvalid:
        return None


def _fewest_decimals(text: Any, decimal: str) -> int:
    bare = pc.utf8_trim_whitespace(text)
    if any_true(pc.match_substring_regex(bare, "[eE]")):
        return 0
    place = pc.find_substring(bare, decimal)
    behind = pc.subtract(pc.subtract(pc.binary_length(bare), place), 1)
    return int(pc.min(pc.if_else(pc.less(place, 0), 0, behind)).as_py())


def detect_decimal(path: Path, texts: dict[str, Any], delimiter: str, numeric: frozenset[str]) -> str:
    """Tell the file's one decimal sign; where the cells leave it open, ask instead of guessing."""
    if delimiter == ",":
        return "."
    commas = {name: text for name, text in texts.items() if has_decimals(text, ",", stated=name in numeric)}
    if not commas:
        return "."
    points = [name for name, text in texts.items() if has_decimals(text, ".", stated=name in numeric)]
    if points:
        raise FileError(
            f"{path}: variable {next(iter(commas))!r} has decimal commas and variable {points[0]!r} decimal points; "
            "say decimal=',' or decimal='.' (the other variables are then text)"
        )
    thousands = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"
    if all(_all_commas_match(text, thousands) for text in commas.values()):
        name, text = next(iter(commas.items()))
        example = text[pc.index(pc.match_substring(text, ","), True).as_py()].as_py().strip()
        raise FileError(
            f"{path}: {example!r} in variable {name!r} may be {example.replace(',', '.')} or {example.replace(',', '')}"
            "; say decimal=',' for the first, remove the thousands separators for the second"
        )
    return ","


def has_decimals(text: Any, decimal: str, *, stated: bool) -> bool:
    """Tell whether a column is of numbers, some with this decimal sign; one number will do where numbers are stated."""
    if text.null_count == len(text) or not any_true(pc.match_substring(text, decimal)):
        return False
    if stated:
        return any_true(pc.match_substring_regex(text, rf"^\s*[+-]?\d*{re.escape(decimal)}\d+\s*$"))
    return _numbers(text, decimal) is not None


def _all_commas_match(text: Any, pattern: str) -> bool:
    with_comma = text.filter(pc.match_substring(text, ","))
    return bool(pc.all(pc.match_substring_regex(with_comma, pattern)).as_py())


def any_true(mask: Any) -> bool:
    """Tell whether one of many answers is yes."""
    return bool(pc.any(mask).as_py())


# Bytes to columns, by a stated rule.

SAMPLE_BYTES = 1 << 18
NOTHING = "\0nothing"  # what stands behind a delimiter at the end of a line
_LINE_END = re.compile(rb"\r\n|\n|\r")
_IN_QUOTES = re.compile(rb'"[^"]*+(?:""[^"]*+)*+"')  # possessive: a doubled quote never closes


def _read_csv(
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
    head = head_of(path, data, delimiter)
    delimiter, body = head.delimiter, memoryview(data)[head.end :]
    step("reading records", 0, len(body))
    table = _parsed(path, body, head, len(_LINE_END.findall(data, 0, head.end)))
    texts, markers = {}, {}
    for name in table.column_names:
        texts[name], markers[name] = without_markers(_one_chunk(table[name]), missing)
    decimal = decimal or detect_decimal(path, texts, delimiter, numeric)
    quoted = _quoted_columns(bytes(body[:SAMPLE_BYTES]).decode("utf-8", errors="ignore"), delimiter, len(head.names))
    usual = next((marker for marker in markers.values() if marker is not None), "")
    columns, forms, exact = [], {}, {}
    for place, (name, text) in enumerate(texts.items()):
        step("reading columns", place, len(texts))
        column, decimals = typed(text, decimal, stated=name in numeric)
        columns.append(column)
        if pa.types.is_floating(column.type) and with_more_digits(text, column, decimal):
            exact[name] = text
        marker = markers[name]
        forms[name] = TextForm(usual if marker is None else marker, decimals, quoted[place])
    return named_table(head.names, columns), Dialect(
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        byte_order_mark=mark,
        newline="\r\n" if data[: head.end].endswith(b"\r\n") else "\n",
        quoted_header=data[head.start : head.start + 1] == b'"',
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


@dataclass(frozen=True)
class Head:
    """How a text file begins: where its header does and its records do, in bytes, and what the first of them tell."""

    start: int
    end: int
    names: list[str]
    columns: list[str]  # those of the records: one more where they end in a delimiter
    delimiter: str
    wide: bool  # whether the header ends in a delimiter too


def head_of(path: Path, data: bytes, delimiter: str | None, *, whole: bool = True) -> Head:
    """Read the header, and tell the delimiter; ``data`` are the bytes of a file, or its first if not the ``whole``."""
    start, end = _header_span(path, data, delimiter)
    sample = data[start : start + SAMPLE_BYTES].decode("utf-8", errors="ignore")
    complete = whole and len(data) - start <= SAMPLE_BYTES
    delimiter = delimiter or detect_delimiter(sample, complete=complete)
    names = _header(path, data[start:end].decode("utf-8"), delimiter)
    records = _first_records(sample, delimiter, complete=complete)
    trailing = len(records) > 1 and len(records[1]) == len(names) + 1
    wide = len(records[0]) > len(names) if records else False
    return Head(start, end, names, [*names, NOTHING] if trailing else names, delimiter, wide)


def _header_span(path: Path, data: bytes, delimiter: str | None = None) -> tuple[int, int]:
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


def _header(path: Path, line: str, delimiter: str) -> list[str]:
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


def _parsed(path: Path, body: memoryview, head: Head, lines_before: int) -> pa.Table:
    names, columns, delimiter = head.names, head.columns, head.delimiter
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
    if len(columns) > len(names):
        if any_true(pc.not_equal(pc.utf8_trim_whitespace(table[NOTHING]), "")):
            if head.wide:
                raise DataError(f"{path}: column {len(columns)} has no name; give every column a name in the header")
            raise _uneven(path, body, len(names), delimiter, lines_before, "more fields than names")
        table = table.drop_columns([NOTHING])
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


# Delimited text out: an arrow table to bytes, in the dialect a file was read with.

RECORDS_AT_A_TIME = 100_000


def _write_csv(table: pa.Table, dialect: Dialect, out: BinaryIO) -> None:
    """Write a table as delimited text.

    Floats are written with the fewest digits that read back as the same number, and with at least as many decimals as
    every number of the column had in the file it came from.
    """
    encoder = codecs.getincrementalencoder(dialect.encoding)()

    def put(text: str) -> None:
        out.write(encoder.encode(text))

    if dialect.byte_order_mark:
        put("\ufeff")
    names = pa.array(table.column_names, pa.string())
    alone = table.num_columns == 1
    header = _quoted(names, dialect, alone=alone, always=dialect.quoted_header)
    put(dialect.delimiter.join(header.to_pylist()) + dialect.newline)
    for batch in table.to_batches(max_chunksize=RECORDS_AT_A_TIME):
        cells = [
            _cells(column, dialect.form(name), dialect, alone=alone)
            for name, column in zip(table.column_names, batch.columns, strict=True)
        ]
        lines = pc.binary_join_element_wise(*cells, dialect.delimiter)
        whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
        text = pc.binary_join(whole, dialect.newline)[0]
        if dialect.encoding == "utf-8":
            out.write(text.as_buffer())
            out.write(dialect.newline.encode())
        else:
            put(text.as_py() + dialect.newline)


def _cells(column: Any, form: TextForm, dialect: Dialect, *, alone: bool) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    number = pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or pa.types.is_decimal(column.type)
    text = pc.cast(column, pa.string())
    if number:
        if form.decimals:
            text = _padded(text, form.decimals)
        if dialect.decimal != ".":
            text = pc.replace_substring(text, ".", dialect.decimal)
    if form.quoted or not number or dialect.decimal == dialect.delimiter:
        text = _quoted(text, dialect, alone=alone, always=form.quoted)
    # a line with nothing on it is no record, so one missing value alone has to be visible
    return text.fill_null('""' if alone and not form.missing else form.missing)


def _padded(text: Any, decimals: int) -> Any:
    """Write numbers with at least so many decimals: 2 as 2.00."""
    place = pc.find_substring(text, ".")
    pointless = pc.less(place, 0)
    written = pc.if_else(pointless, 0, pc.subtract(pc.subtract(pc.binary_length(text), place), 1))
    lacking = pc.max_element_wise(pc.subtract(decimals, written), 0)
    plain = pc.invert(pc.match_substring(text, "e"))
    zeros = pc.binary_repeat("0", lacking)
    padded = pc.binary_join_element_wise(text, pc.if_else(pointless, ".", ""), zeros, "")
    return pc.if_else(plain, padded, text)


def _quoted(text: Any, dialect: Dialect, *, alone: bool, always: bool) -> Any:
    delimiters = DELIMITERS if alone else (dialect.delimiter,)  # in one column any delimiter would look like one
    needs = pc.match_substring_regex(text, f'["\\r\\n{re.escape("".join({*delimiters, dialect.delimiter}))}]')
    if not always and not pc.any(needs).as_py():
        return text
    around = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
    return around if always else pc.if_else(needs, around, text)


# Cells of a text file that a spreadsheet would compute instead of showing them.
#
# They are pointed out and stay as they are, because every mark that keeps a spreadsheet from computing them is
# another value for every other program.

_HARMLESS = r"^\s*(?:[-+=@]*|[-+]+[\s\d.,'\x{a0}\x{202f}]*(?:[eE][-+]?\d+)?\s*%?)$"  # - for "none", and numbers


def formulas(table: pa.Table) -> tuple[str, ...]:
    """Say in a sentence which columns hold such cells, and how many, the name of the column counted; or say nothing.

    >>> formulas(pa.table({"note": ["=1+1", "fine", "-5"], "pay": [-1, 2, 3]}))[0].partition(":")[2]
    " 'note' (1); where it is opened so, import it with its columns as text"
    """
    found = {name: _computed(pa.array([name])) + _count(column) for name, column in _columns(table)}
    told = ", ".join(f"{name!r} ({count:,})" for name, count in found.items() if count)
    if not told:
        return ()
    return (
        "cells begin with a sign such as = + - @, and a spreadsheet that opens the file as it is computes them, which "
        f"may run what they say: {told}; where it is opened so, import it with its columns as text",
    )


def _columns(table: pa.Table) -> Any:
    return zip(table.column_names, table.columns, strict=True)


def _count(column: Any) -> int:
    """Count the cells of a column; of categories, each is looked at once."""
    if pa.types.is_dictionary(column.type):
        return sum(_computed(chunk.dictionary, pc.value_counts(chunk.indices.drop_null())) for chunk in column.chunks)
    return _computed(column)


def _computed(texts: Any, counts: Any = None) -> int:
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return 0
    computed = pc.and_not(pc.match_substring_regex(texts, COMPUTED), pc.match_substring_regex(texts, _HARMLESS))
    if counts is None:
        return int(pc.sum(computed).as_py() or 0)
    there = computed.take(counts.field("values"))
    return int(pc.sum(counts.field("counts").filter(there)).as_py() or 0)


# Text that is compressed, by its last suffix. What is written says nothing of when and where: no time, no other name.

TIMES = 4.0  # the size of a text, that it takes as a table at least
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold


def decompressed(path: Path, content: bytes, allowed: int | None = None) -> tuple[Path, bytes]:
    """Return what a compressed file holds, with its name; a file that is not compressed is returned as it is."""
    suffix = path.suffix.lower()
    if not is_compressed(path):
        return path, content
    if not content:
        raise FileError(f"{path} is empty")
    packed = io.BytesIO(content)
    try:
        if suffix == ".zip":
            with zipfile.ZipFile(packed) as archive, archive.open(name := _only_name(path, archive)) as stream:
                return Path(name), unpacked(path, stream, packed, allowed, TIMES)
        if suffix == ".zst":
            zstd = pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), _zstd(path))
            return inner_name(path), unpacked(path, zstd, packed, allowed, TIMES)
        opened: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}[suffix]
        return inner_name(path), unpacked(path, opened(packed), packed, allowed, TIMES)
    except SfumatoError:  # which says already what is wrong
        raise
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        raise FileError(f"{path} cannot be unpacked: {error}; is it whole, and is {suffix} what it is?") from None


@contextmanager
def compressing(path: Path, out: BinaryIO) -> Iterator[BinaryIO]:
    """Compress what is written, as the suffix asks; without one of these it goes out as it is."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        content = io.BytesIO()
        yield content
        entry = zipfile.ZipInfo(inner_name(path).name, _FIRST_DAY)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(entry, content.getvalue(), zipfile.ZIP_DEFLATED)
    elif suffix == ".zst":
        content, packed = io.BytesIO(), pa.BufferOutputStream()  # arrow would close the file that it writes to
        yield content
        with pa.CompressedOutputStream(packed, _zstd(path)) as stream:
            stream.write(content.getbuffer())
        out.write(packed.getvalue())
    elif suffix == ".gz":
        with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as stream:
            yield cast(BinaryIO, stream)
    elif suffix == ".bz2":
        with bz2.BZ2File(out, "wb") as stream:
            yield cast(BinaryIO, stream)
    elif suffix == ".xz":
        with lzma.LZMAFile(out, "wb") as stream:
            yield cast(BinaryIO, stream)
    else:
        yield out


def _only_name(path: Path, archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if len(names) != 1:
        held = f"{len(names)} files ({', '.join(names[:8])})" if names else "no file"
        raise FileError(f"{path} holds {held}; Sfumato reads a .zip with one: unpack it and name the file")
    return names[0]


def _zstd(path: Path) -> str:
    if not pa.Codec.is_available("zstd"):
        raise FileError(f"{path}: this pyarrow has no zstd; unpack the file, or compress it with gzip")
    return "zstd"


# Delimited text as a format of files.

TEXT = (".csv", ".tsv", ".txt")
TIMES_COMPRESSED = 8.0  # the size of a file, that reading takes in memory at least


def _read(file: Path, options: ReadOptions) -> Microdata:
    inner, content = decompressed(file, content_of(file), options.max_unpacked)
    if inner.suffix.lower() not in TEXT:
        raise FileError(f"{file} holds {inner.name}; of compressed files only text is read ({', '.join(TEXT)})")
    found, dialect = _read_csv(
        file,
        content,
        delimiter=options.delimiter or stated_by_suffix(inner),
        decimal=options.decimal,
        encoding=options.encoding,
        missing=options.markers,
        numeric=options.numeric,
    )
    return under_schema(file, found, options, dialect)


def stated_by_suffix(inner: Path) -> str | None:
    """Return the delimiter that the name of a text says."""
    return "\t" if inner.suffix.lower() == ".tsv" else None


def _write(table: Microdata, file: Path, out: BinaryIO) -> tuple[str, ...]:
    arrow, dialect = to_arrow(table.to_frame())[0], table.origin.dialect or Dialect()
    with compressing(file, out) as packed:
        _write_text(_with_all_digits(arrow, table, dialect), dialect, file, packed)
    return (*labels_lost(table), *formulas(arrow))


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
        _write_csv(table, dialect, out)
    except UnicodeEncodeError as error:
        raise FileError(
            f"cannot write {file}: the text {error.object[error.start : error.end]!r} is not in "
            f"{dialect.encoding}, the encoding the table was read with"
        ) from None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise FileError(f"cannot write {file} as text: {error}; write Parquet instead") from None


def _stream(files: Sequence[Path], folder: Path | None, records: int, options: ReadOptions) -> list[Path]:
    from sfumato.table.formats.delimited_stream import converted  # which loads more of arrow than reading does

    return converted(files, folder, records, options)


def _memory(file: Path) -> float:
    return file.stat().st_size * (TIMES_COMPRESSED if is_compressed(file) else TIMES)


DELIMITED = Format("text", TEXT, _read, _write, stream=_stream, options=OPTIONS, compressed=True, memory=_memory)
FORMATS = (DELIMITED,)
