"""SPSS, Stata and SAS files out: a table with its labels, missing codes and formats, as far as a file holds them."""

import os
import re
import struct
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import FileError
from sfumato.table.formats.labelled import FAMILIES, NAMES, WRITTEN
from sfumato.table.formats.labelled.reading import DICTIONARY, WEIGHT, Compression, byte_order, places
from sfumato.table.formats.labelled.variables import (
    Losses,
    Stored,
    fit_integers,
    labels_of,
    stored,
    tell_only_what_is_there,
)
from sfumato.table.frames import Family, Labelled
from sfumato.table.microdata import Microdata
from sfumato.table.present import as_it_leaves, is_masked, is_protected

# What SPSS, Stata and SAS files cannot hold: names, texts and numbers beyond their limits.

SPSS_RESERVED = ("ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH")
STATA_RESERVED = (
    r"_all|_b|_coef|_cons|_n|_N|_pi|_pred|_rc|_skip|byte|double|float|if|in|int|long|str\d+|strL|using|with"
)
LONGEST_TEXT = {"spss": 32_767, "stata": 2_000_000_000, "sas": 32_767}  # bytes
LONGEST_LABEL = {"spss": 256, "stata": 320, "sas": 255}  # bytes; Stata counts 80 characters
LONGEST_VALUE_LABEL = {"spss": 120, "stata": 32_000, "sas": 0}
LONGEST_FILE_LABEL = {"spss": 64, "stata": 320, "sas": 40}
LARGEST = {"spss": float(np.finfo(float).max), "stata": 2.0**1023, "sas": 9e74}
SMALLEST = {"spss": 0.0, "stata": 0.0, "sas": 5.4e-79}  # what is nearer to zero, SAS transport files hold as zero


def _check_names(path: object, family: Family, names: Iterable[str], version: int = 0) -> None:
    seen: dict[str, str] = {}
    for name in names:
        wrong = _wrong_name(family, name, version)
        if wrong:
            raise FileError(f"cannot write {path}: the variable {name!r} {wrong}; rename it")
        if family != "stata":
            twin = seen.setdefault(name.upper(), name)
            if twin != name:
                raise FileError(
                    f"cannot write {path}: {twin!r} and {name!r} are the same name to {NAMES[family]}; rename one"
                )


def _wrong_name(family: Family, name: str, version: int) -> str:
    if family == "spss":
        if len(name.encode()) > 64:
            return f"has a name of {len(name.encode())} bytes; SPSS allows 64"
        if not re.fullmatch(r"[^\W\d_][\w.@#$]*", name) or name.endswith("."):
            allowed = "a letter first, then letters, digits and . _ @ # $, no point at the end"
            return f"has a name SPSS does not allow: {allowed}"
        return "has a name that is a word of SPSS" if name.upper() in SPSS_RESERVED else ""
    longest = 32 if family == "stata" or version != 5 else 8
    if len(name) > longest:
        return f"has a name of {len(name)} characters; {NAMES[family]} allows {longest}" + (
            " in transport files of version 5" if longest == 8 else ""
        )
    if not re.fullmatch(r"[^\W\d]\w*", name, flags=re.ASCII if family == "sas" else 0):
        return f"has a name {NAMES[family]} does not allow: a letter or _ first, then letters, digits and _"
    reserved = family == "stata" and re.fullmatch(STATA_RESERVED, name)
    return "has a name that is a word of Stata" if reserved else ""


def _check_label_names(path: object, labelled: Iterable[str]) -> None:
    """Refuse names of labelled variables that leave no room for the number in the name of their set of labels."""
    for number, name in enumerate(labelled):
        if len(name) + len(str(number)) > 32:
            raise FileError(
                f"cannot write {path}: the variable {name!r} has labels, whose set is named after it with a number, "
                "and Stata allows 32 characters; shorten its name"
            )


