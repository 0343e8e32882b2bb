"""A sweep for which no method is named: what it proposes fits the keys and the bound."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato.cli import sweep as sweep_command
from sfumato.project import sweep as sweeping
from sfumato.project.plan import Plan
from small_survey import run


def test_three_anonymity_without_naming_a_method_blanks_few_values(tmp_path: Path) -> None:
    survey, out = sfumato.household_survey(200), tmp_path / "sweep"
    sfumato.write(survey, tmp_path / "survey.csv")
    sfumato.write_schema(survey.schema, tmp_path / "schema.toml")
    words = ["sweep", tmp_path / "survey.csv", "--schema", tmp_path / "schema.toml", "--at-most", "KAnonymity=0%"]
    found = run(*words, "--out", out, "--seed", 1, "--workers", 1, "--replicates", 1, "--no-bootstrap")
    assert found.exit_code == 0, found.output
    keys = list(survey.schema.analysed(role="key"))
    released = pd.read_csv(out / "release" / "survey.protected.csv", dtype=str)[keys]
    assert len(released) == len(survey)
    assert released.isna().to_numpy().mean() < 0.05
    # what each record shows, it shares with two others or more: counted by group for each set of keys shown
    for shown, records in released.groupby(released.notna().apply(tuple, axis=1)):
        names = [name for name, there in zip(keys, shown, strict=True) if there]
        if names:
            alike = released.groupby(names, dropna=False).size()
            own = pd.MultiIndex.from_frame(records[names]) if len(names) > 1 else records[names[0]]
            few = alike.reindex(own).to_numpy() < 3
            # those few may yet agree with records that hide what these show
            for _, record in records[few].iterrows():
                agree = np.logical_and.reduce([released[n].isna() | (released[n] == record[n]) for n in names])
                assert agree.sum() >= 3
    wealth = pd.read_csv(out / "release" / "survey.protected.csv")["wealth"]
    assert wealth.max() < np.nanmax(survey.columns["wealth"])


def test_breadth_is_one_of_three(tmp_path: Path) -> None:
    assert run("sweep", tmp_path / "survey.csv", "--breadth", 4).exit_code == 2


def test_what_composed_candidates_do_goes_with_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = sfumato.household_survey(60)
    sfumato.write(survey, tmp_path / "survey.csv")
    sfumato.write_schema(survey.schema, tmp_path / "schema.toml")
    plans: list[Plan] = []
    monkeypatch.setattr(sweeping, "carry_out", lambda plan, **_: plans.append(plan))
    monkeypatch.setattr(sweep_command, "finish", lambda *_, **__: None)
    words = ["sweep", tmp_path / "survey.csv", "--schema", tmp_path / "schema.toml", "--out", tmp_path / "out"]
    assert run(*words, "--at-most", "KAnonymity=0%").exit_code == 0
    assert run(*words, "--method", "MDAV(3)").exit_code == 0
    composed, named = plans
    assert set(composed.whys) == {repr(method) for method in composed.methods}
    assert all(why.endswith(".") for why in composed.whys.values())
    assert named.whys == {}
