"""Tables under a schema: kinds, missing codes, weights, ids, and what is refused."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato.errors import DataError, NotApplicable, SchemaError
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable


def table(schema: Schema | None = None, **columns: Any) -> Microdata:
    return Microdata.from_frame(pa.table(columns), schema)


def stated(*variables: Variable, **special: Any) -> Schema:
    return Schema(variables, **special)


def test_the_rule_of_kinds() -> None:
    data = table(
        whole=[1, 2], part=[0.5, None], text=["a", "b"], truth=[True, False], wide=[2**60, 1], nothing=pa.nulls(2)
    )
    kinds = [variable.kind for variable in data.schema]
    assert kinds == ["numeric", "numeric", "nominal", "nominal", "nominal", "numeric"]
    ordered = pd.DataFrame({"x": pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True)})
    assert Microdata.from_frame(ordered).schema["x"] == Variable("x", kind="ordinal", categories=("b", "a"))


def test_numbers_and_codes() -> None:
    data = table(x=[1, None], r=["south", "north"], s=[None, "a"])
    np.testing.assert_array_equal(data.numeric(), [[1.0], [np.nan]])
    assert data.codes().tolist() == [[1, -1], [0, 0]]
    assert data.codes().dtype == np.int32
    assert data.codes("r").tolist() == [[1], [0]]
    with pytest.raises(NotApplicable, match="variable 'r' is nominal; numeric is needed"):
        data.numeric(["r"])
    with pytest.raises(SchemaError, match="there is no variable 'z'; there are x, r, s"):
        data.numeric(["z"])


def test_codes_stated_by_a_schema() -> None:
    schema = stated(Variable("sex", kind="nominal"), Variable("grade", kind="ordinal"))
    data = table(schema, sex=[2.0, None, 1.0], grade=[30, 10, 20])
    assert data.schema["sex"].categories == (1, 2)
    assert data.codes(["sex", "grade"]).tolist() == [[1, 2], [-1, 0], [0, 1]]
    assert data.to_frame().to_pydict() == {"sex": [2.0, None, 1.0], "grade": [30, 10, 20]}


def test_not_a_number_is_missing_in_categories_too() -> None:
    data = table(stated(Variable("sex", kind="nominal")), sex=pa.array([1.0, float("nan"), 2.0]))
    assert data.codes(["sex"]).ravel().tolist() == [0, -1, 1]


def test_categories_as_text_of_numbers_and_numbers_of_text() -> None:
    as_text = table(stated(Variable("x", kind="ordinal", categories=("2", "1"))), x=[1, 2])
    assert as_text.codes(["x"]).ravel().tolist() == [1, 0]
    as_number = table(stated(Variable("x", kind="ordinal", categories=(2, 1))), x=["1", "2"])
    assert as_number.codes(["x"]).ravel().tolist() == [1, 0]


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        ([1, -9, 3], (-9,)),
        ([1.5, -9.0, 3.0], (-9,)),
        (["1", "refused", "3"], ("refused",)),
        (["1", "-9", "3"], (-9,)),
        ([1, 998, 999], (998, 999)),
    ],
)
def test_declared_codes_are_missing(column: list[Any], codes: tuple[Any, ...]) -> None:
    data = table(stated(Variable("x", missing=codes)), x=column)
    expected = [np.nan if value in codes or str(value) in map(str, codes) else float(value) for value in column]
    np.testing.assert_array_equal(data.numeric().ravel(), expected)


def test_declared_codes_leave_the_order_of_categories() -> None:
    levels = pd.Categorical(["low", "refused", "high"], categories=["low", "refused", "high"], ordered=True)
    schema = stated(Variable("x", kind="ordinal", missing=("refused",)))
    data = Microdata.from_frame(pd.DataFrame({"x": levels}), schema)
    assert data.schema["x"].categories == ("low", "high")
    assert data.codes().ravel().tolist() == [0, -1, 1]


def test_missing_as_a_category_of_its_own() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, 0, 2]), pa.array(["b", None, "a"]))
    data = table(x=column)
    assert data.schema["x"].categories == ("b", "a")
    assert data.codes().ravel().tolist() == [-1, 0, 1]


@pytest.mark.parametrize(
    ("schema", "columns", "message"),
    [
        (stated(Variable("y")), {"x": [1]}, "the schema names 'y', which the table does not have; it has x"),
        (stated(weight="w", id="k"), {"x": [1]}, "the schema names 'w', 'k', which"),
        (stated(Variable("x")), {"x": ["1", "many"]}, "variable 'x' is numeric, but row 2 holds the text 'many'; corr"),
        (stated(Variable("x")), {"x": ["1,5", "2,5"]}, r"row 1 holds the text '1,5' \(and 1 more .*decimal commas"),
        (stated(Variable("x")), {"x": ["1_000", "2"]}, "row 1 holds the text '1_000'"),
        (stated(Variable("x")), {"x": [2**60 + 1]}, "beyond 2\\^53, which lose digits as numbers; make it nominal"),
        (stated(Variable("x")), {"x": pa.array([1], pa.date32())}, "cannot be numeric: its values are of type date32"),
        (
            stated(Variable("x", kind="nominal", categories=("a", "b"))),
            {"x": ["a", "c"]},
            r"variable 'x': row 2 holds 'c', which is not among its categories \('a', 'b'\); add it",
        ),
        (
            stated(Variable("x", kind="ordinal")),
            {"x": ["low", "high"]},
            "is ordinal text, so its categories must be listed from lowest to highest; it holds 'low', 'high'",
        ),
        (stated(weight="w"), {"w": [1.0, -1.0]}, r"'w' is negative or missing in 1 record \(first in row 2\)"),
        (stated(weight="w"), {"w": [None, None, 2.0]}, r"'w' is negative or missing in 2 records \(first in row 1\)"),
        (stated(weight="w"), {"w": [0, 0]}, "'w' is zero in every record"),
        (stated(weight="w"), {"w": ["1", "x"]}, "the weight 'w' must be numeric; it is nominal"),
        (stated(id="k"), {"k": [1, 2, 2]}, r"must tell records apart; 1 of its values occur more than once, .* 2\. If"),
        (stated(id="k"), {"k": ["a", "b", "a"]}, r"for example a\. If the file has several"),
        (stated(id="k"), {"k": ["a", None, None]}, r"the id 'k' is missing in 2 records \(first in row 2\)"),
        (stated(id="k"), {"k": [None, 1.0]}, r"the id 'k' is missing in 1 record \(first in row 1\)"),
    ],
)
def test_tables_that_contradict_their_schema(schema: Schema, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        table(schema, **columns)


def test_weights() -> None:
    assert table(x=[1, 2]).weights().tolist() == [1.0, 1.0]
    data = table(stated(weight="w"), x=[1, 2], w=[0, 3])
    assert data.weights().tolist() == [0.0, 3.0]
    assert data.schema.analysed() == ("x",)


def test_replacing_columns_leaves_the_table_alone() -> None:
    data = table(x=[1, 2], y=[3, 4])
    other = data.replace({"x": np.array([9.0, 8.0])}, note="masked")
    assert data.numeric(["x"]).ravel().tolist() == [1, 2]
    assert other.numeric(["x"]).ravel().tolist() == [9, 8]
    assert other.notes == ("masked",)
    assert Microdata.from_frame(other, stated(Variable("y", kind="nominal"))).notes == ("masked",)
    for values in ({"z": np.zeros(2)}, {"x": np.zeros(3)}):
        with pytest.raises(DataError, match="to replace"):
            data.replace(values)


def test_fingerprints_tell_values_and_schemas_apart() -> None:
    data = table(x=[1, 2])
    assert data.fingerprint == table(x=[1.0, 2.0]).fingerprint
    assert data.fingerprint != table(x=[2, 1]).fingerprint
    assert data.fingerprint != table(y=[1, 2]).fingerprint


VARIABLE: Any = Variable  # so that what the types forbid can be tried


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: VARIABLE("x", kind="continuous"),
            "variable 'x': kind must be one of numeric, ordinal, nominal, date; got",
        ),
        (lambda: VARIABLE("x", role="secret"), "role must be one of key, confidential, other, identifier; got 'secre"),
        (lambda: VARIABLE(3), "name must be text"),
        (lambda: Variable("x", categories=(1,)), "is numeric, so it has no categories"),
        (lambda: Variable("x", kind="nominal", categories=("a", "a")), "lists a category twice"),
        (lambda: Variable("x", kind="nominal", categories=("a", 1)), "categories of different types"),
        (lambda: Schema((Variable("x"), Variable("x"))), "the schema names 'x' more than once"),
        (lambda: Schema((Variable("x"),))["y"], "there is no variable 'y'; there are x"),
        (lambda: Schema(household="b", weight="b"), "'b' is named as weight and as household of the records"),
        (lambda: Schema((Variable("a"),), household="a", id="a"), "a column can only be one of them"),
    ],
)
def test_schemas_that_contradict_themselves(make: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        make()


def test_schemas_of_parts() -> None:
    schema = Schema((Variable("a"), Variable("b"), Variable("w")), weight="w", id="b")
    assert schema.only(["w", "a"]) == Schema((Variable("a"), Variable("w")), weight="w")
    assert schema.replace(Variable("a", kind="nominal"))["a"].kind == "nominal"
    assert schema.analysed() == ("a",)
    assert ("a" in schema, "z" in schema, len(schema)) == (True, False, 3)


def test_a_number_that_became_classes_is_another_kind_and_a_slip_is_an_error() -> None:
    original = Microdata.from_frame(pa.table({"size": [1, 2, 3, 4, 5, 6] * 10}))
    classes = ["<2", "2", "3", "4", "5+", "5+"] * 10
    assert Microdata.beside(original, pa.table({"size": classes})).schema["size"].kind == "nominal"
    slip = ["1", "2", "3", "4", "5", "6"] * 9 + ["1", "2", "3", "4", "5", "six"]
    with pytest.raises(DataError, match="row 60 holds the text 'six'"):
        Microdata.beside(original, pa.table({"size": slip}))


def test_a_schema_looked_up_is_not_remembered_by_its_copies() -> None:
    schema = Schema((Variable("a"), Variable("b")))
    assert schema["a"].role == "other" and schema.names == ("a", "b")
    changed = replace(schema, variables=(Variable("a", role="key"), Variable("c")))
    assert changed["a"].role == "key" and "c" in changed and "b" not in changed
    assert pickle.loads(pickle.dumps(schema)) == schema and hash(schema) == hash(Schema((Variable("a"), Variable("b"))))
