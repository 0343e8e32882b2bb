"""The sweep that names no measure: all keys of all scenarios are judged, and what is written keeps the bound."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from small_survey import run

OTHERS = ("region", "sex", "marital", "education", "occupation")
SCENARIOS = {
    "register": (*OTHERS, "age"),
    "neighbour": ("region", "sex", "age"),
    "employer": ("education", "occupation", "age"),
}


def write(folder: Path, n: int = 400) -> pd.DataFrame:
    """A made survey with one numeric and five categorical keys, and its schema with three scenarios."""
    rng = np.random.default_rng(5)
    sizes = dict(zip(OTHERS, (7, 2, 4, 5, 6), strict=True))
    people = pd.DataFrame(
        {
            name: [f"{name} {code}" for code in np.minimum(rng.geometric(0.35, n) - 1, size - 1)]
            for name, size in sizes.items()
        }
    )
    people["age"] = rng.integers(16, 90, n)
    people["pay"] = np.round(np.exp(rng.normal(7.5, 0.6, n)))
    people.to_csv(folder / "survey.csv", index=False)
    lines = [f'[variables.{name}]\nkind = "nominal"\nrole = "key"' for name in OTHERS]
    lines += [
        '[variables.age]\nkind = "numeric"\nrole = "key"',
        '[variables.pay]\nkind = "numeric"\nrole = "confidential"',
    ]
    lines += [f"[scenarios.{name}]\nkeys = {json.dumps(keys)}" for name, keys in SCENARIOS.items()]
    (folder / "schema.toml").write_text("\n".join(lines))
    return people


def linked(people: pd.DataFrame, file: pd.DataFrame, keys: tuple[str, ...]) -> float:
    """Take the nearest age among the records alike in the other keys, blanks being alike to all: shares found."""
    others = [name for name in keys if name != "age"]
    ages, published = (table["age"].to_numpy(dtype=np.float64) for table in (people, file))
    found = 0.0
    for row in range(len(people)):
        alike = np.ones(len(file), dtype=bool)
        for name in others:
            alike &= (file[name] == people.at[row, name]).to_numpy() | file[name].isna().to_numpy()
        away = np.abs(published - ages[row])
        away = np.where(np.isnan(away), 1e6, away)[alike]
        close = np.flatnonzero(alike)[away == away.min()] if len(away) else np.array([], dtype=int)
        found += (row in close) / max(len(close), 1)
    return found / len(people)


def test_what_a_default_sweep_writes_keeps_its_bound_under_every_scenario(tmp_path: Path) -> None:
    people = write(tmp_path)
    words: tuple[Any, ...] = ("sweep", tmp_path / "survey.csv", "--schema", tmp_path / "schema.toml")
    words += ("--method", "Rounding(base=[10, 40], variables=['age']) + PRAM(retention=[0.8, 0.4])")
    words += ("--at-most", "Reidentification=25%", "--replicates", 1, "--seed", 1, "--workers", 1, "--no-bootstrap")
    result = run(*words, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {"Reidentification()", "GlobalDataUtility(deletion='charged')", "ExposedAmounts()"} <= set(
        told["candidates"][0]["figures"]
    )
    written = pd.read_csv(tmp_path / "out" / "release" / "survey.protected.csv")
    assert set(SCENARIOS["register"]) <= set(written.columns)
    for keys in SCENARIOS.values():
        assert linked(people, written, keys) <= 0.25
    assert linked(people, people, SCENARIOS["register"]) > 0.5, "the bound was not empty"
