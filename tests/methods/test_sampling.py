from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import (
    Microdata,
    NotApplicable,
    ParameterError,
    Sampling,
    Schema,
    Variable,
    VariableRemoval,
    catalogue,
    household_survey,
)
from tables import incomes, numbers, persons


def table(schema: Schema | None = None, **columns: Any) -> Microdata:
    return Microdata.from_frame(pa.table(columns), schema)


def test_by_hand_numbers_drawn_and_weights() -> None:
    data = table(region=["n"] * 6 + ["s"] * 4, x=list(range(10)))
    half = Sampling(0.5, strata=("region",)).protect(data, rng=1)
    counts = {stratum: int((half.columns["region"] == code).sum()) for code, stratum in enumerate("ns")}
    assert counts == {"n": 3, "s": 2} and half.schema.weight == "weight" and not half.matched
    assert half.weights().tolist() == [2.0] * 5
    own = Sampling({"n": 0.5, "s": 1}, strata=("region",)).protect(data, rng=1)
    # three of six stand for two each, four of four for themselves
    assert own.weights().tolist() == [2.0] * 3 + [1.0] * 4
    assert own.weights().sum() == 10
    few = Sampling(0.01).protect(data, rng=1)  # at least one
    assert len(few) == 1 and few.weights().tolist() == [10.0]
    assert "drew 3 of 6" not in few.notes[-1] and "drew 1 of 10 records" in few.notes[-1]


@given(st.integers(1, 80), st.floats(0.01, 1), st.integers(0, 50))
def test_weights_of_one_add_up_to_the_records_and_no_record_comes_twice(n: int, fraction: float, seed: int) -> None:
    data = table(x=np.arange(n), part=np.arange(n) % 3)
    for method in (Sampling(fraction), Sampling(fraction, strata=("part",))):
        drawn = method.protect(data, rng=seed)
        assert drawn.weights().sum() == pytest.approx(n)
        assert (np.diff(drawn.columns["x"]) > 0).all()  # in their order
        if method.strata:
            per = np.bincount(drawn.columns["part"].astype(int), drawn.weights(), minlength=3)
            np.testing.assert_allclose(per, np.bincount(np.arange(n) % 3, minlength=3))


def test_by_theory_every_record_is_drawn_equally_often() -> None:
    data = numbers(x=np.arange(20.0))
    draws = 2_000
    hits = np.zeros(20)
    for seed in range(draws):
        hits[Sampling(0.25).protect(data, rng=seed).columns["x"].astype(int)] += 1
    # each is in with probability 1/4: standard error sqrt(2000 * 3/16) = 19.4; 4.5 of them
    assert (np.abs(hits - draws / 4) < 87).all()


def test_whole_households_are_drawn_and_weighted_totals_are_right_on_average() -> None:
    survey = household_survey(200)
    drawn = Sampling(0.3).protect(survey, rng=2)
    chosen = set(drawn.columns["household"])
    members = np.isin(survey.columns["household"], list(chosen))
    assert len(chosen) == 60 and int(members.sum()) == len(drawn)
    np.testing.assert_allclose(drawn.weights(), survey.weights()[members] * 200 / 60)
    totals = [Sampling(0.3).protect(survey, rng=seed).weights().sum() for seed in range(200)]
    # the mean of 200 totals against the total, by their own standard error
    assert abs(np.mean(totals) - survey.weights().sum()) < 4 * np.std(totals) / np.sqrt(200)


def test_a_missing_household_is_one_of_its_own() -> None:
    schema = Schema((Variable("hh", kind="nominal"),), household="hh")
    data = table(schema, hh=["a", "a", None, None, "b", None], x=[1, 2, 3, 4, 5, 6])
    assert "of 5 households" in Sampling(0.4).protect(data, rng=1).notes[-1]
    numeric = Schema((Variable("hh"),), household="hh")
    data = table(numeric, hh=[1.0, 1.0, None, None, 2.0, None], x=[1, 2, 3, 4, 5, 6])
    assert "of 5 households" in Sampling(0.4).protect(data, rng=1).notes[-1]


