"""What members of a household share, of a table in parts: as in memory, wherever the members lie."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from scanned import scanned
from sfumato import Engine, Measure, Microdata, Schema, Variable
from sfumato.pair import Half, Pair, sorting
from sfumato.pair.households import shared_by_members
from sfumato.table.households import household_level
from sfumato.testing.of_measures import agree as same
from test_contract_parts import cut

Record = tuple[int | None, str | None, float | None]
NAMES = ("region", "rent")
HOME = st.one_of(st.none(), st.integers(1, 5))
RECORDS = st.lists(
    st.tuples(HOME, st.sampled_from(["n", "s", "n", None]), st.sampled_from([1.0, 1.0, 2.0, None])),
    min_size=1,
    max_size=14,
)


def table(records: Sequence[Record], *, ordered: bool) -> Microdata:
    found = sorted(records, key=lambda one: one[0] or 0) if ordered else records
    home, region, rent = (
        pa.array(column, kind)
        for column, kind in zip(zip(*found, strict=True), (pa.int64(), pa.string(), pa.float64()), strict=True)
    )
    schema = Schema((Variable("region", role="key", kind="nominal", categories=("n", "s")),), household="home")
    return Microdata.from_frame(pa.table({"home": home, "region": region, "rent": rent}), schema)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), records=RECORDS, ordered=st.booleans(), held=st.sampled_from([1, 3, 1000]))
def test_any_cut_says_what_the_whole_says(data: st.DataObject, records: list[Record], ordered: bool, held: int) -> None:
    whole = table(records, ordered=ordered)
    ends = data.draw(st.lists(st.integers(0, len(whole)), min_size=1, max_size=4), label="cuts")
    parts = data.draw(st.permutations(cut(whole, ends)), label="order")
    level = household_level(whole)
    with pytest.MonkeyPatch.context() as patch, Engine("here", memory="64 MiB"):
        patch.setattr(sorting, "SHARE", 64 * 2**20 // sorting.BYTES // held)
        half = Half.of(parts)
        for name in NAMES:
            assert shared_by_members(half, [name]) == (name in level)
        assert shared_by_members(half, NAMES) == (set(NAMES) <= set(level))


def test_what_the_schema_says_counts() -> None:
    whole = table([(1, "n", 1.0), (1, "s", 1.0), (2, "n", 2.0)], ordered=True)
    declared = Schema(
        tuple(
            Variable("region", kind="nominal", categories=("n", "s"), level="household") if v.name == "region" else v
            for v in whole.schema
        ),
        household="home",
    )
    assert not shared_by_members(Half.of(cut(whole, [1])), ["region"])
    said = Half.of(cut(Microdata(declared, whole.columns), [1]))
    assert shared_by_members(said, ["region", "rent"]) and shared_by_members(said, ["region"])
    assert not shared_by_members(said, ["region", "home"])


@pytest.mark.parametrize(
    "measure",
    [
        sfumato.KAnonymity(3),
        sfumato.SampleUniques(),
        sfumato.LDiversity(variables=("region", "size")),
        sfumato.TCloseness(variables=("region", "size")),
    ],
    ids=repr,
)
@pytest.mark.parametrize("scattered", [False, True])
def test_the_note_of_memory(measure: Measure, scattered: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    homes = 80
    region, size = rng.choice(["n", "s", "w"], homes), rng.integers(1, 5, homes)
    home = np.repeat(np.arange(homes), rng.integers(1, 4, homes))
    if scattered:
        rng.shuffle(home)
    health = rng.choice(["good", "poor"], len(home))
    schema = Schema(
        (
            Variable("region", role="key", kind="nominal", categories=("n", "s", "w")),
            Variable("size", role="key", kind="ordinal", categories=(1, 2, 3, 4)),
            Variable("health", role="confidential", kind="nominal", categories=("good", "poor")),
        ),
        household="home",
    )
    columns = {"home": home, "region": region[home], "size": size[home], "health": health}
    whole = Microdata.from_frame(pa.table(columns), schema)
    found = measure.evaluate(whole, whole, rng=1)
    assert any("have all keys in common" in note for note in found.notes)
    parts = scanned(whole, tmp_path / "parts", 7)
    torn = [before.columns["home"][-1] == after.columns["home"][0] for before, after in pairwise(parts.parts)]
    assert scattered or any(torn)
    with Engine("here"):
        same(found, measure.evaluate_pair(Pair.of(parts, parts), rng=1))


def test_only_scattered_households_are_sorted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def seen(_: Half, name: str) -> bool:
        asked.append(name)
        return False

    monkeypatch.setattr("sfumato.pair.households._sorted", seen)
    records = [(home, "n", float(home)) for home in range(1, 30) for _ in range(2)]
    with Engine("here"):
        assert shared_by_members(Half.of(scanned(table(records, ordered=True), tmp_path / "a", 5)), NAMES)
        assert not asked
        shared_by_members(
            Half.of(scanned(table(records[::2] + records[1::2], ordered=False), tmp_path / "b", 5)), NAMES
        )
    assert asked == ["region"]
