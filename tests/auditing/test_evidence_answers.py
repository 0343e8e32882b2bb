"""What evidence answers, against plain loops over the records: by shared values, or by neighbours in an order."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.auditing.evidence import Evidence, predicted
from sfumato.auditing.targets import Lesson, Ranks, Target, Values, lesson_of, near_each

LEVELS = np.array([1.0, 2.5, 4.0, 8.0])


def aim_of(truth: Any, told: Any, *, number: bool = False, taught: bool = True, **more: Any) -> Target:
    levels = LEVELS if number else np.array(list("abcd"), dtype=object)
    codes, published = np.asarray(truth, dtype=np.int64), np.asarray(told, dtype=np.int64)
    cells = np.flatnonzero(codes != published)
    known, shown = Values(codes, levels), Values(published, levels)
    band = np.asarray(more.pop("band", np.zeros(len(codes))), dtype=np.int64)
    return Target("x", "as published", number, known, shown, band, cells, taught, **more)


def by_a_loop(aim: Target, evidence: Evidence, lesson: Lesson, row: int, *, banded: bool) -> float | int:
    """What the others say of one record, told in full: the others that share its evidence, or else its neighbours."""

    def key(record: int) -> tuple[int, int]:
        return (int(aim.band[record]) if banded else 0, int(evidence.codes[record]))

    mine, own = key(row), int(lesson.own[row])
    teachers = sorted((key(one), int(lesson.values.codes[one]), one) for one in lesson.learners.tolist())
    same = sorted(value for k, value, one in teachers if k == mine and one != own)
    if same and evidence.ties:
        if aim.number:
            return float(lesson.values.levels[same[(len(same) - 1) // 2]])  # the lower of two in the middle
        counts = Counter(same)
        return min(counts, key=lambda value: (-counts[value], value))
    nothing = float("nan") if aim.number else -1
    if not evidence.ordered:
        return nothing
    sides: list[int | None] = []
    for way in (-1, 1):
        place = sum(k < mine for k, _, _ in teachers) - 1 if way < 0 else sum(k <= mine for k, _, _ in teachers)
        place += way * evidence.apart
        if 0 <= place < len(teachers) and teachers[place][2] == own:
            place += way
        there = 0 <= place < len(teachers) and teachers[place][0][0] == mine[0]
        sides.append(teachers[place][1] if there else None)
    known = [side for side in sides if side is not None]
    if aim.number:
        return float(np.mean([lesson.values.levels[side] for side in known])) if known else nothing
    return known[0] if known else nothing


@st.composite
def questions(draw: st.DrawFn) -> tuple[Target, Evidence, Lesson, bool]:
    size = draw(st.integers(1, 14))

    def codes(least: int, most: int) -> list[int]:
        return draw(st.lists(st.integers(least, most), min_size=size, max_size=size))

    aim = aim_of(codes(0, 3), codes(-1, 3), number=draw(st.booleans()), band=codes(0, 1))
    ties, apart = draw(st.booleans()), draw(st.integers(0, 2))
    evidence = Evidence(("e",), np.array(codes(0, 4)), draw(st.booleans()), ties=ties, apart=apart)
    learners = np.flatnonzero(aim.told.present & np.array(codes(0, 3)).astype(bool))
    own = np.arange(size)
    if draw(st.booleans()):  # households, of which one record teaches
        units = np.array(codes(0, 3))
        own = np.array(
            [next((one for one in learners.tolist() if units[one] == unit), size) for unit in units.tolist()]
        )
        learners = np.array([one for one in learners.tolist() if own[one] == one], dtype=np.intp)
    return aim, evidence, Lesson(aim.told, learners, own), draw(st.booleans())


@given(questions())
def test_evidence_answers_as_a_loop_over_the_records_does(
    question: tuple[Target, Evidence, Lesson, bool],
) -> None:
    aim, evidence, lesson, banded = question
    rows = np.arange(len(aim.band))
    expected = [by_a_loop(aim, evidence, lesson, row, banded=banded) for row in rows.tolist()]
    np.testing.assert_allclose(predicted(aim, evidence, lesson, rows, banded=banded), expected, rtol=1e-12)


def test_who_teaches_by_hand() -> None:
    truth, told = [0, 1, 2, 3, 0, 1], [0, -1, 2, -1, 0, 1]
    published = lesson_of(aim_of(truth, told))
    assert published.learners.tolist() == [0, 2, 4, 5]  # who shows a value
    assert published.own.tolist() == [0, 1, 2, 3, 4, 5]  # nobody teaches himself
    # nothing is published: of the households {1, 4} and {0, 2} the first record teaches, and none of its own members
    units = np.array([3, 1, 3, 5, 1, 6])
    known = lesson_of(aim_of(truth, [-1] * 6, taught=False, units=units))
    assert known.learners.tolist() == [0, 1, 3, 5]
    assert known.own.tolist() == [0, 1, 0, 3, 1, 5]
    # values are published, but category 1 by nobody: it is taken as known, of a household by its first such record
    hidden = np.array([False, True, False, False, True, True])
    rare = lesson_of(aim_of([0, 1, 2, 3, 1, 1], [0, -1, 2, 3, -1, -1], hidden=hidden, units=units))
    assert rare.learners.tolist() == [0, 1, 2, 3, 5]
    assert rare.own.tolist() == [0, 1, 2, 3, 1, 5]


def test_evidence_by_hand() -> None:
    evidence = Evidence(("town",), np.array([0, 2, 1, 0]), ordered=False, blank=np.array([True, False, False, True]))
    assert evidence.number == 3
    assert evidence.columns == ("town",)
    assert evidence.shows(np.array([0, 1, 3])).tolist() == [False, True, False]
    part = evidence.part(np.array([1, 3]))
    assert part.codes.tolist() == [2, 0]
    assert part.blank is not None
    assert part.blank.tolist() == [False, True]
    assert evidence.part(np.arange(4)) is evidence
    assert Evidence(("made",), np.zeros(2, dtype=np.int64), ordered=False, parts=("a", "b")).columns == ("a", "b")
    assert Evidence((), np.empty(0, dtype=np.int64), ordered=False).number == 1


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=20),
    st.sampled_from([0.0, 0.5, 1.0, 1.5, 3.0]),
)
def test_places_near_each_are_those_that_a_loop_counts(places: list[int], distance: float) -> None:
    ordered = np.sort(np.array(places, dtype=np.float64) / 2)
    expected = [sum(abs(other - one) <= distance for other in ordered) for one in ordered]
    assert near_each(ordered, distance).tolist() == expected


def test_ranks_by_hand() -> None:
    # of 10, 20, 20, 30 and a blank: half a record below 10, 20 stands between ranks 1 and 3
    ranks = Ranks.of(np.array([30.0, 10.0, np.nan, 20.0, 20.0]), near=0.5)
    assert ranks.values.tolist() == [10.0, 20.0, 20.0, 30.0]
    assert ranks.distance == 2.0  # half of four records
    assert ranks.place(np.array([10.0, 20.0, 30.0, 5.0, 40.0, 25.0])).tolist() == [0.5, 2.0, 3.5, 0.0, 4.0, 3.0]
    # 10 and 25 are 2.5 apart, 10 and 20 are 1.5, 40 and 20 exactly 2
    found = ranks.near(np.array([10.0, 10.0, 40.0]), np.array([25.0, 20.0, 20.0]))
    assert found.tolist() == [False, True, True]
    assert ranks.likely(np.array([9.0, 0.0, 2.0, 4.0])) == pytest.approx(0.75)  # 2 is two away from 0 and from 4


def test_of_equal_teachers_the_earlier_record_stands_first() -> None:
    # records 0, 2, 3 and 6 teach, 0 and 6 under key 1; whose own record is 0 or 6 passes it over where it stands
    codes = np.array([1, 0, 1, 0, 0, 0, 1, 0, 0])
    aim = aim_of([0] * 9, [1, 0, 1, 0, 0, 0, 0, 0, 0])
    lesson = Lesson(aim.told, np.array([0, 2, 3, 6]), np.array([0, 0, 2, 3, 0, 0, 6, 0, 0]))
    evidence = Evidence(("e",), codes, ordered=True, ties=False, apart=2)
    expected = [by_a_loop(aim, evidence, lesson, row, banded=False) for row in range(9)]
    np.testing.assert_array_equal(predicted(aim, evidence, lesson, np.arange(9), banded=False), expected)
