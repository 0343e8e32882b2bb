"""What two releases of one file tell together, by hand: which columns join them, points, averages, who is found."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfumato import Microdata, Schema, Variable
from sfumato.auditing import releases as module
from sfumato.auditing.releases import (
    Release,
    _agree,
    _classes,
    _joined,
    _key,
    _linked,
    _near,
    _nearest,
    _numbers,
    _places,
    _telling_apart,
    mean_of,
    together,
)

NAN = float("nan")


def table(columns: dict[str, Any], *variables: Variable, **special: Any) -> Microdata:
    return Microdata.from_frame(pd.DataFrame(columns), Schema(variables, **special))


def release(data: Microdata, name: str = "this") -> Release:
    """A release whose records are those of the original, in its order."""
    return Release(name, data, np.arange(len(data)))


def test_what_is_there_of_several_columns_is_averaged() -> None:
    columns = [np.array([1.0, NAN, NAN, 4.0]), np.array([3.0, 5.0, NAN, 4.0]), np.array([NAN, 7.0, NAN, 1.0])]
    np.testing.assert_array_equal(mean_of(columns), [2, 6, NAN, 3])
    np.testing.assert_array_equal(mean_of(columns[:1]), columns[0])


def test_the_fewest_columns_that_tell_records_apart() -> None:
    data = table({"half": np.arange(200.0) // 2, "coin": np.arange(200.0) % 2, "own": np.arange(200.0)})
    assert _telling_apart(data, ["coin", "half", "own"]) == ("own",)
    assert _telling_apart(data, ["coin", "half"]) == ("half", "coin")  # the finest first
    assert _telling_apart(data, ["coin"]) == ("coin",)
    assert _telling_apart(data, []) == ()
    one = table({"same": np.ones(200), "coin": np.arange(200.0) % 2})
    assert _telling_apart(one, ["same", "coin"]) == ("coin",)  # two values are finer than one
    # 198 of 200 are 99 %, with which one is content; 197 are not
    nearly = table({"a": np.maximum(np.arange(200.0), 2), "b": np.arange(200.0) % 7})
    assert _telling_apart(nearly, ["a", "b"]) == ("a",)
    less = table({"a": np.maximum(np.arange(200.0), 3), "b": np.arange(200.0) % 7})
    assert _telling_apart(less, ["a", "b"]) == ("a", "b")


def test_how_often_two_releases_agree() -> None:
    here = table({"x": [1.0, 2.0, NAN, 4.0], "t": ["a", "b", None, "c"]})
    there = table({"x": [1.0, 5.0, NAN, 4.0 + 1e-12], "t": ["a", "c", None, "b"]})
    rows = np.arange(4)
    assert _agree(here, there, "x", rows, rows) == 0.75  # two missing ones agree, and rounding counts for nothing
    assert _agree(here, there, "t", rows, rows) == 0.5
    assert _agree(here, there, "x", rows[:2], rows[:2]) == 0.5
    assert _agree(here, table({"x": ["1", "5", None, "4"]}), "x", rows, rows) == 0.0


@pytest.mark.parametrize(("number", "placed"), [(2, True), (50, True), (51, False)])
def test_up_to_fifty_categories_are_points(number: int, placed: bool) -> None:
    names = tuple(f"c{i:02}" for i in range(number))
    data = table({"t": [*names, None]}, Variable("t", "nominal", categories=names))
    found = _places(data, data, "t")
    assert (found is not None) == placed
    if found is not None:
        apart = np.linalg.norm(found[0][0] - found[1], axis=1)
        np.testing.assert_allclose(apart, [0] + [1] * (number - 1) + [np.sqrt(0.5)])  # a blank is nearer to each


def test_numbers_are_placed_by_their_ranks() -> None:
    """Of 10, 30, 20: half a record below 10, so ranks .5, 2.5 and 1.5 of 3; a blank lies in the middle."""
    found = _places(table({"x": [10.0, 30.0, 20.0, NAN]}), table({"x": [7.0, 7.0, 9.0, NAN]}), "x")
    assert found is not None
    np.testing.assert_allclose(found[0][:, 0], [1 / 6, 5 / 6, 1 / 2, 1 / 2])
    np.testing.assert_allclose(found[1][:, 0], [1 / 3, 1 / 3, 5 / 6, 1 / 2])
    empty = _places(table({"x": [NAN, NAN]}), table({"x": [1.0, 2.0]}), "x")
    assert empty is not None
    assert empty[0][:, 0].tolist() == [0.5, 0.5]
    assert _places(table({"x": [1.0, 2.0]}), table({"x": ["a", "b"]}), "x") is None
    assert _places(table({"x": ["a", "b"]}), table({"x": ["a", "c"]}), "x") is None  # other classes


def test_records_are_joined_that_are_each_other_s_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks of 1, 2, 3, 4 and of 9, 5, 1 among their own: 1/8, 3/8, 5/8, 7/8 beside 5/6, 1/2, 1/6.

    The nearest of 5/6 is 7/8 and of 1/6 is 1/8, and so the other way; 1/2 is as near to 3/8 as to 5/8.
    """
    here, there = table({"x": [1.0, 2.0, 3.0, 4.0]}), table({"x": [9.0, 5.0, 1.0]})
    rows, found = _nearest(here, there, ["x"])
    pairs = dict(zip(rows.tolist(), found.tolist(), strict=True))
    assert (pairs[0], pairs[3]) == (2, 0)
    assert len(pairs) == 3
    assert _nearest(here, there, [])[0].size == 0
    monkeypatch.setattr(module, "NEAREST", 4)
    assert _nearest(here, there, ["x"])[0].size == 3
    monkeypatch.setattr(module, "NEAREST", 3)
    assert _nearest(here, there, ["x"])[0].size == 0
    assert _nearest(there, here, ["x"])[0].size == 0