def _check_numbers(path: object, family: Family, name: str, numbers: NDArray[np.float64]) -> None:
    """Refuse numbers that would be read back as others."""
    size = np.abs(numbers[~np.isnan(numbers)])
    if (size >= LARGEST[family]).any() or ((size > 0) & (size < SMALLEST[family])).any():
        raise FileError(
            f"cannot write {path}: the variable {name!r} holds numbers too large or too near to zero for a "
            f"{NAMES[family]} file; rescale it"
        )


def _check_text(path: object, family: Family, name: str, texts: Iterable[str], version: int = 0) -> int:
    """Refuse text that would be cut; return how many bytes the longest one takes."""
    encoded = [text.encode() for text in texts]
    longest = max(map(len, encoded), default=0)
    allowed = 200 if family == "sas" and version == 5 else LONGEST_TEXT[family]
    if longest > allowed:
        raise FileError(
            f"cannot write {path}: the variable {name!r} holds text of {longest:,} bytes; {NAMES[family]} allows "
            f"{allowed:,} here"
        )
    if any(b"\0" in text for text in encoded):
        raise FileError(
            f"cannot write {path}: the variable {name!r} holds text with the character 0, which ends a text"
        )
    return longest


def cut(text: str, longest: int) -> str:
    """Return text that takes at most so many bytes, whole characters only."""
    return text.encode()[:longest].decode(errors="ignore")


# A table as a labelled file.

MANY_VARIABLES = 32_767  # above, only the newest Stata format will do
_Columns = dict[str, Stored]


def write_labelled(table: Microdata, path: Path, target: str) -> tuple[str, ...]:
    """Write a table to the file ``target`` in the format that the suffix of ``path`` names; return what was lost.

    - Categories that are numbers are written as they are, with their labels; words become text, or the codes 1, 2, ...
      with the words as labels where their order counts or the variable was a number in the file it came from.
    - A missing cell that had a code of its own in the file (refused, not applicable) has it again, as long as the
      records are those of the file. Other missing cells are system-missing, or empty text.
    - A declared missing code that has become a value is no longer declared.
    - A protected table has no label, notes or name of the file it was read from, and what was masked no label of a
      value that no record has.
    """
    suffix = path.suffix.lower()
    if suffix not in WRITTEN:
        raise FileError(f"cannot write {path}: {suffix} files are read only; write one of {', '.join(WRITTEN)}")
    import pyreadstat as library

    if is_protected(table):
        table = _without_words_of_the_file(as_it_leaves(table))
    family, before, losses = FAMILIES[suffix], table.origin.labelled, Losses()
    same = before if before and before.family == family else None
    version = _version(family, same, len(table.names))
    _check_names(path, family, table.names, version)
    columns = _columns(table, path, family, version, losses)
    _lost_of_file(table, family, before, losses)
    compression: Compression = "zlib" if suffix == ".zsav" else same.compression if same else "rows"
    told = _told(columns, family, before, version, compression, losses)
    if family == "stata":
        _check_label_names(path, labels_of(columns))
    write: Any = {"spss": library.write_sav, "stata": library.write_dta, "sas": library.write_xport}[family]
    frame = _frame(columns, family)
    try:
        write(frame, target, **told)
        if family == "spss" and table.schema.weight is not None:
            write_weight(target, table.schema.weight)
    except (library.ReadstatError, library.PyreadstatError) as error:
        raise FileError(f"cannot write {path} as a {NAMES[family]} file: {error}") from None
    _check_room(Path(target))
    without_time(target, family)
    return losses.notes()


def _check_room(target: Path) -> None:
    """Raise what a full disk raises: the library may take a file that it could not finish for a finished one."""
    size = target.stat().st_size
    with target.open("ab") as file:
        file.write(b"\0")
        file.flush()
        os.fsync(file.fileno())
        file.truncate(size)


def _without_words_of_the_file(table: Microdata) -> Microdata:
    """Return a table without what the file it was read from says of itself; a release has words of its own."""
    before = table.origin.labelled
    if before is None:
        return table
    silent = replace(before, label="", notes=(), table="")
    return replace(table, origin=replace(table.origin, labelled=silent))


