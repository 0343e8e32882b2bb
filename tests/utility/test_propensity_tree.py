from typing import Literal

import numpy as np
import pytest
from propensity_tables import by_formula, normals, table

from sfumato import PropensityUtility
from sfumato.pair import Pair
from sfumato.utility.propensity import measure as tree
from sfumato.utility.propensity.both_files import BothFiles
from sfumato.utility.propensity.pooled import Categories, Numbers, Pooled


@pytest.mark.parametrize(
    ("cp", "squared", "leaves_squared", "misclassified", "leaves_misclassified"),
    [
        (0.01, 80.15019579, 4, 80.15019579, 4),
        (0.001, 207.3037494, 135, 163.0545074, 74),
        (0.0001, 211.1602724, 148, 196.3538396, 120),
    ],
)
def test_trees_equal_rpart(
    cp: float, squared: float, leaves_squared: int, misclassified: float, leaves_misclassified: int
) -> None:
    """By reference: R 4.2, rpart 4.1.19, numbers and a factor.

    library(rpart)
    i <- 1:2000; r <- as.numeric(i > 1000); x <- (i * 7919) %% 10007 / 100; y <- (i * i) %% 9973 / 100 * (1 + 0.25 * r)
    z <- (i * 31) %% 17 + r * (i %% 2); f <- factor(ifelse(r == 1 & i %% 5 == 0, 1, i %% 7))
    d <- data.frame(r, x, y, z, f)
    a <- rpart(r ~ ., d, cp = cp); sum((predict(a) - 0.5)^2); sum(a$frame$var == "<leaf>")
    b <- rpart(factor(r) ~ ., d, cp = cp); sum((predict(b)[, 2] - 0.5)^2); sum(b$frame$var == "<leaf>")
    """
    first, second = by_formula()
    found = PropensityUtility("tree", cp=cp, total=True, permutations=0).evaluate(first, second)
    assert found.value == pytest.approx(squared, rel=1e-8)
    assert found.parts["leaves"] == leaves_squared
    found = PropensityUtility("tree", cp=cp, total=True, permutations=0, lack_of_fit="misclassification").evaluate(
        first, second
    )
    assert found.value == pytest.approx(misclassified, rel=1e-8)
    assert found.parts["leaves"] == leaves_misclassified


def test_weighted_trees_equal_rpart() -> None:
    """By reference: as above, with w <- 1 + i %% 3; v <- ave(w, r, FUN = function(w) w / mean(w)).

    a <- rpart(r ~ ., d, weights = v, cp = 0.001); sum(v * (predict(a) - 0.5)^2); sum(a$frame$var == "<leaf>")
    """
    found = PropensityUtility("tree", total=True, permutations=0).evaluate(*by_formula(weights=True))
    assert found.value == pytest.approx(220.6076521, rel=1e-8)
    assert found.parts["leaves"] == 130


def test_a_tree_by_hand() -> None:
    """Originals 1..20, protected 11..30: the split at 10.5 leaves 10 originals alone, the next at 20.5 10 protected.

    Gains: 40 records, c = 1/2; first split 10 (1/2)^2 + 30 (2/3 - 1/2)^2 = 10/3; the second adds, of 30 records with
    share 2/3, 10 (1/3)^2 + 20 (1/2 - 2/3)^2 = 5/3. The sum of the three leaves is 10/4 + 0 + 10/4 = 5.
    """
    values = np.arange(1.0, 31.0)
    found = PropensityUtility("tree", cp=0.01, total=True, permutations=0).evaluate(
        table(a=values[:20]), table(a=values[10:])
    )
    assert found.value == pytest.approx(5)
    assert found.parts["leaves"] == 3
    assert found.by_variable == pytest.approx({"a": 5.0})
    # of the root's lack of fit, 40 / 4 = 10, the first split gains 1/3, the second 1/6
    for cp, value in ((0.16, 5), (0.17, 10 / 3), (0.34, 0)):
        measure = PropensityUtility("tree", cp=cp, total=True, permutations=0)
        assert measure.evaluate(table(a=values[:20]), table(a=values[10:])).value == pytest.approx(value)


def test_categories_are_split_into_sets() -> None:
    """Three categories of share 0.2, 0.8, 0.2: {a, c} against {b} in one split."""
    first = table(v=["a"] * 16 + ["b"] * 4 + ["c"] * 16)
    second = table(v=["a"] * 4 + ["b"] * 16 + ["c"] * 4)
    found = PropensityUtility("tree", total=True, permutations=0).evaluate(first, second)
    assert found.parts["leaves"] == 2
    assert found.value == pytest.approx(40 * (0.2 - 0.4) ** 2 + 20 * (0.8 - 0.4) ** 2)


