"""What may go wrong while parts are computed: killed processes, files that change or break; and going on afterwards."""

import os
import random
import signal
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from how_often import KILLS
from numbered_parts import Number, SlowSquare
from sfumato import Engine, FileError, scan
from sfumato.engine import LocalProcesses
from sfumato.pair import Pair

PARTS = [(Number(value),) for value in range(64)]


def test_processes_killed_at_random_change_nothing(tmp_path: Path) -> None:
    store, log = tmp_path / "summaries.sqlite", tmp_path / "log"
    rng = random.Random(7)
    killed, finished = 0, threading.Event()
    with Engine("local", processes=2, store=store) as engine:
        processes = engine.executor
        assert isinstance(processes, LocalProcesses)

        def kill() -> None:
            nonlocal killed
            done = 0  # calls that must be over before the next process is killed, so that something gets done
            while not finished.wait(rng.uniform(0.01, 0.1)):
                running, over = processes.pids, log.read_text().count("\n") if log.exists() else 0
                if running and over >= done:
                    done = over + rng.choice((0, 0, 1, 1, 1))
                    with suppress(ProcessLookupError):
                        os.kill(rng.choice(running), signal.SIGKILL)
                        killed += 1

        killer = threading.Thread(target=kill)
        killer.start()
        rounds = 0
        try:
            while killed < KILLS:
                rounds += 1
                task = SlowSquare(str(log), rounds)
                assert list(engine.each(task, PARTS)) == [value**2 for value in range(64)]
                computed = engine.computed
                assert list(engine.each(task, PARTS)) == [value**2 for value in range(64)]  # all from the store
                assert engine.computed == computed
        finally:
            finished.set()
            killer.join()
        assert engine.computed == 64 * rounds
        assert processes.deaths >= KILLS / 2  # some were killed before they had a call, or twice
    lines = log.read_text().splitlines()
    assert len(set(lines)) == 64 * rounds
    assert len(lines) <= 64 * rounds + killed  # what was done twice is what died before it had answered


def written(folder: Path) -> Path:
    folder.mkdir()
    rng = np.random.default_rng(1)
    for place in range(5):
        town = pa.array([f"town {code}" for code in rng.integers(0, 9, 400)])
        pq.write_table(pa.table({"town": town, "pay": rng.normal(size=400)}), folder / f"part-{place}.parquet")
    return folder


@pytest.mark.parametrize("broken", ["changed", "truncated", "removed"])
def test_a_part_that_breaks_on_the_way(tmp_path: Path, broken: str) -> None:
    folder = written(tmp_path / "files")
    measure = sfumato.KAnonymity(60, variables=("town",))
    expected = measure.evaluate(scan(folder), scan(folder)).value
    file = folder / "part-3.parquet"
    whole, times = file.read_bytes(), (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    table = scan(folder)
    if broken == "changed":
        pq.write_table(pq.read_table(file).slice(1), file)
    elif broken == "truncated":
        file.write_bytes(whole[:3000])
    else:
        file.unlink()
    says = {"changed": "has changed", "truncated": "has changed", "removed": "no such file"}[broken]
    store = tmp_path / "summaries.sqlite"
    with Engine("local", processes=1, store=store) as engine, pytest.raises(FileError, match=rf"part-3.*{says}"):
        measure.evaluate_pair(Pair.of(table, table))
    assert engine.computed >= 1
    file.write_bytes(whole)
    os.utime(file, ns=times)
    with Engine("here", store=store) as again:
        assert measure.evaluate_pair(Pair.of(table, table)).value == expected
    assert again.computed < 2 * len(table.parts)  # what had arrived before was not computed again
