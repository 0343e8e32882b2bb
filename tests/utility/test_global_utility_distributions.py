"""One variable in two tables: tests of its distribution, and what is lost by putting values together."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from sfumato.pair.statistics import Values
from sfumato.utility.global_utility.coarsening import allocation, comparisons, heterogeneity, kept
from sfumato.utility.global_utility.univariate import (
    Comparison,
    categories_alike,
    numbers_alike,
    weighted_numbers_alike,
)

rng = np.random.default_rng(7)


def codes(*counts: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.repeat(np.arange(len(counts)), counts).astype(np.int32)


# 1 - exp(-14 P)


@pytest.mark.parametrize(("p", "utility"), [(0.05, 0.503), (0.01, 0.131), (0.0, 0.0), (1.0, 0.999999)])
def test_utility_of_a_p_value_as_printed(p: float, utility: float) -> None:
    assert Comparison("", 0.0, p, 0.0).utility == pytest.approx(utility, abs=5e-4 if p < 1 else 5e-7)


def test_kolmogorov_smirnov_by_hand() -> None:
    # after 2 the first table has 2/4 of its values, the second none: D = 1/2, the largest gap
    # P(D >= 1/2) for 4 and 4: 2 [C(8, 2) - C(8, 0)] / C(8, 4) = 2 (28 - 1) / 70 = 54/70
    found = numbers_alike(Values.of(np.array([1.0, 2, 3, 4])), Values.of(np.array([3.0, 4, 5, 6])))
    assert (found.test, found.distance) == ("Kolmogorov-Smirnov", 0.5)
    assert found.p == pytest.approx(54 / 70)
    assert found.utility == pytest.approx(1 - np.exp(-14 * 54 / 70))


@pytest.mark.parametrize(("n", "m"), [(30, 30), (30, 47), (5000, 1234), (30_000, 20_000), (50, 12_000)])
@pytest.mark.parametrize("whole", [False, True])
def test_kolmogorov_smirnov_by_reference(n: int, m: int, whole: bool) -> None:
    for shift in (0.0, 0.02, 0.05, 1.0):
        x, y = rng.normal(size=n), rng.normal(shift, 1, size=m)
        if whole:
            x, y = np.round(x * 5), np.round(y * 5)  # ties
        theirs, ours = stats.ks_2samp(x, y), numbers_alike(Values.of(x), Values.of(y))
        assert ours.distance == pytest.approx(theirs.statistic, rel=1e-12)
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-8, abs=1e-300)
    assert numbers_alike(Values.of(x), Values.of(x)).p == stats.ks_2samp(x, x).pvalue == 1


def test_chi_squared_by_hand() -> None:
    # (30, 10) and (20, 20): 80 (30 * 20 - 10 * 20)^2 / (40 * 40 * 50 * 30) = 16/3; shares .75 and .5
    found = categories_alike(codes(30, 10), codes(20, 20), 2)
    assert found.statistic == pytest.approx(16 / 3)
    assert found.distance == pytest.approx(0.25)
    assert found.sparse == 0


@given(st.lists(st.integers(0, 30), min_size=2, max_size=8), st.lists(st.integers(0, 30), min_size=2, max_size=8))
@example([5, 12, 30, 30], [5, 12, 30, 30])  # 5 are expected, which rounding must not put below 5
def test_chi_squared_by_reference(first: list[int], second: list[int]) -> None:
    k = min(len(first), len(second))
    table = np.array([first[:k], second[:k]])
    if not table.sum(axis=1).all():
        return
    found = categories_alike(codes(*table[0]), codes(*table[1]), k)
    used = table[:, table.sum(axis=0) > 0]  # categories nobody has do not count
    theirs = stats.chi2_contingency(used, correction=False)
    assert found.statistic == pytest.approx(theirs.statistic, abs=1e-9)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)
    assert found.sparse == pytest.approx(np.mean(theirs.expected_freq < 5))


# weights


def test_weighted_distance_is_that_of_repeated_records() -> None:
    x, y = rng.integers(0, 20, 40).astype(float), rng.integers(2, 22, 60).astype(float)
    w, v = rng.integers(1, 5, 40), rng.integers(1, 5, 60)
    weighted = weighted_numbers_alike(x, y, w.astype(float), v.astype(float))
    repeated = numbers_alike(Values.of(np.repeat(x, w)), Values.of(np.repeat(y, v)))
    assert weighted.distance == pytest.approx(repeated.distance)
    assert weighted.p > repeated.p  # a weight of 4 is not four records
    n, m = w.sum() ** 2 / (w @ w), v.sum() ** 2 / (v @ v)  # Kish
    assert weighted.p == pytest.approx(stats.kstwo.sf(weighted.distance, np.round(n * m / (n + m))))


def test_equal_weights_are_no_weights_for_chi_squared() -> None:
    x, y = rng.integers(0, 4, 200).astype(np.int32), rng.integers(0, 4, 150).astype(np.int32)
    plain, equal = categories_alike(x, y, 4), categories_alike(x, y, 4, (np.full(200, 3.0), np.full(150, 0.5)))
    assert equal.statistic == pytest.approx(plain.statistic, rel=1e-12)
    assert equal.distance == pytest.approx(plain.distance, rel=1e-12)


def test_corrected_chi_squared_has_the_mean_of_its_distribution_whatever_the_weights() -> None:
    # by theory: under equal distributions the mean is the degrees of freedom; uncorrected it is about 1.6 times that
    local = np.random.default_rng(11)
    found = []
    for _ in range(600):
        x, y = (local.choice(4, size, p=[0.4, 0.3, 0.2, 0.1]).astype(np.int32) for size in (400, 300))
        w, v = local.lognormal(sigma=0.7, size=400), local.lognormal(sigma=0.7, size=300)
        found.append(categories_alike(x, y, 4, (w, v)).statistic)
    assert np.mean(found) == pytest.approx(3, abs=4 * np.sqrt(2 * 3 / 600))


# values put together


def test_comparisons_by_hand() -> None:
    assert comparisons(10, 5) == pytest.approx(10 / 45)  # the paper's age groups: .222
    assert comparisons(100, 95) == pytest.approx(0.902, abs=5e-4)
    assert (comparisons(4, 4), comparisons(4, 1), comparisons(1, 1)) == (1, 0, 1)


def test_allocation_by_hand() -> None:
    # 39 is nearer to 40 (1) than to 33 (6); 33 is 7 from 40 and 6 from 39: in its place
    # 40 is 1 from 39 and 9 from 49; 49 is 10 from 39 and 9 from 40
    ages = np.array([33.0, 39.0, 40.0, 49.0])
    assert allocation(ages, np.array([0, 0, 1, 1])) == 0.5
    assert allocation(ages, np.zeros(4, dtype=np.int32)) == 1  # no other class is near
    assert allocation(ages, np.arange(4, dtype=np.int32)) == 1  # each value its own class
    assert allocation(ages, np.array([0, 0, 1, 1]), np.array([1.0, 3.0, 0.0, 1.0])) == pytest.approx(1 - 3 / 5)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=40))
def test_allocation_is_what_its_words_say(pairs: list[tuple[int, int]]) -> None:
    assigned = dict(pairs)  # each value in one class
    values = np.array([float(v) for v, _ in pairs])
    classes = np.array([assigned[int(v)] for v in values], dtype=np.int32)
    biased = 0
    for x, own in zip(values, classes, strict=True):
        others = np.abs(values[classes != own] - x)
        biased += bool(others.size) and others.min() < np.abs(values[classes == own] - x).max()
    assert allocation(values, classes) == pytest.approx(1 - biased / len(values))


def test_heterogeneity_by_hand() -> None:
    # class means 2 and 8, grand mean 5: distances 1, 1, 1, 1 against 4, 2, 2, 4
    values = np.array([1.0, 3.0, 7.0, 9.0])
    assert heterogeneity(values, np.array([0, 0, 1, 1])) == pytest.approx(1 - 4 / 12)
    assert heterogeneity(values, np.zeros(4, dtype=np.int32)) == 0
    assert heterogeneity(values, np.arange(4, dtype=np.int32)) == 1
    assert heterogeneity(np.full(3, 0.1), np.zeros(3, dtype=np.int32)) == 1  # a constant has nothing to lose
    # the first value three times: class means 1.5 and 8, grand mean (3 + 3 + 16) / 6 = 11/3
    within = 3 * 0.5 + 1.5 + 1 + 1
    every = 3 * (11 / 3 - 1) + (11 / 3 - 3) + (7 - 11 / 3) + (9 - 11 / 3)
    weights = np.array([3.0, 1, 1, 1])
    assert heterogeneity(values, np.array([0, 0, 1, 1]), weights) == pytest.approx(1 - within / every)


def test_categories_only_lose_comparisons() -> None:
    before, after = codes(5, 5, 5, 5), codes(10, 10)
    for alternative in ("comparisons", "allocation", "heterogeneity"):
        assert kept(alternative, before, after, None) == pytest.approx(2 / 12)
    values = np.array([1.0, 3.0, 7.0, 9.0])
    assert kept("comparisons", values, codes(2, 2), None) == pytest.approx(2 / 12)
    assert kept("heterogeneity", values, codes(2, 2), None) == pytest.approx(2 / 3)
