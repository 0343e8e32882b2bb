"""Scripts that make a release again: run in folders of their own, in processes of their own."""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import sfumato
from sfumato.project.plan import planned
from sfumato.project.scripts import _end_mark, python_script, schema_of, shell_script
from sfumato.table.hierarchy import Hierarchy
from sfumato.table.schema import Variable

RELEASED = ("about.html", "about.md", "about.json")
posix = pytest.mark.skipif(os.name != "posix", reason="the script is for a POSIX shell")


def here() -> dict[str, str]:
    """Return an environment in which ``sfumato`` is the command of this code."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def check(script: str, words: list[str], folder: Path, data: Path, release: Path) -> None:
    """Run a script beside nothing but the data file, and compare what it releases."""
    folder.mkdir()
    shutil.copy(data, folder / data.name)
    (folder / "again").write_text(script, encoding="utf-8")
    done = subprocess.run([*words, "again"], cwd=folder, env=here(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in (f"{data.stem}.protected{data.suffix}", *RELEASED):
        assert (folder / "sweep" / "release" / name).read_bytes() == (release / name).read_bytes(), name


@posix
def test_both_scripts_make_the_release_of_a_survey_again(tmp_path: Path) -> None:
    survey = sfumato.household_survey(200)
    data, schema, out = tmp_path / "survey.csv", tmp_path / "schema.toml", tmp_path / "out"
    sfumato.write(survey, data)
    (tmp_path / "places.csv").write_text(
        "region,part\n" + "".join(f"{name},{'a' if i < 2 else 'b'}\n" for i, name in enumerate(regions(survey)))
    )
    named = replace(survey.schema["region"], hierarchy=sfumato.read_hierarchy(tmp_path / "places.csv"))
    sfumato.write_schema(survey.schema.replace(named), schema)
    plan = planned(
        data,
        schema,
        methods=["LocalSuppression(k=3) + RankSwapping(p=[0.05, 0.2], variables=['income', 'wealth'])"],
        first="GlobalRecoding(bins={'age': 20}, level={'region': 1})",
        measures=["KAnonymity(3)", "InformationLoss"],
        at_most={"KAnonymity(k=3)": 0.5},
        utility="InformationLoss",
        replicates=2,
        bootstrap=False,
        despite_audit=True,
        choose="LocalSuppression(k=3) + RankSwapping(p=0.2, variables=('income', 'wealth'))",
        seed=2**50 + 1,
        out=out,
        workers=1,
    )
    from sfumato.project.sweep import carry_out

    summary = carry_out(plan)
    assert summary.verdict.publish and summary.chosen is not None and "p=0.2" in summary.chosen.label
    check(shell_script(plan), ["sh"], tmp_path / "shell", data, out / "release")
    check(python_script(plan), [sys.executable], tmp_path / "python", data, out / "release")


def regions(survey: sfumato.Microdata) -> tuple[str, ...]:
    return tuple(map(str, survey.schema["region"].categories))


@posix
def test_names_that_a_shell_would_obey_are_only_names(tmp_path: Path) -> None:
    evil = "$(touch owned); `touch owned` 'x\" \\ !"
    data = tmp_path / "-- $(touch owned) 'it'.csv"
    lines = [f"{i},{i * i % 17},{'north' if i % 3 else '$(touch owned)'}" for i in range(60)]
    quoted = evil.replace('"', '""')
    data.write_text("\n".join([f'"{quoted}",pay,END_OF_SCHEMA', *lines]) + "\n", encoding="utf-8")
    plan = planned(
        data,
        methods=[sfumato.Noise(0.1, variables=(evil, "pay"))],
        measures=[sfumato.InformationLoss(variables=(evil,)), sfumato.RankInterval(variables=(evil,))],
        utility="InformationLoss",
        risk="RankInterval",
        at_most={sfumato.RankInterval(variables=(evil,)): 1.0},
        despite_audit=True,
        on_undeclared="accept",
        bootstrap=False,
        keep_order=True,
        seed=2**50 + 1,
        delimiter=",",
        out=tmp_path / "out",
        workers=1,
    )
    from sfumato.project.sweep import carry_out

    assert carry_out(plan).verdict.publish
    check(shell_script(plan), ["sh"], tmp_path / "shell", data, tmp_path / "out" / "release")
    check(python_script(plan), [sys.executable], tmp_path / "python", data, tmp_path / "out" / "release")
    assert not list(tmp_path.rglob("owned"))


def test_the_command_states_every_option_of_the_plan(survey: Path, schema: Path, tmp_path: Path) -> None:
    protected = tmp_path / "elsewhere.csv"
    shutil.copy(survey, protected)
    plan = planned(
        survey, schema, methods=["MDAV(k=3)"], measures=["DistanceLinkage"], at_most={"DistanceLinkage": 1e-05},
        at_least={"GlobalDataUtility": 0.25}, candidates=[protected], least_risk=True, keep_order=True,
        keep_weights=True, keep_households=True, despite_audit=True, bootstrap=False, replicates=4, seed=2**50,
        delimiter=";", decimal=",", encoding="utf-8", out=tmp_path / "out",
    )  # fmt: skip
    words = shlex.split(shell_script(plan).split("\nEND_OF_SCHEMA\n")[1])
    assert words[:3] == ["sfumato", "sweep", "survey.csv"]
    pairs = list(pairwise(words))
    for option, value in (
        ("--method", "MDAV(k=3)"), ("--at-most", "DistanceLinkage=1e-05"), ("--at-least", "GlobalDataUtility=0.25"),
        ("--candidate", "elsewhere.csv"), ("--replicates", "4"), ("--seed", str(2**50)), ("--delimiter", ";"),
        ("--decimal", ","), ("--encoding", "utf-8"), ("--out", "sweep"), ("--schema", "reproduce.schema.toml"),
    ):  # fmt: skip
        assert (option, value) in pairs
    assert {"--least-risk", "--keep-order", "--keep-weights", "--keep-households", "--despite-audit"} <= set(words)
    assert "--no-bootstrap" in words
    compile(python_script(plan), "script", "exec")


def test_no_line_of_the_schema_ends_it() -> None:
    text = "a\nEND_OF_SCHEMA\nEND_OF_SCHEMA_\n"
    assert _end_mark(text) not in text.splitlines() and _end_mark("a\n") == "END_OF_SCHEMA"


def test_a_hierarchy_from_a_file_is_written_out(survey: Path, tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("region,all\nnorth,everywhere\nsouth,everywhere\n")
    (tmp_path / "h.toml").write_text('[variables.region]\nkind = "nominal"\nhierarchy = "places.csv"\n')
    plan = planned(survey, tmp_path / "h.toml", methods=["MDAV(k=3)"], seed=1, out=tmp_path / "out")
    (tmp_path / "elsewhere").mkdir()
    again = tmp_path / "elsewhere" / "schema.toml"
    again.write_text(schema_of(plan), encoding="utf-8")
    data = sfumato.read(survey, again)
    assert data.fingerprint == plan.data.fingerprint
    found: Variable = data.schema["region"]
    assert isinstance(found.hierarchy, Hierarchy) and found.hierarchy.file is None


def test_no_file_of_a_sweep_lists_what_names_units(tmp_path: Path) -> None:
    lines = [f"HH-{i // 2:03d},NAME-{i},{i % 7},{i * i % 101}" for i in range(80)]
    data, schema, out = tmp_path / "survey.csv", tmp_path / "schema.toml", tmp_path / "out"
    data.write_text("\n".join(["house,person,age,pay", *lines]) + "\n")
    schema.write_text(
        'household = "house"\n\n[variables.house]\nkind = "nominal"\n\n'
        '[variables.person]\nkind = "nominal"\nrole = "identifier"\n\n[variables.age]\nrole = "key"\n'
    )
    methods, bound, seed = ["Noise(0.1)"], {"InformationLoss": 1000.0}, 2**50
    sfumato.sweep(data, schema, methods=methods, at_most=bound, seed=seed, workers=1, despite_audit=True, out=out)
    kept = ["reproduce.sh", "reproduce.py", "plan.json", "results.json", "report.html", "report.md"]
    kept += [path.name for path in out.glob("*.schema.toml")]
    for name in kept:
        text = (out / name).read_text(encoding="utf-8")
        assert "HH-0" not in text and "NAME-" not in text, name
    plan = planned(data, schema, methods=methods, at_most=bound, seed=seed, out=tmp_path / "other")
    (tmp_path / "again.toml").write_text(schema_of(plan), encoding="utf-8")
    again = planned(data, tmp_path / "again.toml", methods=methods, at_most=bound, seed=seed, out=tmp_path / "other")
    assert again.table.fingerprint == plan.table.fingerprint  # so that the script makes the same release
