"""Files that are being read: each in a thread of its own, so that no page waits long and a reading can be cancelled."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from sfumato.errors import Cancelled, FileError, LackOfMemory, SfumatoError
from sfumato.table.capacity import watched

PATIENCE = 0.5  # seconds that a page waits for what it reads, all in all; most files are there by then
MAX_FAILED = 64  # failures that are remembered, the latest ones
_numbers = count(1)
_end: ContextVar[float | None] = ContextVar("end", default=None)  # when a page waits no longer; None: it waits


@dataclass
class Reading:
    """One file that is being read: how far it is."""

    file: Path
    number: int = field(default_factory=_numbers.__next__)
    act: str = "reading"
    share: float | None = None
    cancelled: bool = False
    error: SfumatoError | None = None
    ended: Event = field(default_factory=Event)

    def hear(self, act: str, done: int, total: int) -> None:
        """Hear how far the reading is; end it if it was cancelled."""
        if self.cancelled:
            raise self.stopped()
        self.act, self.share = act, min(done / total, 1.0) if done and total else None

    def stopped(self) -> Cancelled:
        """Return what the pages say of a reading that was cancelled."""
        return Cancelled(f"The reading of {self.file.name} was cancelled.")


class StillReading(Exception):  # noqa: N818 - nothing is wrong, so that nobody who catches errors catches it
    """Raised where a page waits no longer for a file that is being read; it shows how far that is instead."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(f"{reading.file.name} is still being read")
        self.reading = reading


class Readings:
    """What is being read for a desk, and what could not be read: it is not tried again at each visit."""

    def __init__(self) -> None:
        self.patience = PATIENCE
        self._going: dict[str, Reading] = {}
        self._failed: OrderedDict[str, tuple[Path, SfumatoError]] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """Wait for files only as long as a page does; elsewhere they are waited for until they are read."""
        token = _end.set(time.monotonic() + self.patience)
        try:
            yield
        finally:
            _end.reset(token)

    def read(self, key: str, file: Path, make: Callable[[], Any], keep: Callable[[Any], object]) -> None:
        """Read in a thread, once for all who ask, and keep what is made; raise what went wrong, now or before."""
        with self._lock:
            if key in self._failed:
                raise self._failed[key][1].with_traceback(None)
            reading = self._going.get(key)
            if reading is None:
                reading = self._going[key] = Reading(file)
                Thread(target=self._carry_out, args=(key, reading, make, keep), daemon=True).start()
        end = _end.get()
        if not reading.ended.wait(None if end is None else max(end - time.monotonic(), 0)):
            raise StillReading(reading)
        if reading.error is not None:
            raise reading.error.with_traceback(None)

    def _carry_out(self, key: str, reading: Reading, make: Callable[[], Any], keep: Callable[[Any], object]) -> None:
        error: SfumatoError | None = None
        try:
            with watched(reading.hear):
                made = make()
            if not reading.cancelled:
                keep(made)
        except SfumatoError as trouble:
            error = trouble
        except MemoryError:
            error = LackOfMemory(f"{reading.file} does not fit into memory; take a sample of its records")
        except Exception as trouble:
            logging.getLogger(__name__).exception("reading %s", reading.file)
            kind = type(trouble).__name__
            error = FileError(f"{reading.file} cannot be read: something went wrong in the program itself ({kind})")
        with self._lock:
            if not reading.cancelled:  # else it has ended for everybody
                self._end(key, reading, error)

    def _end(self, key: str, reading: Reading, error: SfumatoError | None, *, remembered: bool = True) -> None:
        """Let go whoever waits for a reading."""
        self._going.pop(key, None)
        if error is not None and remembered:
            error.__cause__ = error.__context__ = None  # they would hold on to what was read
            self._failed[key] = reading.file, error.with_traceback(None)
            while len(self._failed) > MAX_FAILED:
                self._failed.popitem(last=False)
        reading.error = error
        reading.ended.set()

    def cancel(self, number: int | None = None) -> None:
        """End a reading, which is remembered; or all of them, because another file was chosen."""
        with self._lock:
            for key, reading in list(self._going.items()):
                if number in (None, reading.number):
                    reading.cancelled = True
                    self._end(key, reading, reading.stopped(), remembered=number is not None)

    def forget(self, file: Path) -> None:
        """Forget that a file could not be read, because it is to be tried again."""
        with self._lock:
            for key in [key for key, (failed, _) in self._failed.items() if failed == file]:
                del self._failed[key]
