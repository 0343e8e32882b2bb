"""A code beside a text: what is suppressed because it occurs once must not stand there in figures, nor in a label."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from how_often import TABLES
from sfumato import GlobalRecoding, LocalSuppression, Microdata, Schema, Variable, audit
from sfumato.auditing.repairs import prepare
from small_survey import run

N = 600
JOBS = ("baker", "clerk", "driver", "farmer", "nurse", "smith")
METHOD = LocalSuppression(5, variables=("job", "sex"))


def jobs(unique: int, coding: str = "code", seed: int = 1) -> pd.DataFrame:
    """Jobs, some of which one person has, and beside them a code of each job or something else."""
    rng = np.random.default_rng(seed)
    job = np.array(JOBS, dtype=object)[rng.integers(0, 6, N)]
    job[rng.choice(N, unique, replace=False)] = [f"rare {number}" for number in range(unique)]
    code = np.unique(job, return_inverse=True)[1] + 100
    code = {"code": code, "own number": rng.permutation(N), "another's": rng.permutation(code)}[coding]
    return pd.DataFrame({"job": job, "sex": rng.choice(["f", "m"], N), "jobc": code})


def schema(kind: Any, role: Any = "other") -> Schema:
    keys = (Variable("job", "nominal", role="key"), Variable("sex", "nominal", role="key"))
    return Schema((*keys, Variable("jobc", kind, role=role)))


@pytest.mark.parametrize("kind", ["numeric", "nominal"])
@pytest.mark.parametrize("unique", [1, 2, 8, 40])
def test_a_code_that_only_suppressed_records_have_tells_them(kind: str, unique: int) -> None:
    data = Microdata.from_frame(jobs(unique), schema(kind))
    made = METHOD.protect(data)
    assert made.missing("job").sum() == unique
    worst = audit(data, made)["columns"].worst
    assert worst is not None and worst.alarm and worst.columns == ("jobc",) and worst.restored == 1
    ready = prepare(data, made, seed=1)
    assert ready.checked.passed
    assert f"jobc is blank where job is, because it tells job ({unique} values)" in ready.checked.done
    table = ready.table
    assert np.array_equal(table.missing("jobc"), table.missing("job"))


def test_a_code_of_rare_categories_that_were_put_together_goes() -> None:
    data = Microdata.from_frame(jobs(40), schema("nominal"))
    made = GlobalRecoding(rare={"job": 0.05}).protect(data)
    found = audit(data, made)["columns"].by_variable
    assert [(one.variable, one.values, one.restored) for one in found if one.alarm] == [("job", 40, 1.0)]
    assert "jobc" not in prepare(data, made, seed=1).table.names


@pytest.mark.parametrize("coding", ["own number", "another's"])
def test_what_is_no_code_of_the_job_stays(coding: str) -> None:
    for seed in range(TABLES // 10):
        data = Microdata.from_frame(jobs(3, coding, seed), schema("numeric"))
        ready = prepare(data, METHOD.protect(data), seed=1)
        assert ready.checked.passed and not ready.table.missing("jobc").any()


def test_a_wrong_code_here_and_there_hides_no_code() -> None:
    table = jobs(3)
    table.loc[[7, 300], "jobc"] = 100
    data = Microdata.from_frame(table, schema("nominal"))
    assert audit(data, METHOD.protect(data))["columns"].alarm


def test_single_records_prove_no_code() -> None:
    """Names and numbers of which each record has its own go one by one, and are no code of each other."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"name": [f"n{one}" for one in rng.permutation(N)], "number": rng.permutation(N)})
    table.loc[:60, "name"] = np.array(["ann", "bob"], dtype=object)[rng.integers(0, 2, 61)]
    data = Microdata.from_frame(table, Schema((Variable("name", "nominal", role="key"), Variable("number"))))
    masked = table.assign(name=table["name"].mask(table.index >= N - 5))
    assert audit(data, masked).passed


@pytest.mark.parametrize("form", ["sav", "dta"])
def test_the_label_of_the_code_goes_from_the_file(form: str, tmp_path: Path) -> None:
    table = jobs(2).astype({"jobc": float})
    labels: dict[str, Any] = {"jobc": dict(zip(table["jobc"], table["job"], strict=True))}
    file, out = tmp_path / f"jobs.{form}", tmp_path / f"out.{form}"
    write = pyreadstat.write_sav if form == "sav" else pyreadstat.write_dta
    write(table, file, variable_value_labels=labels)
    (tmp_path / "schema.toml").write_text(
        '[variables.job]\nkind = "nominal"\nrole = "key"\n[variables.sex]\nkind = "nominal"\nrole = "key"\n'
        '[variables.jobc]\nkind = "nominal"\nrole = "other"\n'
    )
    words = ["protect", file, "--on-undeclared", "accept", "--schema", tmp_path / "schema.toml", "--method"]
    done = run(*words, "LocalSuppression(5, variables=('job', 'sex'))", "--seed", "12345678901", "--out", out)
    assert done.exit_code == 0 and "jobc is blank where job is" in done.output, done.output
    read = pyreadstat.read_sav if form == "sav" else pyreadstat.read_dta
    found, told = read(out)
    assert found["jobc"].isna().sum() == 2
    assert sorted(told.variable_value_labels["jobc"].values()) == sorted(JOBS)
    assert b"rare" not in out.read_bytes()
