import json
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato import LocalSuppression, Microdata, audit, household_survey, write
from sfumato.auditing.findings import Audit
from sfumato.compare.plain import from_json
from small_survey import run

SCHEMA = 'weight = "weight"\nhousehold = "household"\nid = "person"\n'


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path, Microdata, Microdata]:
    data = household_survey(150)
    masked = LocalSuppression(k=3).protect(data, rng=1)
    original, protected, schema = (tmp_path / name for name in ("survey.csv", "masked.csv", "schema.toml"))
    write(data, original)
    write(masked, protected)
    schema.write_text(SCHEMA)
    return original, protected, schema, data, masked


def test_a_file_that_gives_values_back(files: tuple[Path, Path, Path, Microdata, Microdata]) -> None:
    original, protected, schema, _, _ = files
    result = run("audit", original, protected, "--schema", schema)
    assert result.exit_code == 1
    assert "gives protected values back" in " ".join(result.stdout.split())
    for said in ("survey weight", "restored", "guess", "what to do", "coarsen the weight", "no figure: other releases"):
        assert said in result.stdout
    assert "record" in result.stdout and all(len(line) <= 80 for line in result.stdout.splitlines())


def test_json_is_the_audit_itself(files: tuple[Path, Path, Path, Microdata, Microdata]) -> None:
    original, protected, schema, _, _ = files
    result = run("audit", original, protected, "--schema", schema, "--json", "--seed", "4")
    found = from_json(Audit, result.stdout)
    data = sfumato.read(original, schema)
    assert result.exit_code == 1
    assert found == audit(data, sfumato.read(protected, schema), rng=4)


def test_a_file_that_keeps_its_values(files: tuple[Path, Path, Path, Microdata, Microdata]) -> None:
    original, _, schema, _, _ = files
    same = original.with_name("same.csv")
    same.write_text(original.read_text())
    result = run("audit", original, same, "--schema", schema)
    assert result.exit_code == 0
    assert "Nothing to restore" in result.stdout


def test_another_release_is_taken_into_account(files: tuple[Path, Path, Path, Microdata, Microdata]) -> None:
    original, protected, schema, _, _ = files
    result = run("audit", original, protected, "--schema", schema, "--beside", original, "--json")
    beside = next(route for route in json.loads(result.stdout)["routes"] if route["name"] == "beside")
    assert beside["worst"]["restored"] == 1.0
    twice = run("audit", original, protected, "--schema", schema, "--beside", original, "--beside", original, "--json")
    assert json.loads(twice.stdout) == json.loads(result.stdout)  # a file named twice is one release


def test_bad_parameters_are_refused(files: tuple[Path, Path, Path, Microdata, Microdata]) -> None:
    original, protected, schema, _, _ = files
    result = run("audit", original, protected, "--schema", schema, "--margin", "10")
    assert result.exit_code == 2 and "margin must be a share" in result.stderr


def test_a_sample_is_matched_by_its_id_and_refused_without(tmp_path: Path) -> None:
    data = household_survey(200)
    rows = np.sort(np.random.default_rng(1).choice(len(data), len(data) // 2, replace=False))
    sample = LocalSuppression(k=3).protect(data.take(rows), rng=1)
    original, protected, schema = (tmp_path / name for name in ("survey.csv", "sample.csv", "schema.toml"))
    write(data, original)
    write(sample, protected)
    schema.write_text(SCHEMA)
    result = run("audit", original, protected, "--schema", schema, "--json")
    found = from_json(Audit, result.stdout)
    assert found.matched == "id" and found.records == len(rows)
    apart = audit(
        sfumato.read(original, schema).take(rows), sfumato.read(protected, schema), order=np.arange(len(rows))
    )
    assert found.protected == apart.protected and found.routes[0].worst == apart.routes[0].worst
    write(sample.without(["person"]).without(sample.schema.analysed("numeric")).without(["weight"]), protected)
    refused = run("audit", original, protected, "--schema", schema)
    assert refused.exit_code == 2 and f"({len(rows):,} records of {len(data):,})" in " ".join(refused.stderr.split())
