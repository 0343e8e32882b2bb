"""What the number of records alone does to the score: the same differences, tested with fewer records."""

from collections.abc import Sequence

import numpy as np

from sfumato.data.microdata import Floats
from sfumato.utility.association import TESTS, Column, PairTests
from sfumato.utility.global_utility.bivariate import CORRELATIONS, Pairs
from sfumato.utility.global_utility.sides import Side

RECORDS = 1_000  # of a usual survey


def pair_utilities(sides: Sequence[Side], pairs: Pairs, threshold: float, records: int = RECORDS) -> Floats:
    """Return the utility of each pair if its coefficients came from no more than so many records.

    Fewer pairs are significant then: what is in neither table counts 1, what is in one only 0, the others as before.
    """
    seen = p_with(pairs.before, [s.before for s in sides], records) < threshold
    seen_after = p_with(pairs.after, [s.after for s in sides], records) < threshold
    judged = (pairs.unknown | ~np.isnan(pairs.utility)) & (pairs.after.reason == 0)
    found = pairs.utility.copy()
    found[judged & ~seen & ~seen_after] = 1.0
    found[judged & (seen != seen_after)] = 0.0
    return pairs.charged(found)


def p_with(tests: PairTests, columns: Sequence[Column], records: int) -> Floats:
    """Return the P values that these coefficients would have with no more than so many records, never smaller ones.

    The degrees of freedom are those of all categories that occur in a variable.
    """
    from scipy.special import betainc, chdtrc, fdtrc

    used = np.array([column.used if column.scale == "nominal" else 2 for column in columns], dtype=np.float64)
    freedom = np.maximum((used[tests.first] - 1) * (used[tests.second] - 1), 1.0)
    share = np.clip(np.nan_to_num(tests.squared), 0.0, 1.0)
    p = tests.p.copy()
    for name in TESTS[:3]:
        where = (tests.test == TESTS.index(name)) & (tests.effective > records)
        free, part = freedom[where], share[where]
        if name == "chi-squared":
            found = chdtrc(free, tests.statistic[where] * records / tests.effective[where])
        elif name == "Kruskal-Wallis":
            found = chdtrc(free, (records - 1) * part)
        else:
            with np.errstate(divide="ignore"):
                found = fdtrc(
                    free, np.maximum(records - free - 1, 1.0), part / free / ((1 - part) / (records - free - 1))
                )
        p[where] = np.fmax(p[where], found)
    where = np.isin(tests.test, CORRELATIONS) & (tests.effective > records)
    p[where] = np.fmax(p[where], betainc(records / 2 - 1, 0.5, 1 - share[where]))
    return p
