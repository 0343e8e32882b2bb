"""What a killed process left behind: known by its number in the names, and removed by the next one."""

import os
import re
import shutil
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from platform import node
from zlib import crc32


def mark() -> str:
    """Return what tells the files of this process from those of others: the machine and the number of the process."""
    return f"{_machine()}p{os.getpid()}"


def remove_leftovers(folder: Path, pattern: str) -> None:
    """Remove what fits the pattern in a folder and belongs to a process of this machine that is no more."""
    for found in leftovers(folder, pattern):
        remove(found)


def remove(found: Path) -> None:
    """Remove a file or a folder with all that is in it, as far as that can be done."""
    if found.is_dir() and not found.is_symlink():
        shutil.rmtree(found, ignore_errors=True)
        return
    with suppress(OSError):
        found.unlink()


def literally(name: str) -> str:
    """Return a name as a pattern that no other name fits."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def leftovers(folder: Path, pattern: str) -> list[Path]:
    """Return what fits the pattern in a folder and belongs to a process of this machine that is no more."""
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
