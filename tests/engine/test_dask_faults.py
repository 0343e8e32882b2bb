"""Workers of a Dask cluster that are killed by the dozen: the same result, and nothing that was stored done twice.

A task kills its own worker as often as was drawn for its part, so that the number of deaths does not depend on how fast
the machine is. ``make test-long`` kills 200, ``make test`` fewer (``how_often.py``).
"""

import os
import random
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusters import dask_cluster
from how_often import KILLS
from numbered_parts import Number
from sfumato import Engine

pytest.importorskip("distributed", reason="Dask is not installed: pip install sfumato[dask]")

PARTS = [(Number(value),) for value in range(64)]


@dataclass(frozen=True)
class DeadlySquare:
    """Squares a number after it has killed the workers that were to do so, and tells both in files."""

    folder: str
    deaths: tuple[int, ...]  # of workers, for each part

    def __call__(self, part: Number) -> int:
        died = Path(self.folder) / f"died-{part.value}"
        if len(_lines(died)) < self.deaths[part.value]:
            _append(died, "died")
            os.kill(os.getpid(), signal.SIGKILL)
        _append(Path(self.folder) / "done", str(part.value))
        return part.value**2


def _append(path: Path, line: str) -> None:
    with path.open("a") as out:
        out.write(f"{line}\n")


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_workers_of_a_cluster_killed_at_random_change_nothing(tmp_path: Path) -> None:
    rng = random.Random(11)
    drawn = Counter(rng.randrange(len(PARTS)) for _ in range(KILLS))
    task = DeadlySquare(str(tmp_path), tuple(drawn[value] for value in range(len(PARTS))))
    store, squares = tmp_path / "summaries.sqlite", [value**2 for value in range(len(PARTS))]
    with dask_cluster() as address, Engine(f"dask://{address}", store=store) as engine:
        arrived = [found for found, _ in zip(engine.each(task, PARTS), range(40), strict=False)]
        assert arrived == squares[:40]  # and there the run is given up, with parts still under way
    before = Counter(_lines(tmp_path / "done"))
    with dask_cluster() as address, Engine(f"dask://{address}", store=store) as engine:
        assert engine.summaries is not None and len(engine.summaries) >= 40
        lacking = len(PARTS) - len(engine.summaries)
        assert list(engine.each(task, PARTS)) == squares and engine.computed == lacking
        assert list(engine.each(task, PARTS)) == squares and engine.computed == lacking  # all from the store
    again = Counter(_lines(tmp_path / "done")) - before
    assert len(again) == lacking  # so that none that had been stored was computed again
    assert sum(len(_lines(path)) for path in tmp_path.glob("died-*")) == KILLS
