"""Engines: results in the order of the parts, kept as they arrive, refused where something is broken."""

import io
import os
import pickle
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import pytest

from numbered_parts import Number
from sfumato import Engine, EngineError, FileError, ParameterError
from sfumato.engine import LocalProcesses, Summaries, current
from sfumato.engine.engine import _unpickled, in_bytes
from sfumato.engine.summaries import _computing, _Reading
from sfumato.identity import package_code
from sfumato.pair.statistics import Sums

PARTS = [(Number(value),) for value in range(30)]


def squared(part: Any) -> Sums:
    return Sums({"square": part.value**2})


def squares(engine: Engine) -> list[int]:
    return [found["square"] for found in engine.each(squared, PARTS)]


@pytest.fixture(params=["here", "local", "threads", "Python's processes"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param in ("here", "local"):
        with Engine(request.param, processes=2 if request.param == "local" else None) as made:
            yield made
        return
    pool: Executor = ThreadPoolExecutor(2) if request.param == "threads" else ProcessPoolExecutor(1)
    with pool, Engine(pool) as made:
        yield made


def test_results_come_in_the_order_of_the_parts(engine: Engine) -> None:
    assert squares(engine) == [value**2 for value in range(30)]


def test_the_engine_of_the_with_statement_is_taken() -> None:
    with Engine("here") as outer:
        assert current(10**9) is outer
        with Engine("here") as inner:
            assert current(1) is inner
        assert current(1) is outer
    assert current(1).executor is None  # few records: this process
    assert current(1) is current(1)


def test_what_is_stored_is_not_computed_again(tmp_path: Path) -> None:
    store = tmp_path / "work" / "summaries.sqlite"
    with Engine("here", store=store) as first:
        for found in first.each(squared, PARTS):
            if found["square"] == 100:  # stopped on the way, as a killed run is
                break
    assert store.stat().st_mode & 0o077 == 0
    with Engine("local", processes=1, store=store) as second:
        assert squares(second) == [value**2 for value in range(30)]
        assert second.computed == 30 - 11
        assert squares(second) and second.computed == 30 - 11
    with Engine("here", store=store) as third:  # another task has other summaries
        assert [found["x"] for found in third.each(lambda part: Sums({"x": -part.value}), PARTS[:2])] == [0, -1]
        assert third.computed == 2


def test_a_store_that_is_none(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (x)")
    with pytest.raises(FileError, match="another program"):
        Summaries(path)
    (tmp_path / "text.sqlite").write_text("no database at all, but a text of some length" * 20)
    with pytest.raises(FileError, match="cannot be kept"):
        Summaries(tmp_path / "text.sqlite")


def test_a_store_runs_no_code(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.system, ("exit 1",)

    store = Summaries(tmp_path / "a.sqlite")
    store.keep("key", Evil())
    assert store.find("key") is None
    store.keep("key", Sums({"x": 1.0}))
    assert store.find("key")["x"] == 1.0 and len(store) == 1
    store.close()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("sfumato.table.atomic", "os.system"),  # what a module of ours has imported
        ("sfumato.engine.engine", "_unpickled"),  # a function of ours that would read another pickle
        ("sfumato.engine.engine", "Engine"),  # a class that is no statistic: it would speak to a cluster
        ("numpy", "fromfile"),
        ("builtins", "eval"),
    ],
)
def test_a_forged_summary_calls_nothing(module: str, name: str, tmp_path: Path) -> None:
    """Whoever can write to the file can also make the digest that stands before each summary."""
    texts = [b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name, f"touch {tmp_path / 'ran'}")]
    forged = b"\x80\x04" + texts[0] + texts[1] + b"\x93" + texts[2] + b"\x85R."
    with pytest.raises(pickle.UnpicklingError, match="a summary holds no"):
        _Reading(io.BytesIO(forged), {"sfumato"}).load()
    store = Summaries(tmp_path / "a.sqlite")
    store.keep("key", 1)
    content = zlib.compress(forged)
    store._database.connection.execute("UPDATE summaries SET content = ?", (sha256(content).digest() + content,))
    assert store.find("key") is None and not (tmp_path / "ran").exists()
    store.close()


def test_an_edited_plug_in_is_not_answered_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in = tmp_path / "counting_plug_in.py"
    store = tmp_path / "summaries.sqlite"
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = []
    for factor in (1, 1, 2):
        plug_in.write_text(
            "from dataclasses import dataclass\nfrom sfumato.pair.statistics import Sums\n"
            "@dataclass(frozen=True)\nclass Times:\n    power: int\n    def __call__(self, part):\n"
            f"        return Sums({{'found': {factor} * part.value ** self.power}})\n"
        )
        invalidate_caches()
        made = import_module("counting_plug_in")
        for cached in (package_code, _computing, _unpickled):  # as in a process that begins
            cached.cache_clear()
        with Engine("here", store=store) as engine:
            found.append((sum(one["found"] for one in engine.each(made.Times(1), PARTS)), engine.computed))
        del sys.modules["counting_plug_in"]
    assert found == [(435, 30), (435, 0), (870, 30)]  # 0 + 1 + ... + 29 = 435


def test_what_is_computed_of_a_summary_has_the_same_key_in_the_next_run(tmp_path: Path) -> None:
    """In this process a summary may share objects that one read from the store does not; tasks are known by pickles."""
    long = "".join(["a text", " made here"])

    def shared(part: Any) -> Sums:
        return Sums({long: part.value})

    def counted(texts: tuple[str, ...], part: Any) -> Sums:
        return Sums({"x": len(texts) * part.value})

    computed = []
    for _ in range(2):
        with Engine("here", store=tmp_path / "summaries.sqlite") as engine:
            found = [list(one.named) for one in engine.each(shared, PARTS)]
            texts = tuple(name for names in found for name in names)
            list(engine.each(partial(counted, texts), PARTS))
            computed.append(engine.computed)
    assert computed == [60, 0]


def test_errors_of_a_part_and_of_the_engine() -> None:
    def refuse(part: Number) -> Sums:
        raise FileError(f"part {part.value} has changed")

    class Gone(Executor):
        def submit(self, *_: Any, **__: Any) -> Any:
            future: Future[Any] = Future()
            future.set_exception(ConnectionError("nobody answers"))
            return future

    with Engine("local", processes=1) as engine, pytest.raises(FileError, match="part 0 has changed"):
        list(engine.each(refuse, PARTS))
    with Engine(Gone()) as engine, pytest.raises(EngineError, match=r"gone or broken .ConnectionError: nobody answers"):
        list(engine.each(squared, PARTS))
    pool = ProcessPoolExecutor(1)
    with Engine(pool) as engine, pytest.raises(EngineError, match="BrokenProcessPool"):
        list(engine.each(_dies, PARTS))
    pool.shutdown()
    with Engine(pool) as engine, pytest.raises(EngineError, match="takes no more work"):
        list(engine.each(squared, PARTS))


def _dies(part: Any) -> Sums:
    os._exit(1)


def test_names_of_engines() -> None:
    with pytest.raises(ParameterError, match="no engine 'hadoop'; there are local, here, dask"):
        Engine("hadoop")
    with pytest.raises(ParameterError, match="processes is for 'local'"):
        Engine("here", processes=2)
    assert isinstance(Engine(processes=1).executor, LocalProcesses)


def test_memory_in_words() -> None:
    assert in_bytes("1.5 GB") == 1_500_000_000 and in_bytes(2**30) == 2**30 and in_bytes(None) >= 64 * 2**20
    for odd in ("much", "1 KB", True):
        with pytest.raises(ParameterError, match="memory must be"):
            in_bytes(odd)


def test_the_folder_goes_with_the_engine(tmp_path: Path) -> None:
    with Engine("here", folder=tmp_path / "work") as engine:
        folder = engine.folder
        assert folder.parent == tmp_path / "work" and folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()


def test_a_summary_that_was_changed_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    store = Summaries(path)
    store.keep("key", Sums({"x": 1.0}))
    store.close()
    with sqlite3.connect(path) as connection:
        (content,) = connection.execute("SELECT content FROM summaries").fetchone()
        for place in range(len(content)):
            changed = bytearray(content)
            changed[place] ^= 1
            connection.execute("UPDATE summaries SET content = ?", (bytes(changed),))
            connection.commit()
            store = Summaries(path)
            assert store.find("key") is None
            store.close()
    connection.close()


def test_a_full_disk_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Engine("here", store=path) as engine:
        assert engine.summaries is not None
        kept = engine.each(squared, PARTS)
        assert [next(kept)["square"] for _ in range(3)] == [0, 1, 4]
        (pages,) = engine.summaries._database.connection.execute("PRAGMA page_count").fetchone()
        engine.summaries._database.connection.execute(f"PRAGMA max_page_count = {pages}")  # no room for more
        with pytest.raises(FileError, match=r"cannot be kept in .*a\.sqlite: database or disk is full"):
            list(engine.each(lambda part: Sums({"x": "y" * 100_000, "n": part.value}), PARTS))
    with Engine("here", store=path) as again:
        assert squares(again) == [value**2 for value in range(30)] and again.computed == 27


def test_no_more_processes_than_memory_has_room_for() -> None:
    assert Engine("local", memory="64 MiB").workers == 1
