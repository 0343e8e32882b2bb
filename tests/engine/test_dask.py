"""Dask as an engine: a real cluster of two worker processes, workers that are killed, a cluster that goes away."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusters import dask_cluster
from every_engine import OnDisk, each_thing, entered, hold
from scanned import scanned
from sfumato import Engine, EngineError, Measure, Method, Microdata, TableInParts
from sfumato.pair.statistics import Sums
from sfumato.testing import persons

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install sfumato[dask]")


def cluster() -> Any:
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    )


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with dask_cluster() as made:
        yield made


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> TableInParts:
    return scanned(persons(20_000), tmp_path_factory.mktemp("dask") / "original", 17)


@pytest.fixture(scope="module")
def engine(address: str) -> Iterator[Engine]:
    made = Engine(f"dask://{address}")
    yield made
    made.close()


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> OnDisk:
    return OnDisk(tmp_path_factory.mktemp("tables"))


@each_thing
def test_a_cluster_gives_what_memory_gives(
    thing: Measure | Method, disk: OnDisk, engine: Engine, tmp_path: Path
) -> None:
    with entered(engine):
        hold(thing, disk, tmp_path)


def test_a_killed_worker_costs_its_part_only(table: TableInParts, tmp_path: Path) -> None:
    marks = str(tmp_path)

    def counted(part: Microdata) -> Sums:
        mark = os.path.join(marks, part.fingerprint)  # noqa: PTH118
        if not os.path.exists(mark) and int(part.fingerprint, 16) % 2:  # noqa: PTH110
            open(mark, "w").close()  # noqa: PTH123
            os.kill(os.getpid(), signal.SIGKILL)
        return Sums({"records": len(part), "income": part.columns["income"].sum()})

    with dask_cluster() as address, Engine(f"dask://{address}") as engine:
        found = list(engine.each(counted, [(part,) for part in table.parts]))
    assert sum(part["records"] for part in found) == 20_000
    assert [part["income"] for part in found] == [part.columns["income"].sum() for part in table.parts]
    assert any(Path(marks).iterdir())


def test_a_cluster_that_goes_away(table: TableInParts, tmp_path: Path) -> None:
    store = tmp_path / "summaries.sqlite"
    parts = [(part,) for part in table.parts]
    made = cluster()

    def slow(part: Microdata) -> Sums:
        import time

        time.sleep(0.05)
        return Sums({"age": float(np.nansum(part.columns["age"]))})

    gone = pytest.raises(EngineError, match=r"gone or broken|takes no more work")
    with Engine(f"dask://{made.scheduler_address.removeprefix('tcp://')}", store=store) as engine, gone:
        for arrived, _ in enumerate(engine.each(slow, parts), start=1):
            if arrived == 3:
                made.close()
    with Engine("here", store=store) as here:  # what had arrived is there, and the rest is computed
        assert here.summaries is not None and (kept := len(here.summaries)) >= 3
        assert len(list(here.each(slow, parts))) == len(parts)
        assert here.computed == len(parts) - kept


def test_nobody_answers() -> None:
    with pytest.raises(EngineError, match="no Dask scheduler answers at 127"):
        Engine("dask://127.0.0.1:9")
