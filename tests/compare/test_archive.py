"""Whole measurements and examinations: kept once, read when asked for, on disk and in memory."""

import json
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from compare_toys import Guess, Jitter, Loss, Shift, Unfit

from sfumato.compare import experiment as experiment_module
from sfumato.compare.experiment import Experiment
from sfumato.compare.results import Results
from sfumato.compare.score import Recipe
from sfumato.compare.store import NOT_KEPT, Cell, Key
from sfumato.errors import FileError, NotApplicable
from sfumato.table.microdata import Microdata

DATA = Microdata.from_frame(pa.table({"x": [1.0, 2.0, 3.0, 4.0]}))
METHODS, MEASURES = [Jitter(), Shift()], [Loss(), Guess()]


def ways(folder: Path) -> list[Results]:
    """The same results kept in every way there is."""
    experiment = Experiment(DATA, METHODS, MEASURES, replicates=3)
    memory: dict[Key, Cell] = {}
    experiment.run(memory=memory)
    path = folder / "run.db"
    return [
        experiment.run(),
        experiment.run(workers=2),
        experiment.run(memory=memory),
        experiment.run(store=path, workers=2),
        experiment.run(store=path),
        experiment.run(store=folder / "other.db"),
    ]


def test_whole_measurements_are_the_same_however_they_are_kept(tmp_path: Path) -> None:
    for results in ways(tmp_path):
        kept = results.measurement("Jitter()", Loss)
        masked = results.protect("Jitter()")
        fresh = Loss().evaluate(DATA, masked)
        assert kept.by_record is not None and fresh.by_record is not None
        assert kept.by_record.tobytes() == fresh.by_record.tobytes()
        assert (kept.value, kept.parts, kept.notes) == (fresh.value, fresh.parts, fresh.notes)
        row = results.row("Jitter()")
        assert row.by_variable["Loss()"]["x"] == pytest.approx(row.means["Loss()"])  # over all replicates
        assert "Guess()" not in row.by_variable and len(row.by_pair) == 1


def test_a_store_may_be_asked_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = Experiment(DATA, [Shift()], [Loss()]).run(store="run.db")
    monkeypatch.chdir(tmp_path.parent)
    assert results.measurement("Shift()", "Loss").value == 1.0
    (tmp_path / "run.db").unlink()
    with pytest.raises(FileError, match=r"run.db: it is no longer there; run the experiment again"):
        results.measurement("Shift()", "Loss")
    assert not (tmp_path / "run.db").exists()


def test_figures_by_record_are_kept_in_memory_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment(DATA, METHODS, [Loss()])
    bound = 8 * 4 * 2 * 1  # bytes, records, candidates, measures
    monkeypatch.setattr(experiment_module, "MAX_BYTES_IN_MEMORY", bound)
    assert experiment.run().measurement("Shift()", Loss).by_record is not None
    monkeypatch.setattr(experiment_module, "MAX_BYTES_IN_MEMORY", bound - 1)
    kept = experiment.run().measurement("Shift()", Loss)
    assert kept.by_record is None
    assert kept.notes == ("measured x", NOT_KEPT)
    assert kept.by_pair == {("x", "x"): 1.0}
    on_disk = experiment.run(store=tmp_path / "run.db").measurement("Shift()", Loss)
    assert on_disk.by_record is not None and on_disk.notes == ("measured x",)


def test_only_replicate_0_is_kept_by_record(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data = Microdata.from_frame(pa.table({"x": rng.normal(size=20_000)}))
    sizes = {}
    for replicates in (1, 5):
        Experiment(data, [Jitter()], [Loss()], replicates=replicates).run(store=tmp_path / f"{replicates}.db")
        sizes[replicates] = (tmp_path / f"{replicates}.db").stat().st_size
    assert sizes[1] <= 8 * 20_000 + 40_000  # 8 bytes per record, and the empty store
    assert sizes[5] - sizes[1] < 10_000


def examined(results: Results, what: str = "mean", candidate: str = "Shift()") -> tuple[Any, list[str]]:
    done = []

    def compute() -> dict[str, float]:
        done.append(candidate)
        return {"mean": float(results.protect(candidate).columns["x"].mean())}

    known = results.is_examined(candidate, what, compute)
    found = results.examined(
        candidate, what, compute, encode=lambda payload: json.dumps(payload).encode(), decode=json.loads
    )
    assert known == (not done)
    return found, done


def test_an_examination_is_computed_once(tmp_path: Path) -> None:
    for way, results in enumerate(ways(tmp_path)):
        what = f"mean {way}"
        first, again = examined(results, what), examined(results, what)
        assert first == ({"mean": 3.5}, ["Shift()"])
        assert again == ({"mean": 3.5}, [])
        assert examined(results, f"other {way}")[1] == ["Shift()"]
        assert examined(results, what, candidate="Jitter()")[1] == ["Jitter()"]
        assert examined(results.with_score(Recipe("twice", ((Loss(), 2.0),))), what)[1] == []
    # in the file also for another run, but not for another seed
    later = Experiment(DATA, [Shift()], [Loss()]).run(store=tmp_path / "run.db")
    assert examined(later, "mean 3")[1] == []
    other = Experiment(DATA, [Shift()], [Loss()], seed=1).run(store=tmp_path / "run.db")
    assert examined(other, "mean 3")[1] == ["Shift()"]


def test_an_examination_that_is_damaged_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    results = Experiment(DATA, [Shift()], [Loss()]).run(store=path)
    examined(results, "mean")
    for content in (
        b"",
        b"words",
        zlib.compress(b"{"),
        zlib.compress(b"\xff\xfe"),
        zlib.compress(b"[" * 100_000),
        "text",
    ):
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE examinations SET content = ?", (content,))
        connection.close()
        found = results.examined(
            "Shift()", "mean", lambda: {"mean": 3.5},
            encode=lambda made: json.dumps(made).encode(), decode=lambda kept: json.loads(kept)
        )  # fmt: skip
        assert found == {"mean": 3.5}


def test_a_candidate_without_a_table_cannot_be_examined() -> None:
    results = Experiment(DATA, measures=[Loss()], candidates={"text": "a table"}).run()
    with pytest.raises(NotApplicable, match="text has no table"):
        examined(results, candidate="text")
    unfit = Experiment(DATA, [Unfit()], [Loss()]).run()
    with pytest.raises(NotApplicable, match="moustache"):
        examined(unfit, candidate="Unfit()")
