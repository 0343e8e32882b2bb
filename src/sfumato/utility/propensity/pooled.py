"""Both tables below each other, as numbers and categories, with the file each record comes from."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.pair import Pair
from sfumato.table.weights import normalised

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Numbers:
    """A numeric variable, an ordinal one as its scores 0, 1, 2, ..., or the mark of where one of them is missing."""

    variable: str
    values: Floats  # none missing: gaps hold the mean of the others


@dataclass(frozen=True)
class Categories:
    """A nominal variable; missing is a category of its own, and only categories that occur are counted."""

    variable: str
    codes: Codes
    count: int


@dataclass(frozen=True)
class Pooled:
    """The original's records above the protected table's, without those of weight zero."""

    numbers: tuple[Numbers, ...]
    categories: tuple[Categories, ...]
    protected: Flags  # which of the two files a record comes from
    weights: Floats  # each file's sum to the number of its records
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.protected)

    @property
    def share(self) -> float:
        """The share c of protected records."""
        return float(self.protected.mean())

    def take(self, rows: NDArray[np.intp]) -> "Pooled":
        """Return these records only, with the weights they have here."""
        return replace(
            self,
            numbers=tuple(Numbers(n.variable, n.values[rows]) for n in self.numbers),
            categories=tuple(Categories(c.variable, c.codes[rows], c.count) for c in self.categories),
            protected=self.protected[rows],
            weights=self.weights[rows],
        )


def of_one_kind(pair: Pair, names: Iterable[str], notes: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the variables that are quantities in both tables, of one kind, or categories in both; note the others."""
    kept: list[str] = []
    apart: list[str] = []
    for name in names:
        kinds = {half.schema[name].kind for half in (pair.original, pair.protected)}
        (apart if len(kinds) > 1 and kinds & {"numeric", "date"} else kept).append(name)
    if not kept:
        raise NotApplicable(f"no variable is of one kind in both tables ({', '.join(apart)})")
    if apart:
        notes = (*notes, f"left out, of another kind in the protected table: {', '.join(apart)}")
    return tuple(kept), notes


def balanced(weights: Floats, protected: Flags) -> Floats:
    """Return the weights scaled so that each file's sum to the number of its records."""
    scaled = np.empty_like(weights)
    for side in (protected, ~protected):
        scaled[side] = normalised(weights[side])
    return scaled


def standardised(values: Floats, weights: Floats) -> tuple[Floats, float, float]:
    """Return values with mean 0 and standard deviation 1, and what the two were; a constant comes back as zeros."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return np.zeros_like(values), low, 0.0
    size = max(abs(low), abs(high))  # so that no square is too large or too small for a float
    scaled = values / size
    mean = float(np.average(scaled, weights=weights))
    centred = scaled - mean
    spread = float(np.sqrt(np.average(centred**2, weights=weights)))
    if spread == 0.0:
        spread = (high / size) - (low / size)
    return centred / spread, mean * size, spread * size
