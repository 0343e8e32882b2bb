"""Tests of all pairs at once against scipy's tests one by one, by hand, and in the corners."""

import numpy as np
import pytest
from association_columns import in_both, random_columns
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from sfumato.errors import DataError, ParameterError
from sfumato.kernels import WORTH_COMPILING
from sfumato.utility.association import REASONS, TESTS, WEIGHTED, Column, PairTests, pair_tests
from sfumato.utility.association import pairs as groups_module

Floats = NDArray[np.float64]
nan = np.nan

TABLE_1 = {
    ("nominal", "nominal"): "chi-squared",
    ("nominal", "ordinal"): "Kruskal-Wallis",
    ("nominal", "skewed"): "Kruskal-Wallis",
    ("nominal", "normal"): "ANOVA",
    ("ordinal", "ordinal"): "Spearman",
    ("ordinal", "skewed"): "Spearman",
    ("ordinal", "normal"): "Spearman",
    ("skewed", "skewed"): "Spearman",
    ("skewed", "normal"): "Spearman",
    ("normal", "normal"): "Pearson",
}


def by_scipy(first: Column, second: Column, test: str) -> tuple[float, float, float]:
    """Statistic, P and squared coefficient of one pair."""
    if second.scale == "nominal" and first.scale != "nominal":
        first, second = second, first
    x, y = in_both(first, second)
    n = len(x)
    if test == "chi-squared":
        table = stats.contingency.crosstab(x, y).count
        found = stats.chi2_contingency(table, correction=False)
        return found.statistic, found.pvalue, stats.contingency.association(table, "cramer") ** 2
    if test in ("Kruskal-Wallis", "ANOVA"):
        groups = [y[x == category] for category in np.unique(x)]
        if test == "Kruskal-Wallis":
            found = stats.kruskal(*groups)
            return found.statistic, found.pvalue, found.statistic * (n + 1) / (n**2 - 1)
        found = stats.f_oneway(*groups)
        y, groups = y - y[0], [group - y[0] for group in groups]  # a large offset would cost digits
        between = sum(len(group) * (group.mean() - y.mean()) ** 2 for group in groups)
        return found.statistic, found.pvalue, between / ((y - y.mean()) ** 2).sum()
    found = stats.spearmanr(x, y) if test == "Spearman" else stats.pearsonr(x, y)
    return found.statistic, found.pvalue, found.statistic**2


def check_against_scipy(columns: list[Column], found: PairTests) -> None:
    assert len(found.first) == len(columns) * (len(columns) - 1) // 2
    assert (found.reason == 0).all()
    for k, (i, j) in enumerate(zip(found.first, found.second, strict=True)):
        first, second = columns[i], columns[j]
        test = TESTS[found.test[k]]
        assert test == TABLE_1.get((first.scale, second.scale), TABLE_1.get((second.scale, first.scale)))
        statistic, p, squared = by_scipy(first, second, test)
        assert found.count[k] == found.effective[k] == len(in_both(first, second)[0])
        assert found.statistic[k] == pytest.approx(statistic, rel=1e-9, abs=1e-11)
        assert found.p[k] == pytest.approx(p, rel=1e-7, abs=1e-300)
        assert found.squared[k] == pytest.approx(squared, rel=1e-9, abs=1e-12)
        if test in ("Spearman", "Pearson"):
            assert found.coefficient[k] == found.statistic[k]
        else:
            expected = np.sqrt(squared) if test == "chi-squared" else squared
            assert found.coefficient[k] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("records", [80, 300, WORTH_COMPILING + 11])
def test_every_pair_of_scales_equals_scipy(records: int, missing: float) -> None:
    columns = random_columns(records, 4 if records < 1000 else 2, seed=records, missing=missing)
    check_against_scipy(columns, pair_tests(columns))


