"""Trees against rpart, against every possible split, and the kernel against its plain twin."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.kernels.trees import MIN_CELLS, _set_by_classes, compiled, plain_split_shares
from sfumato.methods.cart_synthesis import Predictor, Rule, Tree, fit, predictor, visible

both = pytest.mark.parametrize("cells", [0, MIN_CELLS], ids=["plain", "compiled"])

# The tables of the R script below, which made the figures of the tests that name rpart (rpart 4.1.19):
#   i <- 1:400; a <- (i * 7919) %% 1009; b <- (i * 104729) %% 997; g <- (i * 31) %% 13
#   d <- data.frame(a, b, g = factor(g), y)
#   f <- rpart(y ~ a + b + g, d, method = ..., minbucket = 5, cp = ..., maxsurrogate = 0, maxcompete = 0, xval = 0)
#   l <- f$frame[f$frame$var == "<leaf>", ]
ROW = np.arange(1, 401)
A, B, G = (ROW * 7919) % 1009, (ROW * 104729) % 997, (ROW * 31) % 13


def predictors() -> list[Predictor]:
    return [
        predictor("numeric", A.astype(np.float64), 0),
        predictor("numeric", B.astype(np.float64), 0),
        predictor("nominal", G.astype(np.int32), 13),
    ]


def leaves(tree: Tree) -> list[NDArray[np.int32]]:
    return [tree.members[tree.stretch[0, k] : tree.stretch[1, k]] for k in np.flatnonzero(tree.column < 0)]


def grown(target: NDArray[np.generic], cells: int, least: int = 5) -> Tree:
    return fit(predictors(), target, np.arange(400, dtype=np.int32), Rule(least, 30, 1e-8, cells))


@both
def test_a_regression_tree_has_the_leaves_of_rpart(cells: int) -> None:
    # y <- a * (b > 500) + 37 * (g %% 5) + (i * i) %% 101 / 7; method = "anova", cp = 1e-8; o <- order(l$yval)
    # l$n[o]; round(l$yval[o], 4)
    sizes = """10, 9, 8, 9, 7, 6, 8, 12, 5, 6, 10, 5, 7, 9, 13, 12, 12, 7, 11, 12, 7, 7, 6, 10, 5, 12, 14, 8, 7, 13, 10,
        11, 12, 12, 8, 9, 11, 12, 12, 7, 8, 8, 13"""
    means = """3.0714, 6.2857, 8.5714, 9.4762, 10.449, 41.5238, 42.125, 43.2857, 45.8571, 46.2619, 46.3714, 52.9714,
        77.7755, 78.9841, 80.5165, 81.2143, 81.4167, 85.0612, 116.3506, 117, 122.0816, 149.1429, 153.0476, 154.2857,
        156.6286, 156.9881, 201.7959, 271.1964, 316.6939, 342.2967, 428.6714, 458.6883, 548.9643, 597.3214, 649.4286,
        718.9524, 739.3896, 820.3333, 864.2738, 924.8163, 960.3036, 983.2679, 1060.066"""
    y = A * (B > 500) + 37 * (G % 5) + (ROW * ROW) % 101 / 7
    found = sorted((float(y[rows].mean()), len(rows)) for rows in leaves(grown(y, cells)))
    assert [size for _, size in found] == [int(size) for size in sizes.split(",")]
    assert [mean for mean, _ in found] == pytest.approx([float(mean) for mean in means.split(",")], abs=1.1e-4)


@both
def test_a_tree_of_two_classes_has_the_leaves_of_rpart(cells: int) -> None:
    # k <- factor((a + 20 * (g %% 4) + (i * i) %% 101) %% 1000 > 450); method = "class", cp = -1
    # o <- order(l$n, l$yval2[, 3]); l$n[o]; l$yval2[o, 3]; table(f$frame$var): 7 splits by a, 2 by g
    k = ((A + 20 * (G % 4) + (ROW * ROW) % 101) % 1000 > 450).astype(np.int32)
    tree = grown(k, cells)
    found = sorted((len(rows), int(k[rows].sum())) for rows in leaves(tree))
    assert [size for size, _ in found] == [5, 8, 10, 11, 11, 13, 14, 28, 124, 176]
    assert [ones for _, ones in found] == [2, 3, 9, 4, 9, 10, 0, 0, 0, 176]
    assert np.bincount(tree.column + 1).tolist() == [10, 7, 0, 2]


@both
def test_a_tree_of_four_classes_is_as_good_as_rparts_which_tries_every_set(cells: int) -> None:
    # k <- factor((a %/% 180 + g %% 3 * (b > 400)) %% 4); method = "class", cp = -1; nrow(l); table(f$frame$var)
    # sum(l$n * (1 - rowSums((l$yval2[, 2:5] / l$n)^2)))
    k = ((A // 180 + G % 3 * (B > 400)) % 4).astype(np.int32)
    tree = grown(k, cells)
    counts = [np.bincount(k[rows]) for rows in leaves(tree)]
    assert np.bincount(tree.column + 1).tolist() == [27, 7, 7, 12]
    assert sum(c.sum() - (c * c).sum() / c.sum() for c in counts) == pytest.approx(8.514286, abs=1e-6)


@both
def test_a_tree_by_hand(cells: int) -> None:
    # leaves of 1, so nodes of 3 or more are split
    x = predictor("numeric", np.array([1.0, 2, 3, 7, 8, np.nan]), 0)
    y = np.array([0.0, 0, 0, 5, 5, 5])
    rows = np.arange(6, dtype=np.int32)
    tree = fit([x], y, rows, Rule(1, 30, 0.0, cells))
    # the missing one lies below all, in the order 5 0 0 0 5 5 with mean 2.5: a cut behind the first gains
    # 2.5^2 6 / (1 5) = 7.5, one behind the fourth 5^2 6 / (4 2) = 18.75; then 5 | 0 0 0
    assert tree.threshold[tree.column >= 0].tolist() == [5.0, -np.inf]
    assert sorted(sorted(rows.tolist()) for rows in leaves(tree)) == [[0, 1, 2], [3, 4], [5]]
    seen = visible("numeric", np.array([4.99, 5.01, np.nan, 5.0]))
    places = [tree.members[tree.stretch[0, k]] for k in tree.leaf([seen], 4)]
    assert [float(y[place]) for place in places] == [0.0, 5.0, 5.0, 0.0]
    stump = fit([x], y, rows, Rule(1, 0, 0.0, cells))
    assert stump.column.tolist() == [-1]
    assert fit([], y, rows, Rule(1, 30, 0.0, cells)).column.tolist() == [-1]


@both
def test_a_category_that_a_node_has_not_seen_follows_the_larger_side(cells: int) -> None:
    code = np.array([0, 0, 0, 1, 1, 1, 1], dtype=np.int32)
    tree = fit(
        [predictor("nominal", code, 3)], np.array([1.0, 1, 1, 9, 9, 9, 9]), np.arange(7, dtype=np.int32),
        Rule(2, 30, 0.0, cells),
    )  # fmt: skip
    leaf = tree.leaf([visible("nominal", np.array([0, 1, 2, -1], dtype=np.int32))], 4)
    assert leaf[0] != leaf[1] and leaf[2] == leaf[3] == leaf[1]


def tables(seed: int, n: int, kinds: int) -> tuple[list[Predictor], NDArray[np.generic]]:
    """Predictors with ties, gaps and many categories, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    number = np.round(rng.normal(size=n) * rng.choice([2, 1000]), 0)
    number[rng.random(n) < 0.1] = np.nan
    other = rng.exponential(size=n)
    region = rng.integers(-1, 12, n).astype(np.int32)
    town = rng.integers(0, 60, n).astype(np.int32)
    base = np.nan_to_num(number) / 3 + region % 5 * other + town % 7 + rng.normal(size=n)
    found = [
        predictor("numeric", number, 0),
        predictor("nominal", region, 12),
        predictor("numeric", other, 0),
        predictor("nominal", town, 60),
        predictor("ordinal", rng.integers(-1, 4, n).astype(np.int32), 4),
    ]
    return found, np.round(base, 1) if kinds == 0 else (np.floor(base * 2) % kinds).astype(np.int32)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 300),
    kinds=st.sampled_from([0, 2, 5, 30]),
    least=st.sampled_from([1, 2, 5, 20]),
)
def test_the_kernel_and_its_plain_twin_grow_the_same_tree(seed: int, n: int, kinds: int, least: int) -> None:
    found, target = tables(seed, n, kinds)
    rows = np.flatnonzero(np.random.default_rng(seed).random(n) < 0.8).astype(np.int32)
    if not rows.size:
        rows = np.arange(n, dtype=np.int32)
    tree, other = (fit(found, target, rows, Rule(least, 30, 1e-8, cells)) for cells in (0, MIN_CELLS))
    for name in ("column", "threshold", "begins", "children", "stretch", "members"):
        assert np.array_equal(getattr(tree, name), getattr(other, name))
    inner = tree.begins >= 0
    used = int(tree.begins.max() + 1) if inner.any() else 0
    assert np.array_equal(tree.flags[:used], other.flags[:used])
    # every record to fit comes to the leaf that lists it, no leaf is too small, and each record is in one
    columns = [predictor.levels[predictor.places] for predictor in found]
    leaf = tree.leaf(columns, n)
    for k in np.flatnonzero(tree.column < 0):
        members = tree.members[tree.stretch[0, k] : tree.stretch[1, k]]
        assert (leaf[members] == k).all()
        assert len(members) >= min(least, rows.size)
    assert np.array_equal(np.sort(tree.members), rows)


