"""Killed and stopped in mid-sweep: nothing finished is lost, and the next run computes only the rest."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from compare_toys import Loss, Slow

from sfumato.compare.experiment import Experiment, grid
from sfumato.compare.results import Results
from sfumato.table.microdata import Microdata
from waiting import PATIENCE, until

CANDIDATES = 14
HERE = [str(folder) for folder in Path(__file__).parents[:2]]  # this file and what tests share
PROGRAM = """
import sys
sys.path[:0] = {here!r}
from test_interruption import experiment
try:
    experiment().run(workers={workers}, store={store!r})
except KeyboardInterrupt as stop:
    print(stop, flush=True)
    sys.exit(130)
"""


def experiment() -> Experiment:
    data = Microdata.from_frame(pa.table({"x": [1.0, 2.0, 3.0]}))
    return Experiment(data, grid(Slow, number=list(range(CANDIDATES))), [Loss()])


def started(store: Path, counts: Path, workers: int) -> subprocess.Popen[str]:
    program = PROGRAM.format(here=HERE, store=str(store), workers=workers)
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "TOY_COUNTS": str(counts), "TOY_SECONDS": "0.5"},  # far from its end when it is stopped
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that a signal can go to the whole group, as a terminal sends it
    )


def stored(path: Path) -> int:
    if not path.exists():
        return 0
    connection = sqlite3.connect(path, timeout=PATIENCE)
    try:
        return int(connection.execute("SELECT count(*) FROM cells").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        connection.close()


def wait_for(path: Path, cells: int, process: subprocess.Popen[str]) -> None:
    until(lambda: stored(path) >= cells or process.poll() is not None, "the sweep did not get going")
    assert process.poll() is None, process.communicate()


def continued(store: Path, counts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the rest in this process: exactly the cells that are not in the store."""
    kept = stored(store)
    assert 0 < kept < CANDIDATES
    finished = Counter(counts.read_text().split("\n"))["Loss"]
    assert kept <= finished <= kept + 2  # what the workers had in hand when they were stopped
    counts.write_text("")
    monkeypatch.setenv("TOY_COUNTS", str(counts))
    monkeypatch.setenv("TOY_SECONDS", "0")
    results = experiment().run(store=store)
    assert Counter(counts.read_text().split("\n"))["Loss"] == CANDIDATES - kept
    assert [row.means["Loss()"] for row in results.rows] == [float(number) for number in range(CANDIDATES)]


@pytest.mark.parametrize("workers", [1, 2])
def test_kill_9_loses_nothing_that_was_finished(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, counts = tmp_path / "run.db", tmp_path / "counts.txt"
    process = started(store, counts, workers)
    wait_for(store, 3, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    continued(store, counts, monkeypatch)


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_stops_cleanly_and_says_so(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, counts = tmp_path / "run.db", tmp_path / "counts.txt"
    process = started(store, counts, workers)
    wait_for(store, 3, process)
    os.killpg(process.pid, signal.SIGINT)  # what Ctrl-C does: every process of the terminal gets it
    said, complaints = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, complaints
    assert said == f"stopped; what was finished is in {store}\n"
    assert "Traceback" not in complaints
    done = counts.read_text()
    time.sleep(0.5)
    assert counts.read_text() == done  # no worker goes on
    continued(store, counts, monkeypatch)


EXAMINATION = """
import sys, time
sys.path[:0] = {here!r}
from test_interruption import experiment, examine
results = experiment().run(store={store!r})
examine(results, lambda: b"first")
def compute():
    print("computing", flush=True)
    time.sleep(60)
results.examined("Slow()", "second", compute, encode=bytes, decode=bytes)
"""


def examine(results: Results, compute: Callable[[], bytes]) -> bytes:
    return results.examined("Slow()", "first", compute, encode=bytes, decode=bytes)


def test_kill_9_in_an_examination_loses_nothing_that_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, counts = tmp_path / "run.db", tmp_path / "counts.txt"
    program = EXAMINATION.format(here=HERE, store=str(store))
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "computing\n"
    process.kill()
    process.communicate()
    monkeypatch.setenv("TOY_COUNTS", str(counts))
    results = experiment().run(store=store)
    assert not counts.exists()  # every figure is there
    assert results.measurement("Slow(number=3)", Loss).value == 3.0
    with sqlite3.connect(store) as connection:
        assert connection.execute("SELECT count(*) FROM examinations").fetchone() == (1,)
    connection.close()

    def compute() -> bytes:
        return b"again"

    assert results.examined("Slow()", "second", compute, encode=bytes, decode=bytes) == b"again"
