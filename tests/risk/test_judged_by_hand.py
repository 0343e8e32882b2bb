"""Chances under an attack, their means and standard errors, and which of several intruders is told, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from sfumato import Scenario
from sfumato.pair.sample import Sample
from sfumato.risk.judged import Chances, JudgedScenario, surer

EVERYBODY = Scenario("all", ("a",), k=3)


def judged(mean: float, **more: object) -> JudgedScenario:
    values = np.array([0.0, 2 * mean])
    return JudgedScenario(EVERYBODY, more.pop("attack", "x"), Chances(values), 0.25, more.pop("notes", ()), **more)  # type: ignore[arg-type]


def test_means_and_shares_of_all_records() -> None:
    found = Chances(np.array([0.0, 0.1, 0.5, 1.0]))
    assert found.mean == pytest.approx(0.4)
    assert found.largest == 1.0
    assert found.above(0.1) == 0.5  # beyond, not at
    assert found.above(0.05) == 0.75
    assert found.expected(4) == pytest.approx(1.6)
    assert found.error(None) == found.error(0.1) == 0.0


def test_chances_that_stand_for_several_records() -> None:
    """One of ten records is found for sure, and each of the nine others, who are one kind, once in three guesses."""
    found = Chances(np.array([1.0, 1 / 3]), times=np.array([1, 9]))
    assert found.mean == pytest.approx(0.4)
    assert found.above(0.5) == pytest.approx(0.1)
    assert found.expected(10) == pytest.approx(4.0)


def test_chances_of_a_sample_have_an_error() -> None:
    """Of 100 records 4 were drawn: a mean of .5, a standard deviation of 1/sqrt(3), less the share drawn."""
    sample = Sample(np.arange(4), 100)
    found = Chances(np.array([0.0, 0.0, 1.0, 1.0]), sample=sample)
    assert found.mean == 0.5
    assert found.expected(100) == pytest.approx(50)
    assert found.error(None) == pytest.approx(sample.error(found.values))
    assert found.error(0.5) == pytest.approx(found.error(None))


def test_what_was_counted_of_all_records_is_added_to_the_difference() -> None:
    """Counted over all records .3 are found; of the four drawn the attack adds .25 to what was counted of the same."""
    sample = Sample(np.arange(4), 100)
    every = Chances(np.array([0.3] * 100))
    found = Chances(np.array([0.0, 0.5, 1.0, 1.0]), sample=sample, counted=(np.array([0.0, 0.5, 0.5, 0.5]), every))
    assert found.mean == pytest.approx(0.55)
    assert found.figure(0.6) == pytest.approx(0.5)  # none of all was counted beyond, two of four are
    assert found.error(None) > 0
    low = Chances(np.zeros(4), sample=sample, counted=(np.ones(4), every))
    assert low.mean == 0.0  # a share, whatever the difference
    high = Chances(np.ones(4), sample=sample, counted=(np.zeros(4), every))
    assert high.mean == 1.0


def test_the_larger_of_two_intruders_decides() -> None:
    alone = judged(0.2, attack="alike", notes=("one",))
    assert alone.or_with_others([]) is alone
    more = alone.or_with_others([judged(0.3, attack="nearest", notes=("two", "one")), judged(0.1, attack="least")])
    assert more.chances.mean == pytest.approx(0.3)
    assert more.attack.startswith("nearest, ")
    assert (more.scenario, more.violating) == (alone.scenario, 0.25)
    assert more.notes == ("one", "two")
    assert more.given_back == pytest.approx(0.3)
    less = alone.or_with_others([judged(0.1, attack="least")])
    assert less.attack == "alike"
    assert less.given_back == pytest.approx(0.1)
    assert alone.or_with_others([judged(0.2)]).attack == "alike"


def test_the_error_of_a_figure_reaches_to_its_rivals() -> None:
    assert judged(0.2).error(None) is None
    sample = Sample(np.arange(4), 100)
    sampled = Chances(np.array([0.0, 0.0, 1.0, 1.0]), sample=sample)
    own = JudgedScenario(EVERYBODY, "x", sampled, None, ())
    assert own.error(None) == pytest.approx(sampled.error(None))
    rival = Chances(np.array([0.4, 0.8, 1.0, 1.0]), sample=sample)
    both = JudgedScenario(EVERYBODY, "x", sampled, None, (), rivals=(rival,))
    assert both.error(None) == pytest.approx(max(sampled.error(None), 0.3 / 1.959964 + rival.error(None)), rel=1e-5)
    lower = Chances(np.array([0.0, 0.0, 0.0, 1.0]), sample=sample)
    assert JudgedScenario(EVERYBODY, "x", sampled, None, (), rivals=(lower,)).error(None) == pytest.approx(
        sampled.error(None)
    )
    apart = JudgedScenario(EVERYBODY, "x", sampled, None, (), rivals=(lower,)).error(0.5)
    assert apart == pytest.approx(0.25 / 1.959964 + lower.error(0.5), rel=1e-5)  # a share may be the smaller
    whole = JudgedScenario(EVERYBODY, "x", Chances(np.array([0.5])), None, (), rivals=(lower,))
    assert whole.error(None) is not None


def test_a_row_of_the_table_says_what_is_known_exactly_and_what_about() -> None:
    scenario = Scenario("neighbour", ("town", "age"), about=("age",), k=3)
    told = JudgedScenario(scenario, "x", Chances(np.array([0.0, 0.5])), 0.5, ()).row(2)
    assert told["knows"] == "town, about age"
    assert (told["share"], told["expected"], told["largest"], told["violating k"]) == (0.25, 0.5, 0.5, 0.5)


def test_single_records_are_bounded_by_the_attack_with_which_most_exceed_the_limit() -> None:
    """One attack finds six of ten with 1/2 each, another one of them for sure and nobody else."""
    usual = Chances(np.array([0.5] * 6 + [0.0] * 4))
    sure = Chances(np.array([0.0] * 9 + [1.0]))
    never_more = Chances(np.array([0.5] * 5 + [0.0] * 5))
    scenario = Scenario("one", ("a",))
    lesser = surer(usual, [("sure", sure), ("never more", never_more)])
    assert [name for name, _ in lesser] == ["sure"]
    found = JudgedScenario(scenario, "usual", usual, None, (), lesser=lesser)
    assert found.at(None) is found and found.at(0.2).attack == "usual"
    assert found.at(0.2).value(0.2) == 0.6 and found.at(0.5).value(0.5) == 0.1  # with the usual one nobody exceeds 1/2
    assert found.at(0.5).attack == "sure" and found.at(0.5).chances.values[9] == 1
    assert found.largest == 1 and found.chances.largest == 0.5


def test_attacks_with_what_the_rest_of_the_file_tells_bound_single_records_too() -> None:
    scenario = Scenario("one", ("a",))
    plain = JudgedScenario(scenario, "usual", Chances(np.full(4, 0.5)), 0.25, ())
    told = JudgedScenario(
        scenario, "alike", Chances(np.array([1.0, 0, 0, 0])), None, (), other=Chances(np.full(4, 0.1))
    )
    found = plain.or_with_others([told])
    assert (found.attack, found.value(None)) == ("usual", 0.5)
    assert found.at(0.7).attack == "alike, with what the rest of the file tells"
    assert found.at(0.7).value(0.7) == 0.25
    other = replace(plain, other=Chances(np.full(4, 0.2)), other_lesser=(Chances(np.array([0.9, 0, 0, 0])),))
    assert other.others_figure(None) == pytest.approx(0.2) and other.others_figure(0.5) == 0.25
    assert plain.others_figure(0.5) is None
