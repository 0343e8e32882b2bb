"""How far it is: a sweep, in a small file in its folder for who watches from outside, and a pass over parts."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Literal

from sfumato.errors import FileError, SfumatoError
from sfumato.project.folder import is_locked

if TYPE_CHECKING:
    from sfumato.compare.examine.findings import Piece
    from sfumato.compare.examine.look import Lines
    from sfumato.compare.progress import Watch

State = Literal["running", "done", "failed", "stopped"]
Phase = Literal["original", "candidates", "audit", "examination", "report", "release"]
NAME = "progress.json"
SELDOM = 0.2  # seconds between two writes; another phase or state is written at once
HearsParts = Callable[[int, int, float], None]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a sweep is."""

    state: State = "running"
    phase: Phase = "original"
    done: int = 0  # of ``total``: tables in "candidates", candidates in "audit", pieces in "examination"
    total: int = 0
    running: tuple[str, ...] = ()  # labels of the candidates that are masked and measured, or what is looked at
    candidate: str = ""  # the one that is audited, examined or released
    started: str = ""  # of the sweep, UTC
    updated: str = ""
    seconds_left: float | None = None  # of this phase, by the rate so far; None: not known
    part: int = 0  # of a table in parts: how many of ``parts`` the pass over them that runs has done
    parts: int = 0
    pass_seconds_left: float | None = None
    pid: int = 0
    message: str = ""  # why it failed

    @staticmethod
    def read(folder: str | Path) -> "Progress | None":
        """Return how far the sweep in a folder is or was; None where there is none.

        A sweep whose process was killed could not say so: if nobody holds the folder any more, it has failed.
        """
        from sfumato.compare.plain import from_file

        place, cure = Path(folder) / NAME, "remove it: the next sweep writes another"
        found = from_file(Progress, place, cure)
        if found is None or found.state != "running" or is_locked(folder):
            return found
        found = from_file(Progress, place, cure) or found  # it may just have ended
        ended = f"process {found.pid} was ended before the sweep was done; run it again to continue"
        return found if found.state != "running" else replace(found, state="failed", running=(), message=ended)


Hears = Callable[[Progress], None]


class Recorder:
    """Keeps the progress of one sweep, and tells it: to the file, to who ``hears``, and with ``bars`` to the terminal.

    It is what an experiment and an examination take as their watcher.
    """

    def __init__(self, folder: Path, *, hears: Hears | None = None, bars: bool = False) -> None:
        self._place, self._hears, self._bars = folder / NAME, hears, bars
        self._began, self._changed, self._one_by_one = monotonic(), False, Lock()
        self._bar: Watch | None = None
        self.now = Progress(started=_utc(), pid=os.getpid())

    def phase(self, phase: Phase, *, total: int = 0, candidate: str = "") -> None:
        """Begin another phase."""
        self._began = monotonic()
        self._tell(
            replace(self.now, phase=phase, done=0, total=total, running=(), candidate=candidate, seconds_left=None),
            at_once=True,
        )

    def step(self, *, candidate: str, done: int) -> None:
        """Tell which candidate comes next in a phase, and how many are done."""
        self._tell(self._at(done, replace(self.now, candidate=candidate, running=(candidate,))))

    @contextmanager
    def tables(self, total: int, known: int) -> "Iterator[Watch]":
        """Follow an experiment of this many tables."""
        from sfumato.compare.progress import watch

        self.phase("candidates", total=total)
        with watch(total, known, shown=self._bars) as bar:
            self._bar = bar
            try:
                yield _Tables(self, bar)
            finally:
                self._bar = None

    @contextmanager
    def pieces(self, wanted: "tuple[Piece, ...]") -> "Iterator[Lines]":
        """Follow an examination of these pieces."""
        from sfumato.compare.examine.look import lines

        self.phase("examination", total=len(wanted), candidate=self.now.candidate)
        with lines(wanted, shown=self._bars) as shown:
            yield _Pieces(self, shown)

    def part(self, done: int, total: int, left: float) -> None:
        """Tell how far a pass over the parts of a table is."""
        self._tell(replace(self.now, part=done, parts=total, pass_seconds_left=round(left, 1)))
        if self._bar is not None:
            self._bar.part(done, total)

    @property
    def draws(self) -> bool:
        """Whether something is drawn on the terminal that a line of its own would disturb."""
        return self._bars and self.now.phase in ("candidates", "examination")

    def began(self, name: str) -> None:
        """Tell that something is being worked on."""
        self._tell(replace(self.now, running=(*self.now.running, name)))

    def ended(self, name: str) -> None:
        """Tell that something is done."""
        left = list(self.now.running)
        with suppress(ValueError):
            left.remove(name)
        self._tell(self._at(self.now.done + 1, replace(self.now, running=tuple(left))))

    def close(self, state: State, message: str = "") -> None:
        """Tell how the sweep ended."""
        self._tell(replace(self.now, state=state, message=message, running=(), seconds_left=None), at_once=True)

    def _at(self, done: int, now: Progress) -> Progress:
        gone = monotonic() - self._began
        left = round(gone / done * (now.total - done), 1) if 0 < done <= now.total else None
        return replace(now, done=done, seconds_left=left)

    def _tell(self, now: Progress, *, at_once: bool = False) -> None:
        self.now = replace(now, updated=_utc())
        self._changed = True
        if self._hears is not None:
            self._hears(self.now)
        if at_once:
            self.write()

    def write(self) -> None:
        """Write what has changed since it was written last."""
        from sfumato.compare.plain import to_json
        from sfumato.report.page import save

        with self._one_by_one:
            if self._changed:
                self._changed = False
                save(self._place, to_json(self.now, indent=1).encode())


