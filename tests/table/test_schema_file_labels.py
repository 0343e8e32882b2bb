"""schema.toml with labels and treatments: what is written reads back, and what cannot be right is named."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import SchemaError
from sfumato.table.schema import Schema, Variable
from sfumato.table.schema_file import read_schema, schema_text
from sfumato.table.toml_text import lists
from sfumato.table.treatment import Treatment
from waiting import SLOW_OR_SHARED

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
CATEGORY: st.SearchStrategy[Any] = st.one_of(st.text(), st.integers(), FLOATS, st.booleans(), st.dates())
TREATMENTS = st.builds(
    Treatment,
    groups=st.lists(st.tuples(CATEGORY, CATEGORY), max_size=4, unique_by=lambda pair: pair[0]),
    cuts=st.lists(FLOATS, max_size=4, unique=True).map(sorted),
    bottom=st.none() | FLOATS,
    top=st.none() | FLOATS | st.integers(),
    base=st.none() | FLOATS,
    suppressed=st.integers(0, 10**6),
    perturbed=st.booleans(),
)
VARIABLES = st.builds(
    Variable,
    name=st.text(min_size=1),
    kind=st.sampled_from(["numeric", "ordinal", "nominal"]),
    label=st.text(),
    labels=st.lists(st.tuples(CATEGORY, st.text()), max_size=8),
    treatment=TREATMENTS,
)


@settings(max_examples=100, suppress_health_check=SLOW_OR_SHARED)
@given(st.lists(VARIABLES, max_size=3, unique_by=lambda variable: variable.name))
def test_labels_and_treatments_read_back_the_same(tmp_path: Path, variables: list[Variable]) -> None:
    schema = Schema(tuple(variables))
    (tmp_path / "schema.toml").write_bytes(schema_text(schema).encode())
    found = read_schema(tmp_path / "schema.toml")
    assert found == schema
    assert repr(found) == repr(schema), "1 and 1.0 and True are equal, but not the same category"


def test_how_it_reads() -> None:
    sex = Variable("sex", kind="nominal", labels=((1, "male"), (2, "female")))
    band = Variable("age", treatment=Treatment(cuts=(18, 65), top=90.0, suppressed=3, perturbed=True))
    text = schema_text(Schema((sex, band)))
    assert 'labels = [[1, "male"], [2, "female"]]' in text
    assert "[variables.age.treatment]\ncuts = [18.0, 65.0]\ntop = 90.0\nsuppressed = 3\nperturbed = true" in text
    many = lists((i, f"category number {i}") for i in range(5))
    assert many.splitlines()[1] == '    [0, "category number 0"],'


def test_values_toml_has_no_words_for() -> None:
    wait = dt.timedelta(1)
    odd = Variable("wait", kind="nominal", labels=((wait, "a day"),), treatment=Treatment(groups=((wait, wait),)))
    text = schema_text(Schema((odd,)))
    assert "# labels: 1 of values TOML has no words for, not listed" in text
    assert "# groups: of a type TOML has no words for, not listed" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("labels = 'male'", "variable 'a': labels must be a list such as"),
        ("labels = [1, 2]", r"labels must be pairs such as \[1, \"yes\"\]; got 1"),
        ("labels = [[1, 2]]", r"labels must be pairs such as .*; got \[1, 2\]"),
        ("labels = [[1, 'x', 'y']]", "labels must be pairs"),
        ("labels = [[[1], 'x']]", "labels must be pairs"),
        ("treatment = 3", r"treatment must be a table: \[variables\.a\.treatment\]"),
        ("treatment = {cut = [1]}", "treatment: 'cut' is not known here; .*did you mean 'cuts'"),
        ("treatment = {cuts = 1}", "treatment: cuts must be a list of numbers; got 1"),
        ("treatment = {cuts = ['x']}", "treatment: cuts must be a list of numbers; got 'x'"),
        ("treatment = {cuts = [2, 1]}", "the cuts of a treatment must rise"),
        ("treatment = {groups = [['a']]}", "groups must be pairs"),
        ("treatment = {groups = [['a', 'x'], ['a', 'y']]}", "one category into two groups"),
        ("treatment = {top = 'x'}", "top must be a number; got 'x'"),
        ("treatment = {top = nan}", "top must be a number; got nan"),
        ("treatment = {suppressed = -1}", "suppressed must be a count of 0 or more; got -1"),
        ("treatment = {suppressed = true}", "suppressed must be a count"),
        ("treatment = {perturbed = 1}", "perturbed must be true or false; got 1"),
    ],
)
def test_what_a_schema_file_does_not_allow(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "my.toml").write_text(f"[variables.a]\nkind = 'nominal'\n{text}\n")
    with pytest.raises(SchemaError, match=rf"my\.toml.*{message}"):
        read_schema(tmp_path / "my.toml")
