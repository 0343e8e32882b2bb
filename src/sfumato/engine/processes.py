"""Processes of this machine as an executor that outlives the death of any of them.

Python's own pool is broken as a whole when one process dies, for lack of memory say, and loses what all others were
doing. Here each process has a thread that speaks to it. If it dies, another takes its place and does the lost call
again.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, ParamSpec, TypeVar, cast

from sfumato.engine import worker
from sfumato.errors import EngineError, ParameterError

P = ParamSpec("P")
T = TypeVar("T")
Call = tuple["Future[Any]", bytes]
MAX_DEATHS = 25  # of processes over one call, before it is taken for what kills them
# the processes fill the machine, so that each has one thread
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_IO_THREADS")
# columns of a part are made anew all the time: glibc is to use their memory again rather than ask the system for it
REUSED = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**26)}


class LocalProcesses(Executor):
    """Processes that compute what is submitted; a call whose process dies is done again by another.

    >>> with LocalProcesses(1) as processes:
    ...     processes.submit(divmod, 17, 5).result()
    (3, 2)
    """

    def __init__(self, number: int | None = None) -> None:
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise ParameterError(f"LocalProcesses: the number of processes must be at least 1; got {number!r}")
        self.number = number or cores()
        self.deaths = 0
        self.peak_bytes = 0  # the most memory that one of the processes has used
        self.cpu_seconds = 0.0  # of all calls
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that run now."""
        with self._lock:
            return tuple(process.pid for process in self._running)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Have a call computed by one of the processes."""
        import cloudpickle

        if kwargs:
            raise TypeError("arguments go by position")
        content: bytes = cloudpickle.dumps((fn, args), protocol=5)
        with self._lock:
            if self._closed:
                raise RuntimeError("the processes have been ended")
            if len(self._threads) < self.number:
                thread = threading.Thread(target=self._serve, daemon=True)
                self._threads.append(thread)
                thread.start()
        future: Future[T] = Future()
        self._calls.put((future, content))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """End the processes, after the calls submitted so far unless these are cancelled."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            threads = list(self._threads)
        if cancel_futures:
            while not self._calls.empty():
                call = self._calls.get()
                if call is not None:
                    call[0].cancel()
            with self._lock:
                running = list(self._running)
            for process in running:
                process.kill()
        for _ in threads:
            self._calls.put(None)
        if wait:
            for thread in threads:
                thread.join()

    def _serve(self) -> None:
        """Hand calls to one process, and to the one after it where it dies."""
        process: subprocess.Popen[bytes] | None = None
        while (call := self._calls.get()) is not None:
            future, content = call
            if not future.set_running_or_notify_cancel():
                continue
            for _ in range(MAX_DEATHS):
                try:
                    process = process or self._start()
                except OSError as error:
                    future.set_exception(EngineError(f"no process can be started: {error}"))
                    break
                try:
                    answer = _asked(process, content)
                except Exception as error:  # such as a result too large for what memory is left
                    self._end(process, kill=True)
                    process = None
                    future.set_exception(EngineError(f"what a process sent cannot be read: {_named(error)}"))
                    break
                if answer is not None:
                    self._answer(future, answer)
                    break
                how = self._end(process)
                process = None
                if self._closed:
                    future.set_exception(EngineError("the processes were ended before the call was done"))
                    break
                self.deaths += 1
            else:
                future.set_exception(EngineError(_killed(how)))
        if process is not None:
            self._end(process)

    def _answer(self, future: "Future[Any]", answer: bytes) -> None:
        try:
            well, result, peak, seconds = pickle.loads(answer)
        except Exception as error:
            future.set_exception(EngineError(f"what a process sent cannot be read: {_named(error)}"))
            return
        with self._lock:
            self.peak_bytes = max(self.peak_bytes, peak)
            self.cpu_seconds += seconds
        if well:
            future.set_result(result)
        else:
            future.set_exception(result)

    def _start(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-P", str(Path(worker.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**REUSED, **os.environ, **dict.fromkeys(ONE_THREAD, "1")},
        )
        with self._lock:
            self._running.add(process)
        with suppress(OSError):  # it may be dead already, which shows when it is asked
            worker.send(cast(BinaryIO, process.stdin), pickle.dumps(sys.path))
        return process

    def _end(self, process: "subprocess.Popen[bytes]", *, kill: bool = False) -> int:
        with self._lock:
            self._running.discard(process)
        if kill:  # it may be in the middle of an answer
            process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                cast(BinaryIO, pipe).close()
        return process.wait()


def _asked(process: "subprocess.Popen[bytes]", content: bytes) -> bytes | None:
    """Send a call and return the answer; None if the process is dead."""
    try:
        worker.send(cast(BinaryIO, process.stdin), content)
        return worker.receive(cast(BinaryIO, process.stdout))
    except OSError:
        return None


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _killed(how: int) -> str:
    signal = f"signal {-how}" if how < 0 else f"exit code {how}"
    why = " (often for lack of memory: give less --memory, or smaller parts)" if how == -9 else ""
    return f"{MAX_DEATHS} processes died over the same call, the last by {signal}{why}"


def cores() -> int:
    """Return how many cores this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
