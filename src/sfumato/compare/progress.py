"""How far a long piece of work is: it tells its steps, and a bar on the terminal, a file and a page listen."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Literal

from sfumato.display import visible

State = Literal["running", "done", "failed", "stopped"]
Phase = Literal["original", "candidates", "audit", "examination", "report", "release"]
UNITS: dict[Phase, str] = {"candidates": "tables", "examination": "looks"}  # phases that have a bar, and what it counts
BAR, SHORTEST_BAR = 40, 8  # characters
NAME, SHORTEST_NAME = 40, 8


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far it is."""

    state: State = "running"
    phase: Phase = "original"
    done: int = 0  # of ``total``: tables in "candidates", candidates in "audit", pieces in "examination"
    total: int = 0
    known: int = 0  # figures that are in the store already
    running: tuple[str, ...] = ()  # labels of the candidates that are masked and measured, or what is looked at
    candidate: str = ""  # the one that is audited, examined or released
    started: str = ""  # of all of it, UTC
    updated: str = ""
    seconds_left: float | None = None  # of this phase, by the rate so far; None: not known
    part: int = 0  # of ``parts`` of a table, or of what is running: how many are done
    parts: int = 0
    pass_seconds_left: float | None = None
    pid: int = 0
    message: str = ""  # why it failed


Listener = Callable[[Progress], None]


class Steps:
    """What a long piece of work tells: its phase, what of it runs, and how many of how many steps are done."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = listeners
        self._phase_began = self._pass_began = monotonic()
        self.now = Progress(started=_utc(), pid=os.getpid())

    def phase(self, phase: Phase, *, total: int = 0, known: int = 0, candidate: str = "") -> None:
        """Begin another phase, of so many steps."""
        self._phase_began = monotonic()
        self._tell(
            phase=phase, done=0, total=total, known=known, candidate=candidate, running=(), seconds_left=None, parts=0
        )

    def step(self, *, candidate: str, done: int) -> None:
        """Tell which candidate comes next in a phase, and how many are done."""
        self._tell(candidate=candidate, running=(candidate,), done=done, seconds_left=self._left(done))

    def began(self, name: str) -> None:
        """Tell that something is being worked on."""
        self._tell(running=(*self.now.running, name), parts=0)

    def ended(self, name: str) -> None:
        """Tell that something is done: one step of the phase."""
        running, done = list(self.now.running), self.now.done + 1
        with suppress(ValueError):
            running.remove(name)
        self._tell(running=tuple(running), done=done, seconds_left=self._left(done), parts=0)

    def part(self, done: int, total: int) -> None:
        """Tell how far a pass over parts, or what is running, is."""
        if done <= 1:
            self._pass_began = monotonic()
        left = (monotonic() - self._pass_began) / max(done - 1, 1) * (total - done)
        self._tell(part=done, parts=total, pass_seconds_left=round(left, 1))

    def close(self, state: State = "done", message: str = "") -> None:
        """Tell how it ended."""
        self._tell(state=state, message=message, running=(), seconds_left=None)

    def _left(self, done: int) -> float | None:
        gone, total = monotonic() - self._phase_began, self.now.total
        return round(gone / done * (total - done), 1) if 0 < done <= total else None

    def _tell(self, **changes: Any) -> None:
        self.now = replace(self.now, updated=_utc(), **changes)
        for listener in self._listeners:
            listener(self.now)


@contextmanager
def steps_of(progress: "bool | Steps") -> Iterator[Steps]:
    """Return the steps to tell: those given, or new ones, which a bar on the terminal or nobody listens to."""
    if isinstance(progress, Steps):
        yield progress
        return
    steps = Steps(*([Bar()] if progress else []))
    try:
        yield steps
    finally:
        steps.close()


def shared_out(width: int, rest: int) -> tuple[int, int]:
    """Share the width of a line out to the name and the bar, so that the rest of it, counter and times, stays whole.

    >>> shared_out(120, 45), shared_out(80, 45), shared_out(40, 45)
    ((40, 35), (27, 8), (8, 8))
    """
    name = max(min(NAME, width - rest - SHORTEST_BAR), SHORTEST_NAME)
    return name, max(min(BAR, width - rest - name), SHORTEST_BAR)


class Bar:
    """A listener that shows on the terminal what is running and what is left; silent where there is none.

    Phases of many steps have a bar, a pass over the parts of a table outside of them a line.
    """

    def __init__(self, console: Any = None) -> None:
        from rich.console import Console

        self._console = console or Console(stderr=True)
        self._progress: Any = None
        self._before = Progress()
        self._name, self._width, self._line = "starting", NAME, False

    def __call__(self, now: Progress) -> None:
        """Show what has changed."""
        if not self._console.is_terminal:
            return
        before, self._before = self._before, now
        self._name = next(iter(reversed(now.running)), self._name)
        told = f"{self._name}, {now.part} of {now.parts}" if now.parts and now.part < now.parts else self._name
        another = (now.phase, now.total) != (before.phase, before.total)
        ended = now.state != "running" or now.phase not in UNITS or now.done == now.total
        if not ended and (another or self._progress is None):
            self._start(now)
        if self._progress is not None:
            if not another:
                self._progress.update(self._task, completed=now.done, description=_short(told, self._width))
            if ended:
                self._stop()
        elif now.parts and now.part < now.parts and now.state == "running":
            self._line = True
            named = now.running[-1] if now.running else "looking through the files"
            self._write(f"{visible(named)}: part {now.part} of {now.parts}, {now.pass_seconds_left:.0f} s left")
        elif self._line:
            self._line = False
            self._write("")

    def _write(self, line: str) -> None:
        self._console.file.write(f"\r\033[K{line}")
        self._console.file.flush()

    def _start(self, now: Progress) -> None:
        from rich import progress as shown

        self._stop()
        if now.known:
            are = "figures are" if now.known > 1 else "figure is"
            self._console.print(f"{now.known:,} {are} in the store already", style="dim", highlight=False)
        unit = UNITS[now.phase]
        # counter, times and the words between them, and a space after each of the columns
        rest = 2 * len(str(now.total)) + 1 + len(f"{unit},0:00:00gone,-:--:--left") + 7
        self._width, bar = shared_out(self._console.width, rest)
        self._progress = shown.Progress(
            shown.TextColumn("{task.description}"),
            shown.BarColumn(bar),
            shown.MofNCompleteColumn(),
            shown.TextColumn(f"{unit},"),
            shown.TimeElapsedColumn(),
            shown.TextColumn("gone,"),
            shown.TimeRemainingColumn(),
            shown.TextColumn("left"),
            console=self._console,
            transient=True,
        )
        self._name = "starting"
        self._task = self._progress.add_task(_short(self._name, self._width), total=now.total)
        self._progress.start()

    def _stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def _short(name: str, most: int) -> str:
    from rich.markup import escape

    name = visible(name)
    return escape((name if len(name) <= most else name[: most - 3] + "...").ljust(most))


def _utc() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
