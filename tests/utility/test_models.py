"""Fits against statsmodels, in the original's coding, and what is refused."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from sfumato import (
    ConclusionChanges,
    EllipsoidOverlap,
    IntervalOverlap,
    Microdata,
    Model,
    NotApplicable,
    ParameterError,
    Schema,
    Variable,
)
from sfumato.pair import Half, Pair
from sfumato.utility.models import Fit, fit, fit_both, fitting
from sfumato.utility.models.design import Design, Rows
from sfumato.utility.models.fitting import Sufficient
from tables import census

N = 400


def people(seed: int = 0, n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(45, 12, n),
            "hours": rng.exponential(30, n),
            "region": rng.choice(["east", "north", "south"], n),
            "sex": rng.choice(["f", "m"], n),
            "weight": rng.uniform(0.5, 6, n),
        }
    )
    frame["pay"] = 1e5 + 300 * frame.age + 55 * frame.hours + 900 * (frame.region == "south") + rng.normal(0, 4e3, n)
    frame["works"] = (rng.random(n) < 1 / (1 + np.exp(2 - 0.05 * frame.age))).astype(float)
    frame["children"] = rng.poisson(np.exp(0.01 * frame.age)).astype(float)
    return frame


def weighted(frame: pd.DataFrame) -> Microdata:
    return Microdata.from_frame(frame, Schema((Variable("weight"),), weight="weight"))


def agree(found: Fit, reference: Any, factor: float = 1.0) -> None:
    """Coefficients, standard errors and intervals equal statsmodels' to 1e-8; ``factor`` turns its errors into ours."""
    names = list(found.names)
    np.testing.assert_allclose(found.coefficients, reference.params[names], rtol=1e-8)
    np.testing.assert_allclose(found.standard_errors, factor * reference.bse[names], rtol=1e-8)
    if factor == 1.0:
        np.testing.assert_allclose(np.transpose(found.interval()), reference.conf_int().loc[names], rtol=1e-8)


LINEAR = [
    "pay ~ 1",
    "pay ~ age",
    "pay ~ age + hours + C(region)",
    "pay ~ 0 + C(region)",
    "pay ~ 0 + age + hours",
    "pay ~ age * C(region) + sex",
    "np.log(pay) ~ np.log(hours) + I(age**2) + age",
]


@pytest.mark.parametrize("formula", LINEAR)
def test_linear_models_equal_statsmodels(formula: str) -> None:
    frame = people()
    found = fit(formula, Microdata.from_frame(frame))
    agree(found, smf.ols(formula, frame).fit())
    assert found.degrees_of_freedom == N - len(found.names) and found.family == "linear"


@pytest.mark.parametrize("formula", LINEAR)
def test_weighted_linear_models_equal_statsmodels_robust_errors(formula: str) -> None:
    # R's survey::svyglm with ids = ~1 has n/(n - 1) times HC0, which is what statsmodels calls HC0 times that factor
    frame = people()
    reference = smf.wls(formula, frame, weights=frame.weight).fit(cov_type="HC0")
    found = fit(formula, weighted(frame))
    assert found.robust
    agree(found, reference, np.sqrt(N / (N - 1)))


@pytest.mark.parametrize(
    ("family", "formula", "reference"),
    [
        ("logistic", "works ~ age + C(region)", sm.families.Binomial()),
        ("logistic", "I(sex == 'f') ~ 1", sm.families.Binomial()),
        ("poisson", "children ~ age + hours + C(region)", sm.families.Poisson()),
        ("poisson", "children ~ 0 + C(region)", sm.families.Poisson()),
    ],
)
def test_logistic_and_poisson_models_equal_statsmodels(family: Any, formula: str, reference: Any) -> None:
    frame = people().assign(female=lambda f: (f.sex == "f") * 1.0)
    theirs = formula.replace("I(sex == 'f')", "female")
    model = Model(formula, family=family)
    agree(fit(model, Microdata.from_frame(frame)), smf.glm(theirs, frame, family=reference).fit(tol=1e-14))
    robust = smf.glm(theirs, frame, family=reference, var_weights=frame.weight).fit(tol=1e-14, cov_type="HC0")
    found = fit(model, weighted(frame))
    agree(found, robust, np.sqrt(N / (N - 1)))
    assert np.isinf(found.degrees_of_freedom)


