"""synthpop's ``utility.gen`` reproduced: its formulas in R, on files that R makes as well.

By reference: R 4.2, rpart 4.1.19; the formulas of ``utility.gen`` (synthpop 1.8, R/utility.syn.r), which Debian lacks.

    library(rpart)
    i <- 1:2000; r <- as.numeric(i > 1000); x <- (i * 7919) %% 10007 / 100; y <- (i * i) %% 9973 / 100 * (1 + 0.25 * r)
    z <- (i * 31) %% 17 + r * (i %% 2); f <- factor(ifelse(r == 1 & i %% 5 == 0, 1, i %% 7))
    d <- data.frame(x, y, z, f)
    gen <- function(syn, orig, method, cp = 1e-3, minbucket = 5, nperms = 0) {
      n <- c(nrow(orig), nrow(syn)); N <- sum(n); cc <- n[2] / N
      both <- data.frame(rbind(syn, orig), t = rep(1:0, rev(n)))
      fit <- function(d) if (method == "logit") glm(t ~ .^2, binomial, d, control = list(epsilon = 1e-14, maxit = 200))
        else rpart(t ~ ., d, method = "class", control = rpart.control(cp = cp, minbucket = minbucket))
      scored <- function(d) if (method == "logit") fitted(fit(d)) else predict(fit(d))[, 2]
      e <- scored(both); s <- both$t; pMSE <- sum((e - cc)^2) / N
      expected <- if (method == "logit") (fit(both)$rank - 1) * (1 - cc)^2 * cc / N else { set.seed(1)
        mean(replicate(nperms, { both$t <- sample(both$t); sum((scored(both) - cc)^2) / N / 2 })) }
      c(pMSE, expected, pMSE / expected, ks.test(e[s == 1], e[s == 0])$statistic,
        sum((e > 0.5 & s == 1) | (e <= 0.5 & s == 0)) / N * 100 - 50)
    }
    o <- d[1:1000, ]; m <- d[1001:2000, ]; few <- d[1001:1400, ]
"""

from typing import Any

import numpy as np
import pytest
from propensity_tables import by_formula, table

from sfumato import Microdata, ParameterError, PropensityUtility

CART: dict[str, Any] = {"min_split": 15, "min_leaf": 5, "lack_of_fit": "misclassification"}
"""rpart.control(minbucket = 5) sets minsplit to 15."""


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (1000, (0.0227931351005, 0.001875, 12.1563387202593, 0.292, 11.75)),  # gen(m, o, "logit")
        (400, (0.0187251012643, 0.00312369845898, 5.99452908474365, 0.2835, 23.28571428571429)),  # gen(few, o, "logit")
    ],
)
def test_the_logit_of_utility_gen(records: int, expected: tuple[float, ...]) -> None:
    first, second = by_formula()
    found = PropensityUtility("products").evaluate(first, second.take(np.arange(records))).parts
    names = ("pMSE", "expected, fitted model", "ratio, fitted model", "SPECKS", "PO50")
    assert [found[name] for name in names] == pytest.approx(expected, rel=1e-10)
    assert found["coefficients"] == 31


def test_the_logit_with_missing_numbers() -> None:
    """A gap becomes 0 and a column x_NA there, the mean and an indicator here: the same model.

    x[i %% 11 == 0] <- NA; d <- data.frame(x = ifelse(is.na(x), 0, x), x_NA = 1 * is.na(x), y, f)
    gen(d[1001:2000, ], d[1:1000, ], "logit")
    """
    files = []
    for data, numbers in zip(by_formula(), (np.arange(1, 1001), np.arange(1001, 2001)), strict=True):
        files.append(data.replace({"x": np.where(numbers % 11 == 0, np.nan, data.columns["x"])}))
    found = PropensityUtility("products", variables=("x", "y", "f")).evaluate(*files).parts
    assert found["pMSE"] == pytest.approx(0.0222954428423, rel=1e-10)
    assert found["ratio, fitted model"] == pytest.approx(12.3009339819335, rel=1e-10)
    assert found["coefficients"] == 30


