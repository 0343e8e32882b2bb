"""Frozen dataclasses of plain data as JSON, and back: text, numbers, tuples, mappings, and dataclasses of these.

A number that JSON lacks is written as null, or, if it is to be read again, as the text "nan", "inf" or "-inf".
"""

import json
import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from sfumato.errors import FileError
from sfumato.table.atomic import reason

T = TypeVar("T")
ODD = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}  # the numbers that JSON lacks, by their text


def to_plain(thing: Any, *, exact: bool = False) -> Any:
    """Return what JSON can hold; only if it is ``exact`` can it be read again as it was.

    >>> to_plain({"figure": (1.5, math.nan, None)}, exact=True)
    {'figure': [1.5, 'nan', None]}
    """
    if thing is None or isinstance(thing, bool):
        return thing
    if isinstance(thing, Enum):
        return thing.value
    if isinstance(thing, str | int):
        return thing
    if isinstance(thing, float):
        return float(thing) if math.isfinite(thing) else str(float(thing)) if exact else None
    if isinstance(thing, Mapping):
        return {str(key): to_plain(value, exact=exact) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [to_plain(value, exact=exact) for value in thing]
    if is_dataclass(thing) and not isinstance(thing, type):
        return {name: to_plain(getattr(thing, name), exact=exact) for name in _names(type(thing))}
    raise TypeError(f"no JSON for {type(thing).__name__}")


def to_json(thing: Any, *, indent: int | None = None, exact: bool = False) -> str:
    """Write plain data as JSON text; only if it is ``exact`` can it be read again as it was."""
    return json.dumps(to_plain(thing, exact=exact), indent=indent, ensure_ascii=False, allow_nan=False)


def from_json(kind: type[T], text: str) -> T:
    """Read a dataclass from the text that ``to_json`` wrote of it; refuse a text of another shape."""
    try:
        found: T = from_plain(kind, json.loads(text))
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FileError(f"this JSON holds no {kind.__name__} of this version of Sfumato: {error}") from None
    return found


def from_file(kind: type[T], path: Path, cure: str) -> T | None:
    """Read a dataclass from a file of JSON; None where there is no file. What cannot be read is told with the cure."""
    try:
        return from_json(kind, path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is damaged: {error.reason}; {cure}") from None
    except FileError as error:
        raise FileError(f"{path}: {error}; {cure}") from None
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from None


def from_plain(kind: Any, found: Any) -> Any:
    """Return what ``to_plain`` made plain, given its type.

    >>> from_plain(tuple[float, ...], [1, "inf"])
    (1.0, inf)
    """
    return _reader(kind)(found)


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(entry.name for entry in fields(kind))


@cache
def _reader(kind: Any) -> Any:
    """Return the function that reads one type."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        (one,) = (entry for entry in inner if entry is not type(None))
        return lambda found: None if found is None else _reader(one)(found)
    if origin is Literal:
        return lambda found: _one_of(inner, found)
    if origin is tuple and inner[1:] == (...,):
        return lambda found: tuple(map(_reader(inner[0]), _expect(list, found)))
    if origin is tuple:
        return lambda found: tuple(_reader(one)(value) for one, value in zip(inner, found, strict=True))
    if origin in (Mapping, dict):
        return lambda found: {key: _reader(inner[1])(value) for key, value in _expect(dict, found).items()}
    if kind is float:
        return lambda found: ODD[found] if isinstance(found, str) else float(found)
    if is_dataclass(kind):
        return _dataclass_reader(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    return lambda found: _expect(kind, found)


def _dataclass_reader(kind: Any) -> Any:
    hints = get_type_hints(kind)
    needed = {e.name for e in fields(kind) if e.default is MISSING and e.default_factory is MISSING}

    def read(found: Any) -> Any:
        given = _expect(dict, found)
        unknown, lacking = given.keys() - hints.keys(), needed - given.keys()
        if unknown or lacking:
            raise ValueError(f"{kind.__name__} {'has' if unknown else 'lacks'} {', '.join(sorted(unknown or lacking))}")
        return kind(**{name: _reader(hints[name])(value) for name, value in given.items()})

    return read


def _expect(kind: type[Any], found: Any) -> Any:
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise ValueError(f"{kind.__name__} expected, found {type(found).__name__}")
    return found


def _one_of(allowed: tuple[Any, ...], found: Any) -> Any:
    if found not in allowed:
        raise ValueError(f"one of {', '.join(map(repr, allowed))} expected, found {found!r}")
    return found
