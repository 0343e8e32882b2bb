"""Ranks and values summed by the categories of nominal variables, for all pairs at once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.ranks import rank_sums
from sfumato.kernels.spread import ROUNDING
from sfumato.utility.association.columns import File, Floats, Indices, Standardised

SUMS = 4_000_000  # sums held at a time: nominal variables with many categories are taken a few at a time


@dataclass(frozen=True, eq=False)
class Groups:
    """One nominal variable against several others, over the records that have both.

    ``weight`` and ``sums`` are categories x variables; the sums are of the weighted ranks or scores. ``total`` is each
    variable's sum of squares about its mean, ``squares`` that about zero; ``records`` and ``effective`` count.
    """

    nominal: int
    others: Indices
    weight: Floats
    sums: Floats
    total: Floats
    squares: Floats
    records: NDArray[np.int64]
    effective: Floats

    def between(self) -> Floats:
        """Return the sum of squares between groups."""
        mean = self._mean()
        deviations = self.sums / np.where(self.weight > 0, self.weight, 1.0) - mean
        return np.asarray((self.weight * deviations**2).sum(axis=0))

    def signed(self) -> Floats:
        """Return each group's share of it per unit of weight, negative where the group lies below the mean."""
        deviations = self.sums / np.where(self.weight > 0, self.weight, 1.0) - self._mean()
        deviations[np.abs(deviations) <= ROUNDING] = 0.0  # of z-scores; ranks differ by more or not at all
        found: Floats = self.weight * deviations * np.abs(deviations) / self._weight()
        return found

    def present(self) -> NDArray[np.int64]:
        """Count the groups that are not empty."""
        return np.asarray((self.weight > 0).sum(axis=0), dtype=np.int64)

    def _weight(self) -> Floats:
        return np.asarray(np.maximum(self.weight.sum(axis=0), np.finfo(np.float64).tiny))

    def _mean(self) -> Floats:
        return np.asarray(self.sums.sum(axis=0) / self._weight())


def rank_groups(file: File, nominals: Indices, others: Indices) -> Iterator[Groups]:
    """Sum the doubled, centred ranks of variables by group, ranked among the records that have both."""
    rows = file.row[others]
    whole = file.complete[nominals]
    for nominal in nominals[~whole]:  # who is ranked differs from pair to pair
        g = file.row[nominal]
        counts, sums, squares = rank_sums(file.ranks, file.codes[g], int(file.counts[g]), rows)
        records = counts.sum(axis=1)
        yield Groups(
            int(nominal),
            others,
            counts.T.astype(np.float64),
            sums.T,
            squares,
            squares,
            records,
            records.astype(np.float64),
        )
    squares = np.array([file.squares_of(row) for row in rows])
    every = np.full(len(rows), file.records, dtype=np.int64)
    present = every if file.ranked_aside else file.ranks.present[rows]

    def block(which: slice) -> tuple[Floats, Floats]:
        ranks = np.empty((which.stop - which.start, len(rows)))
        there = np.ones_like(ranks)
        for k, row in enumerate(rows):
            ranks[:, k] = file.ranks_of(row, which)
            if not file.complete[others[k]]:
                there[:, k] = file.ranks.places[row, which] < len(file.ranks.upto(row))
        return ranks, there

    for nominal, weight, sums in _summed(file, nominals[whole], others, block, len(others), None):
        yield Groups(nominal, others, weight, sums, squares, squares, present, present.astype(np.float64))


