"""Several records per person: refused as an id, counted as persons, told where a figure counts records."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from small_survey import run

KEYS = ("region", "sex", "birth")
SCHEMA = "".join(f'[variables.{name}]\nkind = "nominal"\nrole = "key"\n' for name in KEYS)


@pytest.fixture
def panel(tmp_path: Path) -> pd.DataFrame:
    """120 persons in three waves, with the schema that takes persons as units."""
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(120), 3)
    table = pd.DataFrame(
        {
            "person": who + 500,
            "wave": np.tile([1, 2, 3], 120),
            "region": np.array(list("abcd"), dtype=object)[rng.integers(0, 4, 120)][who],
            "sex": np.array(list("fm"), dtype=object)[rng.integers(0, 2, 120)][who],
            "birth": rng.integers(1960, 1972, 120)[who],
            "pay": rng.lognormal(8, 1, 360).round(),
        }
    )
    table.to_csv(tmp_path / "panel.csv", index=False)
    (tmp_path / "schema.toml").write_text('household = "person"\n' + SCHEMA)
    return table


@pytest.mark.parametrize("command", ["inspect", "protect", "sweep", "compare", "audit"])
def test_every_command_refuses_a_person_as_the_id_and_says_what_to_do(
    command: str, panel: pd.DataFrame, tmp_path: Path
) -> None:
    (tmp_path / "id.toml").write_text('id = "person"\n' + SCHEMA)
    words: list[object] = [command, tmp_path / "panel.csv"]
    words += [tmp_path / "panel.csv"] if command in ("compare", "audit") else []
    words += ["--method", "LocalSuppression(3)"] if command == "protect" else []
    words += ["--out", tmp_path / "out"] if command in ("protect", "sweep") else []
    result = run(*words, "--schema", tmp_path / "id.toml")
    assert result.exit_code == 2
    told = " ".join(result.stderr.split())
    assert "the id 'person' must tell records apart" in told and "name the person as the household" in told
    assert not (tmp_path / "out" / "release").exists()


def test_suppression_counts_persons_and_takes_a_value_from_all_their_records(
    panel: pd.DataFrame, tmp_path: Path
) -> None:
    words = ("--schema", tmp_path / "schema.toml", "--method", "LocalSuppression(3)", "--seed", 1)
    result = run(
        "protect",
        tmp_path / "panel.csv",
        "--on-undeclared",
        "accept",
        *words,
        "--out",
        tmp_path / "release.csv",
        "--keep-order",
    )
    assert result.exit_code == 0 and "households were counted, not records" in " ".join(result.output.split())
    written = pd.read_csv(tmp_path / "release.csv")
    persons = written.drop_duplicates("person")
    assert len(persons) == 120 and written.groupby("person")[list(KEYS)].nunique(dropna=False).max().max() == 1
    original = panel.drop_duplicates("person").reset_index(drop=True)
    for row in persons.itertuples():
        alike = np.ones(len(original), dtype=bool)
        for name in KEYS:
            value = getattr(row, name)
            alike &= pd.isna(value) | (original[name].astype(str) == str(value).removesuffix(".0")).to_numpy()
        assert alike.sum() >= 3, "three persons, not three records of one"
    assert Counter(map(tuple, original[list(KEYS)].to_numpy())).most_common()[-1][1] < 3, "there was something to do"
    audited = run("audit", tmp_path / "panel.csv", tmp_path / "release.csv", "--schema", tmp_path / "schema.toml")
    assert audited.exit_code == 0, audited.output


def test_a_count_of_records_says_that_it_counts_no_persons(panel: pd.DataFrame, tmp_path: Path) -> None:
    file, schema = tmp_path / "panel.csv", tmp_path / "schema.toml"
    words = ("compare", file, file, "--schema", schema, "--json", "--measure")
    notes = json.loads(run(*words, "KAnonymity(k=3)").stdout)
    assert "count units with unit='household'" in json.dumps(notes)
    by_person = json.loads(run(*words, "KAnonymity(k=3, unit='household')").stdout)
    (line,) = by_person["candidates"]
    (figure,) = line["figures"].values()
    original = panel.drop_duplicates("person")
    counts = Counter(map(tuple, original[list(KEYS)].to_numpy()))
    rare = sum(counts[tuple(row)] < 3 for row in original[list(KEYS)].to_numpy()) / 120
    assert figure["value"] == pytest.approx(rare)
