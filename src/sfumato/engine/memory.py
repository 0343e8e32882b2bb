"""How much memory may be used: as somebody says, or half of what is free."""

import re

from sfumato.data.capacity import free
from sfumato.errors import ParameterError

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
LEAST = 64 * 2**20


def in_bytes(memory: int | str | None) -> int:
    """Return a number of bytes, given as such or as text; None: half of what is free.

    >>> in_bytes("2 GB"), in_bytes("512 MiB")
    (2000000000, 536870912)
    """
    if memory is None:
        return max(free() // 2, LEAST)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", str(memory).lower())
    if found is None or isinstance(memory, bool):
        raise ParameterError(f"memory must be a number of bytes, or text such as '2 GB'; got {memory!r}")
    size = int(float(found[1]) * UNITS[found[2] or ""])
    if size < LEAST:
        raise ParameterError(f"memory must be at least {LEAST // 2**20} MB; got {memory!r}")
    return size