@pytest.mark.parametrize("records", [200, WORTH_COMPILING])
@pytest.mark.parametrize("scale", ["nominal", "ordinal", "skewed", "normal"])
def test_one_scale_alone(scale: str, records: int) -> None:
    columns = [c for c in random_columns(records, 4, seed=3, missing=0.2) if c.scale == scale]
    check_against_scipy(columns, pair_tests(columns))


def test_no_pairs() -> None:
    assert len(pair_tests([]).p) == 0
    assert len(pair_tests([Column("a", "normal", np.arange(5.0))]).p) == 0


def test_no_records() -> None:
    found = pair_tests([_kept(column, np.zeros(0, dtype=np.intp)) for column in random_columns(9, 2, seed=1)])
    assert (found.reason == 1).all()


def test_by_hand() -> None:
    sex = Column("sex", "nominal", np.array([0, 0, 0, 1, 1, 1, 2, -1]), 5)
    job = Column("job", "nominal", np.array([0, 0, 1, 1, 1, 1, -1, 0]), 2)
    grade = Column("grade", "ordinal", np.array([0, 1, 1, 2, 3, 3, -1, 3]), 4)
    height = Column("height", "normal", np.array([1.0, 2.0, 3.0, 4.0, 6.0, 8.0, nan, 9.0]))
    found = pair_tests([sex, job, grade, height])
    # sex x job, six records: 2 1 | 0 3, margins 3 3 and 2 4; E = 1 2 | 1 2; chi2 = 1 + 1/2 + 1 + 1/2 = 3; V^2 = 3/6
    assert found.statistic[0] == pytest.approx(3.0)
    assert found.squared[0] == pytest.approx(0.5)
    # sex x grade: ranks 1, 2.5, 2.5 | 4, 5.5, 5.5 of mean 3.5, sums 6 and 15: SSB = 2 * 3 * 1.5^2 = 13.5;
    # TSS = 2.5^2 + 2 * 1 + 0.5^2 + 2 * 2^2 = 16.5; H = 5 * 13.5 / 16.5; epsilon^2 = H * 7 / 35 = 13.5 / 16.5
    assert found.statistic[1] == pytest.approx(5 * 13.5 / 16.5)
    assert found.squared[1] == pytest.approx(13.5 / 16.5)
    # sex x height: means 2 and 6 of 4: SSB = 2 * 3 * 4 = 24; SSW = 2 + 8 = 10; F = 24 / (10 / 4); eta^2 = 24 / 34
    assert found.statistic[2] == pytest.approx(9.6)
    assert found.squared[2] == pytest.approx(24 / 34)
    # grade x height, seven records: ranks 1 2.5 2.5 4 6 6 6 against 1 to 7: products of deviations from 4:
    # 9 + 3 + 1.5 + 0 + 2 + 4 + 6 = 25.5; squares 9 + 4.5 + 0 + 12 = 25.5 and 28
    assert found.coefficient[5] == pytest.approx(25.5 / np.sqrt(25.5 * 28))
    assert found.count.tolist() == [6, 6, 6, 7, 7, 7]
    assert found.place(3, 2) == 5
    assert found.place(np.array([0, 1]), np.array([2, 3])).tolist() == [1, 4]


def test_ranks_are_those_among_the_records_that_have_both() -> None:
    # without the record that lacks b, a has the ranks 1 2 3 4 and b 4 3 2 1; the whole of a would give others
    a = Column("a", "skewed", np.array([1.0, 2.0, 2.0, 3.0, 4.0, nan]))
    b = Column("b", "skewed", np.array([9.0, 8.0, nan, 7.0, 6.0, 5.0]))
    assert pair_tests([a, b]).coefficient[0] == -1.0


