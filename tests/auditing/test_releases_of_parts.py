"""Releases of tables in parts: audited and repaired whatever was drawn of them and however little was suppressed."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result
from towns import towns

import sfumato
from scanned import scanned
from sfumato import Engine, Microdata
from sfumato.auditing.of_parts import at_hand_of_both
from sfumato.auditing.repairs import prepare
from sfumato.compare.work import protected_parts
from small_survey import run

HERE = ["--engine", "here", "--memory", "1 GB", "--seed", "12345678901"]


def protected(data: Microdata, folder: Path, method: str, *more: object) -> tuple[Result, pa.Table | None]:
    """Protect a table in three parts on the command line; return what was said, and what was written."""
    scanned(data, folder / "register", 3)
    sfumato.write_schema(data, folder / "schema.toml")
    words = [
        "protect",
        folder / "register",
        "--on-undeclared",
        "accept",
        "--schema",
        folder / "schema.toml",
        "--method",
        method,
        *HERE,
        *more,
    ]
    done = run(*words, "--out", folder / "out")
    return done, pq.read_table(folder / "out") if (folder / "out").exists() else None


def test_a_sample_of_the_records_is_audited(tmp_path: Path) -> None:
    done, written = protected(towns(4_000), tmp_path, "Sampling(0.8) + LocalSuppression(5)")
    assert done.exit_code == 0 and "was not tried" not in done.output, done.output
    assert written is not None and len(written) == 3_200
    assert "area_code" not in written.column_names, "it tells the towns that were suppressed"
    assert "area_code is left out, because it tells town" in done.output


def test_copies_of_the_id_go_from_a_sample(tmp_path: Path) -> None:
    done, written = protected(towns(900), tmp_path, "Sampling(0.5)", "--sample", 200)
    assert done.exit_code == 0 and written is not None, done.output
    assert not {"id", "file_no"} & set(written.column_names)


@pytest.mark.parametrize("size", [300, 10_000])
def test_originals_of_a_sample_are_those_it_drew(tmp_path: Path, size: int) -> None:
    table = scanned(towns(3_000), tmp_path / "register", 3)
    twice = sfumato.Sampling(0.7) + sfumato.Noise(0.5, variables=("income",)) + sfumato.Sampling(0.5)
    with Engine("here"):
        made = protected_parts(twice, table, np.random.default_rng(2))
        seen = at_hand_of_both(table, made, size)
    before, after = seen.original, seen.protected
    assert len(before) == len(after) == min(size, 1_050)
    assert np.array_equal(before.columns["id"], after.columns["id"])
    assert not np.array_equal(before.columns["income"], after.columns["income"])
    assert after.drawn is not None and np.array_equal(after.drawn, np.arange(len(after)))


def test_a_sample_is_never_excused_and_synthetic_records_are(tmp_path: Path) -> None:
    table = scanned(towns(2_000), tmp_path / "register", 2)
    with Engine("here"):
        made = protected_parts(sfumato.Sampling(0.5), table, np.random.default_rng(2))
        one, two = at_hand_of_both(table, made, 400), at_hand_of_both(table, table.unmatched(), 400)
    drawn, other = (prepare(x.original, x.protected, seed=1, of_parts=x.seen).checked for x in (one, two))
    assert drawn.audit is not None and drawn.audit.records == 400 and not drawn.excused
    assert other.audit is None and other.excused


def test_a_sweep_audits_what_it_drew(tmp_path: Path) -> None:
    data = towns(2_400)
    scanned(data, tmp_path / "register", 3)
    sfumato.write_schema(data, tmp_path / "schema.toml")
    wish = ["--measure", "KAnonymity", "--at-most", "KAnonymity=100%", "--utility", "GlobalDataUtility"]
    method = ["--method", "Sampling(0.8) + LocalSuppression(4)"]
    words = [tmp_path / "register", "--schema", tmp_path / "schema.toml", *method, *wish, *HERE]
    done = run("sweep", *words, "--out", tmp_path / "sweep")
    assert done.exit_code == 0, done.output
    assert "area_code is left out, because it tells town" in done.stderr
    (file,) = (tmp_path / "sweep" / "release" / "register.protected").iterdir()
    assert "area_code" not in pq.read_schema(file).names


def test_few_suppressed_values_of_a_large_table_are_looked_at(tmp_path: Path) -> None:
    done, written = protected(towns(20_000, rare=40), tmp_path, "LocalSuppression(5)", "--sample", 400)
    assert done.exit_code == 0 and written is not None, done.output
    assert "area_code is left out, because it tells town" in done.output
    assert "area_code" not in written.column_names and written["town"].null_count == 40
    said = "audited in 400 of 20,000 records: all 40 with suppressed values, 0 that show the same categories, and a "
    assert said + "random sample of 360" in done.output


def test_few_suppressed_values_of_a_sample_are_looked_at_too(tmp_path: Path) -> None:
    method = "Sampling(0.9) + LocalSuppression(5)"
    done, written = protected(towns(20_000, rare=80), tmp_path, method, "--sample", 400)
    assert done.exit_code == 0 and written is not None, done.output
    assert "area_code" not in written.column_names and written["town"].null_count > 40
    assert " of 18,000 records: all " in done.output


def test_a_column_that_tells_nothing_stays(tmp_path: Path) -> None:
    data = towns(20_000, rare=40, told=False)
    done, written = protected(data, tmp_path, "LocalSuppression(5)", "--sample", 400)
    assert done.exit_code == 0 and written is not None and "area_code" in written.column_names, done.output


def test_too_few_suppressed_values_to_judge_are_told(tmp_path: Path) -> None:
    done, _ = protected(towns(20_000, rare=4), tmp_path, "LocalSuppression(5)", "--sample", 400)
    assert "of town only 4 of the protected values are among the records audited: too few to tell" in done.output


def test_gaps_that_a_sweep_reports_are_those_of_the_table(tmp_path: Path) -> None:
    data = towns(6_000, rare=200, told=False)
    scanned(data, tmp_path / "register", 3)
    sfumato.write_schema(data, tmp_path / "schema.toml")
    wish = ["--measure", "KAnonymity", "--at-most", "KAnonymity=100%", "--utility", "InformationLoss"]
    words = [tmp_path / "register", "--schema", tmp_path / "schema.toml", *wish, *HERE, "--sample", 600]
    done = run("sweep", *words, "--method", "LocalSuppression(5)", "--out", tmp_path / "sweep")
    assert done.exit_code == 0, done.output
    about = json.loads((tmp_path / "sweep" / "release" / "about.json").read_text())
    (town,) = (variable for variable in about["variables"] if variable["name"] == "town")
    assert 0.01 < town["missing"] < 0.06, "200 of 6,000, not 200 of the 600 that are audited"
    (file,) = (tmp_path / "sweep" / "release" / "register.protected").iterdir()
    assert pq.read_table(file)["town"].null_count == 200
