"""Ray as an engine, within this machine: figures of tables in parts are those in memory, also if workers die."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato
from scanned import scanned
from sfumato import Engine, EngineError, Microdata, TableInParts
from sfumato.pair import Pair
from sfumato.pair.statistics import Sums
from sfumato.testing import persons
from sfumato.testing.of_measures import agree as same

pytest.importorskip("ray", reason="Ray is not installed: make test-ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray's own


@pytest.fixture(scope="module")
def table() -> Microdata:
    return persons(2000)


@pytest.fixture
def parts(table: Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TableInParts]:
    import sys

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    yield scanned(table, tmp_path / "original", 3)


def test_ray_gives_the_figures_in_memory(table: Microdata, parts: TableInParts, tmp_path: Path) -> None:
    masked = sfumato.Noise(0.2, variables=("income",)).protect(table, rng=1)
    whole, cut = Pair.of(table, masked), Pair.of(parts, scanned(masked, tmp_path / "protected", 3))
    with Engine("ray://local"):
        for measure in (sfumato.KAnonymity(3), sfumato.IndividualRisk(), sfumato.InformationLoss()):
            same(measure.evaluate_pair(whole, rng=1), measure.evaluate_pair(cut, rng=1))


def test_a_killed_worker_costs_its_part_only(parts: TableInParts, tmp_path: Path) -> None:
    marks = str(tmp_path)

    def counted(part: Microdata) -> Sums:
        try:
            os.close(os.open(f"{marks}/{part.fingerprint}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return Sums({"records": len(part)})
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    with Engine("ray://local") as engine:
        found = list(engine.each(counted, [(part,) for part in parts.parts]))
    assert [int(one["records"]) for one in found] == list(parts.sizes)


def test_a_cluster_that_is_not_there_is_said_so() -> None:
    with pytest.raises(EngineError, match=r"no Ray answers at ray://127\.0\.0\.1:1"):
        Engine("ray://127.0.0.1:1")
