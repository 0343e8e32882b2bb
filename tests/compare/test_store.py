import math
import os
import pickle
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from compare_toys import Broken, Closeness, Guess, Jitter, Loss, Shift, Slow, Unfit

from sfumato.compare import store as store_module
from sfumato.compare.experiment import Experiment, grid
from sfumato.compare.identity import identity
from sfumato.compare.store import Cell, Key, Scope, Store
from sfumato.data.microdata import Microdata
from sfumato.errors import FileError
from sfumato.risk import NearestRecord

DATA = Microdata.from_frame(pa.table({"x": [1.0, 2.0, 3.0, 4.0]}))
CELL = Cell(
    key=Key("Shift()", "Loss()", 2),
    value=1 / 3,
    parts={"half": 0.1, "none": math.inf},
    notes=("left out: é",),
    masking=("shifted",),
    seconds=0.5,
    protect_seconds=0.25,
)


def opened(path: Path, **scope: str | int) -> Store:
    return Store(Scope(path, **({"data": "d", "seed": 0} | scope)))  # type: ignore[arg-type]


@pytest.fixture
def counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "counts.txt"
    path.touch()
    monkeypatch.setenv("TOY_COUNTS", str(path))
    yield path


def counted(path: Path) -> list[str]:
    found = sorted(path.read_text().split())
    path.write_text("")
    return found


def test_a_cell_comes_back_as_it_was(tmp_path: Path) -> None:
    with opened(tmp_path / "run.db") as store:
        store.add(CELL)
    with opened(tmp_path / "run.db") as store:
        assert store.finished() == {CELL.key: CELL}
    assert pickle.loads(pickle.dumps(CELL)) == CELL


def test_cells_of_other_data_and_seeds_are_apart(tmp_path: Path) -> None:
    with opened(tmp_path / "run.db") as store:
        store.add(CELL)
    for scope in ({"data": "e"}, {"seed": 1}):
        with opened(tmp_path / "run.db", **scope) as store:
            assert store.finished() == {}


def test_a_repeated_run_computes_only_what_is_new(tmp_path: Path, counts: Path) -> None:
    path = tmp_path / "run.db"
    Experiment(DATA, [Jitter(), Shift()], [Loss()], replicates=2).run(store=path)
    first = counted(counts)
    assert first == ["Jitter", "Jitter", "Loss", "Loss", "Loss", "Shift"]
    again = Experiment(DATA, [Jitter(), Shift()], [Loss()], replicates=2).run(store=path)
    assert counted(counts) == []
    assert again.row("Shift()").means == {"Loss()": 1.0}
    assert again.row("Shift()").by_pair == {"Loss()": {("x", "x"): 1.0}}
    assert again.row("Shift()").notes == ("shifted x", "Loss(): measured x")
    # one replicate more: one table more of what is random
    Experiment(DATA, [Jitter(), Shift()], [Loss()], replicates=3).run(store=path)
    assert counted(counts) == ["Jitter", "Loss"]
    # one measure more: the tables are made again, the old measure is not
    Experiment(DATA, [Shift()], [Loss(), Closeness()]).run(store=path)
    assert counted(counts) == ["Closeness", "Shift"]
    # other data, other seed: everything
    other = Microdata.from_frame(pa.table({"x": [1.0, 2.0, 3.0, 5.0]}))
    Experiment(other, [Shift()], [Loss()]).run(store=path)
    Experiment(DATA, [Shift()], [Loss()], seed=1).run(store=path)
    assert counted(counts) == ["Loss", "Loss", "Shift", "Shift"]


def test_stored_and_fresh_results_are_the_same(tmp_path: Path) -> None:
    experiment = Experiment(DATA, [Jitter(), Unfit()], [Loss(), Guess()], replicates=3)
    fresh = experiment.run(store=tmp_path / "run.db", workers=2)
    stored = experiment.run(store=tmp_path / "run.db")
    assert [(r.values, r.errors, r.reasons) for r in fresh.rows] == [
        (r.values, r.errors, r.reasons) for r in stored.rows
    ]


