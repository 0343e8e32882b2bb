"""Dask as an engine: a real cluster of two worker processes, workers that are killed, a cluster that goes away."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato
from scanned import scanned
from sfumato import Engine, EngineError, Microdata, TableInParts
from sfumato.pair import Pair
from sfumato.pair.statistics import Sums
from sfumato.testing import persons
from test_contract_parts import same

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install sfumato[dask]")

MEASURES = (
    sfumato.KAnonymity(3),
    sfumato.IndividualRisk(),
    sfumato.InformationLoss(),
    sfumato.IntervalOverlap(),
    sfumato.GlobalDataUtility(variables=("age", "income", "region")),
)


def cluster() -> Any:
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    )


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with cluster() as made:
        yield made.scheduler_address.removeprefix("tcp://")


@pytest.fixture(scope="module")
def tables() -> tuple[Microdata, Microdata]:
    data = persons(20_000)
    return data, sfumato.Noise(0.2, variables=("income",)).protect(data, rng=1)


@pytest.fixture(scope="module")
def in_parts(
    tables: tuple[Microdata, Microdata], tmp_path_factory: pytest.TempPathFactory
) -> tuple[TableInParts, TableInParts]:
    folder = tmp_path_factory.mktemp("dask")
    return scanned(tables[0], folder / "original", 17), scanned(tables[1], folder / "protected", 17)


def test_a_cluster_gives_the_figures_in_memory(
    address: str, tables: tuple[Microdata, Microdata], in_parts: tuple[TableInParts, TableInParts]
) -> None:
    whole, parts = Pair.of(*tables), Pair.of(*in_parts)
    with Engine(f"dask://{address}"):
        for measure in MEASURES:
            same(measure.evaluate_pair(whole, rng=1), measure.evaluate_pair(parts, rng=1))


def test_a_killed_worker_costs_its_part_only(in_parts: tuple[TableInParts, TableInParts], tmp_path: Path) -> None:
    marks = str(tmp_path)

    def counted(part: Microdata) -> Sums:
        mark = os.path.join(marks, part.fingerprint)  # noqa: PTH118
        if not os.path.exists(mark) and int(part.fingerprint, 16) % 2:  # noqa: PTH110
            open(mark, "w").close()  # noqa: PTH123
            os.kill(os.getpid(), signal.SIGKILL)
        return Sums({"records": len(part), "income": part.columns["income"].sum()})

    table = in_parts[0]
    with cluster() as made, Engine(f"dask://{made.scheduler_address.removeprefix('tcp://')}") as engine:
        found = list(engine.each(counted, [(part,) for part in table.parts]))
    assert sum(part["records"] for part in found) == 20_000
    assert [part["income"] for part in found] == [part.columns["income"].sum() for part in table.parts]
    assert any(Path(marks).iterdir())


def test_a_cluster_that_goes_away(in_parts: tuple[TableInParts, TableInParts], tmp_path: Path) -> None:
    store = tmp_path / "summaries.sqlite"
    parts = [(part,) for part in in_parts[0].parts]
    made = cluster()

    def slow(part: Microdata) -> Sums:
        import time

        time.sleep(0.05)
        return Sums({"age": float(np.nansum(part.columns["age"]))})

    arrived = 0
    gone = pytest.raises(EngineError, match=r"gone or broken|takes no more work")
    with Engine(f"dask://{made.scheduler_address.removeprefix('tcp://')}", store=store) as engine, gone:
        for arrived, _ in enumerate(engine.each(slow, parts), start=1):
            if arrived == 3:
                made.close()
    with Engine("here", store=store) as here:  # what had arrived is there, and the rest is computed
        assert len(list(here.each(slow, parts))) == len(parts)
        assert here.computed == len(parts) - arrived


def test_nobody_answers() -> None:
    with pytest.raises(EngineError, match="no Dask scheduler answers at 127"):
        Engine("dask://127.0.0.1:9")