def _columns(table: Microdata, path: Path, family: Family, version: int, losses: Losses) -> _Columns:
    columns: _Columns = {}
    moments = dict(table.origin.moments)
    for variable in table.schema:
        column = stored(
            variable,
            table.columns[variable.name],
            family,
            table.origin.labelled,
            losses,
            follows=_follows(table, variable.name),
            moments=moments.get(variable.name),
        )
        if is_masked(table, variable.name):
            tell_only_what_is_there(column)
        _check(column, path, family, version, losses)
        columns[column.name] = column
    return columns


def _told(
    columns: _Columns, family: Family, before: Labelled | None, version: int, compression: Compression, losses: Losses
) -> dict[str, Any]:
    """Return what the library is told of a file beside its values."""
    label = before.label if before else ""
    longest = LONGEST_FILE_LABEL[family]
    if len(label.encode()) > longest:
        losses.add(f"the label of the file is cut to {longest} bytes")
        label = cut(label, longest)
    same = before if before and before.family == family else None
    formats = {n: c.format for n, c in columns.items() if c.format and not (c.text and family == "spss")}
    told: dict[str, Any] = {
        "file_label": label,
        "column_labels": {n: c.label for n, c in columns.items() if c.label},
        "variable_format": formats,
    }
    if family == "sas":
        return {**told, "table_name": same.table if same and same.table else None, "file_format_version": version}
    told["variable_value_labels"] = labels_of(columns)
    if family == "stata":
        letters = {
            name: sorted({*column.tags.values(), *(value for value in column.labels if isinstance(value, str))})
            for name, column in columns.items()
        }
        told["missing_user_values"] = {name: found for name, found in letters.items() if found} or None
        return {**told, "version": 15 if version == 119 else 14}
    ranges = {
        name: [{"lo": float(e[0]), "hi": float(e[1])} if isinstance(e, tuple) else e for e in column.missing]
        for name, column in columns.items()
        if column.missing
    }
    return {
        **told,
        "compress": compression == "zlib",
        "row_compress": compression == "rows",
        "note": list(same.notes) if same and same.notes else None,
        "missing_ranges": ranges or None,
        "variable_display_width": {name: column.display for name, column in columns.items() if column.display},
        "variable_measure": {name: column.measure for name, column in columns.items()},
    }


def _follows(table: Microdata, name: str) -> bool:
    """Tell whether a variable's records are those of the file the table was read from.

    Records that were taken from it (a sample) are known by it that whatever was missing still is; records that were
    made anew must not have the codes of the record that stood in their row.
    """
    before = table.origin.labelled
    cells = before.cells_of(name) if before else None
    if before is None or cells is None or len(cells.place) != len(table):
        return False
    if table.matched:
        return True
    return before.rows is not None and bool(table.missing(name)[cells.place != -1].all())


def _version(family: Family, before: Labelled | None, variables: int) -> int:
    if family == "stata":
        return 119 if variables > MANY_VARIABLES else 118
    return before.version if family == "sas" and before and before.version else 8


def _check(column: Stored, path: Path, family: Family, version: int, losses: Losses) -> None:
    """Refuse or cut what is too long for the format."""
    if column.text:
        texts = {*column.values[~column.absent()], *column.labels}
        column.width = max(column.width, _check_text(path, family, column.name, texts, version), 1)
    else:
        _check_numbers(path, family, column.name, column.values)
    shorter = _label(column.label, family, version)
    labels = {value: cut(label, LONGEST_VALUE_LABEL[family]) for value, label in column.labels.items()}
    if (shorter, labels) != (column.label, column.labels):
        losses.add("labels too long for the format are cut", column.name)
        column.label, column.labels = shorter, labels


def _label(label: str, family: Family, version: int) -> str:
    """Return as much of a variable's label as the format holds."""
    allowed = 40 if family == "sas" and version == 5 else LONGEST_LABEL[family]
    return cut(label[:80] if family == "stata" else label, allowed)


