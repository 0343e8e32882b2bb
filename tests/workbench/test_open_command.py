"""``sfumato open``: what it begins with, what it refuses, and what it says where the extra is not installed."""

import sys
from pathlib import Path

import pytest
from pages import write_demo
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.errors import FileError
from sfumato.workbench.begin import begin
from sfumato.workbench.desk import Desk


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["open", "--no-browser"])
    assert done.exit_code == 2
    assert "pip install 'sfumato[workbench]'" in done.output
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_there_is_refused_before_a_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["open", "none.csv", "--no-browser"])
    assert done.exit_code == 2
    assert "there is no file none.csv" in done.output
    assert not list(tmp_path.iterdir())


def test_a_project_keeps_its_file(tmp_path: Path) -> None:
    file = write_demo(tmp_path, 10)
    begin(tmp_path / "project", file, None)
    first = Desk(tmp_path / "project").now()
    assert first.draft.source == str(file.resolve())
    begin(tmp_path / "project", file, None)  # again: nothing is begun anew
    assert Desk(tmp_path / "project").now().revision == first.revision
    other = tmp_path / "other.csv"
    other.write_text("x\n1\n")
    with pytest.raises(FileError, match=r"is about survey\.csv; give another folder"):
        begin(tmp_path / "project", other, None)


def test_it_begins_with_a_schema_that_is_named_or_there(tmp_path: Path) -> None:
    file = write_demo(tmp_path, 10)
    schema = tmp_path / "mine.toml"
    schema.write_text('weight = "weight"\n')
    begin(tmp_path / "one", file, schema)
    assert Desk(tmp_path / "one").now().draft.schema == 'weight = "weight"\n'
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "schema.toml").write_text('id = "person"\n')
    begin(tmp_path / "two", file, None)
    assert Desk(tmp_path / "two").now().draft.schema == 'id = "person"\n'
    with pytest.raises(FileError, match="goes with a file"):
        begin(tmp_path / "three", None, schema)
    with pytest.raises(FileError, match="cannot read"):
        begin(tmp_path / "four", file, tmp_path / "none.toml")