def test_a_weighted_mean_by_hand() -> None:
    # y = 0, 3, 6 with weights 1, 1, 2: mean 15/4; residuals -3.75, -0.75, 2.25; weighted: -3.75, -0.75, 4.5
    # HC0 = (14.0625 + 0.5625 + 20.25) / 16 = 2.1796875; times 3/2: 3.26953125
    table = weighted(pd.DataFrame({"y": [0.0, 3.0, 6.0], "weight": [1.0, 1.0, 2.0]}))
    found = fit("y ~ 1", table)
    assert found.coefficients[0] == pytest.approx(3.75, rel=1e-14)
    assert found.covariance[0, 0] == pytest.approx(3.26953125, rel=1e-14)


def test_equal_weights_are_no_weights_and_zero_weights_no_records() -> None:
    frame = people()
    plain = fit("pay ~ age + C(region)", Microdata.from_frame(frame))
    same = fit("pay ~ age + C(region)", weighted(frame.assign(weight=7.0)))
    np.testing.assert_allclose(same.covariance, plain.covariance, rtol=1e-11)
    strange = people(5, 50).assign(weight=0.0, region="moon", pay=1e9)
    for model in ("pay ~ age + C(region)", Model("works ~ age", family="logistic")):
        alone, together = (fit(model, weighted(f)) for f in (frame, pd.concat([frame, strange])))
        np.testing.assert_allclose(together.coefficients, alone.coefficients, rtol=1e-12)
        np.testing.assert_allclose(together.covariance, alone.covariance, rtol=1e-11)
        assert together.records == N and together.names == alone.names


def test_many_blocks_and_far_means_lose_no_digits() -> None:
    rng = np.random.default_rng(3)
    n = 70_000
    x = rng.normal(size=n)
    frame = pd.DataFrame({"x": 1e6 + x, "z": 1e6 + x + 1e-4 * rng.normal(size=n)})
    frame["y"] = 1e7 + 2 * x + rng.normal(size=n)
    found = fit("y ~ x + z", Microdata.from_frame(frame))
    centred = frame - frame.mean()
    reference = smf.ols("y ~ 0 + x + z", centred).fit()
    np.testing.assert_allclose(found.coefficients[1:], reference.params, rtol=1e-6)  # 1e6 leaves z - x six digits
    scale = np.sqrt((n - 2) / (n - 3))
    np.testing.assert_allclose(found.standard_errors[1:], scale * reference.bse, rtol=1e-6)


def test_the_census_regression_equals_statsmodels() -> None:
    data = census()
    formula = "AGI ~ EMCONTRB + FEDTAX + TAXINC + PTOTVAL + STATETAX"
    agree(fit(formula, data), smf.ols(formula, data.to_frame("pandas")).fit())


def test_models_of_a_list_are_solved_from_one_pass_and_equal_those_alone() -> None:
    data, other = Microdata.from_frame(people()), Microdata.from_frame(people(1))
    models = [Model(formula) for formula in LINEAR]
    for together, model in zip(fit_both(models, Pair.of(data, other)), models, strict=True):
        (alone,) = fit_both([model], Pair.of(data, other))
        for one, two in ((together.original, alone.original), (together.protected, alone.protected)):
            np.testing.assert_allclose(one.coefficients, two.coefficients, rtol=1e-9)
            np.testing.assert_allclose(one.covariance, two.covariance, rtol=1e-9)


def test_incomplete_records_are_left_out_and_counted() -> None:
    frame = people()
    frame.loc[:9, "age"] = np.nan
    frame.loc[5:14, "region"] = None
    found = fit("pay ~ age + C(region)", Microdata.from_frame(frame))
    agree(found, smf.ols("pay ~ age + C(region)", frame.dropna()).fit())
    assert found.notes == ("15 records of the given table left out of 'pay ~ age + C(region)': a value is missing",)


def test_the_protected_table_is_coded_as_the_original() -> None:
    frame = people()
    # the other table lists the regions in another order, and centres x on the original's mean
    table = Microdata.from_frame(
        pa.Table.from_pandas(people(1)),
        Schema((Variable("region", kind="nominal", categories=("south", "moon", "east", "north")),)),
    )
    models = [Model("pay ~ C(region)"), Model("pay ~ center(age)"), Model("pay ~ C(region, contr.sum)")]
    coded, centred, sums = fit_both(models, Pair.of(frame, table))
    assert coded.protected.names == ("Intercept", "C(region)[T.north]", "C(region)[T.south]")
    agree(coded.protected, smf.ols("pay ~ C(region)", people(1)).fit())
    shifted = people(1).assign(age=lambda f: f.age - frame.age.mean())
    np.testing.assert_allclose(centred.protected.coefficients, smf.ols("pay ~ age", shifted).fit().params, rtol=1e-8)
    np.testing.assert_allclose(
        sums.protected.coefficients, smf.ols("pay ~ C(region, Sum)", people(1)).fit().params, rtol=1e-8
    )


