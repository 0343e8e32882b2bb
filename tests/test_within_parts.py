"""Methods within blocks of a table in parts: each block is that of the whole table, and so is what becomes of it."""

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato
from methods_in_parts import table
from scanned import scanned
from sfumato import Engine, Method, Microdata, NotApplicable, ParameterError
from sfumato.composition import Within
from sfumato.engine import LocalProcesses
from sfumato.pair import blocks
from sfumato.pair.files import read_numbers
from sfumato.table.treatment import Treatment

METHODS: list[Method] = [
    sfumato.MDAV(3).within("region"),
    sfumato.MDAV(4).within(blocks=40),
    sfumato.RankSwapping(0.3).within("sex"),
    sfumato.LocalSuppression(2, variables=("education", "health")).within("sex"),
    sfumato.CARTSynthesis(5).within("sex"),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_it_is_the_table_in_memory(method: Method, tmp_path: Path) -> None:
    data = table(200)
    whole = method.protect(data, rng=5)
    for number in (1, 3, 17):
        with Engine("here") as engine:
            if number == 3:
                engine.memory = 2 * 6 * 8 * 10 * 30  # some thirty records at a time, so that there are several batches
            parts = scanned(data, tmp_path / f"original-{number}", number)
            after = method.protect(parts, rng=5, folder=tmp_path / f"protected-{number}")
        assert after.matched == whole.matched and len(after.parts) == number
        found = after.loaded()
        assert found.schema == whole.schema
        for name in whole.names:
            np.testing.assert_array_equal(found.columns[name], whole.columns[name], err_msg=name)


@dataclass(frozen=True, repr=False)
class DiesOnce(sfumato.Noise):
    """Noise, but the process that is first to add it dies of it."""

    flag: str = field(default="", kw_only=True)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        if not Path(self.flag).exists():
            Path(self.flag).touch()
            os._exit(9)
        return super().apply(data, rng)


def test_a_worker_that_dies_in_a_block_costs_its_part(tmp_path: Path) -> None:
    data = table(200)
    whole = sfumato.Noise(0.2).within("sex").protect(data, rng=5)
    parts = scanned(data, tmp_path / "original", 3)
    with Engine("local", processes=1, folder=tmp_path / "aside") as engine:
        assert isinstance(engine.executor, LocalProcesses)
        method = DiesOnce(0.2, flag=str(tmp_path / "died")).within("sex")
        after = method.protect(parts, rng=5, folder=tmp_path / "protected").loaded()
        assert engine.executor.deaths == 1
        assert not list((tmp_path / "aside").rglob("before-*"))
    for name in whole.names:
        np.testing.assert_array_equal(after.columns[name], whole.columns[name], err_msg=name)


class Looked(np.ndarray):
    """Numbers that count how many of them are compared with another."""

    compared = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        plain = [one.view(np.ndarray) if isinstance(one, Looked) else one for one in inputs]
        Looked.compared += max(map(np.size, plain)) if ufunc is np.equal else 0
        return getattr(ufunc, method)(*plain, **named)


def test_each_record_is_put_back_once_however_many_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[tuple[str, int]] = Counter()
    batches = blocks._batches

    def reading(path: Path, dtype: str, first: int, count: int) -> np.ndarray:
        read[path.name, first] += 1
        assert path.stat().st_mode & 0o077 == 0
        return read_numbers(path, dtype, first, count)

    monkeypatch.setattr(blocks, "_batches", lambda sizes, most: batches(sizes, 1).view(Looked))
    monkeypatch.setattr(blocks, "read_numbers", reading)
    data = table(200)
    for method in (sfumato.Rounding(10, variables=("age",)), sfumato.CARTSynthesis(5)):
        monkeypatch.setattr(Looked, "compared", 0)
        with Engine("here") as engine:
            parts = scanned(data, tmp_path / f"{method.family} of", 3)
            method.within(blocks=10).protect(parts, rng=5, folder=tmp_path / method.family)
            assert not [path.name for path in engine.folder.iterdir() if path.name.startswith("blocks-")]
        assert len({name for name, _ in read if name.startswith("after")}) > 10 * len(data.names)
        assert max(read.values()) == 1  # each stretch of each file
        assert Looked.compared <= len(data)  # not all of them with the number of each batch
        read.clear()


def test_what_changes_in_a_later_part_alone_is_put_back_whole(tmp_path: Path) -> None:
    data = table(200)
    age = np.where(np.arange(200) < 120, 30.0, np.arange(200))
    said = data.schema["age"].treated(Treatment(base=10.0))  # so that nothing but values tells a difference
    data = replace(data.replace({"age": age}), schema=data.schema.replace(said))
    method = sfumato.Rounding(10, variables=("age",)).within("sex")
    after = method.protect(scanned(data, tmp_path / "original", 5), rng=5, folder=tmp_path / "protected").loaded()
    np.testing.assert_array_equal(after.columns["age"], method.protect(data, rng=5).columns["age"])
    assert after.schema == data.schema and not np.array_equal(after.columns["age"], age)


def test_blocks_of_neighbours_are_of_the_size_and_in_order() -> None:
    data = table(205)
    method = sfumato.MDAV(3, variables=("income", "age")).within(blocks=40)
    assert isinstance(method, Within)
    found = method._along(sfumato.pair.Half.of(data))
    assert found.sizes.sum() == 205 and found.sizes.min() >= 40 and found.sizes.max() < 80
    values = data.numeric(("income", "age"))
    z = (values - np.nanmean(values, axis=0)) / np.nanstd(values, axis=0, ddof=1)
    z = np.where(np.isnan(z), 0.0, z)
    _, axes = np.linalg.eigh(z.T @ z)
    scores = z @ axes[:, -1] * np.sign(axes[np.abs(axes[:, -1]).argmax(), -1])
    blocks = found.of_numbered(data, 0)
    for lower in range(len(found.sizes) - 1):
        assert scores[blocks == lower].max() <= scores[blocks == lower + 1].min() + 1e-9


def test_every_combination_is_shared_by_k_records_within_blocks() -> None:
    data = table(300).without(["age"])
    after = sfumato.MDAV(5, variables=("income",)).within(blocks=60).protect(data)
    income = after.columns["income"]
    _, counts = np.unique(income[~np.isnan(income)], return_counts=True)
    assert counts.min() >= 5


def test_refusals(tmp_path: Path) -> None:
    parts = scanned(table(60), tmp_path / "original", 2)
    with pytest.raises(NotApplicable, match=r"MDAV: block region = .*fewer records than least=50"):
        sfumato.MDAV(3).within("region", least=50).protect(parts, folder=tmp_path / "a")
    with pytest.raises(NotApplicable, match="'weight' is the weight of the records, which makes no blocks"):
        sfumato.MDAV(3).within("weight").protect(parts, folder=tmp_path / "a")
    with pytest.raises(NotApplicable, match="blocks of neighbours need a number"):
        sfumato.PRAM(0.8, variables=("sex",)).within(blocks=20).protect(parts, folder=tmp_path / "a")
    with pytest.raises(ParameterError, match="of variables or of neighbours, not of both"):
        sfumato.MDAV(3).within("region", blocks=20)
    assert repr(sfumato.MDAV(3).within(blocks=20, least=5)) == "MDAV(k=3).within(blocks=20, least=5)"
