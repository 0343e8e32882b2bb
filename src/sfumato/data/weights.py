"""Survey weights on a common scale: what a record counts relative to the other records of its table."""

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable

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
