"""Two tables on one footing: matching, parts, and what is kept."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato import DataError, Microdata, NotApplicable, Schema, Variable
from sfumato.pair import Half, Pair
from sfumato.pair.half import ByteBoundedCache
from sfumato.testing import persons
from sfumato.testing.tables import cut


def named(ids: list[str], x: list[float]) -> Microdata:
    schema = Schema((Variable("id", kind="nominal"), Variable("x")), id="id")
    return Microdata.from_frame(pa.table({"id": ids, "x": x}), schema)


# which record is which


def test_records_are_put_in_the_order_of_the_originals_by_id() -> None:
    pair = Pair.of(named(["a", "b", "c"], [1.0, 2.0, 3.0]), named(["c", "a", "b"], [30.0, 10.0, 20.0]))
    assert pair.in_order().protected.column("x").tolist() == [10.0, 20.0, 30.0]
    assert pair.protected.column("x").tolist() == [30.0, 10.0, 20.0]  # the table itself stays as it is
    assert pair.in_order() is pair.in_order()


def test_the_footing_of_records_in_another_order_is_found_by_id() -> None:
    original = persons()
    recoded = sfumato.GlobalRecoding(groups=3, rare=0.2).protect(original, rng=1)
    bare = Microdata.from_frame(recoded.to_arrow(), Schema((Variable("id", kind="nominal"),), id="id"))
    order = np.random.default_rng(2).permutation(len(original))
    straight, turned = Pair.of(original, bare).footing("age"), Pair.of(original, bare.take(order)).footing("age")
    assert straight.source == turned.source == "records"
    assert np.array_equal(straight.original, turned.original)
    assert np.array_equal(straight.protected[order], turned.protected)
    # in parts, whose records stand in another order too
    first, second = bare.take(np.arange(99, -1, -1)), bare.take(np.arange(239, 99, -1))
    in_parts = Pair.of(cut(original, [100]), [first, second]).footing("age")
    assert np.array_equal(in_parts.original, straight.original)
    assert np.array_equal(in_parts.protected[:100], straight.protected[99::-1])


def test_records_with_other_ids_are_not_taken_for_the_same() -> None:
    before, after = named(["a", "b"], [1.0, 2.0]), named(["c", "d"], [2.0, 2.0])
    assert Pair.of(before, after).footing("x").source == "none"  # by position, 1 would seem to have been cut off at 2


def test_records_that_match_none_are_refused() -> None:
    data = persons()
    with pytest.raises(NotApplicable, match="239 and 240 records"):
        Pair.of(data, data.take(np.arange(239))).in_order()
    with pytest.raises(NotApplicable, match="synthetic or a sample"):
        Pair.of(data, replace(data, matched=False)).in_order()
    bare = data.without(["id"])
    with pytest.raises(NotApplicable, match="parts of the two tables differ"):
        Pair.of(cut(bare, [100]), cut(bare, [90])).in_order()
    with pytest.raises(NotApplicable, match="ids in 'id' are not the same"):
        Pair.of(named(["a"], [1.0]), named(["b"], [1.0])).in_order()


# parts


def test_a_table_in_parts_has_no_whole_table_but_its_columns() -> None:
    data = persons()
    half = Half.of(cut(data, [10, 10, 200]))
    assert len(half) == len(data) and half.in_parts
    assert np.array_equal(half.column("age"), data.columns["age"])
    with pytest.raises(NotApplicable, match="needs all records at once, and the table is in 4 parts"):
        _ = half.table
    gathered = Pair(half, Half.of(data)).gathered(("age", "sex"))
    assert set(gathered.original.table.names) == {"age", "sex", "weight", "household", "id"}


def test_parts_with_another_schema_and_tables_without_records_are_refused() -> None:
    data = persons()
    with pytest.raises(DataError, match=r"part 2 of the table has another schema.*sex"):
        Half.of([data, data.without(["sex"])])
    other = data.schema.replace(replace(data.schema["age"], label="years"))
    with pytest.raises(DataError, match="variable 'age' is declared differently"):
        Half.of([data, replace(data, schema=other)])
    with pytest.raises(DataError, match="no records"):
        Half.of(cut(data.take(np.arange(0)), []))


def test_codes_mean_the_same_in_all_parts() -> None:
    data = persons()
    half = Half.of(cut(data, [50, 130]))
    whole = Half.of(data)
    stacked = np.concatenate([half.codes(part, ("age", "region")) for part in half.parts])
    assert np.array_equal(stacked, whole.codes(data, ("age", "region")))
    assert half.spelled(("age", "region"), stacked[0]) == whole.spelled(("age", "region"), stacked[0])


# what is kept


def test_a_statistic_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.pair.statistics import KeyClasses

    counted = []
    original = KeyClasses.of

    def told(codes: Any, weights: Any = None) -> KeyClasses:
        counted.append(1)
        return original(codes, weights)

    monkeypatch.setattr(KeyClasses, "of", told)
    data = persons()
    half = Half.of(data)
    for measure in (sfumato.KAnonymity(2), sfumato.KAnonymity(3), sfumato.KAnonymity(5)):
        measure.evaluate_pair(Pair(half, half))
    assert len(counted) == 1


def test_what_is_kept_stays_within_its_bound() -> None:
    kept = ByteBoundedCache(most=1_000)
    for name in range(20):
        kept.get(name, lambda: np.zeros(50))  # 400 bytes each
        assert kept.nbytes <= 1_000
    again = []
    kept.get(19, lambda: again.append(1))
    kept.get(0, lambda: again.append(1))
    assert len(again) == 1  # the last is still there, the first was dropped
