"""Odd command lines: a sentence and an exit code, never a traceback, never an escape of the terminal."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from adversary.attack import CALLS, Finding, Kind, Rng, one_of, several
from sfumato.cli import app
from small_survey import write_schema, write_survey

BATCH = 8
HOSTILE = "x\x1b[31m[bold red]loud[/bold red]\u202e"
WORDS = [
    "survey.csv", "survey.toml", "nowhere.csv", ".", "..", "", " ", "-", "--", "\x1b[31m", "no\0where", "ü.csv", "#",
    "survey.csv#x", "0", "-1", "1e400", "nan", "inf", "9" * 400, "50%", "InformationLoss", "DistanceLinkage=50%",
    "DistanceLinkage=nan", "=", "==1", "InformationLoss=", "MDAV(k=3)", "MDAV(k=0)", "MDAV(", "MDAV(k=[3, 5])", "MDAV",
    "Noise(0.1)", "Noise(scale='x')", "Noise(**{})", "__import__('os')", "(" * 300, "Noise+Noise", "region", "income",
    "income ~ tax", "north", "utf-16", "cp1252", "hex", ";", ",", "\t", "§", "1,2,3", "a=b", "[bold]", HOSTILE,
    "/dev/null", "/proc/self/mem", "x" * 5000, "--help", "--version",
]  # fmt: skip
COMMANDS = ["inspect", "hierarchy", "protect", "compare", "audit", "tune", "sweep", "look", "sign", "methods",
            "measures", "study", "no-such-command", "--help"]  # fmt: skip
OPTIONS = [
    "--method", "--measure", "--out", "--schema", "--risk", "--utility", "--at-most", "--at-least", "--seed",
    "--workers", "--replicates", "--delimiter", "--decimal", "--encoding", "--force", "--json", "--bands", "--by",
    "--reason", "--choose", "--candidate", "--population", "--no-bootstrap", "--as-is", "--despite-audit", "--first",
    "--variables", "--no-such-option", "--data", "--markdown", "--least-risk", "--verbose", "-h",
]  # fmt: skip


def strike(rng: Rng, folder: Path) -> Counter[str]:
    """Put odd words together and call the command line."""
    write_survey(folder)
    write_schema(folder)
    before = Path.cwd()
    os.chdir(folder)
    try:
        return Counter({CALLS: sum(call(line(rng)) for _ in range(BATCH))})
    finally:
        os.chdir(before)


def line(rng: Rng) -> list[str]:
    """Draw a command line; what would take long is told to take little."""
    command = one_of(rng, COMMANDS)
    words = [command]
    if command in ("inspect", "hierarchy", "protect", "compare", "audit", "tune", "sweep") and rng.random() < 0.7:
        words += ["survey.csv"] * (2 if command in ("compare", "audit") else 1)
    if command in ("study", "tune", "sweep"):  # these are for hours; here only what is wrong with their words is told
        words += ["--workers", one_of(rng, ["0", "-3", "x", "1.5"])]
    for option in several(rng, OPTIONS, 3):
        words += [option, one_of(rng, WORDS)] if rng.random() < 0.8 else [option]
    words += several(rng, WORDS, 2)
    return words


def call(words: list[str]) -> int:
    """Call the command line as on a terminal and require a decent end."""
    shown = " ".join(map(ascii, words))[:300]
    try:
        done: Any = CliRunner().invoke(app, words, catch_exceptions=False, color=True)
    except Exception as error:
        raise Finding(f"sfumato {shown}: {type(error).__name__}: {str(error)[:200]}") from error
    said = done.stdout + done.stderr
    if done.exit_code not in (0, 1, 2) or "Traceback" in said:
        raise Finding(f"sfumato {shown}: ends with code {done.exit_code}")
    if done.exit_code and not said.strip():
        raise Finding(f"sfumato {shown}: ends with code {done.exit_code} without a word")
    if "\u202e" in said or "\x1b[31m[bold" in said or "\x07" in said:
        raise Finding(f"sfumato {shown}: hands an escape to the terminal")
    return 1


KIND = Kind("command-lines", strike, share=2.0, in_tests=6)
