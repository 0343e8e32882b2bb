import math
import os
import pickle
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from compare_toys import Broken, Closeness, Guess, Jitter, Loss, Shift, Slow, Unfit

from sfumato.compare import store as store_module
from sfumato.compare.experiment import Experiment, grid
from sfumato.compare.store import Cell, Key, Scope, Store
from sfumato.errors import FileError
from sfumato.pair import Half
from sfumato.table.microdata import Microdata

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

    def nowhere(*_: Any, **__: Any) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", nowhere)
    with pytest.raises(FileError, match="cannot be opened for writing; check the folder's permissions"):
        opened(tmp_path / "other.db")


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with opened(path) as store:
        store.add(CELL)
        pages = store._database.connection.execute("PRAGMA page_count").fetchone()[0]
        store._database.connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own way to have no room left
        with pytest.raises(FileError, match="the disk is full; free some space and run again"):
            store.add(Cell(key=Key("big", "Loss()", 0), value=1.0, notes=("x" * 100_000,)))
    with opened(path) as store:
        assert store.finished() == {CELL.key: CELL}


def test_a_disk_that_fills_up_stops_the_workers(tmp_path: Path, counts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(store: Store, cell: Cell) -> None:
        raise FileError("the disk is full")

    monkeypatch.setattr(Store, "add", full)
    monkeypatch.setenv("TOY_SECONDS", "0.5")  # far from its end when the first figure finds the disk full
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


def test_workers_keep_each_figure_as_soon_as_it_is_there(tmp_path: Path) -> None:
    from sfumato.compare.work import _kept

    scope = Scope(tmp_path / "run.db", DATA.fingerprint, 0)
    Store(scope).close()
    (task,) = Experiment(DATA, [Shift()], [Loss(), Closeness()])._plan(scope, by_record=True)
    for number, _ in enumerate(_kept(task, Half.of(DATA)), start=1):
        with Store(scope) as other:
            assert len(other.finished()) == number  # on disk before the next one is computed


OLD = """
CREATE TABLE cells (
    data TEXT NOT NULL, version TEXT NOT NULL, seed TEXT NOT NULL,
    candidate TEXT NOT NULL, measure TEXT NOT NULL, replicate INTEGER NOT NULL,
    reason TEXT NOT NULL, value REAL, details TEXT NOT NULL, seconds REAL NOT NULL, protect_seconds REAL NOT NULL,
    PRIMARY KEY (data, version, seed, candidate, measure, replicate)
) WITHOUT ROWID
"""


def test_a_store_of_version_0_1_is_refused_and_left_as_it_is(tmp_path: Path, counts: Path) -> None:
    path = tmp_path / "run.db"
    with sqlite3.connect(path) as connection:
        connection.execute(OLD)
        connection.execute(f"PRAGMA application_id = {store_module.APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
        connection.execute(
            "INSERT INTO cells VALUES (?, '0.1.0', '0', 'Shift()', 'Loss()', 0, '', 7.0, '{}', 0, 0)",
            (DATA.fingerprint,),
        )
    connection.close()
    before = path.read_bytes()
    with pytest.raises(
        FileError, match=r"an older version of Sfumato wrote it, in format 1, .* or remove it to compute"
    ):
        Experiment(DATA, [Shift()], [Loss()]).run(store=path)
    assert path.read_bytes() == before
    assert counted(counts) == []


@pytest.mark.parametrize(
    "change",
    [
        "told = '{'",
        "told = '[]'",
        "told = '{\"parts\": {}}'",
        'told = \'{"parts": 3, "notes": [], "masking": []}\'',
        'told = \'{"parts": {"a": "x"}, "notes": [], "masking": []}\'',
        'told = \'{"parts": {}, "notes": "x", "masking": []}\'',
        'told = \'{"parts": {}, "notes": [], "masking": [3]}\'',
        f"told = '{'[' * 100_000}'",
        "status = 'perhaps'",
        "value = 'seven'",
        "seconds = 'long'",
        "who = x'ff'",
        "told = x'ff'",
    ],
    ids=lambda change: change[:40],
)
def test_a_cell_that_cannot_be_read_is_computed_anew_and_the_others_are_kept(
    change: str, tmp_path: Path, counts: Path
) -> None:
    path = tmp_path / "run.db"
    experiment = Experiment(DATA, [Shift(), Shift(2.0)], [Loss()])
    before = experiment.run(store=path)
    assert counted(counts) == ["Loss", "Loss", "Shift", "Shift"]
    altered(path, f"UPDATE cells SET {change} WHERE candidate LIKE '%2.0%'")
    with pytest.warns(UserWarning, match=r"run\.db: 1 of 2 figures are damaged and count as not computed; the others"):
        again = experiment.run(store=path)
    assert [row.means for row in again.rows] == [row.means for row in before.rows]
    assert counted(counts) == ["Loss", "Shift"]
    assert [row.means for row in experiment.run(store=path).rows] == [row.means for row in before.rows]
    assert counted(counts) == []


@pytest.mark.parametrize("change", ["ALTER TABLE cells DROP COLUMN told", "DROP TABLE cells"])
def test_a_store_that_lacks_a_table_or_column_is_refused_before_anything_is_computed(
    change: str, tmp_path: Path, counts: Path
) -> None:
    path = tmp_path / "run.db"
    experiment = Experiment(DATA, [Shift()], [Loss()])
    experiment.run(store=path)
    counted(counts)
    altered(path, change)
    with pytest.raises(FileError, match=r"run\.db: .*; give another path, or remove it to compute everything anew"):
        experiment.run(store=path)
    assert counted(counts) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE measurements SET content = substr(content, 1, length(content) - 5)",
        "UPDATE measurements SET content = x''",
        "UPDATE measurements SET content = 'words'",
        "UPDATE measurements SET content = zeroblob(100)",
        "DELETE FROM measurements",
    ],
)
def test_a_measurement_that_cannot_be_read_is_computed_anew_by_the_next_run(
    change: str, tmp_path: Path, counts: Path
) -> None:
    path = tmp_path / "run.db"
    experiment = Experiment(DATA, [Shift(), Shift(2.0)], [Loss()])
    results = experiment.run(store=path)
    altered(path, f"{change} WHERE candidate LIKE '%2.0%'")
    assert results.row("Shift()").means == {"Loss()": 1.0}
    counted(counts)
    with pytest.raises(FileError, match=r"run\.db: .*; run again: this figure is computed anew, and no other"):
        results.measurement("Shift(by=2.0)", Loss)
    again = experiment.run(store=path)
    assert counted(counts) == ["Loss", "Shift"]
    assert again.measurement("Shift(by=2.0)", Loss).value == 2.0
    assert again.measurement("Shift()", Loss).value == 1.0