def test_weighted_forms_by_definition() -> None:
    columns = random_columns(400, 2, seed=5, missing=0.2)
    rng = np.random.default_rng(6)
    weights = rng.uniform(0.2, 5.0, 400)
    weights[rng.random(400) < 0.1] = 0.0
    found, plain = pair_tests(columns, weights=weights), pair_tests([_kept(c, weights > 0) for c in columns])
    for k, (i, j) in enumerate(zip(found.first, found.second, strict=True)):
        test = TESTS[found.test[k]]
        if test not in WEIGHTED:
            assert found.statistic[k] == plain.statistic[k]
            assert found.p[k] == plain.p[k]
            continue
        first, second = columns[i], columns[j]
        if second.scale == "nominal":
            first, second = second, first
        both = ~(np.isnan(first.numbers()) | np.isnan(second.numbers())) & (weights > 0)
        x, y, w = first.numbers()[both], second.numbers()[both], weights[both]
        effective = w.sum() ** 2 / (w**2).sum()
        assert found.count[k] == both.sum()
        assert found.effective[k] == pytest.approx(effective)
        if test == "Pearson":
            covariance = np.cov(x, y, aweights=w)
            r = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
            t = r * np.sqrt((effective - 2) / (1 - r**2))
            assert found.statistic[k] == pytest.approx(r)
            assert found.p[k] == pytest.approx(2 * stats.t.sf(abs(t), effective - 2), rel=1e-7)
        elif test == "chi-squared":
            shares = np.array([[w[(x == a) & (y == b)].sum() for b in np.unique(y)] for a in np.unique(x)]) / w.sum()
            expected = stats.chi2_contingency(shares * effective, correction=False)
            assert found.statistic[k] == pytest.approx(expected.statistic)
            assert found.p[k] == pytest.approx(expected.pvalue, rel=1e-7)
        else:
            mean = np.average(y, weights=w)
            names = np.unique(x)
            parts = [(w[x == a].sum(), np.average(y[x == a], weights=w[x == a])) for a in names]
            share = sum(size * (own - mean) ** 2 for size, own in parts) / (w * (y - mean) ** 2).sum()
            f = share / (1 - share) * (effective - len(names)) / (len(names) - 1)
            assert found.squared[k] == pytest.approx(share)
            assert found.statistic[k] == pytest.approx(f)
            assert found.p[k] == pytest.approx(stats.f.sf(f, len(names) - 1, effective - len(names)), rel=1e-7)


def _kept(column: Column, rows: NDArray[np.generic]) -> Column:
    return Column(column.name, column.scale, column.values[rows], column.count)


@pytest.mark.parametrize("records", [200, WORTH_COMPILING])
def test_constant_weights_are_no_weights(records: int) -> None:
    columns = random_columns(records, 2, seed=7, missing=0.1)
    plain, weighted = pair_tests(columns), pair_tests(columns, weights=np.full(records, 0.1))
    for name in ("statistic", "p", "coefficient", "squared", "count", "effective", "reason"):
        assert np.array_equal(getattr(plain, name), getattr(weighted, name))


def test_weights_in_both_ways_of_counting_are_the_same() -> None:
    columns = random_columns(WORTH_COMPILING, 2, seed=8, missing=0.1)
    weights = np.random.default_rng(9).uniform(1, 3, WORTH_COMPILING)
    large = pair_tests(columns, weights=weights)
    # the same records with weight zero for one more: below the bound, in numpy
    weights[-1] = 0.0
    small = pair_tests(columns, weights=weights)
    assert np.allclose(large.statistic, small.statistic, rtol=0.02, atol=0.02)
    again = pair_tests([_kept(c, weights > 0) for c in columns], weights=weights[:-1])
    assert np.array_equal(small.statistic, again.statistic)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 30), st.sampled_from([0.0, 0.3, 0.8]))
