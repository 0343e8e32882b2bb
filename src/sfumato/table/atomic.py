"""Files and folders written whole or not at all: a full disk or an interruption leaves what stood there as it was."""

import errno
import os
import re
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from platform import node
from typing import BinaryIO
from zlib import crc32

from sfumato.errors import FileError

# What a killed process left behind: known by its number in the names, and removed by the next one.


def mark() -> str:
    """Return what tells the files of this process from those of others: the machine and the number of the process."""
    return f"{_machine()}p{os.getpid()}"


def remove_leftovers(folder: Path, pattern: str) -> None:
    """Remove what fits the pattern in a folder and belongs to a process of this machine that is no more."""
    for found in _leftovers(folder, pattern):
        remove(found)


def remove(found: Path) -> None:
    """Remove a file or a folder with all that is in it, as far as that can be done."""
    if found.is_dir() and not found.is_symlink():
        shutil.rmtree(found, ignore_errors=True)
        return
    with suppress(OSError):
        found.unlink()


def _literally(name: str) -> str:
    """Return a name as a pattern that no other name fits."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def _leftovers(folder: Path, pattern: str) -> list[Path]:
    return [found for found in folder.glob(pattern) if _abandoned(found.name)]


@cache
def _machine() -> str:
    return f"{crc32(node().encode()):08x}"


def _abandoned(name: str) -> bool:
    told = re.search(r"(?<![0-9a-z])([0-9a-f]{8})p(\d{1,9})(?![0-9a-z])", name)
    return told is not None and told[1] == _machine() and not _alive(int(told[2]))


def _alive(process: int) -> bool:
    if sys.platform == "win32":  # where nobody can be asked without being ended
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of somebody else
        return True
    return True


# Files written whole or not at all.

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
        remove_leftovers(target.parent, f".{_literally(name)}.*.part")
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


# Folders of files written whole or not at all: what stood there before stays until the new one is complete.

PART = re.compile(r"part-\d+\.parquet")


@contextmanager
def appearing(folder: Path, *, private: bool = False) -> Iterator[Path]:
    """Make a folder that takes its name once it is complete; until then, or if ``private``, only its owner can read it.

    An earlier one of the same name is replaced if it holds parts of a table and nothing else. What a killed process
    left of an attempt to write this folder is removed; where it was killed between taking the earlier one away and
    putting the new one there, the earlier one comes back first.
    """
    name = folder.name[:100]
    staged = folder.with_name(f".{name}.{mark()}.{uuid.uuid4().hex[:12]}.part")
    old = staged.with_suffix(".old")
    try:
        _bring_back(folder)
        _refuse_others(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        for ending in ("part", "old", "new"):
            remove_leftovers(folder.parent, f".{_literally(name)}.*.{ending}")
        staged.mkdir(mode=0o700)
        yield staged
        if not private:
            _open_to_others(staged)
        _swap(folder, staged, old)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {folder}: {reason(error)}") from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)  # gone already where all went well
        if folder.exists():  # else it is all there is of what was released before
            shutil.rmtree(old, ignore_errors=True)


def _bring_back(folder: Path) -> None:
    """Put back the earlier folder that a killed process had taken away, if nothing took its place."""
    old = _leftovers(folder.parent, f".{_literally(folder.name[:100])}.*.old")
    if old and not folder.exists():
        max(old, key=lambda found: found.stat().st_mtime).rename(folder)


def _refuse_others(folder: Path) -> None:
    """Refuse to replace a folder that holds anything but parts of a table."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FileError(f"cannot write {folder}: it is a file, and the parts of a table are written into a folder")
    others = sorted(entry.name for entry in folder.iterdir() if not PART.fullmatch(entry.name))
    if others:
        raise FileError(
            f"{folder} holds {others[0]!r}, which is no part of a protected table, and would be removed with the "
            "folder; name a folder of its own for the table"
        )


def _swap(folder: Path, staged: Path, old: Path) -> None:
    """Put the new folder in the place of the earlier one, which comes back where that fails."""
    if folder.exists():
        folder.rename(old)
    try:
        staged.rename(folder)
    except OSError:
        with suppress(OSError):
            old.rename(folder)
        raise


def _open_to_others(staged: Path) -> None:
    """Give files and folder the rights that new ones have here: what goes out is no longer its owner's alone."""
    within = staged.with_suffix(".new")
    within.mkdir()
    try:
        probe = within / "file"
        probe.touch()
        for file in staged.iterdir():
            shutil.copymode(probe, file)
        shutil.copymode(within, staged)
    finally:
        shutil.rmtree(within, ignore_errors=True)
