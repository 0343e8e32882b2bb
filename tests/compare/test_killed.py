"""The parent killed at any time: no worker stays, and no copy of the original is left in memory or on disk."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from compare_toys import Loss, Slow

from sfumato.compare.experiment import Experiment, grid
from sfumato.table.microdata import Microdata
from waiting import until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills as POSIX systems know them")
HERE = [str(folder) for folder in Path(__file__).parents[:2]]  # this file and what tests share
RECORDS = 50_000  # columns of 400,000 bytes, which no pipe holds
PROGRAM = """
import sys
sys.path[:0] = {here!r}
from test_killed import experiment
experiment().run(workers=2, store={store!r})
"""
SHARED_MEMORY = Path("/dev/shm")


def experiment() -> Experiment:
    data = Microdata.from_frame(pa.table({"x": [float(value) for value in range(RECORDS)]}))
    return Experiment(data, grid(Slow, number=list(range(200))), [Loss()])


def started(folder: Path) -> subprocess.Popen[bytes]:
    """Start a sweep in a session of its own; what it puts into the temporary folder can be looked at."""
    temporary = folder / "temporary"
    temporary.mkdir()
    program = PROGRAM.format(here=HERE, store=str(folder / "kept" / "run.db"))
    (folder / "kept").mkdir()
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(temporary), "TOY_COUNTS": str(folder / "counts.txt")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def running(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


@pytest.fixture
def swept(tmp_path: Path) -> Iterator[tuple[psutil.Process, subprocess.Popen[bytes]]]:
    process = started(tmp_path)
    parent = psutil.Process(process.pid)
    yield parent, process
    for left in (*_children(parent), parent):
        if left.is_running():
            left.kill()
    process.wait()


def _children(parent: psutil.Process) -> list[psutil.Process]:
    try:
        return parent.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2])
def test_workers_end_whose_parent_is_killed_while_they_start(
    after: float, swept: tuple[psutil.Process, subprocess.Popen[bytes]]
) -> None:
    parent, process = swept
    until(lambda: len(_children(parent)) >= 3, "no worker started")  # two of them, and the tracker of their files
    time.sleep(after)
    orphans = _children(parent)
    process.send_signal(signal.SIGKILL)
    process.wait()
    try:
        until(lambda: not running(orphans), f"{len(running(orphans))} processes stay after their parent was killed")
    finally:
        for left in running(orphans):
            left.kill()


def test_a_killed_group_leaves_no_copy_of_the_original(
    swept: tuple[psutil.Process, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    _, process = swept
    counts = tmp_path / "counts.txt"
    until(lambda: counts.exists() and counts.read_text().count("Loss") >= 3, "the sweep did not get going")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    memory = list(SHARED_MEMORY.iterdir()) if SHARED_MEMORY.is_dir() else []
    assert [place.name for place in memory if f"_{process.pid}_" in place.name] == []
    temporary = [place for place in (tmp_path / "temporary").rglob("*") if place.is_file()]
    assert [place for place in temporary if place.stat().st_size >= RECORDS] == []
    assert all(place.name.startswith("run.db") for place in (tmp_path / "kept").iterdir())


def test_workers_read_the_original_as_it_is(tmp_path: Path) -> None:
    data = Microdata.from_frame(
        pa.table({"x": [float(value) for value in range(RECORDS)], "c": [str(i % 7) for i in range(RECORDS)]})
    )
    methods = grid(Slow, number=[1, 2, 3])
    alone = Experiment(data, methods, [Loss()], seed=1).run()
    several = Experiment(data, methods, [Loss()], seed=1).run(workers=2, store=tmp_path / "run.db")
    assert [row.means for row in several.rows] == [row.means for row in alone.rows]


def test_a_killed_worker_costs_only_what_it_was_doing(
    swept: tuple[psutil.Process, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    parent, process = swept
    counts = tmp_path / "counts.txt"
    kills = 0
    while process.poll() is None and kills < 6:
        done = _measured(counts)
        until(lambda: _measured(counts) > done + 4 or process.poll() is not None, "the run came to a halt")  # noqa: B023
        at_work = [child for child in _children(parent) if "loky" in " ".join(_command(child))]
        if at_work:
            at_work[0].kill()
            kills += 1
    until(lambda: process.poll() is not None, "the run did not end")
    assert process.returncode == 0
    assert kills == 6
    results = experiment().finished(store=tmp_path / "kept" / "run.db")
    assert [row.means["Loss()"] for row in results.rows] == [float(number) for number in range(200)]
    # each table once, and again only those that two workers were at when one of them was killed
    assert _measured(counts) <= 200 + 2 * kills


def _measured(counts: Path) -> int:
    return counts.read_text().count("Loss") if counts.exists() else 0


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
