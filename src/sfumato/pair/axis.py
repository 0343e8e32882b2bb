"""Blocks of records along the first principal component of some variables, for tables in memory and in parts alike."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.engine import current
from sfumato.errors import NotApplicable
from sfumato.pair.half import Half
from sfumato.pair.in_file import InFile, in_file
from sfumato.pair.masking import rounded
from sfumato.pair.sorting import Runs, by_record
from sfumato.pair.statistics import Room, Sums

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
EQUAL = 1e-9  # loadings that differ by less are equal, so that rounding does not turn the axis


@dataclass(frozen=True, eq=False)
class Axis:
    """The first principal component of standardised variables; a missing value stands at the mean."""

    names: tuple[str, ...]
    means: Floats
    spreads: Floats  # infinite for a constant, which stands at zero
    loadings: Floats

    @classmethod
    def of(cls, half: Half, names: tuple[str, ...]) -> "Axis":
        """Learn the axis of a table; numbers are rounded, because sums differ in the last digits by how it is cut."""
        found = half.moments(names)
        if not np.isfinite(found.spread).all():
            raise NotApplicable("a variable has values too large to be standardised; rescale it")
        means = np.array([rounded(mean) for mean in found.mean.tolist()])
        spreads = np.array([rounded(spread) or np.inf for spread in found.spread.tolist()])
        flat = cls(names, means, spreads, np.zeros(len(names)))
        products = half.total(lambda part: Sums({"products": _products(flat.standardised(part))}))["products"]
        scale = max(float(np.abs(products).max()), 1.0)
        _, axes = np.linalg.eigh(np.round(products / scale, 12))
        first = np.round(axes[:, -1], 12)
        largest = np.flatnonzero(np.abs(first) >= np.abs(first).max() - EQUAL)[0]
        return cls(names, means, spreads, first if first[largest] >= 0 else -first)

    def standardised(self, part: Microdata) -> list[Floats]:
        """Return the variables of a part, standardised."""
        scores = [
            (part.columns[name] - mean) / spread
            for name, mean, spread in zip(self.names, self.means.tolist(), self.spreads.tolist(), strict=True)
        ]
        return [np.where(np.isnan(score), 0.0, score) for score in scores]

    def scores(self, part: Microdata) -> Floats:
        """Return where the records of a part stand; one variable after the other, so that no cut changes a digit."""
        total = np.zeros(len(part))
        for score, loading in zip(self.standardised(part), self.loadings.tolist(), strict=True):
            total += loading * score
        return total


def _products(columns: list[Floats]) -> Floats:
    values = np.column_stack(columns)
    return np.asarray(values.T @ values)


@dataclass(frozen=True, eq=False)
class BlocksAlong:
    """The block of each record along an axis, and how many records each has."""

    blocks: Integers | InFile
    sizes: Integers

    @property
    def values(self) -> tuple[tuple[object, ...], ...]:
        """What the blocks are called."""
        number = len(self.sizes)
        return tuple((f"{place} of {number} along the first principal component",) for place in range(1, number + 1))

    def of_numbered(self, part: Microdata, first: int) -> Integers:
        """Return the block of each record of a part, given the number of its first."""
        if isinstance(self.blocks, InFile):
            return self.blocks.read(first, len(part))
        return self.blocks[first : first + len(part)]


def blocks_along(half: Half, names: tuple[str, ...], size: int) -> BlocksAlong:
    """Cut a table into blocks of at least ``size`` records, less than twice as many, that are neighbours on an axis.

    Records stand in the order of the first principal component, those that tie in the order of the table. Of a table
    on disk the blocks lie in a file.
    """
    if not names:
        raise NotApplicable("blocks of neighbours need a number or a date that is masked; name variables for blocks")
    axis, records = Axis.of(half, names), len(half)
    number = max(records // size, 1)
    starts = np.arange(number + 1) * records // number
    if not half.on_disk:
        scores = np.concatenate([axis.scores(part) for part in half.parts])
        blocks = np.empty(records, dtype=np.int64)
        blocks[np.argsort(scores, kind="stable")] = np.repeat(np.arange(number), np.diff(starts))
        return BlocksAlong(blocks, np.diff(starts))
    engine = current(records)
    room, what = Room(engine.memory, lambda: engine.folder), "blocks of records"
    runs, first = Runs(room, what, records, np.int64), 0
    for scores in half.numbered(lambda part, _: axis.scores(part)):
        runs.add(scores, np.arange(first, first + len(scores)))
        first += len(scores)
    found = in_file(
        by_record(_placed(runs, starts), records, np.array([-1]), room, what), np.dtype(np.int64), half.folder
    )
    runs.close()
    return BlocksAlong(found, np.diff(starts))


def _placed(runs: Runs, starts: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield records in the order of their scores, with the block of each."""
    rank = 0
    for scores, numbers in runs.merged():
        assert numbers is not None
        ranks = np.arange(rank, rank + len(scores))
        yield numbers, np.searchsorted(starts, ranks, side="right") - 1
        rank += len(scores)
