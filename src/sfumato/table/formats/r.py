"""Files of R in: a data frame to a table with the schema that its factors and labels state.

The rule for kinds, where no schema states them:

- A factor is nominal, an ordered factor ordinal, with all its levels in their order.
- Labelled numbers (of haven) of which every value present has a label are nominal, other numbers numeric; the codes are
  the categories. User-missing values (``na_values``, ``na_range``) and tagged ones are missing.
- Text and truth values are nominal. Dates and moments are dates and moments, as in Parquet files.
- NA is missing, and so is NaN.
"""

import bz2
import gzip
import io
import lzma
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import DataError, FileError, SfumatoError
from sfumato.table import frames
from sfumato.table.capacity import unpacked
from sfumato.table.columns import short, whole_if_all
from sfumato.table.formats.delimited import checked_names
from sfumato.table.formats.format import Format, ReadOptions, allowed_unpacked, content_of
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Category, Schema, Variable

# The objects in a file of R: which data frames there are, and the attributes of what they hold.

_PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
TIMES = 2.0  # the bytes of its objects, that a file takes in memory at least
_EXTENSIONS = {".rds": ".rds", ".rda": ".rda", ".rdata": ".rda"}  # as the library calls them
_ENCODINGS = {4: "latin-1", 8: "utf-8", 64: "ascii"}  # the bits by which R marks a text
_WORDS = {"STR": "text", "REAL": "numbers", "INT": "whole numbers", "LGL": "truth values", "VEC": "a list",
          "CPLX": "complex numbers", "CLO": "a function", "ENV": "an environment", "S4": "an S4 object"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Vector:
    """A vector with its attributes; ``kind`` is R's word for its type."""

    raw: Any
    encoding: str = "utf-8"
    attributes: Mapping[str, "Vector"] = field(default_factory=dict)

    @classmethod
    def of(cls, raw: Any, encoding: str) -> "Vector":
        """Take an object of the library."""
        return cls(raw, encoding, {name: cls.of(value, encoding) for name, value in _pairs(raw.attributes, encoding)})

    @property
    def kind(self) -> str:
        """What R calls its type: REAL, INT, LGL, STR, VEC."""
        return str(self.raw.info.type.name)

    @property
    def word(self) -> str:
        """What a reader calls its type."""
        return " ".join(self.classes) or _WORDS.get(self.kind, self.kind.lower())

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Its classes."""
        return self.texts_of("class")

    def texts(self) -> list[str | None]:
        """Return a vector of text."""
        return [_text_of(one, self.encoding) for one in self.raw.value]

    def texts_of(self, attribute: str) -> tuple[str, ...]:
        """Return an attribute that is text, without what is missing; nothing if there is none."""
        found = self.attributes.get(attribute)
        if found is None or found.kind != "STR":
            return ()
        return tuple(text for text in found.texts() if text is not None)

    def numbers(self) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return a vector of numbers or truth values, and where it is missing."""
        values = np.ma.asarray(self.raw.value)
        missing = np.ma.getmaskarray(values).copy()
        plain = np.asarray(values.filled(0)) if missing.any() else np.asarray(values)
        if plain.dtype.kind == "f":
            missing |= np.isnan(plain)
        return plain, missing


Frame = tuple[dict[str, Vector], bool]  # columns by name, and whether the rows have names of their own


def _text_of(one: Any, encoding: str) -> str | None:
    """Return one text of R; NA is None."""
    if one.info.type.name != "CHAR":
        raise ValueError(f"a text is marked as {one.info.type.name}")
    if one.value is None:
        return None
    marks = [name for bit, name in _ENCODINGS.items() if one.info.gp & bit]
    if len(marks) > 1:
        raise ValueError(f"a text is marked as {' and '.join(marks)}")
    return str(one.value.decode(marks[0] if marks else encoding))


def _frames_in(path: Path, allowed: int | None) -> dict[str, Vector]:
    """Return the objects of a file by name; that of an .rds file has none, and is called by the file's."""
    import rdata

    content = content_of(path)
    opened = next((opened for sign, opened in _PACKED.items() if content.startswith(sign)), None)
    with _damage_told(path):
        if opened is not None:
            packed = io.BytesIO(content)
            content = unpacked(path, opened(packed), packed, allowed, TIMES)
        parsed = rdata.parser.parse_data(content, extension=_EXTENSIONS[path.suffix.lower()])
        encoding = parsed.extra.encoding or "utf-8"
        if parsed.object.info.type.name != "LIST":
            return {path.stem: Vector.of(parsed.object, encoding)}
        return {name: Vector.of(value, encoding) for name, value in _pairs(parsed.object, encoding)}


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    """Say of what file it was that something inside could not be read: a damaged one may raise anything."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as error:
        raise FileError(f"{path} cannot be read as a file of R: {str(error) or type(error).__name__}") from None


def _frame_of(path: Path, name: str, found: Vector) -> Frame:
    if "data.frame" not in found.classes:
        raise FileError(f"{path}: {name!r} is {found.word}, not a data frame; make one of it in R: as.data.frame")
    columns = [Vector.of(one, found.encoding) for one in found.raw.value]
    names = found.texts_of("names")
    if not columns or len(names) != len(columns):
        raise FileError(f"{path}: the data frame {name} has no columns with names")
    rows = found.attributes.get("row.names")
    return dict(zip(names, columns, strict=True)), rows is not None and rows.kind == "STR"


def _pairs(raw: Any, encoding: str) -> list[tuple[str, Any]]:
    """Walk a pair list of R, as attributes and the objects of an .rda file are."""
    pairs = []
    while raw is not None and raw.info.type.name == "LIST":
        tag = raw.tag if raw.tag.referenced_object is None else raw.tag.referenced_object
        pairs.append((_text_of(tag.value, encoding) or "", raw.value[0]))
        raw = raw.value[1]
    return pairs


# A data frame as a table.

_DAY = 86_400


def _read(path: Path, options: ReadOptions) -> Microdata:
    """Read a data frame of a file: the one named, or the only one there is; what a schema states goes before it."""
    stated = options.schema
    known = {variable.name: variable for variable in stated or ()}
    columns, variables = {}, []
    with _damage_told(path):
        frame, named_rows = _chosen(path, _frames_in(path, options.max_unpacked), options.table)
        checked_names(f"{path}", list(frame))
        for column, vector in frame.items():
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
    return replace(data, notes=("the names of the rows are left out",)) if named_rows else data


def _chosen(path: Path, found: Mapping[str, Vector], name: str | None) -> Frame:
    if name is not None:
        if name not in found:
            raise FileError(f"{path} has no object {name!r}; it has {', '.join(found)}")
        return _frame_of(path, name, found[name])
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
    return _frame_of(path, only, found[only])


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
    values = whole_if_all(values) if pa.types.is_floating(values.type) else values
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


def _tables(file: Path) -> tuple[str, ...]:
    found = _frames_in(file, allowed_unpacked(None))
    return tuple(name for name, held in found.items() if "data.frame" in held.classes)


R = Format("R", (".rds", ".rda", ".rdata"), _read, tables=_tables, memory=5.0, library="rdata", extra="r")
FORMATS = (R,)
