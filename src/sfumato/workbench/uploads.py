"""Files that come in through the page, and files of the project's folder by name: never anything outside it."""

import filecmp
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

from sfumato.errors import FileError
from sfumato.table.atomic import reason
from sfumato.table.formats import known_format

MAX_UPLOAD_BYTES = 4 * 1024**3  # bytes of a file that is dropped on the page; a larger one is named on the command line
OTHER_SUFFIXES = (".toml", ".json")  # beside tables: schemas and hierarchies
# what the program writes itself and believes: no file that comes in takes such a name, in whatever letters
RESERVED_NAMES = ("plan.json", "progress.json", "results.json", "decision.json", "run.json", "workbench.json")
_NAME = re.compile(r"[^\x00-\x1f\x7f/\\:*?\"<>|]{1,200}")
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def plain_name(said: str) -> str:
    """Return the name of a file in the folder; refuse what is a path, hidden, or no name.

    >>> plain_name("survey 2024.csv")
    'survey 2024.csv'
    """
    if not _NAME.fullmatch(said) or said.startswith(".") or said != said.strip() or _DEVICES.fullmatch(said):
        raise FileError(f"{said[:80]!r} cannot be the name of a file here; give a plain name such as survey.csv")
    return said


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file in the folder; refuse one that leads out of it, by a link too."""
    path = folder / plain_name(name)
    if path.resolve().parent != folder.resolve():
        raise FileError(f"{name} is not inside the project's folder")
    return path


async def received(folder: Path, name: str, chunks: AsyncIterator[bytes], *, most: int = MAX_UPLOAD_BYTES) -> Path:
    """Write what comes in to a file of the folder, for its owner alone, whole or not at all; never over another.

    The same file a second time is no other: it is left as it is.
    """
    path = inside(folder, name)
    _usable(path)
    part = folder / f".{os.urandom(8).hex()}.part"
    size = 0
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            async for chunk in chunks:
                size += len(chunk)
                if size > most:
                    raise FileError(
                        f"{name} has more than {most // 1024**2:,} MB; open it from where it is: sfumato open {name}"
                    )
                out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
        if not size:
            raise FileError(f"{name} is empty; export it again")
        os.link(part, path)  # unlike a renaming, this does not take the place of a file that is there
    except FileExistsError:
        if not path.is_file() or not filecmp.cmp(part, path, shallow=False):
            raise FileError(
                f"there is another file {name} in the project's folder already; rename yours, or choose that one"
            ) from None
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot keep {name}: {reason(error)}") from None
    finally:
        part.unlink(missing_ok=True)
    return path


def _usable(path: Path) -> None:
    """Refuse a file that nothing here reads, or that would pass for one of the program's own, before it is copied."""
    if path.name.lower() in RESERVED_NAMES:
        raise FileError(f"the program keeps a file {path.name} of its own in the folder; rename yours")
    if path.suffix.lower() not in OTHER_SUFFIXES:
        try:
            known_format(path)
        except FileError as error:
            raise FileError(str(error).replace(str(path), path.name)) from None
