"""Synthesis by trees: what is kept, what is not copied, and what happens to weights, ids, households and gaps."""

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato import (
    CARTSynthesis,
    Experiment,
    GlobalDataUtility,
    Microdata,
    NotApplicable,
    ParameterError,
    PropensityUtility,
    Schema,
    Variable,
    household_survey,
)
from sfumato.methods.cart_synthesis import Rule, alone, among, digests, fit, predictor, smoothing
from tables import incomes, numbers, persons


@cache
def survey() -> Microdata:
    return household_survey()


@cache
def synthetic(seed: int = 1, **parameters: object) -> Microdata:
    return CARTSynthesis(**parameters).protect(survey(), rng=seed)  # type: ignore[arg-type]


def independent(data: Microdata) -> Microdata:
    rng = np.random.default_rng(0)
    return replace(data, columns={n: rng.permutation(c) for n, c in data.columns.items()}, matched=False)


def records(data: Microdata) -> list[tuple[object, ...]]:
    columns = [np.where(np.isnan(c := data.columns[n].astype(float)), -1e9, c) for n in data.schema.analysed()]
    return list(zip(*(column.tolist() for column in columns), strict=True))


# the demo survey


SOME = ("sex", "age", "education", "hours", "earnings", "wealth")


@pytest.mark.parametrize("model", ["logistic I", "tree"])
def test_a_model_tells_the_synthetic_survey_from_the_original_no_better_than_another_sample(model: str) -> None:
    measure = PropensityUtility(model, permutations=0, variables=SOME)  # type: ignore[arg-type]
    tables = (synthetic(), household_survey(seed=7), independent(survey()))
    cart, sample, unrelated = (measure.evaluate(survey(), table, rng=0) for table in tables)
    assert cart.value < 2 * sample.value and cart.value < unrelated.value / 5
    if model == "logistic I":  # all terms of first and second order; synthpop aims below 3
        assert cart.parts["ratio, fitted model"] < 2 and unrelated.parts["ratio, fitted model"] > 10


def test_the_global_data_utility_is_that_of_a_bootstrap_sample() -> None:
    rows = np.random.default_rng(0).integers(0, len(survey()), len(survey()))
    tables = (synthetic(), survey().take(rows), household_survey(seed=7), independent(survey()))
    cart, bootstrap, sample, unrelated = (GlobalDataUtility().evaluate(survey(), t, rng=0).value for t in tables)
    assert cart > max(bootstrap - 0.08, sample) and unrelated < 0.6


def test_marginals_are_within_sampling_error() -> None:
    data, made = survey(), synthetic(replicated_uniques="keep")
    chances = []
    for name in data.schema.analysed():
        before, after = data.columns[name], made.columns[name]
        if data.schema[name].kind == "numeric":
            gaps = np.array([[np.isnan(x).sum(), (~np.isnan(x)).sum()] for x in (before, after)])
            if gaps[0, 0]:
                chances.append(stats.chi2_contingency(gaps).pvalue)
            chances.append(stats.ks_2samp(before[~np.isnan(before)], after[~np.isnan(after)]).pvalue)
        else:
            counts = np.array([np.bincount(x + 1, minlength=20) for x in (before, after)])
            chances.append(stats.chi2_contingency(counts[:, counts.any(axis=0)]).pvalue)
    assert min(chances) > 0.05 / len(chances)


def test_rank_correlations_are_within_sampling_error() -> None:
    data, made = survey(), synthetic()
    names = data.schema.analysed("numeric", "ordinal")
    values = [
        pd.DataFrame({n: np.where(t.columns[n] < 0, np.nan, t.columns[n]) if t.schema[n].kind == "ordinal"
                      else t.columns[n] for n in names})
        for t in (data, made)
    ]  # fmt: skip
    before, after = (frame.corr("spearman").to_numpy() for frame in values)
    off = ~np.eye(len(names), dtype=bool)
    error = np.sqrt(2 / len(data))  # of the difference of two samples' Fisher transforms
    apart = (np.arctanh(after[off]) - np.arctanh(before[off])) / error
    assert np.sqrt(np.mean(apart**2)) < 1.6  # other surveys of the same population: 1.15 to 1.55, as households cluster
    assert np.abs(apart).max() < 5


