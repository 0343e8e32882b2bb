"""How much memory is free, and what work would need: what does not fit is refused before it is begun, with the figure.

What work needs is estimated from below, so that nothing that fits is refused. A table takes at its height 30 to 35
bytes per number of a Parquet file, and 6 to 17 times the size of a text file (measured on 600,000 records of numbers,
codes and text); labelled files take 7 to 11 times their size, Excel files 20 times.
"""

import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from sfumato.errors import FileError, LackOfMemory, ParameterError

MIN_BYTES_CHECKED = 64 * 2**20  # what needs less is not looked at: it is never what memory is short of
PROCESS = 150 * 2**20  # a worker with its libraries, before it has met a table
PIECE = 2**24  # bytes that are unpacked at a time
MIN_UNPACKED, MAX_RATIO = 2**27, 100  # a compressed file may hold so many bytes, and so many times its size
ALLOWED = "SFUMATO_MAX_UNPACKED"  # in the environment, so that processes that are started hear it too
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
Step = Callable[[str, int, int], None]
_watcher: ContextVar[Step | None] = ContextVar("watcher", default=None)
TABLES = 2  # as often as the table is there once more in each worker: protected, and what is computed of it


def require(needed: int, what: str, cure: str) -> None:
    """Refuse what needs more memory than is free."""
    if needed <= MIN_BYTES_CHECKED:
        return
    there = free()
    if needed > there:
        raise LackOfMemory(f"{what} needs about {shown(needed)} of memory, and {shown(there)} are free; {cure}")


def shown(size: int) -> str:
    """Write a number of bytes for people.

    >>> shown(2_340_000_000), shown(640_000)
    ('2.3 GB', '1 MB')
    """
    return f"{size / 1e9:,.1f} GB" if size >= 10**9 else f"{max(size / 1e6, 1):,.0f} MB"


def in_bytes(what: str, size: int | str) -> int:
    """Return a number of bytes, given as such or as text.

    >>> in_bytes("memory", "2 GB"), in_bytes("memory", "512 MiB")
    (2000000000, 536870912)
    """
    parsed = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", str(size).lower())
    if parsed is None or isinstance(size, bool):
        raise ParameterError(f"{what} must be a number of bytes, or text such as '2 GB'; got {size!r}")
    return int(float(parsed[1]) * UNITS[parsed[2] or ""])


@contextmanager
def watched(hears: Step) -> Iterator[None]:
    """Tell how far the reading of files is: ``hears("unpacking", 4_000_000, 9_000_000)``.

    It may raise ``sfumato.errors.Cancelled``, which ends the reading.
    """
    token = _watcher.set(hears)
    try:
        yield
    finally:
        _watcher.reset(token)


def step(act: str, done: int, total: int) -> None:
    """Tell who watches what is being done, how much of it is done, and of how much."""
    hears = _watcher.get()
    if hears is not None:
        hears(act, done, total)


def check_unpacked(path: Path, packed: int, unpacked: int, allowed: int | None, *, times: float = 0.0) -> None:
    """Refuse a compressed file that holds more than tables do, or that takes so many times as much memory unpacked."""
    most = max(MIN_UNPACKED, MAX_RATIO * packed) if allowed is None else allowed
    if unpacked > most:
        raise FileError(
            f"{path} has {shown(packed)} and unpacks to more than {shown(most)}, as few tables do, but files that are "
            f"made to fill a memory; if it is what you expect, allow more: max_unpacked='{max(most // 10**8, 1)} GB'"
        )
    require(int(times * unpacked), f"{path}, unpacked, as one table", "unpack it and take a sample of its records")


def unpacked(path: Path, stream: Any, packed: io.BytesIO, allowed: int | None, times: float) -> bytes:
    """Read what is packed, and see while it is read that it is not more than is allowed, or than memory holds."""
    size, pieces, held = packed.getbuffer().nbytes, [], 0
    while piece := stream.read(PIECE):
        pieces.append(piece)
        held += len(piece)
        check_unpacked(path, size, held, allowed, times=times)
        step("unpacking", packed.tell(), size)
    return b"".join(pieces)


def require_for_workers(workers: int, table: int) -> None:
    """Refuse more processes than memory has room for, given the bytes of a table that each of them protects."""
    each = PROCESS + TABLES * table
    fitting = max(free() // each, 1)
    if workers > 1:
        fewer = f"{fitting:,} fit" if fitting > 1 else "one fits at most"
        cure = f"use fewer workers, of which {fewer}, or a sample of the records, or a table in parts (sfumato.scan)"
        require(workers * each, f"a run with {workers:,} workers", cure)


def free(root: Path = Path("/")) -> int:
    """Return how many bytes of memory may still be used: of the machine, and of the container it is bounded by."""
    found = [_of_machine(root), *_of_groups(root)]
    return max(min(found), 0)


def _of_machine(root: Path) -> int:
    told = _told(root / "proc/meminfo")
    available = re.search(r"MemAvailable:\s+(\d+) kB", told)
    if available is not None:
        return int(available[1]) * 1024
    try:
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES")) // 2
    except (AttributeError, OSError, ValueError):
        return 4 * 2**30  # nobody tells


def _of_groups(root: Path) -> list[int]:
    """Return what the control groups of this process leave it, if they bound its memory: version 2, and version 1."""
    left = []
    for line in _told(root / "proc/self/cgroup").splitlines():
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        if controllers == "":
            base, limit, used, cache = root / "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            base, limit, used = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cache = "total_inactive_file"
        else:
            continue
        inner = base / group.strip("/")
        for place in (inner, *(above for above in inner.parents if above.is_relative_to(base))):
            most, now = _told(place / limit).strip(), _told(place / used).strip()
            if most.isdigit() and now.isdigit():
                kept = re.search(rf"^{cache} (\d+)$", _told(place / "memory.stat"), re.MULTILINE)
                left.append(int(most) - int(now) + (int(kept[1]) if kept else 0))  # a cache of files can be given back
    return left


def _told(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
