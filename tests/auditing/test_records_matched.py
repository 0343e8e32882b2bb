"""Which record is which, and which columns are the id under another name: thresholds and ways, by hand."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sfumato import DataError, Microdata, Schema, Variable
from sfumato.auditing import matching
from sfumato.auditing.belonging import _go_together, _held, _number, _one_to_one, _whole, copies_of_names
from sfumato.auditing.matching import _agreement, _beyond_chance, _contained, _told_apart, match, under_same_codes


def table(columns: dict[str, Any], **special: Any) -> Microdata:
    """Numbers as they are, texts as categories."""
    import pandas as pd

    return Microdata.from_frame(pd.DataFrame(columns), Schema(**special))


def letters(size: int, number: int = 7) -> list[str]:
    return [chr(65 + i * i % number) for i in range(size)]


def test_a_column_holds_only_what_the_original_has_and_none_more_often() -> None:
    assert _contained(np.array([1, 2, 2, 3]), np.array([2, 3, 2]))
    assert not _contained(np.array([1, 2, 2, 3]), np.array([2, 2, 2]))
    assert not _contained(np.array([1, 2]), np.array([1, 5]))


def test_agreement_is_a_share_of_what_is_published() -> None:
    before = table({"pay": [1.0, 2, 3, 4, np.nan], "town": list("ABCAB")})
    after = table({"pay": [1.0, 2, 9, np.nan, 5], "town": ["A", "B", "C", "B", None]})
    assert _agreement(before, after, "pay") == 0.5  # 2 of 4
    assert _agreement(before, after, "town") == 0.75
    assert _agreement(before, table({"pay": [np.nan] * 5}), "pay") == 0.0
    assert _agreement(before, table({"pay": list("ABCAB")}), "pay") == 0.0  # a number became a text
    assert under_same_codes(before, table({"pay": list("ABCAB")}), "pay") is None


def test_beyond_chance_is_six_standard_errors() -> None:
    """Of n pairs of numbers the correlation must exceed 6 / sqrt(n): for 100 records .6."""
    rng = np.random.default_rng(1)
    ranks = np.arange(100.0)
    noise = rng.permutation(100)
    assert _beyond_chance(table({"x": ranks}), table({"x": ranks}), "x")
    assert not _beyond_chance(table({"x": ranks}), table({"x": ranks[::-1]}), "x")
    assert not _beyond_chance(table({"x": ranks}), table({"x": noise.astype(float)}), "x")
    mixed = np.where(np.arange(100) % 10 < 8, ranks, noise)
    strong = np.corrcoef(ranks, np.unique(mixed, return_inverse=True)[1])[0, 1]
    assert _beyond_chance(table({"x": ranks}), table({"x": mixed}), "x") == (strong > 0.6)
    # 35 records in order correlate by 1 < 6 / sqrt(35) = 1.01, 37 by 1 > .986
    assert not _beyond_chance(table({"x": ranks[:35]}), table({"x": ranks[:35]}), "x")
    assert _beyond_chance(table({"x": ranks[:37]}), table({"x": ranks[:37]}), "x")
    assert not _beyond_chance(table({"x": [4.0] * 50}), table({"x": ranks[:50]}), "x")
    assert not _beyond_chance(table({"x": [4.0]}), table({"x": [4.0]}), "x")


def test_categories_that_agree_by_chance_do_not_count() -> None:
    """Half of 100 are A in both: by chance half agree, with a standard error of .05, so .8 are needed."""
    halves = ["A"] * 50 + ["B"] * 50
    for wrong, counts in ((18, True), (22, False)):
        other = ["B"] * (wrong // 2) + ["A"] * 50 + ["B"] * (50 - wrong // 2)
        assert sum(a == b for a, b in zip(halves, other, strict=True)) == 100 - wrong
        assert _beyond_chance(table({"t": halves}), table({"t": other}), "t") == counts
    blank: list[str | None] = [*halves[:99], None]
    assert _beyond_chance(table({"t": halves}), table({"t": blank}), "t")  # blanks aside
    assert not _beyond_chance(table({"t": ["A"] * 99 + ["B"]}), table({"t": ["A"] * 100}), "t")


def test_records_are_matched_by_position_if_half_of_the_variables_agree() -> None:
    size = 60
    before = table({"a": np.arange(60.0), "b": letters(size), "c": np.arange(60.0) % 7, "d": letters(size, 5)})
    rng = np.random.default_rng(2)
    changed = {"c": rng.normal(size=size), "d": ["Z"] * size}
    assert match(before, table({"a": np.arange(60.0), "b": letters(size), **changed})).how == "position"
    wrong = letters(size)
    wrong[:7] = ["Y"] * 7  # 53 of 60 are less than nine in ten: one of four variables agrees
    found = match(before, table({"a": np.arange(60.0), "b": wrong, **changed}))
    assert found.rows.tolist() == found.records.tolist() == list(range(60))


def test_ids_are_believed_if_nine_in_ten_are_known_and_something_else_agrees() -> None:
    size = 60
    ids = [f"p{i}" for i in range(size)]
    order = np.random.default_rng(3).permutation(size)
    pay = np.arange(60.0) * 3
    before = table({"id": ids, "pay": pay, "rent": pay + 1}, id="id")
    rest = {"pay": pay[order], "rent": pay[order] + 1}
    after = table({"id": [ids[i] for i in order], **rest}, id="id")
    found = match(before, after)
    assert found.how == "id"
    assert np.array_equal(found.records, order)
    assert np.array_equal(found.rows, np.arange(size))
    new = [*(ids[i] for i in order[:54]), *(f"q{i}" for i in range(6))]
    some = match(before, table({"id": new, **rest}, id="id"))
    assert some.how == "id"
    assert some.rows.tolist() == list(range(54))
    assert np.array_equal(some.records, order[:54])
    newer = [*(ids[i] for i in order[:53]), *(f"q{i}" for i in range(7))]
    assert match(before, table({"id": newer, **rest}, id="id")).how == "values"
    # the same numbers, given anew: nothing else agrees by them
    anew = match(before, table({"id": ids, **rest}, id="id"))
    assert anew.how == "values"
    assert np.array_equal(anew.records, order)


def test_a_small_sample_is_matched_by_its_ids_a_larger_one_is_checked() -> None:
    ids = [f"p{i}" for i in range(200)]
    before = table({"id": ids, "pay": np.arange(200.0)}, id="id")
    rng = np.random.default_rng(4)
    assert match(before, table({"id": ids[:49], "pay": rng.normal(size=49)}, id="id")).how == "id"
    with pytest.raises(DataError, match=r"50 records of 200"):
        match(before, table({"id": ids[:50], "pay": rng.normal(size=50)}, id="id"))


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 5], [-1, 0, 1], [0.0, 1.0, 2.0], [[0, 1, 2]]], ids=str)
def test_an_order_names_a_record_of_the_original_for_each_row(order: Sequence[Any]) -> None:
    before, after = table({"x": [1.0, 2, 3, 4, 5]}), table({"x": [3.0, 1, 2]})
    assert match(before, after, [4, 0, 1]).records.tolist() == [4, 0, 1]
    assert match(before, after, [4, 0, 1]).how == "the order given"
    with pytest.raises(DataError, match="order must hold"):
        match(before, after, order)


def test_variables_that_tell_records_apart_together() -> None:
    """Neither column tells records apart, both together do; of four records two share their values."""
    one, two = [0, 0, 1, 1], [0, 1, 0, 0]
    columns = [np.array([*one, 1, 0, 0, 1]), np.array([*two, 0, 1, 0, 0])]
    number, found = _told_apart(columns, 4) or (0, None)
    assert number == 2
    assert found is not None
    assert found.rows.tolist() == [1, 2]
    assert found.records.tolist() == [1, 0]
    assert "2 variables that were not touched, which tell 50.0% of them apart" in found.note
    assert "; 2 records are left out" in found.note
    assert _told_apart([np.array([0, 0, 0, 1, 0, 0, 0, 1])], 4) is None  # one of four
    assert "1 variable that" in (_told_apart([np.array([0, 1, 2, 3, 3, 2, 1, 0])], 4) or (0, found))[1].note


def test_what_hardly_varies_matches_nothing() -> None:
    codes = np.arange(40.0)
    order = np.random.default_rng(6).permutation(40)
    both = table({"x": codes, "y": codes * 2, "z": codes * 5}), table({"x": codes[order], "y": codes[order] * 2})
    found = match(*both)
    assert found.how == "values"
    assert np.array_equal(found.records, order)
    assert matching.MIN_SHARE_OF_A_CONSTANT > 0.9
    with pytest.raises(DataError, match="no variable of the original"):
        match(both[0], table({"other": codes}))


# ------------------------------------------------------------------------------------------------- names of units


def test_one_by_one_but_for_a_few() -> None:
    unit = np.repeat(np.arange(200), 2)
    there = np.ones(400, dtype=bool)
    assert _one_to_one(unit, unit * 3.0, there)
    wrong = unit * 3.0
    wrong[[0, 10]] = [30.0, 60.0]  # two more pairs than units: 200 of 202
    assert _one_to_one(unit, wrong, there)
    wrong[20] = 90.0  # 200 of 203 are less than 99 %
    assert not _one_to_one(unit, wrong, there)
    assert not _one_to_one(unit[:38], unit[:38] * 3.0, there[:38])  # 19 units are no number of them
    assert _one_to_one(unit[:40], unit[:40] * 3.0, there[:40])
    assert not _one_to_one(unit, np.arange(400.0), there)


def test_digits_make_numbers() -> None:
    found = _number(np.array(["a12", "-7", "3-4", "x0"]))
    assert found is not None
    assert found.tolist() == [12.0, -7.0, 34.0, 0.0]
    assert _number(np.array(["12", "none"])) is None
    assert _number(np.array(["1" * 15])) is not None
    assert _number(np.array(["1" * 16])) is None


def test_numbers_that_go_up_or_down_together() -> None:
    up = np.arange(201.0)
    assert _go_together(up, up * 2)
    assert _go_together(up, -up)
    few = up.copy()
    few[[10, 11]] = few[[11, 10]]  # one of 200 steps goes down
    assert _go_together(up, few)
    few[[20, 21, 30, 31]] = few[[21, 20, 31, 30]]  # three of 200
    assert not _go_together(up, few)
    assert _go_together(up, few) == _go_together(up, -few)
    assert not _go_together(None, up)
    assert not _go_together(up, None)
    assert _whole(np.array([1.0, 2.0]))
    assert not _whole(np.array([1.0, 2.5]))


def test_texts_that_hold_an_id() -> None:
    assert _held(np.array(["7", "12"]), np.array(["case 007", "12/b"]))
    assert not _held(np.array(["7", "12"]), np.array(["case 17", "12"]))  # seventeen is not seven
    assert _held(np.array(["ab"]), np.array(["x-ab-y"]))
    assert not _held(np.array(["ab"]), np.array(["x-ba-y"]))


def test_copies_of_ids_and_household_numbers() -> None:
    rng = np.random.default_rng(5)
    home = np.repeat(np.arange(30), 2)
    ids = [f"p{i:03}" for i in rng.permutation(60)]
    number = [float(one[1:]) for one in ids]
    columns = {
        "id": ids,
        "home": home.astype(float),
        "case": [f"file {one} of 1970" for one in ids],
        "line": [7 + 2 * x for x in number],  # goes up with the id
        "pay": rng.lognormal(8, 1, 60).round(2),
        "code": rng.permutation(60) * 1.5 + 0.25,
        "dwelling": (home + 100.0),
        "street": [f"s{rng.integers(10_000)}-{h}" for h in home],
        "rent": np.repeat(np.sort(rng.lognormal(6, 1, 30)), 2)[np.argsort(np.argsort(rng.permutation(60)))],
    }
    data = table(columns, id="id", household="home")
    found = copies_of_names(data, data)
    assert set(found) == {"case", "line", "dwelling"}
    assert copies_of_names(data, data.take(np.arange(59))) == []  # other records
    keyed = Microdata(data.schema.replace(Variable("line", role="key")), data.columns)
    assert "line" not in copies_of_names(data, keyed)  # what a release is for
    whole = table({**columns, "home": home * 2.0, "area": rng.permutation(30)[home] + 5.0}, id="id", household="home")
    assert "area" in copies_of_names(whole, whole)  # counts the households without gaps, in any order
    gap = table({**columns, "area": (rng.permutation(30)[home] + 5.0) ** 2}, id="id", household="home")
    assert "area" not in copies_of_names(gap, gap)


def test_amounts_in_the_order_of_the_ids_are_no_copies_and_texts_that_hold_the_id_are() -> None:
    """A number must be whole to be a copy; a text may have the id in its midst, in whatever order of the alphabet."""
    rng = np.random.default_rng(1)
    names = ["".join(rng.choice(list("bcdfghjk"), 5)) for _ in range(30)]
    columns = {
        "id": names,
        "held": [f"{'zyx'[i % 3]} {name} in short" for i, name in enumerate(names)],
        "own": [f"text {i * 17 % 31}" for i in range(30)],
    }
    data = table(columns, id="id")
    assert copies_of_names(data, data) == ["held"]
    numbered = table({"id": np.arange(30.0), "twice": np.arange(30.0) * 2, "pay": np.arange(30.0) * 2 + 0.5}, id="id")
    assert copies_of_names(numbered, numbered) == ["twice"]