def test_numbers_of_releases_in_the_order_of_the_first() -> None:
    this = release(table({"x": [1.0, 2.0, 3.0], "b": ["1", "2", "3"]}))
    other = release(table({"x": [30.0, 10.0]}), "other")
    banded = release(table({"x": ["low", "high"]}), "banded")
    rows = np.array([1, -1, 0])
    found = _numbers("x", this, [(other, rows), (banded, rows)])
    assert len(found) == 2
    np.testing.assert_array_equal(found[1], [10, NAN, 30])  # the second is joined with none
    assert _numbers("b", this, []) == _numbers("gone", this, []) == []
    assert _numbers("x", banded, [(this, rows)]) == []


def test_averages_that_come_nearer_are_counted() -> None:
    """Ten values: one that is moved by 2 ranks is not within a tenth of them, and the mean of both moves is."""
    true = np.arange(10.0)
    data = table({"x": true, "same": true, "blank": true})
    up, down = true + 2, true - 2
    up[0] = NAN
    this = release(table({"x": up, "same": true, "blank": [NAN] * 10}))
    other = release(table({"x": down, "same": true, "blank": true}), "other")
    (found,) = _near(data, this, [(other, np.arange(10))], 0.1)
    # of the nine that are published 9 + 2 lies beyond all, at rank 10 beside 9.5; 8 + 2 does too, beside 8.5
    assert (found.variable, found.values) == ("x", 9)
    assert found.alone == pytest.approx(1 / 9)
    assert found.together == 1.0


