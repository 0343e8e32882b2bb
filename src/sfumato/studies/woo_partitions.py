"""Section 3 of Karr, Oganian, Reiter and Woo: why clusters, and not even splitting or the leaves of a tree."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.studies.study import Finding, Sample
from sfumato.utility import ClusterUtility

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]
Leaves = Mapping[str, Mapping[str, float]]  # of the tree, by type of data and method
PARTS = 10  # of each variable, as in the paper's example
DIMENSIONS = (2, 3, 4, 5, 6)


def evenly(x: Floats, parts: int = PARTS) -> Cells:
    """Number the cells that come of cutting the range of each variable into parts of equal width.

    >>> evenly(np.array([[0.0, 0.0], [1.9, 10.0], [10.0, 5.0]]), 5).tolist()
    [0, 4, 22]
    """
    low, high = x.min(axis=0), x.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    places = np.minimum(((x - low) / width * parts).astype(np.int64), parts - 1)
    return np.asarray(places @ parts ** np.arange(x.shape[1])[::-1])


def utility(cells: Cells, protected: NDArray[np.bool_]) -> float:
    """Return (2.4) of the paper for any partition: the sum of n_j (n_j1 / n_j - c)^2.

    >>> utility(np.array([0, 0, 0, 7]), np.array([True, True, False, False]))  # 3 (2/3 - 1/2)^2 + 1 (0 - 1/2)^2
    0.3333333333333333
    """
    _, number = np.unique(cells, return_inverse=True)
    size = np.bincount(number)
    share = np.bincount(number, weights=protected) / size
    return float((size * (share - protected.mean()) ** 2).sum())


def partitions(samples: list[Sample], methods: tuple[str, ...], leaves: Leaves, seed: int) -> tuple[Finding, ...]:
    """Show what the paper says against both partitions, and how near they come to clusters."""
    return (_cells(len(samples[0].original), seed), _orders(samples, methods), _tree(leaves, methods))


def _cells(n: int, seed: int) -> Finding:
    """Count the cells that hold any of 2n normal records, as variables are added."""
    x = np.random.default_rng([seed, 16]).standard_normal((2 * n, max(DIMENSIONS)))
    filled = {p: len(np.unique(evenly(x[:, :p]))) for p in DIMENSIONS}
    shares = [count / PARTS**p for p, count in filled.items()]
    return Finding(
        "Even splitting makes 10^p cells, ever more of them without a record (section 3)",
        all(after < before for before, after in pairwise(shares)),
        f"of {2 * n:,} records, normal and uncorrelated, "
        + ", ".join(f"{count:,} of {PARTS**p:,} cells hold any (p = {p})" for p, count in filled.items()),
    )


def _orders(samples: list[Sample], methods: tuple[str, ...]) -> Finding:
    """Hold the order of the methods by even cells against that by as many clusters."""
    alike, filled, fullest = 0, [], []
    for sample in samples:
        by_cells, by_clusters = {}, {}
        clusters = ClusterUtility(min(PARTS**2, len(sample.original)))
        for name in methods:
            cells, protected = _pooled(sample.original, sample.protected[name])
            by_cells[name] = utility(cells, protected)
            by_clusters[name] = clusters.evaluate(sample.original, sample.protected[name]).value
            counts = np.unique(cells, return_counts=True)[1]
            filled.append(len(counts))
            fullest.append(float(counts.max() / counts.sum()))
        alike += sorted(methods, key=by_cells.__getitem__) == sorted(methods, key=by_clusters.__getitem__)
    return Finding(
        "Even splitting beside clusters, two variables, 100 cells and 100 clusters, without a verdict",
        None,
        f"they order the {len(methods)} methods alike for {alike} of {len(samples)} types; {min(filled)} to "
        f"{max(filled)} of the cells hold any record, the fullest {100 * min(fullest):.0f} to "
        f"{100 * max(fullest):.0f} % of all",
    )


def _pooled(original: Microdata, protected: Microdata) -> tuple[Cells, NDArray[np.bool_]]:
    cells = evenly(np.vstack([original.numeric(), protected.numeric()]))
    return cells, np.arange(len(cells)) >= len(original)


def _tree(leaves: Leaves, methods: tuple[str, ...]) -> Finding:
    """Count the leaves of Tree Model I: a tree looks for the source of the records, and may find nothing to split."""
    whole = {kind: [name for name in methods if of[name] == 1] for kind, of in leaves.items()}
    counts = {name: [of[name] for of in leaves.values()] for name in methods}
    return Finding(
        "A tree groups by the source, not by likeness alone, and can sometimes not part the space at all (section 3): "
        "the tree with cp = 0.001 has a single leaf for some method in every type",
        all(whole.values()),
        "leaves: " + ", ".join(f"{name} {min(found):.0f} to {max(found):.0f}" for name, found in counts.items()),
    )
