"""Finding how a column became another."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Microdata, Schema, Treatment, Variable
from sfumato.table.recoding import (
    Recoding,
    capped_records,
    classes_of_numbers,
    function_of_categories,
    piled,
    recoding,
    rounding_base,
)

rng = np.random.default_rng(1)


def table(values: Any, **known: Any) -> Microdata:
    schema = Schema((Variable("v", **known),)) if known else None
    return Microdata.from_frame(pa.table({"v": values}), schema)


def found(before: Microdata, after: Microdata, *, matched: bool = True) -> Recoding:
    return recoding(before, after, "v", matched=matched)


def spelled(codes: Any, recoded: Recoding) -> list[object]:
    return [None if code < 0 else recoded.categories[code] for code in codes]


# categories


def test_nothing_done_to_categories() -> None:
    data = table(["a", "b", "a", None])
    same = found(data, data)
    assert not same.recoded and same.comparable and same.note == ""
    assert spelled(same.protected, same) == ["a", "b", "a", None]


def test_stated_groups_need_no_records() -> None:
    before = table(["a", "b", "c", "d"])
    groups = Treatment(groups=(("a", "ab"), ("b", "ab"), ("c", "c")))  # d is not listed: it stays
    after = table(["ab", "d", "c"], kind="nominal", categories=("ab", "c", "d"), treatment=groups)
    merged = found(before, after, matched=False)
    assert merged.source == "stated" and merged.kind == "nominal"
    assert spelled(merged.original, merged) == ["ab", "ab", "c", "d"]
    assert spelled(merged.protected, merged) == ["ab", "d", "c"]


def test_new_labels_are_read_off_the_records_even_if_some_were_changed() -> None:
    before = table(["a", "b", "c", "d"] * 10)
    labels = ["ab", "ab", "cd", "cd"] * 10
    merged = found(before, table(labels))
    assert merged.source == "records"
    assert spelled(merged.original, merged) == labels
    noisy = ["cd", *labels[1:]]  # 39 of 40 agree
    assert spelled(found(before, table(noisy)).original, merged) == labels
    shuffled = rng.permutation(labels).tolist()
    assert not found(before, table(shuffled)).comparable  # no label is kept, and the records tell nothing


def test_merging_into_an_existing_label_is_told_from_an_exchange_and_from_noise() -> None:
    before = table(["a", "b", "c", "c"])
    assert found(before, table(["a", "a", "c", "c"])).source == "records"  # b became a
    assert found(before, table(["b", "a", "c", "c"])).source == "none"  # two labels exchanged: they mean what they say
    assert found(before, table(["a", "a", "c", "a"])).source == "none"  # c went both ways
    assert found(before, table(["a", None, "c", "c"])).source == "none"  # suppressed


def test_labels_passed_on_from_one_category_to_the_next_are_no_renaming() -> None:
    before = table(["a", "b", "c", "c"])
    passed_on = found(before, table(["b", "c", "d", "d"]))  # a to b, b to c, c to a new d
    assert passed_on.source == "none" and passed_on.comparable and "no category 'd'" in passed_on.note
    assert spelled(passed_on.original, passed_on) == ["a", "b", "c", "c"]
    assert spelled(passed_on.protected, passed_on) == ["b", "c", "d", "d"]
    assert found(before, table(["x", "y", "z", "z"])).source == "records"  # a renaming
    assert found(before, table(["a", "a", "z", "z"])).source == "records"  # b merged into a, which stayed; c renamed
    assert found(before, table(["b", "b", "z", "z"])).source == "records"  # a merged into b, which stayed
    assert found(before, table(["b", "z", "z", "z"])).source == "none"  # b is another now


def test_records_that_do_not_match_leave_only_what_the_categories_say() -> None:
    before = table(["a", "b", "c", "d"])
    assert found(before, table(["a", "c"]), matched=False).source == "none"  # a sample without b and d
    one = found(before, table(["a", "other", "b"]), matched=False)  # c and d are gone, one label is new
    assert one.source == "categories"
    assert spelled(one.original, one) == ["a", "b", "other", "other"]
    several = found(before, table(["a", "x", "y"]), matched=False)
    assert several.source == "none" and several.comparable and "no category 'x', 'y'" in several.note
    nothing = found(before, table(["x", "y"]), matched=False)
    assert not nothing.comparable and "state the groups" in nothing.note


def test_a_new_category_of_an_ordered_variable_stands_where_its_table_has_it() -> None:
    before = table(["low", "middle", "high", "top"], kind="ordinal", categories=("low", "middle", "high", "top"))
    theirs = ("none", "low", "so-so", "high")
    after = table(["high", "so-so", "low", "none", "high"], kind="ordinal", categories=theirs)
    joined = found(before, after, matched=False)
    assert joined.kind == "ordinal" and joined.categories == ("none", "low", "so-so", "middle", "high", "top")
    assert joined.original.tolist() == [1, 3, 4, 5] and joined.protected.tolist() == [4, 2, 1, 0, 4]
    assert joined.note == "the original has no category 'none', 'so-so'; compared as they stand"
    # in another order, or without one, there is none to keep
    turned = table(["high", "new", "low"], kind="ordinal", categories=("high", "new", "low"))
    assert found(before, turned, matched=False).kind == "nominal"
    assert "order the others differently" in found(before, turned, matched=False).note
    more = table(
        ["low", "middle", "high", "top", "new"], kind="ordinal", categories=(*before.schema["v"].categories, "new")
    )
    assert found(before, more, matched=False).protected.tolist() == [0, 1, 2, 3, 4]  # none is gone
    plain = table(["high", "new", "low"], kind="nominal")
    assert found(before, plain, matched=False).kind == "nominal"
    assert found(plain, before, matched=False).kind == "nominal"


def test_an_ordinal_variable_whose_order_was_lost_keeps_it() -> None:
    levels = ("primary", "secondary", "bachelor", "master")
    before = table(list(levels) * 3, kind="ordinal", categories=levels)
    plain = found(before, table(list(levels) * 3))
    assert plain.kind == "ordinal" and plain.categories == levels
    merged = found(before, table(["school", "school", "college", "college"] * 3))
    assert merged.kind == "ordinal" and merged.categories == ("school", "college")
    crossed = found(before, table(["x", "y", "x", "y"] * 3))  # no classes of neighbours
    assert crossed.kind == "nominal" and crossed.source == "records"


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 3)), min_size=1, max_size=60))
def test_the_function_of_categories_is_the_largest_cell_of_each(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=np.int32).T
    target, agreement = function_of_categories(x, y, 5, 4)
    counted = np.zeros((5, 4), dtype=int)
    for a, b in pairs:
        if a >= 0 and b >= 0:
            counted[a, b] += 1
    for a in range(5):
        assert (target[a] == -1) == (counted[a].sum() == 0)
        if target[a] >= 0:
            assert counted[a, target[a]] == counted[a].max()
    if counted.sum():
        assert agreement == pytest.approx(counted.max(axis=1).sum() / counted.sum())


# numbers to classes, and kinds that contradict each other


def test_stated_cuts_and_classes_read_off_the_records() -> None:
    ages = [3.0, 18.0, 25.0, 64.0, 65.0, 80.0]
    labels = ["child", "adult", "adult", "adult", "old", "old"]  # cut at 18 and 65; a class holds its lower limit
    before = table(ages)
    known = {"kind": "ordinal", "categories": ("child", "adult", "old")}
    stated = table(labels[:5], **known, treatment=Treatment(cuts=(18.0, 65.0)))
    for after, matched, source in ((stated, False, "stated"), (table(labels), True, "records")):
        banded = found(before, after, matched=matched)
        assert banded.source == source and banded.kind == "ordinal"
        assert banded.categories == ("child", "adult", "old")
        assert spelled(banded.original, banded) == labels
    untold = found(before, table(labels), matched=False)
    assert not untold.comparable and "state the cuts" in untold.note


def test_classes_are_found_though_some_records_were_changed_and_refused_if_they_are_none() -> None:
    x = rng.normal(size=500)
    y = np.digitize(x, [-1, 0, 1]).astype(np.int32)
    noisy = y.copy()
    noisy[:20] = (noisy[:20] + 1) % 4
    exact, rough = classes_of_numbers(x, y, 4), classes_of_numbers(x, noisy, 4)
    assert exact is not None and exact.agreement == 1.0 and np.array_equal(exact.codes, y)
    assert rough is not None and 0.95 < rough.agreement < 1.0
    assert not found(table(x), table([f"c{c}" for c in rng.integers(0, 4, 500)])).comparable


def test_a_kind_that_contradicts_the_other_is_read_as_the_original_says() -> None:
    numbers, codes = table([1.0, 2.0, 3.0, 2.0]), table([1, 2, 3, 2], kind="nominal")
    as_numbers = found(numbers, codes)
    assert as_numbers.kind == "numeric" and "state its kind" in as_numbers.note
    assert as_numbers.protected.tolist() == [1.0, 2.0, 3.0, 2.0]
    as_codes = found(codes, numbers)
    assert as_codes.kind == "nominal" and spelled(as_codes.protected, as_codes) == [1, 2, 3, 2]
    assert found(codes, table([2.0, 1.0]), matched=False).comparable
    strange = found(codes, table([1.5, 2.0, 3.0, 2.0]))
    assert not strange.comparable and "none of its categories" in strange.note
    assert found(numbers, table(["1", "2", "3", "2"])).kind == "numeric"


# numbers


def test_cut_off_ends_are_read_off_the_records() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, 9.0, 12.0])
    top = found(table(x), table(np.minimum(x, 5)))
    assert top.source == "records" and top.original.tolist() == [1, 2, 3, 4, 5, 5]
    by_mean = np.where(x > 5, 10.5, x)  # what was cut off is published as its mean
    assert found(table(x), table(by_mean)).original.tolist() == by_mean.tolist()
    both = found(table(x), table(np.clip(x, 2.5, 5)))
    assert both.original.tolist() == [2.5, 2.5, 3, 4, 5, 5]
    holes = np.where(x == 3, np.nan, np.minimum(x, 5))
    assert found(table(x), table(holes)).source == "records"
    assert capped_records(x, x + 0.1) is None
    assert capped_records(x, np.array([1.0, 2.0, 3.0, 4.0, 4.0, 12.0])) is None  # one value moved, not an end
    assert capped_records(x, np.array([1.0, 2.0, 3.0, 4.0, 9.0, 11.0])) is None  # one value only


def test_stated_treatments_of_numbers() -> None:
    x = np.array([1.2, 2.0, 3.0, 4.9, 9.0, 12.0, np.nan])
    before = table(x)
    capped = table([1.2, 5.0, 5.0], treatment=Treatment(top=5.0))
    np.testing.assert_array_equal(found(before, capped, matched=False).original, [1.2, 2, 3, 4.9, 5, 5, np.nan])
    by_mean = table([1.2, 10.5], treatment=Treatment(top=5.0, bottom=2.0))
    np.testing.assert_array_equal(found(before, by_mean, matched=False).original, [1.2, 2, 3, 4.9, 10.5, 10.5, np.nan])
    rounded = table([2.0, 4.0], treatment=Treatment(base=2.0))
    np.testing.assert_array_equal(found(before, rounded, matched=False).original, [2, 2, 4, 4, 8, 12, np.nan])
    classes = found(before, table([2.5, 7.0], treatment=Treatment(cuts=(3.0,))), matched=False)
    assert classes.kind == "ordinal" and classes.original.tolist() == [0, 0, 1, 1, 1, 1, -1]
    assert classes.protected.tolist() == [0, 1]
    perturbed = found(before, table(np.minimum(x, 5), treatment=Treatment(perturbed=True)))
    assert perturbed.source == "none"  # what the schema states is not second-guessed


def test_rounding_is_read_off_the_records() -> None:
    x = rng.uniform(0, 100, 300)
    assert rounding_base(x, np.round(x, -1)) == pytest.approx(10)
    tenths = found(table(x), table(np.round(x, 1)))
    assert tenths.source == "records"
    assert np.array_equal(tenths.original, tenths.protected)  # to the last digit
    assert rounding_base(x, x + rng.normal(size=300)) is None
    assert found(table(x), table(x + rng.normal(size=300))).source == "none"


def test_halves_may_be_rounded_either_way() -> None:
    x = np.arange(0.0, 100.0)
    up, down, even = (np.floor(x / 10 + 0.5) * 10, np.ceil(x / 10 - 0.5) * 10, np.rint(x / 10) * 10)
    for theirs in (up, down, even):
        for after in (table(theirs), table(theirs, treatment=Treatment(base=10.0))):
            same = found(table(x), after)
            assert same.recoded
            np.testing.assert_array_equal(same.original, same.protected)
    # where a record was changed besides, its own value is rounded
    swapped = table(np.append(90.0, up[1:]), treatment=Treatment(base=10.0))
    np.testing.assert_array_equal(found(table(x), swapped).original, np.append(0.0, up[1:]))


def test_a_pile_at_an_end_tells_of_records_that_do_not_match() -> None:
    x, y = (generator.lognormal(size=4000) for generator in np.random.default_rng(3).spawn(2))
    for cut in (np.minimum(y, 5.0), np.where(y > 5, 8.0, y)):
        top = piled(x, cut)
        assert (
            top is not None and top.max() == cut.max() and (top == cut.max()).mean() == (x > cut[cut < 5].max()).mean()
        )
    assert found(table(x), table(np.clip(y, 0.2, 5.0)), matched=False).source == "distribution"
    assert piled(x, y) is None
    assert piled(x, y[y < 5]) is None  # an end that was dropped leaves no pile
    assert piled(x, np.minimum(y, 20.0)) is None  # a handful of values: ordinary ties
    whole = rng.integers(18, 90, 4000).astype(float)
    assert piled(whole, rng.integers(18, 90, 3000).astype(float)) is None
    assert piled(np.minimum(x, 5), np.minimum(y, 5)) is None  # the original has the pile too


@pytest.mark.parametrize("values", [["A", "B", "A", "C", None], [1.0, 2.0, 1.0, 3.0, None]])
def test_what_was_recoded_locally_is_compared_in_the_class_of_each_record(values: list[Any]) -> None:
    own = "C" if values[0] == "A" else "3"
    after = table(["AB", "AB", "A", None, None], kind="nominal", treatment=Treatment(local=True, suppressed=1))
    recoded = found(table(values), after)
    assert recoded.comparable and recoded.source == "records"
    assert spelled(recoded.original, recoded) == ["AB", "AB", "A", own, None]
    assert spelled(recoded.protected, recoded) == ["AB", "AB", "A", None, None]
    assert not found(table(values), after, matched=False).comparable


@pytest.mark.parametrize("values", [[1.0, 2.0], ["a", "b"]])
def test_missing_everywhere_is_no_obstacle(values: list[Any]) -> None:
    before = table(values)
    column = before.columns["v"]
    gone = np.full_like(column, np.nan if column.dtype.kind == "f" else -1)
    empty = replace(before, columns={"v": gone})
    for pair in ((before, empty), (empty, before), (empty, empty)):
        for matched in (True, False):
            assert found(*pair, matched=matched).source == "none"
