"""Parquet in and out, through pyarrow."""

from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from sfumato.errors import DataError, FileError


def read_parquet(path: Path, content: bytes) -> pa.Table:
    """Turn the bytes of a Parquet file into an arrow table; an empty, truncated or foreign file is refused."""
    import pyarrow.parquet as pq

    if not content:
        raise FileError(f"{path} is empty")
    try:
        found = pq.read_table(pa.BufferReader(content))
        found.validate(full=True)  # codes of texts that are not there come through the reader, and texts that are none
        return found
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # names of columns may be no text
        if content[:4] == b"PAR1" and content[-4:] != b"PAR1":
            raise FileError(f"{path} is a truncated Parquet file: its end is missing; fetch it again") from None
        raise FileError(f"{path} cannot be read as Parquet: {error}") from None


def write_parquet(table: pa.Table, out: BinaryIO) -> None:
    """Write an arrow table as Parquet."""
    import pyarrow.parquet as pq

    try:
        pq.write_table(table, out)
    except pa.ArrowNotImplementedError as error:
        entry = next((entry for entry in table.schema if _short(entry.type)), None)
        if entry is None:
            raise
        name, kind = entry.name, entry.type
        raise DataError(
            f"variable {name!r} is of type {kind}, which pyarrow {pa.__version__} cannot write as Parquet ({error}); "
            f"make it decimal128({kind.precision}, {kind.scale}), or install a newer pyarrow"
        ) from None


def _short(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind))