def test_weights_in_one_table_make_both_robust() -> None:
    plain = Microdata.from_frame(people().drop(columns="weight"))
    (pair,) = fit_both([Model("pay ~ age")], Pair.of(plain, weighted(people(1))))
    assert pair.original.robust and pair.protected.robust
    reference = smf.ols("pay ~ age", people()).fit(cov_type="HC0")
    agree(pair.original, reference, np.sqrt(N / (N - 1)))


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("pay ~ age +* hours", r"cannot read the model 'pay ~ age \+\* hours': Operator `\+\*` is incorrectly used"),
        ("pay ~ (age", "cannot read the model.*matching"),
        ("pay age", "cannot read the model"),
        ("~ age", "cannot read the model '~ age'; write"),
        ("pay + age ~ hours", "needs one response"),
        ("pay ~ 0", "has no term"),
        ("pay ~ age | hours", "cannot read the model"),
        ("pay ~ foo(age)", r"foo\(...\) is not part of a formula"),
    ],
)
def test_a_formula_with_a_slip_is_refused_where_it_is_written(formula: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Model(formula)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("pay ~ agee", "model 'pay ~ agee': there is no variable 'agee'; did you mean 'age'"),
        ("region ~ age", r"response 'region' is nominal; compare a category: I\(region == 'east'\)"),
        ("C(region) ~ age", r"the response C\(region\) is not a number"),
        ("pay ~ age + I(2 * age)", r"the term 'I\(2 \* age\)' is a combination of 'Intercept', 'age' in the original"),
        ("pay ~ age + I(0 * age + 5)", r"the term 'I\(0 \* age \+ 5\)' is constant in the original table"),
        ("I(0 * pay) ~ age", r"response 'I\(0 \* pay\)' is constant"),
        ("pay ~ I(pay * 3) + age", "fits the original table exactly"),
        ("pay ~ np.log(age - 45)", r"np.log\(age - 45\) is not a finite number in some records of the original"),
        (Model("pay ~ age", family="logistic"), r"'pay ~ age \(logistic\)': the response 'pay' of a logistic"),
        (Model("I(-children) ~ age", family="poisson"), "Poisson model has negative values in the original"),
        (Model("I(age > 40) ~ age", family="logistic"), "no finite estimate in the original table; the term '"),
    ],
)
def test_models_that_do_not_fit_the_original_are_refused_by_name(model: Any, message: str) -> None:
    data = Microdata.from_frame(people())
    with pytest.raises(NotApplicable, match=message):
        fit_both([Model(model) if isinstance(model, str) else model], Pair.of(data, data))


def test_a_group_of_one_record_has_no_robust_standard_error() -> None:
    # the intercept is what the one record of home 0 has: its score is zero, and so is the variance, but for rounding
    frame = pd.DataFrame({"home": [0.0, 1.0, 1.0, 1.0], "pay": [-0.93, 0.1, -0.3, -0.12], "w": [1.5, 2.0, 3.0, 7.0]})
    data = Microdata.from_frame(frame, Schema(weight="w"))
    with pytest.raises(NotApplicable, match="tell the coefficient of 'Intercept' fit exactly, so there is no robust"):
        fit("pay ~ home", data)
    assert fit("pay ~ home", Microdata.from_frame(frame)).standard_errors.min() > 0  # one variance for all records


def test_tables_that_do_not_fit_the_model_are_refused_by_name() -> None:
    frame = people()
    data = Microdata.from_frame(frame)
    group = "pay ~ age + C(region)"
    cases = {
        "no record of the protected table has the level 'south'": frame[frame.region != "south"],
        "protected table has the level 'moon' of C\\(region\\), which the original lacks": frame.replace(
            "south", "moon"
        )
        .iloc[:200]
        .pipe(lambda f: pd.concat([f, frame])),
        "the protected table has no variable 'pay'": frame.drop(columns="pay"),
        "no record of the protected table has all of its variables": frame.assign(pay=np.nan),
        "4 coefficients need more than 3 complete records": frame.drop_duplicates("region"),
        "the response 'pay' is constant in the protected table": frame.assign(pay=1.0),
        "the term 'age' is constant in the protected table": frame.assign(age=40.0),
        "'age' is numeric in the original and nominal in the protected": frame.assign(
            age=np.where(frame.age > 40, "old", "young")
        ),
    }
    for message, table in cases.items():
        with pytest.raises(NotApplicable, match=rf"^IntervalOverlap: model '.*': .*{message}"):
            IntervalOverlap(group).evaluate(data, Microdata.from_frame(table))


