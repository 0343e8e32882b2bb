"""Correlations of ranks and of values for all pairs: by matrices where they can be, pair by pair where they cannot."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import Progress
from sfumato.kernels.ranks import rank_correlations
from sfumato.utility.association.columns import BLOCK, CELLS, File, Floats, Indices, Standardised

CANCELLED = 1e-6  # a sum of squares of which less than this share is left is computed again, in two passes


@dataclass(frozen=True, eq=False)
class Correlations:
    """The coefficient of each pair (NaN where one of the two is constant), and the records that have both."""

    coefficient: Floats
    records: NDArray[np.int64]
    effective: Floats


def spearman(file: File, first: Indices, second: Indices, progress: Progress | None = None) -> Correlations:
    """Correlate ranks among the records that have both; columns without gaps keep their ranks in all pairs."""
    i, j = file.row[first], file.row[second]
    records = np.full(len(first), file.records, dtype=np.int64)
    products, squares, others = np.zeros(len(first)), np.zeros(len(first)), np.zeros(len(first))
    easy = file.complete[first] & file.complete[second]
    if easy.any():
        rows = np.unique(np.concatenate([i[easy], j[easy]]))
        place = np.zeros(len(file.ordered), dtype=np.intp)
        place[rows] = np.arange(len(rows))
        gram = np.zeros((len(rows), len(rows)))
        for block in file.blocks(max(BLOCK, CELLS // len(rows))):
            ranks = np.empty((block.stop - block.start, len(rows)))
            for k, row in enumerate(rows):
                ranks[:, k] = file.ranks_of(row, block)
            gram += ranks.T @ ranks
        products[easy] = gram[place[i[easy]], place[j[easy]]]
        sums = np.array([file.squares_of(row) for row in rows])
        squares[easy], others[easy] = sums[place[i[easy]]], sums[place[j[easy]]]
    done = int(easy.sum())
    if progress is not None:
        progress(done)
    if done < len(first):
        hard = ~easy
        report = None if progress is None else lambda more: progress(done + more)
        found = rank_correlations(file.ranks, i[hard], j[hard], report)
        records[hard], products[hard], squares[hard], others[hard] = found
    scale = np.sqrt(squares * others)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.where(scale > 0, np.clip(products / scale, -1.0, 1.0), np.nan)
    return Correlations(rho, records, records.astype(np.float64))


def pearson(file: File, places: Indices, first: Indices, second: Indices, scores: Standardised) -> Correlations:
    """Correlate values, with the file's weights; ``first`` and ``second`` number the columns of ``scores``."""
    size = len(places)
    products, sums, squares, weight, weights, count = (np.zeros((size, size)) for _ in range(6))
    whole = bool(file.complete[places].all())
    for block in file.blocks(max(BLOCK, CELLS // size)):
        z, there = scores.block(block)
        w = 1.0 if file.weights is None else file.weights[block, None]
        products += (w * z).T @ z
        if whole:
            here = np.ones(len(z)) * np.ravel(w)
            sums += (here @ z)[:, None]
            squares += (here @ z**2)[:, None]
            weight += here.sum()
            weights += here @ here
            count += len(z)
        else:
            sums += (w * z).T @ there
            squares += (w * z**2).T @ there
            weight += (w * there).T @ there
            weights += (w**2 * there).T @ there
            count += there.T @ there
    safe = np.maximum(weight, np.finfo(np.float64).tiny)
    left = np.maximum(squares - sums**2 / safe, 0.0)  # of column i, over the records that also have column j
    doubtful = left <= CANCELLED * squares
    doubtful |= doubtful.T
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.clip((products - sums * sums.T / safe) / np.sqrt(left * left.T), -1.0, 1.0)
        effective = np.where(count > 0, weight**2 / weights, 0.0)
    coefficient = r[first, second]
    for k in np.flatnonzero(doubtful[first, second]):
        coefficient[k] = _two_passes(scores, int(first[k]), int(second[k]), file.weights)
    found = np.rint(count[first, second]).astype(np.int64)
    weighed = found.astype(np.float64) if file.weights is None else effective[first, second]
    return Correlations(coefficient, found, weighed)


def _two_passes(scores: Standardised, i: int, j: int, weights: Floats | None) -> float:
    """Correlate one pair with means of the records that have both; NaN where one of the two is constant there."""
    both = ~(np.isnan(scores.numbers[i]) | np.isnan(scores.numbers[j]))
    one, two = (scores.deviations(k, both, weights) for k in (i, j))
    if one is None or two is None:
        return float("nan")
    (x, w, _), (y, _, _) = one, two
    return float(np.clip((w * x) @ y / np.sqrt(((w * x) @ x) * ((w * y) @ y)), -1.0, 1.0))
