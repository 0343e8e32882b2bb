"""Who may read what a command writes: internal files their owner alone, what goes out everybody."""

import os
import stat
from pathlib import Path

import pytest

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
    finally:
        os.umask(before)


def test_the_note_of_protect_with_its_seed_is_for_the_owner(survey: Path, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        out = tmp_path / "protected.csv"
        assert run("protect", survey, "--method", "Noise(0.1)", "--out", out, "--as-is").exit_code == 0
        assert readable_by_others(tmp_path) & {"protected.csv.provenance.json", "protected.csv.schema.toml"} == set()
        assert "protected.csv" in readable_by_others(tmp_path)
    finally:
        os.umask(before)


def test_a_file_that_was_readable_becomes_private(survey: Path, tmp_path: Path) -> None:
    out = tmp_path / "protected.csv"
    note = tmp_path / "protected.csv.provenance.json"
    note.write_text("{}")
    note.chmod(0o644)
    assert run("protect", survey, "--method", "Noise(0.1)", "--out", out, "--as-is").exit_code == 0
    assert stat.S_IMODE(note.stat().st_mode) == 0o600


def test_a_seed_that_can_be_guessed_is_pointed_out_and_a_drawn_one_is_not(survey: Path, tmp_path: Path) -> None:
    for words, warned in ((["--seed", 3], True), (["--seed", 2**50], False), ([], False)):
        out = tmp_path / f"{len(words)}{warned}.csv"
        done = run("protect", survey, "--method", "Noise(0.1)", "--out", out, "--as-is", *words)
        assert done.exit_code == 0 and ("can be guessed" in done.stderr) == warned