def test_a_table_protected_elsewhere_is_known_by_its_values(tmp_path: Path, counts: Path) -> None:
    path = tmp_path / "run.db"
    Experiment(DATA, measures=[Loss()], candidates={"a": pa.table({"x": [1.0, 2.0, 3.0, 5.0]})}).run(store=path)
    Experiment(DATA, measures=[Loss()], candidates={"b": pa.table({"x": [1.0, 2.0, 3.0, 5.0]})}).run(store=path)
    assert counted(counts) == ["Loss"]
    changed = Experiment(DATA, measures=[Loss()], candidates={"a": pa.table({"x": [1.0, 2.0, 3.0, 9.0]})})
    assert changed.run(store=path).rows[0].means["Loss()"] == 1.25  # (9 - 4) / 4
    assert counted(counts) == ["Loss"]


def test_what_does_not_fit_is_stored_and_what_failed_is_tried_again(
    tmp_path: Path, counts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = Experiment(DATA, [Broken(), Unfit()], [Loss()])
    assert "no luck" in experiment.run(store=tmp_path / "run.db").row("Broken()").reasons["Loss()"].text
    assert counted(counts) == ["Unfit"]
    monkeypatch.setenv("TOY_MENDED", "1")
    again = experiment.run(store=tmp_path / "run.db")
    assert counted(counts) == ["Loss"]
    assert again.row("Broken()").means == {"Loss()": 0.0}
    assert "moustache" in again.row("Unfit()").reasons["Loss()"].text


def test_the_code_of_a_class_that_is_not_ours_is_part_of_its_key() -> None:
    from sfumato.methods import Noise

    def first() -> Shift:
        class Mine(Shift):
            extra = 1

        return Mine()

    def second() -> Shift:
        class Mine(Shift):
            extra = 2

        return Mine()

    assert repr(first()) == repr(second())
    assert identity(first()) != identity(second())
    assert identity(first()) == identity(first())
    assert identity(Noise(scale=0.1)).startswith("Noise(scale=0.1) ")


def test_the_content_of_a_holdout_is_part_of_the_key_of_its_measure(tmp_path: Path) -> None:
    holdout, other = tmp_path / "holdout.csv", tmp_path / "other.csv"
    measure = NearestRecord(holdout=str(holdout))
    absent = identity(measure)
    holdout.write_text("x\n1.5\n2.5\n3.5\n")
    first = identity(measure)
    assert identity(measure) == first != absent and repr(measure) in first
    values = [Experiment(DATA, [Shift()], [measure]).run(store=tmp_path / "run.db").row("Shift()").means]
    other.write_text("x\n1\n2\n300\n")
    other.replace(holdout)  # the same path
    assert identity(measure) != first
    values.append(Experiment(DATA, [Shift()], [measure]).run(store=tmp_path / "run.db").row("Shift()").means)
    assert values[0] != values[1]
    assert "reading" not in identity(NearestRecord())


def test_what_is_not_a_store_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("candidate,risk\n" * 100)
    with pytest.raises(FileError, match=r"notes.txt: this file is not a store of Sfumato; give another path"):
        opened(text)
    assert text.read_text().startswith("candidate,risk")
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE sweets (name TEXT)")
    connection.close()
    with pytest.raises(FileError, match="a database of another program"):
        opened(foreign)
    with pytest.raises(FileError, match="this is a folder"):
        opened(tmp_path)
    with pytest.raises(FileError, match="there is no folder"):
        opened(tmp_path / "nowhere" / "run.db")


def test_a_store_of_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "FORMAT", 99)
    opened(tmp_path / "run.db").close()
    monkeypatch.undo()
    with pytest.raises(FileError, match="a newer version of Sfumato wrote it, in format 99, and this one reads format"):
        opened(tmp_path / "run.db")


