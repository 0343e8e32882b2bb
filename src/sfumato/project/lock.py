"""One sweep at a time in a folder: a lock that the system frees when the process ends, however it ends."""

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

from sfumato.data.atomic import reason
from sfumato.data.formats import a_path
from sfumato.errors import FileError

NAME = "lock"
TRIES, PAUSE = 10, 0.05  # a reader that looks whether the folder is locked holds the lock for a moment
_FAR = 1 << 30  # a byte that nobody reads or writes is what is locked where only bytes can be


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

            os.lseek(descriptor, _FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, (fcntl.LOCK_SH if looking else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise FileError(f"cannot lock {folder}: {reason(error)}") from None
    return True
