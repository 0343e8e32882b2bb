"""How far a sweep is, in its folder and told to who watches."""

import os
from datetime import datetime
from pathlib import Path
from queue import Queue

import pytest

import sfumato
from sfumato.compare.examine import PIECES
from sfumato.compare.experiment import Experiment
from sfumato.compare.progress import Progress, Steps
from sfumato.errors import FileError
from sfumato.project import progress as module
from sfumato.project.plan import Plan, planned
from sfumato.project.progress import read_progress, recorded
from sfumato.project.sweep import carry_out
from waiting import PATIENCE


@pytest.fixture
def plan(survey: Path, schema: Path, tmp_path: Path) -> Plan:
    return planned(
        survey,
        schema,
        methods=["MDAV(k=[3, 10])", "Noise(0.1)"],
        at_most={"DistanceLinkage": 0.99},
        utility="InformationLoss",
        replicates=2,
        despite_audit=True,
        workers=1,
        seed=1,
        out=tmp_path / "out",
    )


def test_a_sweep_tells_every_phase_and_ends_as_done(plan: Plan) -> None:
    heard: list[Progress] = []
    carry_out(plan, watch=heard.append)
    phases = list(dict.fromkeys(told.phase for told in heard))
    assert phases == ["original", "candidates", "audit", "examination", "report", "release"]
    tables = [told for told in heard if told.phase == "candidates"]
    assert {told.total for told in tables} == {4}  # two aggregations, and noise drawn twice
    assert tables[-1].done == 4 and tables[-1].seconds_left == 0
    assert tables[0].seconds_left is None
    assert {name for told in tables for name in told.running} == {"MDAV(k=3)", "MDAV(k=10)", "Noise(scale=0.1)"}
    released = heard[-1].candidate
    assert {told.candidate for told in heard if told.phase in ("audit", "examination", "release")} >= {released}
    pieces = [told for told in heard if told.phase == "examination"]
    assert pieces[-1].done == pieces[-1].total == len(PIECES) and "resampling the records" in pieces[-2].running
    last = read_progress(plan.out)
    assert last == heard[-1] and last.state == "done" and last.pid == os.getpid() and last.running == ()
    assert datetime.fromisoformat(last.started) <= datetime.fromisoformat(last.updated)
    if os.name == "posix":
        assert (plan.out / "progress.json").stat().st_mode & 0o077 == 0


def test_with_several_processes_what_runs_is_named(plan: Plan) -> None:
    heard: list[Progress] = []
    Experiment(plan.data, plan.methods, plan.measures, 2, seed=1).run(workers=2, progress=Steps(heard.append))
    assert max(len(told.running) for told in heard) == 2
    assert heard[-1].done == heard[-1].total == 4 and heard[-1].running == ()


@pytest.mark.parametrize(
    ("error", "state", "said"),
    [
        (FileError("the disk is full"), "failed", "the disk is full"),
        (KeyboardInterrupt("stopped; what was finished is kept"), "stopped", "stopped; what was finished is kept"),
        (RuntimeError("odd"), "failed", "RuntimeError: odd"),
    ],
)
def test_what_ends_a_sweep_is_told(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, error: BaseException, state: str, said: str
) -> None:
    def ended(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Experiment, "run", ended)
    with pytest.raises(type(error)):
        carry_out(plan)
    found = read_progress(plan.out)
    assert found is not None and (found.state, found.message, found.phase) == (state, said, "original")


def test_the_file_is_written_seldom_and_the_end_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SELDOM", 3600.0)
    written: list[bytes] = []
    monkeypatch.setattr("sfumato.report.page.save", lambda path, content: written.append(content))
    with recorded(tmp_path) as steps:
        steps.phase("candidates", total=1000)
        for _ in range(1000):
            steps.began("MDAV(k=3)")
            steps.ended("MDAV(k=3)")
    assert len(written) == 3  # two phases and the end
    assert b'"done": 1000' in written[-1] and b'"state": "done"' in written[-1]


def test_what_happened_last_is_written_though_nothing_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SELDOM", 0.001)
    written: Queue[bytes] = Queue()
    monkeypatch.setattr("sfumato.report.page.save", lambda path, content: written.put(content))
    with recorded(tmp_path) as steps:
        steps.phase("candidates", total=3)
        for name in ("one", "two"):
            steps.began(name)
        while b'"two"' not in (told := written.get(timeout=PATIENCE)):
            pass
        assert b'"one"' in told and b'"running"' in told


def test_there_is_no_progress_where_no_sweep_was(tmp_path: Path) -> None:
    assert read_progress(tmp_path) is None
    (tmp_path / "progress.json").write_text("{")
    with pytest.raises(sfumato.FileError, match="Progress"):
        read_progress(tmp_path)
