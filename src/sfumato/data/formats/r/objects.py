"""The objects in a file of R: which data frames there are, and the attributes of what they hold."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import FileError, SfumatoError

_EXTENSIONS = {".rds": ".rds", ".rda": ".rda", ".rdata": ".rda"}  # as the library calls them
_ENCODINGS = {4: "latin-1", 8: "utf-8", 64: "ascii"}  # the bits by which R marks a text
_WORDS = {"STR": "text", "REAL": "numbers", "INT": "whole numbers", "LGL": "truth values", "VEC": "a list",
          "CPLX": "complex numbers", "CLO": "a function", "ENV": "an environment", "S4": "an S4 object"}  # fmt: skip


def rdata() -> Any:
    """Return the library that reads these files."""
    try:
        import rdata
    except ModuleNotFoundError:
        raise FileError("R files need rdata, which is not installed; run: pip install 'sfumato[r]'") from None
    return rdata


@dataclass(frozen=True, eq=False)
class Frame:
    """A data frame as the file holds it: its columns by name, and whether its rows have names of their own."""

    columns: Mapping[str, "Vector"]
    named_rows: bool


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
        return [text_of(one, self.encoding) for one in self.raw.value]

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


def text_of(one: Any, encoding: str) -> str | None:
    """Return one text of R; NA is None."""
    if one.info.type.name != "CHAR":
        raise ValueError(f"a text is marked as {one.info.type.name}")
    if one.value is None:
        return None
    marks = [name for bit, name in _ENCODINGS.items() if one.info.gp & bit]
    if len(marks) > 1:
        raise ValueError(f"a text is marked as {' and '.join(marks)}")
    return str(one.value.decode(marks[0] if marks else encoding))


def frames_in(path: Path, content: bytes) -> dict[str, Vector]:
    """Return the objects of a file by name; that of an .rds file has none, and is called by the file's."""
    library = rdata()
    with damage_told(path):
        parsed = library.parser.parse_data(content, extension=_EXTENSIONS[path.suffix.lower()])
        encoding = parsed.extra.encoding or "utf-8"
        if parsed.object.info.type.name != "LIST":
            return {path.stem: Vector.of(parsed.object, encoding)}
        return {name: Vector.of(value, encoding) for name, value in _pairs(parsed.object, encoding)}


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Say of what file it was that something inside could not be read: a damaged one may raise anything."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as error:
        raise FileError(f"{path} cannot be read as a file of R: {str(error) or type(error).__name__}") from None


def frame_of(path: Path, name: str, found: Vector) -> Frame:
    """Return a data frame by its columns."""
    if "data.frame" not in found.classes:
        raise FileError(f"{path}: {name!r} is {found.word}, not a data frame; make one of it in R: as.data.frame")
    columns = [Vector.of(one, found.encoding) for one in found.raw.value]
    names = found.texts_of("names")
    if not columns or len(names) != len(columns):
        raise FileError(f"{path}: the data frame {name} has no columns with names")
    rows = found.attributes.get("row.names")
    return Frame(dict(zip(names, columns, strict=True)), rows is not None and rows.kind == "STR")


def _pairs(raw: Any, encoding: str) -> list[tuple[str, Any]]:
    """Walk a pair list of R, as attributes and the objects of an .rda file are."""
    pairs = []
    while raw is not None and raw.info.type.name == "LIST":
        tag = raw.tag if raw.tag.referenced_object is None else raw.tag.referenced_object
        pairs.append((text_of(tag.value, encoding) or "", raw.value[0]))
        raw = raw.value[1]
    return pairs
