"""What nobody declared goes nowhere: a file with e-mail, IBAN, names, streets, free text and births as text."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli.app import app

PERSONS = 240
SAID = """
[variables.region]
role = "key"
[variables.sex]
role = "key"
[variables.pay]
role = "confidential"
"""
NAMING = ("mail", "account", "called", "lives_at", "remark", "born")
BOUND = ("--at-most", "Reidentification=30%", "--seed", str(2**50), "--workers", "1", "--no-bootstrap")
METHOD = ("--method", "RankSwapping(p=[0.1], variables=['pay'])", "--replicates", "1")


@pytest.fixture(scope="module")
def register(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a file whose schema mentions three of its columns."""
    rng = np.random.default_rng(5)
    numbers = rng.choice(10**8, PERSONS, replace=False)
    first = rng.choice(["Anna", "Mehmet", "Jean", "Paola", "Lars", "Maria", "Piotr", "Sofia"], PERSONS)
    births = pd.to_datetime("1940-01-01") + pd.to_timedelta(rng.integers(0, 25_000, PERSONS), unit="D")
    pay = np.round(rng.lognormal(10, 0.5, PERSONS), 2)
    frame = pd.DataFrame(
        {
            "region": rng.choice(["North", "South"], PERSONS),
            "sex": rng.choice(["f", "m"], PERSONS),
            "pay": pay,
            "mail": [f"{name.lower()}{number}@example.org" for name, number in zip(first, numbers, strict=True)],
            "account": [_iban(f"37040044{number:010d}") for number in numbers],
            "called": first,
            "lives_at": [f"Lindenstraße {number % 300}, {number % 90_000:05d}" for number in numbers],
            "remark": [f"Asked twice, call +49 30 {number:08d} after six in the evening" for number in numbers],
            "born": births.strftime("%d.%m.%Y"),
        }
    )
    folder = tmp_path_factory.mktemp("undeclared")
    frame.to_csv(folder / "register.csv", index=False)
    (folder / "said.toml").write_text(SAID)
    return folder


def _iban(account: str) -> str:
    return f"DE{98 - int(account + '131400') % 97:02d}{account}"


def run(*words: object) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, found.stdout, found.stderr


