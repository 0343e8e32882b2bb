"""The map of a Stata file: where its pieces begin. One that points elsewhere is a sign of damage.

The library reads the pieces one after the other and does not look at the map; other programs go by it, and would read
other names and values of the same file.
"""

import struct
from pathlib import Path

from sfumato.errors import FileError

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


def check_map(path: Path) -> None:
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
