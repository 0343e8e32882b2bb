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
_LONG_NAMES, _END = 13, 999


def read_header(path: str | os.PathLike[str], encoding: str | None) -> tuple[Compression, str | None]:
    """Return how a file is compressed and the name of its weight variable, if it declares one."""
    with Path(path).open("rb") as file:
        head = file.read(_DICTIONARY)
        order = _byte_order(head)
        compression = _COMPRESSIONS.get(_number(head, _COMPRESSED, order), "none")
        place = _number(head, _WEIGHT, order)
        names = _places(file, order, encoding) if place else {}
    return compression, names.get(place)


def check_dictionary(path: str | os.PathLike[str]) -> None:
    """Refuse a file with texts that do not end, or labels for variables it does not have or that cannot have them."""
    with Path(path).open("rb") as file:
        try:
            _places(file, _byte_order(file.read(_DICTIONARY)), None)
        except FileError as error:
            raise FileError(f"{path} {error}; fetch it again") from None


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
    short: dict[int, bytes] = {}
    may_be_labelled: set[int] = set()
    long_names: dict[bytes, bytes] = {}
    file.seek(_DICTIONARY)
    place = owed = 0
    try:
        while (kind := _next(file, order)) != _END:
            if kind == 2:
                place += 1
                width, has_label, missing, _, _ = struct.unpack(f"{order}5i", file.read(20))
                name = file.read(8).rstrip()
                if (width < 0) != (owed > 0):
                    raise FileError("is damaged: its dictionary does not hold together")
                owed = (width + 7) // 8 - 1 if width > 0 else max(owed - 1, 0)
                if width >= 0:  # less is the continuation of a text, eight bytes each
                    short[place] = name
                    may_be_labelled |= {place} if width <= 8 else set()
                if has_label:
                    _skip(file, (_next(file, order) + 3) // 4 * 4)
                _skip(file, 8 * abs(missing))
            elif kind == 3:  # value labels
                for _ in range(_next(file, order)):
                    length = file.read(9)[8]
                    _skip(file, (length + 8) // 8 * 8 - 1)
            elif kind == 4:  # the variables that have these labels
                labelled = [_next(file, order) for _ in range(_next(file, order))]
                if not may_be_labelled.issuperset(labelled):
                    raise FileError("is damaged: it labels the values of a variable that it does not have")
            elif kind == 6:  # documents in lines of 80 bytes
                _skip(file, _next(file, order) * 80)
            elif kind == 7:
                subtype, size, count = struct.unpack(f"{order}3i", file.read(12))
                if subtype == _LONG_NAMES:
                    pairs = (entry.partition(b"=") for entry in file.read(size * count).rstrip(b"\0").split(b"\t"))
                    long_names = {before: after for before, _, after in pairs}
                else:
                    _skip(file, size * count)
            else:
                break
    except (struct.error, IndexError):  # a damaged dictionary, of which the reading library complains
        return {}
    try:
        text = codecs.lookup(encoding or "utf-8").name
    except LookupError:  # a name only iconv knows
        text = "latin-1"
    return {at: long_names.get(name, name).decode(text, errors="replace") for at, name in short.items()}


def _byte_order(head: bytes) -> str:
    return "<" if _number(head, _LAYOUT, "<") in (2, 3) else ">"


def _number(head: bytes, offset: int, order: str) -> int:
    return int(struct.unpack_from(f"{order}i", head.ljust(_DICTIONARY, b"\0"), offset)[0])


def _next(file: BinaryIO, order: str) -> int:
    return int(struct.unpack(f"{order}i", file.read(4))[0])


def _skip(file: BinaryIO, size: int) -> None:
    if size < 0:
        raise struct.error("a length below zero")
    file.seek(size, os.SEEK_CUR)
