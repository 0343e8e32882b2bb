"""The log-linear model against statsmodels, its risks against a simulated population."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import LogLinearRisk, Microdata, NotApplicable, SampleUniques, Schema, Variable
from sfumato.kernels.log_linear import compiled, fitted, placed, plain_cycle, possible_cells
from sfumato.risk.log_linear import Shape, Terms, Weighting, model_check, one_in, only_one
from tables import persons


def association(rng: np.random.Generator, dims: tuple[int, ...], strength: float) -> np.ndarray:
    """Shares of a table with main effects and, where asked for, all associations of two."""
    logs = np.zeros(dims)
    for axis, size in enumerate(dims):
        shape = [1] * len(dims)
        shape[axis] = size
        logs = logs + np.log(rng.dirichlet(np.full(size, 2.0))).reshape(shape)
        for other in range(axis):
            pair = [1] * len(dims)
            pair[axis], pair[other] = size, dims[other]
            logs = logs + strength * rng.normal(size=pair)
    shares: np.ndarray = np.exp(logs) / np.exp(logs).sum()
    return shares


def counted(cells: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The records in each cell."""
    counts: np.ndarray = np.bincount(placed(cells, codes), minlength=len(cells)).astype(float)
    return counts


def test_the_fit_equals_a_poisson_regression_on_the_whole_table() -> None:
    rng = np.random.default_rng(4)
    counts = rng.poisson(900 * association(rng, (3, 4, 3), 0.4)).astype(float) + 1  # no empty margin: the MLE exists
    cells = pd.DataFrame(np.argwhere(np.ones(counts.shape)), columns=["a", "b", "c"]).assign(f=counts.ravel())
    for order, formula in ((1, "f ~ C(a) + C(b) + C(c)"), (2, "f ~ (C(a) + C(b) + C(c)) ** 2")):
        model = smf.glm(formula, cells, family=sm.families.Poisson()).fit(tol=1e-13)
        every = cells[["a", "b", "c"]].to_numpy().astype(np.int32)
        expected, converged = fitted(every, counts.ravel(), order, tolerance=1e-9)
        assert converged
        np.testing.assert_allclose(expected, model.fittedvalues, rtol=1e-6)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 100_000))
def test_cells_left_out_are_those_that_the_whole_table_expects_nothing_in(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, rng.integers(1, 6, 3), (int(rng.integers(1, 25)), 3)).astype(np.int32)
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in codes.T]).astype(np.int32)
    every = np.argwhere(np.ones(codes.max(axis=0) + 1)).astype(np.int32)
    for order in (1, 2):
        whole, _ = fitted(every, counted(every, codes), order, tolerance=1e-7)
        cells = possible_cells(codes, order, 1_000)
        assert cells is not None
        sparse, _ = fitted(cells, counted(cells, codes), order, tolerance=1e-7)
        place = {tuple(cell): value for cell, value in zip(cells.tolist(), sparse, strict=True)}
        np.testing.assert_allclose([place.get(tuple(cell), 0.0) for cell in every.tolist()], whole, atol=1e-4)
        assert possible_cells(codes, order, len(cells)) is not None
        assert len(cells) == 1 or possible_cells(codes, order, len(cells) - 1) is None


