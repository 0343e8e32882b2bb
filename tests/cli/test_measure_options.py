"""How measures are named in options: however they are written, and only with variables that there are."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfumato.cli import sweep as sweep_command
from sfumato.project import sweep as sweeping
from sfumato.project.plan import Plan
from sfumato.project.reading import of_population, read_measures
from small_survey import run, write_schema, write_survey


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """Plans of sweeps, which are not carried out."""
    kept: list[Plan] = []
    monkeypatch.setattr(sweeping, "carry_out", lambda plan, **_: kept.append(plan))
    monkeypatch.setattr(sweep_command, "finish", lambda *_, **__: None)
    return kept


@pytest.mark.parametrize(
    ("option", "text", "near"),
    [
        ("--at-most", "Suppressed(regoin)=5%", "region"),
        ("--measure", "DiSCO(targets=['incme'])", "income"),
        ("--risk", "DistanceLinkage(known=('income', 'taxx'))", "tax"),
        ("--utility", "IntervalOverlap(Model('income ~ taxx'))", "tax"),
    ],
)
def test_a_variable_that_is_not_there_is_refused_with_the_nearest(
    tmp_path: Path, option: str, text: str, near: str
) -> None:
    survey, out = write_survey(tmp_path), tmp_path / "out"
    found = run("sweep", survey, option, text, "--out", out)
    assert found.exit_code == 2, found.output
    assert f"did you mean '{near}'?" in found.stderr
    assert not out.exists()


def test_compare_and_tune_refuse_it_too(tmp_path: Path) -> None:
    survey = write_survey(tmp_path)
    found = run("compare", survey, survey, "--measure", "Suppressed(regoin)")
    assert found.exit_code == 2 and "did you mean 'region'?" in found.stderr
    words = ("tune", survey, "--method", "RankSwapping", "--at-most", "RankInterval(variables=['taxx'])=5%")
    found = run(*words)
    assert found.exit_code == 2 and "did you mean 'tax'?" in found.stderr


def test_a_measure_may_be_written_in_any_way(tmp_path: Path, plans: list[Plan]) -> None:
    survey, schema = write_survey(tmp_path), write_schema(tmp_path)
    words: tuple[Any, ...] = ("sweep", survey, "--schema", schema, "--out", tmp_path / "out", "--method", "MDAV(3)")
    utility, risk = 'GlobalDataUtility( deletion = "charged" )', "DistanceLinkage(7)"
    found = run(*words, "--utility", utility, "--risk", risk, "--at-most", "DistanceLinkage(known=7)=5%")
    assert found.exit_code == 0, found.output
    (plan,) = plans
    assert [repr(measure) for measure in plan.measures] == [
        "DistanceLinkage()",
        "GlobalDataUtility(deletion='charged')",
    ]
    assert (plan.risk, plan.utility) == ("DistanceLinkage()", "GlobalDataUtility(deletion='charged')")
    assert plan.at_most == {"DistanceLinkage()": 0.05}
    assert run(*words, "--utility", "GlobalDataUtility", "--risk", "DistanceLinkage").exit_code == 0
    assert (plans[1].risk, plans[1].utility) == ("DistanceLinkage", "GlobalDataUtility")


def _weighted(folder: Path) -> tuple[Path, Path]:
    """Write a sample of 300 with two keys and weights that were rescaled to a mean of one."""
    rng = np.random.default_rng(2)
    weight = rng.uniform(0.5, 1.5, 300)
    people = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 300),
            "region": rng.choice(list("abcdef"), 300),
            "pay": rng.lognormal(3, 1, 300).round(2),
            "w": (weight / weight.mean()).round(4),
        }
    )
    people.to_csv(folder / "people.csv", index=False)
    keys = "".join(f'[variables.{name}]\nkind = "nominal"\nrole = "key"\n' for name in ("sex", "region"))
    (folder / "people.toml").write_text(f'weight = "w"\n{keys}')
    return folder / "people.csv", folder / "people.toml"


def test_rescaled_weights_are_pointed_out_and_a_population_makes_them_usable(tmp_path: Path, plans: list[Plan]) -> None:
    file, schema = _weighted(tmp_path)
    words: tuple[Any, ...] = ("sweep", file, "--schema", schema, "--out", tmp_path / "out", "--method", "MDAV(3)")
    found = run(*words)
    assert found.exit_code == 0 and "the weights 'w' fall below one" in found.stderr and "--population" in found.stderr
    assert not any(repr(measure).startswith("IndividualRisk") for measure in plans[0].measures)
    refused = run(*words, "--at-most", "IndividualRisk=1%")
    assert refused.exit_code == 2 and "IndividualRisk() cannot be computed" in refused.stderr
    for more in ((), ("--at-most", "IndividualRisk=1%"), ("--measure", "IndividualRisk")):
        found = run(*words, "--population", 30000, *more)
        assert found.exit_code == 0 and "fall below one" not in found.stderr
        assert "IndividualRisk(population=30000.0)" in map(repr, plans[-1].measures)


def test_compare_takes_the_population_too(tmp_path: Path) -> None:
    file, schema = _weighted(tmp_path)
    words = ("compare", file, file, "--schema", schema, "--measure", "IndividualRisk", "--json")
    assert run(*words).exit_code == 1
    found = run(*words, "--population", 30000)
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)["candidates"][0]["figures"]["IndividualRisk(population=30000.0)"]
    people = pd.read_csv(file)
    # about 100 people of the population for each record: a chance of about 1 in 100 times the records alike
    alike = people.groupby(["sex", "region"])["w"].transform("sum") * 100
    assert told["value"] == pytest.approx(float((1 / alike).mean()), rel=0.1)


def test_a_population_that_was_said_for_a_measure_stays() -> None:
    stated, open_ = read_measures(["IndividualRisk(population=5)", "IndividualRisk"])
    assert [repr(m) for m in of_population([stated, open_], 9.0)] == [
        "IndividualRisk(population=5.0)",
        "IndividualRisk(population=9.0)",
    ]


def test_a_file_in_another_order_without_an_id_is_matched_by_what_was_not_touched(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    region, age = rng.choice(["a", "b", "c"], 300), rng.integers(18, 90, 300)
    original = pd.DataFrame({"region": region, "age": age, "pay": rng.lognormal(8, 1, 300).round(2)})
    protected = original.assign(age=original["age"] // 20 * 20)
    shuffled = protected.sample(frac=1, random_state=1)
    for name, table in (("o", original), ("p", protected), ("s", shuffled)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    schema = tmp_path / "o.toml"
    schema.write_text('[variables.region]\nrole = "key"\n[variables.age]\nrole = "key"\n')
    values = {}
    for name in ("p", "s"):
        words = ("compare", tmp_path / "o.csv", tmp_path / f"{name}.csv", "--schema", schema)
        done = run(*words, "--measure", "Reidentification", "--json")
        assert done.exit_code == 0, done.output
        assert ("matched by what was not touched" in done.stderr) == (name == "s")
        values[name] = json.loads(done.stdout)["candidates"][0]["figures"]
    assert values["p"] == values["s"]
