"""Spark as an engine, within this machine: tables in parts give what memory gives."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from every_engine import OnDisk, each_thing, entered, hold
from sfumato import Engine, Measure, Method

pytest.importorskip("pyspark", reason="Spark is not installed: make test-spark")
if shutil.which("java") is None:
    pytest.skip("Spark needs a Java runtime", allow_module_level=True)


@pytest.fixture(scope="module")
def spark() -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        made = Engine("spark://local[2]")
        yield made
        made.close()


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> OnDisk:
    return OnDisk(tmp_path_factory.mktemp("tables"))


@pytest.mark.filterwarnings("ignore")  # of Spark's own
@each_thing
def test_spark_gives_what_memory_gives(thing: Measure | Method, disk: OnDisk, spark: Engine, tmp_path: Path) -> None:
    with entered(spark):
        hold(thing, disk, tmp_path)