def test_weighted_totals_by_region_are_close_and_the_weights_add_up() -> None:
    data, made = survey(), synthetic()
    assert made.weights().sum() == pytest.approx(data.weights().sum())
    for region in range(8):
        before, after = (t.weights()[t.columns["region"] == region].sum() for t in (data, made))
        assert after == pytest.approx(before, rel=0.25)  # a region has about 250 of 4,014 records or more
    assert stats.spearmanr(data.weights(), data.columns["region"]).statistic == pytest.approx(
        stats.spearmanr(made.weights(), made.columns["region"]).statistic, abs=0.05
    )


def test_no_record_is_copied_whole_more_often_than_another_sample_would() -> None:
    # chance: the share of records that a fresh sample of the same population has in common with the survey
    original = Counter(records(survey()))
    uniques = {record for record, count in original.items() if count == 1}

    def common(table: Microdata) -> tuple[float, float]:
        found = records(table)
        return np.mean([r in original for r in found]).item(), np.mean([r in uniques for r in found]).item()

    by_chance = [common(household_survey(seed=seed)) for seed in (7, 8, 9)]
    bootstrap = survey().take(np.random.default_rng(0).integers(0, len(survey()), len(survey())))
    assert common(bootstrap)[1] > 0.9
    for seed in (1, 2):
        whole, unique = common(synthetic(seed))
        assert whole <= max(share for share, _ in by_chance)
        assert unique == 0
        # what is drawn anew: two or three times chance, and nothing like a bootstrap sample
        assert 0 < common(synthetic(seed, replicated_uniques="keep"))[1] < 4 * max(share for _, share in by_chance)


def test_the_compiled_and_the_plain_way_give_the_same_table(monkeypatch: pytest.MonkeyPatch) -> None:
    data = survey().take(np.arange(800))
    made = []
    for least in (0, 10**9):
        monkeypatch.setattr("sfumato.kernels.trees.MIN_CELLS", least)
        made.append(CARTSynthesis(smoothing=True, proper=True).protect(data, rng=3))
    for name in made[0].names:
        assert np.array_equal(made[0].columns[name], made[1].columns[name], equal_nan=True)


# other tables


def test_fifty_regions_and_thirty_occupations_keep_their_association() -> None:
    rng = np.random.default_rng(1)
    n = 6000
    town = rng.integers(0, 60, n)
    group = rng.permutation(60)[town] % 3  # towns of three kinds, in no order
    job = np.where(rng.random(n) < 0.7, group * 10 + rng.integers(0, 10, n), rng.integers(0, 30, n))
    pay = np.exp(rng.normal(size=n) * 0.3 + 0.4 * group)
    data = Microdata.from_frame(pa.table({"town": town.astype(str), "job": job.astype(str), "pay": pay}))
    made = CARTSynthesis(smoothing=True).protect(data, rng=2)

    def figures(table: Microdata) -> tuple[float, float]:
        town, job, pay = (table.columns[name] for name in ("town", "job", "pay"))
        counts = np.zeros((60, 30))
        np.add.at(counts, (town, job), 1)
        means = np.bincount(town, np.log(pay), 60) / np.bincount(town, minlength=60)
        explained = float(np.average((means - np.log(pay).mean()) ** 2, weights=np.bincount(town, minlength=60)))
        return float(stats.contingency.association(counts.astype(int), "cramer")), explained / np.log(pay).var()

    # an association this strong has a standard error of about 0.006, and 60 x 30 cells add some of chance's own
    (v, eta), (made_v, made_eta) = figures(data), figures(made)
    assert made_v == pytest.approx(v, abs=0.03)
    assert made_eta == pytest.approx(eta, abs=0.04)
    assert figures(independent(data))[0] < v / 2


