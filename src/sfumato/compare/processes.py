"""Worker processes: they end with their parent, and read the original from one copy that goes with the last of them."""

import mmap
import os
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from time import sleep
from typing import Any

from sfumato.data.microdata import Microdata

OPEN_FILES = Path(f"/proc/{os.getpid()}/fd")  # through which another process reaches a file that has no name
ALIGNED = 64  # bytes: where a column may begin, as processors like it


def workers(number: int, *, unordered: bool = True) -> Any:
    """Return joblib's way to run tasks in that many processes, one thread in each: the processes fill the machine.

    Results come as they are finished, or in the order of the tasks. It shares no arrays of its own: the files that it
    makes for them stay when everything is killed at once.
    """
    from joblib import Parallel, parallel_config

    _start_the_cleaner()
    with parallel_config(backend="loky", inner_max_num_threads=1):  # a backend named below would have many threads
        return Parallel(
            n_jobs=number,
            return_as="generator_unordered" if unordered else "generator",
            batch_size=1,
            max_nbytes=None,
            temp_folder=tempfile.gettempdir(),  # else it makes a folder in shared memory beforehand
            initializer=end_with,
            initargs=(os.getpid(),),
        )


def _start_the_cleaner() -> None:
    """Start joblib's process that cleans up after the others: it must outlive a terminal that is closed."""
    import signal

    from joblib.externals.loky.backend import resource_tracker

    if not hasattr(signal, "pthread_sigmask"):
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})  # what it is born with, it keeps
    try:
        resource_tracker.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with(parent: int) -> None:
    """Watch whether the process that started this one is still there; end if it was killed.

    Its number is handed over: whoever asks for it may be an orphan by then. Signals that reach every process of a
    terminal or a job are left to the parent, which decides what becomes of the others.
    """
    import signal
    import threading

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@dataclass(frozen=True)
class Shared:
    """A table in a file without a name, which other processes map into memory and which goes with the last of them."""

    place: str  # the file, among those that its maker has open
    sizes: tuple[int, ...]  # bytes of the pickle and of each column
    fingerprint: str  # of the table

    def read(self) -> Microdata:
        """Return the table; its columns are the shared ones."""
        with Path(self.place).open("rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        starts = accumulate((_aligned(size) for size in self.sizes), initial=0)
        frame, *buffers = (mapped[start:][:size] for start, size in zip(starts, self.sizes, strict=False))
        table: Microdata = pickle.loads(frame, buffers=buffers)
        return table


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


@contextmanager
def shared(table: Microdata, folder: Path | None) -> Iterator[Shared | Microdata]:
    """Put a table where workers can read it, in a folder with room for it; elsewhere it is sent with every task."""
    if not OPEN_FILES.is_dir():  # a system without them
        yield table
        return
    columns: list[pickle.PickleBuffer] = []
    frame = pickle.dumps(table, protocol=5, buffer_callback=columns.append)
    parts = [memoryview(frame), *(column.raw() for column in columns)]
    with tempfile.TemporaryFile(dir=folder) as file:
        written = _write(file, parts)
        sizes = tuple(part.nbytes for part in parts)
        yield Shared(f"{OPEN_FILES}/{file.fileno()}", sizes, table.fingerprint) if written else table


def _write(file: Any, parts: list[memoryview]) -> bool:
    """Write a table; tell whether there was room for it."""
    with suppress(OSError):
        for part in parts:
            file.write(part)
            file.write(bytes(_aligned(part.nbytes) - part.nbytes))
        file.flush()
        return True
    return False
