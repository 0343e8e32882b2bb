"""The best split of a node in numpy, for tables not worth compiling for: the twin of the kernel of the same name."""

import numpy as np
from numpy.typing import NDArray

from sfumato.utility.propensity.pooled import Floats

Codes = NDArray[np.int32]

BETTER = 1 + 1e-9  # a split must gain this much more than one found before: rounding does not choose between equals


def split(
    rows: Codes,
    ranks: Codes,
    signed: Floats,
    codes: Codes,
    counts: Codes,
    side: NDArray[np.uint8],
    start: int,
    end: int,
    least: int,
    total: float,
    ones: float,
    tiny: float,
) -> tuple[int, int, float, float, float]:
    """Split rows[:, start:end] where the Gini impurity falls most; see ``sfumato.kernels.trees.split.split``."""
    node = slice(start, end)
    weights, rank = signed[:, node], ranks[:, node]
    places = slice(least - 1, end - start - least)
    gain = _gain(
        np.cumsum(np.abs(weights), axis=1)[:, places],
        np.cumsum(np.maximum(weights, 0.0), axis=1)[:, places],
        total,
        ones,
    )
    gain[rank[:, places] == rank[:, least : end - start - least + 1]] = 0.0
    column, place = (int(found) for found in np.unravel_index(_first_best(gain), gain.shape))
    most = float(gain[column, place])
    second = np.arange(end - start) > place + least - 1
    listed = column
    for j in range(len(codes)):
        code = codes[j, rows[0, node]]
        found, lower = _best_subset(code, int(counts[j]), weights[0], least, total, ones)
        if found > most * BETTER:
            most, column, listed, second = found, len(rows) + j, 0, ~lower[code]
    if most <= tiny:
        return start, -1, 0.0, 0.0, 0.0
    mine = weights[listed][~second]
    weight, one = float(np.abs(mine).sum()), float(np.maximum(mine, 0.0).sum())
    if 2 * mine.size < end - start:  # the side with more records comes first
        second, weight, one = ~second, total - weight, ones - one
    side[rows[listed, node]] = second
    for j in range(len(rows)):
        order = start + np.argsort(side[rows[j, node]], kind="stable")
        for lists in (rows, ranks, signed):
            lists[j, node] = lists[j, order]
    return end - int(second.sum()), column, most, weight, one


def _gain(weight: Floats, one: Floats, total: float, ones: float) -> Floats:
    gain: Floats = (one - ones / total * weight) ** 2 * total / (weight * (total - weight))
    return gain


def _first_best(gain: Floats) -> int:
    return int(np.argmax(gain * BETTER >= gain.max()))


def _best_subset(
    code: Codes, count: int, signed: Floats, least: int, total: float, ones: float
) -> tuple[float, NDArray[np.bool_]]:
    """Find the set of categories that gains most: with two files, one that goes by the share of the second."""
    records = np.bincount(code, minlength=count)
    weights: Floats = np.bincount(code, np.abs(signed), count).astype(np.float64)
    second: Floats = np.bincount(code, np.maximum(signed, 0.0), count).astype(np.float64)
    shares = np.divide(second, weights, out=np.full(count, np.inf), where=records > 0)
    order = np.argsort(shares, kind="stable")[: int((records > 0).sum())]
    before = np.cumsum(records[order])[:-1]
    gain = _gain(np.cumsum(weights[order])[:-1], np.cumsum(second[order])[:-1], total, ones)
    gain[(before < least) | (len(code) - before < least)] = 0.0
    lower = np.zeros(count, dtype=np.bool_)
    if not gain.size or gain.max() <= 0:
        return 0.0, lower
    place = _first_best(gain)
    lower[order[: place + 1]] = True
    return float(gain[place]), lower
