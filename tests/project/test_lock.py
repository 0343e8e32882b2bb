"""One sweep at a time: the lock of a folder, held by real processes."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import FileError
from sfumato.project.engines import engine_for
from sfumato.project.folder import held, is_locked, refuse_running, running
from sfumato.project.progress import read_progress

HOLD = """
import sys, pathlib
from sfumato.project.folder import held
from sfumato.project.progress import recorded
folder = pathlib.Path(sys.argv[1])
with held(folder), recorded(folder):
    print("held", flush=True)
    sys.stdin.read()
"""


def holding(folder: Path) -> "subprocess.Popen[str]":
    words: Any = [sys.executable, "-c", HOLD, str(folder)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_refused_and_the_first_is_named(tmp_path: Path) -> None:
    with holding(tmp_path) as process:
        assert is_locked(tmp_path)
        holder = running(tmp_path)
        assert holder is not None and holder.pid == process.pid
        named = re.escape(f"process {process.pid}, since {holder.since}")
        with pytest.raises(FileError, match=named), held(tmp_path):
            pass
        with pytest.raises(FileError, match=named):
            refuse_running(tmp_path)
        found = read_progress(tmp_path)
        assert found is not None and found.state == "running" and found.pid == process.pid
        process.communicate("")
    assert not is_locked(tmp_path) and running(tmp_path) is None
    with held(tmp_path):
        assert is_locked(tmp_path)
    found = read_progress(tmp_path)
    assert found is not None and found.state == "done"


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX systems")
def test_a_killed_process_frees_the_folder_and_its_progress_says_so(tmp_path: Path) -> None:
    with holding(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    refuse_running(tmp_path)
    found = read_progress(tmp_path)
    assert found is not None and found.state == "failed"
    assert f"process {process.pid} was ended" in found.message
    with held(tmp_path):
        holder = running(tmp_path)
        assert holder is not None and holder.pid == os.getpid()


def test_the_same_thread_may_hold_a_folder_again_and_another_may_not(tmp_path: Path) -> None:
    refused: list[str] = []

    def try_to_hold() -> None:
        try:
            with held(tmp_path):
                pass
        except FileError as error:
            refused.append(str(error))

    with held(tmp_path):
        with held(tmp_path):
            pass
        assert is_locked(tmp_path)
        thread = threading.Thread(target=try_to_hold)
        thread.start()
        thread.join()
    assert len(refused) == 1 and f"process {os.getpid()}" in refused[0]
    try_to_hold()
    assert len(refused) == 1


def test_the_lock_is_for_its_owner_and_a_folder_that_is_not_there_is_not_locked(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "none") and running(tmp_path / "none") is None
    with pytest.raises(FileError, match="cannot lock"), held(tmp_path / "none"):
        pass
    with held(tmp_path):
        pass
    if os.name == "posix":
        assert (tmp_path / "lock").stat().st_mode & 0o077 == 0


@pytest.mark.skipif(sys.platform == "win32", reason="only POSIX systems know locks that are shared")
def test_two_who_look_at_the_same_time_do_not_take_each_other_for_a_sweep(tmp_path: Path) -> None:
    import fcntl

    with held(tmp_path):
        pass
    with (tmp_path / "lock").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)  # as another thread or server that looks just now
        assert not is_locked(tmp_path)
        refuse_running(tmp_path)


def test_a_run_that_will_be_refused_leaves_what_the_other_has_put_aside(tmp_path: Path) -> None:
    """The folder is locked once the work begins; two that look at their tables at the same time know nothing of it."""
    register = tmp_path / "register"
    register.mkdir()
    with engine_for(register, engine="here", out=tmp_path / "out") as first:
        assert first is not None
        (first.folder / "column").write_text("values")
        with engine_for(register, engine="here", out=tmp_path / "out") as second:
            assert second is not None and second.folder != first.folder
        assert (first.folder / "column").exists()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["summaries.sqlite"]
