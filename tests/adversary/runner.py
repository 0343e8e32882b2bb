"""A long run: goes round the kinds of attack until its time is up, counts, and keeps every finding."""

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import psutil

from adversary.attack import Kind

HANGS = 120.0  # seconds of processor time that no attack needs
WAITS = 900.0  # and of waiting
RESTARTED = 400  # attacks after which a process is replaced, so that what one leaves behind does not add up


@dataclass
class Attacker:
    """A process that attacks, replaced when it dies."""

    process: subprocess.Popen[str] | None = None
    done: int = 0

    def strike(self, kind: str, seed: int, number: int) -> dict[str, Any]:
        """Have one attack done; a process that dies or hangs is what was found."""
        if self.process is None or self.process.poll() is not None or self.done >= RESTARTED:
            self.stop()
            self.process, self.done = _started(), 0
        self.done += 1
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([kind, seed, number]) + "\n")
        process.stdin.flush()
        began, used = time.monotonic(), _processor_time(process.pid)
        while not select.select([process.stdout], [], [], 1)[0]:
            spent = _processor_time(process.pid) - used
            if spent > HANGS or time.monotonic() - began > WAITS:
                self.stop()
                return _lost(f"it hangs: no answer after {spent:.0f} s of processor time", began)
        line = process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        code = process.wait()
        self.stop()
        return _lost(f"the process ended with code {code}", began)

    def stop(self) -> None:
        """End the process and what it started."""
        if self.process is None:
            return
        below = _below(self.process.pid)
        self.process.kill()
        self.process.wait()
        for left in below:
            with suppress(psutil.NoSuchProcess):
                left.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        self.process = None


def _started() -> subprocess.Popen[str]:
    tests = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, (tests, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-m", "adversary.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "PYTHONFAULTHANDLER": "1"},
    )


def _below(process: int) -> list[psutil.Process]:
    try:
        return psutil.Process(process).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _processor_time(process: int) -> float:
    try:
        times = psutil.Process(process).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def _lost(found: str, began: float) -> dict[str, Any]:
    return {"done": {}, "found": found, "seconds": time.monotonic() - began}


@dataclass
class Tally:
    """What was done and found so far."""

    seed: int
    attacks: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    done: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    findings: list[dict[str, Any]] = field(default_factory=list)

    @property
    def totals(self) -> Counter[str]:
        """Count what was done over all kinds."""
        return sum(self.done.values(), Counter())

    def table(self) -> str:
        """Return the counts as lines of text."""
        lines = [f"{'kind':<18}{'attacks':>9}{'seconds':>9}  done"]
        for kind, number in sorted(self.attacks.items()):
            done = ", ".join(f"{count:,} {what}" for what, count in sorted(self.done[kind].items()))
            lines.append(f"{kind:<18}{number:>9,}{self.seconds[kind]:>9.0f}  {done}")
        totals = ", ".join(f"{count:,} {what}" for what, count in sorted(self.totals.items()))
        lines.append(f"{'all':<18}{self.attacks.total():>9,}{sum(self.seconds.values()):>9.0f}  {totals}")
        lines.append(f"{len(self.findings)} findings")
        return "\n".join(lines)


@dataclass
class Run:
    """Several attackers that go round the kinds for so many minutes."""

    kinds: dict[str, Kind]
    seed: int
    until: float  # by the monotonic clock
    out: TextIO
    tally: Tally
    lock: threading.Lock = field(default_factory=threading.Lock)
    next_number: Counter[str] = field(default_factory=Counter)
    begun: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # seconds, those going on too

    def attack(self) -> None:
        """Attack until the time is up."""
        attacker = Attacker()
        try:
            while time.monotonic() < self.until:
                kind, number, expected = self._next()
                answer = attacker.strike(kind, self.seed, number)
                self._keep(kind, number, expected, answer)
        finally:
            attacker.stop()

    def _next(self) -> tuple[str, int, float]:
        """Take the kind that is furthest behind its share of the time."""
        with self.lock:
            kind = min(self.kinds, key=lambda name: self.begun[name] / self.kinds[name].share)
            number = self.next_number[kind]
            self.next_number[kind] += 1
            expected = self.tally.seconds[kind] / max(self.tally.attacks[kind], 1) or 1.0
            self.begun[kind] += expected
            return kind, number, expected

    def _keep(self, kind: str, number: int, expected: float, answer: dict[str, Any]) -> None:
        with self.lock:
            self.begun[kind] += answer["seconds"] - expected
            self.tally.attacks[kind] += 1
            self.tally.seconds[kind] += answer["seconds"]
            self.tally.done[kind].update(answer["done"])
            if answer["found"] is not None:
                finding = {"kind": kind, "seed": self.seed, "number": number, "found": answer["found"]}
                self.tally.findings.append(finding)
                self.out.write(f"{kind} {number}: {answer['found']}\n")
                self.out.write(f"    again: python -m adversary --seed {self.seed} --again {kind} {number}\n")
                self.out.flush()


def run(kinds: Iterable[Kind], seed: int, minutes: float, out: TextIO, *, attackers: int = 2) -> Tally:
    """Attack for so many minutes and return what came of it."""
    going = Run({kind.name: kind for kind in kinds}, seed, time.monotonic() + 60 * minutes, out, Tally(seed))
    threads = [threading.Thread(target=going.attack) for _ in range(attackers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return going.tally
