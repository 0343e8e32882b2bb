"""SPSS, Stata and SAS files through pyreadstat: raw values, what the file says of them, and what is wrong with it."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data.atomic import reason
from sfumato.data.formats.labelled.families import pyreadstat
from sfumato.data.formats.labelled.spss_dictionary import Compression, check_dictionary, read_header
from sfumato.data.formats.labelled.stata_map import check_map
from sfumato.errors import FileError, ParameterError

CELLS_AT_A_TIME = 5_000_000  # Python objects take four times the memory of numbers
RECORDS_AT_A_TIME = 1_000
_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_WITH_CODES = (".sav", ".zsav", ".dta", ".sas7bdat")  # for the others the library makes user-missing values missing
_SAS = bytes.fromhex("000000000000000000000000c2ea8160b31411cfbd92080009c7318c181f1011")
_STARTS: dict[str, tuple[bytes, ...]] = {
    "an SPSS file (.sav)": (b"$FL2",),
    "an SPSS file (.zsav)": (b"$FL3",),
    "a Stata file (.dta)": (
        b"<stata_dta>",
        *(bytes([release, order]) for release in range(104, 116) for order in (1, 2)),
    ),
    "a SAS file (.sas7bdat)": (_SAS,),
    "a SAS transport file (.xpt)": (b"HEADER RECORD*******LIB",),
    "a Parquet file": (b"PAR1",),
    "an Excel file or another archive": (b"PK\x03\x04",),
    "compressed (.gz)": (b"\x1f\x8b",),
}


@dataclass(frozen=True)
class Facts:
    """What the library does not tell of a file."""

    compression: Compression = "rows"
    version: int = 0
    weight: str | None = None
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def load(path: Path, encoding: str | None) -> tuple[Any, dict[str, Any]]:
    """Return what a file says of its variables, and their raw values.

    Text comes as arrow, numbers as floats with NaN beside the letters of Stata's and SAS' special missing values, or
    None where there are none.
    """
    library = pyreadstat()
    suffix = path.suffix.lower()
    _check_content(path)
    if suffix in (".sav", ".zsav"):
        check_dictionary(path, encoding)
    if suffix == ".dta":
        check_map(path)
    read = partial(getattr(library, _READERS[suffix]), str(path), **_options(path, encoding))
    with _refusals(path, encoding):
        meta = read(metadataonly=True)[1]
        if not meta.column_names:
            raise FileError(f"{path} has no variables")
        if suffix == ".sas7bdat":
            _add_catalogue(library, path, meta, encoding)
        return meta, _values(read, meta)


def _options(path: Path, encoding: str | None) -> dict[str, Any]:
    """Return how the library is to read a file: raw numbers and, where it can, the codes of missing values."""
    suffix = path.suffix.lower()
    options: dict[str, Any] = {"output_format": "dict", "disable_datetime_conversion": True}
    if suffix in _WITH_CODES:
        options["user_missing"] = True
    if encoding is not None:
        if suffix == ".por":
            raise ParameterError(f"{path}: encoding is not for .por files, which say themselves how they are written")
        options["encoding"] = encoding
    return options


def _values(read: Callable[..., Any], meta: Any) -> dict[str, Any]:
    """Read all values, some records at a time; what letters were found goes into ``meta``, column by column."""
    texts = {name for name, kind in meta.readstat_variable_types.items() if kind == "string"}
    parts: dict[str, list[Any]] = {name: [] for name in meta.column_names}
    tags: dict[str, set[str]] = {}
    step = max(CELLS_AT_A_TIME // len(meta.column_names), 1)
    records = 0
    while records % step == 0:
        values, found = read(row_offset=records, row_limit=step)
        count = len(values[meta.column_names[0]])
        for name, letters in found.missing_user_values.items():
            tags.setdefault(name, set()).update(letters)
        for name, column in _compact(values, texts, found.missing_user_values).items():
            parts[name] += column
        records += count
        if not count:
            break
    meta.missing_user_values = {name: sorted(letters) for name, letters in tags.items() if letters}
    return {name: _text(parts.pop(name)) if name in texts else _numbers(parts.pop(name)) for name in meta.column_names}


def facts(path: Path, meta: Any) -> Facts:
    """Return what else is needed to write a file again."""
    suffix = path.suffix.lower()
    lost = ("multiple response sets",) if meta.mr_sets else ()
    if suffix in (".sav", ".zsav"):
        compression, weight = read_header(path, meta.file_encoding)
        return Facts(compression=compression, weight=weight, lost=lost)
    with path.open("rb") as file:
        head = file.read(200)
    if suffix == ".dta":
        release = re.match(rb"<stata_dta><header><release>(\d+)</release>", head)
        lost = ("notes",) if meta.notes else ()
        return Facts(version=int(release[1]) if release else head[0], lost=lost)
    if suffix == ".xpt":
        return Facts(version=8 if b"LIBV8" in head else 5)
    return Facts(lost=lost)


def _check_content(path: Path) -> None:
    """Refuse a file that is not there, empty, or plainly of another format."""
    try:
        with path.open("rb") as file:
            head = file.read(64)
            size = file.seek(0, 2)
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from None
    if not size:
        raise FileError(f"{path} is empty")
    suffix = path.suffix.lower()
    for what, starts in _STARTS.items():
        if head.startswith(starts):
            if f"({suffix})" in what or (suffix in (".sav", ".zsav") and "SPSS" in what):
                break
            raise FileError(f"{path} is {what}, whatever its suffix {suffix} says")
    else:
        if suffix != ".por":  # whose first lines may be in any alphabet
            raise FileError(f"{path} does not begin as a {suffix} file does; it is of another format or damaged")
    if suffix == ".xpt" and size % 80:
        raise FileError(f"{path} is truncated: its length is no multiple of 80 bytes; fetch it again")


@contextmanager
def _refusals(path: Path, encoding: str | None) -> Iterator[None]:
    """Turn what the library complains of into an error that says what to do."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except FileError:
        raise
    except MemoryError:
        raise FileError(f"{path} cannot be read: it needs more memory than there is, or is damaged") from None
    except Warning as warning:
        raise FileError(f"{path} cannot be read: {warning}") from None
    except Exception as error:  # a damaged file may raise anything
        text = str(error)
        if isinstance(error, UnicodeError) or re.search("convert string|encoding|character set", text):
            remedy = "name another encoding" if encoding else "name its encoding, for example encoding='cp1252'"
            raise FileError(f"{path} holds text that cannot be read ({text}); {remedy}") from None
        raise FileError(
            f"{path} cannot be read: {text[:1].lower()}{text[1:]}; it may be cut short or damaged"
        ) from None