def _lost_of_file(table: Microdata, family: Family, before: Labelled | None, losses: Losses) -> None:
    if before is not None:
        for what in before.lost:
            losses.add(f"{what} of the file read cannot be written")
        if before.family != family and before.notes:
            losses.add("documents of the file read are not written")
    if family != "spss":
        ordinal = [v.name for v in table.schema if v.kind == "ordinal"]
        for name in ordinal:
            losses.add(f"{NAMES[family]} files do not say that a variable is ordinal", name)
        if table.schema.weight is not None:
            losses.add(f"{NAMES[family]} files do not say which variable is the weight", table.schema.weight)


def _frame(columns: _Columns, family: Family) -> Any:
    try:
        import polars as pl
    except ModuleNotFoundError:
        raise FileError(
            "SPSS, Stata and SAS files are written through polars, which is not installed; "
            "run: pip install 'sfumato[labelled]'"
        ) from None
    return pl.DataFrame({name: _series(pl, column, family) for name, column in columns.items()})


def _series(pl: Any, column: Stored, family: Family) -> Any:
    if column.text:
        texts = np.where(column.absent(), "", column.values)
        if family != "stata":  # blanks at the end mean nothing there, and tell the library the width
            texts[0] = texts[0] + " " * (column.width - len(texts[0].encode()))
        return pl.Series(column.name, texts.tolist(), dtype=pl.String)
    missing = column.absent()
    integers = family == "stata" and column.whole and fit_integers(column.values)
    numbers = np.where(missing, 0, column.values).astype(np.int32) if integers else column.values
    lettered = column.tags or any(isinstance(value, str) for value in column.labels)
    if not lettered:
        return pl.Series(column.name, pl.from_arrow(pa.array(numbers, mask=missing)))
    mixed = numbers.astype(object)
    mixed[missing] = None
    mixed[list(column.tags)] = list(column.tags.values())
    return pl.Series(column.name, mixed.tolist(), dtype=pl.Object)


# Files without the time at which they were written: the same table gives the same file.

# SPSS: nine characters of the date and eight of the time stand before the label of the file
_SPSS_MOMENT = (92, b"01 Jan 80" + b"00:00:00")
# Stata before version 13: behind the label of 81 bytes, 17 characters and a zero
_STATA_MOMENT = (91, b"01 Jan 1980 00:00\0")
_STATA_TAGGED = re.compile(rb"(<timestamp>)(.)(.*?)(</timestamp>)", re.DOTALL)
_SAS_MOMENT = re.compile(rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d")
_SAS_HEADER = 7 * 80  # bytes: library and member, each with when it was made and changed


def without_time(path: str | Path, family: Family) -> None:
    """Put the first day of 1980 in place of the moments at which a file says that it was made."""
    with Path(path).open("r+b") as file:
        head = file.read(1024)
        if family == "spss":
            changes = [_SPSS_MOMENT]
        elif family == "sas":
            changes = [(found.start(), b"01JAN80:00:00:00") for found in _SAS_MOMENT.finditer(head[:_SAS_HEADER])]
        elif head.startswith(b"<stata_dta>"):
            found = _STATA_TAGGED.search(head)
            moment = b"01 Jan 1980 00:00"
            fits = found is not None and len(found[3]) == len(moment)
            changes = [(found.start(3), moment)] if found is not None and fits else []
        else:
            changes = [_STATA_MOMENT]
        for place, moment in changes:
            file.seek(place)
            file.write(moment)


def write_weight(path: str | os.PathLike[str], name: str) -> bool:
    """Declare a variable of a complete UTF-8 file its weight; say whether it was found there."""
    with Path(path).open("r+b") as file:
        order = byte_order(file.read(DICTIONARY))
        place = next((place for place, found in places(file, order, "utf-8").items() if found == name), 0)
        if place:
            file.seek(WEIGHT)
            file.write(struct.pack(f"{order}i", place))
    return bool(place)
