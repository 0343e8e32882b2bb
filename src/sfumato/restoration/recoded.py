"""Values told by a column that is the variable under other names: a code beside a text.

A category that no record shows any more is learnt from nobody, least of all if one record had it. But where two
columns go one by one in all other records, a code that only records without the category have is that category: by the
code book, by the order of the codes, or by the label that a file gives it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.restoration.aims import Aim
from sfumato.restoration.prediction import Evidence

SEVERAL = 3  # categories that two records show at least, with a code each
ENOUGH = 30  # records that show them
AGREE = 0.99  # of these, and 9 in 10 of those that show another than the commonest, must go one by one
RARER = 0.9

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Unseen:
    """The protected rows of categories that no record shows, and what the others show."""

    rows: Mask
    shown: Mask
    truth: Integers

    @classmethod
    def of(cls, aim: Aim) -> "Unseen | None":
        """Return them of a variable; None of numbers, and where each category is still shown."""
        if aim.number:
            return None
        shown = aim.told.present & (aim.told.codes == aim.truth.codes)
        shown[aim.cells] = False
        rows = np.zeros(len(shown), dtype=bool)
        rows[aim.cells] = ~np.isin(aim.truth.codes[aim.cells], aim.told.codes)
        return cls(rows, shown, aim.truth.codes) if rows.any() else None

    def told(self, evidence: Evidence) -> Mask | None:
        """Tell which of the rows have a code of their own in a column that recodes the variable; None if it does not.

        Such a code is no other record's, but those of the same category.
        """
        categories = int(self.truth.max(initial=-1)) + 1
        if len(evidence.shown) > 1 or evidence.number > 2 * categories:
            return None
        there = np.ones(len(self.rows), dtype=bool) if evidence.blank is None else ~evidence.blank
        known = self.shown & there
        if not _one_by_one(self.truth[known], evidence.codes[known]):
            return None
        mine = self.rows & there
        others = np.bincount(evidence.codes[~mine], minlength=evidence.number) > 0
        pairs = np.unique(evidence.codes[mine] * categories + self.truth[mine])
        several = np.bincount(pairs // categories, minlength=evidence.number) > 1
        return np.asarray(mine & ~others[evidence.codes] & ~several[evidence.codes])


def _one_by_one(truth: Integers, codes: Integers) -> bool:
    """Tell whether each category has its own code and each code its category, but for a few records.

    Categories of single records prove nothing: a number of which each record has its own goes one by one with them.
    """
    counts = np.bincount(truth)
    there = counts[truth] > 1
    truth, codes = truth[there], codes[there]
    if len(truth) < ENOUGH:
        return False
    width = int(codes.max()) + 1
    pairs, place, times = np.unique(truth * width + codes, return_inverse=True, return_counts=True)
    order = np.lexsort((-times, pairs // width))
    _, first = np.unique(pairs[order] // width, return_index=True)
    usual = order[first]  # of each category the pair that most of its records have
    if len(usual) < SEVERAL or len(np.unique(pairs[usual] % width)) < len(usual):
        return False
    agree = np.isin(place, usual)
    rarer = truth != counts.argmax()
    return bool(agree.mean() >= AGREE and agree[rarer].mean() >= RARER)