def test_small_files_give_a_figure_or_a_reason(seed: int, records: int, missing: float) -> None:
    columns = random_columns(records, 2, seed, missing)
    found = pair_tests(columns)
    there = found.reason == 0
    for figures in (found.p, found.coefficient, found.squared):
        assert np.isfinite(figures[there]).all()
        assert np.isnan(figures[~there]).all()
    assert not np.isnan(found.statistic[there]).any()
    assert ((found.squared[there] >= 0) & (found.squared[there] <= 1)).all()
    assert ((found.p[there] >= 0) & (found.p[there] <= 1)).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_order_of_records_and_columns_changes_nothing(seed: int) -> None:
    columns = random_columns(60, 2, seed, 0.2)
    rng = np.random.default_rng(seed)
    rows, order = rng.permutation(60), rng.permutation(len(columns))
    found = pair_tests(columns)
    other = pair_tests([_kept(columns[k], rows) for k in order])
    same = found.place(order[other.first], order[other.second])
    assert np.allclose(found.p[same], other.p, rtol=1e-8, equal_nan=True)
    assert np.allclose(found.coefficient[same], other.coefficient, rtol=1e-9, atol=1e-12, equal_nan=True)


def test_reasons() -> None:
    constant = Column("constant", "normal", np.full(6, 0.1) * 3)
    empty = Column("empty", "skewed", np.full(6, nan))
    few = Column("few", "normal", np.array([1.0, 2.0, nan, nan, nan, nan]))
    there = Column("there", "normal", np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0]))
    one = Column("one", "nominal", np.zeros(6, dtype=np.int32), 3)
    each = Column("each", "nominal", np.arange(6), 6)
    group = Column("group", "nominal", np.array([0, 0, 0, 1, 1, 1]), 2)
    columns = [constant, empty, few, there, one, each, group]
    found = pair_tests(columns)

    def reason(a: int, b: int) -> str:
        return REASONS[found.reason[found.place(a, b)]]

    assert reason(0, 3) == reason(0, 6) == reason(3, 4) == reason(4, 6) == REASONS[3]
    assert reason(1, 3) == reason(1, 6) == "no record has both"
    assert reason(2, 3) == reason(2, 6) == REASONS[2]
    assert reason(3, 5) == "no group holds more than one record"
    assert reason(3, 6) == reason(5, 6) == ""


def test_constant_only_where_both_are_present() -> None:
    # where b is present, a is 7.1 throughout, up to the last digit; its mean over all records is far away
    a = Column("a", "normal", np.append(np.full(50, 7.1), np.random.default_rng(1).normal(0, 1e6, 50)))
    b = Column("b", "normal", np.append(np.random.default_rng(2).normal(size=50), np.full(50, nan)))
    g = Column("g", "nominal", np.append(np.arange(50) % 3, np.full(50, -1)), 3)
    found = pair_tests([a, b, g])
    assert [REASONS[r] for r in found.reason[:2]] == [REASONS[3]] * 2


def test_what_little_varies_where_both_are_present_is_exact() -> None:
    rng = np.random.default_rng(3)
    x, y = 5e6 + rng.normal(size=50), rng.normal(size=50)
    a = Column("a", "normal", np.append(x, rng.normal(0, 1e9, 50)))
    b = Column("b", "normal", np.append(y, np.full(50, nan)))
    g = Column("g", "nominal", np.append(np.arange(50) % 3, np.full(50, -1)), 3)
    check_against_scipy([a, b, g], pair_tests([a, b, g]))


def test_groups_without_spread_have_an_infinite_f() -> None:
    group = Column("group", "nominal", np.array([0, 0, 1, 1, 2, 2]), 3)
    value = Column("value", "normal", np.array([0.1, 0.1, 0.7, 0.7, 0.3, 0.3]))
    found = pair_tests([group, value])
    assert (found.statistic[0], found.p[0], found.squared[0]) == (np.inf, 0.0, 1.0)
    # 0.1 + 0.2 is not 0.3, but the difference is rounding
    value = Column("value", "normal", np.array([0.1, 0.1, 0.7, 0.7, 0.3, 0.1 + 0.2]))
    assert pair_tests([group, value]).statistic[0] == np.inf


def test_perfect_correlation() -> None:
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    for scale in ("normal", "skewed"):
        up, down = Column("up", scale, x), Column("down", scale, -3 * x)
        found = pair_tests([up, down])
        assert found.coefficient[0] == pytest.approx(-1.0, abs=1e-15)
        assert found.p[0] == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e307])
