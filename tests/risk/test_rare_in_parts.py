"""Records that are found for certain and are so few that a sample may hold none: the standard error says so."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato
from rare import rare
from scanned import scanned
from sfumato import DistanceLinkage, Microdata, Reidentification, Scenario
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.pair.sample import NORMAL, Sample
from sfumato.risk.intruder import ALIKE
from sfumato.risk.judged import Chances, JudgedScenario
from sfumato.testing.of_measures import agree as same
from tables import numbers, persons
from test_contract_parts import cut

KEYS = ("x", "y")
ABOVE = Reidentification(variables=KEYS, above=0.2, sample=200)
BEFORE, AFTER = rare(2_000, 4)


def test_by_hand_a_sample_that_sees_none() -> None:
    found = [ABOVE.evaluate(BEFORE, AFTER, rng=seed) for seed in range(10)]
    none = [one for one in found if one.value == 0]
    assert none
    # (1 - 200/2000)^K = 0.05 for K = 28.433 records of 2,000, over 1.96
    for one in none:
        assert one.parts["standard error"] == pytest.approx(28.433 / 2_000 / 1.96, rel=1e-4)
        assert any("standard error 0.0073" in note for note in one.notes)


@pytest.mark.parametrize("measure", [ABOVE, Reidentification(variables=KEYS, sample=200)], ids=repr)
def test_the_interval_holds_the_figure_of_all_records(measure: Reidentification) -> None:
    truth = replace(measure, sample=None).evaluate(BEFORE, AFTER).value
    assert 4 <= 2_000 * truth < 25
    found = [measure.evaluate(BEFORE, AFTER, rng=seed) for seed in range(100)]
    near = [abs(one.value - truth) <= NORMAL * one.parts["standard error"] for one in found]
    assert np.mean(near) >= 0.93


def test_in_parts_as_in_memory_and_nothing_is_open_with_all_records(tmp_path: Path) -> None:
    before, after = scanned(BEFORE, tmp_path / "original", 3), scanned(AFTER, tmp_path / "protected", 5)
    with sfumato.Engine("here"):
        same(ABOVE.evaluate(BEFORE, AFTER, rng=4), ABOVE.evaluate(before, after, rng=4))
        whole = replace(ABOVE, sample=2_000).evaluate(before, after, rng=4)
    assert whole.value == 4 / 2_000 and "standard error" not in whole.parts


def test_an_attack_that_was_tried_on_a_sample_may_be_better_than_one_counted_for_all() -> None:
    found = [ABOVE.evaluate(BEFORE, AFTER, rng=seed) for seed in range(40)]
    guessed = [one for one in found if any("best attack: alike" in note for note in one.notes)]
    assert guessed  # no outlier was drawn, nor anybody found by luck: to guess seems best
    for one in guessed:
        assert one.value == 0 and one.parts["standard error"] > 0
        assert any("counted for all records, but another attack may find more" in note for note in one.notes)


def test_by_hand_the_error_reaches_as_far_as_that_of_a_rival() -> None:
    sample = Sample(np.arange(4), 8)
    rival = Chances(np.array([0.0, 0.0, 0.0, 1.0]), sample=sample)  # 1/4
    error = rival.error(None)
    judged = JudgedScenario(Scenario("s", KEYS), ALIKE, Chances(np.full(8, 0.5)), None, (), rivals=(rival,))
    # from 1/2, counted for all, to the upper end of 1/4 +- 1.96 errors
    assert NORMAL * (judged.error(None) or 0.0) == pytest.approx(0.25 + NORMAL * error - 0.5)
    # above 0.4 are all, and 1/4 by the rival: it is 3/4 less, and may be as much less again as its interval
    assert NORMAL * (judged.error(0.4) or 0.0) == pytest.approx(0.75 + NORMAL * error)
    assert replace(judged, rivals=()).error(None) is None


def test_a_scenario_that_was_sampled_may_be_worse_than_one_counted_for_all() -> None:
    town = [float(row % 4) for row in range(2_000)]
    before, after = (numbers(x=side.columns["x"], y=side.columns["y"], town=town) for side in (BEFORE, AFTER))
    intruders = Scenario("of the town", ("town",)), Scenario("who knows all", KEYS)
    before = replace(before, schema=replace(before.schema, scenarios=intruders))
    found = [Reidentification(above=0.2, sample=200).evaluate(before, after, rng=seed) for seed in range(20)]
    none = [one for one in found if one.value == 0]
    assert none
    for one in none:  # nobody is found by the town, of all records, and by all keys nobody of the sample
        assert "worst scenario: of the town; best attack: alike" in one.notes
        assert one.parts["standard error"] == pytest.approx(28.433 / 2_000 / 1.96, rel=1e-4)


def test_unchanged_keys_leave_nothing_open() -> None:
    data = persons(300)
    keys = ("region", "age")
    found = Reidentification(variables=keys, sample=20).evaluate(data, data, rng=2)
    assert "standard error" not in found.parts
    # of one whose key was changed and is not told: the nearest may be better than those alike
    ages = data.columns["age"].copy()
    ages[7] += 1
    changed = data.replace({"age": ages})
    moved = Reidentification(variables=keys, sample=20).evaluate(data, changed, rng=2)
    assert moved.parts["standard error"] > 0


def links(before: Microdata, after: Microdata, seed: int) -> Measurement:
    return DistanceLinkage(known=(KEYS,), sample=200).evaluate_pair(
        Pair.of(cut(before, [700]), cut(after, [700])), rng=seed
    )


def test_distance_linkage_that_links_nobody_is_not_sure_of_it() -> None:
    truth = DistanceLinkage(known=(KEYS,)).evaluate(BEFORE, AFTER).value
    found = [links(BEFORE, AFTER, seed) for seed in range(60)]
    assert min(one.value for one in found) < 4 / 2_000
    near = [abs(one.value - truth) <= NORMAL * one.parts["standard error"] for one in found]
    assert np.mean(near) >= 0.93
