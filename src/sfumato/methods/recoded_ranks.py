"""Which values of a number tell its classes, by rank, where not all of them fit into memory; the ends always do."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from sfumato.data.dates import day_of
from sfumato.data.hierarchy import Hierarchy
from sfumato.methods.recoded_parts import Ranks
from sfumato.pair.sorting import Ordered


def ranks_of_bins(stated: Any) -> Ranks | None:
    """Return what tells the values beside the ends of named classes; widths and cuts need none, spans of dates all."""
    if isinstance(stated, str):
        return None
    if not isinstance(stated, Mapping):
        return _none
    ends = {end for pair in stated.values() for end in pair if end is not None}
    return partial(_beside, places=sorted(end if (day := day_of(end)) is None else day for end in ends))


def ranks_of_level(hierarchy: Hierarchy) -> Ranks | None:
    """Return what tells that a level by widths or cuts needs no further values; None: rows and spans need all."""
    return _none if hierarchy.widths or hierarchy.cuts else None


def ranks_of_groups(ordered: Ordered, groups: int) -> list[int]:
    """Return the ranks of the values nearest to the boundaries of groups of equal size, and one more than groups."""
    ideal = len(ordered) * np.arange(1, groups) / groups  # as in ``bands.equal_counts``
    return [*(max(math.ceil(records) - 1, 0) for records in ideal.tolist()), *ordered.least(groups + 1)]


def _none(_: Ordered) -> tuple[int, ...]:
    return ()


def _beside(ordered: Ordered, places: list[float]) -> list[int]:
    return [ordered.rank_of(place) for place in places] if len(ordered) else []
