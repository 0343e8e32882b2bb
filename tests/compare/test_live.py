"""Figures that answer at once: by hand, and equal to the measures on the table that the methods protect."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import (
    Hierarchy,
    IndividualRisk,
    KAnonymity,
    Microdata,
    NonUniformEntropy,
    Reidentification,
    SampleUniques,
    Scenario,
    Schema,
    Variable,
)
from sfumato.compare.exposure import Counts
from sfumato.compare.live import Live
from sfumato.compare.recodings import NOTHING, Recode, Recodings
from sfumato.errors import NotApplicable, SchemaError
from tables import persons


def survey(n: int = 400, *, gaps: bool = False) -> Microdata:
    """Persons with households, weights, a date and variables that others determine."""
    data = persons(n)
    rng = np.random.default_rng(4)
    table = data.to_arrow()
    age = np.asarray(data.columns["age"])
    town = rng.integers(0, 12, n // 2 + 1)[np.arange(n) // 2]
    extra = {
        "cohort": pa.array(2020 - age),
        "stage": pa.array(np.where(age < 30, "young", np.where(age < 60, "middle", "old"))),
        "town": pa.array([f"t{t}" for t in town]),
        "county": pa.array([f"k{t // 4}" for t in town]),
        "born": pa.array(np.datetime64("1950-01-01") + (age * 100).astype(int)),
    }
    for name, column in extra.items():
        table = table.append_column(name, column)
    towns = Hierarchy(rows=tuple((f"t{t}", f"k{t // 4}", "all") for t in range(12)))
    more = (
        Variable("cohort", linked="age"),
        Variable("stage", "nominal", linked="cohort"),
        Variable("town", "nominal", "key", hierarchy=towns),
        Variable("county", "nominal", linked="town"),
    )
    found = Microdata.from_frame(
        table, replace(data.schema, variables=(*(v for v in data.schema if v.name in data.names), *more))
    )
    if not gaps:
        return found
    holes = {}
    for name in ("region", "education", "age", "town"):
        column = found.columns[name].copy()
        column[rng.random(n) < 0.1] = np.nan if found.schema[name].quantitative else -1
        holes[name] = column
    return replace(found, columns={**found.columns, **holes})


def agree(counts: Counts | None, data: Microdata, scenario: Scenario) -> None:
    """The counts are those of the measures on this table."""
    assert counts is not None
    n, keys = len(data), counts.keys
    strict = KAnonymity(scenario.k, variables=keys).evaluate(data, data)
    assert (counts.records, counts.below) == (n, round(strict.value * n))
    assert counts.violating == {level: round(strict.parts[f"violating {level}"] * n) for level in (2, 3, 5)}
    assert counts.unique == round(SampleUniques(variables=keys).evaluate(data, data).value * n)
    if scenario.knows_membership:
        census = replace(data, schema=replace(data.schema, weight=None))
        found, largest = IndividualRisk(variables=keys).evaluate(census, census).parts, "largest"
    else:  # where no key is missing all attacks on a copy are that on records alike
        if any(data.missing(name).any() for name in keys):
            return
        register = Scenario("register", keys, scenario.k, knows_membership=False)
        known = data.without([name for name in data.schema.analysed() if name not in keys])  # nothing else tells
        judged = replace(known, schema=replace(known.schema, scenarios=(register,)))
        found, largest = Reidentification().evaluate(judged, judged).parts, "largest chance of a record"
    assert counts.expected == pytest.approx(found["expected re-identifications"], rel=1e-12)
    assert counts.largest == pytest.approx(found[largest], rel=1e-12)
    if data.schema.household is None:
        assert counts.households is counts.with_household is counts.largest_of_household is None
        return
    assert counts.with_household == pytest.approx(found["records, with their household"], rel=1e-12)
    assert counts.largest_of_household == pytest.approx(found["largest of a household"], rel=1e-12)


def test_by_hand() -> None:
    # A f 3 times, A m once, B f once, B m twice; households 1: A f, A f; 2: A f, A m; 3: B f, B m; alone: B m
    table = pa.table(
        {"town": list("AAAABBB"), "sex": list("fffmfmm"), "pay": np.arange(7) + 0.5, "home": [1, 1, 2, 2, 3, 3, None]}
    )
    live = Live(Microdata.from_frame(table, Schema(household="home")))
    found = live.counts(Scenario("neighbour", ("town", "sex", "pay"), 3))
    assert found is not None
    assert (found.keys, found.left_out, found.records, found.unique, found.below) == (
        ("town", "sex"),
        ("pay",),
        7,
        2,
        4,
    )
    assert found.violating == {2: 2, 3: 4, 5: 7} and found.expected == 4 and found.largest == 1
    # households 2 and 3 hold a record below 3; the one alone is no household of several
    assert found.households == 2 and found.largest_of_household == 1
    # 1: 1 - (2/3)^2 = 5/9 for two records; 2 and 3: 1 for four; alone: 1/2
    assert found.with_household == pytest.approx((2 * 5 / 9 + 4 + 0.5) / 7)


def test_a_number_known_about_is_not_counted_over_but_its_classes_are() -> None:
    live = Live(survey())
    scenario = Scenario("neighbour", ("region", "age"), 3, about=("age",))
    found = live.counts(scenario)
    assert found is not None and (found.keys, found.known_about) == (("region",), ("age",))
    classed = live.counts(scenario, NOTHING.with_cuts("age", [30, 60]))
    assert classed is not None and (classed.keys, classed.known_about) == (("region", "age"), ())


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("member", [False, True])
def test_counts_are_those_of_the_measures(gaps: bool, member: bool) -> None:
    data = survey(gaps=gaps)
    live = Live(data)
    keys = ("region", "sex", "education", "age", "town")
    for number in range(1, len(keys) + 1):
        for k in (2, 5):
            scenario = Scenario("x", keys[:number], k, knows_membership=member)
            agree(live.counts(scenario), data, scenario)
    alone = replace(data, schema=replace(data.schema, household=None, weight=None))
    scenario = Scenario("x", keys, knows_membership=member)
    agree(Live(alone).counts(scenario), alone, scenario)


def test_what_an_intruder_finds_is_the_attack_alike_of_reidentification() -> None:
    data = survey()
    for scenario in (
        Scenario("member", ("region", "sex", "education"), 4),
        Scenario("not known", ("region", "sex", "education"), 4, knows_membership=False),
    ):
        stated = replace(data, schema=replace(data.schema, scenarios=(scenario,)))
        measured = Reidentification().evaluate(stated, stated)
        found = Live(stated).counts(scenario)
        assert found is not None and "best attack: alike" in " ".join(measured.notes)
        assert found.expected == pytest.approx(measured.parts["expected re-identifications"], rel=1e-12)
        assert found.largest == pytest.approx(measured.parts["largest chance of a record"], rel=1e-12)
        assert found.with_household == pytest.approx(measured.parts["records, with their household"], rel=1e-12)
        violating = measured.parts[f"{scenario.name}: violating k"]
        assert found.below == round(violating * len(data))


def test_weights_that_are_no_design_weights_leave_a_census() -> None:
    data = survey()
    data = replace(data, columns={**data.columns, "weight": data.columns["weight"] / 100})
    found = Live(data).counts(Scenario("x", ("region", "sex"), knows_membership=False))
    census = Live(data).counts(Scenario("x", ("region", "sex")))
    assert found is not None and census is not None
    assert found.expected == census.expected and "taken for a census" in found.notes[0] and not census.notes


def protected(data: Microdata, recodings: Recodings) -> Microdata:
    method = recodings.method()
    return data if method is None else method.protect(data)


def check_effect(live: Live, recodings: Recodings, scenarios: Iterable[Scenario]) -> None:
    """Counts and losses are those of the table that the methods make."""
    data = live.data
    effect = live.effect(recodings, scenarios)
    made = protected(data, recodings)
    assert not effect.refused
    for counts, scenario in zip(effect.counts, scenarios, strict=True):
        agree(counts, made, scenario)
        assert set(counts.gone) == {name for name in scenario.keys if name not in made.schema}
    measured = NonUniformEntropy(variables=data.schema.analysed()).evaluate(data, made)
    assert effect.loss.keys() == measured.by_variable.keys()
    assert effect.loss == pytest.approx(dict(measured.by_variable), abs=1e-12)
    assert effect.overall == pytest.approx(measured.value, abs=1e-12)


WAYS: dict[str, list[Recode]] = {
    "region": [
        Recode(
            merge=(
                ("north", "N"),
                ("east", "N"),
            )
        ),
        Recode(rare=0.25),
        Recode(merge=(("west", "south"),)),
    ],
    "education": [
        Recode(
            merge=(
                ("bachelor", "higher"),
                ("master", "higher"),
            )
        ),
        Recode(top="bachelor"),
    ],
    "age": [
        Recode(
            cuts=(
                30,
                60,
            )
        ),
        Recode(
            cuts=(
                25,
                40,
                70,
            )
        ),
        Recode(width=10),
        Recode(share=0.05),
    ],
    "income": [
        Recode(top=2000, bottom=300),
        Recode(share=0.02, ends="top"),
        Recode(
            cuts=(
                500,
                1000,
                2000,
            )
        ),
    ],
    "cohort": [Recode(width=20)],
    "stage": [
        Recode(
            merge=(
                ("young", "not old"),
                ("middle", "not old"),
            )
        )
    ],
    "town": [
        Recode(level=1),
        Recode(
            merge=(
                ("t0", "t1"),
                ("t5", "t1"),
            )
        ),
    ],
    "born": [Recode(width="10 years"), Recode(cuts=("1955-01-01",))],
}


@settings(max_examples=40, deadline=None)
@given(st.fixed_dictionaries({}, optional={name: st.sampled_from(ways) for name, ways in WAYS.items()}), st.booleans())
def test_any_recodings_have_the_effect_that_protecting_has(stated: dict[str, Recode], gaps: bool) -> None:
    scenarios = (
        Scenario("one", ("region", "education", "age"), 3),
        Scenario("two", ("sex", "town", "county", "stage"), 5, knows_membership=False),
    )
    check_effect(SURVEYS[gaps], Recodings(tuple(stated.items())), scenarios)


SURVEYS = {gaps: Live(survey(gaps=gaps)) for gaps in (False, True)}


def test_a_linked_variable_follows_and_a_source_that_comes_back_brings_it_back() -> None:
    live = SURVEYS[False]
    before = live.effect(NOTHING)
    after = live.effect(NOTHING.with_cuts("age", [40]))
    assert after.loss["cohort"] > 0.5 and after.loss["county"] == 0
    assert live.effect(NOTHING) == before and set(before.loss.values()) == {0.0} and before.overall == 0


def test_what_does_not_fit_is_said_at_its_variable_and_the_rest_goes_on() -> None:
    live = SURVEYS[False]
    wrong = (
        NOTHING.with_cuts("region", [3])
        .put(
            "education",
            Recode(
                merge=(
                    ("primary", "x"),
                    ("master", "x"),
                )
            ),
        )
        .put("sex", Recode(merge=(("woman", "x"),)))
        .with_cuts("wages", [5])
        .with_width("household", 5)
        .with_level("age", 2)
    )
    effect = live.effect(wrong.with_cuts("income", [1000]))
    assert effect.refused.keys() == {"region", "education", "sex", "wages", "household", "age"}
    assert "bins are for numbers and dates, give a map" in effect.refused["region"]
    assert "no neighbours" in effect.refused["education"] and "no category of variable 'sex'" in effect.refused["sex"]
    assert "there is no variable 'wages'" in effect.refused["wages"]
    assert "is the household of the records" in effect.refused["household"]
    assert "no hierarchy of 'age'" in effect.refused["age"]
    assert effect == replace(live.effect(NOTHING.with_cuts("income", [1000])), refused=effect.refused)
    with pytest.raises(NotApplicable, match="give a map"):
        live.counts(Scenario("x", ("region",)), wrong)
    with pytest.raises(SchemaError, match="there is no variable 'wages'"):
        live.counts(Scenario("x", ("wages",)))


def test_the_order_of_keys_changes_nothing_and_without_keys_there_is_no_count() -> None:
    live = SURVEYS[True]
    one, other = (live.counts(Scenario("x", keys)) for keys in (("age", "sex", "region"), ("region", "age", "sex")))
    assert one is not None and other is not None and replace(one, keys=other.keys) == other
    assert live.counts(Scenario("x", ("income",))) is None
    assert live.effect(NOTHING, (Scenario("x", ("income",)),)).counts == ()


@pytest.mark.parametrize("gaps", [False, True])
def test_without_a_key_is_what_one_finds_who_does_not_know_it(gaps: bool) -> None:
    live = SURVEYS[gaps]
    keys = ("town", "region", "sex", "education")
    cut = NOTHING.with_cuts("age", [30, 60])
    for known, recodings in ((Scenario("x", keys, 4), NOTHING), (Scenario("x", (*keys, "age"), 4), cut)):
        left = live.without(known, recodings)
        assert list(left.values()) == sorted(left.values())
        assert set(left) == set(known.keys)
        for name, below in left.items():
            others = known.only(other for other in known.keys if other != name)
            assert others is not None
            found = live.counts(others, recodings)
            assert found is not None and found.below == below
    assert live.without(Scenario("x", ("sex",))) == {"sex": 0}
    assert live.without(Scenario("x", ("income",))) == {}


def test_little_memory_gives_the_same() -> None:
    small, large = Live(survey(), most_bytes=1), Live(survey())
    for cut in (30, 40, 30):
        assert small.effect(NOTHING.with_cuts("age", [cut])) == large.effect(NOTHING.with_cuts("age", [cut]))


def test_several_threads_may_ask() -> None:
    data = survey(gaps=True)
    questions = [NOTHING.with_cuts("age", [cut]) for cut in range(30, 50)]
    alone = [Live(data).effect(question) for question in questions]
    live = Live(data, most_bytes=20_000)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert [*pool.map(live.effect, questions)] == alone


def test_thumbnails_follow() -> None:
    live = SURVEYS[False]
    found = live.thumbnail("age", NOTHING.with_cuts("age", [40]))
    ages = live.data.columns["age"]
    assert found is not None and found.names == ("<40", "40+")
    assert found.counts == (int((ages < 40).sum()), int((ages >= 40).sum()))
