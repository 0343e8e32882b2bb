"""Processes of this machine as an executor: what they answer, and what becomes of a call whose process dies."""

import os
import signal
import time
from pathlib import Path
from typing import BinaryIO

import pytest

from sfumato import EngineError, NotApplicable, ParameterError
from sfumato.engine import LocalProcesses, worker


def test_calls_are_answered_in_whatever_order_they_end() -> None:
    with LocalProcesses(2) as processes:
        assert list(processes.map(lambda x: x * x, range(20))) == [x * x for x in range(20)]
        assert processes.deaths == 0 and processes.peak_bytes > 0 and len(processes.pids) <= 2


def test_errors_come_back_as_they_are() -> None:
    def refuse() -> None:
        raise NotApplicable("no keys").by("KAnonymity")

    with LocalProcesses(1) as processes:
        with pytest.raises(NotApplicable, match="KAnonymity: no keys"):
            processes.submit(refuse).result()
        with pytest.raises(ZeroDivisionError):
            processes.submit(divmod, 1, 0).result()
        assert processes.submit(print, "not an answer").result() is None


def test_a_call_whose_process_is_killed_is_done_again(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")

    def once() -> int:
        first = not os.path.exists(mark)  # noqa: PTH110 - sent to a process that imports nothing of the test
        if first:
            open(mark, "w").close()  # noqa: PTH123
            os.kill(os.getpid(), signal.SIGKILL)
        return 7

    with LocalProcesses(2) as processes:
        calls = [processes.submit(pow, 2, n) for n in range(10)]
        lost = processes.submit(once)
        assert lost.result() == 7 and processes.deaths == 1
        assert [call.result() for call in calls] == [2**n for n in range(10)]


def test_a_call_that_kills_every_process_is_given_up() -> None:
    def die() -> None:
        os._exit(3)

    with LocalProcesses(1) as processes:
        with pytest.raises(EngineError, match="25 processes died over the same call, the last by exit code 3"):
            processes.submit(die).result()
        assert processes.submit(abs, -2).result() == 2  # and the next call is done


def test_an_answer_that_cannot_be_taken_ends_the_call_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    receive, failures = worker.receive, [MemoryError("no room for the answer")]

    def short_of_memory(source: BinaryIO) -> bytes | None:
        if failures:
            raise failures.pop()
        return receive(source)

    monkeypatch.setattr(worker, "receive", short_of_memory)
    with LocalProcesses(1) as processes:
        with pytest.raises(EngineError, match="cannot be read: MemoryError: no room for the answer"):
            processes.submit(abs, -1).result()
        assert processes.submit(abs, -2).result() == 2


def test_shutdown_ends_the_processes() -> None:
    processes = LocalProcesses(1)
    assert processes.submit(abs, -1).result() == 1
    (pid,) = processes.pids
    slow = processes.submit(time.sleep, 600)
    while not slow.running():
        time.sleep(0.01)
    processes.shutdown(cancel_futures=True)
    with pytest.raises(EngineError, match="ended before"):
        slow.result()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(RuntimeError, match="have been ended"):
        processes.submit(abs, 1)


def test_how_many() -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        LocalProcesses(0)
    assert LocalProcesses().number >= 1
