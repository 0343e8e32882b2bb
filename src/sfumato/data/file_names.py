"""What the name of a file says: its format, the table meant in it, and the file a protected table goes to."""

import os
from pathlib import Path

from sfumato.data.formats.compression import COMPRESSED, inner_name, is_compressed
from sfumato.data.formats.labelled import FAMILIES
from sfumato.errors import FileError, ParameterError

TEXT = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm")
R = (".rds", ".rda", ".rdata")
LABELLED = tuple(FAMILIES)
PathLike = str | os.PathLike[str]
LONGEST = (255, 4095)  # of a name and of a path, on every common file system


def a_path(path: object) -> Path:
    """Return a path; what cannot be one is refused."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise ParameterError(f"a file must be named by text or a path; got {path!r}")
    try:
        name = os.fsencode(path)
        if len(name) > LONGEST[1] or any(len(part) > LONGEST[0] for part in Path(path).parts):
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
    holds_tables = Path(name).suffix.lower() in (*EXCEL, *R)
    if mark and holds_tables and not file.exists():
        if table is not None and table != inner:
            raise ParameterError(f"{path} names the table {inner!r}, and table={table!r} another")
        return file.with_name(name), inner
    if table is not None and file.suffix.lower() not in (*EXCEL, *R):
        raise ParameterError(f"{file}: table is for Excel and R files, which may hold several")
    return file, table


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
    suffix = ".csv" if file.suffix.lower() in R else file.suffix
    return file.with_name(f"{file.stem}.protected{suffix}")


def refuse_unknown(file: Path, *, writing: bool = False) -> None:
    """Refuse a file whose suffix is none that is known here."""
    suffix = file.suffix.lower()
    if writing and suffix in R:
        raise FileError(f"cannot write {file}: R files are only read; write .csv or .parquet, which R reads too")
    if suffix in (*PARQUET, *LABELLED, *EXCEL, *R) or inner_name(file).suffix.lower() in TEXT:
        return
    given = f"the suffix {file.suffix!r}" if file.suffix else "no suffix"
    known = ", ".join((*TEXT, *PARQUET, *EXCEL, *(() if writing else R), *LABELLED))
    what = "writes" if writing else "reads"
    hint = "; an old workbook has to be saved as .xlsx" if suffix in (".xls", ".xlsb", ".ods") else ""
    raise FileError(f"{file} has {given}; Sfumato {what} {known}, and text compressed: {', '.join(COMPRESSED)}{hint}")
