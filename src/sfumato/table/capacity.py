"""How much memory is free, and what work would need: what does not fit is refused before it is begun, with the figure.

What work needs is estimated from below, so that nothing that fits is refused. A table takes at its height 30 to 35
bytes per number of a Parquet file, and 6 to 17 times the size of a text file (measured on 600,000 records of numbers,
codes and text); labelled files take 7 to 11 times their size, Excel files 20 times.
"""

import os
import re
from pathlib import Path

from sfumato.errors import LackOfMemory
from sfumato.table.formats import format_of

MIN_BYTES_CHECKED = 64 * 2**20  # what needs less is not looked at: it is never what memory is short of
PROCESS = 150 * 2**20  # a worker with its libraries, before it has met a table
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


def require_to_read(file: Path) -> None:
    """Refuse a file that does not fit into memory as a table."""
    try:
        needed = bytes_to_read(file)
    except OSError:
        return  # reading it says why
    cure = "read it in parts with sfumato.scan (docs/how-to/larger-than-memory.md), or take a sample of its records"
    require(needed, f"{file} as one table", cure)


def bytes_to_read(file: Path) -> int:
    """Estimate from below what a file takes at the height of its reading."""
    found = format_of(file)
    if found is None:
        return 0  # nothing reads it
    return int(found.memory(file) if callable(found.memory) else found.memory * file.stat().st_size)


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
