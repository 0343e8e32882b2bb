"""Candidates composed for the scenarios of a schema: the keys of each, with its own k."""

from dataclasses import replace

import numpy as np
import pytest

import sfumato
from sfumato import KAnonymity, LocalSuppression, Reidentification, Scenario
from sfumato.compare.candidates import Candidate, compose
from sfumato.compare.coarsening import KeySet, wanted
from sfumato.core import Measure, Method
from sfumato.table.microdata import Microdata

NEIGHBOUR = Scenario("neighbour", keys=("region", "sex", "age"), k=5)
COLLEAGUE = Scenario("colleague", keys=("occupation", "education", "earnings"), about=("earnings",), k=3)

LANDLORD = Scenario("landlord", keys=("region", "household_size", "marital", "sex"), k=5)


def _survey(*scenarios: Scenario) -> Microdata:
    """Return a survey in which education is known to a colleague and has not the role key."""
    data = sfumato.household_survey(500)
    schema = data.schema.replace(replace(data.schema["education"], role="other"))
    return replace(data, schema=replace(schema, scenarios=scenarios))


@pytest.fixture(scope="module")
def survey() -> Microdata:
    return _survey(NEIGHBOUR, COLLEAGUE)


@pytest.fixture(scope="module")
def found(survey: Microdata) -> tuple[Candidate, ...]:
    return compose(survey, [Reidentification()], {"Reidentification": 0.05})


def _steps(method: Method) -> tuple[Method, ...]:
    return getattr(method, "steps", (method,))


def _least_alike(data: Microdata, keys: tuple[str, ...]) -> int:
    """Return the smallest number of records that agree with one, a missing value with every value, pair by pair."""
    alike = np.ones((len(data), len(data)), dtype=bool)
    for name in keys:
        column, gap = data.columns[name], data.missing(name)
        alike &= (column[:, None] == column) | gap[:, None] | gap
    return int(alike.sum(axis=1).min())


def test_each_scenario_gets_its_own_k_over_its_own_keys(survey: Microdata, found: tuple[Candidate, ...]) -> None:
    suppressed = [c for c in found if any(isinstance(s, LocalSuppression) for s in _steps(c.method))]
    assert len(suppressed) >= 8
    least = []
    for candidate in suppressed:
        made = candidate.method.protect(survey, rng=1)
        alike = _least_alike(made, NEIGHBOUR.keys), _least_alike(made, ("occupation", "education"))
        assert alike[0] >= 5 and alike[1] >= 3, candidate.why
        least.append(alike)
        masked = set(candidate.method.masked(survey))
        assert "earnings" in masked and masked & {*NEIGHBOUR.keys, "occupation", "education"}, candidate.why
        assert not {"marital", "household_size", "urbanity"} & masked  # nobody knows these: they stay as they came
    assert any("education" in candidate.method.masked(survey) for candidate in suppressed)
    assert any(neighbours >= 10 and colleagues >= 10 for neighbours, colleagues in least)  # more is tried too


@pytest.mark.parametrize("other", [COLLEAGUE, LANDLORD], ids=lambda scenario: scenario.name)
def test_one_step_serves_all_scenarios_and_blanks_no_more_than_one_for_each(other: Scenario) -> None:
    survey = _survey(NEIGHBOUR, other)
    several = 0
    for candidate in compose(survey, [Reidentification()], {"Reidentification": 0.05}):
        steps = _steps(candidate.method)
        suppressions = [step for step in steps if isinstance(step, LocalSuppression)]
        assert len(suppressions) <= 1, candidate.why
        if not suppressions or not isinstance(suppressions[0].sets, tuple):
            continue
        several += 1
        (joint,) = suppressions
        data = survey
        for recoding in steps[: steps.index(joint)]:
            data = recoding.protect(data)
        assert isinstance(joint.sets, tuple)
        worth = joint.importance or {}
        blank = {name: np.zeros(len(data), dtype=bool) for keys, _ in joint.sets for name in keys}
        for keys, k in joint.sets:  # each by itself, and all that goes
            own = {name: value for name, value in worth.items() if name in keys}
            alone = LocalSuppression(k, importance=own or None, variables=keys).protect(data)
            for name in keys:
                blank[name] |= alone.missing(name) & ~data.missing(name)
        apart = sum(worth.get(name, 1) * int(lost.sum()) for name, lost in blank.items())
        after = joint.protect(data)
        assert sum(worth.get(v.name, 1) * v.treatment.suppressed for v in after.schema) <= apart
        assert all(_least_alike(after, keys) >= k for keys, k in joint.sets)
    assert several >= 3


def test_candidates_are_few_and_randomising_is_among_them(survey: Microdata, found: tuple[Candidate, ...]) -> None:
    assert 10 <= len(found) <= 24
    assert len({candidate.why for candidate in found}) == len(found)
    kinds = {type(step).__name__ for candidate in found for step in _steps(candidate.method)}
    assert {"PRAM", "RecordSwapping"} <= kinds
    asked = "fewer than 5 records look alike in region, sex and age, or fewer than 3 in education and occupation"
    assert any(asked in candidate.why for candidate in found)
    # nobody knows earnings exactly, so they are masked as a number
    assert not any("earnings" in (getattr(s, "bins", None) or ()) for c in found for s in _steps(c.method))
    assert "Noise" in kinds and "MDAV" in kinds


def test_several_candidates_keep_the_bound_under_every_scenario(
    survey: Microdata, found: tuple[Candidate, ...]
) -> None:
    before = Reidentification().evaluate(survey, survey).value
    shares = [Reidentification().evaluate(survey, c.method.protect(survey, rng=1)).value for c in found]
    assert before > 0.5 and sum(share < 0.05 for share in shares) >= 3


def test_what_is_asked_of_the_keys() -> None:
    keys = ("region", "sex", "age", "occupation", "education")
    schema = _survey(NEIGHBOUR, COLLEAGUE).schema
    neighbour, colleague = KeySet(("region", "sex", "age"), 5), KeySet(("occupation", "education"), 3)
    ways = wanted(keys, schema, [Reidentification()])
    assert ways == [
        (neighbour, colleague),
        (neighbour, replace(colleague, k=5)),
        (replace(neighbour, k=10), replace(colleague, k=10)),
    ]
    assert wanted(keys, schema, [Reidentification(scenarios=("colleague",))])[0] == (colleague,)
    # a count with a k of its own asks for its keys too, and no more is tried than is asked
    counted: list[Measure] = [Reidentification(), KAnonymity(4, variables=("sex", "age"))]
    assert wanted(keys, schema, counted) == [(neighbour, colleague)]  # k=5 over more keys implies it
    counted = [Reidentification(), KAnonymity(7, variables=("sex", "age"))]
    assert wanted(keys, schema, counted) == [(neighbour, KeySet(("sex", "age"), 7), colleague)]


def test_a_scenario_that_another_implies_has_no_step() -> None:
    within = Scenario("postman", keys=("region", "sex"), k=4)
    data = _survey(NEIGHBOUR, within)
    for candidate in compose(data, [Reidentification()], {"Reidentification": 0.05}):
        assert sum(isinstance(step, LocalSuppression) for step in _steps(candidate.method)) <= 1
