"""Every command and code block of the README runs as it stands, in an empty folder with a survey in it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import sfumato

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return found


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    first, second = blocks("python")
    for code in (first, second):
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "candidates" in done.stdout
    assert (tmp_path / "report" / "report.html").exists()


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    sfumato.write(sfumato.household_survey(households=150), tmp_path / "survey.csv")
    (commands,) = blocks("sh")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands.strip().splitlines():
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    for name in ("report.html", "results.sqlite", "release/survey.protected.csv", "release/about.html", "plots/map.png", "plots/map.svg"):
        assert (tmp_path / "sweep" / name).stat().st_size > 0, name


def test_every_file_the_readme_links_to_is_there() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert (Path(__file__).parents[1] / link).exists(), link
