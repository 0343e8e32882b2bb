"""What is said of a release in several places is the same everywhere."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import sfumato
from lowest_versions import lowest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEADING = re.compile(r"^## (\d+\.\d+\.\d+)(?: \((\d{4}-\d{2}-\d{2}|unreleased)\))?$", re.MULTILINE)


def citation() -> dict[str, object]:
    read: dict[str, object] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return read


def test_version_changelog_and_citation_agree() -> None:
    latest = HEADING.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert latest is not None and latest[1] == sfumato.__version__
    assert str(citation()["version"]) == sfumato.__version__
    released = None if latest[2] in (None, "unreleased") else latest[2]
    assert str(citation().get("date-released", released)) == str(released)


def test_the_version_is_said_in_one_place() -> None:
    assert "version" in PROJECT["dynamic"] and "version" not in PROJECT
    said = re.compile(rf"^__version__ = \"{re.escape(sfumato.__version__)}\"$", re.MULTILINE)
    assert len(said.findall((ROOT / "src" / "sfumato" / "__init__.py").read_text(encoding="utf-8"))) == 1


def test_the_citation_says_what_the_project_says() -> None:
    told = citation()
    assert told["license"] == PROJECT["license"] and told["keywords"] == PROJECT["keywords"]
    assert told["authors"] == PROJECT["authors"]


def test_every_bound_is_a_lowest_version() -> None:
    found = lowest(PROJECT)
    assert found["numpy"] == "2.0" and "sfumato" not in found
    with pytest.raises(SystemExit, match="numpy"):
        lowest({"dependencies": ["numpy"], "optional-dependencies": {}})
    with pytest.raises(SystemExit, match="the same wherever"):
        lowest({"dependencies": ["numpy>=2.0"], "optional-dependencies": {"x": ["numpy>=2.1"]}})


def test_all_extras_but_those_of_clusters_are_in_all() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    named = re.fullmatch(r"sfumato\[(.*)\]", everything)
    assert named is not None and set(named[1].split(",")) == set(extras) - {"all", "ray", "spark"}


def test_the_forge_runs_the_same_commands_on_every_python_that_is_promised() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    pythons = set(workflow["jobs"]["test"]["strategy"]["matrix"]["python"])
    promised = {text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)}
    assert promised <= pythons and min(promised) == PROJECT["requires-python"].removeprefix(">=")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            for target in re.findall(r"\bmake (?:PYTHON=\S+ )?([a-z-]+)", step.get("run", "")):
                assert target in targets, target


def test_the_lock_names_every_dependency_by_its_hashes_and_no_host() -> None:
    text = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    assert "://" not in text and "index-url" not in text
    locked = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", text, re.MULTILINE))
    for name in lowest(PROJECT):
        if name not in ("pyspark", "ray"):
            assert name in locked, f"{name}: make lock"
    entries = re.split(r"^(?=[a-z0-9.-]+==)", text, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in entry for entry in entries)
