"""Spark as an engine, within this machine: figures of tables in parts are those in memory."""

import shutil
from pathlib import Path

import pytest

import sfumato
from scanned import scanned
from sfumato import Engine
from sfumato.pair import Pair
from sfumato.testing import persons
from test_contract_parts import same

pytest.importorskip("pyspark", reason="Spark is not installed: make test-spark")
if shutil.which("java") is None:
    pytest.skip("Spark needs a Java runtime", allow_module_level=True)


@pytest.mark.filterwarnings("ignore")  # of Spark's own
def test_spark_gives_the_figures_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(Path(p)) for p in __import__("sys").path if p))
    data = persons(2000)
    masked = sfumato.Noise(0.2, variables=("income",)).protect(data, rng=1)
    parts = Pair.of(scanned(data, tmp_path / "original", 3), scanned(masked, tmp_path / "protected", 3))
    whole = Pair.of(data, masked)
    with Engine("spark://local[2]"):
        for measure in (sfumato.KAnonymity(3), sfumato.IndividualRisk(), sfumato.InformationLoss()):
            same(measure.evaluate_pair(whole, rng=1), measure.evaluate_pair(parts, rng=1))