class _Tables:
    """What an experiment tells."""

    def __init__(self, recorder: Recorder, bar: "Watch") -> None:
        self._recorder, self._bar = recorder, bar

    def running(self, name: str) -> None:
        self._bar.running(name)
        self._recorder.began(name)

    def finished(self, name: str) -> None:
        self._bar.finished(name)
        self._recorder.ended(name)

    def part(self, done: int, total: int) -> None:
        self._bar.part(done, total)


class _Pieces:
    """What an examination tells."""

    def __init__(self, recorder: Recorder, shown: "Lines") -> None:
        self._recorder, self._shown = recorder, shown

    @contextmanager
    def running(self, piece: "Piece") -> Iterator[Callable[[int, int], None]]:
        from sfumato.compare.examine.look import SAID

        self._recorder.began(SAID[piece])
        with self._shown.running(piece) as told:
            yield told
        self._recorder.ended(SAID[piece])


@contextmanager
def recorded(folder: Path, *, hears: Hears | None = None, bars: bool = False) -> Iterator[Recorder]:
    """Record a sweep from its first phase to its end, whatever ends it."""
    recorder = Recorder(folder, hears=hears, bars=bars)
    recorder.phase("original", total=1)
    try:
        with _now_and_then(recorder.write):
            yield recorder
    except BaseException as error:
        stopped = isinstance(error, KeyboardInterrupt | SystemExit)
        said = str(error) if isinstance(error, SfumatoError) or stopped else f"{type(error).__name__}: {error}"
        with suppress(FileError):  # the disk may be what failed
            recorder.close("stopped" if stopped else "failed", said)
        raise
    recorder.close("done")


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


def _utc() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class PartsWatch:
    """Counts parts; an engine calls it after each one. ``what`` says what is done, ``quiet`` that others draw."""

    def __init__(self, *, shown: bool | None = None, hears: HearsParts | None = None) -> None:
        self.what = "looking through the files"
        self.quiet: Callable[[], bool] = lambda: False
        self._shown = sys.stderr.isatty() if shown is None else shown and sys.stderr.isatty()
        self._hears, self._start, self._drawn = hears, monotonic(), False

    def __call__(self, done: int, total: int) -> None:
        """Tell that so many parts of a pass are done."""
        if done == 1:
            self._start = monotonic()
        left = (monotonic() - self._start) / max(done - 1, 1) * (total - done)
        if self._hears is not None:
            self._hears(done, total, left)
        if self._shown and not self.quiet():
            sys.stderr.write(f"\r\033[K{self.what}: part {done} of {total}, {left:.0f} s left")
            sys.stderr.flush()
            self._drawn = True
            if done == total:
                self.end()

    def end(self) -> None:
        """Remove the line."""
        if self._drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            self._drawn = False
