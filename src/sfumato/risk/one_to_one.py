"""One-to-one linkage: records paired so that the distances of all pairs together are least.

Herranz, Nin, Rodriguez and Tassa (2015), Revisiting distance-based record linkage for privacy-preserving release of
statistical datasets.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.boxes import distinct

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
TIED = 1e-9  # of the mean distance: pairings whose distances differ by no more per own link are equally good


class OwnLinks(NamedTuple):
    """How surely each record is paired with its own, and the least and greatest number of own pairs among the best."""

    by_record: Floats
    fewest: int
    most: int


def own_links(here: Floats, there: Floats, distances: Floats, *, share: bool) -> OwnLinks:
    """Pair row i of ``here`` with rows of ``there`` at the least total distance, and look for row i.

    Seldom is one pairing alone the best. So it is found twice, with as many and with as few own pairs as the best ones
    allow. ``share`` takes the mean of the two, and spreads the links of equal rows evenly over them; otherwise the one
    with most own pairs counts.

    >>> rows = np.array([[0.0], [1.0], [5.0]])
    >>> own_links(rows, rows[[1, 0, 2]], np.abs(rows - rows[[1, 0, 2]].T), share=True)
    OwnLinks(by_record=array([0., 0., 1.]), fewest=1, most=1)
    """
    from scipy.optimize import linear_sum_assignment

    own = np.arange(len(here))
    step = TIED * float(distances.mean()) or 1.0
    pairings = []
    for prefers in (step, -step):  # dearer own pairs, then cheaper ones
        costs = distances.copy()
        costs[own, own] += prefers
        pairings.append(linear_sum_assignment(costs)[1])
    fewest, most = (int((partner == own).sum()) for partner in pairings)
    if not share:
        return OwnLinks((pairings[1] == own).astype(np.float64), fewest, most)
    kinds = distinct(here)[1], distinct(there)[1]
    return OwnLinks(np.mean([_spread(partner, *kinds) for partner in pairings], axis=0), fewest, most)


def _spread(partner: Places, ours: Places, theirs: Places) -> Floats:
    """Return the chance of an own pair if the links between equal rows and equal rows are dealt out at random.

    With f links from n equal rows to m equal rows, a row of the one and its own of the other are paired with f / (n m).
    """
    width = int(theirs.max()) + 1
    sizes, their_sizes = np.bincount(ours), np.bincount(theirs)
    found, links = np.unique(ours * width + theirs[partner], return_counts=True)
    wanted = ours * width + theirs
    at = np.minimum(np.searchsorted(found, wanted), len(found) - 1)
    flow = np.where(found[at] == wanted, links[at], 0)
    chance: Floats = flow / (sizes[ours] * their_sizes[theirs])
    return chance
