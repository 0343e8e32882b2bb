"""Records that agree in coded variables: the combinations that occur, how many records have each, what they weigh.

One rule for missing keys: a missing value may be any value, so it agrees with every other. A record then counts those
that could be it (Hundepool et al. 2012; sdcMicro counts so too): suppressing a value never makes a record rarer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.agreement import own_sums
from sfumato.kernels.groups import class_sums, class_totals, classes, first_in_order, first_records, some_rows
from sfumato.pair.statistics.statistic import Gathering, Room, Statistic

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class KeyClasses(Statistic):
    """The different combinations of key values, with -1, a missing value, counted as a value of its own.

    ``cells`` holds the codes of each combination, ``sizes`` the records that have it, ``weights`` the sum of their
    weights (None: every record weighs one). ``cell_of`` tells the combination of each record of a table in memory; of
    merged parts it is None, because the records are gone.
    """

    cells: Codes
    sizes: Integers
    weights: Floats | None = None
    cell_of: Integers | None = None

    @classmethod
    def of(cls, codes: Codes, weights: Floats | None = None) -> Self:
        """Put records with these key values into classes."""
        cell_of, sizes = classes(codes)
        own = None if weights is None else class_sums(cell_of, weights, len(sizes))
        return cls(some_rows(codes, first_records(cell_of)), sizes, own, cell_of)

    @classmethod
    def of_part(cls, codes: Codes, weights: Floats | None = None) -> Self:
        """Count the combinations of the records of a part, without telling which record has which."""
        found, (sizes, *own) = class_totals(codes, [None] if weights is None else [None, weights])
        return cls(found.astype(np.int32, copy=False), sizes.astype(np.int64, copy=False), *own)

    def merge(self, other: Self) -> Self:
        """Add sizes and weights of equal combinations."""
        return self.together((self, other))

    @classmethod
    def together(cls, statistics: Sequence[Self]) -> Self:
        """Add sizes and weights of equal combinations, of all parts at once."""
        cells = np.concatenate([part.cells.T for part in statistics], axis=1).T
        figures = [np.concatenate([part.sizes for part in statistics])]
        weights = [part.weights for part in statistics if part.weights is not None]
        if len(weights) == len(statistics):
            figures.append(np.concatenate(weights))
        found, (sizes, *own) = class_totals(cells, figures)
        return cls(found.astype(np.int32, copy=False), sizes, *own)

    @classmethod
    def gathering(cls, room: Room | None) -> Gathering[Any]:
        """Return what merges classes as they come, in files where there are too many."""
        from sfumato.pair.statistics.classes_on_disk import ClassGathering  # which merges what is defined here

        return ClassGathering(room)

    def summary(self) -> Self:
        """Return the combinations without the records."""
        return type(self)(self.cells, self.sizes, self.weights)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.sizes.sum())

    @cached_property
    def complete(self) -> bool:
        """Whether no key is missing, so that combinations are classes."""
        return bool(self.cells.min(initial=0) >= 0)

    @cached_property
    def counts(self) -> Integers:
        """How many records agree with each combination, where a missing value agrees with every other."""
        return self.sizes if self.complete else np.rint(self.agreeing(self.sizes.astype(np.float64))).astype(np.int64)

    def agreeing(self, sums: Floats) -> Floats:
        """Return, for each combination, the sum over the combinations that agree with it, itself included."""
        return sums if self.complete else own_sums(self.cells, sums)

    def share(self, cells: NDArray[np.bool_]) -> float:
        """Return the share of records in some of the combinations."""
        return float(self.sizes[cells].sum() / self.records)

    def mean(self, values: Floats) -> float:
        """Return the mean over records of what is said of each combination."""
        return float((values * self.sizes).sum() / self.records)

    def by_record(self, values: NDArray[np.generic]) -> Floats | None:
        """Spread what is said of each combination over the records; None where they are not in memory."""
        return None if self.cell_of is None else values[self.cell_of].astype(np.float64, copy=False)

    def rarest(self, most: int) -> NDArray[np.intp]:
        """Return the combinations that fewest records agree with, ties in the order of their codes."""
        return self.first((self.counts,), most)

    def first(self, columns: Sequence[NDArray[Any]], most: int) -> NDArray[np.intp]:
        """Return the first combinations in the order of some figures, ties in the order of their codes."""
        return first_in_order((*columns, *self.cells.T), most)

    def located(self, codes: Codes) -> Integers:
        """Return the combination of each record of a part, whose combinations are all among these."""
        return classes(np.concatenate([self.cells, codes]))[0][len(self) :]  # these are different, so numbered first

    def of_keys(self, columns: Sequence[int]) -> Self:
        """Return the combinations of some of the keys, and how many records have each."""
        cells = self.cells.T[list(columns)].T
        place, _ = classes(cells)
        first = first_records(place)
        sizes = np.bincount(place, weights=self.sizes, minlength=len(first)).astype(np.int64)
        return type(self)(some_rows(cells, first), sizes)
