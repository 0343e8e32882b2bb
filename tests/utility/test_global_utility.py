"""The global data utility of whole files: anchors, every kind of protection, bad input, and what it says."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from global_utility_tables import row, survey

import sfumato
from sfumato import (
    GlobalDataUtility,
    Microdata,
    NotApplicable,
    ParameterError,
    Schema,
    Treatment,
    Variable,
)
from sfumato.utility.global_utility.measure import bar, shown
from tables import incomes, persons, weighted


def shuffled(data: Microdata, names: tuple[str, ...], seed: int = 1) -> Microdata:
    rng = np.random.default_rng(seed)
    return data.replace({name: rng.permutation(data.columns[name]) for name in names})


# anchors


@pytest.mark.parametrize("data", [survey(), persons(), incomes()], ids=["survey", "persons", "incomes"])
def test_identical_files_keep_everything(data: Microdata) -> None:
    found = GlobalDataUtility().evaluate(data, data)
    assert found.value == pytest.approx(1, abs=1e-6)  # the best of the formula is 1 - e^-14
    assert found.parts["effect size"] == pytest.approx(1)
    assert all(row["reason"] in ("as before", "no association in either") for row in found.tables["pairs"])
    assert "All pairs are associated as in the original" in found.statement


def test_a_shuffled_variable_keeps_its_distribution_and_loses_its_pairs() -> None:
    data = survey()
    for name in ("income", "education", "region"):
        found = GlobalDataUtility().evaluate(data, shuffled(data, (name,)))
        assert row(found, name)["utility"] == pytest.approx(1, abs=1e-6)
        for entry in found.tables["pairs"]:
            if name not in (entry["first"], entry["second"]):
                assert entry["utility"] == pytest.approx(1)
            elif entry["p_before"] < 0.05:
                assert entry["utility"] == 0 and entry["reason"] == "association lost"


def test_a_variable_with_its_sign_turned_is_seen_by_the_direction() -> None:
    data = survey()
    turned = data.replace({"income": -data.columns["income"]})
    found = GlobalDataUtility().evaluate(data, turned)
    for entry in found.tables["pairs"]:
        if "income" in (entry["first"], entry["second"]) and entry["p_before"] < 0.05:
            nominal = any(data.schema[entry[end]].kind == "nominal" for end in ("first", "second"))
            assert entry["utility"] == 0.0
            assert entry["direction"] == ("" if nominal else "reversed")  # unordered categories have no direction
            assert entry["outcome"] == ("pattern changed" if nominal else "direction reversed")
    assert row(found, "income")["utility"] < 1e-6
    assert "monthly income" in found.statement and "another direction" in found.statement


def test_independent_columns_before_and_after_keep_everything() -> None:
    def independent(seed: int) -> Microdata:
        rng = np.random.default_rng(seed)
        columns = {"a": rng.normal(size=300), "b": rng.exponential(size=300), "c": rng.choice(["x", "y", "z"], 300)}
        return Microdata.from_frame(pa.table(columns))

    found = GlobalDataUtility(0.001).evaluate(independent(1), independent(2))
    assert found.parts["bivariate"] == 1
    assert {row["reason"] for row in found.tables["pairs"]} == {"no association in either"}


def test_a_half_sample_is_far_above_shuffled_columns_and_the_effect_size_view_agrees() -> None:
    data = survey(4000)
    half = replace(data.take(np.random.default_rng(2).choice(4000, 2000, replace=False)), matched=False)
    sampled = GlobalDataUtility().evaluate(data, half)
    scrambled = GlobalDataUtility().evaluate(data, shuffled(data, data.names))
    assert sampled.parts["univariate"] > 0.9 and sampled.parts["bivariate"] > 0.8
    assert scrambled.parts["bivariate"] < 0.45
    assert sampled.value > scrambled.value + 0.25
    assert sampled.parts["effect size, bivariate"] > scrambled.parts["effect size, bivariate"]


def test_the_order_of_records_and_columns_is_irrelevant() -> None:
    data = survey()
    masked = sfumato.Noise(0.3).protect(data, rng=1)
    straight = GlobalDataUtility().evaluate(data, masked)
    order = np.random.default_rng(1).permutation(len(data))
    assert GlobalDataUtility().evaluate(data, masked.take(order)).value == pytest.approx(straight.value, rel=1e-9)
    table = data.to_arrow()
    turned = Microdata.from_frame(table.select(table.column_names[::-1]), data.schema)
    other = GlobalDataUtility().evaluate(turned, masked)
    assert other.value == pytest.approx(straight.value, rel=1e-9)
    assert other.by_variable == pytest.approx(straight.by_variable)


def test_ids_put_records_and_their_weights_side_by_side() -> None:
    data = persons()
    merged = data.to_arrow().to_pandas()
    merged["region"] = merged["region"].map({"north": "N", "south": "N", "east": "E", "west": "E"})
    straight = GlobalDataUtility().evaluate(data, merged)
    mixed = GlobalDataUtility().evaluate(data, merged.sample(frac=1, random_state=1))
    assert row(straight, "region")["recoding_found_in"] == row(mixed, "region")["recoding_found_in"] == "records"
    assert mixed.value == pytest.approx(straight.value, rel=1e-9)
    assert mixed.by_pair == pytest.approx(straight.by_pair)


# protections of every kind


def test_removed_variables_count_nothing_and_the_reduction_is_asked_for() -> None:
    data = survey()
    left = data.without(["height", "rent"])
    found = GlobalDataUtility().evaluate(data, left)
    # 5 of 7 variables are as they were: the decrease is linear
    assert found.value == pytest.approx(5 / 7, abs=1e-6)
    assert (found.by_variable["rent"], found.by_variable["height"]) == (0, 0)
    assert found.by_pair["age", "rent"] == 0
    assert any("rent" in note and "removed" in note for note in found.notes)
    assert "rent" not in found.statement and "height" not in found.statement
    reduced = GlobalDataUtility(reduction=True).evaluate(data, left)
    assert reduced.parts["reduction"] == pytest.approx(5 * 4 / (7 * 6))
    assert reduced.value == pytest.approx(found.value * 20 / 42)


def test_five_of_a_hundred_variables_removed_as_printed() -> None:
    rng = np.random.default_rng(0)
    data = Microdata.from_frame(pa.table({f"v{i}": rng.normal(size=20) for i in range(100)}))
    found = GlobalDataUtility(reduction=True).evaluate(data, data.without([f"v{i}" for i in range(5)]))
    assert found.parts["reduction"] == pytest.approx(0.902, abs=5e-4)
    assert found.value == pytest.approx(0.95 * 95 * 94 / (100 * 99), abs=1e-5)


def test_recoding_times_perturbation() -> None:
    data = survey()
    labels = ("north", "elsewhere")
    into = {"north": "north", "south": "elsewhere", "east": "elsewhere", "west": "elsewhere"}
    codes = np.array([labels.index(into[str(c)]) for c in data.schema["region"].categories], dtype=np.int32)
    variable = replace(
        data.schema["region"], categories=labels, treatment=Treatment(groups=tuple(into.items()), perturbed=True)
    )
    merged = codes[data.columns["region"]]
    noisy = np.where(np.random.default_rng(1).random(len(data)) < 0.4, 1 - merged, merged).astype(np.int32)
    for column, share in ((merged, 1.0), (noisy, None)):
        found = row(GlobalDataUtility().evaluate(data, data.recast({"region": (variable, column)})), "region")
        assert found["recoding_utility"] == pytest.approx(2 / 12)  # 2 of 4 categories left: 1 of 6 comparisons
        assert found["utility"] == pytest.approx(found["recoding_utility"] * found["distribution_utility"])
        if share is not None:
            assert found["distribution_utility"] == pytest.approx(share, abs=1e-6)
        else:
            assert found["p"] < 0.05 and found["distance"] > 0.01


def test_each_alternative_of_recoding_numbers() -> None:
    data = survey()
    banded = data.to_frame("pandas")
    banded["age"] = np.where(banded["age"] < 50, "under 50", "50 and over")
    rows = {
        how: row(GlobalDataUtility(recoding=how).evaluate(data, banded), "age")
        for how in ("comparisons", "allocation", "heterogeneity")
    }
    age = data.columns["age"]
    old = age >= 50
    means = np.where(old, age[old].mean(), age[~old].mean())
    expected = 1 - np.abs(age - means).mean() / np.abs(age - age.mean()).mean()
    assert rows["heterogeneity"]["recoding_utility"] == pytest.approx(expected)
    assert rows["comparisons"]["recoding_utility"] == pytest.approx(2 / (72 * 71))
    # in 18..49: 49 is 1 from 50 and 31 from 18; x is nearer to 50 than to 18 from 34.x on, and to 49 the other way
    assert 0 < rows["allocation"]["recoding_utility"] < 1
    for found in rows.values():
        assert found["recoding_found_in"] == "records" and found["kind_after"] == "nominal"
        assert found["distribution_utility"] == pytest.approx(1, abs=1e-6)


def test_top_coding_is_recoding_not_perturbation() -> None:
    data = survey()
    top = float(np.quantile(data.columns["income"], 0.95))
    capped = data.to_frame("pandas").assign(income=np.minimum(data.columns["income"], top))
    found = row(GlobalDataUtility().evaluate(data, capped), "income")
    assert found["distribution_utility"] == pytest.approx(1, abs=1e-6)
    assert 0.5 < found["recoding_utility"] < 1
    sample = capped.iloc[::2].reset_index(drop=True)  # no record matches: the pile tells
    assert row(GlobalDataUtility().evaluate(data, sample), "income")["recoding_found_in"] == "distribution"


def test_suppressed_values_are_a_fact_of_the_file() -> None:
    data = survey()
    rng = np.random.default_rng(4)
    gone = np.where(rng.random(len(data)) < 0.3, -1, data.columns["region"]).astype(np.int32)
    found = GlobalDataUtility().evaluate(data, data.replace({"region": gone}, treatment=Treatment(suppressed=450)))
    entry = row(found, "region")
    assert entry["missing_before"] == 0 and entry["missing_after"] == pytest.approx(np.mean(gone < 0))
    assert entry["utility"] > 0.9
    assert any("more values are missing" in note and "'region'" in note for note in found.notes)
    assert "missing" not in found.statement and "suppress" not in found.statement


def test_synthetic_files_of_another_size_and_with_new_categories() -> None:
    data = survey()
    other = survey(700, seed=9).to_frame("pandas")
    other.loc[other.index[:3], "region"] = "overseas"
    found = GlobalDataUtility().evaluate(data, other)
    assert 0.4 < found.value < 1
    assert any("no category 'overseas'" in note for note in found.notes)


# the effect-size view


def test_a_million_records_make_a_trivial_change_look_ruinous_and_it_is_said() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=1_000_000)
    before = Microdata.from_frame(pa.table({"x": x, "y": x + 20 * rng.normal(size=len(x))}))
    after = Microdata.from_frame(pa.table({"x": x + 0.015, "y": before.columns["y"]}))
    found = GlobalDataUtility().evaluate(before, after)
    assert row(found, "x")["utility"] < 0.01
    assert row(found, "x")["distance"] == pytest.approx(0.006, abs=0.001)  # .015 of the density at 0: .4 * .015
    assert found.parts["effect size"] > 0.99
    (said,) = [note for note in found.notes if "number of records alone" in note]
    assert "K-S distance of 0.0062 is trivial" in said and "1,000,000 records" in said
    assert "close to the original" in found.statement


def test_pairs_at_the_threshold_are_counted() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=2000)
    before = Microdata.from_frame(pa.table({"x": x, "y": 0.06 * x + rng.normal(size=2000)}))
    after = before.take(np.arange(0, 2000, 4))
    found = GlobalDataUtility().evaluate(before, after)
    assert found.tables["pairs"][0]["reason"] == "association lost"
    assert any("1 pair of 1 scores below one half" in note for note in found.notes)
    assert found.statement.endswith(
        "In 1 pair the association is weak and differs slightly from the original, which may decide whether it is "
        "significant."
    )


def test_few_records_flatter_and_it_is_said() -> None:
    data = survey(40)
    assert any("the score flatters" in note for note in GlobalDataUtility().evaluate(data, data).notes)


# weights


def test_weights_of_both_files_are_used_and_of_one_left_aside() -> None:
    data = incomes()
    w = np.random.default_rng(0).uniform(1, 8, len(data))
    masked = sfumato.Noise(0.3).protect(data, rng=1)
    plain = GlobalDataUtility().evaluate(data, masked)
    both = GlobalDataUtility().evaluate(weighted(data, w), weighted(masked, w))
    assert both.value != plain.value
    assert any("rank tests have no established weighted form" in note for note in both.notes)
    one = GlobalDataUtility().evaluate(weighted(data, w), masked)
    assert one.value == pytest.approx(plain.value)
    assert any("the protected table names none" in note for note in one.notes)
    other = GlobalDataUtility().evaluate(data, weighted(masked, w))
    assert any("the original names none" in note for note in other.notes)


# bad input


def test_ten_thousand_categories_give_a_note_not_a_crash() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    table = pa.table(
        {
            "town": [f"t{i}" for i in rng.integers(0, 10_000, n)],
            "street": [f"s{i}" for i in rng.integers(0, 10_000, n)],
            "sex": rng.choice(["f", "m"], n),
            "income": rng.lognormal(size=n),
        }
    )
    data = Microdata.from_frame(table)
    found = GlobalDataUtility().evaluate(data, data.take(rng.permutation(n)[:15_000]))
    assert any("too sparse for a test" in note for note in found.notes)
    assert any("rough" in note for note in found.notes)
    assert 0 <= found.value <= 1


def test_variables_that_only_name_the_records_are_pointed_out() -> None:
    rng = np.random.default_rng(0)
    columns = {"number": rng.permutation(80) + 1000.0, "code": [f"r{i}" for i in range(80)], "pay": rng.normal(size=80)}
    data = Microdata.from_frame(pa.table(columns))
    (said,) = [note for note in GlobalDataUtility().evaluate(data, data).notes if "named the records" in note]
    assert said.startswith("every value of number, code occurs once")
    known = Microdata.from_frame(
        pa.table(columns), Schema((Variable("code", kind="nominal", role="identifier"),), id="number")
    )
    assert not any("named the records" in note for note in GlobalDataUtility().evaluate(known, known).notes)


def test_contradicting_kinds_empty_variables_and_constants_are_noted() -> None:
    data = survey(200)
    frame = data.to_frame("pandas").assign(code=[1, 2] * 100, same=1.0, void=np.nan)
    nominal = Microdata.from_frame(frame, Schema((Variable("code", kind="nominal"),)))
    found = GlobalDataUtility().evaluate(nominal, Microdata.from_frame(frame))
    assert found.value == pytest.approx(1, abs=1e-6)
    assert any("'code'" in note and "state its kind" in note for note in found.notes)
    assert any("'void'" in note and "no value in the original" in note for note in found.notes)
    assert any("not comparable and left out" in note for note in found.notes)
    strange = GlobalDataUtility().evaluate(nominal, Microdata.from_frame(frame.assign(code=frame["code"] + 0.5)))
    assert row(strange, "code")["utility"] is None and "lowest possible" in strange.parts


def test_importance_weighs_both_means_over_the_variables() -> None:
    data = survey()
    masked = sfumato.Noise(0.5, variables=("income", "rent")).protect(data, rng=1)
    plain = GlobalDataUtility().evaluate(data, masked)
    rows = plain.tables["variables"]
    worth = {"income": 3.0, "region": 0.5}
    weights = [worth.get(r["variable"], 1.0) for r in rows]
    found = GlobalDataUtility(importance=worth).evaluate(data, masked)
    assert found.parts["univariate"] == pytest.approx(np.average([r["utility"] for r in rows], weights=weights))
    assert found.parts["bivariate"] == pytest.approx(np.average([r["pairs"] for r in rows], weights=weights))
    assert found.value == pytest.approx((found.parts["univariate"] + found.parts["bivariate"]) / 2)
    assert found.by_variable == plain.by_variable and found.value < plain.value
    alike = GlobalDataUtility(importance={r["variable"]: 2 for r in rows}).evaluate(data, masked)
    assert alike.value == pytest.approx(plain.value)
    gone = GlobalDataUtility(importance={"income": 7}).evaluate(data, data.without(["income"]))
    assert gone.parts["univariate"] == pytest.approx(6 / 13)  # seven variables, the one removed counts seven times
    assert sfumato.catalogue.parse(repr(GlobalDataUtility(importance=worth))) == [GlobalDataUtility(importance=worth)]
    with pytest.raises(NotApplicable, match="importance names 'incom', which is not one of region"):
        GlobalDataUtility(importance={"incom": 2}).evaluate(data, masked)


def test_one_variable_alone_has_no_pairs() -> None:
    data = survey()
    found = GlobalDataUtility(variables=("age",)).evaluate(data, sfumato.Noise(0.5).protect(data, rng=0))
    assert found.value == found.parts["univariate"] == found.by_variable["age"]
    assert any("no pair can be compared" in note for note in found.notes)


def test_a_named_variable_that_was_removed_counts_nothing() -> None:
    data = survey()
    found = GlobalDataUtility(variables=("age", "rent")).evaluate(data, data.without(["rent"]))
    assert found.by_variable["rent"] == 0
    with pytest.raises(NotApplicable, match="GlobalDataUtility: the protected table has no comparable rent"):
        GlobalDataUtility(variables=("rent",)).evaluate(data, data.without(["rent"]))
    with pytest.raises(NotApplicable, match="GlobalDataUtility: there is no variable 'rnt'"):
        GlobalDataUtility(variables=("rnt",)).evaluate(data, data)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"threshold": 5}, r"threshold must be in \(0, 1\]; got 5 \(did you mean 0.05\?\)"),
        ({"univariate_weight": 1.5}, r"univariate_weight must be in \[0, 1\]; got 1.5"),
        ({"recoding": "merging"}, "recoding must be one of 'comparisons', 'allocation', 'heterogeneity'"),
        ({"normality": "never"}, "normality must be one of"),
        ({"changed_kinds": "all"}, "changed_kinds must be one of 'left open', 'same test'"),
        ({"importance": {"age": 0}}, "the importance of 'age' must be a number above 0; got 0"),
        ({"importance": ["age"]}, "importance must be a dict by variable"),
        ({"scales": 3}, "a list of items"),
        ({"models": 3}, "a formula text or a Model"),
    ],
)
def test_parameters_that_cannot_be_right(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"GlobalDataUtility: .*{message}"):
        GlobalDataUtility(**parameters)


# what it gives


def test_tables_become_frames_and_rows_say_all() -> None:
    data = survey()
    found = GlobalDataUtility().evaluate(data, sfumato.Noise(0.3).protect(data, rng=0))
    variables, pairs = found.table("variables"), found.table("pairs", "pyarrow")
    assert len(variables) == 7 and pairs.num_rows == 21
    assert list(variables["label"])[3] == "monthly income"
    assert {"first", "second", "test", "p_before", "p_after", "before", "after", "direction", "reason"} <= set(
        pairs.column_names
    )


def test_the_bar_shows_only_where_it_was_asked_for_and_somebody_watches() -> None:
    with bar(10, 10) as nobody, shown(), bar(10, 10) as short, bar(10_000, 1_000_000) as unwatched:
        assert nobody is None and short is None and unwatched is None  # tests have no terminal
