"""Every pair of variables of a file tested for association, each by the test that fits its two scales."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.kernels.contingency import Table, each_table
from sfumato.utility.association.columns import SCALES, Column, File, Floats, Indices, Standardised
from sfumato.utility.association.correlation import CANCELLED, Correlations, pearson, spearman
from sfumato.utility.association.groups import Groups, rank_groups, two_passes, value_groups

Flags = NDArray[np.bool_]

TESTS = ("chi-squared", "Kruskal-Wallis", "ANOVA", "Spearman", "Pearson")
WEIGHTED = ("chi-squared", "ANOVA", "Pearson")
REASONS = (
    "",
    "no record has both",
    "fewer than three records have both (by their effective number, where weights are used)",
    "a variable is constant where both are present",
    "no group holds more than one record",
)
NONE, FEW, CONSTANT, SINGLE = 1, 2, 3, 4

# Table 1 of Kocar, in the order of SCALES, by places in TESTS
TABLE_1 = np.array([[0, 1, 1, 2], [1, 3, 3, 3], [1, 3, 3, 3], [2, 3, 3, 4]], dtype=np.int8)


@dataclass(frozen=True, eq=False)
class PairTests:
    """The test of each pair of variables: statistic, P value, strength, and why there is none where there is none.

    One entry per pair, ``first < second``, in the order of the columns. ``test`` is a place in ``TESTS``.
    ``statistic`` is chi-squared, H, F, rho or r; F is infinite where the groups differ and have no spread within.
    ``coefficient`` is Cramer's V, epsilon squared, eta squared, and rho and r with their signs; ``squared`` is V^2 =
    (chi2 / n) / min(k - 1, r - 1) over the categories that occur, epsilon^2 = H (n + 1) / (n^2 - 1), eta^2 = SSB / TSS,
    rho^2, r^2. ``count`` is the number of records that have both, ``effective`` their effective number where the test
    is weighted. Where ``reason`` is not 0, ``REASONS`` says why there is no figure, and the four figures are NaN.
    """

    first: Indices
    second: Indices
    test: NDArray[np.int8]
    statistic: Floats
    p: Floats
    coefficient: Floats
    squared: Floats
    count: NDArray[np.int64]
    effective: Floats
    reason: NDArray[np.int8]
    size: int

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        return sum(entry.nbytes for entry in vars(self).values() if isinstance(entry, np.ndarray))

    def place(self, i: Indices | int, j: Indices | int) -> Indices:
        """Return the place of the pair of columns i and j, in either order."""
        return pair_place(np.minimum(i, j), np.maximum(i, j), self.size)


def pair_tests(
    columns: Sequence[Column],
    *,
    weights: Floats | None = None,
    progress: Callable[[int], None] | None = None,
    known: tuple[PairTests, Flags] | None = None,
) -> PairTests:
    """Test every pair of columns for association, over the records that have both.

    Two nominal variables: the chi-squared test of independence, without continuity correction. A nominal and an ordinal
    or skewed one: the Kruskal-Wallis H test, corrected for ties. A nominal and a normal one: the F test of one-way
    analysis of variance. Two normal ones: Pearson's correlation; all others: Spearman's, both with the two-sided P of
    Student's t with n - 2 degrees of freedom. Ranks are those among the records that have both.

    Survey weights enter where a weighted form is established: the weighted contingency table, weighted means and sums
    of squares, the weighted correlation. Their P values use Kish's effective number of records, (sum w)^2 / sum w^2, in
    place of the number: for a table, this is the first-order correction of Rao and Scott (1981) with the design effect
    that unequal weights have when they are unrelated to the two variables; strata and clusters are not taken into
    account. The two rank tests have no such form in general use and are computed without weights. Records of weight 0
    are left out of all tests; equal weights change nothing.

    P values fall with the number of records: at 100,000 nearly every pair of a real survey is significant, so read
    them together with the squared coefficients. ``progress`` gets the number of pairs finished so far.

    ``known``: the tests of another file with the same weights, and which of its columns are the same here. Pairs of
    such columns are not tested again.

    >>> region = Column("region", "nominal", np.array([0, 0, 1, 1, 1]), 2)
    >>> income = Column("income", "normal", np.array([1.0, 2.0, 4.0, 5.0, np.nan]))
    >>> found = pair_tests([region, income])
    >>> TESTS[found.test[0]], found.count[0], round(found.statistic[0], 6), round(found.squared[0], 6)
    ('ANOVA', np.int64(4), np.float64(18.0), np.float64(0.9))
    """
    if len({column.name for column in columns}) < len(columns):
        raise DataError("two columns have the same name; each needs one of its own")
    file = File(columns, weights)
    found = _Found(file, progress, known)
    found.tables()
    found.ranks_by_group()
    found.values_by_group()
    found.rank_correlations()
    found.correlations()
    return found.tests()


def pair_place(i: Indices, j: Indices, size: int) -> Indices:
    """Return the place of a pair i < j in the upper triangle of a square, read by rows."""
    return np.asarray(i * (2 * size - i - 1) // 2 + j - i - 1, dtype=np.intp)


class _Found:
    """The tests of a file in the making."""

    def __init__(
        self, file: File, progress: Callable[[int], None] | None, known: tuple[PairTests, Flags] | None
    ) -> None:
        self.file, self.progress = file, progress
        self.size = len(file.columns)
        first, second = np.triu_indices(self.size, 1)
        self.first, self.second = first.astype(np.intp), second.astype(np.intp)
        scales = np.array([SCALES.index(column.scale) for column in file.columns], dtype=np.intp)
        self.test = TABLE_1[scales[self.first], scales[self.second]]
        self.normal: Indices = np.flatnonzero(scales == SCALES.index("normal"))
        self.other: Indices = np.setdiff1d(file.ordered, self.normal)
        if known is None:
            self.statistic, self.p, self.coefficient, self.squared = (np.full(len(first), np.nan) for _ in range(4))
            self.count, self.effective = np.zeros(len(first), dtype=np.int64), np.zeros(len(first))
            self.reason = np.zeros(len(first), dtype=np.int8)
            self.same = np.zeros(self.size, dtype=np.bool_)
        else:
            tests, self.same = known
            self.statistic, self.p, self.coefficient, self.squared = (
                figures.copy() for figures in (tests.statistic, tests.p, tests.coefficient, tests.squared)
            )
            self.count, self.effective, self.reason = tests.count.copy(), tests.effective.copy(), tests.reason.copy()
        self.wanted = ~(self.same[self.first] & self.same[self.second])
        self.done = len(first) - int(self.wanted.sum())

    @cached_property
    def scores(self) -> Standardised:
        return self._standardised(self.normal)

    def _standardised(self, places: Indices) -> Standardised:
        return Standardised.of([self.file.columns[place] for place in places])

    def tests(self) -> PairTests:
        found = (self.statistic, self.p, self.coefficient, self.squared)
        for figures in found:
            figures[self.reason > 0] = np.nan
        return PairTests(self.first, self.second, self.test, *found, self.count, self.effective, self.reason, self.size)

    def _of(self, test: str) -> Indices:
        """Return the places of the pairs that are to be tested so."""
        return np.flatnonzero(self.wanted & (self.test == TESTS.index(test)))

    def _grouped(self, others: Indices) -> Iterator[tuple[Indices, Indices]]:
        """Yield nominal variables beside others, so that each pair to be tested comes once."""
        nominal = self.file.nominal
        same, fresh = nominal[self.same[nominal]], others[~self.same[others]]
        for groups, beside in ((nominal[~self.same[nominal]], others), (same, fresh)):
            if len(groups) and len(beside):
                yield groups, beside

    def tables(self) -> None:
        from scipy.special import chdtrc

        where = self._of("chi-squared")
        rows, columns = np.zeros(len(where), dtype=np.int64), np.zeros(len(where), dtype=np.int64)

        def take(k: int, table: Table) -> None:
            place = where[k]
            self.statistic[place], rows[k], columns[k] = table.chi_squared()
            self.count[place], self.effective[place] = table.records, table.effective

        i, j = self.file.row[self.first[where]], self.file.row[self.second[where]]
        each_table(self.file.codes, self.file.counts, i, j, self.file.weights, take, self._report)
        least = np.minimum(rows, columns) - 1
        self._say(where, constant=least < 1)
        self.p[where] = chdtrc(np.maximum((rows - 1) * (columns - 1), 1), self.statistic[where])
        of = np.maximum(self.effective[where] * least, np.finfo(np.float64).tiny)
        self.squared[where] = np.clip(self.statistic[where] / of, 0.0, 1.0)
        self.coefficient[where] = np.sqrt(self.squared[where])
        self._advance(len(where))

    def ranks_by_group(self) -> None:
        from scipy.special import chdtrc

        for groups in (g for sides in self._grouped(self.other) for g in rank_groups(self.file, *sides)):
            where = self._place(groups)
            present = groups.present()
            self._say(where, constant=(present < 2) | (groups.total <= 0))
            share = np.clip(groups.between() / np.where(groups.total > 0, groups.total, 1.0), 0.0, 1.0)
            self.statistic[where] = (groups.records - 1) * share
            self.p[where] = chdtrc(np.maximum(present - 1, 1), np.maximum(self.statistic[where], 0.0))
            self.squared[where] = self.coefficient[where] = share  # H (n + 1) / (n^2 - 1) = H / (n - 1)
            self._advance(len(where))

    def values_by_group(self) -> None:
        for nominals, others in self._grouped(self.normal):
            scores = self.scores if len(others) == len(self.normal) else self._standardised(others)
            for groups in value_groups(self.file, nominals, others, scores):
                self._analyse(groups, scores)

    def _analyse(self, groups: Groups, scores: Standardised) -> None:
        """Analyse the variance of normal variables between the groups of a nominal one."""
        from scipy.special import fdtrc

        where = self._place(groups)
        between, total = groups.between(), groups.total.copy()
        within = total - between
        for k in np.flatnonzero((within <= CANCELLED * total) | (total <= CANCELLED * groups.squares)):
            total[k], within[k] = two_passes(self.file, groups.nominal, scores, int(k))
            between[k] = total[k] - within[k]
        present = groups.present()
        rest = groups.effective - present
        self._say(where, constant=(present < 2) | (total <= 0), single=rest <= 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.statistic[where] = (between / (present - 1)) / (within / rest)
            self.squared[where] = self.coefficient[where] = np.clip(between / total, 0.0, 1.0)
        there = self.reason[where] == 0
        self.p[where[there]] = fdtrc((present - 1)[there], rest[there], self.statistic[where[there]])
        self._advance(len(where))

    def rank_correlations(self) -> None:
        where = self._of("Spearman")
        self._correlated(where, spearman(self.file, self.first[where], self.second[where], self._report))

    def correlations(self) -> None:
        where = self._of("Pearson")
        i, j = (np.searchsorted(self.normal, side[where]) for side in (self.first, self.second))
        if len(where):
            self._correlated(where, pearson(self.file, self.normal, i, j, self.scores))

    def _correlated(self, where: Indices, found: Correlations) -> None:
        from scipy.special import betainc

        self.count[where], self.effective[where] = found.records, found.effective
        self._say(where, constant=np.isnan(found.coefficient))
        r = found.coefficient
        self.statistic[where], self.coefficient[where], self.squared[where] = r, r, r**2
        # Student's t with n - 2 degrees of freedom, t^2 = (n - 2) r^2 / (1 - r^2), both sides
        self.p[where] = betainc(np.maximum(found.effective / 2 - 1, 0.5), 0.5, (1 - r) * (1 + r))
        self._advance(len(where))

    def _place(self, groups: Groups) -> Indices:
        """Note who was counted, and return the places of the pairs."""
        i, j = np.minimum(groups.nominal, groups.others), np.maximum(groups.nominal, groups.others)
        where = pair_place(i, j, self.size)
        self.count[where], self.effective[where] = groups.records, groups.effective
        return where

    def _say(self, where: Indices, *, constant: Flags, single: Flags | bool = False) -> None:
        """Give the first reason that holds."""
        count, effective = self.count[where], self.effective[where]
        holds = [count == 0, effective < 3, constant, np.broadcast_to(single, count.shape)]
        self.reason[where] = np.select(holds, [NONE, FEW, CONSTANT, SINGLE], 0)

    def _report(self, more: int) -> None:
        if self.progress is not None:
            self.progress(self.done + more)

    def _advance(self, pairs: int) -> None:
        self.done += pairs
        self._report(0)
