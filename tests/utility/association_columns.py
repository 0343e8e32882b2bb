"""Random columns of every scale, with ties, gaps and categories that do not occur, for tests of association."""

import numpy as np
from numpy.typing import NDArray

from sfumato.utility.association import Column, Scale

Floats = NDArray[np.float64]


def random_column(name: str, scale: Scale, base: Floats, rng: np.random.Generator, missing: float) -> Column:
    """Make a column that goes with ``base``; numbers are rounded so that some are tied."""
    gone = rng.random(len(base)) < missing
    x = base * rng.choice([-1, 1]) + rng.normal(size=len(base))
    if scale in ("nominal", "ordinal"):
        count = int(rng.integers(2, 7))
        codes = np.digitize(x, np.quantile(x, np.arange(1, count) / count)).astype(np.int32)
        if scale == "nominal":
            codes = rng.permutation(count + 2).astype(np.int32)[codes]  # two categories do not occur
        codes[gone] = -1
        return Column(name, scale, codes, count + 2)
    values = np.round(x if scale == "normal" else np.exp(x), 1)
    values[gone] = np.nan
    return Column(name, scale, values)


def random_columns(records: int, each: int, seed: int, missing: float = 0.0) -> list[Column]:
    """Make ``each`` columns of every scale; every other one has gaps where some are missing."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=records)
    scales: tuple[Scale, ...] = ("nominal", "ordinal", "skewed", "normal")
    return [
        random_column(f"{scale}{k}", scale, common * rng.uniform(0, 1.5), rng, missing * (k % 2))
        for k in range(each)
        for scale in scales
    ]


def in_both(first: Column, second: Column) -> tuple[Floats, Floats]:
    """Return the values of the records that have both."""
    one, two = first.numbers(), second.numbers()
    both = ~(np.isnan(one) | np.isnan(two))
    return one[both], two[both]
