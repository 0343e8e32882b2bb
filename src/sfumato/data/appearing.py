"""Folders of files written whole or not at all: what stood there before stays until the new one is complete."""

import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.data.atomic import reason
from sfumato.data.leftovers import leftovers, literally, mark, remove_leftovers
from sfumato.errors import FileError

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
            remove_leftovers(folder.parent, f".{literally(name)}.*.{ending}")
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
    old = leftovers(folder.parent, f".{literally(folder.name[:100])}.*.old")
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
