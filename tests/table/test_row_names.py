"""Files as R and pandas write them: the first column has no name, and holds the names of the rows."""

from pathlib import Path

import pandas as pd
import pytest

import sfumato
from sfumato import DataError, Microdata, scan
from small_survey import run

NAMED = pd.DataFrame({"age": [34, 27, 61, 45], "sex": ["f", "m", "f", "f"]}, index=["an", "bo", "cy", "di"])


def roles(data: Microdata) -> list[tuple[str, str]]:
    return [(variable.name, variable.role) for variable in data.schema]


@pytest.mark.parametrize(("name", "mark"), [("t.csv", ","), ("t.csv.gz", ";"), ("t.tsv", "\t"), ("t.txt", ";")])
def test_row_names_of_pandas_are_an_identifier(name: str, mark: str, tmp_path: Path) -> None:
    NAMED.to_csv(tmp_path / name, sep=mark)
    for data in (sfumato.read(tmp_path / name), scan(tmp_path / name).parts[0]):
        assert roles(data) == [("row", "identifier"), ("age", "other"), ("sex", "other")]
        assert data.to_arrow()["row"].to_pylist() == ["an", "bo", "cy", "di"]
        assert len(data.notes) == 1 and "the first column has no name" in data.notes[0]


def test_row_names_as_r_writes_them(tmp_path: Path) -> None:
    # write.csv(data.frame(age = c(34, NA)), "t.csv")
    (tmp_path / "t.csv").write_text('"","age","sex"\n"1",34,"f"\n"2",NA,"m"\n')
    data = sfumato.read(tmp_path / "t.csv")
    assert roles(data) == [("row", "identifier"), ("age", "other"), ("sex", "other")]
    assert data.columns["row"].tolist() == [1, 2]


def test_row_names_of_a_sheet(tmp_path: Path) -> None:
    NAMED.to_excel(tmp_path / "t.xlsx")
    assert roles(sfumato.read(tmp_path / "t.xlsx"))[0] == ("row", "identifier")


def test_a_name_that_is_taken_is_not_given_again(tmp_path: Path) -> None:
    NAMED.assign(row=1).to_csv(tmp_path / "t.csv")
    assert sfumato.read(tmp_path / "t.csv").names == ("row_name", "age", "sex", "row")
    NAMED.assign(row=1, row_name=2, row_2=3).to_csv(tmp_path / "t.csv")
    assert sfumato.read(tmp_path / "t.csv").names[0] == "row_3"
    (tmp_path / "t.csv").write_text(",age,\n1,2,3\n")
    with pytest.raises(DataError, match="column 3 has no name"):
        sfumato.read(tmp_path / "t.csv")


def test_a_schema_may_say_that_they_are_something_else(tmp_path: Path) -> None:
    NAMED.to_csv(tmp_path / "t.csv")
    (tmp_path / "s.toml").write_text('[variables.row]\nkind = "nominal"\nrole = "key"\n')
    for data in (sfumato.read(tmp_path / "t.csv", tmp_path / "s.toml"), scan(tmp_path / "t.csv", tmp_path / "s.toml")):
        assert data.schema["row"].role == "key"
    (tmp_path / "s.toml").write_text('[variables.age]\nrole = "key"\n')  # does not mention them
    assert roles(sfumato.read(tmp_path / "t.csv", tmp_path / "s.toml"))[:2] == [("row", "identifier"), ("age", "key")]


def test_from_inspect_over_a_sweep_to_a_release_without_them(tmp_path: Path) -> None:
    people = pd.DataFrame(
        {"age": [20 + i % 40 for i in range(60)], "sex": ["fm"[i % 2] for i in range(60)], "income": range(100, 160)},
        index=[f"person {i}" for i in range(60)],
    )
    people.to_csv(tmp_path / "t.csv")
    looked = run("inspect", tmp_path / "t.csv", "--out", tmp_path / "s.toml")
    assert looked.exit_code == 0 and "the first column has no name" in looked.stderr
    text = (tmp_path / "s.toml").read_text()
    assert "[variables.row]" in text and 'role = "identifier"' in text
    accepted = ("--on-undeclared", "accept")  # the proposed roles are not what is looked at here
    words = [*accepted, "--method", "MDAV(3)", "--at-most", "InformationLoss=100", "--schema", tmp_path / "s.toml"]
    swept = run("sweep", tmp_path / "t.csv", *words, "--out", tmp_path / "o", "--workers", 1)
    assert swept.exit_code == 0, swept.output
    assert "the first column has no name" in swept.stderr
    assert sfumato.read(tmp_path / "o" / "release" / "t.protected.csv").names == ("age", "sex", "income")
    made = run("protect", tmp_path / "t.csv", *accepted, "--method", "MDAV(3)", "--out", tmp_path / "p.csv")
    assert made.exit_code == 0, made.output
    assert sfumato.read(tmp_path / "p.csv").names == ("age", "sex", "income")