def test_missingness_is_modelled_before_the_value() -> None:
    rng = np.random.default_rng(4)
    n = 4000
    age = rng.integers(18, 90, n).astype(float)
    income = np.where(rng.random(n) < (age > 65) * 0.6, np.nan, 1000 + 10 * age + rng.normal(size=n))
    grade = np.where(rng.random(n) < (age < 30) * 0.8, -1, (age > 50).astype(int)).astype(np.int32)
    schema = Schema((Variable("grade", kind="ordinal", categories=("low", "high")),))
    table = pa.table({"age": age, "income": pa.array(income, mask=np.isnan(income)), "grade": ["low"] * n})
    data = Microdata.from_frame(table, schema).replace({"grade": grade})
    made = CARTSynthesis(replicated_uniques="keep").protect(data, rng=1)
    for old in (False, True):
        before, after = (t.columns["age"] > 65 if old else t.columns["age"] <= 65 for t in (data, made))
        assert np.isnan(made.columns["income"][after]).mean() == pytest.approx(
            np.isnan(data.columns["income"][before]).mean(), abs=0.04
        )
    young = made.columns["age"] < 30
    assert (made.columns["grade"][young] < 0).mean() == pytest.approx(0.8, abs=0.06)
    assert (made.columns["grade"][~young] < 0).mean() < 0.01
    assert (made.columns["grade"][made.columns["age"] > 51] == 1).all()


def test_what_becomes_of_ids_households_identifiers_and_weights() -> None:
    data = persons()
    named = data.to_arrow().append_column("name", pa.array([f"Name {i}" for i in range(len(data))]))
    data = Microdata.from_frame(
        named, replace(data.schema, variables=(*data.schema.variables, Variable("name", "nominal", "identifier")))
    )
    made = CARTSynthesis(records=100).protect(data, rng=1)
    assert len(made) == 100 and not made.matched
    assert "household" not in made.names and "name" not in made.names
    assert made.schema.household is None and made.schema.weight == "weight" and made.schema.id == "id"
    assert any("household, name" in note for note in made.notes)
    assert made.schema["id"].categories == tuple(str(i) for i in range(1, 101))
    assert made.weights().sum() == pytest.approx(data.weights().sum()) and (made.weights() > 0).all()
    assert all(made.schema[name].treatment.perturbed for name in made.names)
    assert made.schema["education"].categories == data.schema["education"].categories
    frame = data.to_frame("pandas").set_index("name")
    assert CARTSynthesis().protect(frame, rng=1).index.equals(pd.RangeIndex(len(data)))


def test_partial_synthesis_keeps_the_records_and_all_other_variables() -> None:
    data = persons(n=2000)
    made = CARTSynthesis(variables=("income", "health")).protect(data, rng=1)
    assert made.matched
    for name in data.names:
        same = np.array_equal(made.columns[name], data.columns[name])
        assert same is (name not in ("income", "health"))
        assert made.schema[name].treatment.perturbed is not same
    # health depends on age, which stays: the new values depend on it as the old ones did
    before, after = (stats.pointbiserialr(t.columns["health"], data.columns["age"]).statistic for t in (data, made))
    assert after == pytest.approx(before, abs=4 / np.sqrt(2000))
    everything = CARTSynthesis(variables=data.schema.analysed()).protect(data, rng=1)
    assert not everything.matched and "household" not in everything.names
    # the weight is drawn last, wherever it is named
    with_weight = CARTSynthesis(variables=("weight", *data.schema.analysed())).protect(data, rng=1)
    assert with_weight.to_arrow().equals(everything.to_arrow())


