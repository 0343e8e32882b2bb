"""Files of R in: a data frame to a table with the schema that its factors and labels state.

The rule for kinds, where no schema states them:

- A factor is nominal, an ordered factor ordinal, with all its levels in their order.
- Labelled numbers (of haven) of which every value present has a label are nominal, other numbers numeric; the codes are
  the categories. User-missing values (``na_values``, ``na_range``) and tagged ones are missing.
- Text and truth values are nominal. Dates and moments are dates and moments, as in Parquet files.
- NA is missing, and so is NaN.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data import frames
from sfumato.data.columns import short
from sfumato.data.decimals import EXACT
from sfumato.data.formats.csv.reading import checked_names
from sfumato.data.formats.r.objects import Frame, Vector, damage_told, frame_of, frames_in
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Category, Schema, Variable
from sfumato.errors import DataError, FileError

_DAY = 86_400


def read_r(path: Path, content: bytes, name: str | None, stated: Schema | None) -> Microdata:
    """Read a data frame of a file: the one named, or the only one there is.

    What ``stated`` says of a variable goes before what the file says.
    """
    known = {variable.name: variable for variable in stated or ()}
    columns, variables = {}, []
    with damage_told(path):
        frame = _chosen(path, frames_in(path, content), name)
        checked_names(f"{path}", list(frame.columns))
        for column, vector in frame.columns.items():
            columns[column], said = _column(path, column, vector)
            variable = _overridden(said, known.get(column), columns[column])
            if variable is not None:
                variables.append(variable)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise FileError(f"{path}: its columns differ in length ({', '.join(map(str, sorted(lengths)))})")
    schema = replace(stated or Schema(), variables=(*variables, *(v for v in known.values() if v.name not in columns)))
    arrow, origin = frames.to_arrow(pa.table(columns))
    try:
        data = Microdata.from_arrow(arrow, replace(origin, path=path.resolve()), schema)
    except DataError as error:
        raise type(error)(f"{path}: {error}") from None
    return replace(data, notes=("the names of the rows are left out",)) if frame.named_rows else data


def _chosen(path: Path, found: Mapping[str, Vector], name: str | None) -> Frame:
    if name is not None:
        if name not in found:
            raise FileError(f"{path} has no object {name!r}; it has {', '.join(found)}")
        return frame_of(path, name, found[name])
    tables = [one for one, vector in found.items() if "data.frame" in vector.classes]
    if len(tables) > 1:
        raise FileError(
            f"{path} has several data frames: {', '.join(tables)}; say which, for example table={tables[0]!r}, or "
            f"{path.name}#{tables[0]} where a file is named"
        )
    if not tables and len(found) != 1:
        held = ", ".join(f"{one} ({vector.word})" for one, vector in found.items()) or "nothing"
        raise FileError(f"{path} has no data frame; it has {held}")
    only = tables[0] if tables else next(iter(found))
    return frame_of(path, only, found[only])


def _column(path: Path, name: str, vector: Vector) -> tuple[Any, Variable | None]:
    """Return a column as arrow, and what the file states of its variable; None: nothing beyond its type."""
    label = " ".join(vector.texts_of("label"))
    if "factor" in vector.classes:
        return _factor(path, name, vector, label)
    values = _values(path, name, vector)
    if "labels" in vector.attributes:
        return _labelled(name, vector, values, label)
    plain = Variable(name, label=label, kind_by_rule=True, declared=False) if label else None
    return values, plain


def _factor(path: Path, name: str, vector: Vector, label: str) -> tuple[Any, Variable]:
    levels = vector.attributes["levels"].texts() if "levels" in vector.attributes else []  # NA may be one of them
    codes, missing = vector.numbers()
    if len(codes) and not ((codes[~missing] >= 1) & (codes[~missing] <= len(levels))).all():
        raise FileError(f"{path}: the factor {name!r} has codes without a level")
    indices = pa.array(codes.astype(np.int32) - 1, mask=missing)
    kind = "ordinal" if "ordered" in vector.classes else "nominal"
    there = tuple(level for level in levels if level is not None)
    factor = Variable(name, kind, categories=there, label=label, declared=False)  # type: ignore[arg-type]
    return pa.array(levels, pa.string()).take(indices), factor


def _labelled(name: str, vector: Vector, values: Any, label: str) -> tuple[Any, Variable]:
    """Return a vector of haven's: its codes, with the words for them."""
    words = vector.attributes["labels"]
    codes: list[Category | None]
    if words.kind == "STR":
        codes = list(words.texts())
    else:
        numbers, gone = words.numbers()
        codes = [None if lacks else short(code) for code, lacks in zip(numbers.tolist(), gone, strict=True)]
    # a label of a tagged NA belongs to no code
    names = words.attributes["names"].texts() if "names" in words.attributes else [None] * len(codes)
    labels = [(code, text) for code, text in zip(codes, names, strict=True) if code is not None and text]
    missing, values = _user_missing(vector, values)
    if pa.types.is_string(values.type):
        return values, Variable(name, "nominal", missing=missing, label=label, labels=tuple(labels), declared=False)
    values = _whole(values)
    known = {code for code, _ in labels if code not in missing}
    present = set(values.unique().drop_null().to_pylist()) - set(missing)
    kind = "nominal" if known and present <= known else "numeric"
    return values, Variable(name, kind, missing=missing, label=label, labels=tuple(labels), declared=False)  # type: ignore[arg-type]