def test_who_knows_a_number_takes_the_nearest_in_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ages 20, 30, 40, 50 have ranks .5 to 3.5 of four, and are published as 21, 30, 50, 40 and blank.

    21 lies between 20 and 30, at rank 1: 20 and 30 are both half a rank away, and 30 is found at its own place.
    """
    data = table({"age": [20.0, 30.0, 40.0, 50.0]}, Variable("age", role="key"))
    this = release(table({"age": [21.0, 30.0, 50.0, 40.0]}))
    key = _key(data, this, [], "age")
    np.testing.assert_allclose(key.known, [1 / 8, 3 / 8, 5 / 8, 7 / 8])
    assert key.shown is not None
    np.testing.assert_allclose(key.shown, [1 / 4, 3 / 8, 7 / 8, 5 / 8])
    np.testing.assert_allclose(key.apart(np.array([0])), [[1 / 8, 1 / 4, 3 / 4, 1 / 2]])
    every = np.arange(4)
    assert _linked(data, this, [], ["age"], every) == 0.5  # 20 and 30; 40 and 50 have changed places
    other = release(table({"age": [20.0, 30.0, 30.0, 60.0]}), "other")  # means 20.5, 30, 40, 50
    assert _linked(data, this, [(other, every)], ["age"], every) == 1.0
    lost = release(table({"age": [21.0, NAN, NAN, NAN]}))
    assert (
        _linked(data, lost, [], ["age"], np.array([0, 1])) == 0.5
    )  # a blank is as far as can be: 21 is taken for both
    unknown = data.replace(
        {"age": np.array([20.0, NAN, 40.0, 50.0])}
    )  # of the second he does not know it: any is as near
    key = _key(unknown, this, [], "age")
    np.testing.assert_allclose(key.known, [1 / 6, NAN, 1 / 2, 5 / 6])
    assert key.apart(np.array([1])).tolist() == [[1.0] * 4]
    assert _linked(unknown, this, [], ["age"], np.array([1])) == 0.25
    nobody = data.replace({"age": np.full(4, NAN)})
    assert _linked(nobody, this, [], ["age"], every) == 0.25
    monkeypatch.setattr(module, "CELLS", 1)  # a record at a time
    assert _linked(data, this, [], ["age"], every) == 0.5
    assert _linked(data, this, [], ["age"], np.array([0, 1, 2])) == pytest.approx(2 / 3)


def test_who_knows_a_category_takes_any_that_it_can_be() -> None:
    """Towns A, A, B, B, published as A, blank, B, A: an A is one of three, a B one of two, the last is not found."""
    towns = Variable("town", "nominal", role="key", categories=("A", "B"))
    data = table({"town": ["A", "A", "B", "B"]}, towns)
    this = release(table({"town": ["A", None, "B", "A"]}, towns))
    every = np.arange(4)
    assert _linked(data, this, [], ["town"], every) == pytest.approx((1 / 3 + 1 / 3 + 1 / 2 + 0) / 4)
    assert [_linked(data, this, [], ["town"], every[[i]]) for i in range(4)] == pytest.approx([1 / 3, 1 / 3, 1 / 2, 0])
    # another release says B of the last two: of an A the first two are left, and both say B of the third alone
    other = release(table({"town": ["A", "A", "B", "B"]}, towns), "other")
    joined = [(other, every)]
    assert _linked(data, this, joined, ["town"], every) == pytest.approx((1 / 2 + 1 / 2 + 1 + 0) / 4)
    apart = [(other, np.array([0, 1, 2, -1]))]  # the last is not joined, so it can be any, for all that this says
    assert _linked(data, this, apart, ["town"], every) == pytest.approx((1 / 3 + 1 / 3 + 1 + 0) / 4)


def test_what_a_class_can_be() -> None:
    ages = np.array([20.0, 25.0, 30.0, 35.0])
    data = table({"age": ages, "town": list("ABCD")}, Variable("age", role="key"))
    known = np.arange(4)
    banded = release(table({"age": ["a", "b", "a", None]}))
    codes, can = _classes(data, banded, "age", known, 4)
    # the first class has 20 and 30, so it may be all between its ends; the blank can be any
    assert [can[code].tolist() for code in codes] == [
        [True, True, True, False],
        [False, True, False, False],
        [True, True, True, False],
        [True, True, True, True],
    ]
    merged = release(table({"town": ["x", "y", "x", "y"]}))
    codes, can = _classes(data, merged, "town", known, 4)
    # of towns only what was put into a class
    assert [can[code].tolist() for code in codes[:2]] == [[True, False, True, False], [False, True, False, True]]
    swapped = release(table({"town": ["B", "A", "C", "C"]}))
    codes, can = _classes(data, swapped, "town", known, 4)
    # the towns themselves are published: each stands for itself, whomever it was given
    assert np.argmax(can[codes], axis=1).tolist() == [1, 0, 2, 2]
    assert can[codes].sum(axis=1).tolist() == [1, 1, 1, 1]


def test_releases_that_cannot_be_joined_say_nothing_together() -> None:
    rng = np.random.default_rng(1)
    data = table({"town": ["A", "B"] * 30, "x": np.arange(60.0), "id": np.arange(60.0)}, id="id")
    this = release(data.without(["x"]))
    other = release(table({"z": np.arange(60.0), "id": np.arange(60.0)}, id="id"), "other")
    rows, by = _joined(data, this, other, rng)
    assert (rows == -1).all()  # the number is in both, but it may be in nobody's hands
    assert by == ()
    assert together(data, this, [other], 0.01, rng) is None
    exact = replace(other, table=table({"town": ["A", "B"] * 30, "x": np.arange(60.0)}))
    found = together(data, release(data), [other, exact], 0.01, rng)
    assert found is not None
    assert (found.releases, found.by, found.joined) == (("other",), ("x",), 1.0)
    assert (found.keys, found.linked_alone, found.linked) == ((), 0.0, 0.0)
