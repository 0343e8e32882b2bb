"""Ranks and values summed by the categories of nominal variables, for all pairs at once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.ranks import rank_sums
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
        found: Floats = self.weight * deviations * np.abs(deviations) / self._weight()
        return found

    def present(self) -> NDArray[np.int64]:
        """Count the groups that are not empty."""
        return np.asarray((self.weight > 0).sum(axis=0), dtype=np.int64)

    def _weight(self) -> Floats:
        return np.maximum(self.weight.sum(axis=0), np.finfo(np.float64).tiny)

    def _mean(self) -> Floats:
        return np.asarray(self.sums.sum(axis=0) / self._weight())


def rank_groups(file: File, nominals: Indices, others: Indices) -> Iterator[Groups]:
    """Sum the doubled, centred ranks of variables by group, ranked among the records that have both."""
    rows = file.row[others]
    gaps = file.complete[nominals]
    for nominal in nominals[~gaps]:  # who is ranked differs from pair to pair
        g = file.row[nominal]
        counts, sums, squares = rank_sums(file.ranks, file.codes[g], int(file.counts[g]), rows)
        records = counts.sum(axis=1)
        yield Groups(
            int(nominal), others, counts.T.astype(np.float64), sums.T, squares, squares, records, records * 1.0
        )
    tables = [file.ranks.table(row) for row in rows]
    present = file.ranks.present[rows]
    squares = np.array([table[2] for table in tables])

    def block(which: slice) -> tuple[Floats, Floats]:
        places = file.ranks.places[:, which]
        ranks = np.empty((which.stop - which.start, len(rows)))
        there = np.ones_like(ranks)
        for k, (row, (table, _, _)) in enumerate(zip(rows, tables, strict=True)):
            ranks[:, k] = table[places[row]]
            if not file.complete[others[k]]:
                there[:, k] = places[row] < len(table) - 1
        return ranks, there

    for nominal, weight, sums in _summed(file, nominals[gaps], others, block, None):
        yield Groups(nominal, others, weight, sums, squares, squares, present, present * 1.0)


def value_groups(file: File, nominals: Indices, others: Indices, scores: Standardised) -> Iterator[Groups]:
    """Sum the z-scores of variables by group, with the file's weights; ``scores`` holds those of ``others``."""
    rows = file.row[nominals]
    records, weighed, squares = (np.zeros((len(nominals), len(others))) for _ in range(3))
    for block in file.blocks():
        z, there = scores.block(block)
        here = (file.codes[rows, block] < file.counts[rows, None]).astype(np.float64)
        count = here @ there
        records += count
        if file.weights is None:
            squares += here @ z**2
            weighed += count
        else:
            w = file.weights[block, None]
            squares += here @ (w * z**2)
            weighed += here @ (w**2 * there)
    for nominal, weight, sums in _summed(file, nominals, others, scores.block, file.weights):
        k = int(np.flatnonzero(nominals == nominal)[0])
        all_weight = weight.sum(axis=0)
        safe = np.maximum(all_weight, np.finfo(np.float64).tiny)
        total = np.maximum(squares[k] - sums.sum(axis=0) ** 2 / safe, 0.0)
        counted = np.rint(records[k]).astype(np.int64)
        effective = records[k] if file.weights is None else all_weight**2 / np.where(counted > 0, weighed[k], 1.0)
        yield Groups(nominal, others, weight, sums, total, squares[k], counted, effective)


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
    weights: Floats | None,
) -> Iterator[tuple[int, Floats, Floats]]:
    """Sum weights and values (0 where missing) by category: a sparse matrix of who is in which, times the values."""
    from scipy.sparse import csc_array

    gaps = np.flatnonzero(~file.complete[others])  # the others have the same weight in all columns
    width = len(others) + len(gaps) + 1
    for part in _parts(file, nominals, width):
        rows = file.row[part]
        sizes = file.counts[rows] + 1  # the last takes the missing ones
        ends = np.cumsum(sizes)
        sums = np.zeros((int(ends[-1]), width))
        for block in file.blocks():
            values, there = make(block)
            size = len(values)
            stacked = np.hstack([values, there[:, gaps], np.ones((size, 1))])
            where = (file.codes[rows, block] + (ends - sizes)[:, None]).T.astype(np.int32)
            w = np.ones(size) if weights is None else weights[block]
            belongs = csc_array(
                (np.repeat(w, len(part)), where.ravel(), np.arange(size + 1, dtype=np.int32) * len(part)),
                shape=(len(sums), size),
            )
            sums += belongs @ stacked
        for nominal, start, end in zip(part, ends - sizes, ends - 1, strict=True):
            weight = np.repeat(sums[start:end, -1:], len(others), axis=1)
            weight[:, gaps] = sums[start:end, len(others) : -1]
            yield int(nominal), weight, sums[start:end, : len(others)]


def _parts(file: File, nominals: Indices, width: int) -> Iterator[Indices]:
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
