"""Two facts in the dictionary of an SPSS file that the reading library does not tell: compression and weight.

Beside them, dictionaries that contradict themselves are found out, at which the library would crash. The header
holds the place of the weight variable among the dictionary's records of type 2, of which a text longer than
eight bytes takes several; the long names of variables stand in a record of type 7, subtype 13.
"""

import codecs
import os
import struct
from pathlib import Path
from typing import BinaryIO, Literal

from sfumato.errors import FileError

Compression = Literal["none", "rows", "zlib"]
_COMPRESSIONS: dict[int, Compression] = {0: "none", 1: "rows", 2: "zlib"}
_LAYOUT, _COMPRESSED, _WEIGHT, _DICTIONARY = 64, 72, 76, 176
_MACHINE, _LONG_NAMES, _ENCODING, _END = 3, 13, 20, 999
_TEXT_FORMAT = 1  # of a variable, A in SPSS
_ASCII, _UTF_8 = 3, 65001  # code pages; up to 3 they only say that letters are not those of EBCDIC
_DAMAGE = (struct.error, IndexError, ValueError, OSError, MemoryError)  # what becomes of lengths that are none
_APART = "is damaged: its dictionary does not hold together"


def read_header(path: str | os.PathLike[str], encoding: str | None) -> tuple[Compression, str | None]:
    """Return how a file is compressed and the name of its weight variable, if it declares one."""
    with Path(path).open("rb") as file:
        head = file.read(_DICTIONARY)
        order = _byte_order(head)
        compression = _COMPRESSIONS.get(_number(head, _COMPRESSED, order), "none")
        place = _number(head, _WEIGHT, order)
        names = _places(file, order, encoding) if place else {}
    return compression, names.get(place)


def check_dictionary(path: str | os.PathLike[str], encoding: str | None) -> None:
    """Refuse a file whose dictionary does not hold together, at which the reading library may crash.

    Texts that do not end, labels for variables it does not have or that cannot have them, labels of texts that are in
    another encoding, numbers that are said to be text, records of no known type or length, an end that is missing.
    """
    with Path(path).open("rb") as file:
        dictionary = _Dictionary(file, _byte_order(file.read(_DICTIONARY)))
        try:
            dictionary.read(strictly=True)
        except FileError as error:
            raise FileError(f"{path} {error}; fetch it again") from None
        except _DAMAGE:
            raise FileError(f"{path} {_APART}; fetch it again") from None
    try:
        dictionary.check_texts(encoding)
    except UnicodeDecodeError as error:
        remedy = "name another encoding" if encoding else "name its encoding, for example encoding='cp1252'"
        raise FileError(f"{path} labels a text that cannot be read ({error}); {remedy}") from None


def write_weight(path: str | os.PathLike[str], name: str) -> bool:
    """Declare a variable of a complete UTF-8 file its weight; say whether it was found there."""
    with Path(path).open("r+b") as file:
        order = _byte_order(file.read(_DICTIONARY))
        place = next((place for place, found in _places(file, order, "utf-8").items() if found == name), 0)
        if place:
            file.seek(_WEIGHT)
            file.write(struct.pack(f"{order}i", place))
    return bool(place)


def _places(file: BinaryIO, order: str, encoding: str | None) -> dict[int, str]:
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
        self._file.seek(_DICTIONARY)
        while (kind := self._next()) != _END and kind in readers:
            readers[kind]()
        if strictly and (kind != _END or self._owed):
            raise FileError(_APART)

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
            raise FileError(_APART)
        if width == 0 and _TEXT_FORMAT in [form >> 16 & 0xFF for form in formats]:
            raise FileError(_APART)
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


def _byte_order(head: bytes) -> str:
    return "<" if _number(head, _LAYOUT, "<") in (2, 3) else ">"


def _number(head: bytes, offset: int, order: str) -> int:
    return int(struct.unpack_from(f"{order}i", head.ljust(_DICTIONARY, b"\0"), offset)[0])
