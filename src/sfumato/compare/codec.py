"""A whole measurement as bytes and back, exactly: what the store keeps.

The format, version 1: the line ``sfumato measurement 1``, then compressed by zlib: eight bytes that say how long the
text is (little endian), the text, and the figures by record as float64 (little endian). The text is JSON in which
NaN, Infinity and -Infinity stand for what they are; Python writes every other float with all its digits, so that each
comes back as it was. A pair is a list of two names and a figure. A table lists the names of its columns once for each
set of them in use, and each row as the number of its set and its values; a list among the values is a tuple.

Nothing that could run is ever read: no pickle.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from sfumato.about import MeasureAbout
from sfumato.errors import ParameterError
from sfumato.measurement import Measurement, Table

MARK = b"sfumato measurement 1\n"
LEVEL = 1  # of zlib: higher levels take several times as long and save little
PLAIN = frozenset((str, int, float, bool, type(None)))


class Damaged(ValueError):  # noqa: N818 - the store makes an error of it that says what to do
    """Bytes that are no measurement."""


def encode(found: Measurement) -> bytes:
    """Write a measurement; a value in a table that the format does not know is refused."""
    text = json.dumps(
        {
            "measure": found.measure,
            "value": float(found.value),
            "parts": _figures(found.parts),
            "by_variable": _figures(found.by_variable),
            "by_pair": [[str(first), str(second), float(value)] for (first, second), value in found.by_pair.items()],
            "records": None if found.by_record is None else len(found.by_record),
            "tables": {str(name): _written(found, name, rows) for name, rows in found.tables.items()},
            "statement": str(found.statement),
            "notes": [str(note) for note in found.notes],
        },
        separators=(",", ":"),
    ).encode()
    each = b"" if found.by_record is None else np.asarray(found.by_record, dtype="<f8").tobytes()
    return MARK + zlib.compress(len(text).to_bytes(8, "little") + text + each, LEVEL)


def decode(content: bytes, about: MeasureAbout) -> Measurement:
    """Read a measurement that :func:`encode` wrote; ``about`` is what is known of its measure."""
    if not content.startswith(MARK):
        raise Damaged("it does not begin as a measurement of this version of Sfumato does")
    try:
        body = zlib.decompress(content[len(MARK) :])
        end = 8 + int.from_bytes(body[:8], "little")
        told = json.loads(body[8:end])
        return Measurement(
            measure=_text(told["measure"]),
            about=about,
            value=told["value"] + 0.0,  # a text is refused
            parts=_figures(told["parts"]),
            by_variable=_figures(told["by_variable"]),
            by_pair={(_text(first), _text(second)): value + 0.0 for first, second, value in told["by_pair"]},
            by_record=_records(told["records"], body[end:]),
            tables={name: _read(table) for name, table in told["tables"].items()},
            statement=_text(told["statement"]),
            notes=tuple(map(_text, told["notes"])),
        )
    except Damaged:
        raise
    except (zlib.error, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise Damaged(f"{type(error).__name__}: {error}") from error


def _figures(given: Mapping[str, float]) -> dict[str, float]:
    return {str(name): float(value) for name, value in given.items()}


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise Damaged(f"{found!r} where a text is due")
    return found


def _records(count: int | None, content: bytes) -> Any:
    if len(content) != 8 * (count or 0):
        raise Damaged(f"it has {len(content)} bytes of figures by record where {count or 0} figures are due")
    return None if count is None else np.frombuffer(content, dtype="<f8").astype(np.float64)


def _written(found: Measurement, name: str, rows: Table) -> dict[str, Any]:
    sets: dict[tuple[str, ...], int] = {}
    try:
        lines = [
            [sets.setdefault(tuple(row), len(sets)), *(v if type(v) in PLAIN else _plain(v) for v in row.values())]
            for row in rows
        ]
    except TypeError as error:
        raise ParameterError(
            f"{found.measure}: its table {name!r} holds {error}; a table holds texts, numbers, True, False, None "
            "and tuples of these"
        ) from None
    if not all(isinstance(column, str) for names in sets for column in names):
        raise ParameterError(f"{found.measure}: the columns of its table {name!r} must be named by texts")
    return {"names": list(sets), "rows": lines}


def _plain(value: Any) -> Any:
    """Return a value as one of the types that the format knows: numpy's numbers as Python's, a list as a tuple."""
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    raise TypeError(f"{value!r} of type {type(value).__name__}")


def _read(table: Mapping[str, Any]) -> Table:
    names = [tuple(columns) for columns in table["names"]]
    return tuple(dict(zip(names[place], _tuples(values), strict=True)) for place, *values in table["rows"])


def _tuples(values: Sequence[Any]) -> list[Any]:
    return [tuple(_tuples(value)) if type(value) is list else value for value in values]
