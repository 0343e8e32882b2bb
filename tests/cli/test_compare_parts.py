"""``sfumato compare`` of tables in parts."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato
from scanned import scanned
from sfumato.cli.app import app
from tables import persons

RUNNER = CliRunner()


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
    done = RUNNER.invoke(app, ["compare", *named, "--measure", "DistanceLinkage"])
    assert done.exit_code == 1 and "needs all records at once" in done.output