def test_what_cannot_be_drawn_is_refused() -> None:
    split = persons()  # households of two, whose members have regions of their own
    with pytest.raises(NotApplicable, match=r"Sampling: \d+ households lie in several strata, for example that of row"):
        Sampling(0.5, strata=("region",)).protect(split)
    with pytest.raises(NotApplicable, match="Sampling: there is no variable 'regoin'"):
        Sampling(0.5, strata=("regoin",)).protect(split)
    data = table(region=["n", "s", "s"], x=[1.0, 2.0, 3.0])
    with pytest.raises(
        NotApplicable, match="Sampling: fraction names 'north', which is no stratum; there are 'n', 's'"
    ):
        Sampling({"north": 0.5, "s": 0.5}, strata=("region",)).protect(data)
    with pytest.raises(NotApplicable, match="Sampling: no fraction for the stratum s"):
        Sampling({"n": 0.5}, strata=("region",)).protect(data)
    light = table(Schema((Variable("w"),), weight="w"), x=[1.0, 2.0, 3.0], w=[2.0, 0.5, 1.0])
    with pytest.raises(NotApplicable, match=r"Sampling: the weight 'w' is below one in 1 record \(first in row 2\)"):
        Sampling(0.5).protect(light)
    with pytest.raises(NotApplicable, match="Sampling: records are drawn whole, so leave variables out"):
        Sampling(0.5, variables=("x",)).protect(data)
    with pytest.raises(ParameterError, match="Sampling: a fraction by stratum needs strata"):
        Sampling({"n": 0.5})
    with pytest.raises(ParameterError, match=r"Sampling: the fraction of 'n' must be in \(0, 1\]; got 0"):
        Sampling({"n": 0}, strata=("region",))
    with pytest.raises(ParameterError, match=r"fraction must be in \(0, 1\]; got 20 \(did you mean 0\.2\?\)"):
        Sampling(20)


def test_strata_of_several_variables_and_of_numbers() -> None:
    data = table(region=["n", "n", "s", "s"] * 5, size=[1, 2, 1, 2] * 5)
    fractions = {("n", 1): 1.0, ("n", 2): 0.2, ("s", 1): 0.4, ("s", 2): 0.6}
    method = Sampling(fractions, strata=("region", "size"))
    drawn = method.protect(data, rng=1)
    assert len(drawn) == 5 + 1 + 2 + 3 and drawn.weights().sum() == pytest.approx(20)
    assert catalogue.parse(repr(method)) == [method]


def test_an_existing_weight_column_that_is_none_is_left_alone() -> None:
    data = table(weight=[70.0, 80.0, 90.0], x=[1.0, 2.0, 3.0])  # of persons, in kilograms
    drawn = Sampling(0.7).protect(data, rng=1)
    assert drawn.schema.weight == "sampling_weight" and set(drawn.columns["weight"]) <= {70.0, 80.0, 90.0}


# removal


def test_removal_takes_what_is_named_or_the_identifiers() -> None:
    data = persons()
    assert VariableRemoval().protect(data).names == tuple(name for name in data.names if name != "id")
    assert VariableRemoval().protect(data).schema.id is None
    survey = household_survey(30)
    left = VariableRemoval().protect(survey)
    assert "person" not in left.names and left.schema.household == "household"
    gone = VariableRemoval(variables=("weight", "age")).protect(data)
    assert gone.schema.weight is None and "age" not in gone.names and "id" in gone.names
    plain = incomes()
    assert VariableRemoval().protect(plain).names == plain.names
    with pytest.raises(NotApplicable, match="VariableRemoval: no variable would be left"):
        VariableRemoval(variables=plain.names).protect(plain)
    both = (Sampling(0.5) + VariableRemoval()).protect(data, rng=1)
    assert "id" not in both.names and not both.matched
    assert not (Sampling(0.5) + VariableRemoval()).about.keeps_records


def test_units_not_drawn_are_no_longer_listed_but_categories_are() -> None:
    names = [f"person {i}" for i in range(40)]
    data = table(Schema(id="name"), name=names, job=["a"] * 39 + ["pilot"])
    drawn = Sampling(0.1).protect(data, rng=1)
    assert set(drawn.schema["name"].categories) == set(drawn.to_arrow()["name"].to_pylist())
    assert drawn.schema["job"].categories == ("a", "pilot")  # so that a later step can name it


def test_strata_of_numbers_that_are_not_whole_are_told_apart() -> None:
    data = table(half=[0.5, 1.5] * 40, x=[float(i) for i in range(80)])
    drawn = Sampling({0.5: 0.5, 1.5: 0.1}, strata=("half",)).protect(data, rng=1)
    # 20 of 40 stand for two each, 4 of 40 for ten
    assert sorted(drawn.weights().tolist()) == [2.0] * 20 + [10.0] * 4


def test_strata_of_which_all_are_drawn_are_counted() -> None:
    data = table(region=["n"] * 10 + ["s"], x=list(range(11)))
    assert "all of 1 of 2 strata" in Sampling(0.2, strata=("region",)).protect(data, rng=1).notes[-1]
    assert "strata" not in Sampling(0.2).protect(data, rng=1).notes[-1]