@pytest.mark.parametrize("lack", ["misclassification", "squared error"])
def test_the_parts_of_the_variables_add_up_to_the_value(lack: tree.LackOfFit) -> None:
    found = PropensityUtility("tree", lack_of_fit=lack, permutations=0).evaluate(*by_formula(weights=True))
    assert sum(found.by_variable.values()) == pytest.approx(found.value, rel=1e-9)


def test_separable_files_and_files_too_small_to_split() -> None:
    first, second = table(a=np.arange(30.0)), table(a=np.arange(100.0, 120.0))
    assert PropensityUtility("tree", permutations=0).evaluate(first, second).value == pytest.approx(0.4 * 0.6)
    few = PropensityUtility("tree", permutations=4).evaluate(table(a=[1.0] * 9), table(a=[2.0] * 9), rng=0)
    assert few.value == 0
    assert any("does not split fewer than 20" in note for note in few.notes)
    assert any("no ratio" in note for note in few.notes)


def pooled(n: int, seed: int, rounded: bool, weighted: bool) -> Pooled:
    rng = np.random.default_rng(seed)
    protected = rng.random(n) < 0.4
    numbers = rng.normal(size=(3, n)) * np.where(protected, 1.2, 1.0)
    if rounded:
        numbers = np.round(numbers, 1)
    codes = [(rng.integers(0, k, n) * np.where(protected, 1, rng.random(n) < 0.9)).astype(np.int32) for k in (2, 9)]
    return Pooled(
        tuple(Numbers(f"x{j}", column) for j, column in enumerate(numbers)),
        tuple(Categories(f"f{j}", code, int(code.max()) + 1) for j, code in enumerate(codes)),
        protected,
        rng.uniform(0.5, 2.0, n) if weighted else np.ones(n),
        ("x0", "x1", "x2", "f0", "f1"),
    )


@pytest.mark.parametrize("lack", ["misclassification", "squared error"])
def test_a_tree_is_the_same_compiled_or_not(lack: tree.LackOfFit, monkeypatch: pytest.MonkeyPatch) -> None:
    data = pooled(6000, 1, True, False)
    columns = tree.sort_columns(data)
    compiled = tree.fit_tree(columns, data.protected, data.weights, 0.001, lack)
    monkeypatch.setattr("sfumato.kernels.trees.worth_compiling", lambda _: False)
    plain = tree.fit_tree(columns, data.protected, data.weights, 0.001, lack)
    assert compiled.leaves == plain.leaves > 10
    np.testing.assert_allclose(compiled.scores, plain.scores, rtol=1e-9)


def test_no_leaf_lies_deeper_than_thirty_splits() -> None:
    """Blocks of records of one file and then the other, each of half the weight of the last: each split takes one."""
    block = np.repeat(np.arange(40), 10)
    protected = block % 2 == 1
    data = Pooled((Numbers("x", np.arange(400.0)),), (), protected, np.exp2(-block.astype(np.float64)), ("x",))
    grown = tree.fit_tree(tree.sort_columns(data), protected, data.weights, 0.0, "squared error")
    assert grown.leaves == 31


# what chance gives


def test_the_permutation_null_is_repeatable_whatever_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = by_formula()
    measure = PropensityUtility("tree", cp=0.002, permutations=8)
    one = measure.evaluate(first, second, rng=3).parts
    monkeypatch.setattr(tree, "available_threads", lambda: 1)
    assert measure.evaluate(first, second, rng=3).parts == one
    assert measure.evaluate(first, second, rng=4).parts["expected, permutation"] != one["expected, permutation"]


@pytest.mark.parametrize("weights", ["equal", "unequal"])
def test_two_samples_of_one_population_have_ratio_one(weights: Literal["equal", "unequal"]) -> None:
    """By theory: the files are exchangeable, so the value has the law of the permuted ones."""
    ratios = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        files = [normals(n, 1000 * n + seed).numeric() for n in (150, 100)]
        w = [rng.uniform(0.5, 2.0, len(x)) if weights == "unequal" else None for x in files]
        first, second = (table(v, a=x[:, 0], b=x[:, 1]) for v, x in zip(w, files, strict=True))
        found = PropensityUtility("tree", cp=0.01, permutations=12).evaluate(first, second, rng=seed)
        ratios.append(found.parts["ratio, permutation"])
    mean, error = np.mean(ratios), np.std(ratios, ddof=1) / np.sqrt(len(ratios))
    assert abs(mean - 1) < 4 * error + 0.02


def test_equal_gains_are_broken_by_the_order_of_the_variables_only() -> None:
    first, second = by_formula()
    twin = [table(b=d.columns["y"], a=d.columns["y"]) for d in (first, second)]
    found = PropensityUtility("tree", permutations=0).evaluate(*twin)
    assert found.by_variable["a"] == 0 and found.by_variable["b"] == pytest.approx(found.value)
    pooled_twin = BothFiles.of(PropensityUtility(), Pair.of(*twin)).pooled()
    assert tree.sort_columns(pooled_twin).variables == ("b", "a")
