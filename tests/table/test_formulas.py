"""Cells that a spreadsheet would compute are written as they are, and pointed out."""

import csv
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from sfumato import Microdata, read, write
from sfumato.cli import app
from sfumato.table.formats.delimited import formulas

COMPUTED = ["=1+1", "=cmd|' /C calc'!A0", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\rx", " =1", "\uff1d1+1", "-1e", "+x 5"]
HARMLESS = ["", "a=b", "-5", "+3.5", "-1.234,5", "-1e-5", "+43 1 234567", "-", "--", "+", "=", "a-b", "-5 %", "@"]


@pytest.mark.parametrize("text", COMPUTED)
def test_what_a_spreadsheet_computes_is_counted(text: str) -> None:
    (told,) = formulas(pa.table({"note": [text, "plain", text, None]}))
    assert "'note' (2)" in told
    (told,) = formulas(pa.table({"note": pa.array([text, "plain", text, None]).dictionary_encode()}))
    assert "'note' (2)" in told


@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_and_signs_alone_are_no_formulas(text: str) -> None:
    assert formulas(pa.table({"note": [text, None], "pay": [-1.5, -2.0]})) == ()


def test_a_category_that_no_record_has_is_not_counted() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, 1, None]), pa.array(["=1", "b"]))
    assert formulas(pa.table({"note": column})) == ()


def test_a_name_counts_as_a_cell() -> None:
    (told,) = formulas(pa.table({"=now()": ["a"], "pay": [1]}))
    assert "'=now()' (1)" in told and "pay" not in told


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
def test_the_values_of_a_text_file_stay_as_they_are(tmp_path: Path, name: str) -> None:
    told = write(pa.table({"note": ["=1+1", "fine"], "pay": [-1.0, -2.0]}), tmp_path / name)
    assert len(told) == 1 and "'note' (1)" in told[0] and "import it with its columns as text" in told[0]
    assert read(tmp_path / name).to_arrow()["note"].to_pylist() == ["=1+1", "fine"]


@pytest.mark.parametrize("name", ["t.parquet", "t.xlsx", "t.sav"])
def test_of_files_that_are_no_text_nothing_is_said(tmp_path: Path, name: str) -> None:
    assert write(pa.table({"note": ["=1+1", "fine"]}), tmp_path / name) == ()


def survey(folder: Path) -> Path:
    path = folder / "survey.csv"
    with path.open("w", encoding="utf-8", newline="") as out:
        towns = ["=HYPERLINK(A1)", "north", "+south"]
        lines = ((towns[place % 3], 100 + place * place, -place) for place in range(60))
        csv.writer(out).writerows([("town", "pay", "debt"), *lines])
    return path


def test_protect_sweep_and_compare_point_them_out(tmp_path: Path) -> None:
    path = survey(tmp_path)
    protected = tmp_path / "out.csv"
    words = [
        "protect",
        path,
        "--on-undeclared",
        "accept",
        "--method",
        "Noise(0.1)",
        "--out",
        protected,
        "--despite-audit",
    ]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    said = " ".join(done.stderr.split())
    assert "which may run what they say: 'town' (40); where it is opened so" in said
    assert "debt" not in said.partition("may run")[2].partition("import it")[0]
    assert protected.read_text(encoding="utf-8").count("=HYPERLINK(A1)") == 20
    done = CliRunner().invoke(app, ["compare", str(path), str(protected), "--measure", "InformationLoss"])
    assert done.exit_code == 0, done.output
    assert "out.csv: cells begin with a sign such as = + - @" in " ".join(done.stderr.split())
    words = [
        "sweep", path, "--on-undeclared", "accept", "--out", tmp_path / "swept", "--method", "Noise(0.1)",
        "--measure", "InformationLoss", "--measure", "DistanceLinkage", "--risk", "DistanceLinkage",
        "--utility", "InformationLoss", "--at-most", "DistanceLinkage=100%", "--no-bootstrap", "--despite-audit",
        "--workers", "1",
    ]  # fmt: skip
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert "which may run what they say: 'town' (40)" in " ".join(done.stderr.split())


def test_nothing_is_said_of_a_table_without_them(tmp_path: Path) -> None:
    table = Microdata.from_frame(pa.table({"town": ["north", "south"], "debt": [-1.0, -2.0]}))
    assert write(table, tmp_path / "t.csv") == ()
