"""Candidates of a table with hierarchies in its schema: by its levels, and the best choice of them."""

from dataclasses import replace

import pytest

from sfumato import (
    GlobalRecoding,
    Hierarchy,
    KAnonymity,
    Microdata,
    OptimalRecoding,
    Reidentification,
    household_survey,
)
from sfumato.compare.candidates import compose
from sfumato.core import Measure

PLAIN = household_survey(households=200)


@pytest.fixture(scope="module")
def stated() -> Microdata:
    """Return the survey with hierarchies of age and education in its schema."""
    schema = PLAIN.schema
    schooling = Hierarchy.ordered(schema["education"].categories).topped()
    age = replace(schema["age"], hierarchy=Hierarchy.bands(10, 20, 40))
    return replace(PLAIN, schema=schema.replace(age, replace(schema["education"], hierarchy=schooling)))


@pytest.mark.parametrize("measure", [KAnonymity(3), Reidentification()])
def test_stated_hierarchies_are_the_ways_to_coarsen(stated: Microdata, measure: Measure) -> None:
    found = compose(stated, [measure], {type(measure).__name__: 0.05})
    steps = [step for candidate in found for step in candidate.method.steps]
    recodings = [step for step in steps if isinstance(step, GlobalRecoding)]
    assert recodings and all(not {"age", "education"} & {*(s.bins or ()), *(s.variables or ())} for s in recodings)
    assert any("age" in s.level for s in recodings if not isinstance(s.level, int))
    assert any(isinstance(step, OptimalRecoding) for step in steps)


def test_the_best_levels_keep_what_is_bounded(stated: Microdata) -> None:
    for measure, bound in ((KAnonymity(3), 0.0), (Reidentification(), 0.05)):
        found = compose(stated, [measure], {type(measure).__name__: bound})
        best = [one for one in found if isinstance(one.method.steps[0], OptimalRecoding)]
        assert best and all("levels that lose least" in one.why for one in best)
        # what the keys give away keeps the bound; what other columns tell of them comes on top, and is measured later
        others = [name for name in stated.schema.analysed() if stated.schema[name].role != "key"]
        tables = [one.method.protect(stated, rng=1) for one in best]
        for made in tables:
            keys = made.without([name for name in others if name in made.schema])
            assert measure.evaluate(stated.without(others), keys, rng=1).value <= bound
        assert any(measure.evaluate(stated, made, rng=1).value <= bound for made in tables)


def test_without_hierarchies_nothing_changes() -> None:
    found = compose(PLAIN, [KAnonymity(3)], {"KAnonymity": 0.0})
    assert not any(isinstance(step, OptimalRecoding) for one in found for step in one.method.steps)
