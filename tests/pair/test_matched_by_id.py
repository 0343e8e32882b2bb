"""Records of tables in parts matched by id: any permutation over any cut gives the figures in memory."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from scanned import scanned
from sfumato import Engine, FileError, Microdata, NotApplicable, Schema, Variable, scan
from sfumato.engine.engine import NESTED
from sfumato.pair import Half, Pair
from sfumato.pair.matching import InOrder, put_in_order
from sfumato.pair.random_order import RandomOrder
from sfumato.testing.of_measures import agree as same
from tables import persons
from test_contract_parts import cut, with_gaps

DATA = with_gaps(persons(150), 0.05, seed=1)
MASKED = (sfumato.Noise(0.2, variables=("income",)) + sfumato.PRAM(0.9, variables=("region",))).protect(DATA, rng=1)
MEASURES = (sfumato.InformationLoss(), sfumato.RankInterval(), sfumato.Reidentification(), sfumato.KAnonymity(2))


def numbered(data: Microdata) -> Microdata:
    """The same table with numbers for ids."""
    number = np.random.default_rng(8).permutation(len(data)) * 7.0 + 0.5
    schema = replace(data.schema.replace(Variable("id", role="identifier")))
    return replace(data, schema=schema, columns={**data.columns, "id": number})


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_any_permutation_over_any_cut(data: st.DataObject) -> None:
    ends, others = (data.draw(st.lists(st.integers(0, 150), min_size=1, max_size=5)) for _ in range(2))
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(150)
    pair = Pair.of(cut(DATA, ends), cut(MASKED.take(order), others))
    assert pair.matched
    whole = Pair.of(DATA, MASKED)
    for measure in MEASURES:
        same(measure.evaluate_pair(whole, rng=1), measure.evaluate_pair(pair, rng=1))


@pytest.mark.parametrize("kind", ["text", "number"])
def test_on_disk(kind: str, tmp_path: Path) -> None:
    before, after = (DATA, MASKED) if kind == "text" else (numbered(DATA), numbered(MASKED))
    order = np.random.default_rng(3).permutation(150)
    original = scanned(before, tmp_path / "original", 4)
    protected = scanned(after.take(order), tmp_path / "protected", 7)
    NESTED.clear()
    with Engine("here", memory="64 MiB"):
        pair = Pair.of(original, protected)
        assert all(isinstance(part.columns, InOrder) for part in pair.protected.parts)
        assert np.array_equal(pair.protected.column("income"), after.columns["income"], equal_nan=True)
        assert np.array_equal(pair.protected.column("region"), after.columns["region"])
        for measure in MEASURES:
            same(measure.evaluate(before, after, rng=1), measure.evaluate_pair(pair, rng=1))
    assert not NESTED


def test_a_file_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    original = scanned(DATA, tmp_path / "original", 4)
    protected = scanned(MASKED.take(np.arange(150)[::-1]), tmp_path / "protected", 3)
    with Engine("here", memory="64 MiB"):
        last = Pair.of(original, protected).protected.parts[-1].columns
        assert isinstance(last, InOrder) and last.memory == 64 * 2**20
        last.read("income")
        (file,) = last.folder.glob("column-*")
        os.truncate(file, file.stat().st_size - 8)
        with pytest.raises(FileError, match="is shorter than what was written to it"):
            last.read("income")


def test_the_weights_of_the_original_are_those_of_the_same_people(tmp_path: Path) -> None:
    bare = MASKED.without(["weight"])
    bare = replace(bare, schema=replace(bare.schema, weight=None))
    order = np.random.default_rng(3).permutation(150)
    measure = sfumato.IndividualRisk(variables=("region", "sex"))
    whole = measure.evaluate(DATA, bare)
    assert any("original's 'weight' is used" in note for note in whole.notes)
    same(whole, measure.evaluate_pair(Pair.of(cut(DATA, [40, 90]), cut(bare.take(order), [70]))))


def test_processes_read_what_one_of_them_put_in_order(tmp_path: Path) -> None:
    order = np.random.default_rng(3).permutation(150)
    original, protected = scanned(DATA, tmp_path / "a", 4), scanned(MASKED.take(order), tmp_path / "b", 4)
    with Engine("local", processes=2):
        same(sfumato.InformationLoss().evaluate(DATA, MASKED), sfumato.InformationLoss().evaluate(original, protected))


def parts(folder: Path, *ids: list[Any]) -> sfumato.TableInParts:
    """A table of numbers under ids, a file for each list."""
    folder.mkdir()
    for place, listed in enumerate(ids):
        x = np.arange(len(listed), dtype=np.float64)
        pq.write_table(pa.table({"id": listed, "x": x}), folder / f"{place}.parquet")
    return scan(folder, Schema(id="id"))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (([1, 2], [3, 4]), ([1, 3], [2, 5]), "ids in 'id' are not the same"),
        ((["a", "b"], ["c", "d"]), (["c", "b"], ["a", "e"]), "ids in 'id' are not the same"),
        (([1, 2], [3, 4]), (["1", "3"], ["2", "4"]), "ids in 'id' are not the same"),
        (([1, 2], [2, 4]), ([2, 4], [1, 2]), "must tell records apart, but 2 names more than one"),
        ((["a", "b"], ["c"]), (["a", "b"], ["c", "d"]), "they have 4 and 3 records"),
    ],
)
def test_ids_that_match_nobody_are_refused(
    before: Any, after: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.table.parts.MAX_IDS_AT_ONCE", 0)  # ids of longer tables are first told apart here
    original, protected = parts(tmp_path / "a", *before), parts(tmp_path / "b", *after)
    with pytest.raises(NotApplicable, match=said):
        sfumato.InformationLoss().evaluate(original, protected)


def test_a_table_without_an_id_is_matched_as_it_stands() -> None:
    bare = replace(MASKED, schema=replace(MASKED.schema, id=None))
    pair = Pair.of(cut(DATA, [10]), cut(bare, [10]))
    assert pair.matched and pair.protected.parts[0] is not None and isinstance(pair.protected, Half)


def test_what_is_matched_by_position_says_so(tmp_path: Path) -> None:
    bare = MASKED.without(["id"])
    original, protected = scanned(DATA, tmp_path / "a", 3), scanned(bare, tmp_path / "b", 3)
    for measure in (sfumato.Reidentification(), sfumato.InformationLoss()):
        said = "records are matched by position: the protected table has no id 'id'"
        assert measure.evaluate(original, protected, rng=1).notes[0] == said
        assert measure.evaluate(DATA, bare, rng=1).notes[0] == said


def test_the_order_of_a_release_beyond_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.pair.sorting.MAX_SORTED_RECORDS", 20)  # records sorted at a time
    order, bare = RandomOrder(7, "a release"), MASKED.without(["id"])
    rows = np.argsort(order.draws(0, len(DATA)), kind="stable")
    original, protected = scanned(DATA, tmp_path / "a", 4), scanned(bare.take(rows), tmp_path / "b", 7)
    with Engine("here", memory="64 MiB"):
        placed = put_in_order(protected, order.records(len(DATA)), original.sizes)
        assert placed.sizes == original.sizes
        assert np.array_equal(placed.loaded().columns["income"], MASKED.columns["income"], equal_nan=True)
        same(sfumato.InformationLoss().evaluate(DATA, MASKED), sfumato.InformationLoss().evaluate(original, placed))
