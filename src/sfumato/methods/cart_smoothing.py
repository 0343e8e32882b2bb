"""Numbers drawn from between a leaf's values in place of the values themselves."""

from dataclasses import dataclass

import numpy as np

from sfumato.data.resolution import resolution, rounded
from sfumato.methods.cart_tree import Codes, Floats, Tree

FREQUENT = 10  # a value so many records hold, such as no rent or a round amount, points to nobody


@dataclass(frozen=True, eq=False)
class Smoothing:
    """For each original record the stretch its smoothed value is drawn from, and the digits it is rounded to."""

    low: Floats
    high: Floats
    decimals: int

    def drawn(self, donors: Codes, rng: np.random.Generator) -> Floats:
        """Draw a value from the stretch of each donor; a frequent value has a stretch of no length."""
        low, high = self.low[donors], self.high[donors]
        draws = rng.random(donors.size)
        values: Floats = np.where(low == high, low, np.clip(low * (1 - draws) + high * draws, low, high))
        return rounded(values, self.decimals)


def smoothing(tree: Tree, values: Floats, min_leaf: int) -> Smoothing:
    """Find the stretch of every record: half-way to the next lower and the next higher value in its leaf.

    Values of ``FREQUENT`` records or more stay as they are and bound no stretch. A value alone in its leaf takes the
    stretch between the values ``min_leaf`` / 2 places below and above it in the file.
    """
    low, high = values.copy(), values.copy()
    rows = tree.members
    leaf = np.zeros(rows.size, dtype=np.int64)
    leaf[tree.stretch[0, np.flatnonzero(tree.column < 0)]] = 1
    leaf = np.cumsum(leaf)
    distinct, place, counts = np.unique(values[rows], return_inverse=True, return_counts=True)
    rare = counts[place] < FREQUENT
    rows, leaf, place = rows[rare], leaf[rare], place[rare]
    pairs, pair = np.unique(leaf * (distinct.size + 1) + place, return_inverse=True)
    leaf_of, value_of = np.divmod(pairs, distinct.size + 1)
    at = distinct[value_of]
    same = np.diff(leaf_of) == 0  # whether the next pair is of the same leaf
    middle = at[:-1] / 2 + at[1:] / 2
    lower, upper = at.copy(), at.copy()
    lower[1:][same] = middle[same]
    upper[:-1][same] = middle[same]
    alone = lower == upper
    reach = max(min_leaf // 2, 1)
    lower[alone] = distinct[np.maximum(value_of[alone] - reach, 0)]
    upper[alone] = distinct[np.minimum(value_of[alone] + reach, distinct.size - 1)]
    low[rows], high[rows] = lower[pair], upper[pair]
    return Smoothing(low, high, resolution(distinct))
