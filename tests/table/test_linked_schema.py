"""Links in the schema: written and read, in the order in which they follow, and refused where they cannot be."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato import Microdata, Schema, Variable
from sfumato.errors import SchemaError
from sfumato.table.schema_file import read_schema, schema_text

LINKED = Schema(
    (
        Variable("group", "nominal", linked="age"),
        Variable("place", "nominal", linked="region"),
        Variable("stratum", "nominal", linked=["region", "group"]),
    )
)
COLUMNS = ("age", "group", "region", "place", "stratum")
SURVEY = Microdata.from_frame(pa.table({name: ["a", "b"] for name in COLUMNS}), LINKED)


def test_links_are_written_and_read(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(schema_text(LINKED))
    assert read_schema(tmp_path / "schema.toml") == LINKED
    assert 'linked = "age"' in schema_text(LINKED)
    assert 'linked = ["region", "group"]' in schema_text(LINKED)


def test_a_link_to_what_is_gone_goes() -> None:
    assert SURVEY.without(["region"]).schema["stratum"].sources == ("group",)
    assert SURVEY.without(["region"]).schema["place"].sources == ()


def test_linked_variables_come_after_their_sources() -> None:
    names = [variable.name for variable in LINKED.links()]
    assert names.index("group") < names.index("stratum")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Variable("a", linked="a"), "variable 'a' is linked to itself"),
        (lambda: Variable("a", linked=["b", "b"]), "linked names a variable twice: b, b"),
        (lambda: Variable("a", linked=(3,)), "linked must be the name of a variable, or a list of names; got"),  # type: ignore[arg-type]
        (
            lambda: Schema((Variable("a", linked="b"), Variable("b", linked="c"), Variable("c", linked="a"))),
            "the links go round in a circle: a, b, c; one of them must be linked to no other",
        ),
        (
            lambda: Schema((Variable("w", linked="a"),), weight="w"),
            "'w' is the weight of the records, so it cannot be linked to 'a'; others may be linked to it",
        ),
        (
            lambda: Microdata.from_frame(
                pa.table({"cohort": [1], "age": [2]}), Schema((Variable("cohort", linked="Age"),))
            ),
            r"variable 'cohort' is linked to 'Age': there is no variable 'Age' \(did you mean 'age'\?\)",
        ),
    ],
)
def test_links_that_cannot_be_are_refused(make: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        make()


def test_a_schema_file_that_links_to_a_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text('[variables.a]\nkind = "numeric"\nlinked = 3\n')
    with pytest.raises(SchemaError, match=r"schema.toml: variable 'a': linked must be the name of a variable"):
        read_schema(tmp_path / "schema.toml")