def test_large_and_small_units_change_nothing(scale: float) -> None:
    columns = random_columns(100, 2, seed=4, missing=0.3)
    scaled = [Column(c.name, c.scale, c.values * scale) if c.scale == "normal" else c for c in columns]
    found, other = pair_tests(columns), pair_tests(scaled)
    assert np.allclose(found.p, other.p, rtol=1e-9)
    assert np.allclose(found.squared, other.squared, rtol=1e-9)


def test_nominals_with_many_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    n = WORTH_COMPILING
    codes = [rng.integers(0, 600, n).astype(np.int32) for _ in range(2)]
    columns = [Column(f"n{k}", "nominal", code, 600) for k, code in enumerate(codes)]
    columns += [Column("x", "normal", rng.normal(size=n)), Column("y", "skewed", rng.normal(size=n))]
    monkeypatch.setattr(groups_module, "SUMS", 10_000)
    check_against_scipy(columns, pair_tests(columns))


def test_progress_counts_up_to_all_pairs() -> None:
    for records in (50, WORTH_COMPILING):
        told: list[int] = []
        columns = random_columns(records, 4, seed=1, missing=0.1)
        pair_tests(columns, progress=told.append)
        assert told == sorted(told)
        assert told[-1] == 16 * 15 // 2


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("records", [60, WORTH_COMPILING])
@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_of_columns_that_are_the_same_need_no_test(records: int, missing: float, weighted: bool) -> None:
    weights = np.random.default_rng(2).uniform(0.5, 2, records) if weighted else None
    before = random_columns(records, 3, seed=1, missing=missing)
    other = random_columns(records, 3, seed=4, missing=missing)
    known = pair_tests(before, weights=weights)
    for share in (0.0, 0.3, 0.7, 1.0):
        same = np.random.default_rng(5).random(len(before)) < share
        after = [b if kept else o for b, o, kept in zip(before, other, same, strict=True)]
        told: list[int] = []
        found = pair_tests(after, weights=weights, known=(known, same), progress=told.append)
        anew = pair_tests(after, weights=weights)
        for name in ("statistic", "p", "coefficient", "squared", "effective"):
            np.testing.assert_allclose(getattr(found, name), getattr(anew, name), rtol=1e-9, atol=1e-12)
        for name in ("test", "count", "reason"):
            np.testing.assert_array_equal(getattr(found, name), getattr(anew, name))
        both = same[found.first] & same[found.second]
        assert np.array_equal(found.p[both], known.p[both], equal_nan=True)
        assert told[-1] == len(found.p)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="'a': the scale must be one of"):
        Column("a", "interval", np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="'a' is nominal: codes"):
        Column("a", "nominal", np.zeros(3), 1)
    with pytest.raises(DataError, match="codes must be 0 to 1, or -1 for missing; they go from 0 to 2"):
        Column("a", "nominal", np.array([0, 2]), 2)
    with pytest.raises(DataError, match="infinite"):
        Column("a", "normal", np.array([0.0, np.inf]))
    with pytest.raises(DataError, match="one number or code per record"):
        Column("a", "normal", np.zeros((2, 2)))
    a, b = Column("a", "normal", np.zeros(3)), Column("b", "normal", np.zeros(4))
    with pytest.raises(DataError, match="lengths are"):
        pair_tests([a, b])
    with pytest.raises(DataError, match="same name"):
        pair_tests([a, a])
    with pytest.raises(DataError, match="as many weights"):
        pair_tests([a], weights=np.ones(4))
    for wrong in ([1.0, -1.0, 1.0], [1.0, nan, 1.0], [1.0, np.inf, 1.0]):
        with pytest.raises(DataError, match="record 2"):
            pair_tests([a], weights=np.array(wrong))
    with pytest.raises(DataError, match="every weight is zero"):
        pair_tests([a], weights=np.zeros(3))
