"""Proposed roles: from names of columns in ten languages, from survey codes, from content; and who confirmed them."""

from pathlib import Path

import pyarrow as pa
import pytest

from sfumato.errors import SchemaError
from sfumato.table.microdata import Microdata
from sfumato.table.roles import proposed_roles, undeclared, with_proposed_roles
from sfumato.table.schema import Role, Schema, Variable
from sfumato.table.schema_file import read_schema, schema_text

NAMES = {
    "key": "sex Geschlecht sexe sexo sesso geslacht płeć cinsiyet kön Alter edad età idade leeftijd wiek yaş ålder "
    "birth_year Geburtsjahr naissance urodzenia doğum Bundesland région provincia województwo bölge Gemeinde commune "
    "municipio comune gemeente gmina belediye kommun zip PLZ Beruf profesión professione zawód meslek yrke ISCO-08 "
    "Staatsangehörigkeit nationalité cittadinanza obywatelstwo uyruk medborgarskap Bildung études wykształcenie eğitim "
    "utbildning Familienstand estado_civil medeni_durum civilstånd RB090 PB190 gndr agea AGEP native-country",
    "confidential": "income Einkommen revenu ingresos reddito rendimento inkomen dochód gelir inkomst HY020 wages "
    "Gehalt salaire stipendio wynagrodzenie maaş religion wyznanie rlgdnm Diagnose maladie choroba hastalık wealth tax",
    "other": "q17 tenure x1 average imagery weightless statement hours",
}


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in NAMES.items() for name in names.split()])
def test_names_in_the_languages_of_surveys_tell_a_role(role: str, name: str) -> None:
    found = proposed_roles(Microdata.from_frame(pa.table({name: [1, 2, 3] * 10})))
    assert [(one.name, one.role) for one in found] == [(name, role)]


def test_labels_values_and_content_tell_a_role_where_the_name_does_not() -> None:
    table = pa.table(
        {
            "v1": ["male", "female"] * 20,
            "v2": [100.5 * (i % 10) for i in range(40)],
            "v3": [f"p{i}@example.org" for i in range(40)],
            "v4": [f"row {i}" for i in range(40)],
        }
    )
    labelled = Schema((Variable("v2", label="Net monthly income", declared=False),))
    found = {one.name: one for one in proposed_roles(Microdata.from_frame(table, labelled))}
    assert {name: one.role for name, one in found.items()} == {
        "v1": "key",
        "v2": "confidential",
        "v3": "identifier",
        "v4": "identifier",
    }
    assert found["v2"].why == "its label says income, wealth or debt" and "e-mail" in found["v3"].why


def test_a_count_of_the_records_is_an_identifier_unless_its_name_says_what_it_is() -> None:
    table = pa.table({name: list(range(40)) for name in ("year", "income", "income_id", "age")})
    found = {one.name: one.role for one in proposed_roles(Microdata.from_frame(table))}
    assert found == {"year": "identifier", "income": "confidential", "income_id": "identifier", "age": "key"}


def test_a_proposal_stays_one_from_file_to_file_until_it_is_deleted(tmp_path: Path) -> None:
    data = Microdata.from_frame(
        pa.table({"age": [30, 40] * 10, "pay": [1.5, 2.5] * 10, "x": [1, 2] * 10, "w": [2.0] * 20})
    )
    proposed = with_proposed_roles(data, proposed_roles(data))
    text = schema_text(proposed, whys={"age": "its name says age"})
    assert 'key = ["age"]\nconfidential = ["pay"]\nother = ["x", "w"]' in text
    assert 'role = "key"    # proposed: its name says age' in text
    file = tmp_path / "schema.toml"
    file.write_text(text)
    read = read_schema(file)
    assert [(v.role, v.declared) for v in read] == [
        ("key", False),
        ("confidential", False),
        ("other", False),
        ("other", False),
    ]
    assert schema_text(read) == schema_text(proposed.schema)
    # one line confirms a group, one name a variable, the whole table all of them
    file.write_text(text.replace('other = ["x", "w"]\n', "").replace('["age"]', "[]"))
    assert [v.name for v in read_schema(file) if not v.declared] == ["pay"]
    head, _, rest = text.partition("[proposed]")
    file.write_text(head + rest[rest.index("[variables") :])
    assert all(v.declared for v in read_schema(file))
    assert "[proposed]" not in schema_text(read_schema(file))


