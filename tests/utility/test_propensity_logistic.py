import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from propensity_tables import by_formula, normals, table
from scipy.special import expit

from sfumato import Microdata, ParameterError, PropensityUtility
from sfumato.pair import Pair
from sfumato.utility.propensity import logistic
from sfumato.utility.propensity.both_files import BothFiles
from sfumato.utility.propensity.measure import Model

Floats = NDArray[np.float64]


def newton(terms: Floats, r: Floats, steps: int = 60) -> Floats:
    """Propensities by textbook Newton steps on an orthonormal basis of the terms and the constant."""
    x = np.column_stack([np.ones(len(terms)), (terms - terms.mean(axis=0)) / terms.std(axis=0)])
    x = np.linalg.qr(x)[0]
    b = np.zeros(x.shape[1])
    for _ in range(steps):
        e = expit(x @ b)
        b = b + np.linalg.solve((x * (e * (1 - e))[:, None]).T @ x, x.T @ (r - e))
    return np.asarray(expit(x @ b))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(-20, 20), st.sampled_from(["logistic I", "logistic II"]))
def test_logistic_models_equal_newtons_method_on_the_terms_as_printed(seed: int, shift: float, model: Model) -> None:
    """By theory: (3.1) and (3.2) of the paper, the terms of the values as they are, wherever their mean lies."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 2))
    x[200:] = x[200:] * 1.2 - 0.1
    x += shift
    one, two = x.T
    terms = [one, two, one * two, one**2, two**2]
    if model == "logistic II":
        terms += [one**2 * two**2, one**3, two**3]
    r = (np.arange(300) >= 200).astype(float)
    expected = np.mean((newton(np.column_stack(terms), r) - 1 / 3) ** 2)
    found = PropensityUtility(model).evaluate(table(a=one[:200], b=two[:200]), table(a=one[200:], b=two[200:]))
    assert found.value == pytest.approx(expected, rel=1e-6)
    assert found.parts["coefficients"] == len(terms) + 1


def test_logistic_models_equal_glm() -> None:
    """By reference: R 4.2.

    i <- 1:2000; r <- as.numeric(i > 1000); x <- (i * 7919) %% 10007 / 100; y <- (i * i) %% 9973 / 100 * (1 + 0.25 * r)
    z <- (i * 31) %% 17 + r * (i %% 2); f <- factor(ifelse(r == 1 & i %% 5 == 0, 1, i %% 7)); w <- 1 + i %% 3
    d <- data.frame(r, x, y, z, f); v <- ave(w, r, FUN = function(w) w / mean(w))
    fit <- function(model, w = NULL) glm(model, binomial, d, weights = w, control = list(epsilon = 1e-14, maxit = 100))
    I <- fit(r ~ x * y + I(x^2) + I(y^2)); sum((fitted(I) - 0.5)^2)                              # 39.0142289
    II <- update(I, . ~ . + I(x^2 * y^2) + I(x^3) + I(y^3)); sum((fitted(II) - 0.5)^2)           # 49.56673245
    g <- fit(r ~ x * y + I(x^2) + I(y^2), v); sum(v * (fitted(g) - 0.5)^2)                       # 41.54089052
    m <- fit(r ~ x + y + f); sum((fitted(m) - 0.5)^2)                                            # 43.6337714
    q <- fit(r ~ (x + y + f)^2 + I(x^2) + I(y^2)); sum((fitted(q) - 0.5)^2); q$rank              # 58.84909277, 24
    """
    plain, weighted = by_formula(), by_formula(weights=True)
    first = PropensityUtility(total=True, variables=("x", "y"))
    assert first.evaluate(*plain).value == pytest.approx(39.0142289, rel=1e-9)
    second = PropensityUtility("logistic II", total=True, variables=("x", "y"))
    assert second.evaluate(*plain).value == pytest.approx(49.56673245, rel=1e-9)
    assert first.evaluate(*weighted).value == pytest.approx(41.54089052, rel=1e-9)
    main = PropensityUtility("main effects", total=True, variables=("x", "y", "f"))
    assert main.evaluate(*plain).value == pytest.approx(43.6337714, rel=1e-9)
    found = PropensityUtility(total=True, variables=("x", "y", "f")).evaluate(*plain)
    assert found.value == pytest.approx(58.84909277, rel=1e-9)
    assert found.parts["coefficients"] == 24


def exactly_like(data: Microdata, seed: int) -> Microdata:
    """Normal draws with exactly the mean and covariance of the data: Syn of the paper."""
    x = data.numeric()
    draws = np.random.default_rng(seed).normal(size=x.shape)
    draws -= draws.mean(axis=0)
    whitened = np.linalg.solve(np.linalg.cholesky(np.cov(draws.T)), draws.T)
    y = (np.linalg.cholesky(np.cov(x.T)) @ whitened).T + x.mean(axis=0)
    return data.replace({name: y[:, j] for j, name in enumerate(data.names)})


def test_the_same_mean_and_covariance_score_nothing_in_logistic_I() -> None:  # noqa: N802 - the paper's name
    rng = np.random.default_rng(0)
    for data in (normals(10_000, 1), table(a=rng.lognormal(size=5000), b=rng.lognormal(8, 1, size=5000))):
        synthetic = exactly_like(data, 2)
        assert PropensityUtility(total=True).evaluate(data, synthetic).value < 1e-6
    assert PropensityUtility("logistic II", total=True).evaluate(data, synthetic).value > 100


def mean_and_error(ratios: list[float]) -> tuple[float, float]:
    return float(np.mean(ratios)), float(np.std(ratios, ddof=1) / np.sqrt(len(ratios)))


@pytest.mark.parametrize("m", [500, 1000])
def test_chance_gives_ratio_one_under_the_null_it_is_named_for(m: int) -> None:
    """By theory: two samples of one population; and a table drawn from the normal model fitted to the original."""
    samples, drawn = [], []
    for seed in range(150):
        data = normals(500, seed)
        samples.append(PropensityUtility().evaluate(data, normals(m, 10_000 + seed)).parts["ratio, two samples"])
        x = np.random.default_rng(20_000 + seed).multivariate_normal(
            data.numeric().mean(axis=0), np.cov(data.numeric().T), m
        )
        synthetic = table(a=x[:, 0], b=x[:, 1], c=x[:, 2])
        drawn.append(PropensityUtility().evaluate(data, synthetic).parts["ratio, fitted model"])
    for ratios in (samples, drawn):
        mean, error = mean_and_error(ratios)
        assert abs(mean - 1) < 4 * error + 0.02  # the expectation is that of many records


def test_unequal_weights_raise_the_expectation_by_their_design_effect() -> None:
    ratios = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        tables = [
            table(rng.uniform(0.2, 3.0, n), a=rng.normal(size=n), b=rng.normal(size=n), c=rng.normal(size=n))
            for n in (500, 800)
        ]
        ratios.append(PropensityUtility().evaluate(*tables).parts["ratio, two samples"])
    mean, error = mean_and_error(ratios)
    assert abs(mean - 1) < 4 * error + 0.02


@pytest.mark.parametrize("model", ["logistic I", "logistic II", "main effects"])
def test_separable_files_score_the_most_there_is(model: Model) -> None:
    """Every record is told: e is 0 or 1, so pMSE = c (1 - c)."""
    rng = np.random.default_rng(0)
    first = table(a=rng.normal(size=90), b=rng.normal(size=90))
    second = table(a=rng.normal(size=30) + 100, b=rng.normal(size=30))
    found = PropensityUtility(model).evaluate(first, second)
    assert found.value == pytest.approx(0.25 * 0.75, rel=1e-8)
    assert found.parts["SPECKS"] == pytest.approx(1) and found.parts["PO50"] == pytest.approx(50)
    assert any("the files are separable" in note for note in found.notes)


def test_a_category_of_one_file_only_separates_its_records() -> None:
    """Original 6 a, 4 b; protected 2 a, 4 b, 4 c: e = 1/4, 1/2, 1, so pMSE = (8/16 + 0 + 4/4) / 20 = 0.075."""
    first, second = table(v=["a"] * 6 + ["b"] * 4), table(v=["a"] * 2 + ["b"] * 4 + ["c"] * 4)
    found = PropensityUtility().evaluate(first, second)
    assert found.value == pytest.approx(0.075, rel=1e-8)
    assert any("4 of 20 records have propensity 0 or 1" in note for note in found.notes)


def test_terms_that_repeat_others_are_left_out_and_named() -> None:
    first, second = by_formula()
    alone = PropensityUtility(variables=("x", "y")).evaluate(first, second)
    summed = [table(x=d.columns["x"], y=d.columns["y"], total=d.columns["x"] + d.columns["y"]) for d in (first, second)]
    found = PropensityUtility().evaluate(*summed)
    assert found.value == pytest.approx(alone.value, rel=1e-9)
    assert found.parts["coefficients"] == alone.parts["coefficients"] == 6
    assert any("4 terms left out, combinations of the others" in note for note in found.notes)
    many = [  # no constant is lost where indicators repeat it, and files of different size start from their share
        table(a=d.columns["x"], s=np.where(d.columns["x"] > 50, "u", "v"), t=np.where(d.columns["x"] > 50, "p", "q"))
        for d in (first, second.take(np.arange(300)))
    ]
    one = PropensityUtility(variables=("a", "s")).evaluate(*many)
    assert PropensityUtility().evaluate(*many).value == pytest.approx(one.value, rel=1e-9)


def test_logistic_models_equal_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api")
    first, second = by_formula()
    second = second.take(np.arange(700))
    x, y, z = (np.concatenate([first.columns[n], second.columns[n]]) / 10 for n in "xyz")
    r = np.repeat([0.0, 1.0], [1000, 700])
    terms = np.column_stack([np.ones(1700), x, y, z, x * y, x * z, y * z, x**2, y**2, z**2])
    fitted = sm.GLM(r, terms, family=sm.families.Binomial()).fit(tol=1e-14).fittedvalues
    found = PropensityUtility(variables=("x", "y", "z")).evaluate(first, second)
    assert found.value == pytest.approx(float(np.mean((fitted - 700 / 1700) ** 2)), rel=1e-9)


def test_the_scale_of_the_values_does_not_matter() -> None:
    first, second = by_formula()
    wide = [d.replace({"x": d.columns["x"] * 1e12 + 1e15, "y": d.columns["y"] * 1e-12}) for d in (first, second)]
    measure = PropensityUtility(variables=("x", "y"))
    assert measure.evaluate(*wide).value == pytest.approx(measure.evaluate(first, second).value, rel=1e-6)


def test_what_a_variable_adds_is_what_least_squares_lose_without_it() -> None:
    """By theory: the drop in the explained sum of squares of r on (1, x, y, xy, x^2, y^2) without the terms in x."""
    first, second = by_formula()
    x, y = (np.concatenate([first.columns[name], second.columns[name]]) for name in ("x", "y"))
    r = np.repeat([0.0, 1.0], 1000)

    def explained(*terms: Floats) -> float:
        z = np.column_stack([np.ones(2000), *terms])
        return float(((z @ np.linalg.lstsq(z, r, rcond=None)[0] - 0.5) ** 2).sum())

    expected = explained(x, y, x * y, x**2, y**2) - explained(y, y**2)
    found = PropensityUtility(variables=("x", "y"), total=True).evaluate(first, second)
    assert found.by_variable["x"] == pytest.approx(expected, rel=1e-6)


# modified logistic models


MODIFIED: list[tuple[Model, Model]] = [("modified logistic I", "main effects"), ("modified logistic II", "logistic I")]


@pytest.mark.parametrize(("modified", "plain"), MODIFIED)
def test_one_group_is_the_model_of_all_records(modified: Model, plain: Model) -> None:
    first, second = by_formula()
    one = PropensityUtility(modified, groups=1).evaluate(first, second)
    assert one.value == pytest.approx(PropensityUtility(plain).evaluate(first, second).value, rel=1e-9)


@pytest.mark.parametrize(("modified", "plain"), MODIFIED)
def test_groups_far_apart_are_modelled_each_by_itself(modified: Model, plain: Model) -> None:
    rng = np.random.default_rng(5)
    near = rng.normal(size=(160, 2))
    far = rng.normal(size=(140, 2)) * 1.3 + 1000
    groups_of = [(near[:80], near[80:] * 1.5), (far[:90], far[90:])]
    files = [np.vstack(parts) for parts in zip(*groups_of, strict=True)]
    found = PropensityUtility(modified, groups=2).evaluate(*(table(a=f[:, 0], b=f[:, 1]) for f in files))
    assert found.parts["groups"] == 2
    total, c = 0.0, 130 / 300
    for parts in groups_of:
        pooled = BothFiles.of(PropensityUtility(), Pair.of(*(table(a=f[:, 0], b=f[:, 1]) for f in parts))).pooled()
        fit = logistic.fit(pooled, "first" if plain == "main effects" else "second")
        total += float(((fit.scores - c) ** 2).sum())
    assert found.value == pytest.approx(total / 300, rel=1e-9)
    shares = 160 * (80 / 160 - c) ** 2 + 140 * (50 / 140 - c) ** 2
    assert found.parts["between groups"] == pytest.approx(shares / 300, rel=1e-9)
    assert found.parts["between groups"] + found.parts["within groups"] == pytest.approx(found.value, rel=1e-12)


def test_a_group_of_one_file_or_separable_has_propensities_zero_and_one() -> None:
    """Near 0 ten originals and ten protected on either side of 0; near 1000 ten protected only: e = r throughout."""
    line = np.linspace(0.1, 1, 10)
    first = table(a=-line)
    second = table(a=np.concatenate([line, 1000 + line]))
    found = PropensityUtility("modified logistic I", groups=2).evaluate(first, second)
    assert found.value == pytest.approx(2 / 9, rel=1e-8)  # c (1 - c)
    assert any("1 of 2 groups hold records of one file only" in note for note in found.notes)
    assert any("in 1 of 2 groups the model gives" in note for note in found.notes)


def test_groups_are_a_share_of_the_originals_records_and_equal_records_stay_together() -> None:
    rng = np.random.default_rng(0)
    first = table(a=rng.normal(size=500), f=rng.choice(["x", "y"], 500))
    second = table(a=rng.normal(size=300), f=rng.choice(["x", "y"], 300))
    assert PropensityUtility("modified logistic I").evaluate(first, second).parts["groups"] == 5
    doubled = first.take(np.repeat(np.arange(500), 2))
    labels = logistic.clusters(BothFiles.of(PropensityUtility(), Pair.of(doubled, second)).pooled(), 40)
    assert np.array_equal(labels[:1000:2], labels[1:1000:2])
    assert (
        PropensityUtility("modified logistic I", groups=9).evaluate(table(a=[1.0, 2.0]), table(a=[1.0])).parts["groups"]
        == 2
    )


def test_small_groups_have_their_share_if_asked() -> None:
    # groups around 0 (three records, one protected) and around 1000 (twelve, six protected, alike in both files)
    far = [1000.0, 1001.0, 1002.0, 1003.0, 1004.0, 1005.0]
    first, second = table(a=[0.0, 2.0, *far]), table(a=[1.0, *far])
    every = PropensityUtility("modified logistic I", groups=2).evaluate(first, second)
    shared = PropensityUtility("modified logistic I", groups=2, least_group=10).evaluate(first, second)
    c = 7 / 15
    # the group of three at 1/3; the other's model is flat, at 1/2
    assert shared.parts["sum"] == pytest.approx(3 * (1 / 3 - c) ** 2 + 12 * (1 / 2 - c) ** 2)
    assert shared.parts["within groups"] == pytest.approx(0, abs=1e-12)
    assert any("1 of 2 groups have fewer than 10 records" in note for note in shared.notes)
    # 0, 1, 2 with the middle one protected: a linear model sees nothing either
    assert every.value == pytest.approx(shared.value)
    aside = PropensityUtility("modified logistic I", groups=2).evaluate(table(a=[0.0, 1.0, *far]), table(a=[2.0, *far]))
    assert aside.parts["sum"] == pytest.approx((1 - c) ** 2 + 2 * c**2 + 12 * (1 / 2 - c) ** 2)  # separated
    with pytest.raises(ParameterError, match="least_group"):
        PropensityUtility(least_group=0)
