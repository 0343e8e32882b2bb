"""What the keys tell through other columns: attacks without code of the package find no more than the figure says."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from routes_back import (
    alike_in,
    bands,
    likeliest_in,
    nearest_in,
    persons,
    weighing_blanks,
)

from sfumato import LocalSuppression, Measurement, Microdata, Reidentification, Scenario, Schema, Variable
from sfumato.risk.judged import WITH_OTHERS

POINT = 0.01


def variables(table: pd.DataFrame, keys: Sequence[str]) -> Schema:
    found = []
    for name in table.columns:
        kind = "numeric" if table[name].dtype.kind == "f" or table[name].dtype.kind == "i" else "nominal"
        found.append(Variable(name, kind, "key" if name in keys else "other"))  # type: ignore[arg-type]
    return Schema(tuple(found))


def said(known: pd.DataFrame, published: pd.DataFrame, keys: Sequence[str]) -> Measurement:
    """What the measure says of a published table, given the keys alone."""
    return Reidentification().evaluate(Microdata.from_frame(known, variables(known, keys)), published)


def by_keys_alone(known: pd.DataFrame, published: pd.DataFrame, keys: Sequence[str]) -> float:
    """What the measure says of the keys, where the rest of the file is not there."""
    return said(known[list(keys)], published[list(keys)], keys).value


def test_a_second_banding_narrows_the_first() -> None:
    true = persons()[["sex", "region", "five", "three", "hobby"]]
    keys = ("sex", "region", "five")
    out = true.copy()
    out["five"] = ["young" if five[-2] < "5" else "old" for five in true["five"]]
    known = true.assign(five=out["five"])
    attack = alike_in(known[["sex", "region", "five", "three"]], out[["sex", "region", "five", "three"]])
    assert attack > by_keys_alone(true, out, keys) + POINT
    found = said(true, out, keys)
    assert found.value >= attack - POINT
    assert found.parts[WITH_OTHERS] == found.value
    assert found.tables["scenarios"][0]["attack"] == f"alike, {WITH_OTHERS}"
    assert any("knows as well three (from five)" in note for note in found.notes)


def test_a_banding_that_lies_across_is_learnt() -> None:
    true = persons()[["sex", "region", "five", "cohort"]]
    keys = ("sex", "region", "five")
    out = true.copy()
    out["five"] = [five[-2] for five in true["five"]]
    known = true.assign(five=out["five"], own=true["five"])
    attack = likeliest_in(known, out, [("cohort", "own")])
    assert attack > by_keys_alone(true, out, keys) + POINT
    assert said(true, out, keys).value >= attack - POINT


def test_a_total_is_added_up_from_perturbed_parts() -> None:
    true = persons()[["sex", "region", "wage", "rent", "pension", "income"]]
    keys = ("sex", "region", "income")
    rng = np.random.default_rng(1)
    out = true.copy()
    out["income"] = true["income"] * rng.normal(1, 0.3, len(true))
    for part in ("wage", "rent", "pension"):
        out[part] = true[part] * rng.normal(1, 0.05, len(true))
    group = [f"{sex}{region}" for sex, region in zip(true["sex"], true["region"], strict=True)]
    summed = out[["wage", "rent", "pension"]].sum(axis=1).to_numpy()
    attack = nearest_in(true["income"].to_numpy(), summed, group, group)
    assert attack > by_keys_alone(true, out, keys) + POINT
    found = said(true, out, keys)
    assert found.value >= attack - POINT
    assert any("income = pension + rent + wage" in note for note in found.notes)


def test_a_total_that_is_left_out_is_added_up_too() -> None:
    true = persons()[["sex", "region", "wage", "rent", "pension", "income"]]
    out = true.drop(columns="income")
    found = said(true, out, ("sex", "region", "income"))
    assert found.value > 0.9  # the parts are as collected: their sum is the income, to the last digit


def test_a_chain_of_bandings() -> None:
    true = persons()[["sex", "region", "age", "five", "three"]]
    keys = ("sex", "region", "age")
    out = true.copy()
    out["age"] = true["age"] + np.random.default_rng(2).normal(0, 15, len(true))
    attack = nearest_in(
        true["age"].to_numpy(),
        out["age"].to_numpy(),
        (groups := true[["sex", "region", "five", "three"]].agg("|".join, axis=1).tolist()),
        groups,
    )
    assert attack > by_keys_alone(true, out, keys) + POINT
    assert said(true, out, keys).value >= attack - POINT


@pytest.mark.parametrize("blank", [False, True])
def test_a_finer_column_tells_the_key_in_full(blank: bool) -> None:
    rng = np.random.default_rng(3)
    number = rng.integers(0, 60, 2000) // rng.integers(1, 4, 2000)
    district = [f"d{7 * (2 * n + half) % 121}" for n, half in zip(number, rng.integers(0, 2, 2000), strict=True)]
    true = pd.DataFrame({"sex": rng.choice(["m", "w"], 2000), "town": [f"t{n}" for n in number], "district": district})
    hidden = rng.random(2000) < (0.1 if blank else 0.0)
    out = true.assign(town=[f"region {n % 3}" for n in number], district=true["district"].mask(hidden))
    read = true["town"].mask(hidden)  # who knows the map reads the town from the district
    shown = pd.DataFrame({"sex": true["sex"], "region": out["town"], "town": read})
    counts = {key: len(group) for key, group in shown.groupby(["sex", "region", "town"])}
    blanks = {key: len(group) for key, group in shown[hidden].groupby(["sex", "region"])}
    alone = [
        1 / (counts.get((sex, region, town), 0) + blanks.get((sex, region), 0))
        for sex, region, town in zip(true["sex"], out["town"], true["town"], strict=True)
    ]
    found = said(true, out, ("sex", "town"))
    assert by_keys_alone(true, out, ("sex", "town")) == pytest.approx(6 / 2000)
    assert found.value >= np.mean(alone) - 1e-12
    if not blank:
        assert found.value == pytest.approx(len(counts) / 2000)  # of each combination one is found
    assert any("tell it in full: town (by district)" in note for note in found.notes)


def test_one_estimate_of_the_population_is_told() -> None:
    rng = np.random.default_rng(3)
    town = rng.integers(0, 60, 2000) // rng.integers(1, 4, 2000)
    names = {
        "town": [f"t{n}" for n in town],
        "district": [f"d{2 * n + half}" for n, half in zip(town, town % 2, strict=True)],
    }
    true = pd.DataFrame({"sex": rng.choice(["m", "w"], 2000), **names, "weight": 10.0})
    true["district"] += rng.choice(["a", "b"], 2000)
    keys = ("sex", "town")
    schema = variables(true, keys)
    schema = Schema(schema.variables, weight="weight", scenarios=(Scenario("r", keys, knows_membership=False),))
    found = Reidentification().evaluate(
        Microdata.from_frame(true, schema), true.assign(town=[f"region {n % 3}" for n in town])
    )
    told = [note for note in found.notes if "expected matches by model" in note]
    assert len(told) == 1  # of the six regions by sex there are others, which decide nothing
    assert f"Pitman-Yor {2000 * found.value:.4g}" in told[0]


def test_a_finer_column_that_was_changed_tells_no_key_in_full() -> None:
    true = persons()[["sex", "region", "age", "five"]]
    out = true.assign(five=[five[-2] for five in true["five"]])
    out["age"] = true["age"] + np.random.default_rng(2).normal(0, 15, len(true))
    assert not any("in full" in note for note in said(true, out, ("sex", "region", "five")).notes)


def test_a_column_that_is_missing_for_some_tells_who_they_are() -> None:
    true = persons()[["sex", "region", "five", "marital", "partner_works"]]
    keys = ("sex", "region", "five", "marital")
    out = true.drop(columns="marital").assign(five=[five[-2] for five in true["five"]])
    married = (true["marital"] == "married").astype(str)
    missing = out["partner_works"].isna().astype(str)
    known = true[["sex", "region"]].assign(five=out["five"], asked=(married == "False").astype(str))
    attack = alike_in(known, out[["sex", "region", "five"]].assign(asked=missing))
    alone = said(true.drop(columns="partner_works"), out.drop(columns="partner_works"), keys).value
    assert attack > alone + POINT
    found = said(true, out, keys)
    assert found.value >= attack - POINT
    assert any("whether partner_works missing is (from marital)" in note for note in found.notes)


def test_blanks_are_weighed_by_what_was_blanked() -> None:
    true = persons(500)[["sex", "region", "five", "marital"]]
    data = Microdata.from_frame(true, variables(true, tuple(true.columns)))
    out = LocalSuppression(3).protect(data, rng=1)
    attack = weighing_blanks(true, out.to_frame())
    assert Reidentification().evaluate(data, out).value >= attack - POINT


@pytest.mark.parametrize("seed", range(3))
def test_what_tells_nothing_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = persons(700, seed)[["sex", "region", "five", "hobby"]].assign(score=rng.normal(size=700))
    keys = ("sex", "region", "five")
    out = true.assign(five=[five[-2] for five in true["five"]])
    found = said(true, out, keys)
    assert found.value == by_keys_alone(true, out, keys)
    assert WITH_OTHERS not in found.parts


def test_a_scenario_knows_only_what_follows_from_its_own_keys() -> None:
    true = persons()[["sex", "region", "five", "three"]]
    schema = variables(true, ()).replace()
    schema = Schema(schema.variables, scenarios=(Scenario("a", ("sex", "region")), Scenario("b", ("sex", "five"))))
    out = true.assign(five=[five[-2] for five in true["five"]])
    found = Reidentification().evaluate(Microdata.from_frame(true, schema), out)
    assert not any(note.startswith("a: who knows") for note in found.notes)
    assert any(note.startswith("b: who knows the keys knows as well three") for note in found.notes)


def test_a_key_of_which_all_values_differ_determines_nothing() -> None:
    rng = np.random.default_rng(5)
    true = pd.DataFrame({"income": rng.lognormal(10, 1, 400), "job": rng.choice(list("abcdef"), 400)})
    out = true.assign(income=true["income"] * rng.normal(1, 0.3, 400))
    found = said(true, out, ("income",))
    assert WITH_OTHERS not in found.parts


def test_bands_are_counted_from_below() -> None:
    assert bands([15, 29, 30], (15, 30, 65)).tolist() == ["from 0015", "from 0015", "from 0030"]
