"""Runs as processes of their own: killed, cancelled, clicked twice, seen from two tabs; nothing lost or done twice."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pages import Bench, said
from swept import begun

from sfumato.compare.results import Results
from sfumato.errors import FileError
from sfumato.project.folder import running
from sfumato.project.record import Record
from sfumato.workbench.desk import Desk
from waiting import until

MANY = tuple(f"LocalSuppression(k={k})" for k in range(2, 9))


def ended(desk: Desk) -> bool:
    """Whether the run says that it ended, and its process is gone."""
    told, child = desk.jobs.told(), desk.jobs._child
    return told is not None and not told.running and (child is None or child.poll() is not None)


def in_the_midst(desk: Desk) -> bool:
    """Whether a candidate is finished, and another is not."""
    told = desk.jobs.told()
    assert told is None or told.phase not in ("audit", "report"), "all were finished before it could be killed"
    return told is not None and told.phase == "candidates" and 0 < told.done < told.total


def figures(desk: Desk) -> dict[str, dict[str, float]]:
    record = Record.read(desk.folder)
    assert record is not None
    results: Results = record.results(desk.table(desk.now().draft), desk.folder)
    return {row.candidate: dict(row.means) for row in results.rows}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk with a draft that takes a few seconds to run; what still runs at the end is ended."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "seed").write_text("7\n")
    made = begun(tmp_path / "project", households=150)
    yield made
    made.jobs.cancel()
    until(lambda: running(made.folder) is None and ended(made), "the run does not end")


def test_a_run_that_was_killed_goes_on_and_ends_as_if_nothing_had_been(desk: Desk, tmp_path: Path) -> None:
    bench = Bench(desk)
    desk.change(lambda old: old.but(own=MANY), screen="mask", what="enough to be killed among them")
    bench.post("explore", "run")
    until(lambda: in_the_midst(desk), "nothing is finished")
    holder = running(desk.folder)
    assert holder is not None
    os.kill(holder.pid, signal.SIGKILL)
    until(lambda: ended(desk), "the killed run is not noticed")
    told = desk.jobs.told()
    assert told is not None and told.state == "failed" and "was ended before the sweep was done" in told.words
    page = said(bench.get("explore"))
    assert "Go on" in page and "What was finished is not done again" in page
    after_kill = figures(desk)
    assert 0 < len(after_kill) < len(MANY)
    again = Desk(desk.folder)  # a server that was started anew
    Bench(again).post("explore", "run")
    until(lambda: ended(again), "the run does not end")
    assert again.current(again.now().draft) == ""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "seed").write_text("7\n")
    undisturbed = begun(tmp_path / "other", households=150)
    undisturbed.change(lambda old: old.but(own=MANY), screen="mask", what="the same")
    Bench(undisturbed).post("explore", "run")
    until(lambda: ended(undisturbed), "the run does not end")
    assert figures(again) == figures(undisturbed)
    assert {label: figures(again)[label] for label in after_kill} == after_kill


def test_a_double_click_starts_one_process_and_two_tabs_see_it(desk: Desk) -> None:
    bench, other_tab = Bench(desk), Bench(desk)
    bench.get("explore")  # the table is read, so that both clicks come at a time
    with ThreadPoolExecutor(4) as clicks:
        answers = list(clicks.map(lambda _: bench.post("explore", "run", once="one click"), range(4)))
    assert [answer.status_code for answer in answers] == [200] * 4
    started = [event for event in desk.journal.events() if event.what == "a run was started"]
    assert len(started) == 1
    page = other_tab.get("explore")
    assert "Cancel" in said(page) and 'hx-trigger="every 2s"' in page.text
    anew = Desk(desk.folder)  # a server that was started anew, before the run could say how far it is
    assert anew.current(anew.now().draft) == "A run is going on."
    with pytest.raises(FileError, match=r"just being started|in use"):
        anew.jobs.start(["sweep", "survey.csv"])
    until(lambda: running(desk.folder) is not None, "the run does not start")
    assert anew.current(anew.now().draft) == "A run is going on."
    other_tab.post("explore", "cancel")
    until(lambda: ended(desk), "the run is not cancelled")
    told = desk.jobs.told()
    assert told is not None and told.state in ("stopped", "failed")
    assert "Go on" in said(bench.get("explore"))
    assert desk.journal.events()[0].what == "the run was cancelled"


def test_a_run_shows_no_other_user_what_it_does_and_may_say_much(desk: Desk) -> None:
    groups = {
        f"place {number}": f"a secret group {number // 2}" for number in range(20_000)
    }  # no system takes so long a word
    words = ["sweep", "survey.csv", "--first", f"GlobalRecoding(map={{'region': {groups}}})", "--out", "."]
    desk.jobs.start(words)
    child = desk.jobs._child
    assert child is not None
    shown = Path(f"/proc/{child.pid}/cmdline")
    if shown.exists():
        assert b"secret" not in shown.read_bytes()
    until(lambda: ended(desk), "the run does not end")
    told = desk.jobs.told()
    assert told is not None
    assert "region" in told.words and "place 0" in told.words  # it was read to its end, and is refused for what it says


def test_a_run_takes_no_program_from_the_folder_of_the_data(desk: Desk) -> None:
    mark = desk.folder / "was here"
    for name in ("json", "numpy", "typer", "sfumato"):
        (desk.folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close(); raise SystemExit(3)")
    desk.jobs.start(["look", ".", "--candidate", "none"])
    until(lambda: ended(desk), "the run does not end")
    told = desk.jobs.told()
    assert told is not None and "holds no sweep" in told.words
    assert not mark.exists()
