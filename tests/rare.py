"""A table of which a few records are found for certain and all others by luck, in memory and in parts."""

import numpy as np

from sfumato import Microdata
from tables import numbers


def rare(records: int, found: int, *, values: int = 10) -> tuple[Microdata, Microdata]:
    """Return two tables: all values are exchanged among the records, but for the outliers that are found."""
    rng = np.random.default_rng(1)
    x, y = (rng.integers(0, values, records).astype(float) for _ in range(2))
    out = rng.choice(records, found, replace=False)
    rest = np.setdiff1d(np.arange(records), out)
    x[out], y[out] = 1_000 + np.arange(found) * 100.0, -1_000 - np.arange(found) * 50.0
    after = {name: column.copy() for name, column in (("x", x), ("y", y))}
    for column in after.values():
        column[rest] = rng.permutation(column[rest])
    return numbers(x=x, y=y), numbers(**after)
