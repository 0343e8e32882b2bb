"""Models and scales that users name: the multivariate extension."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import GlobalDataUtility, Microdata, Model, NotApplicable, ParameterError, Schema, Variable, catalogue
from sfumato.utility.global_utility.multivariate import Outcome

pytest.importorskip("formulaic")


def survey(seed: int = 0, n: int = 300, slope: float = 1.0) -> Microdata:
    rng = np.random.default_rng(seed)
    age, region = rng.uniform(20, 70, n), rng.choice(["n", "s", "w"], n)
    income = slope * age + 5 * (region == "s") + rng.normal(scale=15, size=n)
    poor = (rng.random(n) < 1 / (1 + np.exp(0.05 * (income - 45)))).astype(float)
    trait = rng.normal(size=n)
    items = {f"q{i}": np.clip(np.round(3 + trait + rng.normal(size=n)), 1, 5) for i in range(1, 5)}
    return Microdata.from_frame(pa.table({"age": age, "region": region, "income": income, "poor": poor, **items}))


def rows(data: Microdata, other: Microdata, **parameters: object) -> dict[str, dict[str, Any]]:
    found = GlobalDataUtility(**parameters).evaluate(data, other)  # type: ignore[arg-type]
    return {str(row["coefficient"]): dict(row) for row in found.tables["models"]}


def test_linear_models_by_reference() -> None:
    import statsmodels.formula.api as smf

    first, second = survey(1), survey(2, slope=0.5)
    found = rows(first, second, models="income ~ age + C(region)")
    adjusted = []
    for data, which in ((first, "before"), (second, "after")):
        frame = data.to_frame("pandas")
        fit = smf.ols("income ~ age + C(region)", frame).fit()
        adjusted.append(fit.rsquared_adj)
        assert found["adjusted R squared"][which] == pytest.approx(fit.rsquared_adj, rel=1e-9)
        standardised = fit.params["age"] * frame["age"].std() / frame["income"].std()
        assert found["beta of age"][which] == pytest.approx(standardised, rel=1e-9)
    assert found["adjusted R squared"]["utility"] == pytest.approx(min(adjusted) / max(adjusted))

    whole = GlobalDataUtility(models="income ~ age + C(region)").evaluate(first, second)
    assert len(found) == 4  # R squared, age and two regions, which all count alike
    assert whole.parts["multivariate"] == pytest.approx(np.mean([row["utility"] for row in found.values()]))
    a, b = (found["beta of age"][which] for which in ("before", "after"))
    assert found["beta of age"]["utility"] == pytest.approx((min(a, b) / max(a, b)) ** 2)


def test_logistic_models_by_reference() -> None:
    import statsmodels.formula.api as smf

    first, second = survey(1), survey(2, slope=0.5)
    found = rows(first, second, models=[Model("poor ~ age", family="logistic")])
    for data, which in ((first, "before"), (second, "after")):
        fit = smf.logit("poor ~ age", data.to_frame("pandas")).fit(disp=False)
        cox_snell = 1 - np.exp((fit.llnull - fit.llf) * 2 / len(data))
        assert found["Cox and Snell's R squared"][which] == pytest.approx(cox_snell, rel=1e-7)
        assert found["odds ratio of age"][which] == pytest.approx(np.exp(fit.params["age"]), rel=1e-7)


@pytest.mark.parametrize(
    ("before", "after", "utility"),
    [
        (0.5, 0.25, 0.5),  # farther from 1 in the same direction
        (2.0, 4.0, 0.5),  # the same with the groups exchanged
        (0.9, 1.1, 0.0),  # crosses 1: reversed, however near
        (1.1, 0.9, 0.0),
        (1.0, 1.25, 0.8),  # from none to some, in no direction before
        (3.0, 3.0, 1.0),
        (3.0, np.nan, 0.0),  # the protected table has no such coefficient
    ],
)
def test_an_odds_ratio_that_crosses_one_is_reversed(before: float, after: float, utility: float) -> None:
    found = Outcome("m", 1.0, {"odds ratio of sex": before}, {"odds ratio of sex": after})
    assert found.utility == pytest.approx(utility)


def test_all_coefficients_of_a_model_or_scale_count_and_those_the_original_lacks_do_not() -> None:
    before = {"Cronbach's alpha": 0.8, "alpha without a": np.nan, "alpha without b": 0.6, "alpha without c": -0.1}
    after = {"Cronbach's alpha": 0.4, "alpha without a": 0.5, "alpha without b": np.nan, "alpha without c": -0.2}
    found = Outcome("scale of a, b, c", 1.0, before, after)
    assert [row["utility"] for row in found.rows()] == [pytest.approx(0.5), None, 0.0, 1.0]
    assert found.utility == pytest.approx((0.5 + 0 + 1) / 3)
    assert [row["before"] for row in found.rows()] == [0.8, None, 0.6, -0.1]
    assert Outcome("m", 1.0, {"adjusted R squared": 0.5, "beta of x": 0.3}, {}).utility == 0


def test_a_reversed_effect_in_a_logistic_model_counts_nothing() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=800)
    tables = [
        Microdata.from_frame(pa.table({"x": x, "y": (rng.random(800) < 1 / (1 + np.exp(-sign * x))).astype(float)}))
        for sign in (1, -1)
    ]
    found = rows(*tables, models=[Model("y ~ x", family="logistic")])
    assert found["odds ratio of x"]["before"] > 1.5 and found["odds ratio of x"]["after"] < 0.7
    assert found["odds ratio of x"]["utility"] == 0
    assert found["Cox and Snell's R squared"]["utility"] > 0.6  # which does not see it


def test_cronbachs_alpha_by_hand() -> None:
    # a: variance 1, b: variance 4, covariance 2 (b = 2a); sum 3a: variance 9; alpha = 2/1 (1 - 5/9) = 8/9
    a = np.array([1.0, 2.0, 3.0])
    data = Microdata.from_frame(pa.table({"a": a, "b": 2 * a}))
    assert rows(data, data, scales=("a", "b"))["Cronbach's alpha"]["before"] == pytest.approx(8 / 9)
    # the second table: b = 2 a reversed in part; a (1, 2, 3), b (2, 6, 4): variances 1 and 4, covariance 1
    # variance of the sum 7; alpha = 2 (1 - 5/7) = 4/7; utility (4/7) / (8/9) = 9/14
    other = Microdata.from_frame(pa.table({"a": a, "b": [2.0, 6.0, 4.0]}))
    found = rows(data, other, scales=("a", "b"))["Cronbach's alpha"]
    assert found["after"] == pytest.approx(4 / 7)
    assert found["utility"] == pytest.approx(9 / 14)


def test_alpha_without_an_item_is_the_alpha_of_the_others() -> None:
    data = survey()
    found = rows(data, data, scales=[["q1", "q2", "q3", "q4"]])
    without = rows(data, data, scales=[["q1", "q2", "q4"]])
    assert found["alpha without q3"]["before"] == pytest.approx(without["Cronbach's alpha"]["before"])
    assert found["Cronbach's alpha"]["utility"] == 1


def test_the_multivariate_part_has_its_own_weight_and_its_models_theirs() -> None:
    first, second = survey(1), survey(2, slope=0.5)
    models = (Model("income ~ age", weight=3.0), Model("age ~ q1"))
    plain = GlobalDataUtility().evaluate(first, second).value
    whole = GlobalDataUtility(models=models, multivariate_weight=0.2).evaluate(first, second)
    each = [np.mean([r["utility"] for r in whole.tables["models"] if r["model"] == model.label]) for model in models]
    assert whole.parts["multivariate"] == pytest.approx((3 * each[0] + each[1]) / 4)
    assert whole.value == pytest.approx(0.8 * plain + 0.2 * whole.parts["multivariate"])
    assert GlobalDataUtility(models=models, multivariate_weight=0).evaluate(first, second).value == pytest.approx(plain)


def test_what_only_the_protected_table_refuses_counts_nothing_and_is_said() -> None:
    data = survey()
    found = GlobalDataUtility(models="income ~ age", scales=("q1", "q2")).evaluate(data, data.without(["age", "q2"]))
    assert found.parts["multivariate"] == 0
    assert sum("no variable 'age'" in note or "no variable 'q2'" in note for note in found.notes) == 2
    assert "cannot be had from this file" in found.statement
    with pytest.raises(NotApplicable, match=r"GlobalDataUtility: model 'income ~ agee'.*no variable 'agee'"):
        GlobalDataUtility(models="income ~ agee").evaluate(data, data)
    with pytest.raises(NotApplicable, match="item 'region' of a scale is nominal"):
        GlobalDataUtility(scales=("q1", "region")).evaluate(data, data)


def test_an_ordinal_item_scores_by_its_place() -> None:
    levels = ("low", "middle", "high")
    texts, scores = [levels[i] for i in (0, 1, 2, 2, 1)], [0.0, 1.0, 2.0, 2.0, 1.0]
    other = [1.0, 2.0, 2.0, 3.0, 1.0]
    schema = Schema((Variable("a", kind="ordinal", categories=levels),))
    ordinal = Microdata.from_frame(pa.table({"a": texts, "b": other}), schema)
    numeric = Microdata.from_frame(pa.table({"a": scores, "b": other}))
    alphas = [rows(data, data, scales=("a", "b"))["Cronbach's alpha"]["before"] for data in (ordinal, numeric)]
    assert alphas[0] == pytest.approx(alphas[1])


def test_parameters_are_read_and_refused() -> None:
    made = GlobalDataUtility(models=[Model("y ~ x", family="logistic"), "a ~ b"], scales=[["q1", "q2"]])
    assert catalogue.parse(repr(made)) == [made]
    assert hash(made) == hash(GlobalDataUtility(models=made.models, scales=made.scales))
    with pytest.raises(ParameterError, match="two or more different items"):
        GlobalDataUtility(scales=[["q1"]])
    with pytest.raises(ParameterError, match="two or more different items"):
        GlobalDataUtility(scales=("q1", "q1"))
    with pytest.raises(ParameterError, match="listed twice"):
        GlobalDataUtility(models=("y ~ x", "y ~ x"))