def test_a_file_with_columns_that_nobody_declared_is_not_published(register: Path, tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    code, told, aside = run(
        "sweep", register / "register.csv", "--schema", register / "said.toml", *METHOD, *BOUND, "--out", out
    )
    assert code == 1
    flat = " ".join(told.split())
    assert "Do not publish: nobody has said what" in flat and "Publish:" not in flat
    for name in NAMING:
        assert name in flat
    # the terminal says the first of them and how many more; the report has all
    assert "e-mail addresses" in flat and "in the report" in flat
    flat = " ".join((out / "report.md").read_text().split())
    for looks in ("e-mail addresses", "account numbers (IBAN)", "names of persons", "postal addresses", "free text"):
        assert f"looks like {looks}" in flat
    assert "dates of birth as text" in flat and "telephone numbers" in flat  # inside the free text
    assert 'role = "identifier"' in flat and "nothing will be published" in aside
    assert not (out / "release").exists() or not list((out / "release").iterdir())


def test_with_roles_given_it_is_published_without_what_names_persons(register: Path, tmp_path: Path) -> None:
    schema = tmp_path / "roles.toml"
    schema.write_text(SAID + "".join(f'[variables.{name}]\nrole = "identifier"\n' for name in NAMING))
    out = tmp_path / "sweep"
    code, told, _ = run("sweep", register / "register.csv", "--schema", schema, *METHOD, *BOUND, "--out", out)
    assert code == 0 and "Publish:" in told
    released = pd.read_csv(out / "release" / "register.protected.csv")
    assert list(released.columns) == ["region", "sex", "pay"] and len(released) == PERSONS
    about = (out / "release" / "about.html").read_text()
    assert "example.org" not in about and "Lindenstra" not in about


def test_what_inspect_proposes_leaves_them_out_and_one_edit_confirms_it(register: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.toml"
    assert run("inspect", register / "register.csv", "--out", schema)[0] == 0
    text = schema.read_text()
    assert 'identifier = ["mail", "account", "called", "lives_at", "remark", "born"]' in text
    assert 'key = ["region", "sex"]' in text
    asked = ("sweep", register / "register.csv", "--schema", schema, *METHOD, *BOUND, "--out")
    code, told, _ = run(*asked, tmp_path / "first")
    flat = " ".join(told.split())
    assert code == 1 and "nobody has said what region, sex and pay are" in flat and "looks like" not in flat
    head, _, rest = text.partition("[proposed]")
    schema.write_text(head + rest[rest.index("[variables") :])
    code, told, _ = run(*asked, tmp_path / "second")
    assert code == 0 and "Publish:" in told
    assert list(pd.read_csv(tmp_path / "second" / "release" / "register.protected.csv")) == ["region", "sex", "pay"]


def test_other_alone_is_no_word_on_a_column_that_looks_like_persons(register: Path, tmp_path: Path) -> None:
    declared = SAID + "".join(f'[variables.{name}]\nrole = "identifier"\n' for name in NAMING if name != "called")
    schema = tmp_path / "schema.toml"
    schema.write_text(declared + '[variables.called]\nrole = "other"\n')
    asked = ("sweep", register / "register.csv", "--schema", schema, *METHOD, *BOUND, "--out")
    code, told, _ = run(*asked, tmp_path / "first")
    assert code == 1 and "called may name persons, and the schema gives no reason" in " ".join(told.split())
    schema.write_text(declared + '[variables.called]\nrole = "other"\nreason = "names of dogs"\n')
    code, told, _ = run(*asked, tmp_path / "second")
    assert code == 0
    assert "called" in pd.read_csv(tmp_path / "second" / "release" / "register.protected.csv").columns


def test_they_can_be_left_out_or_accepted_in_a_word(register: Path, tmp_path: Path) -> None:
    asked = ("sweep", register / "register.csv", "--schema", register / "said.toml", *METHOD, *BOUND)
    code, _, aside = run(*asked, "--on-undeclared", "leave-out", "--out", tmp_path / "without")
    assert code == 0 and "left out, because nobody has said what they are: mail" in aside
    released = tmp_path / "without" / "release" / "register.protected.csv"
    assert list(pd.read_csv(released).columns) == ["region", "sex", "pay"]
    note = json.loads((tmp_path / "without" / "register.protected.csv.provenance.json").read_text())
    assert set(note["left_out"]) == set(NAMING)
    code, told, _ = run("audit", register / "register.csv", released, "--schema", register / "said.toml")
    assert "mail" not in told
    summary = sfumato.sweep(
        register / "register.csv",
        register / "said.toml",
        methods=["RankSwapping(p=0.1, variables=['pay'])"],
        at_most={"Reidentification": 0.3},
        replicates=1,
        bootstrap=False,
        seed=2**50,
        workers=1,
        on_undeclared="accept",
        despite_audit=True,
        out=tmp_path / "accepted",
    )
    assert summary.verdict.publish
    assert "mail" in pd.read_csv(tmp_path / "accepted" / "release" / "register.protected.csv").columns


def test_protect_writes_nothing_either(register: Path, tmp_path: Path) -> None:
    target = tmp_path / "protected.csv"
    asked = (
        "protect", register / "register.csv", "--schema", register / "said.toml",
        "--method", "RankSwapping(p=0.1, variables=['pay'])", "--seed", 2**50, "--out", target,
    )  # fmt: skip
    code, _, aside = run(*asked)
    assert code == 1 and not target.exists() and "looks like e-mail addresses" in aside
    assert run(*asked, "--on-undeclared", "leave-out")[0] == 0
    assert list(pd.read_csv(target).columns) == ["region", "sex", "pay"]
    assert run(*asked, "--as-is", "--force")[0] == 0  # for use inside the house
    assert "mail" in pd.read_csv(target).columns


def test_the_verdict_lists_what_goes_out_as_collected_and_what_links_two_releases(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(
        {
            "region": rng.choice(list("NESW"), 300),
            "sex": rng.choice(["f", "m"], 300),
            "pay": np.round(rng.lognormal(10, 0.5, 300), 2),
            "rent": np.round(rng.lognormal(6, 0.5, 300), 2),
            "rooms": rng.integers(1, 6, 300),
            "w": np.round(rng.uniform(10, 90, 300), 3),
        }
    )
    frame.to_csv(tmp_path / "survey.csv", index=False)
    roles = {"region": "key", "sex": "key", "pay": "confidential", "rent": "other", "rooms": "other"}
    said = "".join(f'[variables.{name}]\nrole = "{role}"\n' for name, role in roles.items())
    (tmp_path / "schema.toml").write_text(f'weight = "w"\n{said}')
    summary = sfumato.sweep(
        tmp_path / "survey.csv",
        tmp_path / "schema.toml",
        methods=["RankSwapping(p=0.2, variables=['pay'])"],
        at_most={"Reidentification": 0.9},
        replicates=1,
        bootstrap=False,
        seed=2**50,
        workers=1,
        out=tmp_path / "sweep",
    )
    told = summary.verdict.collected
    assert told[0] == "4 variables of 6: region and sex (keys); rent and rooms (other)"
    exact = {line.split(" ")[0].rstrip(","): line for line in told[1:]}
    # nearly every rent and weight is the only one of its value; pay was swapped, rooms has five values
    assert set(exact) == {"rent", "w"}
    assert f"{frame['rent'].nunique():,} different exact values" in exact["rent"]
    assert "the survey weight" in exact["w"] and "WeightMasking('classes')" in exact["w"]
    assert "As collected go out" in (tmp_path / "sweep" / "report.md").read_text()
    assert "exact values" not in (tmp_path / "sweep" / "release" / "about.md").read_text()
