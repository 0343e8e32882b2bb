"""Records by keys and target: what the protected table says of a target to someone who knows the keys."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import classes, first_records
from sfumato.pair import Pair
from sfumato.risk.bands import Banded
from sfumato.risk.compared_keys import ComparedKeys

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TargetCells:
    """The combinations of key class and target that occur in either table, and how many records of each have it.

    A missing target, -1, is a value like any other here. ``cuts`` are those of a numeric target's bands.
    """

    keys: ComparedKeys
    key: Integers  # the key class of each cell
    target: Codes
    originals: Integers
    protecteds: Integers
    cell_of: Integers  # the cell of each original record
    cuts: Floats

    @classmethod
    def of(cls, pair: Pair, keys: ComparedKeys, name: str, bands: int) -> "TargetCells":
        """Put the records of both tables into cells by their keys and a target, a number in bands of the original."""
        found: TargetCells = pair.keep(
            ("target cells", keys.names, name, bands), lambda: cls._of(pair, keys, name, bands)
        )
        return found

    @classmethod
    def _of(cls, pair: Pair, keys: ComparedKeys, name: str, bands: int) -> "TargetCells":
        known = Banded.between(pair, name, bands)
        key = np.concatenate([keys.original, keys.protected])
        target = np.concatenate([known.original, known.protected])
        cell_of, sizes = classes(np.column_stack([key, target]))
        first = first_records(cell_of)
        ours = cell_of[: len(keys.original)]
        originals = np.bincount(ours, minlength=len(sizes))
        return cls(keys, key[first], target[first], originals, sizes - originals, ours, known.cuts)

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        arrays = (self.key, self.target, self.originals, self.protecteds, self.cell_of, self.cuts)
        return sum(array.nbytes for array in arrays)

    @cached_property
    def told(self) -> NDArray[np.bool_]:
        """Whether there is anything to disclose: the target is present."""
        return self.target >= 0

    @property
    def found(self) -> Integers:
        """How many protected records have the keys of each cell."""
        return self.keys.protecteds[self.key]

    @property
    def own(self) -> Integers:
        """How many original records have the keys of each cell."""
        return self.keys.originals[self.key]

    @cached_property
    def greatest(self) -> Integers:
        """How many of the protected records with its keys have their most frequent target."""
        return self._largest(self.protecteds)

    @cached_property
    def own_greatest(self) -> Integers:
        """How many of the original records with its keys have their most frequent target."""
        return self._largest(self.originals)

    def _largest(self, counts: Integers) -> Integers:
        greatest = np.zeros(len(self.keys.originals), dtype=np.int64)
        np.maximum.at(greatest, self.key, counts)
        return greatest[self.key]

    @cached_property
    def mode(self) -> NDArray[np.bool_]:
        """Whether no target is more frequent among the protected records with its keys."""
        return np.asarray((self.protecteds > 0) & (self.protecteds == self.greatest))

    @cached_property
    def modes(self) -> Integers:
        """How many targets are as frequent as the most frequent one among the protected records with its keys."""
        return np.bincount(self.key[self.mode], minlength=len(self.keys.originals))[self.key]

    @property
    def mode_share(self) -> Floats:
        """The mean share of these most frequent targets in the original at large."""
        shares = self._shares(self.originals)[self.target[self.mode] + 1]
        total = np.bincount(self.key[self.mode], shares, minlength=len(self.keys.originals))
        share: Floats = total[self.key] / np.maximum(self.modes, 1)
        return share

    @property
    def protected_share(self) -> Floats:
        """The share of the protected records, whatever their keys, that have its target."""
        share: Floats = self._shares(self.protecteds)[self.target + 1]
        return share

    @property
    def most_frequent(self) -> float:
        """The share of the original records with the most frequent target: what a guess without any file earns."""
        return float(self._shares(self.originals)[1:].max())

    @property
    def repeated(self) -> float:
        """The chance that two original records drawn at random have the same target, which is present."""
        return float((self._shares(self.originals)[1:] ** 2).sum())

    def _shares(self, counts: Integers) -> Floats:
        """Return the share of a table's records with each target, the missing one first."""
        totals = np.bincount(self.target + 1, counts)
        shares: Floats = totals / totals.sum()
        return shares

    # over the original records

    def share(self, cells: NDArray[np.bool_]) -> float:
        """Return the share of the original records in some of the cells."""
        return float(self.originals[cells].sum() / len(self.cell_of))

    def mean(self, values: Floats) -> float:
        """Return the mean over original records of what is said of each cell."""
        return float((values * self.originals).sum() / len(self.cell_of))