def test_the_order_of_synthesis_is_the_one_stated() -> None:
    data = persons()
    first = CARTSynthesis(order=("income", "sex")).protect(data, rng=1)
    # the first variable is sampled from its own distribution, whatever follows
    alone_ = CARTSynthesis(order=("income",), replicated_uniques="keep").protect(data, rng=1)
    again = CARTSynthesis(order=("income", "sex"), replicated_uniques="keep").protect(data, rng=1)
    assert np.array_equal(alone_.columns["income"], again.columns["income"])
    assert set(first.names) == set(alone_.names)
    with pytest.raises(NotApplicable, match="order: there is no variable 'incom'"):
        CARTSynthesis(order=("incom",)).protect(data)
    with pytest.raises(NotApplicable, match="order names 'weight', which is not synthesised"):
        CARTSynthesis(order=("weight",)).protect(data)


def test_copies_are_different_draws_of_the_kind_of_frame_given() -> None:
    data = persons()
    copies = CARTSynthesis().copies(data, 3, rng=1)
    assert len(copies) == 3 and len({copy.fingerprint for copy in copies}) == 3
    assert [c.fingerprint for c in CARTSynthesis().copies(data, 3, rng=1)] == [c.fingerprint for c in copies]
    assert all(isinstance(copy, pd.DataFrame) for copy in CARTSynthesis().copies(data.to_frame("pandas"), 2, rng=1))
    with pytest.raises(ParameterError, match="CARTSynthesis: m must be a whole number of at least 1; got 0"):
        CARTSynthesis().copies(data, 0)


def test_means_of_copies_vary_as_resampling_and_a_bayesian_bootstrap_say() -> None:
    # sampling n of n donors gives a mean variance s^2 / n; a Bayesian bootstrap of the leaf adds s^2 / (n + 1)
    values = np.random.default_rng(0).gamma(2.0, size=200)
    data = numbers(x=values)
    for proper, times in ((False, 1.0), (True, 2.0)):
        copies = CARTSynthesis(proper=proper, replicated_uniques="keep").copies(data, 1500, rng=1)
        spread = np.var([copy.columns["x"].mean() for copy in copies])
        # the standard error of a variance from 1,500 draws is sqrt(2 / 1500) = 3.7 %
        assert spread == pytest.approx(times * values.var() / 200, rel=0.15)


def test_smoothed_numbers_lie_between_the_leafs_values_and_frequent_ones_stay() -> None:
    # one leaf: 0 twelve times, and 10, 20, 40 once each
    values = np.array([0.0] * 12 + [10, 20, 40])
    tree = fit([], values, np.arange(15, dtype=np.int32), Rule(5, 30, 1e-8, cells=0))
    found = smoothing(tree, values, 5)
    assert found.low[:12].tolist() == found.high[:12].tolist() == [0.0] * 12
    assert found.low[12:].tolist() == [10, 15, 30] and found.high[12:].tolist() == [15, 30, 40]
    assert found.decimals == 0
    # two leaves by x: 10 is alone in its leaf, and takes the stretch between its second neighbours in the file
    values = np.array([0.0] * 12 + [10, 20, 40, 80])
    x = predictor("numeric", np.array([0.0] * 13 + [1.0] * 3), 0)
    tree = fit([x], values, np.arange(16, dtype=np.int32), Rule(3, 1, 1e-8, cells=0))
    found = smoothing(tree, values, 4)
    assert (found.low[12], found.high[12]) == (0.0, 40.0)
    assert (found.low[13], found.high[15]) == (20.0, 80.0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(5, 150), min_leaf=st.integers(1, 5), proper=st.booleans())
def test_values_are_donors_and_smoothed_ones_are_not(seed: int, n: int, min_leaf: int, proper: bool) -> None:
    data = incomes(n, seed)
    made = CARTSynthesis(min_leaf, proper=proper).protect(data, rng=seed)
    smooth = CARTSynthesis(min_leaf, proper=proper, smoothing=True).protect(data, rng=seed)
    for name in data.schema.analysed("numeric"):
        column = data.columns[name]
        assert np.isin(made.columns[name], column).all()
        assert not np.isin(smooth.columns[name], column).any()
        assert column.min() <= smooth.columns[name].min() and smooth.columns[name].max() <= column.max()
    assert np.isin(made.columns["region"], data.columns["region"]).all()