def test_machine_code_and_numpy_fit_alike() -> None:
    rng = np.random.default_rng(1)
    cells = np.argwhere(np.ones((6, 5, 4, 3))).astype(np.int32)
    counts = rng.poisson(0.8, len(cells)).astype(float)
    one, other = np.ones(len(cells)), np.ones(len(cells))
    in_numpy, in_machine_code = plain_cycle(cells, counts, 2), compiled.cycle(cells, counts)
    for _ in range(3):
        assert in_numpy(one) == pytest.approx(in_machine_code(other), rel=1e-12)
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("terms", ["main", "two-way"])
def test_tau_follows_from_the_fit(terms: str) -> None:
    data = persons()
    keys = ["region", "sex", "education"]
    frame = data.to_arrow().to_pandas()
    full = frame.groupby(keys, observed=False)["id"].size().rename("f").reset_index()
    every = pd.MultiIndex.from_product([sorted(frame[key].unique()) for key in keys], names=keys)
    full = full.set_index(keys).reindex(every, fill_value=0).reset_index()
    formula = "f ~ region + sex + education" if terms == "main" else "f ~ (region + sex + education) ** 2"
    fit = smf.glm(formula, full, family=sm.families.Poisson()).fit(tol=1e-13)
    pi = 240 / frame["weight"].sum()
    h = fit.fittedvalues[full["f"] == 1] / pi * (1 - pi)  # population mean outside the sample
    found = LogLinearRisk(terms, variables=tuple(keys)).evaluate(data, data)  # type: ignore[arg-type]
    assert found.parts["uniques"] == (full["f"] == 1).sum() > 0
    assert found.parts["tau1"] == pytest.approx(np.exp(-h).sum(), rel=1e-8)
    assert found.parts["tau2"] == pytest.approx(((1 - np.exp(-h)) / h).sum(), rel=1e-8)
    assert found.value == pytest.approx(found.parts["tau2"] / 240)
    assert found.by_record is not None and found.by_record.mean() == pytest.approx(found.value)


def simulated(seed: int, strength: float) -> tuple[Microdata, int, float]:
    """A sample of a population, how many of its uniques are population uniques, and its correct matches."""
    rng = np.random.default_rng(seed)
    dims, pi = (8, 6, 5, 10), 0.05
    population = rng.poisson(20_000 * association(rng, dims, strength))
    sample = rng.binomial(population, pi)
    rows = np.repeat(np.argwhere(np.ones(dims)), sample.ravel(), axis=0)
    table = pa.table({name: rows[:, j].astype(str) for j, name in enumerate("abcd")} | {"w": np.full(len(rows), 20.0)})
    schema = Schema((*(Variable(key, kind="nominal", role="key") for key in "abcd"), Variable("w")), weight="w")
    unique = sample == 1
    return (
        Microdata.from_frame(table, schema),
        int((population[unique] == 1).sum()),
        float((1 / population[unique]).sum()),
    )


def test_the_right_model_finds_the_risk_of_a_population() -> None:
    runs = [simulated(seed, 0.0) for seed in range(8)]
    found = [LogLinearRisk("main").evaluate(data, data) for data, _, _ in runs]
    assert sum(f.parts["tau1"] for f in found) == pytest.approx(sum(one for _, one, _ in runs), rel=0.15)
    assert sum(f.parts["tau2"] for f in found) == pytest.approx(sum(match for _, _, match in runs), rel=0.05)
    assert all(not f.notes for f in found)


def test_a_model_that_is_too_simple_overstates_the_risk_and_says_so() -> None:
    data, alone, matches = simulated(3, 0.7)
    poor = LogLinearRisk("main").evaluate(data, data)
    assert poor.parts["tau1"] > alone and poor.parts["tau2"] > matches
    assert poor.parts["B1, standardised"] > 2 and poor.parts["B2, standardised"] > 2
    assert any("fits poorly: the figure is probably too high" in note for note in poor.notes)
    better = LogLinearRisk("two-way").evaluate(data, data)
    assert abs(better.parts["B2, standardised"]) < 2 and not better.notes
    assert abs(better.parts["tau2"] - matches) < abs(poor.parts["tau2"] - matches)


def test_the_check_is_the_expected_bias_to_second_order() -> None:
    # with means m near the fitted m', the expectation of the estimated bias is that of the uniques' sum
    rng = np.random.default_rng(0)
    fitted = rng.uniform(0.05, 0.6, 40)
    true = fitted * rng.uniform(0.9, 1.1, 40)
    growth = np.full(40, 3.0)
    for shape in (only_one, one_in):
        exact = float((true * np.exp(-true) * (shape(growth * fitted)[0] - shape(growth * true)[0])).sum())
        drawn = [model_check(rng.poisson(true).astype(float), fitted, growth, shape) for _ in range(6_000)]
        error = np.std([bias for bias, _ in drawn]) / np.sqrt(len(drawn))
        assert np.mean([bias for bias, _ in drawn]) == pytest.approx(exact, abs=4 * error + 0.02 * abs(exact))
        under = [model_check(rng.poisson(fitted).astype(float), fitted, growth, shape) for _ in range(6_000)]
        assert np.std([bias for bias, _ in under]) == pytest.approx(under[0][1], rel=0.05)


