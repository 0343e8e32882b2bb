"""Processes killed at any time: what is finished afterwards is that of an undisturbed run, and nothing stays behind."""

import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

from adversary.attack import KILLS, Finding, Kind, Rng, one_of
from numbered_parts import Number, SlowSquare
from sfumato import Engine
from sfumato.engine import LocalProcesses
from small_survey import write_schema, write_survey

WORDS = [
    "--method", "RankSwapping(p=[0.1, 0.3])", "--method", "MDAV(k=[3, 10])", "--measure", "InformationLoss",
    "--measure", "DistanceLinkage", "--risk", "DistanceLinkage", "--utility", "InformationLoss", "--at-most",
    "DistanceLinkage=99%", "--replicates", "12", "--no-bootstrap", "--despite-audit", "--workers", "2",
    "--seed", str(2**50),
]  # fmt: skip
FIGURES = "SELECT data, seed, candidate, measure, replicate, status, value, text FROM cells ORDER BY 1, 2, 3, 4, 5"
PATIENCE = 120.0  # seconds that nothing needs
PARTS = [(Number(value),) for value in range(24)]
SHARED_MEMORY = Path("/dev/shm")


def strike(rng: Rng, folder: Path) -> Counter[str]:
    """Kill a sweep, or the processes of an engine."""
    return killed_sweep(rng, folder) if rng.random() < 0.25 else killed_engine(rng, folder)


def started(survey: Path, schema: Path, out: Path, temporary: Path) -> subprocess.Popen[bytes]:
    """Start a sweep in a session of its own."""
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "sfumato", "sweep", str(survey), "--schema", str(schema), "--out", str(out), *WORDS],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_unlimited,
    )