def value_groups(file: File, nominals: Indices, others: Indices, scores: Standardised) -> Iterator[Groups]:
    """Sum the z-scores of variables by group, with the file's weights; ``scores`` holds those of ``others``."""
    size = len(others)

    def block(rows: slice) -> tuple[Floats, Floats]:
        z, there = scores.block(rows)
        return np.hstack([z, z**2]), there

    def squared_weights(rows: slice) -> tuple[Floats, Floats]:
        there = scores.block(rows)[1]
        return there if file.weights is None else file.weights[rows, None] ** 2 * there, there

    counting = None if file.weights is None else _summed(file, nominals, others, squared_weights, size, None)
    for nominal, weight, found in _summed(file, nominals, others, block, 2 * size, file.weights):
        sums, squares, both = found[:, :size], found[:, size:].sum(axis=0), weight.sum(axis=0)
        total = np.maximum(squares - sums.sum(axis=0) ** 2 / np.where(both > 0, both, 1.0), 0.0)
        records, effective = both, both
        if counting is not None:
            _, counted, weighed = next(counting)
            records = counted.sum(axis=0)
            effective = both**2 / np.where(records > 0, weighed.sum(axis=0), 1.0)
        yield Groups(nominal, others, weight, sums, total, squares, np.rint(records).astype(np.int64), effective)


def two_passes(file: File, nominal: int, scores: Standardised, k: int) -> tuple[float, float]:
    """Return the sums of squares of one variable, total and within groups, from deviations from the means themselves.

    What rounding leaves of a constant, or of groups that are constant, is nothing.
    """
    g = file.row[nominal]
    both = (file.codes[g] < file.counts[g]) & ~np.isnan(scores.numbers[k])
    found, group = scores.deviations(k, both, file.weights), file.codes[g][both]
    if found is None:
        return 0.0, 0.0
    apart, w, noise = found
    weight = np.bincount(group, w)
    mean = np.bincount(group, w * apart) / np.where(weight > 0, weight, 1.0)
    left = apart - mean[group]
    within = float(w @ left**2)
    return float(w @ apart**2), within if within > noise**2 * w.sum() else 0.0


def _summed(
    file: File,
    nominals: Indices,
    others: Indices,
    make: Callable[[slice], tuple[Floats, Floats]],
    width: int,
    weights: Floats | None,
) -> Iterator[tuple[int, Floats, Floats]]:
    """Sum by category: a sparse matrix of who is in which, times what ``make`` says of a block of records.

    ``make`` gives ``width`` columns of values, 0 where missing, and whether each of ``others`` is present. Yields the
    nominal variable, the weight of each category where each of the others is present, and the sums of the values.
    """
    from scipy.sparse import csc_array

    gaps = np.flatnonzero(~file.complete[others])  # the others have the same weight in all columns
    for part in parts(file, nominals if len(others) else nominals[:0], width + len(gaps) + 1):
        rows = file.row[part]
        sizes = file.counts[rows] + 1  # the last takes the missing ones
        ends = np.cumsum(sizes)
        sums = np.zeros((int(ends[-1]), width + len(gaps) + 1))
        for block in file.blocks():
            values, there = make(block)
            size = len(values)
            where = (file.codes[rows, block] + (ends - sizes)[:, None]).T.astype(np.int32)
            w = np.ones(size) if weights is None else weights[block]
            belongs = csc_array(
                (np.repeat(w, len(part)), where.ravel(), np.arange(size + 1, dtype=np.int32) * len(part)),
                shape=(len(sums), size),
            )
            sums += belongs @ np.hstack([values, there[:, gaps], np.ones((size, 1))])
        for nominal, start, end in zip(part, ends - sizes, ends - 1, strict=True):
            weight = np.repeat(sums[start:end, -1:], len(others), axis=1)
            weight[:, gaps] = sums[start:end, width:-1]
            yield int(nominal), weight, sums[start:end, :width]


def parts(file: File, nominals: Indices, width: int) -> Iterator[Indices]:
    """Cut the nominal variables into runs whose sums are not too many."""
    start, slots = 0, 0
    for k, nominal in enumerate(nominals):
        size = (int(file.counts[file.row[nominal]]) + 1) * width
        if slots and slots + size > SUMS:
            yield nominals[start:k]
            start, slots = k, 0
        slots += size
    if start < len(nominals):
        yield nominals[start:]
