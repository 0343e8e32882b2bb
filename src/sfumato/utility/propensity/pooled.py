"""Both tables below each other, as numbers and categories, with the file each record comes from."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.pair import Pair
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import aligned
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
    notes: tuple[str, ...] = ()

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


def pool(measure: Measure, pair: Pair) -> Pooled:
    """Put the variables both tables have below each other; what had to be treated specially is noted."""
    names, notes = measure.shared(pair)
    before, after = pair.gathered(names).tables()
    tables = _with_weight(before), _with_weight(after)
    source = np.repeat([False, True], [len(table) for table in tables])
    weights = balanced(np.concatenate([table.weights() for table in tables]), source)
    numbers: list[Numbers] = []
    categories: list[Categories] = []
    kept, notes = of_one_kind(pair, names, notes)
    for name in kept:
        kinds = {table.schema[name].kind for table in tables}
        if kinds in ({"numeric"}, {"date"}):
            values = np.concatenate([table.columns[name] for table in tables])
            numbers += _filled(name, values, weights)
        else:
            both = aligned(*tables, name)
            codes = np.concatenate([both.original, both.protected])
            if kinds == {"ordinal"} and not both.new:
                numbers += _filled(name, np.where(codes < 0, np.nan, codes), weights)
            else:
                categories.append(_occurring(name, codes, len(both.categories)))
    return Pooled(tuple(numbers), tuple(categories), source, weights, kept, notes)


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


def _with_weight(table: Microdata) -> Microdata:
    """Return the records that weigh something."""
    weights = table.weights()
    return table if weights.all() else table.take(np.flatnonzero(weights))


def _filled(name: str, values: Floats, weights: Floats) -> list[Numbers]:
    missing = np.isnan(values)
    if not missing.any():
        return [Numbers(name, values)]
    mean = 0.0
    if not missing.all():
        there = values[~missing]
        mean = float(np.average(there, weights=weights[~missing]))
        mean = min(max(mean, float(there.min())), float(there.max()))  # rounding makes no new value of a constant
    return [Numbers(name, np.where(missing, mean, values)), Numbers(name, missing.astype(np.float64))]


def _occurring(name: str, codes: Codes, listed: int) -> Categories:
    """Number the categories that occur from 0, missing among them, in the order they are listed."""
    present = np.bincount(codes + 1, minlength=listed + 1) > 0
    numbered = np.cumsum(present, dtype=np.int32) - 1
    return Categories(name, numbered[codes + 1].astype(np.int32), int(present.sum()))
