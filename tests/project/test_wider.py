"""A sweep whose candidates all break a bound composes more of them before it gives up."""

from dataclasses import replace
from pathlib import Path

import pytest

from sfumato import household_survey
from sfumato.project import plan as planning
from sfumato.project.plan import planned, wider
from sfumato.project.sweep import carry_out
from sfumato.table.schema_file import schema_text


def surveyed(folder: Path) -> tuple[Path, Path]:
    import pyarrow.csv as csv

    data = household_survey(households=60, seed=2)
    csv.write_csv(data.to_arrow(), folder / "survey.csv")
    (folder / "schema.toml").write_text(schema_text(data), encoding="utf-8")
    return folder / "survey.csv", folder / "schema.toml"


def test_more_are_composed_beside_those_of_the_plan(tmp_path: Path) -> None:
    file, schema = surveyed(tmp_path)
    plan = planned(file, schema, at_most={"Reidentification": 0.05}, out=tmp_path / "out", seed=1)
    more = wider(plan)
    assert more is not None and more.breadth == plan.breadth == 1  # a run again composes the same
    assert more.methods[: len(plan.methods)] == plan.methods and len(more.methods) > len(plan.methods)
    assert len(set(map(repr, more.methods))) == len(more.methods)
    assert {repr(method) for method in more.methods} <= set(more.whys)
    assert wider(more) is None or wider(more) == more  # nothing is composed twice


def test_not_where_all_were_composed_or_methods_were_named(tmp_path: Path) -> None:
    file, schema = surveyed(tmp_path)
    plan = planned(file, schema, at_most={"Reidentification": 0.05}, out=tmp_path / "out", seed=1)
    assert wider(replace(plan, breadth=3)) is None
    assert wider(replace(plan, composed=False)) is None
    assert wider(replace(plan, choose=repr(plan.methods[0]))) is None


def test_a_sweep_that_fails_tries_them_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, schema = surveyed(tmp_path)
    asked: list[int] = []

    def once(plan: planning.Plan) -> planning.Plan | None:
        asked.append(len(plan.methods))
        more = wider(plan)
        return None if more is None else replace(more, methods=more.methods[: len(plan.methods) + 1])

    monkeypatch.setattr(planning, "wider", once)
    plan = planned(file, schema, at_most={"Reidentification": 0.0}, out=tmp_path / "out", seed=1)
    heard: list[str] = []
    few = replace(plan, methods=plan.methods[:1], replicates=1, bootstrap=False, workers=1)
    summary = carry_out(few, tell=heard.append)
    assert asked == [1] and summary.verdict.publish is False
    assert len(summary.candidates) == 2
    assert "none of 1 can be published: 1 more are tried, as --breadth 3 does" in heard
    assert not any("--breadth 3" in said for said in summary.verdict.advice)
