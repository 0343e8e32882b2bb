"""Text files that are compressed, by their last suffix: survey.csv.gz, .bz2, .xz, .zst, and .zip with one file in it.

What is written says nothing of when and where: no time stamps, no names but that of the file itself.
"""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from sfumato.errors import FileError

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold


def is_compressed(path: Path) -> bool:
    """Tell whether a file is compressed, by its suffix."""
    return path.suffix.lower() in COMPRESSED


def inner_name(path: Path) -> Path:
    """Return the path of what is compressed: survey.csv for survey.csv.gz and for survey.zip."""
    if not is_compressed(path):
        return path
    inner = path.with_suffix("")
    return inner.with_name(f"{inner.name}.csv") if path.suffix.lower() == ".zip" and not inner.suffix else inner


def decompressed(path: Path, content: bytes) -> tuple[Path, bytes]:
    """Return what a compressed file holds, with its name; a file that is not compressed is returned as it is."""
    suffix = path.suffix.lower()
    if not is_compressed(path):
        return path, content
    if not content:
        raise FileError(f"{path} is empty")
    try:
        if suffix == ".zip":
            return _unzipped(path, content)
        if suffix == ".zst":
            return inner_name(path), pa.CompressedInputStream(pa.BufferReader(content), _zstd(path)).read()
        unpack = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}[suffix]
        return inner_name(path), unpack(content)
    except FileError:  # an OSError too, which says already what is wrong
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


def _unzipped(path: Path, content: bytes) -> tuple[Path, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
        if len(names) != 1:
            held = f"{len(names)} files ({', '.join(names[:8])})" if names else "no file"
            raise FileError(f"{path} holds {held}; Sfumato reads a .zip with one: unpack it and name the file")
        return Path(names[0]), archive.read(names[0])


def _zstd(path: Path) -> str:
    if not pa.Codec.is_available("zstd"):
        raise FileError(f"{path}: this pyarrow has no zstd; unpack the file, or compress it with gzip")
    return "zstd"
