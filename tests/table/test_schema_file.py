"""schema.toml: what is written reads back, and what cannot be right is named."""

import datetime as dt
import tomllib
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import FileError, SchemaError
from sfumato.table.files import read, write
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Kind, Role, Schema, Variable
from sfumato.table.schema_file import read_schema, schema_text, write_schema
from waiting import SLOW_OR_SHARED

CATEGORIES: st.SearchStrategy[list[Any]] = st.one_of(
    st.lists(st.text(), unique=True, max_size=5),
    st.lists(st.integers(), unique=True, max_size=5),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True, max_size=5),
    st.lists(st.booleans(), unique=True, max_size=2),
    st.lists(st.dates(), unique=True, max_size=5),
    st.lists(st.datetimes().map(lambda moment: moment.replace(fold=0)), unique=True, max_size=5),
    st.lists(st.times().map(lambda moment: moment.replace(fold=0)), unique=True, max_size=5),
)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(st.text(min_size=1), unique=True, max_size=5))
    variables = []
    for name in names:
        kind: Kind = draw(st.sampled_from(get_args(Kind)))
        role: Role = draw(st.sampled_from(get_args(Role)))
        categories = [] if kind in ("numeric", "date") else draw(CATEGORIES)
        missing = draw(st.lists(st.text() | st.integers() | st.dates(), max_size=3))
        form = draw(st.sampled_from(["", "%d.%m.%Y"])) if kind == "date" else ""
        variables.append(Variable(name, kind, role, tuple(categories), tuple(missing), draw(st.text()), format=form))
    named = draw(st.lists(st.text(min_size=1), unique=True, min_size=3, max_size=3))
    weight, household, identity = (name if draw(st.booleans()) else None for name in named)
    return Schema(tuple(variables), weight, household, identity)


@settings(max_examples=100, suppress_health_check=SLOW_OR_SHARED)
@given(schemas())
def test_a_schema_reads_back_the_same(tmp_path: Path, schema: Schema) -> None:
    (tmp_path / "schema.toml").write_bytes(schema_text(schema).encode())
    found = read_schema(tmp_path / "schema.toml")
    assert found == schema
    assert repr(found) == repr(schema), "1 and 1.0 and True are equal, but not the same category"


@settings(max_examples=50, suppress_health_check=SLOW_OR_SHARED)
@given(st.lists(st.tuples(st.text(min_size=1), st.text()), min_size=1, max_size=6, unique_by=lambda pair: pair[0]))
def test_a_table_of_odd_names_and_texts_is_described(tmp_path: Path, columns: list[tuple[str, str]]) -> None:
    data = Microdata.from_frame(pa.table({name: [text, None, "x"] for name, text in columns}))
    write_schema(data, tmp_path / "schema.toml")
    assert read_schema(tmp_path / "schema.toml") == data.schema


