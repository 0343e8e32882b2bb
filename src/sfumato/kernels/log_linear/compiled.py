"""One cycle of iterative proportional fitting to all margins of two variables, over a long list of cells.

The margins of a variable with all later ones do not look at the earlier ones. So, before it is that variable's turn,
the cells that agree from it on are added up: there are far fewer of them. At the end every cell gets its part of the
sum.
"""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiling import compiled
from sfumato.kernels.log_linear import Codes, Cycle

Floats = NDArray[np.float64]
Places = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Level:
    """The cells that differ from one variable on, and its margins with the later variables, one after the other.

    ``places`` has, for each margin, the place of every cell in it; ``starts`` tells where each margin begins, and
    ``targets`` what is to be in it. ``parents`` are the cells' numbers on the next level.
    """

    places: Places
    starts: NDArray[np.int64]
    targets: Floats
    parents: Places


def cycle(cells: Codes, counts: Floats) -> Cycle:
    """Make the function that fits to each margin of two variables in turn, in machine code.

    Cells are added up where they stand together, as ``possible_cells`` lists them.
    """
    levels = _levels(cells, counts)

    def fit(expected: Floats) -> float:
        worst, masses, sums = 0.0, [expected], [expected]
        for level in levels:
            worst = max(worst, _fit_margins(masses[-1], level.places, level.starts, level.targets))
            sums.append(_added(masses[-1], level.parents))
            masses.append(sums[-1].copy())
        for place in range(len(levels) - 1, 0, -1):
            _scale(masses[place - 1], levels[place - 1].parents, masses[place], sums[place])
        return worst

    return fit


def _levels(cells: Codes, counts: Floats) -> list[Level]:
    columns, levels = list(np.ascontiguousarray(cells.T)), []
    while len(columns) > 1:  # those of a variable and of all later ones
        sizes = [int(column.max()) + 1 for column in columns]
        starts = [0, *accumulate(sizes[0] * size for size in sizes[1:])]
        places = np.stack(
            [columns[0] + column * sizes[0] + start for column, start in zip(columns[1:], starts, strict=False)]
        )
        targets = sum(np.bincount(place, weights=counts, minlength=starts[-1]) for place in places)
        new = np.zeros(len(counts), dtype=bool)
        new[0] = True
        for column in columns[1:]:
            new[1:] |= column[1:] != column[:-1]
        parents = (np.cumsum(new) - 1).astype(np.int32)
        levels.append(Level(places, np.array(starts), np.asarray(targets), parents))
        columns = [column[new] for column in columns[1:]]
        counts = np.asarray(np.bincount(parents, weights=counts), dtype=np.float64)
    return levels


@compiled
def _fit_margins(mass: Floats, places: Places, starts: NDArray[np.int64], targets: Floats) -> float:
    """Fit ``mass``, in place, to each margin in turn; return by how much the worst one was off before."""
    margin = np.zeros(targets.size)
    worst = 0.0
    for i in range(mass.size):
        margin[places[0, i]] += mass[i]
    for k in range(len(places)):
        for place in range(starts[k], starts[k + 1]):
            worst = max(worst, abs(margin[place] - targets[place]))
            margin[place] = targets[place] / margin[place] if margin[place] > 0 else 0.0
        if k + 1 == len(places):
            for i in range(mass.size):
                mass[i] *= margin[places[k, i]]
        else:
            for i in range(mass.size):  # the next margin is added up on the way
                mass[i] *= margin[places[k, i]]
                margin[places[k + 1, i]] += mass[i]
    return worst


@compiled
def _added(mass: Floats, parents: Places) -> Floats:
    """Return the sums over the cells of each parent."""
    sums = np.zeros(parents[-1] + 1)
    for i in range(mass.size):
        sums[parents[i]] += mass[i]
    return sums


@compiled
def _scale(mass: Floats, parents: Places, now: Floats, before: Floats) -> None:
    """Multiply the cells of each parent by what has become of its sum."""
    for i in range(mass.size):
        parent = parents[i]
        if before[parent] > 0:
            mass[i] *= now[parent] / before[parent]
