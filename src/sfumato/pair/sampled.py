"""A stated random sample of a table in parts, in memory: for what needs the records at hand.

Which records are drawn follows from the number of records alone, so that no cut of the table changes the sample, and
the same records are drawn of an original and of a protected table that matches it.
"""

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.pair.half import Half
from sfumato.pair.sample import by_part
from sfumato.pair.sample import taken as columns_taken
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts
from sfumato.table.sample_size import SAMPLED

Rows = NDArray[np.intp]
_DRAWN: "WeakKeyDictionary[TableInParts, dict[int, Microdata]]" = WeakKeyDictionary()


def drawn_records(records: int, size: int = SAMPLED) -> Rows:
    """Return the numbers of the records that are drawn, in ascending order: all of them if there are no more.

    >>> drawn_records(3, 5).tolist(), len(drawn_records(1_000, 10)), len(set(drawn_records(1_000, 10).tolist()))
    ([0, 1, 2], 10, 10)
    """
    if size >= records:
        return np.arange(records, dtype=np.intp)
    stream = np.random.default_rng([records, size])
    return np.sort(stream.choice(records, size, replace=False, shuffle=False)).astype(np.intp)


def sampled(table: TableInParts, size: int = SAMPLED) -> Microdata:
    """Return a random sample of a table in memory; of the same table it is drawn once."""
    kept = _DRAWN.setdefault(table, {})
    if size not in kept:
        kept[size] = taken(table, drawn_records(len(table), size))
    return kept[size]


def taken(table: TableInParts, rows: Rows) -> Microdata:
    """Return records of a table in parts by their numbers, which ascend, in memory."""
    columns = columns_taken(Half.of(table), table.schema.names, rows)
    first, drawn = table.parts[0], table.drawn
    numbers = None if drawn is None else drawn[rows]
    return Microdata(table.schema, columns, replace(first.origin, path=None), first.notes, table.matched, numbers)


def only_records(table: TableInParts, rows: Rows) -> TableInParts:
    """Return records of a table in parts by their numbers, which ascend, in the parts in which they stand."""
    return TableInParts(tuple(part.take(there.places) for part, there in by_part(table.parts, rows)))
