"""Which columns may determine which: a look at all variables at once, so that wide tables can be looked through."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.restoration.prediction import Evidence

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

LIKELY = 0.5  # of what chance leaves open records next to each other in a source must agree in
NEIGHBOURS = 0.05  # of the records may lie between two numbers that agree so
PAIRS, FEWEST = 10_000, 10  # of columns that are tried in a wide table, and for each column
CELLS, LEAST = 200_000, 500  # of the table that is looked at: fewer records if it is wide, but so many


def likely_sources(
    data: Microdata, columns: Mapping[str, Evidence], rng: np.random.Generator
) -> Mapping[str, list[str]]:
    """Return for each column those that may determine it: records next to each other in these mostly agree in it.

    Next to each other are records with the same value, and of a source that has an order also those with the next one.
    Whatever determines a column, wholly or nearly, is among them; most of what does not is not. In a table of more
    columns than ``PAIRS`` allows to try all of them for, those stay in which records agree most.
    """
    if not columns:
        return {}
    offered: dict[str, list[tuple[float, int, str]]] = {name: [] for name in columns}
    names = list(columns)
    rows = slice(0, max(LEAST, CELLS // len(names)))
    values = np.column_stack([_places(columns[name])[rows] for name in names])
    missing = np.column_stack([data.missing(name)[rows] for name in names])
    quantity = np.array([data.columns[name].dtype.kind == "f" for name in names])
    apart = np.where(quantity, NEIGHBOURS * len(data), 0.0)
    usual = _agreement(values, missing, apart, rng.permutation(len(values)), None)
    for source in names:
        codes = columns[source].codes[rows]
        order = np.argsort(codes, kind="stable")
        same = None if columns[source].ordered else codes[order][1:] == codes[order][:-1]
        found = _agreement(values, missing, apart, order, same)
        for place in np.flatnonzero(found - usual >= LIKELY * (1 - usual)):
            if names[place] != source:
                offered[names[place]].append((-float(found[place]), len(offered[names[place]]), source))
    most = most_likely(len(names))
    return {name: [source for *_, source in sorted(found)[:most]] for name, found in offered.items()}


def most_likely(columns: int) -> int:
    """Return how many sources are tried for each of so many columns."""
    return max(PAIRS // max(columns, 1), FEWEST)


def _places(evidence: Evidence) -> Floats:
    """Return the codes of a category, of what has an order the ranks.

    >>> _places(Evidence(("age",), np.array([2, 0, 2, 1]), ordered=True))
    array([3. , 0.5, 3. , 1.5])
    """
    if not evidence.ordered:
        return evidence.codes.astype(np.float64)
    below = np.concatenate([[0], np.cumsum(np.bincount(evidence.codes))])
    return np.asarray((below[evidence.codes] + below[evidence.codes + 1]) / 2)


def _agreement(values: Floats, missing: Mask, apart: Floats, order: NDArray[np.intp], same: Mask | None) -> Floats:
    """Return for each variable how often two records agree that are next to each other in an order."""
    one, two = (order[:-1], order[1:]) if same is None else (order[:-1][same], order[1:][same])
    both = ~(missing[one] | missing[two])
    agree = both & (np.abs(values[one] - values[two]) <= apart)
    return np.asarray(agree.sum(axis=0) / np.maximum(both.sum(axis=0), 1))