def test_a_schema_of_before_and_one_made_by_hand_declare_what_they_list(tmp_path: Path) -> None:
    data = pa.table({"age": [30, 40] * 10, "x": [1, 2] * 10, "w": [1.0, 2.0] * 10})
    (tmp_path / "schema.toml").write_text('weight = "w"\n[variables.age]\nrole = "key"\n')
    for schema in (tmp_path / "schema.toml", Schema((Variable("age", role="key"),), weight="w")):
        assert undeclared(Microdata.from_frame(data, schema)).names == ("x",)  # the weight is declared as such


def test_a_role_below_holds_whichever_list_the_name_stands_in(tmp_path: Path) -> None:
    file = tmp_path / "schema.toml"
    file.write_text('[proposed]\nother = ["x"]\n[variables.x]\nrole = "key"\n')
    assert [(v.role, v.declared) for v in read_schema(file)] == [("key", False)]


@pytest.mark.parametrize(
    ("proposed", "told"),
    [
        ('[proposed]\nkeys = ["x"]', "did you mean 'key'"),
        ('[proposed]\nkey = ["y"]', "names 'y', which is not among the variables"),
        ('[proposed]\nkey = "x"', "must be a list of names"),
        ("proposed = 3", r"a table of lists: \[proposed\]"),
    ],
)
def test_a_wrong_list_of_proposals_is_refused_with_the_cure(tmp_path: Path, proposed: str, told: str) -> None:
    file = tmp_path / "schema.toml"
    file.write_text(f'{proposed}\n[variables.x]\nrole = "key"\n')
    with pytest.raises(SchemaError, match=told):
        read_schema(file)


def test_what_looks_as_if_it_named_a_person_needs_a_word(tmp_path: Path) -> None:
    table = pa.table({"mail": [f"p{i}@example.org" for i in range(40)], "age": [30, 40] * 20})

    def silent(variable: Variable) -> tuple[str, ...]:
        return undeclared(Microdata.from_frame(table, Schema((variable, Variable("age", role="key"))))).names

    assert silent(Variable("mail", "nominal")) == ("mail",)
    assert silent(Variable("mail", "nominal", reason="addresses of offices")) == ()
    assert silent(Variable("mail", "nominal", "key")) == ("mail",)  # nobody is looked for by a key that names him
    assert silent(Variable("mail", "nominal", "confidential")) == ("mail",)
    assert silent(Variable("mail", "nominal", "key", reason="addresses of offices")) == ()
    assert silent(Variable("mail", "nominal", "identifier")) == ()
    assert silent(Variable("mail", "nominal", "identifier", declared=False)) == ()  # it does not go out
    file = tmp_path / "schema.toml"
    file.write_text(schema_text(Schema((Variable("mail", "nominal", reason='of "offices"'),))))
    assert read_schema(file)["mail"].reason == 'of "offices"'


def test_a_street_may_be_a_key_and_a_remark_an_answer_without_a_reason() -> None:
    streets = [f"{number} Long Street" for number in range(1, 31)]
    table = pa.table({"address": streets, "age": list(range(30))})

    def silent(role: Role) -> tuple[str, ...]:
        schema = Schema((Variable("address", "nominal", role), Variable("age", role="key")))
        return undeclared(Microdata.from_frame(table, schema)).names

    assert silent("other") == ("address",)
    assert silent("key") == silent("confidential") == ()
