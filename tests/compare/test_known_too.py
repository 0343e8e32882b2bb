"""Variables that an intruder knows because he knows a key, and that nobody declared."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato import GlobalRecoding, Microdata, Schema, Variable, VariableRemoval
from sfumato.compare.examine.facts import caution_facts, release_facts
from sfumato.compare.examine.variables import variable_detail


def persons() -> Microdata:
    rng = np.random.default_rng(4)
    age = rng.integers(18, 90, 400)
    table = pa.table(
        {
            "age": age.astype(float),
            "agegroup": [("young", "middle", "old")[(a >= 35) + int(a >= 65)] for a in age],
            "sex": rng.choice(["f", "m"], 400),
            "pay": rng.lognormal(8, 1, 400).round(),
        }
    )
    return Microdata.from_frame(table, Schema((Variable("age", role="key"), Variable("sex", "nominal", "key"))))


def test_an_age_group_beside_a_banded_age_is_told() -> None:
    data = persons()
    banded = GlobalRecoding(bins={"age": 40}).protect(data)
    assert caution_facts(data, banded).known_too == (("agegroup", "age"),)


def test_not_where_it_is_gone_or_the_key_is_published_itself() -> None:
    data = persons()
    without = (VariableRemoval(variables=("agegroup",)) + GlobalRecoding(bins={"age": 40})).protect(data)
    assert caution_facts(data, without).known_too == ()
    assert caution_facts(data, data).known_too == ()


def test_a_variable_of_which_nothing_is_left_is_told() -> None:
    data = persons()
    one = GlobalRecoding(hierarchy={"age": [20, 200]}, level=2).protect(data)
    left = {variable.name: variable.one_left for variable in release_facts(data, one).variables}
    assert left == {"age": True, "agegroup": False, "sex": False, "pay": False}


def test_a_recoding_that_leaves_little_information_is_told_with_what_is_left() -> None:
    towns = [f"town {i:02d}" for i in range(16)]
    table = pa.table({"town": [name for name in towns for _ in range(10)], "age": [float(i) for i in range(160)]})
    data = Microdata.from_frame(table, Schema((Variable("town", "nominal", "key"), Variable("age", role="key"))))
    told = {}
    for classes in (2, 10):
        recoded = GlobalRecoding(
            hierarchy={"town": {name: ["a" if i < 15 else "b"] for i, name in enumerate(towns)}},
            bins={"age": 160 / classes},
        ).protect(data)
        told[classes] = {v.name: v.few_left for v in release_facts(data, recoded).variables}
    # 16 towns of equal size are 4 bits; 15/16 and 1/16 are 0.3373 bits
    town, age = told[2]["town"], told[2]["age"]
    assert town is not None and age is not None
    assert (town.before, town.after, town.categories) == (16, 2, ("a", "b"))
    assert town.share == pytest.approx(0.3373 / 4, abs=1e-4)
    # two halves are 1 bit of the log2(20) = 4.3219 that a number is taken to tell at most; ten parts are 3.3219
    assert age.share == pytest.approx(1 / 4.3219, abs=1e-4)
    assert age.categories == ("0-79", "80-159")
    assert told[10]["age"] is None
    assert release_facts(data, data).variables[0].few_left is None


def test_a_recoded_variable_is_pictured_in_the_original_s_values() -> None:
    town = ["a"] * 6 + ["b"] * 2 + ["c"] * 1 + ["d"] * 1
    age = [float(i) for i in range(10)]
    table = pa.table({"town": town, "age": age})
    data = Microdata.from_frame(table, Schema((Variable("town", "nominal", "key"), Variable("age", role="key"))))
    recoded = GlobalRecoding(map={"town": {"b": "rest", "c": "rest", "d": "rest"}}, bins={"age": 5}).protect(data)
    town_found, age_found = (variable_detail(name, data, recoded) for name in ("town", "age"))
    assert town_found.own is not None and age_found.own is not None
    assert town_found.own.categories == ("a", "b", "c", "d")
    assert town_found.own.before == pytest.approx((0.6, 0.2, 0.1, 0.1))
    # 4 of 10 records in "rest", spread over three towns
    assert town_found.own.after == pytest.approx((0.6, 0.4 / 3, 0.4 / 3, 0.4 / 3))
    # ten ages, one record each, five to a band: spread evenly they are as they were
    assert sum(age_found.own.before) == pytest.approx(1) and age_found.own.after == pytest.approx(age_found.own.before)
    assert len(age_found.own.edges) == len(age_found.own.before) + 1
    assert variable_detail("town", data, data).own is None
