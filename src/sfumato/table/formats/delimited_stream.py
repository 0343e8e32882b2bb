"""Delimited text of any length to Parquet, a block at a time: twice through the file, never the whole of it in memory.

The first time tells the type of each column, by the rule of ``sfumato.read``: whole numbers if every cell is one,
numbers if every cell is one, else text. Numbers up to 2^53 with more digits than a float holds are decimals. The second
time writes. The decimal sign is told from the first block.
"""

import atexit
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from sfumato.errors import FileError
from sfumato.table.atomic import mark, reason, remove_leftovers, replacing
from sfumato.table.capacity import check_unpacked
from sfumato.table.columns import EXACT
from sfumato.table.formats import every_format, inner_name
from sfumato.table.formats.delimited import (
    NOTHING,
    SAMPLE_BYTES,
    TEXT,
    Head,
    any_true,
    detect_decimal,
    has_decimals,
    head_of,
    stated_by_suffix,
    typed,
    with_more_digits,
    without_markers,
)
from sfumato.table.formats.format import ReadOptions
from sfumato.table.frames import named_table

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
    return pc.cast(pc.replace_substring(pc.utf8_trim_whitespace(text), decimal, "."), kind)


# From text to Parquet, a block at a time.

BLOCK = 1 << 24  # bytes of text that are looked at at a time
STREAMED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
CONVERTED = b"sfumato:converted"  # in the metadata of a file: a copy that may be made anew


@dataclass(frozen=True)
class _FirstPass:
    """What the first time through a text file tells."""

    path: Path
    head: Head
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
        found.append(_looked_through(file, _head(file, options), target, options, decimal))
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


def _head(path: Path, options: ReadOptions) -> Head:
    with _stream(path) as source:
        sample = source.read(SAMPLE_BYTES)
    mark = 3 if sample.startswith(b"\xef\xbb\xbf") else 0
    delimiter = options.delimiter or stated_by_suffix(inner_name(path))
    try:
        head = head_of(path, sample[mark:], delimiter, whole=len(sample) < SAMPLE_BYTES)
    except UnicodeDecodeError:
        raise FileError(f"{path} is not UTF-8; convert it first") from None
    return replace(head, end=mark + head.end)


def _stream(path: Path) -> Any:
    try:
        return pa.input_stream(str(path), compression=STREAMED.get(path.suffix.lower()))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error}") from None


def _blocks(path: Path, head: Head, options: ReadOptions) -> Iterator[dict[str, Any]]:
    """Yield the records, a block at a time, as columns of text in which what marks missing values is missing."""
    with _stream(path) as source:
        source.read(head.end)
        try:
            reader = arrow_csv.open_csv(
                source,
                read_options=arrow_csv.ReadOptions(column_names=head.columns, block_size=BLOCK, use_threads=False),
                parse_options=arrow_csv.ParseOptions(delimiter=head.delimiter, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(head.columns, pa.string()), strings_can_be_null=False
                ),
            )
            seen = 0
            for batch in reader:
                if len(head.columns) > len(head.names):
                    _refuse_more(path, head, batch.column(NOTHING), seen)
                seen += len(batch)
                yield {name: without_markers(batch.column(name), options.markers)[0] for name in head.names}
        except FileError:
            raise
        except (pa.ArrowInvalid, OSError) as error:
            raise FileError(f"{path} cannot be read with delimiter {head.delimiter!r}: {error}") from None


def _refuse_more(path: Path, head: Head, behind: Any, seen: int) -> None:
    """Refuse values behind the last name: nothing may stand behind a delimiter at the end of a line."""
    more = pc.index(pc.not_equal(pc.utf8_trim_whitespace(behind), ""), True).as_py()
    if more >= 0:
        width = len(head.names)
        raise FileError(
            f"{path}: record {seen + more + 1} has {width + 1} fields, but the header has {width} names; name "
            "every column (R's write.table leaves out the name of the rows: write.csv writes an empty one)"
        )


def _looked_through(path: Path, head: Head, target: Path, options: ReadOptions, decimal: str | None) -> _FirstPass:
    """Tell the type of each column, and the decimal sign."""
    kinds = dict.fromkeys(head.names, pa.null())
    digits = {name: Digits() for name in head.names}
    packed, unpacked = path.stat().st_size, 0
    for block in _blocks(path, head, options):
        unpacked += sum(text.nbytes for text in block.values())
        check_unpacked(path, packed, unpacked, options.max_unpacked)
        if options.decimal is None:
            decimal = _one_decimal(path, head, block, options.numeric, decimal)
        for name, text in block.items():
            if not pa.types.is_string(kinds[name]):
                found = typed(text, decimal or ".")[0]
                kinds[name] = _wider(kinds[name], found.type)
                if not pa.types.is_string(found.type):
                    digits[name].see(text, found, decimal or ".")
    return _FirstPass(path, head, target, decimal, kinds, digits)


def _kinds(one: _FirstPass, found: Sequence[_FirstPass]) -> dict[str, pa.DataType]:
    """Return the types of a file's columns: decimals where a number of any file has more digits than a float holds."""
    kinds = dict(one.kinds)
    for name, kind in kinds.items():
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            kinds[name] = Digits.together(each.digits[name] for each in found if name in each.digits).kind or kind
    return kinds


def _write(one: _FirstPass, kinds: dict[str, pa.DataType], records: int, options: ReadOptions) -> None:
    schema = named_table(one.head.names, [pa.nulls(0, kind) for kind in kinds.values()]).schema
    with replacing(one.target, private=True) as out, pq.ParquetWriter(out, schema) as writer:
        held: list[pa.RecordBatch] = []
        count = 0
        for block in _blocks(one.path, one.head, options):
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


def _one_decimal(
    path: Path, head: Head, block: dict[str, Any], numeric: frozenset[str], before: str | None
) -> str | None:
    """Return the one decimal sign of what was read; None: whole numbers alone, which show none."""
    if head.delimiter == ",":
        return "."
    found = detect_decimal(path, block, head.delimiter, numeric)
    if found == "." and not any(has_decimals(text, ".", stated=name in numeric) for name, text in block.items()):
        return before
    if before is not None and found != before:
        called = {".": "points", ",": "commas"}
        raise FileError(
            f"{path} has decimal {called[found]}, and what was read before it decimal {called[before]}; say "
            "decimal=',' or decimal='.' (numbers with the other sign are then text)"
        )
    return found


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    order = [pa.types.is_null, pa.types.is_integer, pa.types.is_floating, pa.types.is_string]
    return max(one, other, key=lambda kind: next(place for place, test in enumerate(order) if test(kind)))


def _as(text: Any, kind: pa.DataType, decimal: str) -> Any:
    if pa.types.is_string(kind):
        return text
    if pa.types.is_decimal(kind):
        return _to_decimals(text, kind, decimal)
    return typed(text, decimal)[0].cast(kind)
