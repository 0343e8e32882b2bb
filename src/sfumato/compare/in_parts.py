"""Candidates of a table in parts: masked when they are asked for, and looked at closely in a sample of the records."""

from typing import Any

import numpy as np

from sfumato.core import Method, speaking
from sfumato.data.microdata import Microdata
from sfumato.data.parts import TableInParts
from sfumato.errors import DataError, SfumatoError
from sfumato.pair.masking import masked_parts
from sfumato.pair.sampled import sampled


def protected_parts(
    method: Method, table: TableInParts, rng: np.random.Generator, *, rounded: bool = False
) -> TableInParts:
    """Return the table that a method makes of one in parts; nothing is written, each part is masked when asked for."""
    return masked_parts(table, getattr(method, "steps", (method,)), speaking, rng, rounded=rounded)


def whole_table(data: Any) -> Microdata | TableInParts:
    """Return a table in parts as it is, any other in memory."""
    return data if isinstance(data, TableInParts) else Microdata.from_frame(data)


def at_hand(data: Microdata | TableInParts, size: int) -> Microdata:
    """Return the records that can be looked at one by one: all in memory, a random sample of a table in parts."""
    return sampled(data, size) if isinstance(data, TableInParts) else data


def candidate_in_parts(table: Any) -> TableInParts | SfumatoError:
    """Take a table protected elsewhere beside an original in parts; what is wrong with it is told in its row."""
    if isinstance(table, TableInParts):
        return table
    return DataError("the original is in parts, so that a protected table must be too: read it with sfumato.scan")
