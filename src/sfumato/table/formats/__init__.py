"""Files of every format, and what the name of a file says: its format, the table meant in it, where its release goes.

A new format is a module with ``FORMATS``, a tuple of ``sfumato.table.formats.format.Format``, and its line in
``MODULES``.
"""

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import FileError, ParameterError

if TYPE_CHECKING:  # formats read tables, whose schemas are found by their paths
    from sfumato.table.formats.format import Format

PathLike = str | os.PathLike[str]
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")  # text may be
MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 4095  # on every common file system
MODULES: tuple[str, ...] = (  # in the order in which messages list their suffixes
    "sfumato.table.formats.delimited",
    "sfumato.table.formats.parquet",
    "sfumato.table.formats.excel",
    "sfumato.table.formats.r",
    "sfumato.table.formats.labelled",
)


def is_compressed(path: Path) -> bool:
    """Tell whether a file is compressed, by its suffix."""
    return path.suffix.lower() in COMPRESSED


def inner_name(path: Path) -> Path:
    """Return the path of what is compressed: survey.csv for survey.csv.gz and for survey.zip."""
    if not is_compressed(path):
        return path
    inner = path.with_suffix("")
    return inner.with_name(f"{inner.name}.csv") if path.suffix.lower() == ".zip" and not inner.suffix else inner


def every_format() -> tuple["Format", ...]:
    """Return all formats that are read or written."""
    return _formats_of(MODULES)


@cache
def _formats_of(modules: tuple[str, ...]) -> tuple["Format", ...]:
    return tuple(found for name in modules for found in import_module(name).FORMATS)


def format_of(path: Path) -> "Format | None":
    """Return the format that the name of a file says, compressed or not; None: none that is known."""
    suffix = inner_name(path).suffix.lower()
    found = next((found for found in every_format() if suffix in found.suffixes), None)
    return found if found is None or found.compressed or not is_compressed(path) else None


def known_format(file: Path, *, writing: bool = False) -> "Format":
    """Return the format of a file, and refuse one whose suffix is none that is known here."""
    found = format_of(file)
    if found is not None and (found.write or not writing):
        return found
    if found is not None:
        raise FileError(f"cannot write {file}: {found.name} files are only read; write .csv or .parquet")
    suffix = file.suffix.lower()
    given = f"the suffix {file.suffix!r}" if file.suffix else "no suffix"
    known = ", ".join(end for found in every_format() if found.write or not writing for end in found.suffixes)
    what = "writes" if writing else "reads"
    hint = "; an old workbook has to be saved as .xlsx" if suffix in (".xls", ".xlsb", ".ods") else ""
    raise FileError(f"{file} has {given}; Sfumato {what} {known}, and text compressed: {', '.join(COMPRESSED)}{hint}")


def known_suffixes() -> frozenset[str]:
    """Return how the names of files end that may be read, those of compressed ones too."""
    return frozenset(COMPRESSED).union(*(found.suffixes for found in every_format()))


def a_path(path: object) -> Path:
    """Return a path; what cannot be one is refused."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise ParameterError(f"a file must be named by text or a path; got {path!r}")
    try:
        name = os.fsencode(path)
        if len(name) > MAX_PATH_BYTES or any(len(part) > MAX_NAME_BYTES for part in Path(path).parts):
            raise FileError(f"no file can be called {os.fspath(path)[:60]!r}...: its name is too long")
        if b"\0" not in name:
            return Path(path)
    except UnicodeEncodeError:
        pass
    raise FileError(f"no file can be called {os.fspath(path)!r}")


def located(path: PathLike, table: str | None = None) -> tuple[Path, str | None]:
    """Return a file, and which of its tables is meant: by name, or by what stands behind a # in its name.

    >>> located("survey.xlsx#persons")
    (PosixPath('survey.xlsx'), 'persons')
    """
    file = a_path(path)
    name, mark, inner = file.name.partition("#")
    if mark and _may_hold_several(Path(name)) and not file.exists():
        if table is not None and table != inner:
            raise ParameterError(f"{path} names the table {inner!r}, and table={table!r} another")
        return file.with_name(name), inner
    if table is not None and not _may_hold_several(file):
        several = " and ".join(found.name for found in every_format() if found.tables)
        raise ParameterError(f"{file}: table is for {several} files, which may hold several")
    return file, table


def _may_hold_several(file: Path) -> bool:
    found = format_of(file)
    return found is not None and found.tables is not None


def protected_path(path: Path) -> Path:
    """Return where the protected table of a file goes if nobody says: beside it, in its format if it can be written.

    >>> [protected_path(Path(name)).name for name in ("survey.csv.gz", "survey.rds", "survey.xlsx#persons")]
    ['survey.protected.csv.gz', 'survey.protected.csv', 'survey.protected.xlsx']
    """
    file, _ = located(path)
    if is_compressed(file):
        inner = inner_name(file)
        ending = inner.suffix + (file.suffix if file.stem == inner.name else ".zip")
        return file.with_name(f"{inner.stem}.protected{ending}")
    found = format_of(file)
    suffix = ".csv" if found is not None and found.write is None else file.suffix
    return file.with_name(f"{file.stem}.protected{suffix}")