def _user_missing(vector: Vector, values: Any) -> tuple[tuple[Category, ...], Any]:
    """Return the codes that stand for a missing value, and the column without those of a range."""
    codes: tuple[Category, ...] = ()
    found = vector.attributes.get("na_values")
    if found is not None:
        codes = vector.texts_of("na_values") or tuple(short(code) for code in found.numbers()[0].tolist())
    span = vector.attributes.get("na_range")
    if span is not None and not pa.types.is_string(values.type):
        low, high = span.numbers()[0].tolist()
        numbers = values.to_numpy(zero_copy_only=False).astype(np.float64)
        gone = np.isnan(numbers) | ((numbers >= low) & (numbers <= high))
        values = pa.array(np.where(gone, 0.0, numbers), mask=gone)
    return codes, values


def _values(path: Path, name: str, vector: Vector) -> Any:
    """Return a plain vector, dates and moments too."""
    if vector.kind == "STR":
        return pa.array(vector.texts(), pa.string())
    if vector.kind not in ("REAL", "INT", "LGL"):
        hint = "as.POSIXct makes it a moment" if "POSIXlt" in vector.classes else "turn it into numbers or text"
        raise FileError(f"{path}: column {name!r} is {vector.word}, which is no column of a survey; {hint}")
    numbers, missing = vector.numbers()
    if "integer64" in vector.classes:  # of bit64: whole numbers in the bits of floats
        whole = np.asarray(vector.raw.value).view(np.int64)
        return pa.array(whole, mask=whole == np.iinfo(np.int64).min)
    if "Date" in vector.classes:
        days = np.floor(np.where(missing, 0, numbers)).astype(np.int32)
        return pa.array(days, pa.int32(), mask=missing).cast(pa.date32())
    if "POSIXct" in vector.classes:
        moments = np.round(np.where(missing, 0, numbers) * 1e6).astype(np.int64)
        zone = (vector.texts_of("tzone") or ("",))[0] or "UTC"
        return pa.array(moments, pa.int64(), mask=missing).cast(pa.timestamp("us", tz=zone))
    if vector.kind == "LGL":
        return pa.array(numbers.astype(bool), mask=missing)
    if vector.kind == "INT":
        return pa.array(numbers.astype(np.int64), mask=missing)
    return pa.array(np.where(missing, 0.0, numbers), mask=missing)


def _whole(values: Any) -> Any:
    """Return codes as whole numbers, if all are."""
    present = values.drop_null().to_numpy(zero_copy_only=False)
    if not pa.types.is_floating(values.type) or not (np.mod(present, 1) == 0).all() or (np.abs(present) > EXACT).any():
        return values
    return values.cast(pa.int64())


def _overridden(said: Variable | None, stated: Variable | None, column: Any) -> Variable | None:
    """Return a variable as a schema states it, with what the file says where it says nothing."""
    if stated is None or said is None:
        return stated or said
    kind = said.kind if stated.kind_by_rule else stated.kind
    open_yet = stated.kind_by_rule and said.kind_by_rule
    text = pa.types.is_string(column.type)
    return replace(
        stated,
        kind=kind,
        kind_by_rule=open_yet,
        categories=stated.categories or (said.categories if kind != "numeric" or not text else ()),
        missing=tuple(dict.fromkeys((*stated.missing, *said.missing))),
        label=stated.label or said.label,
        labels=stated.labels or said.labels,
    )
