"""Candidates composed for a table: few, distinct, each step doing something, each touching what is bounded."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.catalogue import parse
from sfumato.compare.candidates import Candidate, compose
from sfumato.compare.coarsening import KeySet, Ladders
from sfumato.composition import Chain
from sfumato.core import Measure
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable


def _composed(data: Microdata, *names: str, breadth: int = 1) -> tuple[Candidate, ...]:
    measures = [measure for name in names for measure in parse(name) if isinstance(measure, Measure)]
    return compose(data, measures, dict.fromkeys(names, 0.0), breadth=breadth)


@pytest.fixture(scope="module")
def survey() -> Microdata:
    return sfumato.household_survey(700)


def _changed(before: Microdata, after: Microdata) -> bool:
    same = before.names == after.names and all(before.schema[n].kind == after.schema[n].kind for n in before.names)
    return not same or any(
        not np.array_equal(before.columns[n], after.columns[n], equal_nan=before.schema[n].kind == "numeric")
        or before.schema[n].categories != after.schema[n].categories
        for n in before.names
    )


@pytest.mark.parametrize("bound", ["KAnonymity", "IndividualRisk", "DistanceLinkage", "Linkability"])
def test_candidates_are_few_distinct_explained_and_no_step_is_idle(survey: Microdata, bound: str) -> None:
    found = _composed(survey, bound)
    assert 10 <= len(found) <= 20
    assert len({candidate.method for candidate in found}) == len({candidate.why for candidate in found}) == len(found)
    for candidate in found:
        assert candidate.why.endswith(".") and candidate.why.count(".") <= 3  # one sentence; shares have decimals
        steps = candidate.method.steps if isinstance(candidate.method, Chain) else (candidate.method,)
        table = survey
        for step in steps:
            after = step.protect(table, rng=1)
            assert _changed(table, after), step
            table = after


def test_more_breadth_gives_more_candidates_and_keeps_those_of_less(survey: Microdata) -> None:
    one, two, three = (_composed(survey, "KAnonymity", breadth=breadth) for breadth in (1, 2, 3))
    assert len(one) < len(two) < len(three)
    with pytest.raises(sfumato.ParameterError, match="breadth must be one of"):
        _composed(survey, "KAnonymity", breadth=0)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_bound_on_k_anonymity_is_kept_with_few_values_blank_and_no_amount_exact(survey: Microdata, k: int) -> None:
    name = f"KAnonymity(k={k})"
    keys = survey.schema.analysed(role="key")
    for candidate in _composed(survey, name):
        made = candidate.method.protect(survey, rng=2)
        assert sfumato.KAnonymity(k).evaluate(survey, made).value == 0, candidate.why
        assert np.mean([made.missing(key) for key in keys]) < 0.05
        for amount in ("wealth", "income", "earnings"):  # the largest amount is nowhere in the file
            assert np.nanmax(made.columns[amount]) != np.nanmax(survey.columns[amount]), candidate.why


def test_sex_and_age_are_not_what_is_blanked(survey: Microdata) -> None:
    for candidate in _composed(survey, "KAnonymity"):
        made = candidate.method.protect(survey, rng=2)
        assert made.missing("sex").mean() < 0.01 and made.missing("age").mean() < 0.01


def test_a_count_over_keys_is_not_answered_by_chance_alone(survey: Microdata) -> None:
    assert not any("PRAM" in repr(candidate.method) for candidate in _composed(survey, "KAnonymity"))
    assert any("PRAM" in repr(candidate.method) for candidate in _composed(survey, "Linkability"))


def test_every_candidate_masks_what_each_bounded_risk_reads(survey: Microdata) -> None:
    for candidate in _composed(survey, "KAnonymity", "RankInterval(variables=('wealth',))"):
        masked = candidate.method.masked(survey)
        assert "wealth" in masked and "age" in masked


def _table(columns: dict[str, Sequence[object]], **roles: str) -> Microdata:
    variables = []
    for name, values in columns.items():
        kind = "numeric" if isinstance(values[0], int | float) else "nominal"
        variables.append(Variable(name, kind=kind, role=roles.get(name, "other")))  # type: ignore[arg-type]
    return Microdata.from_frame(pa.table(columns), Schema(tuple(variables)))


def test_tables_of_one_kind_and_tables_without_keys_get_candidates_too() -> None:
    rng = np.random.default_rng(1)
    numbers = _table({"a": rng.lognormal(3, 1, 200).tolist(), "b": rng.normal(0, 1, 200).tolist()})
    found = _composed(numbers, "DistanceLinkage")
    assert 10 <= len(found) <= 20
    assert not any("Recoding" in repr(candidate.method) for candidate in found)
    letters = {name: rng.choice(list("abcdefgh"), 200, p=np.arange(1, 9) / 36).tolist() for name in "xyz"}
    assert _composed(_table(letters, x="key", y="key", z="key"), "KAnonymity")
    assert _composed(_table(letters), "NearestRecord")
    one = _table({"x": letters["x"], "pay": rng.lognormal(3, 1, 200).tolist()}, x="key", pay="confidential")
    assert all("pay" in candidate.method.masked(one) for candidate in _composed(one, "KAnonymity"))


def test_a_table_that_keeps_the_bound_has_its_amounts_masked_and_nothing_blanked() -> None:
    rng = np.random.default_rng(1)
    table = _table({"x": ["a", "b"] * 100, "pay": rng.lognormal(3, 1, 200).tolist()}, x="key", pay="confidential")
    found = compose(table, [sfumato.KAnonymity()], {})
    assert found
    assert not any("Suppression" in repr(candidate.method) for candidate in found)


def test_bands_are_round_and_open_and_climbing_counts_the_records_of_the_recoded_table(survey: Microdata) -> None:
    ladders = Ladders.of(survey, survey.schema.analysed(role="key"))
    bands = [rung.bins for rung in ladders.rungs["age"][1:]]
    assert bands[0] is not None and all(cut % 5 == 0 for band in bands for cut in band or ())
    assert [len(band or ()) for band in bands] == sorted((len(band or ()) for band in bands), reverse=True)
    stages = ladders.climb((KeySet(tuple(ladders.rungs), 3),), {})
    assert stages[-1].small < stages[0].small / 5
    # the count of small classes is that of the recoded table
    made = survey
    for step in ladders.recodings(stages[-1]):
        made = step.protect(made)
    share = sfumato.KAnonymity(3).evaluate(survey, made).value
    assert share * len(survey) == pytest.approx(stages[-1].small)


@pytest.mark.parametrize(("households", "bound"), [(200, 0.05), (800, 0.1)])
def test_a_bound_on_who_is_found_is_met_by_what_is_composed_for_it(households: int, bound: float) -> None:
    data = sfumato.household_survey(households)
    risk = sfumato.Reidentification()
    found = compose(data, [risk], {"Reidentification": bound})
    assert 10 <= len(found) <= 25
    shares = [risk.evaluate(data, candidate.method.protect(data, rng=1)).value for candidate in found]
    assert risk.evaluate(data, data).value > 0.9
    assert sum(share <= bound for share in shares) >= 3, shares


def test_a_bound_on_extreme_amounts_codes_the_top_and_leaves_the_keys_to_the_other_bound() -> None:
    survey = sfumato.household_survey(300)
    exposed, found_again = sfumato.ExposedAmounts(), sfumato.Reidentification()
    measures = [found_again, exposed]
    found = compose(survey, measures, {"Reidentification": 0.1, "ExposedAmounts": 0.0})
    kept = [c for c in found if exposed.evaluate(survey, c.method.protect(survey, rng=1)).value == 0]
    assert len(kept) >= 3
    assert any(found_again.evaluate(survey, c.method.protect(survey, rng=1)).value <= 0.1 for c in kept)


def test_an_amount_that_few_have_does_not_set_the_limit_of_all_others() -> None:
    survey = sfumato.household_survey(150)
    farm = np.full(len(survey), np.nan)
    farm[:4] = [10.0, 20.0, 30.0, 5000.0]
    table = survey.to_arrow().append_column("farm", pa.array(farm, from_pandas=True))
    schema = survey.schema
    data = Microdata.from_frame(table, Schema((*schema, Variable("farm", role="confidential")), weight=schema.weight))
    for candidate in compose(data, [sfumato.Reidentification()], {"Reidentification": 0.2}):
        for step in candidate.method.steps if isinstance(candidate.method, Chain) else (candidate.method,):
            if isinstance(step, sfumato.TopBottomCoding):
                assert isinstance(step.share, float) and step.share <= 0.1
