"""What a file holds is shown on a terminal as text: no escape is obeyed, no markup is read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sfumato.cli import app

MARKUP = "[bold red]loud[/bold red]"
HOSTILE = "x\x1b[31m[bold red]loud[/bold red]\u202e"


def run(*words: object) -> Any:
    """Call the command line as on a terminal, which is handed everything."""
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False, color=True)


def write_hostile(folder: Path) -> Path:
    """Write a survey whose names and categories would colour, ring and turn a terminal."""
    path = folder / "survey.csv"
    lines = [f"{HOSTILE},income,region"]
    lines += [f"{i % 9},{100 + i * 7 % 53}.5,{HOSTILE if i % 3 else 'south'}{i % 2}" for i in range(60)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def commands(survey: Path, folder: Path) -> list[Sequence[object]]:
    schema = folder / "schema.toml"
    quick = ("--method", "MDAV(k=[3, 5])", "--risk", "DistanceLinkage", "--utility", "InformationLoss")
    return [
        ("inspect", survey, "--out", schema, "--force"),
        ("inspect", survey, "--risk", "--out", schema, "--force"),
        (
            "protect",
            survey,
            "--on-undeclared",
            "accept",
            "--method",
            "Noise(0.1)",
            "--out",
            folder / "p.csv",
            "--despite-audit",
        ),
        ("compare", survey, folder / "p.csv", "--measure", "InformationLoss", "--measure", "DistanceLinkage"),
        ("audit", survey, folder / "p.csv"),
        ("sweep", survey, *quick, "--out", folder / "sweep", "--workers", 1),
        ("protect", survey, "--method", f"Noise(variables=('{MARKUP}\x1b[31m',))"),
        ("protect", survey, "--method", "\x1b[31mNoise"),
        ("compare", survey, survey, "--measure", "Suppressed(\x1b[31m)"),
        ("inspect", folder / "no\x1b[31m[bold]where.csv"),
        ("hierarchy", survey, "region\x1b[31m", "--bands", 5),
        ("inspect", survey, HOSTILE),
        (HOSTILE,),
        ("inspect", survey, f"--{HOSTILE}"),
        ("protect", survey, "--seed", HOSTILE),
    ]


@pytest.mark.parametrize("number", range(15))
def test_no_command_hands_an_escape_of_a_file_to_the_terminal(number: int, tmp_path: Path) -> None:
    survey = write_hostile(tmp_path)
    words = commands(survey, tmp_path)
    if words[number][0] in ("compare", "audit") and (tmp_path / "p.csv") in words[number]:
        run(*words[2])
    done = run(*words[number])
    said = done.stdout + done.stderr
    assert said
    for escape in ("\x1b", "\x9b", "\x07", "\u202e"):
        assert escape not in said
    assert "Traceback" not in said


def test_markup_is_shown_as_it_stands(tmp_path: Path) -> None:
    survey = write_hostile(tmp_path)
    done = run("inspect", survey, "--out", tmp_path / "s.toml")
    assert "[bold" in done.stdout.replace("\n", "")
