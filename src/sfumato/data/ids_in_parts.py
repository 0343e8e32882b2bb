"""Ids of a table in parts: a part that was delivered twice, and ids that occur in several parts, are refused.

Each part was looked through by itself, so that ids are told apart within it. Two parts share none if their categories,
or the ranges of their whole numbers as the files say them, do not overlap. Only else are the ids read again and sorted,
of tables that are not too long for that.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.formats.parquet import ParquetColumns, Place, bounds, types
from sfumato.data.learning import Learned
from sfumato.data.schema import Schema, Variable
from sfumato.errors import DataError

MOST = 2**22  # records whose ids are sorted in memory, if only that can tell; it takes some 30 bytes for each


def refuse_repeated(schema: Schema, learned: Sequence[Learned], run: Callable[..., Iterable[Any]]) -> None:
    """Refuse ids that occur in several parts; ``run`` maps a function over the parts."""
    name = schema.id
    if name is None or len(learned) < 2:
        return
    places = [part.place for part in learned]
    _refuse_twice(name, places)
    if _apart(schema[name], learned) or sum(place.records for place in places) > MOST:
        return
    found: list[NDArray[Any]] = list(run(partial(_ids, schema[name]), places))
    ids = np.sort(np.concatenate(found))
    twice = np.unique(ids[1:][ids[1:] == ids[:-1]])
    if twice.size:
        variable = schema[name]
        shown = f"{twice[0]:.15g}" if variable.quantitative else variable.spelled(variable.categories[int(twice[0])])
        where = [place.name for place, part in zip(places, found, strict=True) if (part == twice[0]).any()]
        raise DataError(
            f"the id {name!r} must tell records apart; {twice.size:,} of its values occur more than once, for example "
            f"{shown} in {' and in '.join(where)}. If the table has several records per person, name the person as the "
            "household instead of the id: the records of a person are then one unit"
        )


def _refuse_twice(name: str, places: Sequence[Place]) -> None:
    """Refuse two parts that hold the same ids to the byte."""
    known: dict[str, Place] = {}
    for place in places:
        other = known.setdefault(place.digests[name], place)
        if other is not place:
            raise DataError(
                f"parts {other.name} and {place.name} hold the same ids in {name!r}, as if one were delivered twice; "
                "leave one of them out"
            )


def _apart(variable: Variable, learned: Sequence[Learned]) -> bool:
    """Tell whether it shows without reading them that no two parts have an id in common."""
    name = variable.name
    if not variable.quantitative:
        told = [part.columns[name].variable for part in learned]
        each = [one.categories for one in told if one is not None]
        return len(each) == len(learned) and sum(map(len, each)) == len({one for some in each for one in some})
    ranges = []
    for place in (part.place for part in learned):
        whole = pa.types.is_integer(types(place.path).field(name).type)
        ends = bounds(place.path, place.groups, name) if whole else None
        if ends is None:
            return False
        ranges.append(ends)
    return all(before[1] < after[0] for before, after in pairwise(sorted(ranges)))


def _ids(variable: Variable, place: Place) -> NDArray[Any]:
    """Read the ids of a part, categories as codes; missing ones are left out."""
    column = ParquetColumns(place, {variable.name: variable}).read(variable.name)
    return column[~np.isnan(column)] if variable.quantitative else column[column >= 0]