def _unlimited() -> None:
    """Give a sweep the address space that its attacker does without: the renderer of charts reserves much."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


@cache
def undisturbed() -> tuple[Path, Path, int, float]:
    """Return the folder of a survey, that of an undisturbed sweep, its exit code and how long it took."""
    folder = Path(tempfile.mkdtemp(prefix="adversary-undisturbed-"))
    began = time.monotonic()
    process = started(write_survey(folder), write_schema(folder), folder / "out", folder / "temporary")
    code = process.wait()
    if code or not (folder / "out" / "release").is_dir():
        raise Finding(f"the undisturbed sweep ended with code {code}")
    return folder, folder / "out", code, time.monotonic() - began


def killed_sweep(rng: Rng, folder: Path) -> Counter[str]:
    """Kill a sweep and its workers some times, let it finish, and compare all it wrote."""
    given, expected, code, usual = undisturbed()
    out, temporary, kills = folder / "out", folder / "temporary", 0
    for _ in range(int(rng.integers(1, 4))):
        process = started(given / "survey.csv", given / "survey.toml", out, temporary)
        parent = psutil.Process(process.pid)
        for _ in range(int(rng.integers(0, 4))):
            _wait(rng, process, out, usual / 2)
            workers = [child for child in _below(parent) if _works(_command(child))]
            if process.poll() is None and workers:
                with suppress(psutil.NoSuchProcess):
                    one_of(rng, workers).kill()
                    kills += 1
        _wait(rng, process, out, usual)
        orphans = _below(parent)
        if process.poll() is None:
            kills += 1
            (os.killpg if rng.random() < 0.3 else os.kill)(process.pid, signal.SIGKILL)
        process.wait()
        _nothing_left(process.pid, orphans, temporary)
    last = started(given / "survey.csv", given / "survey.toml", out, temporary)
    try:
        ended = last.wait(PATIENCE + 20 * usual)
    except subprocess.TimeoutExpired:
        os.killpg(last.pid, signal.SIGKILL)
        raise Finding(f"the sweep does not end after {kills} kills") from None
    if ended != code:
        raise Finding(f"after {kills} kills the sweep ends with code {ended}, undisturbed with {code}")
    _same(out, expected, kills)
    return Counter({KILLS: kills, "sweeps finished": 1})


def _wait(rng: Rng, process: subprocess.Popen[bytes], out: Path, most: float) -> None:
    """Wait for a drawn time, or until a drawn number of figures is in the store."""
    until, figures = time.monotonic() + float(rng.uniform(0, most)), int(rng.integers(1, 90))
    by_figures = rng.random() < 0.5
    while process.poll() is None and time.monotonic() < (until + most if by_figures else until):
        if by_figures and len(_figures(out / "results.sqlite")) >= figures:
            return
        time.sleep(0.01)


def _figures(store: Path) -> list[tuple[object, ...]]:
    if not store.is_file():
        return []
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=PATIENCE)
    try:
        return connection.execute(FIGURES).fetchall()
    except sqlite3.OperationalError:  # not made yet
        return []
    finally:
        connection.close()


def _nothing_left(process: int, orphans: list[psutil.Process], temporary: Path) -> None:
    """Require that no worker outlives its parent for long, and that no copy of the data stays in memory or on disk."""
    deadline = time.monotonic() + PATIENCE
    while any(_alive(orphan) for orphan in orphans):
        if time.monotonic() > deadline:
            left = [orphan for orphan in orphans if _alive(orphan)]
            for orphan in left:
                orphan.kill()
            raise Finding(f"{len(left)} processes stay after their parent was killed: {_command(left[0])[:80]}")
        time.sleep(0.02)
    memory = [place.name for place in SHARED_MEMORY.iterdir() if f"_{process}_" in place.name]
    if memory:
        raise Finding(f"left in shared memory: {memory}")
    large = [place for place in temporary.rglob("*") if place.is_file() and place.stat().st_size > 1000]
    if large:
        raise Finding(f"left in the temporary folder: {large}")


def _same(out: Path, expected: Path, kills: int) -> None:
    """Compare figures and released files with those of an undisturbed run."""
    if _figures(out / "results.sqlite") != _figures(expected / "results.sqlite"):
        raise Finding(f"the figures of the store differ after {kills} kills")
    ours = {place.name: place.read_bytes() for place in (out / "release").iterdir()}
    theirs = {place.name: place.read_bytes() for place in (expected / "release").iterdir()}
    if [*sorted(ours)] != [*sorted(theirs)]:
        raise Finding(f"the release has {sorted(ours)} after {kills} kills, undisturbed {sorted(theirs)}")
    differing = [name for name, content in ours.items() if content != theirs[name]]
    if differing:
        raise Finding(f"of the release differ after {kills} kills: {differing}")


def killed_engine(rng: Rng, folder: Path) -> Counter[str]:
    """Kill processes of an engine at random while they compute; the summaries are those of an undisturbed one."""
    wanted = int(rng.integers(6, 24))
    draw = random.Random(int(rng.integers(2**31)))
    kills, finished = 0, threading.Event()
    with Engine("local", processes=2, store=folder / "summaries.sqlite") as engine:
        processes = engine.executor
        assert isinstance(processes, LocalProcesses)
        log = folder / "log"

        def kill() -> None:
            nonlocal kills
            done = 0  # calls that must be over before the next process is killed, so that something gets done
            while not finished.wait(draw.uniform(0.01, 0.1)) and kills < wanted:
                running, over = processes.pids, log.read_text().count("\n") if log.exists() else 0
                if running and over >= done:
                    done = over + draw.choice((0, 1, 1))
                    with suppress(ProcessLookupError):
                        os.kill(draw.choice(running), signal.SIGKILL)
                        kills += 1

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            for number in range(100):
                task = SlowSquare(str(log), number)
                for when in ("computed", "kept"):
                    found = list(engine.each(task, PARTS))
                    if found != [value**2 for value in range(len(PARTS))]:
                        raise Finding(f"summaries {when} differ after {kills} kills: {found}")
                if kills >= wanted:
                    break
        finally:
            finished.set()
            killer.join()
    return Counter({KILLS: kills, "engine runs": 1})


def _below(parent: psutil.Process) -> list[psutil.Process]:
    try:
        return parent.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _works(command: str) -> bool:
    """Tell whether a process is a worker; beside them is one that cleans up after all."""
    return "loky" in command and "tracker" not in command


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


KIND = Kind("kills", strike, share=10.0, in_tests=2)
