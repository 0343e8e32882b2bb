"""Damage to bytes: flipped bits, lost and doubled stretches, cut ends; and the same inside what is compressed."""

import gzip
import io
import zipfile
from collections.abc import Callable

import numpy as np

from adversary.attack import Rng, one_of

ODD = [0x00, 0x01, 0x0A, 0x0D, 0x1B, 0x22, 0x2C, 0x3B, 0x7F, 0x80, 0xC3, 0xED, 0xFE, 0xFF]
Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]


def damaged(rng: Rng, content: bytes) -> bytes:
    """Return the content with one to four kinds of damage done to it."""
    for _ in range(min(int(rng.geometric(0.6)), 4)):
        content = one_of(rng, KINDS)(rng, content)
    return content


def damaged_inside(rng: Rng, content: bytes) -> bytes:
    """Return a gzip or zip file whose inside is damaged and which is packed as it should be."""
    if content[:2] == b"\x1f\x8b":
        return gzip.compress(damaged(rng, gzip.decompress(content)), compresslevel=1, mtime=0)
    if content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            held = {name: archive.read(name) for name in archive.namelist()}
        hit = one_of(rng, [*held])
        held[hit] = damaged(rng, held[hit])
        with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
            for name, inside in held.items():
                archive.writestr(name, inside)
        return packed.getvalue()
    return damaged(rng, content)


def _place(rng: Rng, content: bytes) -> int:
    """Draw a place; beginnings and ends, where formats keep what they say of themselves, more often."""
    near = int(rng.integers(min(len(content), 200) + 1))
    return one_of(rng, [near, len(content) - near, int(rng.integers(len(content) + 1))])  # type: ignore[no-any-return]


def _stretch(rng: Rng, content: bytes) -> tuple[int, int]:
    start = _place(rng, content)
    return start, min(len(content), start + int(2 ** rng.uniform(0, 8)))


def _flip(rng: Rng, content: bytes) -> bytes:
    values = np.frombuffer(content, np.uint8).copy()
    if len(values):
        values[rng.integers(len(values), size=int(rng.integers(1, 6)))] ^= np.uint8(1 << int(rng.integers(8)))
    return values.tobytes()


def _overwrite(rng: Rng, content: bytes) -> bytes:
    start, end = _stretch(rng, content)
    return content[:start] + bytes([one_of(rng, ODD)]) * (end - start) + content[end:]


def _drawn(rng: Rng, content: bytes) -> bytes:
    start, end = _stretch(rng, content)
    return content[:start] + rng.bytes(end - start) + content[end:]


def _truncate(rng: Rng, content: bytes) -> bytes:
    return content[: _place(rng, content)]


def _lose(rng: Rng, content: bytes) -> bytes:
    start, end = _stretch(rng, content)
    return content[:start] + content[end:]


def _insert(rng: Rng, content: bytes) -> bytes:
    start = _place(rng, content)
    return content[:start] + bytes([one_of(rng, ODD)]) + content[start:]


def _double(rng: Rng, content: bytes) -> bytes:
    start, end = _stretch(rng, content)
    return content[:end] + content[start:end] + content[end:]


def _exchange(rng: Rng, content: bytes) -> bytes:
    (a, b), (c, d) = sorted((_stretch(rng, content), _stretch(rng, content)))
    return content if c < b else content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def _digit(rng: Rng, content: bytes) -> bytes:
    """Change a byte to one that is near it: another digit, another letter, a length that is one off."""
    if not content:
        return content
    place = min(_place(rng, content), len(content) - 1)
    return content[:place] + bytes([(content[place] + int(rng.integers(-3, 4))) % 256]) + content[place + 1 :]


KINDS: list[Callable[[Rng, bytes], bytes]] = [
    _flip, _flip, _digit, _digit, _overwrite, _drawn, _truncate, _lose, _insert, _double, _exchange
]  # fmt: skip