def test_a_store_without_measurements_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    results = Experiment(DATA, [Shift()], [Loss()]).run(store=path)
    altered(path, "DROP TABLE measurements")
    with pytest.raises(FileError, match=r"run\.db: .*; give another path, or remove it to compute everything anew"):
        results.measurement("Shift()", Loss)


def test_examinations_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with opened(path) as store:
        assert store.examination("bootstrap") is None
        store.keep_examination("bootstrap", b"one" * 100)
        store.keep_examination("bootstrap", b"two" * 100)
        assert store.examination("bootstrap") == b"two" * 100
    with opened(path, seed=1) as store:
        assert store.examination("bootstrap") is None
    altered(path, "UPDATE examinations SET content = substr(content, 1, 8)")
    with opened(path) as store, pytest.raises(FileError, match=r"what it holds is damaged .*; give another path"):
        store.examination("bootstrap")


def altered(path: Path, change: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()


def test_a_cell_and_its_measurement_are_written_together(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with opened(path) as store:
        store._database.connection.execute("DROP TABLE measurements")
        with pytest.raises(FileError):
            store.add(replace(CELL, content=b"whole"))
        assert store.finished() == {}
        store.add(CELL)
        assert store.finished() == {CELL.key: CELL}


@pytest.mark.parametrize("change", ["SET value = 7", "SET value = NULL", "SET text = 'x'", "SET replicate = 3"])
def test_a_cell_that_is_not_what_was_written_is_computed_anew(change: str, tmp_path: Path, counts: Path) -> None:
    path = tmp_path / "run.db"
    experiment = Experiment(DATA, [Shift(), Shift(2.0)], [Loss()])
    experiment.run(store=path)
    altered(path, f"UPDATE cells {change} WHERE candidate LIKE '%2.0%'")
    counted(counts)
    with pytest.warns(UserWarning, match="1 of 2 figures are damaged and count as not computed; the others are kept"):
        again = experiment.run(store=path)
    assert [row.means for row in again.rows] == [{"Loss()": 1.0}, {"Loss()": 2.0}]
    assert counted(counts) == ["Loss", "Shift"]
