"""People and the records nearest to them: what an attacker reads off the one for the other, as chances.

Equal records are one point, and where several points are as near to a person, one of their records is drawn; the
functions here return the chance of success, which no draw can change.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.mixed import Nearest, Points, nearest
from sfumato.risk.footing import Codes, Floats

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bridge:
    """People, and the records of the file an attacker has, as points in the same variables."""

    people: Points
    file: Points

    @classmethod
    def of(cls, before: Floats, after: Floats) -> "Bridge":
        """Take the placed records of both tables."""
        return cls(Points.of(before), Points.of(after))


def inferred(bridge: Bridge, truth: Codes, shown: Codes) -> Floats:
    """Return, for each person, the chance that the record nearest to it shows the true value; missing is never true."""
    drawn = _drawn(nearest(bridge.file, bridge.people.rows), bridge.file.copies)
    values = _counted(bridge.file.place, shown + 1, (len(bridge.file.rows), _values(truth, shown)))
    chance = _entries(drawn @ _divided(values, bridge.file.copies), bridge.people.place, truth + 1)
    return np.where(truth < 0, 0.0, chance)


def inferred_by_others(people: Points, truth: Codes) -> Floats:
    """Return, for each person, the chance that the nearest other person has the same value; missing is never true."""
    values = _counted(people.place, truth + 1, (len(people.rows), _values(truth)))
    far = _drawn(_nearest_others(people), people.copies) @ _divided(values, people.copies)
    chance = _entries(far, people.place, truth + 1)
    twins = people.copies[people.place] > 1
    near = (_entries(values, people.place, truth + 1) - 1) / np.maximum(people.copies[people.place] - 1, 1)
    return np.where(truth < 0, 0.0, np.where(twins, near, chance))


def linked(one: Bridge, two: Bridge) -> Floats:
    """Return, for each person, the chance that the record nearest to it in one source leads to it in the other."""
    drawn = _drawn(nearest(one.file, one.people.rows), one.file.copies)
    across = _divided(
        _counted(one.file.place, two.file.place, (len(one.file.rows), len(two.file.rows))), one.file.copies
    )
    back = _each(nearest(two.people, two.file.rows), two.people.copies)
    return _entries(drawn @ across @ back, one.people.place, two.people.place)


def linked_by_others(one: Points, two: Points) -> Floats:
    """Return, for each person, the chance that the nearest other person in one source leads to it in the other.

    That other person is not in the second source: it would lead to itself.
    """
    from scipy.sparse import diags

    across = _counted(one.place, two.place, (len(one.rows), len(two.rows)))
    twins = np.where(two.copies > 1, 1 / np.maximum(two.copies - 1, 1), 0.0)
    back = (_each(_nearest_others(two), two.copies) + diags(twins)).tocsr()
    far = _drawn(_nearest_others(one), one.copies) @ _divided(across, one.copies) @ back
    # of those equal in the first source everyone but the person itself may be drawn
    near = _entries(across @ back, one.place, two.place) - back.diagonal()[two.place]
    near /= np.maximum(one.copies[one.place] - 1, 1)
    return np.where(one.copies[one.place] > 1, near, _entries(far, one.place, two.place))


def _nearest_others(points: Points) -> Nearest:
    """Find the points nearest to each that stands alone; those of several records have none."""
    alone = np.flatnonzero(points.copies == 1)
    found = nearest(points, points.rows[alone], alone)
    counts = np.zeros(len(points.rows), dtype=np.int64)
    counts[alone] = found.counts
    distance = np.zeros(len(points.rows))
    distance[alone] = found.distance
    return Nearest(distance, np.concatenate([[0], np.cumsum(counts)]), found.found)


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
