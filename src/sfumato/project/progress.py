"""How far a sweep is, in a small file in its folder for who watches from outside."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock, Thread

from sfumato.compare import plain
from sfumato.compare.progress import Bar, Listener, Progress, Steps
from sfumato.errors import FileError, SfumatoError
from sfumato.project.folder import is_locked

NAME = "progress.json"
SELDOM = 0.2  # seconds between two writes; another phase or state is written at once


def read_progress(folder: str | Path) -> Progress | None:
    """Return how far the sweep in a folder is or was; None where there is none.

    A sweep whose process was killed could not say so: if nobody holds the folder any more, it has failed.
    """
    place, cure = Path(folder) / NAME, "remove it: the next sweep writes another"
    found = plain.from_file(Progress, place, cure)
    if found is None or found.state != "running" or is_locked(folder):
        return found
    found = plain.from_file(Progress, place, cure) or found  # it may just have ended
    ended = f"process {found.pid} was ended before the sweep was done; run it again to continue"
    return found if found.state != "running" else replace(found, state="failed", running=(), message=ended)


class ProgressFile:
    """A listener that keeps the file: another phase or state at once, all else when ``write`` is called."""

    def __init__(self, folder: Path) -> None:
        self._place, self._one_by_one = folder / NAME, Lock()
        self._now, self._changed = Progress(), False

    def __call__(self, now: Progress) -> None:
        """Keep what is told."""
        at_once = (now.phase, now.state, now.started) != (self._now.phase, self._now.state, self._now.started)
        self._now, self._changed = now, True
        if at_once:
            self.write()

    def write(self) -> None:
        """Write what has changed since it was written last."""
        from sfumato.report.page import save

        with self._one_by_one:
            if self._changed:
                self._changed = False
                save(self._place, plain.to_json(self._now, indent=1).encode())


@contextmanager
def recorded(folder: Path, *, hears: Listener | None = None, bars: bool = False) -> Iterator[Steps]:
    """Record a sweep from its first phase to its end, whatever ends it."""
    file = ProgressFile(folder)
    steps = Steps(*([hears] if hears is not None else []), file, *([Bar()] if bars else []))
    steps.phase("original", total=1)
    try:
        with _now_and_then(file.write):
            yield steps
    except BaseException as error:
        stopped = isinstance(error, KeyboardInterrupt | SystemExit)
        said = str(error) if isinstance(error, SfumatoError) or stopped else f"{type(error).__name__}: {error}"
        with suppress(FileError):  # the disk may be what failed
            steps.close("stopped" if stopped else "failed", said)
        raise
    steps.close("done")


@contextmanager
def _now_and_then(write: Callable[[], None]) -> Iterator[None]:
    """Write beside the work, so that what happened last is never left unwritten for long."""
    ended = Event()

    def go_on() -> None:
        while not ended.wait(SELDOM):
            with suppress(FileError):  # the work itself will meet the same disk, and say so
                write()

    writer = Thread(target=go_on, daemon=True)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()
