"""Delimited text of any length to Parquet, a block at a time: twice through the file, never the whole of it in memory.

The first time tells the type of each column, by the rule of ``sfumato.read``: whole numbers if every cell is one,
numbers if every cell is one, else text. Numbers up to 2^53 with more digits than a float holds are decimals. The second
time writes. The decimal sign is told from the first block.
"""

import atexit
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from sfumato.errors import FileError
from sfumato.table.atomic import mark, reason, remove_leftovers, replacing
from sfumato.table.decimals import EXACT
from sfumato.table.file_form import named_table
from sfumato.table.formats import every_format
from sfumato.table.formats.compression import inner_name
from sfumato.table.formats.delimited import (
    SAMPLE_BYTES,
    TEXT,
    any_true,
    detect_decimal,
    detect_delimiter,
    first_records,
    has_decimals,
    header,
    header_span,
    typed,
    with_more_digits,
    without_markers,
)
from sfumato.table.formats.format import ReadOptions

# The digits of a column of text that is read a block at a time: which decimals hold them, where floats do not.

# digits behind the point that 16 before it leave of 38, of decimal128, and of 76, of decimal256
MAX_SCALE_128, MAX_SCALE_256 = 22, 60


class Digits:
    """What the blocks of a column of numbers have shown so far."""

    def __init__(self) -> None:
        self._more = False  # whether a cell has more digits than a float holds
        self._fit = True  # whether all are plain numbers up to 2^53
        self._behind = 0  # the point, at most

    @classmethod
    def together(cls, found: "Iterable[Digits]") -> "Digits":
        """Return what a column has shown in several files."""
        whole = cls()
        for one in found:
            whole._more, whole._fit = whole._more or one._more, whole._fit and one._fit
            whole._behind = max(whole._behind, one._behind)
        return whole

    def see(self, text: Any, numbers: Any, decimal: str) -> None:
        """Look at a block: its cells, and the numbers that they are read as."""
        if not self._fit or numbers.null_count == len(numbers):
            return
        ends = pc.min_max(numbers).as_py()
        self._fit = -EXACT <= ends["min"] <= ends["max"] <= EXACT
        if not self._fit or not pa.types.is_floating(numbers.type):
            return
        bare = pc.utf8_trim_whitespace(text)
        place = pc.find_substring(bare, decimal)
        behind = pc.if_else(pc.less(place, 0), 0, pc.subtract(pc.subtract(pc.binary_length(bare), place), 1))
        self._behind = max(self._behind, pc.max(behind).as_py())
        self._fit = self._behind <= MAX_SCALE_256 and not any_true(pc.match_substring_regex(bare, "[eE]"))
        self._more = self._more or with_more_digits(text, numbers, decimal)

    @property
    def kind(self) -> pa.DataType | None:
        """The decimals that hold all digits; None: floats do, or no decimals do."""
        if not (self._more and self._fit):
            return None
        return pa.decimal128(38, self._behind) if self._behind <= MAX_SCALE_128 else pa.decimal256(76, self._behind)


def _to_decimals(text: Any, kind: pa.DataType, decimal: str) -> Any:
    """Return cells as decimals."""
    return pc.cast(pc.replace_substring(pc.utf8_trim_whitespace(text), decimal, "."), kind)


# From text to Parquet, a block at a time.

BLOCK = 1 << 24  # bytes of text that are looked at at a time
STREAMED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
CONVERTED = b"sfumato:converted"  # in the metadata of a file: a copy that may be made anew
NOTHING = "\0nothing"  # what stands behind a delimiter at the end of a line


@dataclass(frozen=True)
class _Form:
    """How a text file is to be read."""

    path: Path
    start: int  # of the records, in bytes
    names: list[str]
    columns: list[str]  # those of the records: one more where they end in a delimiter
    delimiter: str


@dataclass(frozen=True)
class _FirstPass:
    """What the first time through a text file tells."""

    form: _Form
    target: Path
    decimal: str | None  # the sign of all files so far; None: none has shown one
    kinds: dict[str, pa.DataType]
    digits: dict[str, Digits]


