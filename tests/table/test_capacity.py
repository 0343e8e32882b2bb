"""What does not fit into memory is refused before it is begun, with the figure and the cure."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import MDAV, Experiment, InformationLoss, LackOfMemory, Microdata, read
from sfumato.project.options import workers_or_default
from sfumato.table import capacity
from small_survey import run

MEMINFO = "MemTotal: 9000000 kB\nMemAvailable:    8000000 kB\n"


def machine(root: Path, **files: str) -> Path:
    """Make the files by which a machine tells what is free; __ stands for a slash, as in a path."""
    for name, text in {"proc__meminfo": MEMINFO, **files}.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_the_machine_tells_what_is_free(tmp_path: Path) -> None:
    assert capacity.free(machine(tmp_path)) == 8_000_000 * 1024


def test_a_container_of_version_2_bounds_it_with_all_groups_above(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        proc__self__cgroup="0::/outer/inner\n",
        sys__fs__cgroup__outer__inner__memory_dot_max="max\n",
        sys__fs__cgroup__outer__inner__memory_dot_current="300\n",
        sys__fs__cgroup__outer__memory_dot_max="1000000\n",
        sys__fs__cgroup__outer__memory_dot_current="400000\n",
        sys__fs__cgroup__outer__memory_dot_stat="anon 1\ninactive_file 50000\nfile 7\n",
    )
    assert capacity.free(root) == 1_000_000 - 400_000 + 50_000


def test_a_container_of_version_1_bounds_it(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        proc__self__cgroup="9:cpu,cpuacct:/\n7:memory:/docker/x\n",
        sys__fs__cgroup__memory__docker__x__memory_dot_limit_in_bytes="2000000\n",
        sys__fs__cgroup__memory__docker__x__memory_dot_usage_in_bytes="2500000\n",
    )
    assert capacity.free(root) == 0


def test_a_machine_that_tells_nothing_has_some(tmp_path: Path) -> None:
    assert capacity.free(tmp_path) > 0


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 MB are free."""
    monkeypatch.setattr(capacity, "free", lambda: 100_000_000)


def test_a_parquet_file_is_judged_by_its_records(tmp_path: Path, short: None) -> None:
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({name: np.zeros(1_000_000) for name in "abcdef"}), path)
    assert path.stat().st_size < 1_000_000  # zeros, packed: the size of the file tells nothing
    with pytest.raises(LackOfMemory, match=r"long\.parquet as one table needs about 144 MB of memory, and 100 MB are"):
        read(path)
    with pytest.raises(MemoryError, match=r"sfumato\.scan .* or take a sample"):
        read(path)
    pq.write_table(pa.table({"a": np.zeros(1_000_000)}), path)
    assert len(read(path)) == 1_000_000  # 24 MB


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.sav", "t.dta", "t.xlsx", "t.rds", "t.tsv"])
def test_other_files_are_judged_by_their_size_before_a_byte_is_read(name: str, tmp_path: Path, short: None) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(40_000_000)  # a hole: nothing is written
    with pytest.raises(LackOfMemory, match=rf"{name} as one table needs about \d+ MB"):
        read(path)


def test_a_command_ends_in_a_sentence_and_the_exit_code_1(tmp_path: Path, short: None) -> None:
    path = tmp_path / "long.csv"
    with path.open("wb") as file:
        file.truncate(2_000_000_000)
    for words in (["inspect", path], ["protect", path, "--method", "MDAV(3)"], ["audit", path, path]):
        done = run(*words)
        assert done.exit_code == 1
        assert done.stderr.splitlines()[-1].startswith(f"sfumato: {path} as one table needs about 8.0 GB of memory")


def test_more_workers_than_fit_are_refused_with_how_many_do(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Microdata.from_frame(pa.table({"x": np.arange(10.0), "y": np.arange(10.0) ** 2}))
    experiment = Experiment(data, [MDAV(k) for k in (2, 3, 4, 5)], [InformationLoss()])
    monkeypatch.setattr(capacity, "free", lambda: 2 * capacity.PROCESS + 10_000)
    with pytest.raises(LackOfMemory, match=r"a run with 4 workers needs about 629 MB .* of which 2 fit"):
        experiment.run(workers=4)
    monkeypatch.setattr(capacity, "free", lambda: capacity.PROCESS // 2)
    with pytest.raises(LackOfMemory, match="of which one fits at most"):
        experiment.run(workers=2)
    assert len(experiment.run(workers=1).rows) == 4


def test_no_more_workers_are_taken_unasked_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    monkeypatch.setattr(capacity, "free", lambda: 10 * capacity.PROCESS)
    assert workers_or_default(None) == 5
    monkeypatch.setattr(capacity, "free", lambda: 10)
    assert workers_or_default(None) == 1 and workers_or_default(7) == 7
