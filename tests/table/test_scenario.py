"""Scenarios: what an intruder knows is checked, kept with its variables, and written to schema.toml."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Microdata, Scenario, Schema, Variable
from sfumato.errors import SchemaError
from sfumato.table.schema_file import read_schema, schema_text
from waiting import SLOW_OR_SHARED

TOWNS = Schema(
    (
        Variable("town", "nominal", "key"),
        Variable("age", "numeric", "key"),
        Variable("pay", "numeric", "confidential"),
    ),
    scenarios=(Scenario("register", ("town", "age"), k=5), Scenario("colleague", ("age", "pay"), about=("pay",))),
)
TABLE = pa.table({"town": ["A", "B"], "age": [30.0, 40.0], "pay": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": ""}, "a scenario's name must be text, and not empty"),
        ({"keys": ()}, "scenario 'x' has no keys"),
        ({"keys": "age"}, "keys must be a list of names; got 'age'"),
        ({"keys": 3}, "keys must be a list of names; got 3"),
        ({"keys": (3,)}, "keys must be names of variables; got 3"),
        ({"keys": ("age", "age")}, "keys names 'age' more than once"),
        ({"k": 1}, "k must be a whole number of 2 or more; got 1"),
        ({"k": 2.5}, "k must be a whole number"),
        ({"k": True}, "k must be a whole number"),
        ({"about": ("pay",)}, "about names 'pay', which is not among its keys age"),
        ({"knows_membership": 1}, "knows_membership must be True or False"),
    ],
)
def test_what_a_scenario_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Scenario(**{"name": "x", "keys": ("age",), **given})


def test_two_scenarios_of_one_name() -> None:
    with pytest.raises(SchemaError, match="two scenarios are called 'x'"):
        Schema(scenarios=(Scenario("x", ("a",)), Scenario("x", ("b",))))


def test_a_key_the_table_does_not_have() -> None:
    schema = Schema(scenarios=(Scenario("x", ("twon",)),))
    with pytest.raises(SchemaError, match=r"scenario 'x': there is no variable 'twon' \(did you mean 'town'\?\)"):
        Microdata.from_frame(TABLE, schema)


def test_intruders() -> None:
    assert [scenario.name for scenario in TOWNS.intruders()] == ["register", "colleague"]
    undeclared = Schema(TOWNS.variables)
    assert undeclared.intruders() == (Scenario("all keys", ("town", "age")),)
    assert Schema((Variable("pay"),)).intruders() == ()


def test_scenarios_stay_with_the_variables() -> None:
    data = Microdata.from_frame(TABLE, TOWNS)
    assert data.schema.scenarios == TOWNS.scenarios
    assert data.replace({"age": data.columns["age"] + 1}).schema.scenarios == TOWNS.scenarios
    assert data.schema.replace(Variable("age", "ordinal")).scenarios == TOWNS.scenarios
    fewer = data.without(["pay"]).schema.scenarios
    assert fewer == (TOWNS.scenarios[0], Scenario("colleague", ("age",)))
    assert [scenario.name for scenario in data.schema.only(["pay"]).scenarios] == ["colleague"]
    assert Microdata.beside(data, TABLE.drop_columns(["town"])).schema.scenarios[0].keys == ("age",)


@st.composite
def scenarios(draw: st.DrawFn) -> list[Scenario]:
    found = []
    for name in draw(st.lists(st.text(min_size=1), unique=True, max_size=4)):
        keys = draw(st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True))
        about = draw(st.lists(st.sampled_from(keys), unique=True))
        found.append(Scenario(name, tuple(keys), draw(st.integers(2)), tuple(about), draw(st.booleans())))
    return found


@settings(max_examples=100, suppress_health_check=SLOW_OR_SHARED)
@given(scenarios())
def test_scenarios_read_back_the_same(tmp_path: Path, found: list[Scenario]) -> None:
    schema = Schema((Variable("age"),), weight="w", scenarios=tuple(found))
    (tmp_path / "schema.toml").write_bytes(schema_text(schema).encode())
    assert read_schema(tmp_path / "schema.toml") == schema


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scenarios = 3", r"scenarios must be a table such as \[scenarios.neighbour\]"),
        ("[scenarios]\nx = ['age']", r"scenario 'x': x must be a table: \[scenarios\.x\]"),
        ("[scenarios.x]\nk = 3", "scenario 'x' has no keys; write keys ="),
        ("[scenarios.x]\nkeys = ['age']\nkey = 3", "'key' is not known here; .*did you mean 'keys'"),
        ("[scenarios.x]\nkeys = ['age']\nmembership = 'no'", "membership must be true or false; got 'no'"),
        ("[scenarios.x]\nkeys = ['age']\nk = 1", "k must be a whole number of 2 or more; got 1"),
    ],
)
def test_what_a_schema_file_does_not_allow(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "my.toml").write_text(text)
    with pytest.raises(SchemaError, match=rf"my\.toml.*{message}"):
        read_schema(tmp_path / "my.toml")


def test_a_scenario_as_a_user_writes_it(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(
        '[scenarios.neighbour]\nkeys = ["town", "age"]\nk = 5\nabout = ["age"]\nmembership = false\n'
    )
    read = read_schema(tmp_path / "my.toml")
    assert read.scenarios == (Scenario("neighbour", ("town", "age"), 5, ("age",), knows_membership=False),)
    assert Microdata.from_frame(TABLE, read).schema.intruders() == read.scenarios