@pytest.mark.parametrize("shape", [only_one, one_in])
def test_derivatives(shape: Shape) -> None:
    at, step = np.array([1e-3, 0.05, 0.099, 0.101, 0.3, 2.0, 30.0]), 1e-4
    for order in (0, 1):
        near = (shape(at + step)[order] - shape(at - step)[order]) / (2 * step)
        np.testing.assert_allclose(shape(at)[order + 1], near, rtol=1e-6, atol=1e-8)


def test_a_census_makes_every_unique_certain() -> None:
    data = persons().without(["weight"])
    found = LogLinearRisk(variables=("region", "sex", "education")).evaluate(data, data)
    uniques = SampleUniques(variables=("region", "sex", "education")).evaluate(data, data)
    assert found.value == uniques.value and found.parts["B1"] == found.parts["B2"] == 0.0


def test_a_missing_key_takes_the_expected_count_of_all_it_may_be() -> None:
    # complete: x u, x u, y v, y v, y u; the last record lacks a and has b = w, which nobody else has: nothing to sum
    table = pa.table(
        {"a": ["x", "x", "y", "y", "y", None], "b": ["u", "u", "v", "v", "u", "w"], "w": [2.0] * 6},
    )
    schema = Schema((Variable("a", kind="nominal"), Variable("b", kind="nominal"), Variable("w")), weight="w")
    data = Microdata.from_frame(table, schema)
    found = LogLinearRisk("main", variables=("a", "b")).evaluate(data, data)
    # uniques: y u (record 5) and the last. pi = 1/2, so h = the expected count: 3 * 3 / 5 times 6/5 for the sixth
    h = 3 * 3 / 5 * 6 / 5
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, [0, 0, 0, 0, (1 - np.exp(-h)) / h, 1])


def test_records_that_all_lack_a_key_and_tables_without_end_are_refused() -> None:
    data = persons()
    empty = data.replace({"region": np.full(len(data), -1, dtype=np.int32)})
    with pytest.raises(NotApplicable, match="LogLinearRisk: every record lacks a key"):
        LogLinearRisk().evaluate(data, empty)
    wide = pa.table({f"k{j}": np.arange(60) % 30 for j in range(5)})
    with pytest.raises(NotApplicable, match="more than 10,000,000 combinations that a model with main terms expects"):
        LogLinearRisk("main", variables=tuple(wide.column_names)).evaluate(wide, wide)
    # of the 30^5 only 30 have values that occur together
    assert LogLinearRisk(variables=tuple(wide.column_names)).evaluate(wide, wide).value == 0.0


# weights that differ between combinations


def weighted_keys() -> Microdata:
    """The file of the R script below."""
    i = np.arange(1, 501)
    a, b, c = i * 7919 % 10007 % 8, i * i % 9973 % 7, i**3 % 9967 % 4
    schema = Schema((*(Variable(key, kind="nominal", role="key") for key in "abc"), Variable("w")), weight="w")
    columns = {name: codes.astype(str) for name, codes in zip("abc", (a, b, c), strict=True)}
    return Microdata.from_frame(pa.table({**columns, "w": 2.0 + 3 * a + i * 31 % 7}), schema)


