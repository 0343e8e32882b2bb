"""A sweep mixes itself into no folder that holds something else, least of all the table that it reads."""

from pathlib import Path

import pytest

import sfumato
from register import write_register
from sfumato.errors import FileError
from sfumato.project.folder import refuse_place
from small_survey import run, write_survey

BOUND = ("--at-most", "KAnonymity(2)=100%", "--method", "Rounding(10)", "--workers", 1, "--no-bootstrap")


def contents(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("named", ["folder", "pattern"])
def test_the_folder_of_the_parts_that_are_read_is_refused(tmp_path: Path, named: str) -> None:
    register, schema, _ = write_register(tmp_path)
    before = contents(register)
    file = register if named == "folder" else f"{register}/*.parquet"
    done = run("sweep", file, "--schema", schema, *BOUND, "--out", register)
    assert done.exit_code == 2 and "holds the table that is read" in done.output and "--out" in done.output
    assert contents(register) == before
    around = run("sweep", file, "--schema", schema, *BOUND, "--out", tmp_path)
    assert around.exit_code == 2 and "holds the table that is read" in around.output


def test_the_current_folder_is_refused_if_the_file_lies_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_survey(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    done = run("sweep", next(iter(before)), *BOUND, "--out", ".")
    assert done.exit_code == 2 and ". holds the table that is read" in done.output
    assert contents(tmp_path) == before
    with pytest.raises(FileError, match="no sweep's folder"):
        sfumato.sweep(next(iter(before)), at_most={"KAnonymity(2)": 1}, methods=["Rounding(10)"], out=".")


def test_a_folder_with_other_files_is_refused_and_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "draft.txt").write_text("mine")
    with pytest.raises(FileError, match=r"papers holds other files and is no sweep's folder; choose an empty or a new"):
        refuse_place(tmp_path / "papers", tmp_path / "survey.csv")
    with pytest.raises(FileError, match=r"draft.txt is a file; a sweep writes a folder: name one with --out"):
        refuse_place(tmp_path / "papers" / "draft.txt", tmp_path / "survey.csv")


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("seed", "lock", "summaries.sqlite", "summaries.sqlite-wal", "aside"),
        ("schema.toml", ".DS_Store"),
        ("journal.sqlite", "survey.csv", "schema.toml"),
        ("plan.json", "results.sqlite", "report.html", "notes.txt"),
    ],
)
def test_an_empty_folder_an_earlier_sweep_and_the_workbench_go_on(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (tmp_path / name).touch()
    refuse_place(tmp_path, tmp_path / "survey.csv")
    refuse_place(tmp_path / "new", tmp_path / "survey.csv")


def test_a_table_in_parts_is_not_written_under_the_name_of_a_file(tmp_path: Path) -> None:
    register, schema, _ = write_register(tmp_path)
    for name in ("x.csv", "x.csv.gz", "x.parquet"):
        done = run("protect", register, "--schema", schema, "--method", "Rounding(10)", "--out", tmp_path / name)
        assert done.exit_code == 2 and "written as a folder of Parquet files" in done.output, done.output
        assert not (tmp_path / name).exists()
        words = ("--method", "Rounding", "--at-most", "KAnonymity(2)=5%", "--out", tmp_path / name)
        tuned = run("tune", register, "--schema", schema, *words)
        assert tuned.exit_code == 2 and "written as a folder of Parquet files" in tuned.output, tuned.output