def test_a_schema_edited_and_used(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("w,sex,grade,pay\n1.5,1,low,-9\n2,2,high,20\n")
    (tmp_path / "schema.toml").write_text(
        'weight = "w"\n[variables.sex]\nkind = "nominal"\nrole = "key"\ncategories = [1, 2]\n'
        '[variables.grade]\nkind = "ordinal"\ncategories = ["low", "middle", "high"]\n'
        '[variables.pay]\nkind = "numeric"\nmissing = [-9]\nlabel = "monthly pay"\n'
    )
    data = read(tmp_path / "t.csv", tmp_path / "schema.toml")
    assert data.weights().tolist() == [1.5, 2.0]
    assert data.codes(["sex", "grade"]).tolist() == [[0, 0], [1, 2]]
    assert str(data.numeric(["pay"]).ravel().tolist()) == "[nan, 20.0]"
    assert data.schema["sex"].role == "key"
    assert data.schema["pay"].label == "monthly pay"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[variables.a]\nkind = 'numric'",
            r"variable 'a': kind must be one of numeric, ordinal, nominal, date; got 'numric' \(d",
        ),
        (
            "[variables.a]\nkind = 'numeric'\nrole = 'Key'",
            r"role must be one of key, .*; got 'Key' \(did you mean 'key'",
        ),
        ("[variables.a]\nkind = ['numeric']", "kind must be one of"),
        ("[variables.a]\nkind='nominal'\ncategory = [1]", "'category' is not known here; .*did you mean 'categories'"),
        ("[variables.a]\nkind = 'nominal'\ncategories = 'x'", "categories must be a list"),
        ("[variables.a]\nkind = 'nominal'\ncategories = [[1]]", "categories must hold texts, numbers or dates"),
        ("[variables.a]\nkind = 'nominal'\ncategories = [1, 'x']", "'a' lists categories of different types"),
        ("[variables.a]\nkind = 'nominal'\ncategories = [1, 1]", "'a' lists a category twice"),
        ("[variables.a]\nkind = 'numeric'\ncategories = [1]", "'a' is numeric, so it has no categories"),
        ("[variables.a]\nkind = 'numeric'\nlabel = 3", "label must be text"),
        ("[variables]\na = 'numeric'", r"variable 'a': a must be a table: \[variables\.a\]"),
        ("variables = 3", "variables must be a table"),
        ("wieght = 'w'", "'wieght' is not known here; .*did you mean 'weight'"),
        ("weight = 3", "weight must be the name of a variable in quotes; got 3"),
        ("weight = w\n", "is not valid TOML: .*line 1"),
        ("[variables.a]\nmissing = [1" + "0" * 5_000 + "]", "a whole number of more than 308 digits"),  # ValueError
        ("[variables.a.treatment]\ntop = 1" + "0" * 400, "a whole number of more than 308 digits"),  # OverflowError
        ("[variables.a]\nmissing = [0x" + "f" * 5_000 + "]", "a whole number of more than 308 digits"),
        ("[variables.a]\nkind='numeric'\n[variables.a]\nkind='nominal'", "is not valid TOML"),
    ],
)
def test_what_a_schema_file_does_not_allow(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "my.toml").write_text(text)
    with pytest.raises(SchemaError, match=rf"my\.toml.*{message}"):
        read_schema(tmp_path / "my.toml")


