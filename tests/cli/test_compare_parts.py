"""``sfumato compare`` of tables in parts."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sfumato
from register import write_register
from scanned import scanned
from sfumato.cli.app import app
from sfumato.project.reading import read_measures
from small_survey import run
from tables import persons

RUNNER = CliRunner()
RECORD_BY_RECORD = ("InformationLoss()", "Reidentification()", "RankInterval()")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    data = persons(300)
    masked = sfumato.Noise(0.2, variables=("income",)).protect(data, rng=1)
    scanned(data, tmp_path / "original", 4)
    scanned(masked, tmp_path / "protected", 4)
    schema = tmp_path / "schema.toml"
    sfumato.write_schema(data, schema)
    return tmp_path / "original", tmp_path / "protected", schema


def test_figures_are_those_in_memory(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    original, protected, schema = files
    asked = ["--measure", "KAnonymity(3)", "--measure", "InformationLoss"]
    parts = [f"{original}/*.parquet", str(protected), "--schema", str(schema), "--engine", "here", "--json", *asked]
    store = tmp_path / "summaries.sqlite"
    done = RUNNER.invoke(app, ["compare", *parts, "--memory", "1 GB", "--store", str(store)])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    before, after = sfumato.scan(original, schema).loaded(), sfumato.scan(protected, schema).loaded()
    for measure in (sfumato.KAnonymity(3), sfumato.InformationLoss()):
        found = told["figures"][repr(measure)]
        assert found["value"] == pytest.approx(measure.evaluate(before, after).value, rel=1e-12)
    assert told["parts"] == {"original": 4, "protected": 4} and store.exists()


def test_by_default_what_needs_little_memory(files: tuple[Path, Path, Path]) -> None:
    original, protected, schema = files
    done = RUNNER.invoke(app, ["compare", str(original), str(protected), "--schema", str(schema), "--engine", "here"])
    assert done.exit_code == 0, done.output
    assert "KAnonymity()" in done.stdout and "InformationLoss()" in done.stdout
    assert "GlobalDataUtility" not in done.stdout  # it gathers columns, so it is computed if asked for


def test_what_needs_a_table_in_memory_is_refused(files: tuple[Path, Path, Path]) -> None:
    original, protected, schema = files
    done = RUNNER.invoke(app, ["compare", str(original), str(protected), "--report", "x", "--records", "3"])
    assert done.exit_code != 0
    named = [str(original), str(protected), "--schema", str(schema), "--engine", "here"]
    done = RUNNER.invoke(app, ["compare", *named, "--measure", "DistanceLinkage(links='one to one')"])
    assert done.exit_code == 1 and "needs all records at once" in done.output


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path, dict[str, float]]:
    """A register in parts, its release in random order without ids, and the figures as the records are."""
    folder = tmp_path_factory.mktemp("released")
    register, schema, data = write_register(folder)
    method = "Rounding(1000, variables=('wealth',))"
    where = ["--engine", "here", "--sample", "700", "--seed", "5000000000000"]
    out = folder / "out"
    done = run(
        "protect",
        register,
        "--on-undeclared",
        "accept",
        "--schema",
        schema,
        "--method",
        method,
        *where,
        "--despite-audit",
        "--out",
        out,
    )
    assert done.exit_code == 0, done.output
    after = sfumato.Rounding(1000, variables=("wealth",)).protect(data, rng=1)  # nothing in it is random
    figures = {text: read_measures([text])[0].evaluate(data, after, rng=0).value for text in RECORD_BY_RECORD}
    return register, out, schema, figures


def compared(register: Path, out: Path, schema: Path, *more: str) -> Any:
    asked = [word for text in RECORD_BY_RECORD for word in ("--measure", text)]
    return run("compare", register, out, "--schema", schema, "--engine", "here", *asked, "--json", *more)


def test_a_release_in_random_order_is_matched_by_its_note(
    released: tuple[Path, Path, Path, dict[str, float]], tmp_path: Path
) -> None:
    register, out, schema, expected = released
    done = compared(register, out, schema)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["figures"]
    assert found["InformationLoss()"]["value"] == pytest.approx(expected["InformationLoss()"], rel=1e-9)
    assert found["RankInterval()"]["value"] == pytest.approx(expected["RankInterval()"], rel=1e-9)
    assert found["Reidentification()"]["value"] == pytest.approx(expected["Reidentification()"], rel=0.05)
    assert "is in random order" in done.stderr
    assert not any("by position" in note for one in found.values() for note in one["notes"])
    # into other files than those it was made of
    other = tmp_path / "register"
    scanned(sfumato.scan(register, schema).loaded(), other, 5)
    again = json.loads(compared(other, out, schema).stdout)["figures"]
    assert again["InformationLoss()"]["value"] == pytest.approx(expected["InformationLoss()"], rel=1e-9)


def test_without_its_note_nothing_is_measured_by_position(
    released: tuple[Path, Path, Path, dict[str, float]], tmp_path: Path
) -> None:
    register, out, schema, _ = released
    bare = tmp_path / "bare"
    shutil.copytree(out, bare)
    done = compared(register, bare, schema)
    told = json.loads(done.stdout)
    assert done.exit_code == 1 and not told["figures"]
    assert all("the note that was written with it" in why for why in told["reasons"].values())
    assert "is not matched record by record: it has no 'person'" in done.stderr


def test_a_note_is_not_believed_of_another_original(
    released: tuple[Path, Path, Path, dict[str, float]], tmp_path: Path
) -> None:
    register, out, schema, _ = released
    data = sfumato.scan(register, schema).loaded()
    other = tmp_path / "register"
    scanned(data.take(np.random.default_rng(1).permutation(len(data))), other, 3)
    done = compared(other, out, schema)
    assert done.exit_code == 1 and not json.loads(done.stdout)["figures"]


def test_rows_that_agree_are_in_place_without_an_id(
    released: tuple[Path, Path, Path, dict[str, float]], tmp_path: Path
) -> None:
    register, _, schema, expected = released
    data = sfumato.scan(register, schema).loaded()
    after = sfumato.Rounding(1000, variables=("wealth",)).protect(data, rng=1).without(["person"])
    scanned(after, tmp_path / "after", 4)
    done = compared(register, tmp_path / "after", schema)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["figures"]
    assert found["InformationLoss()"]["value"] == pytest.approx(expected["InformationLoss()"], rel=1e-9)
    assert all(any("by position" in note for note in one["notes"]) for one in found.values())


def test_a_candidate_of_a_sweep_is_matched_by_its_note(
    released: tuple[Path, Path, Path, dict[str, float]], tmp_path: Path
) -> None:
    register, out, schema, expected = released
    words = ["--measure", "InformationLoss()", "--candidate", out, "--method", "Rounding(10, variables=('wealth',))"]
    where = ["--engine", "here", "--sample", "700", "--replicates", "1", "--no-bootstrap", "--out", tmp_path / "sweep"]
    done = run("sweep", register, "--schema", schema, *words, *where, "--json")
    rows = {line["label"]: line["figures"] for line in json.loads(done.stdout)["candidates"]}
    assert rows["out"]["InformationLoss()"]["value"] == pytest.approx(expected["InformationLoss()"], rel=1e-9)


def test_fewer_records_are_said_to_lack_figures(
    released: tuple[Path, Path, Path, dict[str, float]], tmp_path: Path
) -> None:
    register, _, schema, _ = released
    data = sfumato.scan(register, schema).loaded()
    pq.write_table(data.take(np.arange(0, len(data), 2)).to_arrow(), tmp_path / "small.parquet")
    words = ["compare", register, tmp_path / "small.parquet", "--schema", schema, "--engine", "here", "--json"]
    done = run(*words)
    told = json.loads(done.stdout)
    assert done.exit_code == 1 and told["figures"]
    needed = "leave out of the original the records whose id in 'person' the other lacks"
    (line,) = (line for line in done.stderr.splitlines() if needed in line)  # once for all measures that say it
    names, _, why = line.partition(" could not be computed: ")
    assert {"InformationLoss()", "RankInterval()"} <= set(names.removeprefix("sfumato: ").split(", "))
    assert why.startswith("record i of the protected table must be record i of the original")
    assert needed in told["reasons"]["InformationLoss()"]
    assert run(*words, "--unmatched").exit_code == 0  # said, and what needs no matching is all that was asked for
