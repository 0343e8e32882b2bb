"""Every pair of variables of a file tested for association, each by the test that fits its two scales."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.kernels import Progress
from sfumato.kernels.contingency import Table, each_table, residual_change
from sfumato.kernels.ranks import rank_correlations, rank_sums
from sfumato.kernels.spread import ROUNDING
from sfumato.utility.association.columns import BLOCK, CELLS, SCALES, Column, File, Floats, Indices, Standardised

# Correlations of ranks and of values for all pairs: by matrices where they can be, pair by pair where they cannot

CANCELLED = 1e-6  # a sum of squares of which less than this share is left is computed again, in two passes


@dataclass(frozen=True, eq=False)
class Correlations:
    """The coefficient of each pair (NaN where one of the two is constant), and the records that have both."""

    coefficient: Floats
    records: NDArray[np.int64]
    effective: Floats


def _spearman(file: File, first: Indices, second: Indices, progress: Progress | None = None) -> Correlations:
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


def _pearson(file: File, places: Indices, first: Indices, second: Indices, scores: Standardised) -> Correlations:
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


# Ranks and values summed by the categories of nominal variables, for all pairs at once

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


def _value_groups(file: File, nominals: Indices, others: Indices, scores: Standardised) -> Iterator[Groups]:
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


# The tests

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
NO_RECORDS, TOO_FEW_RECORDS, CONSTANT_COLUMN, SINGLE_CATEGORY = 1, 2, 3, 4

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
    found = _PairFigures(file, progress, known)
    found.tables()
    found.ranks_by_group()
    found.values_by_group()
    found.rank_correlations()
    found.correlations()
    return found.tests()


def pair_place(i: Indices, j: Indices, size: int) -> Indices:
    """Return the place of a pair i < j in the upper triangle of a square, read by rows."""
    return np.asarray(i * (2 * size - i - 1) // 2 + j - i - 1, dtype=np.intp)


class _PairFigures:
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
            for groups in _value_groups(self.file, nominals, others, scores):
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
        self._correlated(where, _spearman(self.file, self.first[where], self.second[where], self._report))

    def correlations(self) -> None:
        where = self._of("Pearson")
        i, j = (np.searchsorted(self.normal, side[where]) for side in (self.first, self.second))
        if len(where):
            self._correlated(where, _pearson(self.file, self.normal, i, j, self.scores))

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
        self.reason[where] = np.select(holds, [NO_RECORDS, TOO_FEW_RECORDS, CONSTANT_COLUMN, SINGLE_CATEGORY], 0)

    def _report(self, more: int) -> None:
        if self.progress is not None:
            self.progress(self.done + more)

    def _advance(self, pairs: int) -> None:
        self.done += pairs
        self._report(0)


# Whether an association with a nominal variable points the other way in the protected file

TABLES = 256  # pairs whose tables of both files are held at a time
LARGEST = 1e100  # ratio of the units of the two files: beyond it only the sign counts


def turned(
    original: Sequence[Column],
    protected: Sequence[Column],
    pairs: Indices,
    *,
    weights: tuple[Floats | None, Floats | None] = (None, None),
) -> Floats:
    """Measure, for pairs with a nominal variable, how far the protected file turns the association round.

    Section 3.4.1 of Kocar: sum |MSD_o - MSD_p| - sum |MSD_o|, where MSD are the standardised residuals of the cells of
    a contingency table, (O - E) / sqrt(E), or the sums of squares between groups, n_i (mean_i - mean)^2, of values
    (where the other variable is normal in the original) or of ranks, with a minus where a group lies below the mean.
    Here it is divided by sum |MSD_o|: -1 says that nothing has changed, 0 that nothing is left, 1 that every difference
    is there with the opposite sign; more than 0 is a reversed direction. It is 0 where the original shows no
    association at all.

    Files may differ in size, and the printed measures grow with it: a synthetic file of twice the records would count
    as reversed. They are therefore taken per record (residuals over sqrt(n), sums of squares over n, those of ranks
    over n^3); for files of equal size that changes nothing. What it does not cure is the expression itself: sums of
    squares between groups that more than double in the same direction also exceed 0.

    ``pairs`` holds the places of two columns in each row. The columns of both files come in the same order, and the
    same code means the same category. ``weights``, of each file, are used as in ``pair_tests``.
    """
    pairs = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
    if len(original) != len(protected):
        raise ParameterError(f"the files have {len(original)} and {len(protected)} columns; they must be the same")
    used, places = np.unique(pairs, return_inverse=True)
    before = File([original[k] for k in used], weights[0])
    after = File([protected[k] for k in used], weights[1])
    _check(before, after)
    places = places.reshape(-1, 2)
    nominal = np.isin(places, before.nominal)
    if not nominal.any(axis=1).all():
        one, two = places[~nominal.any(axis=1)][0]
        names = f"{before.columns[one].name!r} and {before.columns[two].name!r}"
        raise ParameterError(f"neither of {names} is nominal: compare the signs of their correlations")
    change, strength = np.zeros(len(pairs)), np.zeros(len(pairs))
    tables = np.flatnonzero(nominal.all(axis=1))
    for start in range(0, len(tables), TABLES):
        rows = tables[start : start + TABLES]
        of_both = zip(_tables(before, places[rows]), _tables(after, places[rows]), strict=True)
        for row, (one, two) in zip(rows, of_both, strict=True):
            change[row], strength[row] = residual_change(one, two)
    _compare_groups(before, after, places, nominal, change, strength)
    found: Floats = np.where(strength > 0, change / np.where(strength > 0, strength, 1.0) - 1, 0.0)
    return found


def _check(before: File, after: File) -> None:
    for one, two in zip(before.columns, after.columns, strict=True):
        if (one.scale == "nominal") != (two.scale == "nominal"):
            raise DataError(
                f"variable {one.name!r} is {one.scale} in the original and {two.scale} in the protected file: "
                "directions cannot be compared"
            )
        if one.scale == "nominal" and one.count != two.count:
            raise DataError(
                f"variable {one.name!r} has {one.count} categories in the original and {two.count} in the protected "
                "file; both need the same list"
            )


def _tables(file: File, places: Indices) -> list[Table]:
    found: dict[int, Table] = {}
    rows = file.row[places]
    each_table(file.codes, file.counts, rows[:, 0], rows[:, 1], file.weights, found.__setitem__)
    return [found[k] for k in range(len(places))]


def _compare_groups(
    before: File, after: File, places: Indices, nominal: NDArray[np.bool_], change: Floats, strength: Floats
) -> None:
    """Compare the groups of all pairs of a nominal and another variable."""
    mixed = np.flatnonzero(nominal.sum(axis=1) == 1)
    group, other = places[mixed][nominal[mixed]], places[mixed][~nominal[mixed]]
    normal = np.array([before.columns[place].scale == "normal" for place in other], dtype=np.bool_)
    for chosen, measure in ((~normal, _by_ranks), (normal, _by_values)):
        if not chosen.any():
            continue
        others = np.unique(other[chosen])
        for place, one, two in measure(before, after, np.unique(group[chosen]), others):
            here = np.flatnonzero(chosen & (group == place))
            column = np.searchsorted(others, other[here])
            change[mixed[here]] = np.abs(one - two).sum(axis=0)[column]
            strength[mixed[here]] = np.abs(one).sum(axis=0)[column]


def _by_ranks(before: File, after: File, nominals: Indices, others: Indices) -> Iterator[tuple[int, Floats, Floats]]:
    for part in parts(before, nominals, len(others)):
        files = [
            {g.nominal: g.signed() / np.maximum(g.records, 1.0) ** 2 for g in rank_groups(file, part, others)}
            for file in (before, after)
        ]
        for place in part.tolist():
            yield place, files[0][place], files[1][place]


def _by_values(before: File, after: File, nominals: Indices, others: Indices) -> Iterator[tuple[int, Floats, Floats]]:
    scores = [Standardised.of([file.columns[place] for place in others]) for file in (before, after)]
    units = [np.where(s.spreads > 0, s.spreads, 1.0) for s in scores]
    with np.errstate(over="ignore"):
        ratio = units[1] / units[0] * np.ldexp(1.0, scores[1].exponents - scores[0].exponents)
    ratio = np.clip(ratio, 1 / LARGEST, LARGEST) ** 2
    for part in parts(before, nominals, 2 * len(others)):
        files = [
            {g.nominal: g.signed() for g in _value_groups(file, part, others, s)}
            for file, s in zip((before, after), scores, strict=True)
        ]
        for place in part.tolist():
            yield place, files[0][place], files[1][place] * ratio
