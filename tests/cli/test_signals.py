"""How a command ends that is told to: by a signal as by Ctrl-C, and for lack of memory in a sentence."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from small_survey import run, write_survey
from waiting import PATIENCE, until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX systems know them")


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Let commands hear SIGHUP, whatever started these tests: one that is ignored is inherited, as nohup wants it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def started(*words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "sfumato", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(store: Path) -> int:
    """Count the figures that are safe on disk."""
    if not store.is_file():
        return 0
    connection = sqlite3.connect(store, timeout=PATIENCE)
    try:
        return int(connection.execute("SELECT count(*) FROM cells").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("number", "code", "workers", "group"),
    [
        (signal.SIGTERM, 143, 1, False),
        (signal.SIGTERM, 143, 2, False),
        (signal.SIGTERM, 143, 2, True),  # as a service manager ends a job
        (signal.SIGHUP, 129, 2, True),  # as a terminal that is closed
        (signal.SIGINT, 130, 2, True),
    ],
)
def test_a_sweep_told_to_end_keeps_what_it_has_and_ends_its_workers(
    number: signal.Signals, code: int, workers: int, group: bool, tmp_path: Path
) -> None:
    survey, out = write_survey(tmp_path), tmp_path / "release"
    words = ["sweep", survey, "--out", out, "--workers", workers, "--replicates", 400, "--seed", 2**50]
    words += ["--method", "RankSwapping(p=[0.1, 0.2])", "--measure", "InformationLoss"]
    running = started(*words)
    store = out / "results.sqlite"
    until(lambda: finished(store) >= 10 or running.poll() is not None, "the sweep did not get going")
    (os.killpg if group else os.kill)(running.pid, number)
    _, messages = running.communicate(timeout=PATIENCE)  # until nobody holds its output any more, workers included
    assert running.returncode == code, messages
    assert "run the same command again to continue" in messages and "Traceback" not in messages
    assert finished(store) >= 10


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_any_command_ends_with_a_line(number: signal.Signals, tmp_path: Path) -> None:
    survey = write_survey(tmp_path)
    pipe = tmp_path / "waits.csv"
    os.mkfifo(pipe)
    running = started("compare", survey, pipe)
    writing = os.open(pipe, os.O_WRONLY)  # returns when the command has begun to read
    time.sleep(0.2)
    running.send_signal(number)
    _, messages = running.communicate(timeout=PATIENCE)
    os.close(writing)
    assert running.returncode == 128 + number, messages
    assert messages.strip() == "sfumato: stopped"


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    survey = write_survey(tmp_path)
    pipe = tmp_path / "waits.csv"
    os.mkfifo(pipe)
    ignoring = f"trap '' HUP; exec {sys.executable} -m sfumato compare {survey} {pipe}"  # as nohup does
    running = subprocess.Popen(["sh", "-c", ignoring], stderr=subprocess.PIPE, text=True)
    writing = os.open(pipe, os.O_WRONLY)
    time.sleep(0.2)
    running.send_signal(signal.SIGHUP)
    os.write(writing, survey.read_bytes())
    os.close(writing)
    _, messages = running.communicate(timeout=PATIENCE)
    assert running.returncode in (0, 1, 2), messages
    assert "stopped" not in messages


def test_a_lack_of_memory_ends_in_a_sentence(survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 7.45 GiB for an array with shape (1000000000,)")

    monkeypatch.setattr("sfumato.auditing.proposals.describe", too_much)
    done = run("inspect", survey)
    assert done.exit_code == 1
    assert done.stderr.startswith("sfumato: ") and "not enough memory" in done.stderr and "7.45 GiB" in done.stderr
    assert len(done.stderr.splitlines()) == 1
