"""What is guessed without the rest of the file: with the distribution of what is protected, and with the file alone."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Microdata, Schema, Variable
from sfumato.auditing.evidence import Evidence, _one_by_one, told_by_code
from sfumato.auditing.targets import (
    MIN_IN_BAND,
    Ranks,
    Target,
    Values,
    _hidden,
    _in_small_classes,
    _nearest,
    _teaches,
    best_guess,
    close,
    exact_guess,
    gone,
    modes,
    numbers,
    spelled,
    targets_of,
    unaware_guess,
)


def category(truth: Any, told: Any, *, taught: bool = True, band: Any = None, level: str = "as published") -> Target:
    levels = np.array(list("abcdefgh"), dtype=object)
    codes, published = (np.asarray(one, dtype=np.int64) for one in (truth, told))
    bands = published + 1 if band is None else np.asarray(band, dtype=np.int64)
    cells = np.flatnonzero((codes >= 0) & (codes != published))
    return Target("x", level, False, Values(codes, levels), Values(published, levels), bands, cells, taught)  # type: ignore[arg-type]


def number(truth: Any, told: Any, near: float, *, taught: bool = True, **more: Any) -> Target:
    values, published = (np.asarray(one, dtype=np.float64) for one in (truth, told))
    cells = np.flatnonzero(~np.isnan(values) & ~close(values, published))
    bands = (~np.isnan(published)).astype(np.int64)
    ranks = Ranks.of(values, near)
    level = more.pop("level", "as published")
    return Target("x", level, True, numbers(values), numbers(published), bands, cells, taught, ranks, published, **more)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=30))
def test_the_most_common_value_of_each_group_is_what_a_loop_counts(pairs: list[tuple[int, int]]) -> None:
    keys = np.array([group * 5 + value for group, value in pairs])
    expected = {}
    for group in sorted({group for group, _ in pairs}):
        counts = Counter(value for one, value in pairs if one == group)
        expected[group] = min(counts, key=lambda value: (-counts[value], value))
    assert modes(keys, 5) == expected


@st.composite
def ranked(draw: st.DrawFn) -> tuple[list[int], list[float], float]:
    size = draw(st.integers(1, 36))
    bands = draw(st.lists(st.sampled_from([0, 3, 4]), min_size=size, max_size=size))
    ranks = draw(st.lists(st.integers(0, 24), min_size=size, max_size=size))
    return bands, [rank / 2 for rank in ranks], draw(st.sampled_from([0.0, 0.5, 1.0, 2.5]))


@given(ranked())
def test_in_each_band_of_ten_that_value_is_guessed_which_is_near_most(
    drawn: tuple[list[int], list[float], float],
) -> None:
    bands, ranks, distance = drawn
    true = [100 + 10 * rank for rank in ranks]
    values, right = _nearest(np.array(bands), np.array(ranks), np.array(true), distance)
    for band in set(bands):
        mine = [i for i, one in enumerate(bands) if one == band]
        if len(mine) < MIN_IN_BAND:
            assert all(values[i] == np.median(true) and not right[i] for i in mine)
            continue
        counts = {i: sum(abs(ranks[i] - ranks[j]) <= distance for j in mine) for i in mine}
        chosen = min(mine, key=lambda i: (-counts[i], ranks[i]))
        assert all(values[i] == true[chosen] for i in mine)
        assert all(right[i] == (abs(ranks[i] - ranks[chosen]) <= distance) for i in mine)


@given(ranked())
def test_in_small_classes_the_median_of_the_others_is_guessed(drawn: tuple[list[int], list[float], float]) -> None:
    bands, ranks, distance = drawn
    true = np.array([100 + 10 * rank for rank in ranks])
    before = np.full(len(bands), -1.0), np.zeros(len(bands), dtype=bool)
    values, right = _in_small_classes(np.array(bands), np.array(ranks), true, distance, *before)
    for i, band in enumerate(bands):
        others = sorted(ranks[j] for j, one in enumerate(bands) if one == band and j != i)
        if not 1 <= len(others) < MIN_IN_BAND - 1:
            assert values[i] == -1.0
            assert not right[i]
            continue
        median = others[(len(others) - 1) // 2]  # the lower of two
        assert values[i] == 100 + 10 * median
        assert right[i] == (abs(ranks[i] - median) <= distance)
    assert (before[0] == -1.0).all()  # what was guessed before stands as it was


def test_a_band_of_ten_is_granted_its_distribution_a_smaller_one_the_file() -> None:
    """Ten blanks, six of them c, are guessed c; the nine that were changed take a, most common in the file."""
    truth = [2] * 6 + [1] * 4 + [3] * 9 + [0] * 12
    told = [-1] * 10 + [1] * 9 + [0] * 12
    guess = best_guess(category(truth, told, band=[0] * 10 + [1] * 9 + [2] * 12))
    assert guess.values.tolist() == [2] * 10 + [0] * 9
    assert guess.right.tolist() == [True] * 6 + [False] * 13
    assert guess.chance == pytest.approx(12 / 31)  # a for all
    more = best_guess(category([*truth, 3], [*told, 1], band=[0] * 10 + [1] * 9 + [2] * 12 + [1]))
    assert more.values.tolist()[-1] == 3  # ten of them are granted theirs


def test_where_the_file_teaches_nothing_a_small_band_takes_its_own_records() -> None:
    """Values were coarsened to bands: in band 7 two of three are b; band 9 is one record, whose value it takes."""
    truth, band = [1, 1, 2, 0, 0, 0, 0], [7, 7, 7, 8, 8, 8, 9]
    aim = replace(category(truth, [-1] * 7, taught=False, band=band), cells=np.arange(7))
    guess = best_guess(aim)
    assert guess.values.tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert guess.chance == pytest.approx(4 / 7)
    # taught by a file in which b is published twice and c once, and of which nobody has a band
    shown = best_guess(category([0, 1, 1, 2], [-1, 1, 1, 2]))
    assert shown.values.tolist() == [1]
    assert best_guess(category([0, 1], [-1, -1])).values.tolist() == [-1, -1]  # nothing is published: no guess


def test_a_number_is_guessed_by_the_one_near_most_or_taken_as_published() -> None:
    """Of 20 blanks 0, 1, 2, ... five are within 2 ranks of 2; figures published within a rank are right."""
    blank = number([*range(20)], [np.nan] * 20, 0.1)
    guess = best_guess(blank)
    assert set(guess.values.tolist()) == {2.0}  # the first that is near five
    assert guess.right.tolist() == [True] * 5 + [False] * 15
    assert guess.chance == pytest.approx(5 / 20)
    near = number([*range(20)], [x + 0.5 for x in range(20)], 0.1)
    assert best_guess(near).values.tolist() == [x + 0.5 for x in range(20)]
    assert best_guess(near).right.all()
    far = number([*range(20)], [(x + 10) % 20 for x in range(20)], 0.1)
    assert best_guess(far).right.sum() == 5  # the published ones are worse


def test_of_a_number_met_exactly_another_record_must_share_it() -> None:
    aim = number([5, 5, 6, 7, 7, 7, 8], [np.nan] * 4 + [1, 2, 3], 0.1)
    # blanks 5, 5, 6, 7: 5 is the commonest, twice; changed 7, 7, 8: 7, twice
    assert exact_guess(aim).tolist() == [True, True, False, False, True, True, False]
    ages = numbers(np.array([30.0, 41.0, 30.0, 41.0, 30.0]))  # two share the 41, which three in the band have not
    same = Target("age", "in full", True, ages, ages, np.zeros(5, dtype=np.int64), np.arange(5), taught=False)
    assert exact_guess(same).tolist() == [True, False, True, False, True]


def test_an_intruder_with_the_file_alone_takes_the_commonest_value_or_draws() -> None:
    """Published: a 6, b 4. Blank: b, b, a. The commonest is right for one of three, a draw for .4 + .4 + .6 = 1.4."""
    truth, told = [0] * 6 + [1] * 4 + [1, 1, 0], [0] * 6 + [1] * 4 + [-1] * 3
    aim = category(truth, told)
    likely = unaware_guess(aim)
    assert likely is not None
    assert np.isnan(likely[:10]).all()  # nothing to decide: shown values stay as they are
    np.testing.assert_allclose(likely[10:], [0.4, 0.4, 0.6])
    common = category([*truth[:-3], 0, 0, 1], told)
    likely = unaware_guess(common)
    assert likely is not None
    np.testing.assert_allclose(likely[10:], [1, 1, 0])  # 2 of 3 against .6 + .6 + .4
    coarse = category(truth, told, level="in full")
    assert unaware_guess(coarse) is None


def test_a_published_category_is_taken_for_what_it_stands_for_most_often() -> None:
    """Of 12 published a 7 are b in truth: all 12 are guessed b. Of 9 published c, too few to see that, 5 are d."""
    truth = [1] * 7 + [0] * 5 + [3] * 5 + [2] * 4
    told = [0] * 12 + [2] * 9
    aim = category(truth, told)
    likely = unaware_guess(aim)
    assert likely is not None
    np.testing.assert_allclose(likely[:12], [1] * 7 + [0] * 5)
    np.testing.assert_allclose(likely[12:], [0] * 5 + [1] * 4)  # each by itself, or by a, the commonest: 4 against 0
    # of ten published c the change shows
    more = category([*truth, 3], [*told, 2])
    likely = unaware_guess(more)
    assert likely is not None
    np.testing.assert_allclose(likely[12:], [1] * 5 + [0] * 4 + [1])
    # few that are mostly the commonest in truth: by that one
    few = category([0] * 12 + [0] * 6 + [2] * 3, [0] * 12 + [2] * 9)
    likely = unaware_guess(few)
    assert likely is not None
    np.testing.assert_allclose(likely[12:], [1] * 6 + [0] * 3)


def test_a_blank_number_is_guessed_from_those_published() -> None:
    """Published 0 to 9 and again 3, 3; blank 3, 20, 21. The number near most is 3: right once, a draw .25 + 0 + 0."""
    published = [*map(float, range(10)), 3.0, 3.0]
    aim = number([*published, 3.0, 20.0, 21.0], [*published, *[np.nan] * 3], 0.0)
    likely = unaware_guess(aim)
    assert likely is not None
    assert np.isnan(likely[:12]).all()
    np.testing.assert_allclose(likely[12:], [1, 0, 0])
    # blank 1, 2, 4: each is one of twelve published, the commonest is none of them
    draw = number([*published, 1.0, 2.0, 4.0], [*published, *[np.nan] * 3], 0.0)
    likely = unaware_guess(draw)
    assert likely is not None
    np.testing.assert_allclose(likely[12:], [1 / 12] * 3)


def test_what_is_protected_by_hand() -> None:
    """A blank, a changed number and a category that was changed are protected, a value in its own class is not."""
    schema = Schema((Variable("age"), Variable("town", "nominal", categories=("A", "B", "C"))))
    before = Microdata(schema, {"age": np.array([30.0, 40.0, 50.0, np.nan]), "town": np.array([0, 1, 2, -1], np.int32)})
    after = Microdata(schema, {"age": np.array([30.0, np.nan, 51.0, 7.0]), "town": np.array([0, 1, 1, 0], np.int32)})
    found = {aim.name: aim for aim in targets_of(before, after, 0.25)}
    assert found["age"].cells.tolist() == [1, 2]  # 40 blank, 50 changed; where nothing was, nothing is protected
    assert found["age"].band.tolist() == [1, 0, 1, 1]
    assert found["age"].ranks is not None
    assert found["age"].ranks.distance == 0.75  # a quarter of three ages
    assert found["town"].cells.tolist() == [2]
    assert not list(targets_of(before, before, 0.25))
    removed = next(gone(before, "town", 0.25))
    assert removed.cells.tolist() == [0, 1, 2]
    assert removed.level == "in full"
    assert not removed.taught
    assert not removed.told.present.any()
    alone = Microdata(schema.only(["age"]), {"age": after.columns["age"]})
    assert [aim.name for aim in targets_of(before, alone, 0.25)] == [
        "age",
        "town",
    ]


def test_a_class_that_is_published_is_the_band_of_its_records() -> None:
    """Pay in three classes of four: every value is protected in full, and the class is what the file tells of it."""
    before = Microdata(Schema((Variable("pay"),)), {"pay": np.arange(12.0)})
    classes = Variable("pay", "nominal", categories=("low", "middle", "high"))
    after = Microdata(Schema((classes,)), {"pay": np.repeat([2, 0, 1], 4).astype(np.int32)})
    aim = next(iter(targets_of(before, after, 0.1)))
    assert (aim.level, aim.taught) == ("in full", False)
    assert aim.cells.tolist() == list(range(12))
    assert len(set(aim.band.tolist())) == 3
    assert (aim.band.reshape(3, 4) == aim.band[::4, None]).all()
    assert not aim.told.present.any()


def test_answers_are_right_by_category_and_by_rank() -> None:
    aim = number([10, 20, 30, 40, np.nan], [np.nan] * 5, 0.25)  # within one rank
    rows = np.array([0, 1, 2, 3, 4])
    right, exact = aim.right(rows, np.array([20.0, 20.0 + 1e-9, np.nan, 25.0, 1.0]))
    # 10 and 20 are one rank apart; 25 is of rank 2 and 40 of 3.5
    assert right.tolist() == [True, True, False, False, False]
    assert exact.tolist() == [False, True, False, False, False]
    towns = category([0, 1, 2, -1], [-1] * 4)
    right, exact = towns.right(np.arange(4), np.array([0, 2, -1, -1]))
    assert right.tolist() == exact.tolist() == [True, False, False, False]


def test_a_target_in_a_part_of_the_rows() -> None:
    """Two records teach, those numbered 2 and 4 first in random order, and of two that are asked the one numbered 1."""
    aim = number([1, 2, 3, 4, 5], [1, np.nan, 3, np.nan, 5], 0.2, hidden=np.array([False, True, False, False, True]))
    part, rows = replace(aim, order=np.array([2, 4, 1, 0, 3])).part(2, 1)
    assert rows.tolist() == [1, 2, 4]
    assert part.guess.values.tolist() == aim.guess.values[:1].tolist()
    assert part.cells.tolist() == [0]
    assert part.truth.codes.tolist() == [1, 2, 4]
    assert part.told.present.tolist() == [False, True, True]
    assert part.shown is not None
    np.testing.assert_array_equal(part.shown, [np.nan, 3, 5])
    assert part.hidden is not None
    assert part.hidden.tolist() == [True, False, True]
    assert part.ranks is aim.ranks


@pytest.mark.parametrize(
    ("true", "published", "there", "teaches"),
    [(50, 100, 100, True), (49, 100, 100, False), (10, 10, 100, True), (9, 9, 100, False)],
)
def test_a_file_teaches_if_half_of_what_it_shows_and_a_tenth_of_all_is_true(
    true: int, published: int, there: int, teaches: bool
) -> None:
    truth = np.zeros(there, dtype=np.int64)
    told = np.where(np.arange(there) < true, 0, np.where(np.arange(there) < published, 1, -1))
    levels = np.array(["a", "b"], dtype=object)
    assert _teaches(Values(truth, levels), Values(told, levels), truth == told) == teaches


def test_hidden_are_protected_values_of_a_category_that_nobody_shows() -> None:
    levels = np.array(list("abc"), dtype=object)
    truth, told = Values(np.array([0, 1, 2, 2]), levels), Values(np.array([0, -1, -1, -1]), levels)
    assert _hidden(truth, told, np.array([1, 2])).tolist() == [False, True, True, False]  # type: ignore[union-attr]
    shown = Values(np.array([1, -1, 2, -1]), levels)
    assert _hidden(truth, shown, np.array([1, 3])) is None


def test_values_are_spelled_as_a_reader_writes_them() -> None:
    schema = Schema((Variable("day", "date"), Variable("pay"), Variable("town", "nominal", categories=("A", "B"))))
    columns = {
        "day": np.array([0.0, np.nan]),
        "pay": np.array([0.1 + 0.2, np.nan]),
        "town": np.array([1, -1], np.int32),
    }
    data = Microdata(schema, columns)
    assert [spelled(data, name, np.array([0, 1])) for name in ("day", "pay", "town")] == [
        ["1970-01-01", "blank"],
        ["0.3", "blank"],
        ["B", "blank"],
    ]


def test_numbers_are_the_same_but_for_how_they_were_written() -> None:
    one = np.array([1e9, 1e9, 0.0, np.nan, np.nan, -5.0])
    other = np.array([1e9 + 0.5, 1e9 + 2, 1e-12, np.nan, 1.0, 5.0])
    assert close(one, other).tolist() == [True, False, False, True, False, False]


# ------------------------------------------------------------------------------------------- a code beside a text


def test_a_recoding_goes_one_by_one() -> None:
    truth = np.repeat([0, 1, 2], [20, 10, 10])
    assert _one_by_one(truth, truth + 5)
    assert not _one_by_one(truth[:29], truth[:29])  # fewer than 30
    assert not _one_by_one(np.repeat([0, 1], 20), np.repeat([1, 0], 20))  # two categories are no code book
    assert not _one_by_one(truth, np.minimum(truth, 1))  # two categories have one code
    # single records prove nothing: 29 records are left
    assert not _one_by_one(np.append(truth[:29], [3, 4, 5]), np.append(truth[:29], [3, 4, 5]))
    wrong = truth.copy()
    wrong[0] = 1  # one of 40 is not one by one: 97.5 %
    assert not _one_by_one(truth, wrong)
    many = np.repeat([0, 1, 2], [200, 10, 10])
    wrong = many.copy()
    wrong[0] = 1
    assert _one_by_one(many, wrong)  # one of 220
    wrong[:3] = 1
    assert not _one_by_one(many, wrong)  # three of 220 are more than 1 %
    rare = many.copy()
    rare[[200, 201]] = 0  # two of the twenty that are not the commonest
    assert _one_by_one(np.repeat([0, 1, 2], [2000, 10, 10]), np.concatenate([np.zeros(1800, dtype=np.int64), rare]))
    rare[202] = 0
    assert not _one_by_one(np.repeat([0, 1, 2], [2000, 10, 10]), np.concatenate([np.zeros(1800, dtype=np.int64), rare]))


def test_a_code_that_nobody_else_has_is_the_category_that_nobody_shows() -> None:
    truth = np.array([0] * 20 + [1] * 10 + [2] * 10 + [3, 4, 4])
    told = np.where(truth > 2, -1, truth)
    target = category(truth, told)
    assert target.unseen is not None
    assert [np.flatnonzero(rows).tolist() for rows in target.unseen] == [[40, 41, 42], list(range(40))]

    def told_by(codes: Any, blank: Any = None, shown: tuple[str, ...] = ("code",)) -> list[int] | None:
        found = told_by_code(target, Evidence(shown, np.asarray(codes), ordered=False, blank=blank))
        return None if found is None else np.flatnonzero(found).tolist()

    assert told_by(truth) == [40, 41, 42]
    assert told_by(np.where(truth == 4, 3, truth)) == []  # one code for two categories
    assert told_by(np.where(truth == 3, 2, truth)) == [41, 42]  # a code that others have
    assert told_by(np.where(truth == 0, 1, truth)) is None  # no recoding
    assert told_by(truth, shown=("two", "columns")) is None
    blank = np.zeros(43, dtype=bool)
    blank[41] = True
    assert told_by(np.where(blank, 0, truth + 1), blank) == [40, 42]
    apart = truth.copy()
    apart[[40, 41]] = [9, 8]  # up to twice as many codes as categories
    assert told_by(apart) == [40, 41, 42]
    apart[40] = 10
    assert told_by(apart) is None
    assert category([0, 1, 1], [0, -1, 1]).unseen is None  # somebody shows it
    assert number([1, 2], [1, np.nan], 0.1).unseen is None


def test_the_first_category_is_no_blank() -> None:
    towns = Schema((Variable("town", "nominal", categories=("A", "B")),))
    data = Microdata(towns, {"town": np.array([0, -1], np.int32)})
    assert spelled(data, "town", np.array([0, 1])) == ["A", "blank"]
