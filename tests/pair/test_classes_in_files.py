"""Key classes that go to files: the same classes as in memory, and a clear refusal where the disk is full."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from scanned import scanned
from sfumato import Engine, FileError
from sfumato.pair import Pair
from sfumato.pair.files import Workspace
from sfumato.pair.statistics import KeyClasses, merged
from sfumato.table.keys import key_names
from sfumato.testing.of_measures import agree as same
from tables import persons


def told(found: KeyClasses) -> dict[tuple[int, ...], tuple[int, float]]:
    weights = found.sizes if found.weights is None else found.weights
    return {
        tuple(cell): (size, round(weight, 9))
        for cell, size, weight in zip(found.cells.tolist(), found.sizes.tolist(), weights.tolist(), strict=True)
    }


def counted(records: Iterable[tuple[tuple[int, ...], float]]) -> dict[tuple[int, ...], tuple[int, float]]:
    """The same by hand, one record after the other."""
    found: dict[tuple[int, ...], tuple[int, float]] = {}
    for key, weight in records:
        size, total = found.get(key, (0, 0.0))
        found[key] = size + 1, total + weight
    return {key: (size, round(total, 9)) for key, (size, total) in found.items()}


KEYS = st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 300)), min_size=1, max_size=40)


@settings(max_examples=30, deadline=None)
@given(parts=st.lists(KEYS, min_size=1, max_size=6), memory=st.integers(100, 4000), weighted=st.booleans())
def test_files_hold_the_classes_of_memory(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[list[tuple[int, int]]],
    memory: int,
    weighted: bool,
) -> None:
    folder = tmp_path_factory.mktemp("spill")
    pieces = []
    for keys in parts:
        codes = np.array(keys, dtype=np.int32)
        weights = (codes[:, 0] + 2) / 4 if weighted else None
        pieces.append(KeyClasses.of_part(codes, weights))
    found = merged(iter(pieces), Workspace(memory, folder))
    records = ((key, (key[0] + 2) / 4 if weighted else 1.0) for keys in parts for key in keys)
    assert told(found) == counted(records)
    if len(found) > memory // 8 // 24:
        assert isinstance(found.sizes, np.memmap)
    assert not any(folder.iterdir())  # the files have no name


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.arange(2000, dtype=np.int32).reshape(-1, 2)

    def full(**_: Any) -> Any:
        return Path("/dev/full").open("r+b", buffering=0)  # whatever is written to it finds no space

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    gathering = KeyClasses.gathering(Workspace(800, tmp_path))
    with pytest.raises(FileError, match=f"key classes .* cannot be put into {tmp_path}: the disk is full"):
        gathering.add(KeyClasses.of_part(codes))


def test_measures_over_classes_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from test_contract_parts import with_gaps

    monkeypatch.setattr("sfumato.pair.statistics.SHARE_OF_CLASSES", 2**20)  # of 64 MiB: a handful of classes fit
    data = with_gaps(persons(240), 0.05, seed=3)
    masked = sfumato.PRAM(0.8).protect(data, rng=2)
    parts = scanned(data, tmp_path / "original", 5), scanned(masked, tmp_path / "protected", 5)
    with Engine("here", memory="64 MiB", folder=tmp_path / "work"):
        pair = Pair.of(*parts)
        for measure in (
            sfumato.KAnonymity(3),
            sfumato.IndividualRisk(),
            sfumato.LDiversity(),
            sfumato.SampleUniques(),
        ):
            same(measure.evaluate(data, masked, rng=1), measure.evaluate_pair(pair, rng=1))
        assert isinstance(pair.protected.classes(key_names(data.schema, None)).sizes, np.memmap)
