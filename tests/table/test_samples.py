"""The demo survey: the same each time, plausible, and free of impossible people."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfumato.errors import ParameterError
from sfumato.table.files import read, write
from sfumato.table.samples import NOT_EMPLOYED, OCCUPATIONS, POPULATION, REGIONS, SCHEMA, household_survey


@cache
def survey() -> pd.DataFrame:
    frame: pd.DataFrame = household_survey().to_frame("pandas")
    return frame


def test_the_same_seed_makes_the_same_survey() -> None:
    assert household_survey(200).fingerprint == household_survey(200).fingerprint
    assert household_survey(200).fingerprint != household_survey(200, seed=1).fingerprint


def test_size_and_schema() -> None:
    data = household_survey()
    assert 3_500 < len(data) < 4_500
    assert data.schema == SCHEMA
    assert set(data.schema.analysed(role="key")) >= {"region", "sex", "age", "education"}
    assert "income" in data.schema.analysed("numeric", role="confidential")
    assert all(variable.label for variable in data.schema)
    with pytest.raises(ParameterError, match="households must be a whole number of at least 10; got 3"):
        household_survey(3)


def test_ids_and_households() -> None:
    people = survey()
    assert people["person"].is_unique
    homes = people.groupby("household")
    for shared in ("region", "urbanity", "tenure", "weight", "rent", "household_size"):
        assert (homes[shared].nunique() == 1).all(), shared
    assert (homes.size() == homes["household_size"].first()).all()
    assert people["household"].is_monotonic_increasing
    assert (homes["age"].max() >= 18).all(), "no child lives alone"


def test_weights_stand_for_the_population() -> None:
    weights = survey()["weight"]
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(POPULATION, rel=1e-4)
    assert weights.max() / weights.min() > 4, "selection was unequal"


def test_weighted_shares_undo_the_sampling() -> None:
    # the capital has 21 % of all households; it was sampled thinly, and its cells' response is known within 5 %
    people = survey().drop_duplicates("household")
    in_capital = people["region"] == "Hauptstadt"
    assert in_capital.mean() < 0.10
    assert np.average(in_capital, weights=people["weight"]) == pytest.approx(0.21, abs=0.04)


def test_every_category_occurs_unequally() -> None:
    people = survey()
    assert set(people["region"]) == set(REGIONS)
    assert set(people["occupation"]) == set(OCCUPATIONS)
    for name in ("region", "occupation", "marital", "education", "tenure", "urbanity"):
        shares = people[name].value_counts(normalize=True)
        assert shares.max() > 1.5 * shares.min(), name
        assert shares.min() > 0.003, name
    assert 0.47 < (people["sex"] == "female").mean() < 0.55
    assert 0.4 < (people["occupation"] != NOT_EMPLOYED).mean() < 0.6


def test_no_impossible_people() -> None:
    people = survey()
    working = people["occupation"] != NOT_EMPLOYED
    education = people["education"].cat.codes
    assert people["age"].between(0, 99).all()
    assert (people.loc[working, "age"] >= 16).all()
    assert (people.loc[working, "hours"] > 0).all()
    assert (people.loc[~working, "hours"] == 0).all()
    assert (people.loc[~working, "earnings"].dropna() == 0).all()
    assert (people.loc[education == 4, "age"] >= 24).all()
    assert (people.loc[education == 3, "age"] >= 21).all()
    assert (people.loc[people["age"] < 15, "education"] == "primary").all()
    assert (people.loc[people["age"] < 18, "marital"] == "single").all()
    assert (people.loc[people["marital"] == "married", "age"] >= 18).all()
    minors = people[people["age"] < 16]
    assert (minors[["earnings", "capital_income", "benefits", "income", "tax", "wealth"]] == 0).all(axis=None)
    assert (people.loc[people["tenure"].isin(["owner", "rent-free"]), "rent"] == 0).all()


def test_income_is_the_sum_of_its_parts() -> None:
    people = survey()
    parts = people["earnings"] + people["capital_income"] + people["benefits"]
    known = people["income"].notna()
    assert (parts[known] == people.loc[known, "income"]).all()
    assert parts[~known].isna().all()
    assert (people["tax"].dropna() >= 0).all()
    assert (people["tax"] <= 0.5 * people["income"]).dropna().all()


def test_amounts_are_skewed_and_hang_together_as_stated() -> None:
    people = survey().astype(
        {"earnings": float, "income": float, "wealth": float, "tax": float, "capital_income": float}
    )
    working = people[people["occupation"] != NOT_EMPLOYED].dropna()
    adults = people[people["age"] >= 18].dropna()
    for name in ("earnings", "income", "wealth"):
        assert float(np.asarray(working[name]).mean()) > 1.15 * float(np.median(working[name])), name
    ranks = working.assign(education=working["education"].cat.codes).corr("spearman", numeric_only=True)
    for other, least in (("education", 0.15), ("age", 0.2), ("hours", 0.3), ("tax", 0.8), ("wealth", 0.2)):
        assert ranks["earnings"].to_dict()[other] > least, other
    pay = working.groupby("sex")["earnings"].median()
    assert pay["male"] > pay["female"]
    by_region = working.groupby("region")["earnings"].median()
    assert by_region["Suedtal"] > by_region["Nordmark"]
    assert 0.5 < (adults["capital_income"] == 0).mean() < 0.85
    assert 0.04 < (adults["wealth"] < 0).mean() < 0.15
    assert working["earnings"].max() > 6 * working["earnings"].quantile(0.99) / 2, "a few stand out"


def test_answers_are_missing_where_stated() -> None:
    people = survey()
    adults = people[people["age"] >= 18]
    for name in ("earnings", "capital_income", "income", "wealth"):
        assert 0.03 <= adults[name].isna().mean() <= 0.09, name
    own = adults["occupation"] == "self-employed"
    assert adults.loc[own, "wealth"].isna().mean() > adults.loc[~own, "wealth"].isna().mean()
    complete = people.columns.difference(["earnings", "capital_income", "income", "tax", "wealth"])
    assert people[complete].notna().all(axis=None)


def test_people_report_round_figures() -> None:
    told = survey()["earnings"].dropna()
    told = told[told >= 1_000]
    assert 0.7 < (told % 100 == 0).mean() < 0.95


def test_the_survey_survives_a_file(tmp_path: Path) -> None:
    data = household_survey(200)
    for suffix in (".csv", ".parquet"):
        write(data, tmp_path / f"survey{suffix}")
        assert read(tmp_path / f"survey{suffix}", SCHEMA).fingerprint == data.fingerprint
