"""Who may read what a command writes: internal files their owner alone, what goes out everybody."""

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from sfumato.compare.store import Scope, Store
from sfumato.project.tables import internal_folder, order_of
from small_survey import run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX systems")
RELEASED = {"survey.protected.csv", "about.html", "about.md", "about.json"}


def readable_by_others(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077}


def test_of_a_sweep_only_the_release_can_be_read_by_others(survey: Path, schema: Path, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        out = tmp_path / "out"
        done = run(
            "sweep", survey, "--schema", schema, "--method", "MDAV(k=[3, 10])", "--risk", "DistanceLinkage",
            "--utility", "InformationLoss", "--at-most", "DistanceLinkage=99%", "--out", out, "--despite-audit",
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        assert readable_by_others(out) == RELEASED
        assert {path.name for path in (out / "release").iterdir()} == RELEASED
        modes = {name: stat.S_IMODE((out / name).stat().st_mode) for name in (".", "plots", "release")}
        assert modes == {".": 0o755, "plots": 0o700, "release": 0o755}  # names of pictures are those of variables
    finally:
        os.umask(before)


def test_the_note_of_protect_with_its_seed_is_apart_and_for_the_owner(survey: Path, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = tmp_path / "made"
        folder.mkdir()
        out = folder / "protected.csv"
        assert run("protect", survey, "--method", "Noise(0.1)", "--out", out, "--as-is").exit_code == 0
        assert {path.name for path in folder.iterdir()} == {"protected.csv", "protected.csv.internal"}
        inside = internal_folder(out)
        assert {path.name for path in inside.iterdir()} == {
            "protected.csv.provenance.json",
            "protected.csv.schema.toml",
        }
        assert readable_by_others(folder) == {"protected.csv"}
        assert stat.S_IMODE(inside.stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_the_table_of_tune_with_ids_in_order_is_for_the_owner(survey: Path, schema: Path, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = tmp_path / "made"
        folder.mkdir()
        for name in ("tuned.csv", "tuned.parquet", "tuned.sav"):
            asked = ["tune", survey, "--schema", schema, "--method", "MDAV", "--between", 3, 5, "--budget", 10]
            done = run(*asked, "--at-most", "DistanceLinkage=99%", "--out", folder / name)
            assert done.exit_code == 0, done.output
            assert "for you alone" in done.stderr
        assert {path.name for path in folder.iterdir() if path.is_file()} == {"tuned.csv", "tuned.parquet", "tuned.sav"}
        assert readable_by_others(folder) == set()
    finally:
        os.umask(before)


def test_what_an_earlier_version_wrote_beside_the_table_goes_with_it(survey: Path, tmp_path: Path) -> None:
    out = tmp_path / "protected.csv"
    note, schema = tmp_path / "protected.csv.provenance.json", tmp_path / "protected.csv.schema.toml"
    words = ["protect", survey, "--method", "Noise(0.1)", "--out", out, "--as-is", "--force"]
    note.write_text('{"keep_internal": "whoever knows the seed", "seed": 3}')
    schema.write_text("")
    assert run(*words).exit_code == 0
    assert not note.exists() and not schema.exists()
    note.write_text('{"of": "somebody else"}')  # not ours: left alone
    assert run(*words).exit_code == 0
    assert note.exists()


@pytest.mark.parametrize("place", ["internal", "beside", "sweep"])
def test_a_note_is_found_where_it_is_and_where_it_was(survey: Path, tmp_path: Path, place: str) -> None:
    out = tmp_path / "release" / "protected.csv"
    out.parent.mkdir()
    assert run("protect", survey, "--on-undeclared", "accept", "--method", "Noise(0.1)", "--out", out).exit_code == 0
    inside = internal_folder(out)
    if place != "internal":
        for path in inside.iterdir():
            path.rename((out.parent if place == "beside" else tmp_path) / path.name)
        inside.rmdir()
    told: list[str] = []
    order = order_of(out, 120, told.append)
    assert order is not None and sorted(order) == list(range(120))
    found = run("compare", survey, out, "--measure", "InformationLoss")
    assert found.exit_code == 0 and "which was written with it" in found.stderr
    assert "tells which record is which" in found.stderr and "row by row" not in found.stdout
    assert "in random order" in run("audit", survey, out).stderr


def test_a_folder_that_cannot_be_made_is_told(survey: Path, tmp_path: Path) -> None:
    out = tmp_path / "protected.csv"
    internal_folder(out).write_text("a file")
    done = run("protect", survey, "--method", "Noise(0.1)", "--out", out, "--as-is")
    assert done.exit_code == 2 and "protected.csv.internal" in done.stderr


def test_a_seed_that_can_be_guessed_is_pointed_out_and_a_drawn_one_is_not(survey: Path, tmp_path: Path) -> None:
    for words, warned in ((["--seed", 3], True), (["--seed", 2**50], False), ([], False)):
        out = tmp_path / f"{len(words)}{warned}.csv"
        done = run("protect", survey, "--method", "Noise(0.1)", "--out", out, "--as-is", *words)
        assert done.exit_code == 0 and ("can be guessed" in done.stderr) == warned


def test_a_store_is_its_owners_alone_before_anything_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    rights = []

    def seen(path: Any, **how: Any) -> sqlite3.Connection:
        rights.append(Path(path).stat().st_mode & 0o777)
        made: sqlite3.Connection = connect(path, **how)
        return made

    monkeypatch.setattr(sqlite3, "connect", seen)
    Store(Scope(tmp_path / "run.db", "data", 1)).close()
    assert rights == [0o600]
