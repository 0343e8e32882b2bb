"""People and the records nearest to them: what an intruder reads off the one for the other, as chances.

Equal records are one point, and where several points are as near to a person, one of their records is drawn; the
functions here return the chance of success, which no draw can change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import classes
from sfumato.kernels.mixed_distance import Nearest, Points, nearest, nearest_others
from sfumato.pair import Pair
from sfumato.risk.points import points

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Search = Callable[[], Nearest]


@dataclass(frozen=True, eq=False)
class Bridge:
    """People, and the records of the file an intruder has, as points in the same variables.

    ``units`` number the units of people who belong together: whoever is of a person's unit is no other person.
    ``keep`` makes a search, or returns it if it was made before under this name.
    """

    people: Points
    file: Points
    units: Integers
    keep: Callable[[str, Search], Nearest]

    @classmethod
    def between(cls, pair: Pair, names: tuple[str, ...]) -> "Bridge":
        """Take the records of both tables by these variables; points and searches are kept with the pair."""
        units = pair.original.units
        people = pair.keep(("people", names), lambda: Points.of(points(pair, names)[0], units))
        file = pair.keep(("file", names), lambda: Points.of(points(pair, names)[1]))
        return cls(people, file, units, lambda said, search: pair.keep((said, names), search))

    @property
    def near_people(self) -> Nearest:
        """The file's points nearest to each of the people's."""
        return self.keep("nearest to people", lambda: nearest(self.file, self.people.rows))

    @property
    def near_file(self) -> Nearest:
        """The people's points nearest to each of the file's."""
        return self.keep("nearest to the file", lambda: nearest(self.people, self.file.rows))

    @property
    def near_others(self) -> Nearest:
        """The points of other people nearest to each of the people's, at which there is but one unit."""
        return self.keep("nearest others", lambda: nearest_others(self.people))

    @cached_property
    def drawn(self) -> Any:
        """Matrix of the people's points by the file's: the chance that a record drawn from the nearest is there."""
        return _drawn(self.near_people, self.file.copies)

    @cached_property
    def drawn_others(self) -> Any:
        """The same for the nearest other people, of the points at which there is but one unit."""
        return _drawn(self.near_others, self.people.copies)

    @cached_property
    def kin(self) -> Integers:
        """The class of each person among those of its unit at its point, who are no others."""
        return classes(np.column_stack([self.people.place, self.units]))[0]

    @cached_property
    def strangers(self) -> Integers:
        """How many people of other units are at each person's point."""
        return self.people.copies[self.people.place] - np.bincount(self.kin)[self.kin]


def inferred(bridge: Bridge, truth: Codes, shown: Codes) -> Floats:
    """Return, for each person, the chance that the record nearest to it shows the true value; missing is never true."""
    values = _counted(bridge.file.place, shown + 1, (len(bridge.file.rows), _values(truth, shown)))
    chance = _entries(bridge.drawn @ _divided(values, bridge.file.copies), bridge.people.place, truth + 1)
    return np.where(truth < 0, 0.0, chance)


def inferred_by_others(bridge: Bridge, truth: Codes) -> Floats:
    """Return, for each person, the chance that the nearest other person has the same value; missing is never true."""
    people, kin = bridge.people, bridge.kin
    values = _counted(people.place, truth + 1, (len(people.rows), _values(truth)))
    of_kin = _counted(kin, truth + 1, (int(kin.max()) + 1, _values(truth)))
    far = _entries(bridge.drawn_others @ _divided(values, people.copies), people.place, truth + 1)
    here = _entries(values, people.place, truth + 1) - _entries(of_kin, kin, truth + 1)
    chance = np.where(bridge.strangers > 0, here / np.maximum(bridge.strangers, 1), far)
    return np.where(truth < 0, 0.0, chance)


def linked(one: Bridge, two: Bridge) -> Floats:
    """Return, for each person, the chance that the record nearest to it in one source leads to it in the other."""
    shape = len(one.file.rows), len(two.file.rows)
    across = _divided(_counted(one.file.place, two.file.place, shape), one.file.copies)
    back = _each(two.near_file, two.people.copies)
    return _entries(one.drawn @ across @ back, one.people.place, two.people.place)


def linked_by_others(one: Bridge, two: Bridge) -> Floats:
    """Return, for each person, the chance that the nearest other person in one source leads to it in the other.

    That other person, and whoever is of its unit, is not in the second source: it would lead to itself.
    """
    from scipy.sparse import csr_matrix

    everyone = np.arange(len(one.units))
    place, goal = one.people.place, two.people.place
    # from each person of the file to the nearest in the second source: strangers at its own point, or those around
    around = _each(two.near_others, two.people.copies)[goal]
    there = np.where(two.strangers > 0, 1 / np.maximum(two.strangers, 1), 0.0)
    back = around + csr_matrix((there, (everyone, goal)), shape=around.shape)
    members = _counted(place, everyone, (len(one.people.rows), len(everyone)))
    of_kin = _counted(one.kin, everyone, (int(one.kin.max()) + 1, len(everyone)))
    far = _entries(one.drawn_others @ _divided(members, one.people.copies) @ back, place, goal)
    here = _entries(members @ back, place, goal) - _entries(of_kin @ back, one.kin, goal)
    return np.where(one.strangers > 0, here / np.maximum(one.strangers, 1), far)


def _drawn(found: Nearest, copies: Integers) -> Any:
    """Matrix of queries by points: the chance that a record drawn from the nearest is at the point."""
    return _weighted(found, copies, copies[found.found])


def _each(found: Nearest, copies: Integers) -> Any:
    """Matrix of queries by points: the chance that one record at the point is drawn from the nearest."""
    return _weighted(found, copies, np.ones(len(found.found)))


def _weighted(found: Nearest, copies: Integers, weights: NDArray[Any]) -> Any:
    from scipy.sparse import csr_matrix

    query = np.repeat(np.arange(len(found.distance)), found.counts)
    records = np.bincount(query, copies[found.found], minlength=len(found.distance))
    return csr_matrix((weights / records[query], found.found, found.starts), shape=(len(records), len(copies)))


def _counted(rows: Integers, columns: NDArray[np.integer], shape: tuple[int, int]) -> Any:
    """Matrix of how many records are in each row and column."""
    from scipy.sparse import coo_matrix

    return coo_matrix((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()


def _divided(matrix: Any, by: Integers) -> Any:
    from scipy.sparse import diags

    return (diags(1 / by) @ matrix).tocsr()


def _entries(matrix: Any, rows: Integers, columns: NDArray[np.integer]) -> Floats:
    return np.asarray(matrix[rows, columns], dtype=np.float64).ravel()


def _values(*codes: Codes) -> int:
    return max(int(side.max()) for side in codes) + 2
