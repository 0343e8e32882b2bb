"""A digest of what was learned of a table: of its content alone, so that two runs that learn the same have the same.

A pickle would not do: its bytes follow which objects are one and the same, what they have cached, and where files lie.
"""

from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal

import numpy as np

from sfumato.data.on_demand import digest_of
from sfumato.data.schema import Schema, Variable
from sfumato.errors import ParameterError

# what its repr tells whole: numbers, texts, what columns hold as categories; a schema, as in the fingerprint of a table
TOLD = (str, bytes, bool, int, float, type(None), date, time, timedelta, Decimal, Variable, Schema)


def digest_of_content(value: object) -> str:
    """Return a digest of numbers, texts, arrays, collections and dataclasses; anything else is refused.

    Of a dataclass the fields count that are compared: where a file lies is ``field(compare=False)``.

    >>> digest_of_content({"a": np.arange(3)}) == digest_of_content({"a": np.array([0, 1, 2])})
    True
    >>> digest_of_content(np.arange(3)) == digest_of_content(np.arange(3.0))
    False
    """
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if not array.dtype.hasobject:
            return digest_of("array", array.dtype.str, repr(array.shape), array.tobytes())
    elif isinstance(value, TOLD):
        return digest_of(kind, repr(value))
    elif isinstance(value, Mapping):
        return digest_of("mapping", *(digest_of_content(one) for pair in value.items() for one in pair))
    elif isinstance(value, tuple | list):
        return digest_of("sequence", *map(digest_of_content, value))
    elif isinstance(value, Set):
        return digest_of("set", *sorted(map(digest_of_content, value)))
    elif is_dataclass(value) and not isinstance(value, type):
        told = ((one.name, digest_of_content(getattr(value, one.name))) for one in fields(value) if one.compare)
        return digest_of(kind, *(text for pair in told for text in pair))
    raise ParameterError(f"there is no digest of a {kind}: let what is learned be dataclasses of numbers and texts")
