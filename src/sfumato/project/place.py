"""Where results may be written: never among the files that are read, nor into a folder that holds something else."""

from pathlib import Path

from sfumato.data.formats import a_path, format_of
from sfumato.data.parts import is_in_parts
from sfumato.errors import FileError
from sfumato.project.in_parts import ASIDE, SUMMARIES
from sfumato.project.lock import NAME as LOCK
from sfumato.project.lock import refuse_running
from sfumato.project.progress import NAME as PROGRESS
from sfumato.project.record import NAME as PLAN
from sfumato.project.record import STORE

# one of these is in every folder of a sweep or of the workbench
OURS = ("seed", PLAN, STORE, PROGRESS, "journal.sqlite")
# what a sweep that was killed at once may have left, or a steward laid out
BEGUN = (LOCK, ASIDE, "release", "schema.toml")


def refuse_place(out: str | Path, file: str | Path) -> None:
    """Refuse a folder that a sweep of this file cannot go to, before anything is read.

    An empty folder may be used, and that of an earlier sweep or of the workbench; not one that is in use.
    """
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
    names = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
    return any(name in OURS for name in names) or all(n in BEGUN or n.startswith(SUMMARIES) for n in names)


def _around(file: Path) -> tuple[Path, ...]:
    """Return the folders that a file, or the folder of a table in parts, lies in."""
    place = folder_of_parts(file) if is_in_parts(file) else file.resolve()
    return tuple(place.parents)
