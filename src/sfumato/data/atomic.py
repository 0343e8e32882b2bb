"""Files written whole or not at all: a full disk or an interruption leaves the old file as it was."""

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sfumato.data.leftovers import literally, mark, remove_leftovers
from sfumato.errors import FileError

_REASONS = {
    errno.ENOSPC: "the disk is full; free some space or write elsewhere",
    errno.EDQUOT: "the disk quota is used up; free some space or write elsewhere",
    errno.EACCES: "no permission; check the rights of the file and its folder",
    errno.EPERM: "no permission; check the rights of the file and its folder",
    errno.EROFS: "the file system is read-only; write elsewhere",
    errno.ENOENT: "there is no such file or folder",
    errno.ENOTDIR: "a part of its path is a file, not a folder",
    errno.EISDIR: "it is a folder, not a file",
    errno.ENAMETOOLONG: "its name is too long",
}


def reason(error: OSError) -> str:
    """Say in words why the operating system refused."""
    return _REASONS.get(error.errno or 0, error.strerror or str(error))


@contextmanager
def replacing(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` once it is complete and safe on disk.

    What is written goes to a temporary file in the same folder; if anything fails, that file is removed and whatever
    stood at ``path`` stays. What a killed process left of an attempt to write this file is removed. Until it is
    complete, or if it is ``private``, the file can be read by its owner alone, from its first byte on. Trouble with the
    file system is raised as a ``FileError`` that says why.
    """
    target = Path(path)
    try:
        target = target.resolve()  # a link goes on pointing to the file, which gets the new content
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        if target.exists() and not target.is_file():
            raise FileError(f"cannot write {path}: it is a device or pipe, not a file")
        name = target.name[:100]
        remove_leftovers(target.parent, f".{literally(name)}.*.part")
        part = target.with_name(f".{name}.{mark()}.{uuid.uuid4().hex[:12]}.part")
        out = open(part, "xb", opener=_private)  # noqa: SIM115 - closed below
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {reason(error)}") from error
    try:
        with out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        if target.exists() and not private:
            shutil.copymode(target, part)
        elif not private:
            _as_new_files(part)
        part.replace(target)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {reason(error)}") from error
    finally:
        with suppress(OSError):  # gone already where all went well
            part.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _as_new_files(part: Path) -> None:
    """Give a file the rights that new ones have in its folder."""
    probe = part.with_suffix(".new")
    try:
        probe.touch(exist_ok=False)
        shutil.copymode(probe, part)
    finally:
        probe.unlink(missing_ok=True)
