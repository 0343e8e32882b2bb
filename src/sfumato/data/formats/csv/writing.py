"""Delimited text out: an arrow table to bytes, in the dialect a file was read with."""

import codecs
import re
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.file_form import Dialect, TextForm
from sfumato.data.formats.csv.detection import DELIMITERS

RECORDS_AT_A_TIME = 100_000


def write_csv(table: pa.Table, dialect: Dialect, out: BinaryIO) -> None:
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
    """Return one column as the text of its cells."""
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
    """Put quotes around the cells that need them, or around all."""
    delimiters = DELIMITERS if alone else (dialect.delimiter,)  # in one column any delimiter would look like one
    needs = pc.match_substring_regex(text, f'["\\r\\n{re.escape("".join({*delimiters, dialect.delimiter}))}]')
    if not always and not pc.any(needs).as_py():
        return text
    around = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
    return around if always else pc.if_else(needs, around, text)
