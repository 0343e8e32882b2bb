"""Server and run killed at any time: nothing is lost, nothing is done twice, and the page goes on."""

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest
from pages import Running, served, write_demo

import sfumato
from sfumato.project.folder import running as holder
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.latest import latest
from waiting import PATIENCE, until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills as POSIX systems know them")
OWN = (*(f"RankSwapping(p={p / 100})" for p in range(2, 26)), "LocalSuppression(3)")


class Tab:
    """A tab of a browser, without a window."""

    def __init__(self, running: Running) -> None:
        self.client = httpx.Client(timeout=PATIENCE, follow_redirects=True)
        entered = self.client.get(running.address())
        self.base = str(entered.url.join(re.search(r'url=([^"]+)', entered.text)[1]))  # type: ignore[index]

    def get(self, place: str) -> str:
        answer = self.client.get(self.base + place)
        assert answer.status_code == 200, answer.text
        return answer.text

    def post(self, place: str, page: str) -> httpx.Response:
        fields = {name: re.search(rf'name="{name}" value="([^"]*)"', page)[1] for name in ("csrf", "revision", "once")}  # type: ignore[index]
        origin = self.base.rsplit("/", 2)[0]
        return self.client.post(self.base + place, data=fields, headers={"origin": origin})

    def close(self) -> None:
        self.client.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    desk = Desk(folder)
    path = write_demo(folder, 200)
    data = sfumato.read(path)
    from dataclasses import replace

    intruder = sfumato.Scenario("register", keys=("region", "sex", "marital"), k=3)
    looked_at = tuple(replace(v, declared=True) for v in data.schema)
    stated = replace(data.schema, variables=looked_at, household="household", id="person", scenarios=(intruder,))
    draft = Draft(source="survey.csv", confirmed=True, schema=desk.restated(stated), own=OWN, proposed=False)
    desk.change(lambda old: draft.but(at_most={"Reidentification": 1.0}), screen="open", what="made for a test")
    return folder


def cells(folder: Path) -> int:
    import sqlite3

    try:
        with sqlite3.connect(f"file:{folder / 'results.sqlite'}?mode=ro", uri=True) as store:
            return int(store.execute("SELECT count(*) FROM cells").fetchone()[0])
    except sqlite3.Error:
        return 0


def ended(folder: Path) -> bool:
    return holder(folder) is None


def finished(folder: Path) -> bool:
    desk = Desk(folder)
    return latest(desk, desk.now().draft).why_old == ""


def test_a_run_outlives_a_killed_server_and_the_next_server_shows_it(project: Path) -> None:
    with served(project) as running:
        tab = Tab(running)
        assert tab.post("explore/run", tab.get("explore")).status_code == 200
        until(lambda: cells(project) > 20, "the run did not get going")
        run = holder(project)
        assert run is not None
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
        tab.close()
    assert psutil.pid_exists(run.pid)
    shown = cells(project)
    with served(project) as again:
        tab = Tab(again)
        told = json.loads(tab.get("pulse"))["job"]
        assert told["running"] or finished(project)
        until(lambda: ended(project), "the run did not come to its end")
        assert cells(project) > shown
        assert finished(project)
        assert "Publish" in tab.get("decide")
        tab.close()


def test_a_killed_run_goes_on_and_gives_the_same_file(project: Path, tmp_path: Path) -> None:
    (project / "seed").write_text("123456789012345\n")
    shutil.copytree(project, tmp_path / "calm")
    kills = 0
    with served(project) as running:
        tab = Tab(running)
        while kills < 3:
            tab.post("explore/run", tab.get("explore"))
            before = cells(project)
            until(lambda: not ended(project), "the run did not start")
            until(lambda: cells(project) > before + 15, "no progress")  # noqa: B023
            run = holder(project)
            assert run is not None, "the run was done before it was killed"
            os.kill(run.pid, signal.SIGKILL)
            kills += 1
            until(lambda: ended(project), "a killed run holds the folder")
            assert "ended" in json.loads(tab.get("pulse"))["job"]["words"]
        tab.post("explore/run", tab.get("explore"))
        until(lambda: not ended(project) or finished(project), "the run did not start again")
        until(lambda: ended(project), "the run did not come to its end")
        assert finished(project)
        tab.close()
    assert kills == 3
    calm = tmp_path / "calm"
    with served(calm) as running:
        tab = Tab(running)
        tab.post("explore/run", tab.get("explore"))
        until(lambda: finished(calm) and ended(calm), "the undisturbed run did not come to its end")
        tab.close()
    name = "release/survey.protected.csv"
    assert (project / name).read_bytes() == (calm / name).read_bytes()
    assert cells(project) == cells(calm)


def test_two_clicks_and_two_tabs_start_one_run(project: Path) -> None:
    with served(project) as running:
        one, two = Tab(running), Tab(running)
        first, second = one.get("explore"), two.get("explore")
        answers = [one.post("explore/run", first), one.post("explore/run", first), two.post("explore/run", second)]
        assert [answer.status_code for answer in answers] == [200, 200, 200]
        until(lambda: not ended(project), "no run started")
        at_work = [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if "sweep" in (process.info["cmdline"] or []) and _cwd(process) == project.resolve()
        ]
        assert len(at_work) == 1
        events = [event.what for event in Desk(project).journal.events()]
        assert events.count("a run was started") == 1
        cancelled = one.post("explore/cancel", one.get("explore"))
        assert cancelled.status_code == 200
        until(lambda: ended(project), "the run was not cancelled")
        until(lambda: json.loads(two.get("pulse"))["job"]["state"] == "stopped", "it is not told as stopped")
        one.close()
        two.close()


def _cwd(process: psutil.Process) -> Path | None:
    try:
        return Path(process.cwd()).resolve()
    except psutil.Error:
        return None


def test_a_second_open_of_a_project_gives_a_new_address_of_the_same_server(project: Path) -> None:
    import subprocess
    import sys

    with served(project) as running:
        first = running.address().split("/enter")[0]
        done = subprocess.run(
            [sys.executable, "-m", "sfumato", "open", str(project), "--no-browser"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0
        assert "running already" in done.stderr
        assert first in done.stderr
