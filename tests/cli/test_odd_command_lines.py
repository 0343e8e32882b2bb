"""Odd words in every place of every command: a figure, or a sentence and the exit code 1 or 2, never a traceback."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import sfumato.cli.sweep as sweeping
from sfumato import studies
from sfumato.cli import app
from sfumato.errors import NotApplicable
from sfumato.workbench import server
from small_survey import write_schema, write_survey

SEED, TRIED, SEVERAL = 18, 4, 3  # words tried of each option, and command lines with several of them
LONG = "a" * 5000
ODD = (
    "", "  ", "nan", "inf", "-1", "0", "1e400", "9" * 30, "0.5", "abc", "é☃\u202e", "\x1b[31m[bold]x[/bold]",
    "\udcff", "nowhere/x.csv", "folder", "empty.csv", "binary.csv", "odd.parquet", LONG, "[", "(" * 300, "x=y", "=",
    "Noise", "Noise(nan)", "Noise(scale=1e400)", "MDAV(k=[])", "DistanceLinkage=nan%", "DistanceLinkage=5%", "*", "#",
    "x#y", "-", "1:0", "income", "utf-16", "survey.csv", "None", "{'a': 1}", "http://x.y", "/dev/null", ",",
)  # fmt: skip
QUICK = (
    "--method",
    "MDAV(k=3)",
    "--risk",
    "DistanceLinkage",
    "--utility",
    "InformationLoss",
    "--workers",
    "1",
    "--no-bootstrap",
)
RIGHT: dict[str, tuple[str, ...]] = {
    "demo": ("--out", "demo", "--workers", "1"),
    "inspect": ("survey.csv", "--out", "schema.toml", "--force"),
    "hierarchy": ("survey.csv", "income", "5", "--bands", "--out", "income.csv", "--force"),
    "sweep": ("survey.csv", "--schema", "survey.toml", *QUICK, "--out", "sweep", "--seed", "123456789012"),
    "look": ("sweep", "--candidate", "MDAV(k=3)"),
    "sign": ("sweep", "--by", "A", "--reason", "because"),
    "tune": (
        "survey.csv", "--schema", "survey.toml", "--method", "MDAV", "--at-most", "DistanceLinkage=50%",
        "--budget", "3", "--workers", "1",
    ),
    "compare": ("survey.csv", "protected.csv", "--measure", "InformationLoss"),
    "audit": ("survey.csv", "protected.csv"),
    "protect": ("survey.csv", "--method", "Noise(0.1)", "--out", "other.csv", "--force", "--as-is"),
    "study": ("woo", "--records", "60", "--workers", "1", "--out", "study"),
    "methods": (),
    "measures": (),
    "open": ("survey.csv", "--no-browser", "--folder", "open"),
}  # fmt: skip
GROUP: Any = get_command(app)
COMMANDS: dict[str, Any] = GROUP.commands


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words), color=True)  # as on a terminal, which is handed everything


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files right and odd, in which no page is served and no long work is done."""
    monkeypatch.chdir(tmp_path)
    survey = write_survey(tmp_path)
    survey.write_text("\n".join(survey.read_text().splitlines()[:31]) + "\n")
    write_schema(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 5)
    (tmp_path / "odd.parquet").write_bytes(b"PAR1" + b"x" * 50)

    def too_long(*_: Any, **__: Any) -> None:
        raise NotApplicable("this takes too long here")

    monkeypatch.setattr(server, "serve", lambda *_, **__: None)
    monkeypatch.setattr(studies, "run", too_long)
    return tmp_path


def odd_lines(command: str) -> Iterator[list[str]]:
    """Yield command lines with an odd word for each option and argument in turn, then for several at once."""
    rng = random.Random(f"{SEED} {command}")
    parameters = COMMANDS[command].params
    arguments = [one for one in parameters if one.param_type_name == "argument"]

    def put(words: list[str], parameter: Any, odd: str) -> list[str]:
        if parameter in arguments:
            place = arguments.index(parameter)
            return [*words[:place], odd, *words[place + 1 :]]
        return [*words, parameter.opts[0], *([] if parameter.is_flag else [odd] * parameter.nargs)]

    right = list(RIGHT[command])
    for parameter in parameters:
        flag = parameter not in arguments and parameter.is_flag
        for odd in ("",) if flag else (LONG, *rng.sample(ODD, TRIED)):
            yield put(right, parameter, odd)
    for _ in range(SEVERAL):
        words = right
        for parameter in rng.choices(parameters, k=3):  # the same one twice as well
            words = put(words, parameter, rng.choice(ODD))
        yield words
    yield [*right, "one too many", "and another"]
    yield ["--no-such-option"]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_odd_command_line_ends_in_a_traceback(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(command)
    if command == "demo":  # what a sweep does with odd words is seen at the sweep
        monkeypatch.setattr(sweeping, "sweep", lambda *_, **__: None)
    for words in odd_lines(command):
        done = run(command, *words)
        said = f"{command} {words!r}: {done.output}"
        assert done.exception is None or isinstance(done.exception, SystemExit), f"{said}\n{done.exception!r}"
        assert done.exit_code in (0, 1, 2), said
        assert "Traceback" not in done.output, said
        assert done.exit_code == 0 or done.stderr.strip() or done.stdout.strip(), f"no word about {words}"
        assert not {"\x1b", "\x9b", "\u202e"} & set(done.output), said


def prepare(command: str) -> None:
    """Make the files that the right command line of some commands needs."""
    if command in ("compare", "audit"):
        assert (
            run("protect", "survey.csv", "--method", "Noise(0.1)", "--out", "protected.csv", "--as-is").exit_code == 0
        )
    if command in ("look", "sign"):
        words: Sequence[str] = (*RIGHT["sweep"], "--at-most", "DistanceLinkage=100%", "--despite-audit")
        assert run("sweep", *words).exit_code == 0


def test_every_command_is_tried() -> None:
    assert set(COMMANDS) == set(RIGHT)