def converted(files: Sequence[Path], folder: Path | None, records: int, options: ReadOptions) -> list[Path]:
    """Convert text files to Parquet files of a folder that only its owner can read, with row groups of so many records.

    Without a folder a temporary one is made, which goes when the program ends.
    """
    if folder is None:
        remove_leftovers(Path(tempfile.gettempdir()), "sfumato-*")
        folder = Path(tempfile.mkdtemp(prefix=f"sfumato-{mark()}-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot write to {folder}: {reason(error)}") from None
    found: list[_FirstPass] = []
    names, decimal = set(), options.decimal
    for file in files:
        if inner_name(file).suffix.lower() not in TEXT or file.suffix.lower() not in (*TEXT, *STREAMED):
            raise FileError(f"{file} cannot be read in parts; that can be done with {in_parts()}")
        target = folder / f"{inner_name(file).stem}.parquet"
        if target.name in names:
            raise FileError(f"two files are called {target.stem}; give them different names")
        names.add(target.name)
        if target.exists() and not _is_copy(target):
            raise FileError(f"{target} is there already and no copy of {file}; name a folder of its own for the copies")
        found.append(_looked_through(_form(file, options), target, options, decimal))
        decimal = found[-1].decimal
    for one in found:
        _write(one, _kinds(one, found), records, options)
    return [one.target for one in found]


def in_parts() -> str:
    """List what can be read in parts."""
    streamed = [suffix for found in every_format() if found.stream for suffix in found.suffixes]
    return ", ".join(("Parquet", *streamed, *(f".csv{ending}" for ending in STREAMED)))


def _is_copy(target: Path) -> bool:
    """Tell whether a file was converted here: one that came from elsewhere is not written over."""
    try:
        return CONVERTED in (pq.read_metadata(target).metadata or {})
    except (pa.ArrowInvalid, OSError):
        return False


def _form(path: Path, options: ReadOptions) -> _Form:
    """Read the header, and tell the delimiter."""
    with _stream(path) as source:
        sample = source.read(SAMPLE_BYTES)
    mark = 3 if sample.startswith(b"\xef\xbb\xbf") else 0
    start, end = header_span(path, sample[mark:])
    try:
        text = sample[mark + start :].decode("utf-8", errors="ignore")
        line = sample[mark + start : mark + end].decode("utf-8")
    except UnicodeDecodeError:
        raise FileError(f"{path} is not UTF-8; convert it first") from None
    complete = len(sample) < SAMPLE_BYTES
    given = "\t" if options.delimiter is None and inner_name(path).suffix.lower() == ".tsv" else options.delimiter
    delimiter = given or detect_delimiter(text, complete=complete)
    names = header(path, line, delimiter)
    records = first_records(text, delimiter, complete=complete)
    trailing = len(records) > 1 and len(records[1]) == len(names) + 1
    return _Form(path, mark + end, names, [*names, NOTHING] if trailing else names, delimiter)


def _stream(path: Path) -> Any:
    try:
        return pa.input_stream(str(path), compression=STREAMED.get(path.suffix.lower()))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error}") from None


def _blocks(form: _Form, options: ReadOptions) -> Iterator[dict[str, Any]]:
    """Yield the records, a block at a time, as columns of text in which what marks missing values is missing."""
    with _stream(form.path) as source:
        source.read(form.start)
        try:
            reader = arrow_csv.open_csv(
                source,
                read_options=arrow_csv.ReadOptions(column_names=form.columns, block_size=BLOCK, use_threads=False),
                parse_options=arrow_csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(form.columns, pa.string()), strings_can_be_null=False
                ),
            )
            seen = 0
            for batch in reader:
                if len(form.columns) > len(form.names):
                    _refuse_more(form, batch.column(NOTHING), seen)
                seen += len(batch)
                yield {name: without_markers(batch.column(name), options.markers)[0] for name in form.names}
        except FileError:
            raise
        except (pa.ArrowInvalid, OSError) as error:
            raise FileError(f"{form.path} cannot be read with delimiter {form.delimiter!r}: {error}") from None


