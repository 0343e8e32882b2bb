"""The folder of a run: one sweep at a time in it, never among the files that are read, and begun with its seed.

The system frees its lock when the process ends, however it ends.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sfumato.errors import FileError
from sfumato.project.options import Tell, settled_seed
from sfumato.table.atomic import reason
from sfumato.table.formats import a_path, format_of

NAME = "lock"
TRIES, PAUSE = 10, 0.05  # a reader that looks whether the folder is locked holds the lock for a moment
_LOCKED_BYTE = 1 << 30  # a byte that nobody reads or writes is what is locked where only bytes can be


@dataclass(frozen=True)
class Holder:
    """The process that holds a folder; 0 where it has not yet said who it is."""

    pid: int
    since: str  # UTC

    def __str__(self) -> str:
        return f"process {self.pid}, since {self.since}" if self.pid else "another process"


_HELD: dict[Path, int] = {}  # folders that this process holds, and the thread that does


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder, or refuse if somebody else does; within, the same thread may hold it again."""
    place, thread = folder.resolve(), threading.get_ident()
    if _HELD.get(place) == thread:
        yield
        return
    try:
        descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o600)  # not inherited by worker processes
    except OSError as error:
        raise FileError(f"cannot lock {folder}: {reason(error)}") from None
    try:
        if not _taken(descriptor, folder):
            raise _in_use(folder, _holder(folder))
        _HELD[place] = thread
        try:
            _sign(descriptor)
            yield
        finally:
            del _HELD[place]
    finally:
        os.close(descriptor)  # which frees the lock; the file stays, for others may have it open


def is_locked(folder: str | Path) -> bool:
    """Tell whether a sweep, of this process or another, holds a folder."""
    folder = a_path(folder)
    try:
        descriptor = os.open(folder / NAME, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _lock(descriptor, folder, looking=True)
    finally:
        os.close(descriptor)


def running(folder: str | Path) -> Holder | None:
    """Return the process that sweeps into a folder now, or None."""
    return _holder(Path(folder)) if is_locked(folder) else None


def refuse_running(folder: str | Path) -> None:
    """Refuse a folder that a sweep holds now, before anything is read for another."""
    holder = running(folder)
    if holder is not None:
        raise _in_use(Path(folder), holder)


def _in_use(folder: Path, holder: Holder) -> FileError:
    return FileError(
        f"{folder} is in use: {holder} is sweeping into it; wait until it is done, end it, or write to another folder"
    )


def _holder(folder: Path) -> Holder:
    try:
        told = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return Holder(int(told["pid"]), str(told["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Holder(0, "")


def _sign(descriptor: int) -> None:
    told = {"pid": os.getpid(), "since": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")}
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, json.dumps(told).encode())


def _taken(descriptor: int, folder: Path) -> bool:
    for attempt in range(TRIES):
        if _lock(descriptor, folder):
            return True
        if attempt < TRIES - 1:
            time.sleep(PAUSE)
    return False


def _lock(descriptor: int, folder: Path, *, looking: bool = False) -> bool:
    """Lock the file, and tell whether that was possible; who only looks does not stand in the way of others who do."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, (fcntl.LOCK_SH if looking else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise FileError(f"cannot lock {folder}: {reason(error)}") from None
    return True


def refuse_place(out: str | Path, file: str | Path) -> None:
    """Refuse a folder that a sweep of this file cannot go to, before anything is read.

    An empty folder may be used, and that of an earlier sweep or of the workbench; not one that is in use.
    """
    from sfumato.table.parts import is_in_parts

    out, file = a_path(out), a_path(file)
    if out.exists() and not out.is_dir():
        raise FileError(f"{out} is a file; a sweep writes a folder: name one with --out")
    if is_in_parts(file) and out.resolve() == folder_of_parts(file):
        raise FileError(f"{out} holds the table that is read; choose another folder with --out")
    if out.is_dir() and not _is_ours(out):
        held = "holds the table that is read" if out.resolve() in _around(file) else "holds other files"
        raise FileError(f"{out} {held} and is no sweep's folder; choose an empty or a new folder with --out")
    refuse_running(out)


def refuse_file_of_parts(target: Path) -> None:
    """Refuse the name of a file for a table in parts, which is written as a folder."""
    found = format_of(target)
    if found is not None and found.write is not None:
        raise FileError(
            f"{target} is the name of a file, and a table in parts is written as a folder of Parquet files; name a "
            f"folder with --out, such as {target.with_name(target.name.partition('.')[0] or 'protected')}"
        )


def folder_of_parts(file: Path) -> Path:
    """Return the folder that holds the parts of a table, from the root of the file system."""
    return (file if file.is_dir() else file.parent).resolve()


def _is_ours(folder: Path) -> bool:
    from sfumato.project.engines import ASIDE, SUMMARIES
    from sfumato.project.progress import NAME as PROGRESS
    from sfumato.project.record import NAME as PLAN
    from sfumato.project.record import STORE

    # one of these is in every folder of a sweep or of the workbench
    ours = ("seed", PLAN, STORE, PROGRESS, "journal.sqlite")
    # what a sweep that was killed at once may have left, or a steward laid out
    begun = (NAME, ASIDE, "release", "schema.toml")
    names = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
    return any(name in ours for name in names) or all(n in begun or n.startswith(SUMMARIES) for n in names)


def _around(file: Path) -> tuple[Path, ...]:
    """Return the folders that a file, or the folder of a table in parts, lies in."""
    from sfumato.table.parts import is_in_parts

    place = folder_of_parts(file) if is_in_parts(file) else file.resolve()
    return tuple(place.parents)


def make_folder(path: Path) -> Path:
    """Make a folder where it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {path}: {reason(error)}") from None
    return path


def remembered_seed(out: Path, seed: int | None, tell: Tell) -> int:
    """Return the seed: the one said, or the one this folder was begun with, or a new one."""
    from sfumato.report.page import save

    place = out / "seed"
    if seed is None and place.is_file():
        return _kept_seed(place)
    settled = settled_seed(seed, tell)
    with held(out):  # a sweep that runs goes on with its own
        if seed is None and place.is_file():  # another one was begun in this moment
            return _kept_seed(place)
        save(place, f"{settled}\n".encode())
    return settled


def _kept_seed(place: Path) -> int:
    try:
        return int(place.read_text())
    except ValueError:
        raise FileError(f"{place} should hold the seed this folder was begun with; say --seed") from None
