"""Records of parts by their draws: who is chosen of those suppressed, and who shows what they had."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sfumato import Microdata, Schema, Variable
from sfumato.auditing import of_parts as module
from sfumato.auditing.findings import Audit
from sfumato.auditing.of_parts import (
    CODED,
    MATES,
    DrawnRecords,
    SampleDesign,
    SuppressedRecords,
    _at_random,
    _gone,
    _merged,
    _of,
    _RecordOrder,
    _showing,
    _SoughtValues,
    _too_few,
    mates,
    suppressed,
    with_how_drawn,
)
from sfumato.table.draws import Draws
from sfumato.table.parts import TableInParts
from sfumato.table.treatment import Treatment

TOWNS = ("A", "B", "C")
SCHEMA = Schema((Variable("pay"), Variable("town", "nominal", categories=TOWNS)))


def table(pay: Any, town: Any, schema: Schema = SCHEMA) -> Microdata:
    return Microdata(schema, {"pay": np.array(pay, dtype=np.float64), "town": np.array(town, dtype=np.int32)})


def in_parts(data: Microdata, *cuts: int) -> TableInParts:
    ends = [*cuts, len(data)]
    starts = [0, *cuts]
    return TableInParts(tuple(data.take(np.arange(a, b)) for a, b in zip(starts, ends, strict=True)))


def drawn(rows: Sequence[int], draws: Sequence[float]) -> DrawnRecords:
    return DrawnRecords(np.array(rows, dtype=np.intp), np.array(draws))


def test_those_with_the_smallest_draws_come_first() -> None:
    one = drawn([3, 5, 8], [0.9, 0.1, 0.4])
    assert one.least(2).rows.tolist() == [5, 8]
    assert one.least(9).rows.tolist() == [5, 8, 3]
    both = one.with_others(drawn([11, 12], [0.2, 0.95]), 4)
    assert both.rows.tolist() == [5, 11, 8, 3]
    assert both.draws.tolist() == [0.1, 0.2, 0.4, 0.9]


def test_of_rare_ones_all_are_chosen_of_the_others_as_many_as_of_each_other() -> None:
    """Ten in all: of two rare ones both, and of the eight left four of each of the others."""
    found = SuppressedRecords(
        30,
        {
            "many": drawn(range(20), np.arange(20.0).tolist()),
            "rare": drawn([50, 51], [0.1, 0.2]),
            "more": drawn(range(30, 39), np.arange(9.0).tolist()),
        },
    )
    chosen = found.chosen(10)
    assert {name: rows.tolist() for name, rows in chosen.items()} == {
        "rare": [50, 51],
        "more": [30, 31, 32, 33],
        "many": [0, 1, 2, 3],
    }
    assert {name: len(rows) for name, rows in found.chosen(11).items()} == {"rare": 2, "more": 4, "many": 5}
    assert set(found.chosen(2)) == {"more", "many"}  # 2 // 3 is none of the first


def test_what_is_found_in_parts_is_put_together() -> None:
    one = SuppressedRecords(3, {"a": drawn([1, 2], [0.5, 0.6])})
    two = SuppressedRecords(4, {"a": drawn([7], [0.1]), "b": drawn([8], [0.9])})
    found = _merged([one, two, SuppressedRecords(None, {})], 2)
    assert found.records == 7
    assert {name: part.rows.tolist() for name, part in found.drawn.items()} == {"a": [7, 1], "b": [8]}


def test_blanks_and_coded_ends_are_looked_for() -> None:
    before = table([1, 5, 20, 30, np.nan, 9], [0] * 6)
    after = table([5, 5, np.nan, 20, np.nan, 9], [0] * 6)
    blanks = _SoughtValues(blanks=True)
    assert not blanks.coded
    assert blanks.lacks(after, "pay").tolist() == [False, False, True, False, True, False]
    assert blanks.had(before, "pay").tolist() == [True, True, True, True, False, True]
    ends = _SoughtValues(blanks=False, bottom=5, top=20)
    assert ends.coded
    assert ends.lacks(after, "pay").tolist() == [True, True, False, True, False, False]
    assert ends.had(before, "pay").tolist() == [True, False, False, True, False, False]  # beyond the ends only
    both = _SoughtValues(blanks=True, top=20)
    assert both.coded
    assert both.lacks(after, "pay").tolist() == [False, False, True, True, True, False]
    assert both.had(before, "pay").tolist() == [True, True, False, True, False, True]  # an end itself was not coded


def test_records_of_a_part_that_lack_a_value_they_had() -> None:
    before, after = table([1, 2, np.nan, 4], [0, 1, 2, 0]), table([np.nan, 2, np.nan, 4], [0, -1, 2, -1])
    draws = Draws(100, "records with suppressed values")
    sought = {"pay": _SoughtValues(blanks=True), "town": _SoughtValues(blanks=True)}
    found = _gone(sought, draws, 5, before, after, 40)
    assert found.records == 3  # 40, 41 and 43
    assert set(found.drawn["town"].rows.tolist()) == {41, 43}
    assert found.drawn["pay"].rows.tolist() == [40]
    draw = draws.uniform("which", 40, 4)
    assert sorted(found.drawn["town"].draws.tolist()) == sorted([draw[1], draw[3]])
    # without the original all that lack a value
    assert _gone(sought, draws, 5, after, 40).records == 4
    assert len(_gone(sought, draws, 1, after, 40).drawn["town"].rows) == 1
    assert _gone(sought, draws, 5, before, before, 0).drawn == {}


def test_a_few_records_that_show_each_category() -> None:
    part = table([0] * 8, [0, 1, 0, 0, 2, 1, 0, -1])
    draws = Draws(100, "records that show what was suppressed")
    found = _showing({"town": np.array([0, 1], dtype=np.int32)}, draws, {"town": 2}, part, 10)
    assert set(found) == {("town", 0), ("town", 1)}
    draw = draws.uniform("which", 10, 8)
    least = sorted([0, 2, 3, 6], key=lambda row: float(draw[row]))[:2]
    assert found["town", 0].rows.tolist() == [10 + row for row in least]
    assert set(found["town", 1].rows.tolist()) == {11, 15}
    assert _showing({"town": np.array([0], dtype=np.int32)}, draws, {"town": 2}, part.take(np.array([1, 4])), 0) == {}


@pytest.mark.parametrize("cuts", [(), (3,), (1, 2, 7)])
def test_suppressed_values_are_found_whatever_the_cut(cuts: tuple[int, ...]) -> None:
    pay = np.arange(10.0)
    blank = pay.copy()
    blank[[2, 7, 9]] = np.nan
    town = np.zeros(10, dtype=np.int32)
    gone = town.copy()
    gone[[7]] = -1
    before, after = in_parts(table(pay, town), *cuts), in_parts(table(blank, gone), *cuts)
    found = suppressed(before, after, 10)
    assert found.records == 3
    assert found.what == "suppressed values"
    assert sorted(found.drawn["pay"].rows.tolist()) == [2, 7, 9]
    assert found.drawn["town"].rows.tolist() == [7]
    assert len(suppressed(before, after, 2).drawn["pay"].rows) == 2
    assert suppressed(before, before, 10).records == 0
    # the same records wherever they stand
    order = np.array([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    turned = in_parts(table(blank[order], gone[order]), *cuts)
    there = suppressed(before, turned, 10, lambda places: order[places])
    assert there.records == 3
    assert sorted(there.drawn["pay"].rows.tolist()) == [2, 7, 9]
    assert there.drawn["town"].rows.tolist() == [7]


def test_a_value_that_was_missing_before_was_not_suppressed() -> None:
    pay = np.arange(10.0)
    pay[4] = np.nan
    blank = pay.copy()
    blank[6] = np.nan
    before, after = in_parts(table(pay, [0] * 10), 5), in_parts(table(blank, [0] * 10), 5)
    assert suppressed(before, after, 10).drawn["pay"].rows.tolist() == [6]
    there = suppressed(before, after, 10, lambda places: places)
    assert there.records == 1
    assert there.drawn["pay"].rows.tolist() == [6]


def test_where_only_some_gaps_are_looked_at_nobody_knows_how_many_are_suppressed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LOOKED_THROUGH", 2)
    blank = np.full(10, np.nan)
    blank[0] = 0.0
    before, after = in_parts(table(np.arange(10.0), [0] * 10), 5), in_parts(table(blank, [0] * 10), 5)
    assert suppressed(before, after, 1, lambda places: places).records is None
    assert suppressed(before, after, 9, lambda places: places).records == 9


def test_coded_ends_are_few_and_named() -> None:
    coded = Schema((Variable("pay", treatment=Treatment(top=20.0)), SCHEMA["town"]))
    before = in_parts(table([10, 20, 30, 40], [0] * 4), 2)
    after = in_parts(table([10, 20, 20, 20], [0] * 4, coded), 2)
    beyond = suppressed(before, after, 9)
    assert beyond.what == "coded ends"
    assert sorted(beyond.drawn["pay"].rows.tolist()) == [2, 3]
    size = CODED + 1  # all of which were coded, and one town of which was suppressed
    many, towns = np.full(size, 30.0), [-1, *[0] * (size - 1)]
    told = Schema((coded["pay"], Variable("town", "nominal", categories=TOWNS, treatment=Treatment(suppressed=1))))
    both = suppressed(
        in_parts(table(many, [0] * size), 90), in_parts(table(np.full(size, 20.0), towns, told), 90), size
    )
    assert both.what == "suppressed values or coded ends"
    assert {name: len(found.rows) for name, found in both.drawn.items()} == {"pay": CODED, "town": 1}
    assert suppressed(before, before, 9).what == "suppressed values"


def test_mates_show_the_category_of_a_suppressed_value() -> None:
    town = np.array([0, 0, 1, 1, 1, 1, 1, 2, 2, 0])
    hidden = town.copy()
    hidden[[0, 7]] = -1  # an A and a C
    before, after = in_parts(table([0] * 10, town.tolist()), 4), in_parts(table([0] * 10, hidden.tolist()), 4)
    chosen = {"town": np.array([7, 0])}
    assert sorted(mates(before, after, chosen, 10)["town"].tolist()) == [1, 8, 9]
    hidden[:] = np.where(town == 0, -1, town)  # nobody shows an A, five show a B
    after = in_parts(table([0] * 10, hidden.tolist()), 4)
    found = mates(before, after, {"town": np.array([0, 2, 7])}, 100)["town"].tolist()
    assert len([row for row in found if town[row] == 1]) == MATES
    assert sorted(row for row in found if town[row] == 2) == [7, 8]
    assert len(mates(before, after, {"town": np.array([0, 2, 7])}, 3)["town"]) == 2  # one of each category, at most 3
    assert mates(before, after, {"pay": np.array([1])}, 10) == {}  # numbers have no category


def test_who_was_drawn_for_another_variable_is_no_witness() -> None:
    data = table([1, 2, 3, 4], [0, 1, 2, 0])
    random, for_town = np.array([True, False, False, True]), np.array([True, True, False, True])
    seen = SampleDesign(("some",), random, {"town": for_town})
    asked = seen.asked(data, np.arange(4))
    np.testing.assert_array_equal(asked.columns["pay"], [1, np.nan, np.nan, 4])
    assert asked.columns["town"].tolist() == [0, 1, -1, 0]
    assert asked.columns["town"].dtype == data.columns["town"].dtype
    turned = seen.asked(data, np.array([3, 2, 1, 0]))
    np.testing.assert_array_equal(turned.columns["pay"], [1, np.nan, np.nan, 4])
    assert turned.columns["town"].tolist() == [0, -1, 2, 0]
    assert SampleDesign().asked(data, np.arange(4)) is data


def test_an_order_goes_both_ways() -> None:
    given = _RecordOrder.of([2, 0, 1], 3)
    assert given.records_at(np.array([0, 2]), 3).tolist() == [2, 1]
    assert given.places(np.array([2, 1]), 3).tolist() == [0, 2]


def test_how_many_are_seen_is_said() -> None:
    assert [_of(5, 5), _of(5, 1234), _of(1234, None)] == ["all 5", "5 of 1,234", "1,234"]
    assert _at_random(10, 10).notes == ()
    assert _at_random(10, 2000).notes == ("audited in a random sample of 10 of 2,000 records",)


def audit_of(protected: dict[str, int]) -> Audit:
    return Audit(10, protected, (), 0.01, 0.1, "position", "fine", ("before",))


@pytest.mark.parametrize(
    ("number", "treated", "said"),
    [
        (0, False, None),
        (0, True, "of pay no protected value is among"),
        (9, False, "of pay only 9 of the protected values are among"),
        (10, True, None),
    ],
)
def test_too_few_protected_values_are_said(number: int, treated: bool, said: str | None) -> None:
    before = table([1, 2], [0, 1])
    schema = Schema((Variable("pay", treatment=Treatment(top=20.0)), SCHEMA["town"])) if treated else SCHEMA
    after: Any = table([1, 2], [0, 1], schema)
    notes = list(_too_few(audit_of({"pay": number}), before, after))
    assert len(notes) == (said is not None)
    assert all(note.startswith(said or "") for note in notes)
    told = with_how_drawn(audit_of({"pay": number}), before, after, SampleDesign(("drawn so",)))
    assert told.notes == ("drawn so", *notes, "before")
    assert with_how_drawn(audit_of({"pay": number}), before, after, SampleDesign()).notes == ("before",)


def test_mates_of_several_variables_share_the_most() -> None:
    jobs = Schema((Variable("job", "nominal", categories=TOWNS), Variable("town", "nominal", categories=TOWNS)))
    codes = np.zeros(12, dtype=np.int32)
    hidden = np.where(np.arange(12) == 0, -1, codes).astype(np.int32)
    before, after = (in_parts(Microdata(jobs, {"job": c, "town": c}), 5) for c in (codes, hidden))
    found = mates(before, after, {"job": np.array([0]), "town": np.array([0])}, 4)
    assert {name: len(rows) for name, rows in found.items()} == {"job": 2, "town": 2}  # MATES of each would be 6