def _add_catalogue(library: Any, path: Path, meta: Any, encoding: str | None) -> None:
    """Add the labels of the catalogue beside a SAS file: one of the same name, or formats.sas7bcat."""
    for beside in (path.with_suffix(".sas7bcat"), path.with_name("formats.sas7bcat")):
        if beside.is_file():
            with _refusals(beside, encoding):
                sets = library.read_sas7bcat(str(beside), encoding=encoding, output_format="dict")[1].value_labels
            for name, form in meta.variable_to_label.items():
                bare = re.sub(r"\d*(\.\d*)?$", "", form)
                meta.variable_value_labels[name] = sets.get(form, sets.get(bare, {}))
            return


def _compact(values: dict[str, list[Any]], texts: set[str], letters: Any) -> dict[str, list[Any]]:
    """Turn lists of Python objects into arrays, some records of all columns at a time.

    The objects of a record lie side by side, and those of a column far apart: by columns, most of the time would go
    into waiting for memory. The lists are emptied from their ends.
    """
    arrays: dict[str, list[Any]] = {name: [] for name in values}
    count = max(map(len, values.values()), default=0)
    for start in reversed(range(0, count, RECORDS_AT_A_TIME)):
        for name, column in values.items():
            some = column[start:]
            del column[start:]
            arrays[name].append(pa.array(some, pa.string()) if name in texts else _floats(some, letters.get(name, ())))
    return {name: parts[::-1] for name, parts in arrays.items()}


def _floats(values: list[Any], letters: Any) -> tuple[Any, Any]:
    if not letters:
        return np.array(values, dtype=np.float64), None
    mixed = np.array(values, dtype=object)
    marks = np.zeros(len(mixed), np.uint8)
    for letter in letters:
        marks[mixed == letter] = ord(letter)
    mixed[marks > 0] = None
    return mixed.astype(np.float64), marks


def _text(parts: list[Any]) -> Any:
    return pa.chunked_array(parts, pa.string()).combine_chunks()


def _numbers(parts: list[Any]) -> tuple[Any, Any]:
    """Return all numbers of a column, and the letters beside them or None."""
    numbers = np.concatenate([np.empty(0), *(numbers for numbers, _ in parts)])
    if all(marks is None for _, marks in parts):
        return numbers, None
    return numbers, np.concatenate([np.zeros(len(n), np.uint8) if m is None else m for n, m in parts])
