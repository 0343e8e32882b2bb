"""SPSS, Stata and SAS files out: a table with its labels, missing codes and formats, as far as a file holds them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data import labelled_limits as limits
from sfumato.data.labelled import FAMILIES, NAMES, WRITTEN, Family, Labelled, pyreadstat
from sfumato.data.labelled_columns import Losses, Stored, fit_integers, labels_of, stored
from sfumato.data.microdata import Microdata
from sfumato.data.spss_header import write_weight
from sfumato.errors import FileError

MANY_VARIABLES = 32_767  # above, only the newest Stata format will do


def write_labelled(table: Microdata, path: Path, target: str) -> tuple[str, ...]:
    """Write a table to the file ``target`` in the format that the suffix of ``path`` names; return what was lost.

    - Categories that are numbers are written as they are, with their labels; words become text, or the codes 1, 2, ...
      with the words as labels where their order counts or the variable was a number in the file it came from.
    - A missing cell that had a code of its own in the file (refused, not applicable) has it again, as long as the
      records are those of the file. Other missing cells are system-missing, or empty text.
    - A declared missing code that has become a value is no longer declared.
    """
    suffix = path.suffix.lower()
    if suffix not in WRITTEN:
        raise FileError(f"cannot write {path}: {suffix} files are read only; write one of {', '.join(WRITTEN)}")
    library = pyreadstat()
    family, before, losses = FAMILIES[suffix], table.origin.labelled, Losses()
    same = before if before and before.family == family else None
    version = _version(family, same, len(table.names))
    limits.check_names(path, family, table.names, version)
    columns: dict[str, Stored] = {}
    for variable in table.schema:
        follows = _follows(table, variable.name)
        column = stored(variable, table.columns[variable.name], family, before, follows, losses)
        _check(column, path, family, version, losses)
        columns[column.name] = column
    _lost_of_file(table, family, before, losses)
    label = _cut(before.label if before else "", limits.LONGEST_FILE_LABEL[family], "the label of the file", losses)
    labels = {name: column.label for name, column in columns.items() if column.label}
    formats = {n: c.format for n, c in columns.items() if c.format and not (c.text and family == "spss")}
    if family == "stata":
        limits.check_label_names(path, labels_of(columns))
    frame = _frame(columns, family)
    common: dict[str, Any] = {"file_label": label, "column_labels": labels, "variable_format": formats}
    try:
        if family == "spss":
            compression = "zlib" if suffix == ".zsav" else same.compression if same else "rows"
            library.write_sav(
                frame,
                target,
                compress=compression == "zlib",
                row_compress=compression == "rows",
                note=list(same.notes) if same and same.notes else None,
                variable_value_labels=labels_of(columns),
                missing_ranges=_missing_ranges(columns),
                variable_display_width={n: c.display for n, c in columns.items() if c.display},
                variable_measure={n: c.measure for n, c in columns.items()},
                **common,
            )
            if table.schema.weight is not None:
                write_weight(target, table.schema.weight)
        elif family == "stata":
            letters = {
                n: sorted({*c.tags.values(), *(v for v in c.labels if isinstance(v, str))}) for n, c in columns.items()
            }
            library.write_dta(
                frame,
                target,
                version=15 if version == 119 else 14,
                variable_value_labels=labels_of(columns),
                missing_user_values={name: found for name, found in letters.items() if found} or None,
                **common,
            )
        else:
            name = same.table if same and same.table else None
            library.write_xport(frame, target, table_name=name, file_format_version=version, **common)
    except (library.ReadstatError, library.PyreadstatError) as error:
        raise FileError(f"cannot write {path} as a {NAMES[family]} file: {error}") from None
    return losses.notes()


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
    column = table.columns[name]
    missing = np.isnan(column) if column.dtype.kind == "f" else column < 0
    return before.rows is not None and bool(missing[cells.place != -1].all())


def _version(family: Family, before: Labelled | None, variables: int) -> int:
    if family == "stata":
        return 119 if variables > MANY_VARIABLES else 118
    return before.version if family == "sas" and before and before.version else 8


def _check(column: Stored, path: Path, family: Family, version: int, losses: Losses) -> None:
    """Refuse or cut what is too long for the format."""
    if column.text:
        encoded = [text.encode() for text in {*column.values[column.values != None], *column.labels}]  # noqa: E711
        longest = max(map(len, encoded), default=0)
        limits.check_text(path, family, column.name, longest, any(b"\0" in text for text in encoded), version)
        column.width = max(column.width, longest, 1)
    else:
        limits.check_numbers(path, family, column.name, column.values)
    long = "labels too long for the format are cut"
    allowed = 40 if family == "sas" and version == 5 else limits.LONGEST_LABEL[family]
    if family == "stata":
        column.label = column.label if len(column.label) <= 80 else _noted(column.label[:80], long, column.name, losses)
    if len(column.label.encode()) > allowed:
        column.label = _noted(limits.cut(column.label, allowed), long, column.name, losses)
    for value, label in column.labels.items():
        if len(label.encode()) > limits.LONGEST_VALUE_LABEL[family]:
            shorter = limits.cut(label, limits.LONGEST_VALUE_LABEL[family])
            column.labels[value] = _noted(shorter, long, column.name, losses)


def _noted(text: str, what: str, name: str, losses: Losses) -> str:
    losses.add(what, name)
    return text


def _cut(text: str, longest: int, what: str, losses: Losses) -> str:
    if len(text.encode()) <= longest:
        return text
    losses.add(f"{what} is cut to {longest} bytes")
    return limits.cut(text, longest)


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


def _missing_ranges(columns: dict[str, Stored]) -> dict[str, list[Any]] | None:
    found = {
        name: [{"lo": float(e[0]), "hi": float(e[1])} if isinstance(e, tuple) else e for e in column.missing]
        for name, column in columns.items()
        if column.missing
    }
    return found or None


def _frame(columns: dict[str, Stored], family: Family) -> Any:
    """Return the columns as a frame the library takes."""
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
        texts = np.where(column.values == None, "", column.values)  # noqa: E711 - element by element
        if family != "stata":  # blanks at the end mean nothing there, and tell the library the width
            texts[0] = texts[0] + " " * (column.width - len(texts[0].encode()))
        return pl.Series(column.name, texts.tolist(), dtype=pl.String)
    missing = np.isnan(column.values)
    integers = family == "stata" and column.whole and fit_integers(column.values)
    numbers = np.where(missing, 0, column.values).astype(np.int32) if integers else column.values
    lettered = column.tags or any(isinstance(value, str) for value in column.labels)
    if not lettered:
        return pl.Series(column.name, pl.from_arrow(pa.array(numbers, mask=missing)))
    mixed = numbers.astype(object)
    mixed[missing] = None
    mixed[list(column.tags)] = list(column.tags.values())
    return pl.Series(column.name, mixed.tolist(), dtype=pl.Object)
