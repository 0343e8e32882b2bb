"""Linked variables through the command line: proposed by inspect, followed by protect and sweep."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato
from sfumato.compare.candidates import compose
from small_survey import run


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ages with cohort and age group, regions with a copy; each region has its jobs."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    age, region = rng.integers(18, 80, 400), rng.choice(["North", "South", "East"], 400)
    table = {
        "age": age,
        "cohort": 2020 - age,
        "group": [f"{a // 10}0s" for a in age],
        "region": region,
        "place": np.char.upper(region),
        "job": rng.choice(list("abcdef"), 400),
    }
    pa_csv.write_csv(pa.table(table), "survey.csv")
    return tmp_path / "survey.csv"


def take_proposals(schema: Path) -> None:
    """Take in every line that inspect proposes, and make keys of age, region and job."""
    lines = schema.read_text().splitlines()
    text = "\n".join(line.removeprefix("# ") if line.startswith("# linked = ") else line for line in lines)
    for key in ("age", "region", "job"):
        head, tail = text.split(f"[variables.{key}]", 1)
        tail = tail.replace('role = "other"', 'role = "key"', 1)
        text = f"{head}[variables.{key}]{tail}"
    proposed = text.index("[proposed]")  # what is left of the proposals is as it should be
    schema.write_text(f"{text[:proposed]}{text[text.index('[variables') :]}\n")


def test_inspect_proposes_and_protect_follows(survey: Path) -> None:
    shown = run("inspect", survey)
    assert shown.exit_code == 0
    assert 'To let it follow, write under [variables.cohort]: linked = "age"' in shown.output
    assert '# linked = "region"    # proposed: region tells it' in Path("schema.toml").read_text()
    take_proposals(Path("schema.toml"))

    method = 'GlobalRecoding(bins={"age": 20}) + LocalSuppression(3, variables=["age", "region", "job"])'
    done = run(
        "protect",
        survey,
        "--on-undeclared",
        "accept",
        "--schema",
        "schema.toml",
        "--method",
        method,
        "--seed",
        1,
        "--out",
        "out.csv",
    )
    assert done.exit_code == 0, done.output
    assert "cohort follows age, to which it is linked" in done.output
    assert "left as they are" not in done.output or "cohort" not in done.output.split("left as they are")[1]
    table = pa_csv.read_csv("out.csv", convert_options=pa_csv.ConvertOptions(strings_can_be_null=True)).to_pylist()
    for source, linked in (("age", "cohort"), ("age", "group"), ("region", "place")):
        assert all(row[linked] is None for row in table if row[source] is None)
        told = {(row[source], row[linked]) for row in table if row[linked] is not None}
        assert len(told) == len({one for one, _ in told}), (source, linked)
    assert "warning" not in done.output


def test_inspect_gives_links_as_json(survey: Path) -> None:
    found = json.loads(run("inspect", survey, "--json").stdout)["links"]
    assert found["lines"] == {"cohort": 'linked = "age"', "place": 'linked = "region"', "group": 'linked = "age"'}
    assert {one["name"]: one["sources"] for one in found["found"]}["cohort"] == ["age"]


def test_a_sweep_follows_in_every_candidate(survey: Path) -> None:
    run("inspect", survey)
    take_proposals(Path("schema.toml"))
    words = ["--method", 'GlobalRecoding(bins={"age": 20})', "--method", 'VariableRemoval(variables=["region"])']
    bound = ["--at-most", "Reidentification=0.5", "--replicates", 1]
    done = run("sweep", survey, "--schema", "schema.toml", *words, *bound, "--seed", 1, "--out", "swept")
    assert done.exit_code == 0, done.output
    table = pa_csv.read_csv("swept/release/survey.protected.csv").to_pylist()
    assert len({(row["age"], row["cohort"], row["group"]) for row in table}) == 4  # 0-19, 20-39, 40-59, 60-79
    notes = json.loads(Path("swept/results.json").read_text())
    assert "place is left out, because it is linked to region, which is left out" in json.dumps(notes)


def test_composed_candidates_mask_the_sources_and_leave_the_rest_to_follow(survey: Path) -> None:
    run("inspect", survey)
    take_proposals(Path("schema.toml"))
    data = sfumato.read(survey, "schema.toml")
    made = compose(data, [sfumato.KAnonymity()], {"KAnonymity": 0.0})
    assert made
    for candidate in made:
        named = repr(candidate.method)
        assert "cohort" not in named and "group" not in named and "place" not in named
        protected = candidate.method.protect(data, rng=1)
        assert sfumato.KAnonymity().evaluate(data, protected).value == 0
    assert data.schema.led(["age", "group", "place"]) == {"group"}, "whose source is not masked must be masked itself"


def test_a_link_to_an_unknown_variable_is_a_sentence(survey: Path) -> None:
    Path("odd.toml").write_text('[variables.cohort]\nkind = "numeric"\nlinked = "agee"\n')
    done = run("protect", survey, "--on-undeclared", "accept", "--schema", "odd.toml", "--method", "Noise(0.1)")
    assert done.exit_code == 2
    assert "variable 'cohort' is linked to 'agee'" in done.output.replace("\n", " ")
