"""Survey weights: on a common scale, raked to published margins, and what new weights cost."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.kernels.raking import raked
from sfumato.table.microdata import Microdata

Floats = NDArray[np.float64]


def normalised(weights: Floats) -> Floats:
    """Return the weights scaled so that they sum to the number of records; equal weights become exactly one.

    A record of weight zero keeps it and counts as a record, so leave such records out first if they should not count.
    At least one weight must be above zero.

    >>> normalised(np.array([100.0, 300.0, 200.0]))
    array([0.5, 1.5, 1. ])
    >>> normalised(np.full(3, 0.1))
    array([1., 1., 1.])
    """
    if not weights.size:
        return weights
    parts = weights / weights.max()  # equal weights become exactly one, and large ones do not overflow
    scaled: Floats = parts * (len(parts) / parts.sum())
    return scaled


def refuse_weights(name: str, weights: Floats) -> None:
    """Refuse weights of a protected table that cannot weigh: below zero, or missing."""
    bad = int(np.count_nonzero(~(weights >= 0)))
    if bad:
        raise NotApplicable(
            f"the weight {name!r} would be below zero or missing in {bad:,} record{'s' if bad > 1 else ''}; mask "
            f"weights with WeightMasking, or leave {name!r} out of what is masked"
        )


def unequal(weights: Floats) -> bool:
    """Tell whether the weights differ; if they do not, an unweighted figure is the weighted one.

    >>> unequal(np.array([2.0, 2.0])), unequal(np.array([2.0, 2.5]))
    (False, True)
    """
    return bool(weights.size) and float(weights.min()) < float(weights.max())


# Survey weights computed anew: raked to published margins, and what new weights cost.

MIN_RECORDS_OF_CATEGORY = 25  # records in a category that weights are raked to; smaller ones are taken together


def raked_weights(data: Microdata, names: Iterable[str]) -> tuple[Floats, float]:
    """Return weights that depend on these variables alone and have the old weighted counts of their common categories.

    Categories of fewer than ``MIN_RECORDS_OF_CATEGORY`` records are taken together, because many small ones would bring
    the old weights back. A record of no weight, out of scope say, gets none. The second value is the largest relative
    difference left in a margin.
    """
    old = data.weights()
    weighing = old > 0
    columns = [_common(data.columns[name][weighing]) for name in names]
    columns = [column for column in columns if column.max(initial=0) > column.min(initial=0)]
    codes = np.column_stack(columns) if columns else np.zeros((int(weighing.sum()), 1), dtype=np.int64)
    new, apart = old.copy(), 0.0
    if weighing.any():
        new[weighing], apart = raked(codes, old[weighing])
    return new, apart


def _common(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the categories of a column with those of few records taken together."""
    values, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return np.where(counts < MIN_RECORDS_OF_CATEGORY, len(values), np.arange(len(values)))[place]


def rounded_weights(weights: Floats) -> Floats:
    """Round weights to six digits of their mean; who has none keeps none.

    >>> rounded_weights(np.array([0.0, 123.4567891, 200.0]))
    array([  0.   , 123.457, 200.   ])
    """
    weighing = weights[weights > 0]
    digits = 6 - math.ceil(math.log10(float(weighing.mean())))
    return np.round(weights, digits)


def design_effect(weights: Floats) -> float:
    """Return Kish's design effect of unequal weights, n sum w^2 / (sum w)^2: by how much they inflate variances.

    Records of no weight do not count.

    >>> round(design_effect(np.array([1.0, 3.0])), 6), design_effect(np.array([2.0, 2.0, 0.0]))
    (1.25, 1.0)
    """
    weighing = weights[weights > 0] / weights.max()
    return float(len(weighing) * (weighing**2).sum() / weighing.sum() ** 2)


def moved_mean(data: Microdata, names: Iterable[str], old: Floats, new: Floats) -> tuple[str, float] | None:
    """Return the number whose weighted mean moves most, and by how many of its standard deviations."""
    moved = {}
    for name in names:
        there = ~data.missing(name)
        x, spread = data.columns[name][there], float(np.nanstd(data.columns[name])) if there.any() else 0.0
        if spread > 0 and min(old[there].sum(), new[there].sum()) > 0:
            moved[name] = abs(float(np.average(x, weights=new[there]) - np.average(x, weights=old[there]))) / spread
    if not moved:
        return None
    worst = max(moved, key=lambda name: moved[name])
    return worst, moved[worst]


def moved_share(data: Microdata, names: Iterable[str], old: Floats, new: Floats) -> tuple[str, str, float] | None:
    """Return the category whose weighted share of the table moves most: its variable, its name, the difference."""
    worst: tuple[str, str, float] | None = None
    for name in names:
        codes, spelled = data.columns[name], data.schema[name].categories
        size = len(spelled) + 1  # missing values, -1, stand last
        before, after = (np.bincount(codes % size, w, size) / w.sum() for w in (old, new))
        moved = np.abs(after - before)
        at = int(moved.argmax())
        if worst is None or moved[at] > worst[2]:
            worst = name, str(spelled[at]) if at < len(spelled) else "missing", float(moved[at])
    return worst