def test_smoothing_keeps_distributions_and_round_figures() -> None:
    data, made = survey(), synthetic(smoothing=True, replicated_uniques="keep")
    for name in ("earnings", "wealth", "tax"):
        before, after = (t.columns[name][~np.isnan(t.columns[name])] for t in (data, made))
        assert stats.ks_2samp(before, after).pvalue > 0.001
        assert (after == 0).mean() == pytest.approx((before == 0).mean(), abs=0.03)
        values, counts = np.unique(before, return_counts=True)
        rare = values[counts < 10]
        plain = synthetic(replicated_uniques="keep").columns[name]
        assert np.isin(after, rare).mean() < 0.3 * np.isin(plain, rare).mean()  # by rounding, where values lie dense
        assert np.array_equal(after, np.round(after))


def test_few_variables_are_not_bent_by_drawing_copies_anew() -> None:
    data = survey().without([name for name in survey().names if name not in ("sex", "age", "income")])
    made = CARTSynthesis().protect(data, rng=1)
    assert any("records equal, in every variable, an original" in note for note in made.notes)
    kept = CARTSynthesis(replicated_uniques="keep").protect(data, rng=1)
    assert np.array_equal(made.columns["income"], kept.columns["income"], equal_nan=True)


def test_digests_by_hand() -> None:
    found = digests([np.array([1.0, np.nan, -0.0, 0.0, 1.0]), np.array([1, -1, 2, 2, 2], dtype=np.int32)])
    assert len(np.unique(found)) == 4 and found[2] == found[3]
    assert among(found, alone(found)).tolist() == [0, 1, 4]


def test_refusals() -> None:
    data = persons()
    with pytest.raises(ParameterError, match="CARTSynthesis: min_leaf must be a whole number of at least 1; got 0"):
        CARTSynthesis(0)
    with pytest.raises(ParameterError, match="CARTSynthesis: replicated_uniques must be one of 'redraw', 'keep'"):
        CARTSynthesis(replicated_uniques="drop")  # type: ignore[arg-type]
    with pytest.raises(NotApplicable, match="leaves of 30 donors need as many records; there are 4"):
        CARTSynthesis().protect(data.take(np.arange(4)))
    with pytest.raises(NotApplicable, match=r"CARTSynthesis: records=9 needs all variables synthesised, but region"):
        CARTSynthesis(records=9, variables=("income",)).protect(data)
    for name in ("id", "household"):
        with pytest.raises(NotApplicable, match=f"CARTSynthesis: variable '{name}' names the unit"):
            CARTSynthesis(variables=(name,)).protect(data)
    names = Microdata.from_frame(pa.table({"name": [f"n{i}" for i in range(5001)], "x": np.arange(5001.0)}))
    with pytest.raises(NotApplicable, match="variable 'name' has 5,001 categories, more than a tree can use"):
        CARTSynthesis().protect(names)


def test_few_values_are_said_and_a_variable_without_values_stays_without() -> None:
    data = incomes()
    gaps = np.full(200, np.nan)
    made = CARTSynthesis().protect(data.replace({"tax": gaps}), rng=1)
    assert np.isnan(made.columns["tax"]).all()
    few = np.where(np.arange(200) < 3, 7.0, np.nan)
    made = CARTSynthesis().protect(data.replace({"tax": few}), rng=1)
    assert any("fewer than 30 values to draw from: tax" in note for note in made.notes)


def test_an_experiment_draws_one_table_per_replicate() -> None:
    measure = PropensityUtility("main effects")
    results = Experiment(persons(), [CARTSynthesis(20)], [measure], replicates=3, seed=1).run()
    (values,) = results.rows[0].values.values()
    assert len(set(values)) == 3
