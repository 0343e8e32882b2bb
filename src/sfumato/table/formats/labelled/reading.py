"""SPSS, Stata and SAS files in: values, labels, missing codes and measurement levels to a table with its schema.

The rule for kinds, where no schema states them:

- The measurement level of an SPSS file decides: nominal, ordinal, and scale for numeric.
- Where it is unknown, as always in Stata and SAS, numbers of which every value present has a label are nominal, and
  other numbers are numeric.
- Text is nominal unless the file calls it ordinal (then in alphabetical order).
- Dates and moments are dates, whatever level the file gives them, as in Parquet files; times of day are nominal, and
  ordinal where the file calls them ordinal or scale. A column with a date format that holds something else (a duration
  above 24 hours, half a day), has labelled values, or is numeric by a given schema stays the file's numbers.

Categories are the codes of the file, which ``Variable.spelled`` turns into their labels. User-missing values of SPSS,
Stata's .a to .z and SAS' .A to .Z are missing, and so is empty text; discrete codes are listed in ``Variable.missing``.
"""

import codecs
import os
import re
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import DataError, FileError, ParameterError, SfumatoError
from sfumato.table import columns as read_columns
from sfumato.table import frames
from sfumato.table.atomic import reason
from sfumato.table.capacity import require, step
from sfumato.table.columns import as_values, inferred_kind, short, whole_if_all
from sfumato.table.formats.labelled import FAMILIES, NAMES
from sfumato.table.formats.labelled.variables import (
    Declared,
    Floats,
    moment_of,
    text_without_codes,
    to_dates,
    without_codes,
)
from sfumato.table.frames import Cells, Family, Labelled, LabelledForm, Moment
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Category, Kind, Schema, Variable

# Two facts in the dictionary of an SPSS file that the reading library does not tell: compression and weight.
#
# Beside them, dictionaries that contradict themselves are found out, at which the library would crash. The header
# holds the place of the weight variable among the dictionary's records of type 2, of which a text longer than eight
# bytes takes several; the long names of variables stand in a record of type 7, subtype 13.

Compression = Literal["none", "rows", "zlib"]
_COMPRESSIONS: dict[int, Compression] = {0: "none", 1: "rows", 2: "zlib"}
_LAYOUT, _COMPRESSED, WEIGHT, DICTIONARY = 64, 72, 76, 176
_MACHINE, _LONG_NAMES, _ENCODING, _END = 3, 13, 20, 999
_TEXT_FORMAT = 1  # of a variable, A in SPSS
_ASCII, _UTF_8 = 3, 65001  # code pages; up to 3 they only say that letters are not those of EBCDIC
_DAMAGE = (struct.error, IndexError, ValueError, OSError, MemoryError)  # what becomes of lengths that are none
_DAMAGED_DICTIONARY = "is damaged: its dictionary does not hold together"


def read_header(path: str | os.PathLike[str], encoding: str | None) -> tuple[Compression, str | None]:
    """Return how a file is compressed and the name of its weight variable, if it declares one."""
    with Path(path).open("rb") as file:
        head = file.read(DICTIONARY)
        order = byte_order(head)
        compression = _COMPRESSIONS.get(_number(head, _COMPRESSED, order), "none")
        place = _number(head, WEIGHT, order)
        names = places(file, order, encoding) if place else {}
    return compression, names.get(place)


def _check_dictionary(path: str | os.PathLike[str], encoding: str | None) -> None:
    """Refuse a file whose dictionary does not hold together, at which the reading library may crash.

    Texts that do not end, labels for variables it does not have or that cannot have them, labels of texts that are in
    another encoding, numbers that are said to be text, records of no known type or length, an end that is missing.
    """
    with Path(path).open("rb") as file:
        dictionary = _Dictionary(file, byte_order(file.read(DICTIONARY)))
        try:
            dictionary.read(strictly=True)
        except FileError as error:
            raise FileError(f"{path} {error}; fetch it again") from None
        except _DAMAGE:
            raise FileError(f"{path} {_DAMAGED_DICTIONARY}; fetch it again") from None
    try:
        dictionary.check_texts(encoding)
    except UnicodeDecodeError as error:
        remedy = "name another encoding" if encoding else "name its encoding, for example encoding='cp1252'"
        raise FileError(f"{path} labels a text that cannot be read ({error}); {remedy}") from None


