"""Variables that an intruder knows because he knows a key, and that nobody declared."""

import numpy as np
import pyarrow as pa

from sfumato import GlobalRecoding, Microdata, Schema, Variable, VariableRemoval
from sfumato.compare.examine.facts import caution_facts, release_facts


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
