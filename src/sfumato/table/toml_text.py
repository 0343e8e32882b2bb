"""Names and categories as TOML, so that what was written reads back the same."""

import datetime as dt
import math
import re
from collections.abc import Iterable, Sequence

from sfumato.errors import SchemaError
from sfumato.table.schema import Category

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def quoted(text: str) -> str:
    r"""Write text in double quotes, on one line.

    >>> print(quoted('5" pipe\n'))
    "5\" pipe\n"
    """
    return '"' + re.sub(r'[\\"\x00-\x1f\x7f-\x9f\u2028\u2029]', _escaped, text) + '"'


def key(name: str) -> str:
    """Write a name as a key: bare where TOML allows."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def value(item: Category) -> str:
    """Write one category: text, number, truth value, date or time."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        return quoted(item)
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float) and math.isfinite(item):
        return repr(item)
    if getattr(item, "nanosecond", 0):  # of pandas; TOML ends at microseconds
        raise SchemaError(f"{item!r} cannot be written in a schema file: it has nanoseconds")
    if isinstance(item, dt.datetime | dt.date) or (isinstance(item, dt.time) and item.tzinfo is None):
        return item.isoformat()
    raise SchemaError(f"{item!r} cannot be written in a schema file: it is neither text, number, truth value nor date")


def values(items: Iterable[Category]) -> str:
    """Write a list of categories."""
    return "[" + ", ".join(value(item) for item in items) + "]"


def names(items: Sequence[str]) -> str:
    """Write one name as it is, several as a list.

    >>> names(["age"]), names(["region", "age"])
    ('"age"', '["region", "age"]')
    """
    return quoted(items[0]) if len(items) == 1 else values(items)


def lists(items: Iterable[Iterable[Category]]) -> str:
    """Write lists of categories, pairs for one, each on a line of its own where they are many.

    >>> print(lists([(1, "yes"), (2, "no")]))
    [[1, "yes"], [2, "no"]]
    """
    written = [values(entry) for entry in items]
    line = ", ".join(written)
    return f"[{line}]" if len(line) <= 80 else "[\n" + "".join(f"    {entry},\n" for entry in written) + "]"


def _escaped(found: "re.Match[str]") -> str:
    character = found.group()
    return _ESCAPES.get(character, f"\\u{ord(character):04x}")