@settings(max_examples=40, deadline=None)
@given(st.integers(20, 300), st.integers(0, 10_000), st.booleans(), st.booleans())
def test_the_kernel_splits_the_shares_of_two_files_as_numpy_does(
    n: int, seed: int, rounded: bool, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    second = rng.random(n) < 0.4
    numbers = rng.normal(size=(3, n)) * np.where(second, 1.2, 1.0)
    if rounded:
        numbers = np.round(numbers, 1)
    codes = np.array([rng.integers(0, k, n) * np.where(second, 1, rng.random(n) < 0.9) for k in (2, 9)], dtype=np.int32)
    counts = codes.max(axis=1).astype(np.int64) + 1
    weights = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    signed = np.where(second, weights, -weights)
    rows = np.argsort(numbers, axis=1, kind="stable").astype(np.int32)
    ranks = np.array([np.unique(x, return_inverse=True)[1][order] for x, order in zip(numbers, rows, strict=True)])
    total, ones = float(weights.sum()), float(weights[second].sum())
    outcomes = []
    for split_shares in (compiled.split_shares, plain_split_shares):
        lists = rows.copy(), ranks.astype(np.int32), signed[rows]
        found = split_shares(*lists, codes, counts, np.zeros(n, dtype=np.uint8), 0, n, total, ones, 7, 20, 1e-12)
        outcomes.append((found, lists))
    ((column, first, *sums), lists), (other, others) = outcomes
    assert (column, first) == other[:2]
    assert sums == pytest.approx(other[2:], rel=1e-9)
    for mine, theirs in zip(lists, others, strict=True):
        assert np.array_equal(mine, theirs)
    if column >= 0:  # the records of the first side come first
        side = lists[0][0, :first]
        assert sums[1:] == pytest.approx([weights[side].sum(), weights[side][second[side]].sum()])
    if column >= 0 and max(first, n - first) >= 20:  # in every list, if a side can be split again
        assert all(set(listed[:first]) == set(side) for listed in lists[0])


def gini_gain(table: NDArray[np.int64], inside: list[int]) -> float:
    """The fall in records times impurity when these rows of a table of categories by classes go left."""
    left, whole = table[inside].sum(axis=0), table.sum(axis=0)
    right = whole - left
    return float(sum((side @ side) / side.sum() for side in (left, right)) - (whole @ whole) / whole.sum())


def best_of_all(table: NDArray[np.int64]) -> float:
    places = range(1, len(table))
    return max(gini_gain(table, list(some)) for size in places for some in combinations(range(len(table)), size))


@pytest.mark.parametrize("kinds", [2, 4, 8])
def test_sets_of_categories_are_the_best_or_nearly(kinds: int) -> None:
    rng = np.random.default_rng(kinds)
    shares = []
    for _ in range(60):
        code = rng.integers(0, 7, 200).astype(np.int32)
        odds = rng.dirichlet(np.ones(kinds), 7)
        target = np.array([rng.choice(kinds, p=odds[c]) for c in code], dtype=np.int32)
        table = np.zeros((7, kinds), dtype=np.int64)
        np.add.at(table, (code, target), 1)
        gain, right = _set_by_classes(code, 7, target.astype(np.intp), 1)
        assert gain == pytest.approx(gini_gain(table, np.flatnonzero(right == 0).tolist()))
        rows = np.arange(200, dtype=np.int32)
        again, sides = compiled.set_by_classes(rows, target.astype(np.float64), code, 7, kinds, 1)
        assert again == gain and np.array_equal(right, sides)
        shares.append(gain / best_of_all(table))
    if kinds == 2:  # by theory the best split goes by the share of one class
        assert min(shares) == pytest.approx(1)
    assert np.mean(shares) > 0.98 and max(shares) <= 1 + 1e-12


def test_donors_come_from_the_leaf_and_each_as_often_as_it_should() -> None:
    y = np.repeat([0.0, 10.0], 10) + np.arange(20) / 100
    x = predictor("numeric", np.repeat([0.0, 1.0], 10), 0)
    tree = fit([x], y, np.arange(20, dtype=np.int32), Rule(5, 1, 0.0, cells=0))
    leaf = tree.leaf([np.repeat([0.0, 1.0], 20_000)], 40_000)
    donors = tree.donors(leaf, np.random.default_rng(1), proper=False)
    assert (donors[:20_000] < 10).all() and (donors[20_000:] >= 10).all()
    counts = np.bincount(donors)
    assert ((counts - 2000) ** 2 / 2000).sum() < 42.3  # the 0.999 point of chi-squared with 18 degrees of freedom
    # in a Bayesian bootstrap the share of a donor among k = 10 has variance (k - 1) / (k^2 (k + 1)) = 0.00818
    shares = [
        np.bincount(tree.donors(leaf, np.random.default_rng(seed), proper=True), minlength=20) / 20_000
        for seed in range(200)
    ]
    assert np.mean(shares) == pytest.approx(0.1)
    assert np.var(shares) == pytest.approx(9 / (100 * 11), rel=0.1)