def test_models_say_their_family_and_weight() -> None:
    model = Model("y ~ x", family="poisson", weight=2)
    assert eval(repr(model)) == model and model.label == "y ~ x (poisson)"
    for wrong in ({"family": "probit"}, {"weight": 0}, {"formula": 3}):
        with pytest.raises(ParameterError, match="Model: "):
            Model(**{"formula": "y ~ x", **wrong})  # type: ignore[arg-type]


def test_a_large_offset_is_no_exact_fit_and_large_counts_are_fitted() -> None:
    rng = np.random.default_rng(0)
    x = np.arange(50.0)
    table = Microdata.from_frame(
        pa.table(
            {
                "x": x,
                "y": 2e12 + 2 * x + rng.normal(size=50),
                "n": np.round(1e10 * np.exp(0.01 * x + 1e-3 * rng.normal(size=50))),
            }
        )
    )
    found = fit(Model("y ~ x"), table)
    assert found.coefficients[1] == pytest.approx(2, abs=0.1)
    counts = fit(Model("n ~ x", family="poisson"), table)
    assert counts.coefficients[1] == pytest.approx(0.01, abs=1e-3)


def test_separation_names_the_term_that_separates() -> None:
    age = np.arange(30.0, 70.0)
    table = Microdata.from_frame(pa.table({"age": age, "y": (age > 50).astype(float)}))
    with pytest.raises(NotApplicable, match="the term 'age' separates the responses"):
        fit(Model("y ~ age", family="logistic"), table)


PARTED = [
    "pay ~ age + hours + C(region)",
    "np.log(pay) ~ center(age) * C(sex)",
    Model("works ~ age + C(region)", family="logistic"),
    Model("children ~ age", family="poisson"),
]


@pytest.mark.parametrize("model", PARTED, ids=str)
@pytest.mark.parametrize("weights", [False, True], ids=["plain", "weighted"])
def test_a_table_in_parts_has_the_fit_of_the_whole(model: Any, weights: bool) -> None:
    frame = people()
    frame.loc[3:9, "age"] = np.nan  # the second part has no complete record
    table = weighted(frame) if weights else Microdata.from_frame(frame.drop(columns="weight"))
    parts = Half([table.take(np.arange(*ends)) for ends in ((250, 400), (4, 8), (0, 4), (8, 8), (8, 250))])
    whole, found = fit(model, table), fit(model, parts)
    assert (found.names, found.records, found.notes, found.robust) == (
        whole.names,
        whole.records,
        whole.notes,
        whole.robust,
    )
    np.testing.assert_allclose(found.coefficients, whole.coefficients, rtol=1e-11)
    np.testing.assert_allclose(found.covariance, whole.covariance, rtol=1e-10)


def test_products_that_lose_digits_are_not_used_in_parts_either() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "z": x + 1e-5 * rng.normal(size=300)})
    frame["y"] = x + rng.normal(size=300)
    table = Microdata.from_frame(frame)
    parts = Half([table.take(np.arange(*ends)) for ends in ((0, 2), (2, 200), (200, 300))])
    found, reference = fit("y ~ x + z", parts), smf.ols("y ~ x + z", frame).fit()
    np.testing.assert_allclose(found.coefficients, reference.params, rtol=1e-8)


def test_measures_share_fits_and_candidates_those_of_the_original(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[str] = []
    gather = fitting.gather

    def counted(designs: Sequence[Design], rows: Rows) -> Sufficient:
        fitted.append(rows.label)
        return gather(designs, rows)

    monkeypatch.setattr(fitting, "gather", counted)
    original = Half.of(Microdata.from_frame(people()))
    model = "pay ~ age + C(region)"
    measures = [IntervalOverlap(model), EllipsoidOverlap(model), ConclusionChanges(model)]
    for seed in (1, 2):
        pair = Pair.of(original, people(seed))
        for measure in measures:
            measure.evaluate_pair(pair)
    assert fitted == ["original", "protected", "protected"]
    alone = measures[1].evaluate(people(), people(2)).value
    assert measures[1].evaluate_pair(pair).value == alone
