"""Weights in classes, noisy or raked: totals hold, costs are told, households stay whole."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import LocalSuppression, Microdata, NotApplicable, ParameterError, Schema, Variable, WeightMasking
from sfumato.auditing.audit import audit
from sfumato.table.weights import design_effect, moved_share

FEW = pa.table({"sex": list("fffmmm"), "weight": [10.0, 12.0, 14.0, 20.0, 21.0, 25.0]})


def data(records: int = 600, seed: int = 1, household: bool = False) -> Microdata:
    """Persons whose weight follows from region and age, of each household one if asked for."""
    rng = np.random.default_rng(seed)
    home = np.arange(records) // 2
    region = rng.integers(0, 4, records // 2 + 1)[home]
    own = rng.uniform(2, 6, records // 2 + 1)[home] if household else rng.uniform(2, 6, records)
    table = pa.table(
        {
            "home": home,
            "weight": np.round(10.0 * (1 + region) + own, 3),
            "region": [f"r{code}" for code in region],
            "sex": rng.choice(["f", "m"], records),
            "pay": rng.lognormal(8, 1, records),
        }
    )
    variables = (Variable("region", "nominal", "key"), Variable("sex", "nominal", "key"))
    return Microdata.from_frame(table, Schema(variables, weight="weight", household="home" if household else None))


def test_classes_are_means_of_quantile_classes_by_hand() -> None:
    table = Microdata.from_frame(FEW, Schema(weight="weight"))
    made = WeightMasking(classes=2).protect(table)
    assert made.weights().tolist() == [12.0, 12.0, 12.0, 22.0, 22.0, 22.0]  # (10 + 12 + 14) / 3, (20 + 21 + 25) / 3
    assert WeightMasking(classes=6).protect(table).weights().tolist() == made.weights().tolist(), (
        "three at least in each"
    )
    assert WeightMasking(classes=1).protect(table).weights().tolist() == [17.0] * 6
    assert made.schema["weight"].treatment.perturbed
    (note,) = made.notes
    assert "2 different values instead of 6" in note
    # f has 36 of 102 before and after: no share moves; n sum w^2 / (sum w)^2 = 6 * 1906 / 10404 and 6 * 1884 / 10404
    assert "at most 0 points" in note and "design effect 1.1 before, 1.09 after" in note


def test_the_design_effect_is_kish_s() -> None:
    assert design_effect(np.array([1.0, 1.0, 4.0])) == pytest.approx(3 * 18 / 36)
    weights = np.random.default_rng(0).lognormal(size=500)
    assert design_effect(weights) == pytest.approx(1 + np.var(weights) / np.mean(weights) ** 2)


def test_the_share_that_moves_most_by_hand() -> None:
    table = Microdata.from_frame(pa.table({"sex": ["f", "m", None], "town": ["a", "a", "b"]}))
    old, new = np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0])
    assert moved_share(table, ("sex", "town"), old, new) == ("sex", "m", 0.25)
    assert moved_share(table, (), old, new) is None


@settings(max_examples=60)
@given(
    st.lists(st.one_of(st.just(0.0), st.floats(0.01, 1e4)), min_size=3, max_size=60).filter(lambda w: max(w) > 0),
    st.sampled_from(["classes", "noise", "margins"]),
    st.integers(1, 12),
    st.integers(0, 99),
)
def test_the_total_holds_and_who_has_no_weight_gets_none(
    weights: list[float], how: str, classes: int, seed: int
) -> None:
    sexes = np.random.default_rng(seed).choice(["f", "m"], len(weights))
    table = Microdata.from_frame(pa.table({"sex": sexes, "weight": weights}), Schema(weight="weight"))
    made = WeightMasking(how, classes=classes, scale=0.3).protect(table, rng=seed)  # type: ignore[arg-type]
    new = made.weights()
    assert new.sum() == pytest.approx(sum(weights), rel=1e-9)
    np.testing.assert_array_equal(new == 0, np.array(weights) == 0)
    assert (new >= 0).all()
    np.testing.assert_array_equal(made.columns["sex"], table.columns["sex"])
    if how == "classes":
        values, counts = np.unique(new[new > 0].round(9), return_counts=True)
        assert len(values) <= classes
        assert counts.min() >= min(3, np.count_nonzero(new))


def test_noise_is_as_large_as_said_and_weights_of_one_stay_so() -> None:
    table = data(4000)
    old, new = table.weights(), WeightMasking("noise", scale=0.2).protect(table, rng=3).weights()
    logs = np.log((new - 1) / (old - 1))
    assert np.std(logs) == pytest.approx(0.2, rel=0.06)
    assert new.min() >= 1
    assert np.array_equal(WeightMasking("noise", scale=0).protect(table).weights(), old)


def test_raked_weights_keep_margins_and_tell_no_more() -> None:
    table = data()
    made = WeightMasking("margins").protect(table)
    old, new = table.weights(), made.weights()
    for name in ("region", "sex"):
        for code in np.unique(table.columns[name]):
            at = table.columns[name] == code
            assert new[at].sum() == pytest.approx(old[at].sum(), rel=1e-8)
    assert len(np.unique(new.round(9))) <= 8, "one for each region and sex"
    only = WeightMasking("margins", variables=("sex",)).protect(table).weights()
    assert len(np.unique(only.round(9))) == 2


def test_after_suppression_raked_weights_give_nothing_back() -> None:
    table = data(900)
    blank = np.random.default_rng(2).random(len(table)) < 0.2
    made = table.replace({"region": np.where(blank, -1, table.columns["region"]).astype(np.int32)})
    assert audit(table, made)["weight"].alarm
    assert not audit(table, WeightMasking("margins").protect(made))["weight"].alarm
    chain = LocalSuppression(3) + WeightMasking("margins")
    assert chain.masked(table) == ("region", "sex", "weight")
    chain.protect(table, rng=1)


@pytest.mark.parametrize("how", ["classes", "noise", "margins"])
def test_members_of_a_household_keep_one_weight(how: str) -> None:
    table = data(household=True)
    made = WeightMasking(how, scale=0.3).protect(table, rng=4)  # type: ignore[arg-type]
    homes, new = table.columns["home"].astype(int), made.weights()
    assert all(np.ptp(new[homes == home]) == 0 for home in range(homes.max() + 1))
    assert not np.array_equal(new, table.weights())
    if how == "margins":
        assert "not to sex" in made.notes[-1]
        for code in range(4):
            at = table.columns["region"] == code
            assert new[at].sum() == pytest.approx(table.weights()[at].sum(), rel=1e-8)
        with pytest.raises(NotApplicable, match="share the weight but not 'sex'"):
            WeightMasking("margins", variables=("sex",)).protect(table)


def test_what_cannot_be_masked_is_refused_with_a_sentence() -> None:
    table = data()
    with pytest.raises(NotApplicable, match="WeightMasking: the schema names no weight"):
        WeightMasking().protect(FEW)
    with pytest.raises(NotApplicable, match="variables are those whose margins are kept"):
        WeightMasking(variables=("sex",)).protect(table)
    with pytest.raises(NotApplicable, match="'pay' is numeric; margins are those of categories"):
        WeightMasking("margins", variables=("pay",)).protect(table)
    for bad in (-1.0, np.nan):
        weights = table.weights().copy()
        weights[4] = bad
        wrong = replace(table, columns={**table.columns, "weight": weights})
        with pytest.raises(NotApplicable, match=r"negative or missing in 1 \(first in row 5\)"):
            WeightMasking().protect(wrong)
    nothing = replace(table, columns={**table.columns, "weight": np.zeros(len(table))})
    with pytest.raises(NotApplicable, match="zero in all records"):
        WeightMasking().protect(nothing)
    for wrong_parameters in ({"how": "swap"}, {"classes": 0}, {"scale": -1}):
        with pytest.raises(ParameterError):
            WeightMasking(**wrong_parameters)


def test_one_record_and_equal_weights() -> None:
    one = Microdata.from_frame(pa.table({"sex": ["f"], "weight": [7.0]}), Schema(weight="weight"))
    for how in ("classes", "noise", "margins"):
        assert WeightMasking(how).protect(one, rng=1).weights().tolist() == pytest.approx([7.0])
    equal = Microdata.from_frame(pa.table({"sex": list("fmfm"), "weight": [2.0] * 4}), Schema(weight="weight"))
    assert WeightMasking().protect(equal).weights().tolist() == [2.0] * 4


def test_noise_does_not_make_the_weight_a_number_of_the_household() -> None:
    rng = np.random.default_rng(0)
    home = np.repeat(np.arange(900), rng.choice([1, 2, 3, 4], 900))
    rare = np.array([100.0, 150, 200, 250, 300, 400])
    weight = rng.choice(rare, 900, p=[0.25, 0.25, 0.25, 0.237, 0.01, 0.003])
    table = pa.table({"home": home, "weight": weight[home], "age": rng.integers(0, 90, len(home))})
    survey = Microdata.from_frame(table, Schema(weight="weight", household="home"))
    new = WeightMasking("noise").protect(survey, rng=1).weights()
    of_home = new[np.unique(home, return_index=True)[1]]
    np.testing.assert_array_equal(of_home[home], new)
    shown, place, homes = np.unique(of_home, return_inverse=True, return_counts=True)
    assert 6 < len(shown) <= 90, "each is that of ten households or more, but for rare weights"
    for value in rare:
        had = weight == value
        assert homes[place[had]].min() >= min(10, had.sum())
        assert len(np.unique(of_home[had])) == max(had.sum() // 10, 1)


def test_a_class_has_three_households_and_not_three_records() -> None:
    home = np.repeat(np.arange(6), [4, 3, 5, 1, 1, 1])
    weight = np.array([1.0, 2, 4, 10, 20, 30])[home]
    survey = Microdata.from_frame(pa.table({"home": home, "weight": weight}), Schema(weight="weight", household="home"))
    new = WeightMasking("classes", classes=15).protect(survey).weights()
    # (4 * 1 + 3 * 2 + 5 * 4) / 12 and (10 + 20 + 30) / 3
    assert new.tolist() == pytest.approx([2.5] * 12 + [20.0] * 3)