def test_schema_files_that_are_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no such file"):
        read_schema(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes('# Größe\nweight = "w"'.encode("latin-1"))
    with pytest.raises(SchemaError, match="not UTF-8"):
        read_schema(tmp_path / "latin.toml")
    (tmp_path / "mark.toml").write_bytes(b'\xef\xbb\xbfweight = "w"\r\n')
    assert read_schema(tmp_path / "mark.toml") == Schema(weight="w")


def test_long_lists_are_counted_not_written() -> None:
    table = pa.table({"town": [f"town {i}" for i in range(200)] * 2})
    text = schema_text(Microdata.from_frame(table))
    assert "# categories: 200 different ones, not listed" in text
    assert "categories" not in tomllib.loads(text)["variables"]["town"]
    ordered = Variable("step", kind="ordinal", categories=tuple(f"{i}" for i in range(80)))
    assert len(tomllib.loads(schema_text(Schema((ordered,))))["variables"]["step"]["categories"]) == 80


def test_categories_toml_has_no_words_for() -> None:
    data = Microdata.from_frame(pa.table({"wait": pa.array([1, 2], pa.duration("s"))}))
    assert "of a type TOML has no words for" in schema_text(data)
    schema = Schema((Variable("wait", kind="nominal", categories=(dt.timedelta(1),)),))
    assert tomllib.loads(schema_text(schema))["variables"]["wait"] == {"kind": "nominal", "role": "other"}
    with pytest.raises(SchemaError, match="neither text, number"):
        schema_text(Schema((Variable("wait", missing=(b"x",)),)))


def test_suggestions_stand_in_the_file_as_comments() -> None:
    data = Microdata.from_frame(pa.table({'od"d\nweight': [1.0 + i for i in range(40)], "sex": [1, 2] * 20}))
    text = schema_text(data)
    assert tomllib.loads(text)["variables"].keys() == {'od"d\nweight', "sex"}
    assert "# 2 distinct; 0 missing; from 1 to 2\n# nominal? 2 distinct whole numbers" in text
    assert '# weight = "..."' in text


def test_the_level_goes_to_the_file_and_back(tmp_path: Path) -> None:
    said = Schema((Variable("rent", level="household"), Variable("age", level="record"), Variable("pay")))
    write_schema(said, tmp_path / "schema.toml")
    assert read_schema(tmp_path / "schema.toml") == said
    (tmp_path / "schema.toml").write_text('[variables.rent]\nkind = "numeric"\nlevel = "houshold"\n')
    with pytest.raises(SchemaError, match=r"level must be one of household, record; .* \(did you mean 'household'"):
        read_schema(tmp_path / "schema.toml")


# a role without a kind


def test_a_kind_that_is_left_out_follows_the_column(tmp_path: Path) -> None:
    file = tmp_path / "schema.toml"
    file.write_text(
        'weight = "w"\n[variables.age]\nrole = "key"\n[variables.town]\nrole = "key"\nlabel = "where"\n'
        '[variables.code]\nmissing = [9]\n[variables.size]\ncategories = ["small", "large"]\n'
    )
    schema = read_schema(file)
    assert all(variable.kind_by_rule for variable in schema)
    table = pa.table({"age": [20, 30], "town": ["a", "b"], "code": [1, 9], "size": ["large", "small"], "w": [1.0, 2.0]})
    data = Microdata.from_frame(table, file)
    kinds = {variable.name: (variable.kind, variable.role) for variable in data.schema}
    assert kinds == {
        "age": ("numeric", "key"),
        "town": ("nominal", "key"),
        "code": ("numeric", "other"),
        "size": ("nominal", "other"),
        "w": ("numeric", "other"),
    }
    assert not any(variable.kind_by_rule for variable in data.schema)
    assert data.schema["town"].label == "where" and data.schema["size"].categories == ("small", "large")
    assert np.isnan(data.columns["code"][1])
    # what was read is the same as if the kinds had been written
    write_schema(data, tmp_path / "whole.toml")
    again = Microdata.from_frame(table, str(tmp_path / "whole.toml"))
    assert again.schema == data.schema and again.fingerprint == data.fingerprint
    # and a schema without kinds goes to a file without them
    assert read_schema_text(tmp_path, schema_text(schema)) == schema
    assert "kind =" not in schema_text(schema).split("[variables", 1)[1]


def read_schema_text(folder: Path, text: str) -> Schema:
    (folder / "again.toml").write_text(text)
    found = read_schema(folder / "again.toml")
    assert all(variable.kind_by_rule for variable in found)
    return found


def test_a_kind_left_out_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text('[variables.code]\nrole = "key"\n[variables.pay]\nrole = "confidential"\n')
    table = pa.table({"code": ["007", "012"], "pay": [1.5, 2.0]})
    for ending in (".csv", ".csv.gz", ".parquet", ".xlsx", ".sav", ".dta"):
        write(table, tmp_path / f"t{ending}")
        schema = read(tmp_path / f"t{ending}", tmp_path / "schema.toml").schema
        assert [(v.kind, v.role) for v in schema] == [("nominal", "key"), ("numeric", "confidential")], ending
    comma = tmp_path / "comma.csv"
    comma.write_text("code;pay\n1;1,5\n2;x\n")  # a kind that nobody states is not held against a cell
    assert read(comma, tmp_path / "schema.toml").schema["pay"].kind == "nominal"


def test_a_frame_takes_the_path_of_a_schema(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text('[variables.age]\nkind = "ordinal"\n')
    table = pa.table({"age": [20, 30]})
    for path in (tmp_path / "schema.toml", str(tmp_path / "schema.toml")):
        assert Microdata.from_frame(table, path).schema["age"].kind == "ordinal"
        assert Microdata.from_frame(Microdata.from_frame(table), path).schema["age"].kind == "ordinal"
    with pytest.raises(FileError, match=r"cannot read .*none\.toml"):
        Microdata.from_frame(table, tmp_path / "none.toml")
    with pytest.raises(SchemaError, match=r"schema must be a Schema or the path of a schema\.toml; got dict"):
        Microdata.from_frame(table, {"age": "ordinal"})  # type: ignore[arg-type]


def test_a_format_without_a_kind_says_that_it_is_a_date(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text('[variables.born]\nformat = "%d.%m.%Y"\nrole = "key"\n[variables.seen]\n')
    (tmp_path / "t.csv").write_text("born;seen\n31.12.1999;2020-01-01\n01.01.2000;2020-01-02\n")
    schema = read(tmp_path / "t.csv", tmp_path / "schema.toml").schema
    assert next((v.kind, v.role) for v in schema) == ("date", "key")
