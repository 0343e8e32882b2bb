"""Sums over the records of each unit, a household or a record without one, from which those of all parts follow."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.pair.statistics.statistic import Statistic, distinct_sums

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class UnitSums(Statistic):
    """The households in ascending order, the sum of a figure over the members of each, and how many they are.

    ``alone`` has the figures of the records whose household is missing: each is a unit of its own.

    >>> one = UnitSums.of(np.array([1, 0, 2]), np.array([9.0, 4.0, np.nan]), np.array([0.5, 1.0, 2.0]))
    >>> found = one.merge(UnitSums.of(np.array([0]), np.array([9.0]), np.array([3.0])))
    >>> found.households.tolist(), found.sums.tolist(), found.members.tolist(), found.alone.tolist()
    ([4.0, 9.0], [1.0, 3.5], [1, 2], [2.0])
    """

    households: NDArray[Any]
    sums: Floats
    members: Integers
    alone: Floats

    @classmethod
    def of(cls, unit: Integers, household: NDArray[Any], figures: Floats) -> Self:
        """Sum up figures of records, given the number of each one's unit (``data.units``) and its household."""
        present = household >= 0 if household.dtype.kind == "i" else ~np.isnan(household)
        number = int(unit[present].max(initial=-1)) + 1
        households = np.empty(number, dtype=household.dtype)
        households[unit[present]] = household[present]
        sums = np.bincount(unit, weights=figures, minlength=number)
        return cls(households, sums[:number], np.bincount(unit, minlength=number)[:number], sums[number:])

    def merge(self, other: Self) -> Self:
        """Add the sums of equal households."""
        households, (sums, members) = distinct_sums(
            *(
                np.concatenate([one, two])
                for one, two in zip(
                    (self.households, self.sums, self.members),
                    (other.households, other.sums, other.members),
                    strict=True,
                )
            )
        )
        return type(self)(households, sums, members, np.concatenate([self.alone, other.alone]))
