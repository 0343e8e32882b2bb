"""Files of other kinds on the command line: compressed text, workbooks, files of R."""

import gzip
import json
from pathlib import Path

import pytest

import sfumato
from sfumato.project.tables import provenance_path
from small_survey import run, write_survey


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    return write_survey(tmp_path)


def test_compressed_in_compressed_out(survey: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(survey.read_bytes()))
    assert (
        run(
            "protect", packed, "--on-undeclared", "accept", "--method", "MDAV(k=3)", "--keep-order", "--despite-audit"
        ).exit_code
        == 0
    )
    assert (
        run(
            "protect", survey, "--on-undeclared", "accept", "--method", "MDAV(k=3)", "--keep-order", "--despite-audit"
        ).exit_code
        == 0
    )
    after = gzip.decompress((tmp_path / "packed.protected.csv.gz").read_bytes())
    assert after == survey.with_name("survey.protected.csv").read_bytes()
    assert run("compare", packed, tmp_path / "packed.protected.csv.gz", "--measure", "InformationLoss").exit_code == 0


def test_a_sheet_in_a_workbook_out(survey: Path, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for name in ("persons", "notes"):
        sheet = book.create_sheet(name)
        table = sfumato.read(survey).to_arrow()
        for row in ([*table.column_names], *(list(record.values()) for record in table.to_pylist())):
            sheet.append(row)
    book.save(tmp_path / "book.xlsx")
    refused = run("inspect", tmp_path / "book.xlsx")
    assert refused.exit_code == 2 and "several sheets: persons, notes" in refused.output
    named = f"{tmp_path / 'book.xlsx'}#persons"
    assert run("inspect", named, "--out", tmp_path / "book.toml").exit_code == 0
    done = run("protect", named, "--method", "RankSwapping(p=0.1)", "--seed", 1, "--as-is")
    assert done.exit_code == 0, done.output
    written = tmp_path / "book.protected.xlsx"
    assert len(sfumato.read(written)) == table.num_rows
    told = json.loads(provenance_path(written).read_text())
    assert told["made_from"]["file"] == "book.xlsx#persons"
    assert run("protect", survey, "--method", "RankSwapping(p=0.1)", "--seed", 1, "--as-is").exit_code == 0
    plain = sfumato.read(survey.with_name("survey.protected.csv")).to_arrow()
    assert sfumato.read(written).to_arrow().to_pydict() == plain.to_pydict()


def test_a_file_of_r_goes_out_as_text(survey: Path, tmp_path: Path) -> None:
    rdata = pytest.importorskip("rdata")
    frame = sfumato.read(survey).to_frame("pandas")
    frame = frame.astype({name: object for name in frame.columns if frame[name].dtype.kind not in "if"})
    rdata.write_rds(tmp_path / "survey.rds", frame)
    done = run(
        "protect",
        tmp_path / "survey.rds",
        "--on-undeclared",
        "accept",
        "--method",
        "MDAV(k=3)",
        "--keep-order",
        "--force",
        "--despite-audit",
    )
    assert done.exit_code == 0, done.output
    assert len(sfumato.read(tmp_path / "survey.protected.csv")) == len(frame)
    refused = run(
        "protect",
        tmp_path / "survey.rds",
        "--on-undeclared",
        "accept",
        "--method",
        "MDAV(k=3)",
        "--out",
        tmp_path / "out.rds",
    )
    assert refused.exit_code == 2 and "R files are only read; write .csv or .parquet" in refused.output


def test_the_table_of_a_choice_is_what_the_command_writes_before_repairs(survey: Path, tmp_path: Path) -> None:
    data = sfumato.read(survey)
    methods = [sfumato.RankSwapping(0.1), sfumato.Noise(0.3)]
    measures = [sfumato.DistanceLinkage(), sfumato.InformationLoss()]
    choice = sfumato.Experiment(data, methods, measures, seed=7).run().choose(
        utility="InformationLoss", at_most={"DistanceLinkage": 1.0}
    )  # fmt: skip
    assert choice.chosen is not None
    sfumato.write(choice.protect(), tmp_path / "chosen.csv")
    assert run("protect", survey, "--method", choice.chosen, "--seed", 7, "--as-is").exit_code == 0
    assert (tmp_path / "chosen.csv").read_bytes() == survey.with_name("survey.protected.csv").read_bytes()