@pytest.mark.parametrize(
    ("records", "changed", "expected"),
    [
        (1000, {}, (0.0734100465493, 0.47, 23.5)),  # gen(m, o, "cart")
        (400, {}, (0.0861473561991, 0.5695, 34.6428571429)),  # gen(few, o, "cart")
        (1000, {"min_split": 60, "min_leaf": 20}, (0.0485458930113, 0.367, 18.35)),  # gen(m, o, "cart", minbucket = 20)
        (1000, {"cp": 1e-4}, (0.0956972660581, 0.543, 27.15)),  # gen(m, o, "cart", cp = 1e-4)
    ],
)
def test_the_cart_of_utility_gen(records: int, changed: dict[str, Any], expected: tuple[float, ...]) -> None:
    first, second = by_formula()
    measure = PropensityUtility("tree", permutations=0, **(CART | changed))
    found = measure.evaluate(first, second.take(np.arange(records))).parts
    assert [found[name] for name in ("pMSE", "SPECKS", "PO50")] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("records", "expected", "error"),
    [
        (1000, 0.0394808517653, 0.000182452251773),  # gen(m, o, "cart", nperms = 200)[2], sd of the mean
        (400, 0.0323822567111, 0.000181153442403),  # gen(few, o, "cart", nperms = 200)[2], sd of the mean
    ],
)
def test_the_null_of_the_cart(records: int, expected: float, error: float) -> None:
    """R's mean is of 200 permutations and ours of 50, drawn by lot: apart by no more than chance."""
    first, second = by_formula()
    files = first, second.take(np.arange(records))
    halved = PropensityUtility("tree", permutations=50, null="halved permutation", **CART).evaluate(*files, rng=0).parts
    own = halved["standard deviation, halved permutation"] / np.sqrt(50)
    assert abs(halved["expected, halved permutation"] - expected) < 4 * np.hypot(own, error)
    whole = PropensityUtility("tree", permutations=50, **CART).evaluate(*files, rng=0).parts
    assert halved["ratio, halved permutation"] == pytest.approx(2 * whole["ratio, permutation"], rel=1e-12)
    assert "expected, permutation" not in halved


def test_products_are_blind_to_squares_and_see_products() -> None:
    """By hand: the corners of a square, all four against the two on a diagonal, and a cross of the same means.

    Against the diagonal the product xy, 1/2 or 1 on average, tells what neither x nor y does. The cross has the
    products of no corner, but its squares' mean is 1 there and 1/2 here.
    """
    x, y = [-1.0, -1.0, 1.0, 1.0] * 5, [-1.0, 1.0, -1.0, 1.0] * 5
    corners = table(x=x, y=y)
    diagonal = table(x=[-1.0, 1.0] * 10, y=[-1.0, 1.0] * 10)
    cross = table(x=[-1.0, 1.0, 0.0, 0.0] * 5, y=[0.0, 0.0, -1.0, 1.0] * 5)
    assert PropensityUtility("main effects").evaluate(corners, diagonal).value == pytest.approx(0, abs=1e-20)
    # on xy = -1 are 10 originals alone; on xy = 1 are 10 originals and 20 protected: 10/4 + 30 (2/3 - 1/2)^2
    assert PropensityUtility("products").evaluate(corners, diagonal).value * 40 == pytest.approx(10 / 3, rel=1e-6)
    assert PropensityUtility("products").evaluate(corners, cross).value == pytest.approx(0, abs=1e-20)
    assert PropensityUtility("logistic I").evaluate(corners, cross).value > 0.1


def small(values: list[float]) -> Microdata:
    return table(a=np.array(values))


def test_the_least_sizes_by_hand() -> None:
    """Six originals 1..6, six protected 4..9: only a split at 3.5 or 6.5 leaves three records alone."""
    first, second = small([1.0, 2, 3, 4, 5, 6]), small([4.0, 5, 6, 7, 8, 9])
    leaf = PropensityUtility("tree", permutations=0, min_split=2, min_leaf=3, total=True)
    # three leaves: 3 originals, 3 + 3, 3 protected
    assert leaf.evaluate(first, second).value == pytest.approx(3 / 4 + 3 / 4)
    assert PropensityUtility("tree", permutations=0, min_split=13, min_leaf=3).evaluate(first, second).value == 0
    assert PropensityUtility("tree", permutations=0, min_split=2, min_leaf=7).evaluate(first, second).value == 0
    wide = PropensityUtility("tree", permutations=0, min_split=2, min_leaf=4, total=True, cp=0.0).evaluate(
        first, second
    )
    # at 4.5 there are 4 originals and 1 protected on the left, 2 and 5 on the right, too few to be split again
    assert wide.value == pytest.approx(5 * 0.3**2 + 7 * (5 / 7 - 1 / 2) ** 2) and wide.parts["leaves"] == 2


def test_defaults_are_those_of_rpart_and_bad_sizes_are_refused() -> None:
    assert repr(PropensityUtility("tree", min_split=20, min_leaf=7, null="permutation")) == (
        "PropensityUtility(model='tree')"
    )
    with pytest.raises(ParameterError, match="min_leaf"):
        PropensityUtility("tree", min_leaf=0)
    with pytest.raises(ParameterError, match="min_split"):
        PropensityUtility("tree", min_split=1)
    with pytest.raises(ParameterError, match="null"):
        PropensityUtility("tree", null="pairs")  # type: ignore[arg-type]
