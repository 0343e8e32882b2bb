"""What the members of a household share in a table in parts, wherever they lie.

One pass tells whether two members in one part differ, and what the first and the last household of each part have, by
number: where no other household can lie in two parts, that is all there is to know. Else households are sorted in
files.
"""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.data.households import differing, in_households
from sfumato.data.microdata import Microdata
from sfumato.pair.half import Half
from sfumato.pair.sorting import Runs, numbers_of
from sfumato.pair.statistics import Sums

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shared:
    """Counts how often two members of a household in a part have a value, and how often they differ in it.

    ``ends`` has the least and the greatest number of a household in the part; ``edges`` says of these two the value of
    each variable, NaN if nobody has one.
    """

    names: tuple[str, ...]

    def __call__(self, part: Microdata) -> Sums:
        """Look through a part."""
        order, unit = in_households(part)
        found = [differing(part, name, order, unit)[1] for name in self.names]
        homes = numbers_of(part.columns[str(part.schema.household)])
        there = homes[~np.isnan(homes)]
        ends = ((float(there.min()), float(there.max())),) if there.size else ()
        return Sums(
            {
                "together": np.array([len(differ) for differ in found], dtype=np.int64),
                "differ": np.array([int(differ.sum()) for differ in found], dtype=np.int64),
                "ends": ends,
                "edges": tuple((home, self._values(part, homes == home)) for home in sorted(set().union(*ends))),
            }
        )

    def _values(self, part: Microdata, rows: NDArray[np.bool_]) -> tuple[float, ...]:
        columns = [numbers_of(part.columns[name][rows]) for name in self.names]
        return tuple(float(next(iter(one[~np.isnan(one)]), np.nan)) for one in columns)


def shared_by_members(half: Half, names: Iterable[str]) -> bool:
    """Tell whether members of a household have all these variables in common, as ``data.households`` has it."""
    chosen = tuple(names)
    schema = half.schema
    if any(name in (schema.household, schema.id) or schema[name].level == "record" for name in chosen):
        return False
    open_ = tuple(name for name in chosen if schema[name].level is None)
    found: bool = half.keep(("shared by members", open_), lambda: not open_ or _all_shared(half, open_))
    return found


def _all_shared(half: Half, names: tuple[str, ...]) -> bool:
    found = half.total(Shared(names))
    if found["differ"].any():
        return False
    if any(before[1] > after[0] for before, after in pairwise(sorted(found["ends"]))):
        return all(_sorted(half, name) for name in names)
    together = found["together"] > 0
    by_home: dict[float, list[Floats]] = {}
    for home, values in found["edges"]:
        by_home.setdefault(home, []).append(np.array(values))
    for pieces in by_home.values():
        for place, values in enumerate(np.array(pieces).T):
            present = values[~np.isnan(values)]
            if (present != present[:1]).any():
                return False
            together[place] |= len(present) > 1
    return bool(together.all())


def _sorted(half: Half, name: str) -> bool:
    """Tell whether members who have a value have the same one, and some have it, from files sorted by household."""
    with closing(Runs(half.room, f"variable {name!r} by household", len(half), np.float64)) as runs:
        for part in half.parts:
            there = ~part.missing(name)
            homes = numbers_of(part.columns[str(part.schema.household)][there])
            runs.add(homes, numbers_of(part.columns[name][there]))
        together, last = False, (np.empty(0), np.empty(0))
        for homes, values in runs.merged():
            assert values is not None
            home, value = (np.concatenate(pieces) for pieces in zip(last, (homes, values), strict=True))
            same = home[1:] == home[:-1]
            together |= bool(same.any())
            if (value[1:] != value[:-1])[same].any():
                return False
            last = home[-1:], value[-1:]
        return together