def test_a_damaged_store_is_refused_before_anything_is_computed(tmp_path: Path, counts: Path) -> None:
    path = tmp_path / "run.db"
    with opened(path) as store:
        for replicate in range(200):
            store.add(Cell(key=Key("Shift()", "Loss()", replicate), value=1.0))
    content = bytearray(path.read_bytes())
    content[4096 : len(content) - 100] = os.urandom(len(content) - 4196)
    path.write_bytes(content)
    with pytest.raises(FileError, match="damaged; give another path, or remove it"):
        Experiment(DATA, [Shift()], [Loss()]).run(store=path)
    path.write_bytes(content[: len(content) // 2])  # truncated
    with pytest.raises(FileError, match="damaged"):
        Experiment(DATA, [Shift()], [Loss()]).run(store=path)
    assert counted(counts) == []


def test_a_store_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.db"
    opened(path).close()
    connect = sqlite3.connect  # opened for reading only, since permissions do not bind every user that runs tests
    monkeypatch.setattr(sqlite3, "connect", lambda file, **how: connect(f"file:{file}?mode=ro", uri=True, **how))
    with pytest.raises(FileError, match="cannot be written; change its permissions"):
        opened(path)
    with pytest.raises(FileError, match="cannot be opened for writing; check the folder's permissions"):
        opened(tmp_path / "other.db")


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with opened(path) as store:
        store.add(CELL)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own way to have no room left
        with pytest.raises(FileError, match="the disk is full; free some space and run again"):
            store.add(Cell(key=Key("big", "Loss()", 0), value=1.0, notes=("x" * 100_000,)))
    with opened(path) as store:
        assert store.finished() == {CELL.key: CELL}


def test_a_disk_that_fills_up_stops_the_workers(tmp_path: Path, counts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(store: Store, cell: Cell) -> None:
        raise FileError("the disk is full")

    monkeypatch.setattr(Store, "add", full)
    with pytest.raises(FileError, match="the disk is full"):
        Experiment(DATA, grid(Slow, number=list(range(20))), [Loss()]).run(workers=2, store=tmp_path / "run.db")
    done = counts.read_text()
    assert done.count("Slow") < 20
    time.sleep(0.4)
    assert counts.read_text() == done


def test_two_runs_share_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.db"
    with opened(path) as one, opened(path) as two:
        one.add(CELL)
        two.add(Cell(key=Key("Shift()", "Loss()", 3), value=1.0))
        one.add(Cell(key=Key("Shift()", "Loss()", 3), value=1.0))
        assert one.finished() == two.finished()
        assert len(one.finished()) == 2
    monkeypatch.setattr(store_module, "PATIENCE", 0.05)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    with pytest.raises(FileError, match=r"another run kept it for more than 0\.05 seconds"):
        opened(path)
    blocker.close()


def test_a_class_typed_at_a_prompt_is_known_by_its_code(tmp_path: Path) -> None:
    def typed(value: str) -> type[Any]:
        space: dict[str, Any] = {"Loss": Loss, "__name__": "prompt"}
        exec(
            f"class Typed(Loss):\n    def _evaluate(self, a, b, rng):\n        return self.measurement({value})", space
        )
        made: type[Any] = space["Typed"]
        return made

    first, again, second = (typed(value)() for value in ("0.25", "0.25", "0.75"))
    assert identity(first) == identity(again) != identity(second)
    store = tmp_path / "run.db"
    assert Experiment(DATA, [Shift()], [first]).run(store=store).rows[0].means[repr(first)] == 0.25
    assert Experiment(DATA, [Shift()], [second]).run(store=store).rows[0].means[repr(second)] == 0.75


def test_a_foreign_method_inside_another_is_known_by_its_code() -> None:
    from sfumato import Noise, ResidualNoise

    noises = [ResidualNoise(of) for of in (Shift(), Jitter(), Noise(0.1))]
    assert len({identity(noise).removeprefix(repr(noise)) for noise in noises}) == 3


def test_workers_keep_each_figure_as_soon_as_it_is_there(tmp_path: Path) -> None:
    from sfumato.compare.work import _kept

    scope = Scope(tmp_path / "run.db", DATA.fingerprint, 0)
    Store(scope).close()
    (task,) = Experiment(DATA, [Shift()], [Loss(), Closeness()])._plan(scope)
    for number, _ in enumerate(_kept(task), start=1):
        with Store(scope) as other:
            assert len(other.finished()) == number  # on disk before the next one is computed
