"""Runs: processes of their own that outlive the page and the server.

A run is the command that the page shows, started in the project's folder. It holds the folder's lock and tells how far
it is in progress.json, so that any server, and any terminal, sees the same; what it finishes is safe in the store. One
that was killed or cancelled goes on where it was when the same command is started again.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, Literal

from sfumato.compare import plain
from sfumato.compare.progress import Progress
from sfumato.errors import FileError, SfumatoError
from sfumato.project.folder import is_locked, refuse_running, running
from sfumato.project.progress import read_progress
from sfumato.report.wording import duration
from sfumato.table.atomic import replacing

NAME, LOG = "run.json", "run.log"
STARTED = "sfumato.cli.started"  # takes the words of the command from its input, where no other user sees them
PHASES = {
    "original": "measuring the original",
    "candidates": "protecting and measuring candidates",
    "audit": "attacking the best candidates",
    "examination": "looking closely at the chosen one",
    "report": "writing the report",
    "release": "writing the release",
}
STOPPED = "The run was stopped; what was finished is kept. Start it again to go on."
State = Literal["starting", "running", "done", "failed", "stopped"]


@dataclass(frozen=True)
class JobStatus:
    """How a run goes or went."""

    state: State
    words: str
    running: bool
    share: float | None = None  # done of the phase; None: not known
    phase: str = ""
    done: int = 0
    total: int = 0
    log: tuple[str, ...] = ()  # what it said last, if it failed
    now: tuple[str, ...] = ()  # what is being worked on: candidates, or what is looked at
    seconds_left: float | None = None  # of the phase, if that is known
    command: str = ""  # which command it is: sweep, look


class Jobs:
    """The run of one folder: at most one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def start(self, words: Sequence[str]) -> None:
        """Start ``sfumato`` with these words in the folder; refuse while another run is at work."""
        with self._lock:
            refuse_running(self.folder)
            if self._starting(self._started()):  # perhaps from another server on the same folder
                raise FileError("a run is just being started; wait a moment")
            place = self.folder / LOG
            with suppress(OSError):
                (self.folder / "progress.json").unlink()  # that of an earlier run would be taken for this one's
            try:
                log_file = os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
                with log_file as log, TemporaryFile() as said:
                    said.write(json.dumps(list(words)).encode())
                    said.seek(0)
                    self._child = subprocess.Popen(
                        [sys.executable, "-P", "-m", STARTED, words[0]],  # -P: the folder holds data, not programs
                        cwd=self.folder,
                        stdin=said,
                        stdout=subprocess.DEVNULL,
                        stderr=log,
                        start_new_session=True,  # Ctrl-C in the server's terminal does not reach it
                        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
                    )
            except OSError as error:
                raise FileError(f"the run could not be started: {error.strerror}") from None
            self._keep({"pid": self._child.pid, "words": list(words)})

    def cancel(self) -> None:
        """Stop the run; what it has finished is kept."""
        with self._lock:
            holder, started = running(self.folder), self._started()
            pid = holder.pid if holder is not None else started["pid"] if self._starting(started) else 0
            if not pid:
                return
            if pid == started.get("pid"):
                self._keep({**started, "cancelled": True})  # it may be too young to say so itself
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)

    def told(self) -> JobStatus | None:
        """Tell what is running, or how the last run ended; None if there was none."""
        started = self._started()
        try:
            progress = read_progress(self.folder)
        except SfumatoError:
            progress = None
        if progress is None:
            if self._starting(started) or is_locked(self.folder):
                said = "Reading the file and putting candidates together"
                return JobStatus("starting", said, running=True, command=self._command())
            return self._fallen(started)
        if progress.state == "running":
            return JobStatus(
                "running",
                _words(progress),
                running=True,
                share=progress.done / progress.total if progress.total else None,
                phase=progress.phase,
                done=progress.done,
                total=progress.total,
                now=tuple(map(_short, progress.running)),
                seconds_left=progress.seconds_left,
                command=self._command(),
            )
        if progress.state == "done":
            return JobStatus("done", "The last run is done", running=False, command=self._command())
        if progress.state == "stopped" or (started.get("cancelled") and progress.pid == started.get("pid")):
            return JobStatus("stopped", STOPPED, running=False, command=self._command())
        said = f"The run ended: {progress.message}"
        return JobStatus("failed", said, running=False, log=self._log(), command=self._command())

    def _fallen(self, started: Mapping[str, Any]) -> JobStatus | None:
        """Tell of a run that ended before it could say how far it was: refused, most likely, or cancelled."""
        command = self._command()
        if not command:
            return None
        if started.get("cancelled"):
            return JobStatus("stopped", STOPPED, running=False, command=command)
        lines = self._log()
        last = next((line for line in reversed(lines) if line.startswith("sfumato: ")), lines[-1] if lines else "")
        said = f"The run ended: {last.removeprefix('sfumato: ')}"
        return JobStatus("failed", said, running=False, log=lines, command=command)

    def _keep(self, started: Mapping[str, Any]) -> None:
        with replacing(self.folder / NAME, private=True) as out:
            out.write(json.dumps(started).encode())

    def _started(self) -> dict[str, Any]:
        """Return what is kept of the run that was started last from a page, by this server or another."""
        try:
            found = json.loads((self.folder / NAME).read_text(encoding="utf-8"))
            return {"pid": int(found["pid"]), "words": list(found["words"]), "cancelled": bool(found.get("cancelled"))}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _starting(self, started: Mapping[str, Any]) -> bool:
        """Tell whether that run is there: it reads the file before it tells how far it is."""
        child = self._child
        if child is not None and child.pid == started.get("pid"):
            return child.poll() is None
        return bool(started) and _is_ours(started["pid"])

    def _command(self) -> str:
        """Return which command was started last from a page; nothing where none was."""
        words = self._started().get("words")
        return str(words[0]) if words else ""

    def _log(self) -> tuple[str, ...]:
        try:
            text = (self.folder / LOG).read_bytes()[-20_000:].decode("utf-8", "replace")
        except OSError:
            return ()
        return tuple(line.rstrip() for line in text.splitlines() if line.strip())[-12:]

    def plain(self) -> object:
        """Return what is told as plain data, for the pulse."""
        told = self.told()
        return None if told is None else plain.to_plain(told)


def _is_ours(pid: int) -> bool:
    """Tell whether a process of that number runs a command of ours; numbers come again."""
    place = Path(f"/proc/{pid}/cmdline")
    try:
        return STARTED.encode() in place.read_bytes()
    except OSError:
        return False


def _words(progress: Progress) -> str:
    said = PHASES.get(progress.phase, progress.phase)
    if progress.phase == "examination" and progress.candidate:
        said = f"looking closely at {_short(progress.candidate)}"
    of = f", {progress.done:,} of {progress.total:,}" if progress.total else ""
    left = f", about {duration(progress.seconds_left)} left" if progress.seconds_left else ""
    return f"{said[:1].upper()}{said[1:]}{of}{left}"


def _short(label: str) -> str:
    """Name a candidate in a few words."""
    from sfumato.report.map_plot import shortened  # which reaches far: not for the first page

    return shortened(label)