def places(file: BinaryIO, order: str, encoding: str | None) -> dict[int, str]:
    """Return the names of the dictionary's variables by their places, the long names where there are such."""
    dictionary = _Dictionary(file, order)
    try:
        dictionary.read()
    except _DAMAGE:  # found out before the values were read
        return {}
    try:
        text = codecs.lookup(encoding or "utf-8").name
    except LookupError:  # a name only iconv knows
        text = "latin-1"
    return {place: name.decode(text, errors="replace") for place, name in dictionary.names().items()}


class _Dictionary:
    """The records of a dictionary one after the other, each read by its type."""

    def __init__(self, file: BinaryIO, order: str) -> None:
        self._file, self._order = file, order
        self._short: dict[int, bytes] = {}
        self._long: dict[bytes, bytes] = {}
        self._may_be_labelled: set[int] = set()
        self._texts: set[int] = set()
        self._values: list[bytes] = []  # that the labels read last are for
        self._labelled_texts: list[bytes] = []
        self._said = "cp1252"  # the encoding of its texts, if it does not say another
        self._place = 0
        self._owed = 0  # records that a long text still has to have

    def names(self) -> dict[int, bytes]:
        """Return the names of the variables by their places."""
        return {place: self._long.get(name, name) for place, name in self._short.items()}

    def read(self, *, strictly: bool = False) -> None:
        """Read the dictionary up to its end, or to a record of an unknown type, which may be refused."""
        readers = {2: self._variable, 3: self._labels, 4: self._labelled, 6: self._documents, 7: self._extension}
        self._file.seek(DICTIONARY)
        while (kind := self._next()) != _END and kind in readers:
            readers[kind]()
        if strictly and (kind != _END or self._owed):
            raise FileError(_DAMAGED_DICTIONARY)

    def check_texts(self, encoding: str | None) -> None:
        """Decode the short texts that have labels, at the first of which that is none the library would crash."""
        try:
            decoder = codecs.getincrementaldecoder(encoding or self._said)
        except (LookupError, ValueError):  # a name only iconv knows
            return
        for text in self._labelled_texts:
            decoder().decode(text)  # what breaks off within a character does no harm

    def _variable(self) -> None:
        self._place += 1
        width, has_label, missing, *formats = struct.unpack(f"{self._order}5i", self._file.read(20))
        name = self._file.read(8).rstrip()
        if (width < 0) != (self._owed > 0):
            raise FileError(_DAMAGED_DICTIONARY)
        if width == 0 and _TEXT_FORMAT in [form >> 16 & 0xFF for form in formats]:
            raise FileError(_DAMAGED_DICTIONARY)
        self._owed = (width + 7) // 8 - 1 if width > 0 else max(self._owed - 1, 0)
        if width >= 0:  # less is the continuation of a text, eight bytes each
            self._short[self._place] = name
            self._may_be_labelled |= {self._place} if width <= 8 else set()
            self._texts |= {self._place} if width > 0 else set()
        if has_label:
            self._skip((self._next() + 3) // 4 * 4)
        self._skip(8 * abs(missing))

    def _labels(self) -> None:
        self._values = []
        for _ in range(self._next()):
            *value, length = self._file.read(9)
            self._values.append(bytes(value).rstrip())
            self._skip((length + 8) // 8 * 8 - 1)

    def _labelled(self) -> None:
        """Read the places of the variables that have the labels read last."""
        labelled = [self._next() for _ in range(self._next())]
        if not self._may_be_labelled.issuperset(labelled):
            raise FileError("is damaged: it labels the values of a variable that it does not have")
        if not self._texts.isdisjoint(labelled):
            self._labelled_texts += self._values

    def _documents(self) -> None:
        self._skip(self._next() * 80)  # in lines of 80 bytes

    def _extension(self) -> None:
        subtype, size, count = struct.unpack(f"{self._order}3i", self._file.read(12))
        if subtype == _LONG_NAMES:
            pairs = (entry.partition(b"=") for entry in self._file.read(size * count).rstrip(b"\0").split(b"\t"))
            self._long = {before: after for before, _, after in pairs}
        elif subtype == _ENCODING:
            self._said = self._file.read(size * count).decode("latin-1").strip(" \0")
        elif subtype == _MACHINE and (size, count) == (4, 8):
            page = struct.unpack(f"{self._order}8i", self._file.read(32))[-1]
            self._said = "utf-8" if page == _UTF_8 else f"cp{page}" if page > _ASCII else self._said
        else:
            self._skip(size * count)

    def _next(self) -> int:
        return int(struct.unpack(f"{self._order}i", self._file.read(4))[0])

    def _skip(self, size: int) -> None:
        if size < 0:
            raise struct.error("a length below zero")
        self._file.seek(size, os.SEEK_CUR)


def byte_order(head: bytes) -> str:
    """Return whether the numbers of an SPSS file begin with their low or high byte, as ``struct`` writes it."""
    return "<" if _number(head, _LAYOUT, "<") in (2, 3) else ">"


def _number(head: bytes, offset: int, order: str) -> int:
    return int(struct.unpack_from(f"{order}i", head.ljust(DICTIONARY, b"\0"), offset)[0])


# The map of a Stata file: where its pieces begin. One that points elsewhere is a sign of damage.
#
# The library reads the pieces one after the other and does not look at the map; other programs go by it, and would
# read other names and values of the same file.

_START, _MAP, _ORDER = b"<stata_dta>", b"<map>", b"<byteorder>LSF</byteorder>"
_HEADER = 4096  # bytes within which the map begins
# in the order of the map (Stata's description of the formats 117 to 119), which ends with the length of the file
_PIECES = (
    _START,
    _MAP,
    b"<variable_types>",
    b"<varnames>",
    b"<sortlist>",
    b"<formats>",
    b"<value_label_names>",
    b"<variable_labels>",
    b"<characteristics>",
    b"<data>",
    b"<strls>",
    b"<value_labels>",
    b"</stata_dta>",
)


def _check_map(path: Path) -> None:
    """Refuse a file of Stata 13 or later whose map does not fit it; what has no map is left to the library."""
    with path.open("rb") as file:
        head = file.read(_HEADER)
        at = head.find(_MAP)
        if not head.startswith(_START) or at < 0:
            return
        entries = f"{'<' if _ORDER in head[:at] else '>'}{len(_PIECES)}Q"
        file.seek(at + len(_MAP))
        content = file.read(struct.calcsize(entries))
        if len(content) < struct.calcsize(entries):
            return
        length = path.stat().st_size
        for piece, place in zip(_PIECES, struct.unpack(entries, content), strict=True):
            file.seek(min(place, length))
            if file.read(len(piece)) != piece:
                name = piece.decode().strip("</>")
                raise FileError(
                    f"{path} is damaged: its list of contents says that {name!r} begins at byte {place:,}, and it does "
                    "not; restore the file from a copy, or open and save it in Stata"
                )


# Raw values, and what the file says of them.

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


def load(path: Path, encoding: str | None) -> tuple[Any, dict[str, Any]]:
    """Return what a file says of its variables, and their raw values.

    Text comes as arrow, numbers as floats with NaN beside the letters of Stata's and SAS' special missing values, or
    None where there are none.
    """
    import pyreadstat as library

    suffix = path.suffix.lower()
    _check_content(path)
    if suffix in (".sav", ".zsav"):
        _check_dictionary(path, encoding)
    if suffix == ".dta":
        _check_map(path)
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
    cells = (meta.number_rows or 0) * len(meta.column_names)
    require(8 * cells, f"a table of {cells:,} cells", "take a sample of its records in the program that wrote it")
    most = max(CELLS_AT_A_TIME // len(meta.column_names), 1)
    records = 0
    while records % most == 0:
        values, found = read(row_offset=records, row_limit=most)
        count = len(values[meta.column_names[0]])
        for name, letters in found.missing_user_values.items():
            tags.setdefault(name, set()).update(letters)
        for name, column in _compact(values, texts, found.missing_user_values).items():
            parts[name] += column
        records += count
        step("reading records", records, max(meta.number_rows or 0, records))
        if not count:
            break
    meta.missing_user_values = {name: sorted(letters) for name, letters in tags.items() if letters}
    return {name: _text(parts.pop(name)) if name in texts else _numbers(parts.pop(name)) for name in meta.column_names}


def facts_of(path: Path, meta: Any) -> Facts:
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
    except SfumatoError:
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
    numbers = np.concatenate([np.empty(0), *(numbers for numbers, _ in parts)])
    if all(marks is None for _, marks in parts):
        return numbers, None
    return numbers, np.concatenate([np.zeros(len(n), np.uint8) if m is None else m for n, m in parts])


# A table with the schema that the file states.

_MEASURES: dict[str, Kind] = {"nominal": "nominal", "ordinal": "ordinal", "scale": "numeric"}
_Labels = tuple[tuple[Category, str], ...]


def read_labelled(path: Path, stated: Schema | None = None, encoding: str | None = None) -> Microdata:
    """Read a table from a file, with the schema the file states.

    What ``stated`` says of a variable goes before what the file says; labels and missing codes it does not name are the
    file's.
    """
    try:
        table, schema, labelled, notes = _read(path, stated, encoding)
        arrow, origin = frames.to_arrow(table)
        # codes are out of the table by now; only what became dates and times is compared as such
        timed = {name for name, form in labelled.forms.items() if form.moment}
        plain = schema.replace(*(replace(variable, missing=()) for variable in schema if variable.name not in timed))
        data = Microdata.from_arrow(arrow, replace(origin, path=path.resolve(), labelled=labelled), plain)
    except DataError as error:
        raise type(error)(f"{path}: {error}") from None
    coded = (replace(data.schema[variable.name], missing=variable.missing) for variable in schema if variable.missing)
    return replace(data, schema=data.schema.replace(*coded), notes=notes)


def _read(
    path: Path, stated: Schema | None, encoding: str | None
) -> tuple[pa.Table, Schema, Labelled, tuple[str, ...]]:
    """Return the table, its schema, what is kept to write it again, and what a reader should know."""
    family = FAMILIES[path.suffix.lower()]
    known = {variable.name: variable for variable in stated or ()}
    columns: dict[str, Any] = {}
    variables, forms, cells = [], {}, {}
    meta, raw = load(path, encoding)
    for name in meta.column_names:
        variable, forms[name], columns[name], marked = _column(family, meta, name, raw.pop(name), known.get(name))
        variables.append(variable)
        if marked is not None:
            cells[name] = marked
    facts = facts_of(path, meta)
    schema, notes = _special(Schema(tuple(variables)), stated, columns, facts.weight, NAMES[family])
    kept = Labelled(
        family=family,
        label=meta.file_label or "",
        notes=tuple(meta.notes),
        compression=facts.compression,
        version=facts.version,
        table=meta.table_name or "",
        forms=forms,
        cells=cells,
        lost=facts.lost,
    )
    return pa.table(columns), schema, kept, notes


def _column(
    family: Family, meta: Any, name: str, parts: Any, stated: Variable | None
) -> tuple[Variable, LabelledForm, Any, Cells | None]:
    """Read one variable: what is known of it, how it stood in the file, its values, and its missing codes."""
    text = meta.readstat_variable_types[name] == "string"
    labels = _labels(meta, name, text=text)
    declared = _declared(meta, name, labels, stated)
    present = [value for value, _ in labels if value not in declared]
    moment: Moment | None = None
    if text:
        values, cells = text_without_codes(parts, declared.codes, numeric=_as_numbers(stated))
    else:
        raw, marks = parts
        numbers, cells = without_codes(raw, marks, declared)
        as_number = bool(present) or _as_numbers(stated)
        values, moment = _dated(family, "" if as_number else meta.original_variable_types[name] or "", numbers)
    form = _form(meta, name, declared, moment, labels)
    form = replace(form, kind=_kind(form, values, present))
    kind = stated.kind if stated and not stated.kind_by_rule else form.kind
    if kind not in ("numeric", "date") and pa.types.is_floating(values.type):
        values = whole_if_all(values)
    variable = Variable(
        name,
        kind=kind,
        categories=_steps(values, present) if kind == "ordinal" == form.kind else (),
        missing=declared.codes,
        label=meta.column_names_to_labels.get(name) or "",
        labels=labels,
        declared=False,
    )
    return _overridden(variable, stated), form, values, cells


def _as_numbers(stated: Variable | None) -> bool:
    return stated is not None and stated.kind == "numeric" and not stated.kind_by_rule


def _dated(family: Family, form: str, numbers: Floats) -> tuple[Any, Moment | None]:
    """Return numbers as dates where their format says so and each is exactly one, else as they are."""
    moment = moment_of(family, form)
    dates = to_dates(family, moment, numbers) if moment else None
    return (pa.array(numbers, from_pandas=True), None) if dates is None else (dates, moment)


def _form(meta: Any, name: str, declared: Declared, moment: Moment | None, labels: _Labels) -> LabelledForm:
    return LabelledForm(
        kind="numeric",
        text=meta.readstat_variable_types[name] == "string",
        whole=meta.readstat_variable_types[name].startswith("int"),
        moment=moment,
        format=meta.original_variable_types[name] or "",
        measure=meta.variable_measure.get(name, "unknown"),
        display=max(meta.variable_display_width.get(name, 0), 0),
        width=meta.variable_storage_width.get(name, 0),
        ranges=declared.ranges,
        codes=declared.codes,
        words=tuple(pair for pair in labels if pair[0] in declared),
    )


def _kind(form: LabelledForm, values: Any, labelled: list[Category]) -> Kind:
    """Tell the kind of a variable by what the file says of it."""
    if form.moment in ("date", "datetime"):
        return inferred_kind(values)
    if form.measure in ("nominal", "ordinal"):
        return _MEASURES[form.measure]
    if form.moment:
        return "ordinal" if form.measure == "scale" else "nominal"
    if form.text:
        return "nominal"
    if form.measure == "scale" or not labelled:
        return "numeric"
    numbers = np.array(labelled, dtype=np.float64)
    all_labelled = pc.all(pc.is_in(values, value_set=pa.array(numbers)).filter(pc.is_valid(values))).as_py()
    return "numeric" if all_labelled is False else "nominal"


def _overridden(variable: Variable, stated: Variable | None) -> Variable:
    """Return a variable as a schema states it, with the file's labels and codes where it has none."""
    if stated is None:
        return variable
    return replace(
        stated,
        kind=variable.kind,
        kind_by_rule=False,
        categories=stated.categories or variable.categories,
        missing=variable.missing,
        label=stated.label or variable.label,
        labels=stated.labels or variable.labels,
    )


def _special(
    schema: Schema, stated: Schema | None, columns: Mapping[str, Any], weight: str | None, program: str
) -> tuple[Schema, tuple[str, ...]]:
    """Take the weight, household and id that a schema states, or else the weight the file declares."""
    if stated is not None:
        schema = replace(stated, variables=schema.variables)
        # a name the file lacks stays in the schema, for the table to be refused with the names it has
        schema = replace(schema, variables=(*schema, *(v for v in stated if v.name not in schema)))
    if weight is None or schema.weight is not None:
        return schema, ()
    values = columns.get(weight)
    if values is None or not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
        return schema, (f"the weight variable {weight!r} that the {program} file declares cannot be used as such",)
    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    if not (numbers >= 0).all() or not numbers.any():
        return schema, (
            f"the {program} file declares the weight {weight!r}, which is negative, missing or zero throughout, so it "
            "is not used",
        )
    numeric = replace(schema[weight], kind="numeric", categories=())
    return replace(schema.replace(numeric), weight=weight), ()


def _labels(meta: Any, name: str, *, text: bool) -> _Labels:
    found = meta.variable_value_labels.get(name, {})
    return tuple(
        (value if text else f".{value}" if isinstance(value, str) else short(value), label)
        for value, label in found.items()
    )


def _declared(meta: Any, name: str, labels: _Labels, stated: Variable | None) -> Declared:
    """Return what is missing: what an SPSS file declares, what a schema states, and the letters of Stata and SAS."""
    bounds = [(entry["lo"], entry["hi"]) for entry in meta.missing_ranges.get(name, ())]
    codes: list[Category] = [low if isinstance(low, str) else short(low) for low, high in bounds if low == high]
    text = meta.readstat_variable_types[name] == "string"
    codes += as_values(stated.missing, text=text) if stated else ()
    if not text:
        codes += [f".{letter}" for letter in meta.missing_user_values.get(name, ())]
        codes += [value for value, _ in labels if isinstance(value, str)]
    return Declared(tuple(dict.fromkeys(codes)), tuple((low, high) for low, high in bounds if low != high))


def _steps(values: Any, labelled: list[Category]) -> tuple[Category, ...]:
    found = pc.unique(values.drop_null()).to_pylist()
    return tuple(sorted({*found, *labelled}))


# A protected file beside its original: what the file says of its variables, and what only the original knows.


def file_beside(original: Microdata, found: Microdata) -> Microdata:
    """Return the table of a protected file, read with what is known of the original's variables.

    A CSV or Parquet file says nothing of itself: ``Microdata.beside`` holds. In an SPSS, Stata or SAS file

    - a variable of the same kind as in the original is what the original's schema says, missing codes and all;
    - a variable of another kind (a number put into bands, say) is what the protected file says, under the original's
      role;
    - where a code has another label than in the original, or the original has words where the file has codes, the
      labels are the categories, for code 1 need not mean the same in both.
    """
    if found.origin.labelled is None:
        return Microdata.beside(original, found.to_arrow())
    table = found.to_arrow()
    columns: dict[str, Any] = dict(zip(table.column_names, table.columns, strict=True))
    known = original.schema.only(found.names)
    forms = original.origin.labelled.forms if original.origin.labelled else {}
    variables, by_word = [], []
    for own in found.schema:
        if own.name not in known:
            variables.append(own)
            continue
        theirs, column = known[own.name], columns[own.name]
        words = _words(theirs, own)
        if words:
            by_word.append(own.name)
            codes = found.columns[own.name]
            column = pa.array(words, pa.string()).take(pa.array(codes, mask=codes < 0))
            own = replace(own, categories=words, labels=(), missing=())
        variable, columns[own.name] = _known(own, theirs, forms.get(own.name), column)
        variables.append(variable)
    schema = replace(known, variables=tuple(variables))
    data = Microdata.from_arrow(pa.table(columns), found.origin, schema)
    note = f"compared by their labels, for their codes are not those of the original: {', '.join(by_word)}"
    return replace(data, notes=(*found.notes, note) if by_word else found.notes)


def _words(theirs: Variable, own: Variable) -> tuple[str, ...]:
    """Return the labels of the protected file's categories where its codes cannot be compared, or nothing."""
    labels, before = dict(own.labels), dict(theirs.labels)
    words = tuple(labels.get(category, "") for category in own.categories)
    if not all(words) or len(set(words)) < len(words):
        return ()
    wordy = bool(theirs.categories) and all(isinstance(category, str) for category in theirs.categories)
    if wordy and not all(isinstance(category, str) for category in own.categories):
        return words
    shared = [category for category in own.categories if category in before]
    return words if any(_plain(labels[c]) != _plain(before[c]) for c in shared) else ()


def _plain(label: str) -> str:
    return " ".join(label.split()).casefold()


def _known(own: Variable, theirs: Variable, form: LabelledForm | None, column: Any) -> tuple[Variable, Any]:
    """Return what is known of a variable of both files, and its column without the original's missing codes."""
    mine = replace(own, role=theirs.role, label=own.label or theirs.label)
    kinds = {theirs.kind, form.kind if form else theirs.kind}
    listed = not own.quantitative and set(own.categories) <= set(theirs.categories)
    if own.kind not in kinds and not listed:
        return mine, column
    kept = column
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        for low, high in form.ranges if form else ():
            inside = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
            kept = pc.if_else(inside, pa.scalar(None, column.type), kept)
    labels = (*theirs.labels, *(pair for pair in own.labels if pair[0] not in dict(theirs.labels)))
    missing = (*theirs.missing, *(code for code in own.missing if code not in theirs.missing))
    fitting = read_columns.fitted(replace(theirs, labels=labels, missing=missing), kept)
    return (mine, column) if fitting is None else (fitting, kept)