def _refuse_more(form: _Form, behind: Any, seen: int) -> None:
    """Refuse values behind the last name: nothing may stand behind a delimiter at the end of a line."""
    more = pc.index(pc.not_equal(pc.utf8_trim_whitespace(behind), ""), True).as_py()
    if more >= 0:
        width = len(form.names)
        raise FileError(
            f"{form.path}: record {seen + more + 1} has {width + 1} fields, but the header has {width} names; name "
            "every column (R's write.table leaves out the name of the rows: write.csv writes an empty one)"
        )


def _looked_through(form: _Form, target: Path, options: ReadOptions, decimal: str | None) -> _FirstPass:
    """Tell the type of each column, and the decimal sign."""
    kinds = dict.fromkeys(form.names, pa.null())
    digits = {name: Digits() for name in form.names}
    for block in _blocks(form, options):
        if options.decimal is None:
            decimal = _one_decimal(form, block, options.numeric, decimal)
        for name, text in block.items():
            if not pa.types.is_string(kinds[name]):
                found = typed(text, decimal or ".")[0]
                kinds[name] = _wider(kinds[name], found.type)
                if not pa.types.is_string(found.type):
                    digits[name].see(text, found, decimal or ".")
    return _FirstPass(form, target, decimal, kinds, digits)


def _kinds(one: _FirstPass, found: Sequence[_FirstPass]) -> dict[str, pa.DataType]:
    """Return the types of a file's columns: decimals where a number of any file has more digits than a float holds."""
    kinds = dict(one.kinds)
    for name, kind in kinds.items():
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            kinds[name] = Digits.together(each.digits[name] for each in found if name in each.digits).kind or kind
    return kinds


def _write(one: _FirstPass, kinds: dict[str, pa.DataType], records: int, options: ReadOptions) -> None:
    """Convert a file."""
    schema = named_table(one.form.names, [pa.nulls(0, kind) for kind in kinds.values()]).schema
    with replacing(one.target, private=True) as out, pq.ParquetWriter(out, schema) as writer:
        held: list[pa.RecordBatch] = []
        count = 0
        for block in _blocks(one.form, options):
            columns = [_as(text, kinds[name], one.decimal or ".") for name, text in block.items()]
            held.append(pa.record_batch(columns, schema=schema))
            count += len(held[-1])
            while count >= records:
                whole = pa.Table.from_batches(held)
                writer.write_table(whole.slice(0, records), row_group_size=records)
                held = whole.slice(records).to_batches()
                count -= records
        if count:
            writer.write_table(pa.Table.from_batches(held), row_group_size=records)
        writer.add_key_value_metadata({CONVERTED: "yes"})


def _one_decimal(form: _Form, block: dict[str, Any], numeric: frozenset[str], before: str | None) -> str | None:
    """Return the one decimal sign of what was read; None: whole numbers alone, which show none."""
    if form.delimiter == ",":
        return "."
    found = detect_decimal(form.path, block, form.delimiter, numeric)
    if found == "." and not any(has_decimals(text, ".", stated=name in numeric) for name, text in block.items()):
        return before
    if before is not None and found != before:
        called = {".": "points", ",": "commas"}
        raise FileError(
            f"{form.path} has decimal {called[found]}, and what was read before it decimal {called[before]}; say "
            "decimal=',' or decimal='.' (numbers with the other sign are then text)"
        )
    return found


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type that holds the values of two."""
    order = [pa.types.is_null, pa.types.is_integer, pa.types.is_floating, pa.types.is_string]
    return max(one, other, key=lambda kind: next(place for place, test in enumerate(order) if test(kind)))


def _as(text: Any, kind: pa.DataType, decimal: str) -> Any:
    """Return a column of text as the type of the whole column."""
    if pa.types.is_string(kind):
        return text
    if pa.types.is_decimal(kind):
        return _to_decimals(text, kind, decimal)
    return typed(text, decimal)[0].cast(kind)
