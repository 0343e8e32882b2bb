"""The last run in the folder, seen from the draft that holds: whether it is of it, and why not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.project.plan import planned
from sfumato.project.record import Record
from sfumato.report.summary import Run, Summary, Verdict, to_json
from sfumato.workbench.commands import sweep_asked
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.latest import NEVER, kept_candidates, latest

REPORTED = Summary(
    kind="sweep",
    title="Protecting survey.csv",
    verdict=Verdict(publish=None, words="Nothing was to be decided"),
    file="survey.csv",
    records=3,
    question="",
    sentence="",
    headline=(),
    variables=(),
    measures=(),
    candidates=(),
    run=Run(),
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with a small survey of which nothing was run."""
    made = Desk(tmp_path / "project")
    data = sfumato.household_survey(40)
    sfumato.write(data, made.folder / "survey.csv")
    sfumato.write_schema(data, made.folder / "schema.toml")
    text = (made.folder / "schema.toml").read_text()
    begun = Draft(
        source="survey.csv",
        schema=text,
        confirmed=True,
        own=("LocalSuppression(k=[2, 3])",),
        proposed=False,
        at_most={"Reidentification()": 0.05},
        replicates=1,
    )
    made.change(lambda _: begun, screen="open", what="begun")
    return made


def ran(desk: Desk, monkeypatch: pytest.MonkeyPatch, *, to_its_end: bool = True) -> None:
    """Leave in the folder what a sweep of the draft leaves, without the sweep."""
    monkeypatch.chdir(desk.folder)
    draft = desk.now().draft
    Record.of(planned(draft.source, **sweep_asked(desk, draft))).save(desk.folder)
    if to_its_end:
        (desk.folder / "results.json").write_text(to_json(REPORTED))


def test_nothing_was_run(desk: Desk) -> None:
    assert desk.current(desk.now().draft) == NEVER
    assert latest(desk, desk.now().draft).record is None


def test_a_run_of_the_draft(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(desk, monkeypatch)
    found = latest(desk, desk.now().draft)
    assert found.why_old == "" and found.figures_hold
    assert found.summary == REPORTED


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"at_most": {"Reidentification()": 0.03}}, "was 5 % and is 3 % now"),
        ({"at_most": {"Reidentification": 0.05, "KAnonymity()": 0.0}}, "bounds"),
        ({"own": ("LocalSuppression(k=2)",)}, "taken away"),
        ({"own": ("LocalSuppression(k=[2, 3])", "MDAV(k=3)")}, "added"),
        ({"proposed": True}, "proposed"),
        ({"choose": "LocalSuppression(k=2)"}, "chosen"),
        ({"keep_order": True}, "before a release"),
        ({"replicates": 2}, "draws"),
        ({"population": 10_000.0}, "measured"),
        ({"uses": ("TableUtility(variables=['region'])",)}, "measured"),
    ],
)
def test_a_changed_draft(desk: Desk, monkeypatch: pytest.MonkeyPatch, change: Mapping[str, Any], word: str) -> None:
    ran(desk, monkeypatch)
    found = latest(desk, desk.now().draft.but(**change))
    assert word in found.why_old
    assert found.figures_hold and found.recoded_alike


def test_the_same_bound_in_other_words(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(desk, monkeypatch)
    assert desk.current(desk.now().draft.but(at_most={"Reidentification": 0.05})) == ""


def test_other_roles_are_another_table(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(desk, monkeypatch)
    draft = desk.now().draft
    other = draft.schema.replace('role = "key"', 'role = "other"', 1)
    assert other != draft.schema
    found = latest(desk, draft.but(schema=other))
    assert "variables" in found.why_old and not found.figures_hold


def test_a_run_that_did_not_come_to_its_end(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(desk, monkeypatch, to_its_end=False)
    found = latest(desk, desk.now().draft)
    assert "did not come to its end" in found.why_old
    assert found.summary is None and found.record is not None


def test_a_record_that_cannot_be_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(desk, monkeypatch)
    (desk.folder / "plan.json").write_text("{}")
    assert "cannot be read" in desk.current(desk.now().draft)


def test_recodings_make_other_candidates_of_the_same_table(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(desk, monkeypatch)
    recoded = desk.now().draft.but(recodings='{"age": {"cuts": [30, 60]}}')
    found = latest(desk, recoded)
    assert "recodings" in found.why_old
    assert found.figures_hold and not found.recoded_alike


def test_composed_candidates_stay_and_own_ones_follow_the_draft(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.change(lambda old: old.but(proposed=True), screen="mask", what="proposed too")
    ran(desk, monkeypatch)
    found = latest(desk, desk.now().draft)
    assert found.why_old == "" and found.record is not None
    composed = [label for label in found.record.methods if not label.startswith("LocalSuppression(k=")]
    stricter = desk.now().draft.but(at_most={"Reidentification()": 0.01}, own=())
    assert list(kept_candidates(stricter, latest(desk, stricter))) == composed
    alone = stricter.but(proposed=False, choose=composed[0])
    assert kept_candidates(alone, latest(desk, alone)) == (composed[0],)
