"""What other records of a person tell of a number, and what a weight of zero tells: the rules by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from sfumato import Microdata, Schema, Variable, audit
from sfumato.auditing import audit as module
from sfumato.auditing import belonging
from sfumato.auditing.audit import _depends, _told, with_alarms, with_zero_weights
from sfumato.auditing.audit import _usual as usual_answer
from sfumato.auditing.belonging import (
    _goes_alike,
    _hardly_moves,
    _luck,
    _Rule,
    _rules,
    _usual,
    told_by_others,
    with_told_by_others,
)
from sfumato.auditing.findings import Restored, Route
from sfumato.auditing.targets import best_guess, targets_of


def table(columns: dict[str, Any], **special: Any) -> Microdata:
    return Microdata.from_frame(pd.DataFrame(columns), Schema(**special))


def test_a_number_moves_with_another_or_against_it() -> None:
    step = np.array([1.0] * 20 + [0.0] * 5)
    assert _goes_alike(step, step) == 1
    assert _goes_alike(-step, step) == -1
    assert _goes_alike(2 * step, step) == 0
    assert _goes_alike(step[1:], step[1:]) == 0  # nineteen pairs in which the other moves
    wrong = np.array([1.0] * 39 + [5.0])
    assert _goes_alike(wrong, np.ones(40)) == 1  # 39 of 40 are more than 95 %
    wrong[:2] = 7.0
    assert _goes_alike(wrong, np.ones(40)) == 0  # 37 of 40
    gaps = np.array([1.0] * 20 + [np.nan] * 30)
    assert _goes_alike(gaps, np.ones(50)) == 1
    assert _goes_alike(np.ones(50), gaps) == 1


def test_a_number_hardly_moves_if_most_pairs_lie_near_in_rank() -> None:
    column = np.arange(100.0)
    one = np.arange(0, 50)
    assert _hardly_moves(column, (one, one + 4))  # four of a hundred ranks, five being near
    assert not _hardly_moves(column, (one, one + 6))
    assert not _hardly_moves(column, (one[:19], one[:19] + 1))
    assert _hardly_moves(column, (one[:20], one[:20] + 1))
    far = np.where(np.arange(50) < 5, one + 40, one + 1)  # nine in ten are near
    assert _hardly_moves(column, (one, far))
    assert not _hardly_moves(column, (one, np.where(np.arange(50) < 6, one + 40, one + 1)))
    column[90:] = np.nan
    assert _hardly_moves(column, (one, one + 4))  # 4 of 90 ranks
    assert not _hardly_moves(column, (one, one + 5))


def test_the_median_of_a_unit_is_the_lower_of_two() -> None:
    values = np.array([5.0, 1.0, np.nan, 9.0, 7.0, np.nan, 3.0])
    unit = np.array([0, 0, 0, 1, 0, 2, 1])
    np.testing.assert_array_equal(_usual(values, unit), [5, 5, 5, 3, 5, np.nan, 3])


def told(restored: float, guess: float, values: int = 40) -> Restored:
    return Restored("age", "as published", ("x",), values, restored, restored, guess, None, "the file", "restores")


def test_values_of_one_unit_count_as_one_for_luck() -> None:
    unit = np.repeat(np.arange(10), 4)
    assert _luck(told(0.8, 0.3), unit) == pytest.approx(binom.sf(7, 10, 0.3))
    assert _luck(told(0.79, 0.3), unit) == pytest.approx(binom.sf(6, 10, 0.3))


def test_of_several_numbers_told_by_other_waves_the_first_weighs_the_excess_with_the_root_of_the_values() -> None:
    """As above: .9 of 16 values are worth 3.6, .7 of 25 are worth 3.5."""
    data = panel()
    before = audit(data, blanked(data, pay=[3, 9, 27]))
    alarms = [replace(told(0.75, 0.05, 25), variable="many"), replace(told(0.95, 0.05, 16), variable="zest")]
    for offered in (alarms, alarms[::-1]):
        route = with_alarms(before, "household", offered, lambda names: f"suppress {names} in all records")["household"]
        assert [one.variable for one in route.by_variable][:2] == ["zest", "many"]
        assert route.repair == "suppress zest and many in all records"
    assert not with_alarms(before, "household", alarms, str).passed


def panel(waves: int = 4, persons: int = 60, *, home: str = "person") -> Microdata:
    rng = np.random.default_rng(0)
    who, when = np.repeat(np.arange(persons), waves), np.tile(np.arange(waves), persons)
    columns = {
        "person": who.astype(float),
        "wave": when.astype(float),
        "age": rng.integers(18, 80, persons)[who] + when.astype(float),
        "left": 100.0 - rng.integers(18, 80, persons)[who] - when,
        "pay": rng.lognormal(8, 1, len(who)).round(),
        "w": rng.uniform(10, 90, persons).round(3)[who],
    }
    return table(columns, household=home, weight="w")


def blanked(data: Microdata, **where: Any) -> Microdata:
    columns = dict(data.columns)
    for name, rows in where.items():
        columns[name] = np.where(np.isin(np.arange(len(data)), rows), np.nan, columns[name])
    return data.replace({name: columns[name] for name in where})


def test_rules_are_of_numbers_that_are_blank_and_move() -> None:
    data = panel()
    hidden = np.arange(0, 240, 5)
    assert _rules(data, blanked(data, age=hidden)) == [_Rule("age", "wave", 1)]
    assert _rules(data, blanked(data, left=hidden)) == [_Rule("left", "wave", -1)]
    assert _rules(data, blanked(data, pay=hidden)) == []  # moves freely
    assert _rules(data, data) == []
    short = data.take(np.arange(24))  # six persons, eighteen pairs
    assert _rules(short, blanked(short, age=[0, 5])) == []
    more = data.take(np.arange(28))  # seven persons, twenty-one
    assert _rules(more, blanked(more, age=[0, 5])) == [_Rule("age", "wave", 1)]
    still = data.replace({"age": data.columns["person"] + 20})
    assert _rules(still, blanked(still, age=hidden)) == []  # it does not move: the audit sees what members share
    slow = data.without(["wave", "left"])
    assert _rules(slow, blanked(slow, age=hidden)) in ([_Rule("age")], [])


def test_where_the_number_of_the_unit_is_kept_rules_are_named_as_they_are() -> None:
    data = panel()
    hidden = blanked(data, age=np.arange(0, 240, 5))
    assert told_by_others(data, hidden) == ["age"]
    assert told_by_others(table({"age": [1.0, 2.0]}), table({"age": [1.0, np.nan]})) == []  # no household
    found = audit(data, hidden)
    assert with_told_by_others(found, data, hidden, some=False) is found  # it has its number: nothing is put together


def test_blank_ages_of_persons_put_together_by_their_weight_are_an_alarm() -> None:
    """Each person keeps a weight of her own: 48 ages are blank, and another wave tells each exactly."""
    data = panel()
    hidden = blanked(data, age=np.arange(0, 240, 5)).without(["person"])
    before = audit(data, hidden)
    found = with_told_by_others(before, data, hidden, some=False)
    worst = found["household"].by_variable[0]
    assert (worst.variable, worst.values, worst.restored, worst.exactly) == ("age", 48, 1.0, 1.0)
    assert "wave" in worst.columns
    assert worst.evidence[-1] == "wave"
    assert not found.passed
    assert "suppress age in all records of a person" in found["household"].repair
    few = blanked(data, age=np.arange(0, 45, 5)).without(["person"])  # nine: too few to judge
    assert with_told_by_others(audit(data, few), data, few, some=False)["household"].by_variable != (worst,)


# ------------------------------------------------------------------------------------------------ weights of zero


def survey(zero: int, wrong: int = 0) -> tuple[Microdata, Microdata]:
    """200 records, of which so many have no weight: they are of the Isles but for some, and blank in the file."""
    rng = np.random.default_rng(2)
    region = rng.choice(["N", "E", "S"], 200).astype(object)
    region[:zero] = "Isles"
    region[:wrong] = "N"
    weight = rng.uniform(1, 9, 200).round(2)
    weight[:zero] = 0.0
    blank = region.copy()
    blank[:zero] = None
    blank[120:140] = None
    before = table({"region": region, "w": weight}, weight="w")
    return before, Microdata.beside(before, pd.DataFrame({"region": blank, "w": weight}))


def test_a_weight_of_zero_that_tells_a_region_is_an_alarm() -> None:
    before, after = survey(20)
    aim = next(iter(targets_of(before, after, 0.01)))
    judged = _told(aim, after.weights() == 0, "w")
    assert judged is not None
    found, luck = judged
    assert (found.values, found.restored, found.evidence, found.columns) == (20, 1.0, ("w = 0",), ("w",))
    guess = best_guess(aim)  # the commonest of all forty blanks is the Isles too
    assert found.guess == pytest.approx(guess.right[:20].mean())
    assert luck == pytest.approx(binom.sf(19, 20, max(found.guess, guess.chance)))
    nine = np.isin(np.arange(200), np.arange(9))
    assert _told(aim, nine, "w") is None
    assert _told(aim, np.isin(np.arange(200), np.arange(10)), "w") is not None


def test_two_thirds_of_what_the_guess_leaves_open() -> None:
    assert _depends(told(0.81, 0.4))  # .41 of .6
    assert not _depends(told(0.79, 0.4))


@pytest.mark.parametrize(("zero", "wrong", "alarm"), [(20, 0, True), (20, 12, False), (9, 0, False)])
def test_zero_weights_are_an_alarm_where_ten_records_show_it(zero: int, wrong: int, alarm: bool) -> None:
    """The forty blanks are led by another region, so that the guess misses the Isles of weight zero."""
    before, after = survey(zero, wrong)
    led = after.replace({"w": after.columns["w"]})
    columns = dict(before.columns)
    columns["region"] = columns["region"].copy()
    other = int(before.schema["region"].categories.index("E"))
    columns["region"][120:140] = other
    columns["region"][140:160] = other
    hidden = led.columns["region"].copy()
    hidden[140:160] = -1
    truth, shown = before.replace(columns), led.replace({"region": hidden})
    found = audit(truth, shown, order=np.arange(200))
    quiet = found if not found["weight"].alarm else None
    if quiet is None:  # the audit itself sees it: nothing is added
        assert with_zero_weights(found, truth, shown) is found
        return
    judged = with_zero_weights(quiet, truth, shown)
    assert judged["weight"].alarm == alarm
    if alarm:
        assert "leave out the records whose w is 0" in judged["weight"].repair
        assert "region" in judged["weight"].repair
        assert not judged.passed
    positive = shown.replace({"w": shown.columns["w"] + 1})
    assert with_zero_weights(quiet, truth, positive) is quiet
    nothing = shown.replace({"w": np.zeros(200)})
    assert with_zero_weights(quiet, truth, nothing) is quiet


def test_one_answer_for_all_is_the_commonest_or_the_median() -> None:
    schema = Schema((Variable("age"),))
    before = Microdata(schema, {"age": np.array([1.0, 2.0, 9.0, 4.0])})
    after = Microdata(schema, {"age": np.full(4, np.nan)})
    aim = next(iter(targets_of(before, after, 0.01)))
    assert usual_answer(aim, np.array([0, 1, 2])).tolist() == [2.0] * 3
    town = table({"t": list("abbc")})
    towns = next(iter(targets_of(town, town.replace({"t": np.full(4, -1, dtype=np.int32)}), 0.01)))
    assert {str(towns.truth.levels[code]) for code in usual_answer(towns, np.arange(4)).tolist()} == {"b"}


def test_the_alarm_that_is_told_first_weighs_the_excess_with_the_root_of_the_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """.9 of 16 values are worth .9 x 4 = 3.6, .7 of 25 are worth .7 x 5 = 3.5; of as much worth by the name."""
    before, after = survey(20)
    found = audit(before, after, order=np.arange(200))
    found = replace(found, routes=tuple(r for r in found.routes if r.name != "weight"))
    found = replace(found, routes=(*found.routes, Route("weight", untried="no")))

    def of(name: str, restored: float, values: int) -> Restored:
        return replace(told(restored, 0.05, values), variable=name)

    def named(*offered: Restored, luck: float = 0.0) -> list[str]:
        monkeypatch.setattr(module, "targets_of", lambda *_: list(offered))
        monkeypatch.setattr(module, "_told", lambda one, *_: (one, luck))
        return [one.variable for one in with_zero_weights(found, before, after)["weight"].by_variable]

    many, few = of("many", 0.75, 25), of("zest", 0.95, 16)
    assert named(many, few) == named(few, many) == ["zest", "many"]
    assert named(of("b", 0.9, 20), of("a", 0.9, 20)) == ["a", "b"]
    assert named(many, of("half", 0.5, 400)) == ["many"]  # .45 of .95: less than two thirds
    # a chance of a false alarm of 1 % over both that were tried
    assert named(many, few, luck=0.0049) == ["zest", "many"]
    assert named(many, few, luck=0.0051) == []
    assert named(many, luck=0.0099) == ["many"]


def test_a_chance_of_a_false_alarm_is_shared_by_the_numbers_that_follow_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A luck of .006 is below .01 for one number, and not below .005 for each of two."""
    data = panel()
    asked = np.arange(0, 240, 5)
    one, two = (
        blanked(data, **dict.fromkeys(names, asked)).without(["person"]) for names in (["age"], ["age", "left"])
    )
    monkeypatch.setattr(belonging, "_luck", lambda *_: 0.006)

    def told_of(hidden: Microdata) -> list[str]:
        found = with_told_by_others(audit(data, hidden), data, hidden, some=False)["household"]
        return [one.variable for one in found.by_variable if one.evidence[-1] == "wave"]

    assert told_of(one) == ["age"]
    assert told_of(two) == []
    monkeypatch.setattr(belonging, "_luck", lambda *_: 0.0049)
    assert sorted(told_of(two)) == ["age", "left"]
