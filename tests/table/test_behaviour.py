"""Ids, households and weights by how they behave, whatever they are called."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato import Microdata, Schema, Variable
from sfumato.table.describe import behaviours


def found(columns: Mapping[str, object], schema: Schema | None = None) -> dict[str, str]:
    table = Microdata.from_frame(pa.table(dict(columns)), schema)
    return {one.name: one.behaves for one in behaviours(table)}


def people(seed: int, households: int = 150) -> dict[str, object]:
    """Persons in households under names that tell nothing: a, b, c are id, household and weight; the others data."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, households)
    home = np.repeat(rng.permutation(households) + 7_000, sizes)
    n = len(home)
    town = np.repeat(rng.choice(list("NESW"), households), sizes)
    weight = np.repeat(rng.uniform(50, 900, households), sizes)
    return {
        "a": np.arange(n) + 100_001,
        "b": home,
        "c": np.round(weight * 120_000 / weight.sum(), 4),
        "town": town,
        "age": rng.integers(0, 95, n),
        "weight": np.round(rng.normal(70, 14, n).clip(3), 1),  # in kilogrammes
        "income": np.round(np.exp(rng.normal(10, 0.7, n)), 2),
        "sex": rng.choice(["f", "m"], n),
    }


@pytest.mark.parametrize("seed", range(10))
def test_what_behaves_so_is_found_and_body_weight_is_no_survey_weight(seed: int) -> None:
    columns = people(seed)
    assert found(columns) == {"a": "id", "b": "household", "c": "weight"}
    # in another order of the records the household still tells itself by what is constant in it
    order = np.random.default_rng(seed).permutation(len(columns["a"]))  # type: ignore[arg-type]
    turned = {name: np.asarray(column)[order] for name, column in columns.items()}
    assert found(turned) == {"a": "id", "b": "household", "c": "weight"}


def test_years_of_birth_with_their_age_groups_are_no_households() -> None:
    age = np.random.default_rng(4).integers(18, 80, 400)
    groups = {"cohort": 2020 - age, "age": age, "tens": [f"{a // 10}0s" for a in age], "old": age >= 65}
    assert found(groups) == {}


def test_columns_that_mean_nothing_raise_no_alarm() -> None:
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = 300
        columns = {
            "x": rng.normal(size=n),
            "amount": np.round(np.exp(rng.normal(8, 1, n)), 2),
            "kilos": np.round(rng.normal(75, 12, n), 1),
            "count": rng.integers(0, 60, n),
            "group": rng.choice(list("abcdef"), n),
        }
        alarms += len(found(columns))
    assert alarms <= 1  # of 500 columns


def test_weights_by_stratum_and_weights_with_a_mean_of_one() -> None:
    rng = np.random.default_rng(3)
    town = rng.choice(4, 200)
    own = np.array([12.25, 30.5, 7.75, 90.1])[town]
    columns = {"town": np.array(list("NESW"))[town], "w1": own, "w2": own / own.mean()}
    assert found(columns) == {"w1": "weight", "w2": "weight"}


def test_codes_with_a_label_for_every_value() -> None:
    labelled = Variable("q1", labels=((1, "yes"), (2, "no"), (3, "do not know")))
    answers = [1, 2, 3, 2] * 10
    assert found({"q1": answers, "q2": answers}, Schema((labelled,))) == {"q1": "labelled codes"}


def test_what_the_schema_says_is_not_found_again() -> None:
    survey = sfumato.household_survey(300)
    assert behaviours(survey) == ()
    bare = replace(survey, schema=replace(survey.schema, weight=None, household=None, id=None))
    assert {one.name: one.behaves for one in behaviours(bare)} == {
        "person": "id",
        "household": "household",
        "weight": "weight",
    }
    assert behaviours(survey.take(np.arange(5))) == ()