@pytest.mark.parametrize(
    ("terms", "weighting", "tau1", "tau2"),
    [
        ("main", "mean", 2.2368256214681e-10, 1.7948064204153),
        ("main", "Clogg-Eliason", 0.0028272309613204, 2.5681662728452315),
        ("main", "pseudo-likelihood", 0.0022226598263518, 2.5168145581024679),
        ("two-way", "mean", 4.226119240111e-05, 2.29750487634675604),
        ("two-way", "Clogg-Eliason", 0.050781307082719, 3.285216408390942),
        ("two-way", "pseudo-likelihood", 0.073937151363676, 3.321863630375756),
    ],
)
def test_every_weighting_equals_a_poisson_regression(
    terms: Terms, weighting: Weighting, tau1: float, tau2: float
) -> None:
    """By reference: R 4.2. (sdcMicro's ``modRisk`` has the same models, with the mean of the sample in place of l.)

    i <- 1:500; a <- (i * 7919) %% 10007 %% 8; b <- (i * i) %% 9973 %% 7; c <- (i^3) %% 9967 %% 4
    w <- 2 + 3 * a + (i * 31) %% 7; d <- expand.grid(a = 0:7, b = 0:6, c = 0:3)
    k <- factor(paste(a, b, c), paste(d$a, d$b, d$c)); d$f <- as.vector(table(k))
    d$W <- as.vector(tapply(w, k, sum)); d$W[is.na(d$W)] <- 0; for (v in c("a", "b", "c")) d[[v]] <- factor(d[[v]])
    pi <- sum(d$f) / sum(d$W); u <- d$f == 1
    risk <- function(l, p) { h <- l * (1 - p); c(sum(exp(-h)), sum((1 - exp(-h)) / h)) }
    model <- function(...) fitted(glm(..., family = poisson, data = d, control = list(epsilon = 1e-14, maxit = 100)))
    z <- ifelse(d$f > 0, d$f / d$W, model(f ~ a + b + c) / model(W ~ a + b + c))
    risk(model(f ~ a + b + c)[u] / pi, pi)
    risk((model(f ~ a + b + c, offset = log(z)) / z)[u], z[u])
    risk(model(W ~ a + b + c)[u], z[u])
    # and the same with (a + b + c)^2
    """
    found = LogLinearRisk(terms, weighting).evaluate(weighted_keys(), weighted_keys())
    assert found.parts["uniques"] == 55
    assert found.parts["tau1"] == pytest.approx(tau1, rel=1e-7)
    assert found.parts["tau2"] == pytest.approx(tau2, rel=1e-9)
    assert found.value == pytest.approx(tau2 / 500, rel=1e-9)


@pytest.mark.parametrize("terms", ["main", "two-way"])
def test_equal_weights_make_no_difference_between_the_weightings(terms: Terms) -> None:
    data, _, _ = simulated(1, 0.3)
    mean = LogLinearRisk(terms).evaluate(data, data)
    for weighting in ("Clogg-Eliason", "pseudo-likelihood"):
        other = LogLinearRisk(terms, weighting).evaluate(data, data)
        assert dict(other.parts) == pytest.approx(dict(mean.parts), rel=1e-6, abs=1e-6)


def test_fractions_that_differ_are_seen_by_both_weightings() -> None:
    """By simulation: half of the population is sampled by 2 %, half by 20 %, told by a key."""
    rng = np.random.default_rng(7)
    dims = (2, 8, 6, 10)
    truth = dict.fromkeys(("mean", "Clogg-Eliason", "pseudo-likelihood", "true"), 0.0)
    for _ in range(6):
        population = rng.poisson(20_000 * association(rng, dims, 0.0))
        fractions = np.where(np.arange(2) == 0, 0.02, 0.2)[:, None, None, None] * np.ones(dims)
        sample = rng.binomial(population, fractions)
        rows = np.repeat(np.argwhere(np.ones(dims)), sample.ravel(), axis=0)
        columns = {name: rows[:, j].astype(str) for j, name in enumerate("abcd")}
        schema = Schema((*(Variable(key, kind="nominal", role="key") for key in "abcd"), Variable("w")), weight="w")
        table = pa.table(columns | {"w": np.where(rows[:, 0] == 0, 50.0, 5.0)})
        data = Microdata.from_frame(table, schema)
        truth["true"] += float((1 / population[sample == 1]).sum())
        for weighting in ("mean", "Clogg-Eliason", "pseudo-likelihood"):
            found = LogLinearRisk("main", weighting).evaluate(data, data)
            truth[weighting] += found.parts["tau2"]
    assert truth["Clogg-Eliason"] == pytest.approx(truth["true"], rel=0.05)
    assert truth["pseudo-likelihood"] == pytest.approx(truth["true"], rel=0.05)
    assert abs(truth["mean"] / truth["true"] - 1) > 0.1
