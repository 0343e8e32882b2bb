"""Re-identification under scenarios: each attack by hand and against every pair compared; the worst; weights."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from single_attacks import alike, nearest

from sfumato import (
    PRAM,
    GlobalRecoding,
    IndividualRisk,
    KAnonymity,
    Microdata,
    Noise,
    NotApplicable,
    ParameterError,
    PopulationRisk,
    Reidentification,
    SampleUniques,
    Scenario,
    Schema,
    Treatment,
    Variable,
)
from sfumato.risk import told_by_others
from tables import persons

KEYS = ("town", "age")


def table(town: list[Any], age: list[Any], **more: list[float]) -> Microdata:
    schema = Schema((Variable("town", "nominal", "key", categories=("A", "B", "C")), Variable("age", role="key")))
    return Microdata.from_frame(pa.table({"town": town, "age": pa.array(age, pa.float64()), **more}), schema)


# by hand


def test_records_alike_share_the_chance() -> None:
    data = table(["A", "A", "B", "B", "C"], [30, 30, 30, 40, 50])
    found = Reidentification().evaluate(data, data)
    # two of A at 30 are one half each, the three others are alone
    assert found.value == pytest.approx((0.5 + 0.5 + 1 + 1 + 1) / 5)
    assert found.by_record is not None and found.by_record.tolist() == [0.5, 0.5, 1, 1, 1]
    assert found.parts["expected re-identifications"] == pytest.approx(4)
    assert found.parts["largest chance of a record"] == 1
    assert found.parts["records above 0.1"] == 1
    assert found.parts["all keys: violating k"] == 1  # no class has three
    assert any("no scenario is declared" in note for note in found.notes)


def test_a_missing_key_agrees_with_every_value() -> None:
    data = table(["A", "A", "B", "B"], [30, 30, 30, 30])
    after = data.replace({"town": np.array([0, 0, 1, -1], dtype=np.int32)}, treatment=Treatment(suppressed=1))
    chance, number, _ = alike(np.array([[0], [0], [1], [1]]), np.array([[0], [0], [1], [-1]]))
    assert number.tolist() == [3, 3, 2, 2]  # the A's, and whoever may be one
    assert chance.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 2, 1 / 2])
    # Gower's nearest: A, A share two at distance 0; the third is alone with its B; the fourth takes the third
    found = Reidentification(variables=("town",)).evaluate(data, after)
    assert found.value == pytest.approx((1 / 2 + 1 / 2 + 1) / 4)
    assert found.tables["scenarios"][0]["attack"] == "Gower's nearest"
    alone = data.replace({"town": np.full(4, -1, dtype=np.int32)}, treatment=Treatment(suppressed=4))
    assert Reidentification(variables=("town",)).evaluate(data, alone).value == pytest.approx(1 / 4)


def test_who_is_found_and_who_violates_k_count_blanks_alike() -> None:
    data = table(["A", "A", "B", "B"], [30, 30, 30, 30])
    after = data.replace({"town": np.array([0, 0, 1, -1], dtype=np.int32)}, treatment=Treatment(suppressed=1))
    found = Reidentification(variables=("town",)).evaluate(data, after)
    # what agrees with A: two that show it and the blank, 3; with B: one and the blank, 2
    assert found.parts["the keys stated: violating k"] == 2 / 4
    assert found.parts["largest chance of a record"] == 1  # Gower's nearest takes the one B that is shown


def test_the_nearest_age_among_those_of_the_town() -> None:
    # town A: 20 -> 21, 30 -> 29: each finds its own
    # town B: 20 -> 21, 40 -> 35, 60 -> 35: 20 finds 21; 40 and 60 both find the two records at 35
    # town C: 50 -> 70, 60 -> 55: to both 55 is the nearest
    data = table(["A", "A", "B", "B", "B", "C", "C"], [20, 30, 20, 40, 60, 50, 60])
    after = data.replace({"age": np.array([21.0, 29, 21, 35, 35, 70, 55])})
    found = Reidentification().evaluate(data, after)
    assert found.by_record is not None and found.by_record.tolist() == [1, 1, 1, 0.5, 0.5, 0, 1]
    assert found.value == pytest.approx(5 / 7)
    assert found.tables["scenarios"][0]["attack"] == "nearest"
    assert "all keys: violating k" not in found.parts  # the ages are not true


def test_a_changed_category_is_no_obstacle_to_who_knows_that_it_was_changed() -> None:
    # every town is changed, so nobody agrees; the ages stay, and each is the nearest over all keys
    data = table(["A", "A", "B", "B"], [20, 40, 60, 80])
    after = data.replace({"town": np.array([1, 1, 0, 0], dtype=np.int32)})
    found = Reidentification().evaluate(data, after)
    # distances from (A, 20), ages over 60: own 1 + 0; (B, 40) 1 + 1/3; (A, 60) 0 + 2/3, which is nearer
    # (A, 40): own 1; (A, 60) 1/3.  (B, 60): own 1; (B, 40) 1/3.  (B, 80): own 1; (B, 40) 2/3
    # Gower's nearest finds nobody; but ages are true, and each is alone in the own
    assert found.value == 1
    far = table(["A", "A", "A", "A"], [20, 40, 60, 80])
    elsewhere = far.replace({"town": np.array([1, 0, 0, 0], dtype=np.int32), "age": np.array([20.0, 79, 61, 81])})
    # (A, 20), ages over 61: own 1; (A, 61) 41/61, so it is not found; 40 finds 61's; 60 finds 61; 80: 79 and 81 tie
    assert Reidentification().evaluate(far, elsewhere).value == pytest.approx((0 + 0 + 1 + 0.5) / 4)


def test_a_recoded_key_is_compared_in_its_classes() -> None:
    data = table(["A", "A", "B", "B"], [21, 24, 38, 52])
    after = GlobalRecoding(bins={"age": [30]}).protect(data)
    # A below 30: two; B from 30 on: two
    assert Reidentification().evaluate(data, after).value == pytest.approx(1 / 2)
    assert Reidentification().evaluate(data, after).parts["all keys: violating k"] == 1


def test_true_numbers_are_kept_apart_from_perturbed_ones() -> None:
    # sizes are true: 1, 2, 3; ages are not. Among records of the same size each is alone, whatever its age
    data = Microdata.from_frame(
        pa.table({"size": [1.0, 2.0, 3.0], "age": [30.0, 31.0, 32.0]}),
        Schema((Variable("size", role="key"), Variable("age", role="key"))),
    )
    after = data.replace({"age": np.array([90.0, 0.0, 60.0])})
    found = Reidentification().evaluate(data, after)
    assert found.value == 1
    assert found.tables["scenarios"][0]["attack"] == "alike"


# scenarios


def declared(data: Microdata, *scenarios: Scenario) -> Microdata:
    return replace(data, schema=replace(data.schema, scenarios=scenarios))


def test_the_worst_scenario_decides() -> None:
    data = declared(
        table(["A", "A", "B", "B"], [20, 30, 20, 30]),
        Scenario("town", ("town",), k=2),
        Scenario("both", ("town", "age"), k=3),
        Scenario("about", ("town", "age"), k=2, about=("age",)),
    )
    found = Reidentification().evaluate(data, data)
    assert found.parts["town"] == pytest.approx(1 / 2)
    assert found.parts["both"] == found.value == 1
    assert found.parts["town: violating k"] == 0
    assert found.parts["both: violating k"] == 1
    assert found.parts["about"] == 1, "an age as it was is as good as known"
    assert found.parts["about: violating k"] == 0, "what is known about is not counted over"
    assert "worst scenario: both; best attack: alike" in found.notes
    assert Reidentification(("town",)).evaluate(data, data).value == pytest.approx(1 / 2)
    assert [row["scenario"] for row in found.tables["scenarios"]] == ["town", "both", "about"]
    with pytest.raises(
        NotApplicable, match=r"there is no scenario 'twon'; the schema declares 'town', 'both', 'about'"
    ):
        Reidentification(("twon",)).evaluate(data, data)
    with pytest.raises(ParameterError, match="scenarios or variables, not both"):
        Reidentification(("town",), variables=("age",))


def test_keys_that_are_gone_do_not_help() -> None:
    data = table(["A", "A", "B", "B"], [20, 30, 20, 30], pay=[1.0, 2.0, 3.0, 4.0])
    found = Reidentification().evaluate(data, data.without(["age"]))
    assert found.value == pytest.approx(1 / 2)
    assert any("not in the protected table: age" in note for note in found.notes)
    none = Reidentification().evaluate(data, data.without(["age", "town"]))
    assert none.value == pytest.approx(1 / 4), "a guess"
    assert any("can only guess" in note for note in none.notes)


def test_who_does_not_know_membership_meets_the_population() -> None:
    data = persons()
    data = declared(data, Scenario("register", ("region", "sex", "education"), knows_membership=False))
    keys = ("region", "sex", "education")
    found = Reidentification().evaluate(data, data)
    assert found.value == pytest.approx(PopulationRisk(variables=keys).evaluate(data, data).value, rel=1e-12)
    by_weights = Reidentification(population_model="Benedetti-Franconi").evaluate(data, data)
    same = IndividualRisk(variables=keys).evaluate(data, data)
    assert by_weights.value == pytest.approx(same.value, rel=1e-12)
    assert any("expected chance 1/F" in note for note in found.notes)
    knows = declared(data, Scenario("register", ("region", "sex", "education")))
    assert found.value < Reidentification().evaluate(knows, knows).value
    masked = declared(persons(), Scenario("register", ("region", "age"), knows_membership=False))
    noisy = Noise(0.3, variables=("age",)).protect(masked, rng=1)
    told = declared(masked, Scenario("register", ("region", "age")))
    # ages with noise are continuous: the nearest has no class to hide in
    assert Reidentification().evaluate(masked, noisy).value == Reidentification().evaluate(told, noisy).value > 0
    bare = masked.without(["weight"])
    census = Reidentification().evaluate(bare, noisy.without(["weight"]))
    assert any("taken for a census" in note for note in census.notes)
    low = replace(masked, columns={**masked.columns, "weight": np.full(len(masked), 0.5)})
    assert any("taken for a census" in note for note in Reidentification().evaluate(low, low).notes)


# theory


def test_a_copy_gives_the_share_of_uniques_and_classes() -> None:
    data = persons()
    found = Reidentification().evaluate(data, data)
    # of a copy the chance is one over the size of the class: IndividualRisk of a census
    bare = data.without(["weight"])
    assert found.value == pytest.approx(IndividualRisk().evaluate(bare, bare).value)
    assert found.by_record is not None
    assert (found.by_record == 1).mean() == pytest.approx(float(SampleUniques().evaluate(data, data)))
    assert found.parts["all keys: violating k"] == KAnonymity(3).evaluate(data, data).value


def test_ids_bring_the_records_back_into_order() -> None:
    data = persons()
    order = np.random.default_rng(2).permutation(len(data))
    masked = Noise(0.1, variables=("age",)).protect(data, rng=1)
    straight = Reidentification().evaluate(data, masked)
    turned = Reidentification().evaluate(data, masked.take(order))
    assert turned.value == straight.value
    assert turned.by_record is not None and straight.by_record is not None
    assert np.array_equal(turned.by_record, straight.by_record)


# every pair compared


Rows = NDArray[Any]


def agreeing(target: Rows, rows: Rows) -> Rows:
    return np.array([all(a == b or a < 0 or b < 0 for a, b in zip(target, row, strict=True)) for row in rows])


@st.composite
def two_tables(draw: st.DrawFn) -> tuple[Rows, Rows, Rows, Rows]:
    n, q, p = draw(st.integers(1, 12)), draw(st.integers(0, 3)), draw(st.integers(1, 2))
    codes = st.lists(st.lists(st.integers(-1, 2), min_size=q, max_size=q), min_size=n, max_size=n)
    values = st.one_of(st.just(float("nan")), st.integers(0, 6).map(float))
    numbers = st.lists(st.lists(values, min_size=p, max_size=p), min_size=n, max_size=n)
    sides = [np.array(draw(codes), dtype=np.int32).reshape(n, q) for _ in range(2)]
    places = [np.array(draw(numbers)) for _ in range(2)]
    for column in range(p):  # a number that nobody has is left out before it comes here
        for side in places:
            if np.isnan(side[:, column]).all():
                side[0, column] = 1.0
    return sides[0], sides[1], places[0], places[1]


@settings(max_examples=200, deadline=None)
@given(two_tables())
def test_alike_is_every_pair_compared(tables: tuple[Rows, Rows, Rows, Rows]) -> None:
    before, after, _, _ = tables
    weights = np.arange(1.0, len(before) + 1)
    chance, number, units = alike(before, after, weights)
    for i, target in enumerate(before):
        found = agreeing(target, after)
        assert number[i] == found.sum()
        assert units[i] == pytest.approx(weights[found].sum())
        assert chance[i] == pytest.approx(found[i] / max(found.sum(), 1))


def distance(one: Rows, other: Rows, reach: Rows) -> float:
    """Euclidean; a missing number stands at 0 of its axis and the reach of the values away on an axis of its own."""
    total = 0.0
    for a, b, far in zip(one, other, reach, strict=True):
        gaps = np.isnan(a), np.isnan(b)
        total += (np.nan_to_num(a) - np.nan_to_num(b)) ** 2 + (far**2 if gaps[0] != gaps[1] else 0.0)
    return float(np.sqrt(total))


@settings(max_examples=200, deadline=None)
@given(two_tables())
def test_nearest_is_every_pair_compared(tables: tuple[Rows, Rows, Rows, Rows]) -> None:
    before, after, here, there = tables
    both = np.concatenate([here, there])
    reach = np.maximum(np.nanmax(both, axis=0) - np.nanmin(both, axis=0), 1.0)
    found = nearest(before, after, here, there)
    for i, target in enumerate(before):
        fits = np.flatnonzero(agreeing(target, after))
        away = np.array([distance(here[i], there[j], reach) for j in fits])
        close = set(fits[away <= away.min() + 1e-9].tolist()) if len(fits) else set()
        assert found[i] == pytest.approx(1 / len(close) if i in close else 0.0)


# the case that the measure was written for


def survey(n: int = 2000, seed: int = 5) -> Microdata:
    """A made survey with one numeric and five categorical keys."""
    rng = np.random.default_rng(seed)
    sizes = {"region": 7, "sex": 2, "marital": 4, "education": 5, "occupation": 6}
    columns: dict[str, Any] = {
        name: [f"{name} {code}" for code in np.minimum(rng.geometric(0.35, n) - 1, size - 1)]
        for name, size in sizes.items()
    }
    columns["age"] = rng.integers(16, 90, n).astype(float)
    keys = tuple(Variable(name, "nominal", "key") for name in sizes)
    schema = Schema(
        (*keys, Variable("age", role="key")),
        scenarios=(
            Scenario("register", (*sizes, "age"), k=3),
            Scenario("neighbour", ("region", "sex", "age"), about=("age",)),
            Scenario("employer", ("occupation", "education", "age")),
        ),
    )
    return Microdata.from_frame(pa.table(columns), schema)


def attack(original: Microdata, written: Any, scenario: Scenario) -> float:
    """Take the nearest age among the records of the written file alike in the other keys: who is found, by shares."""
    people, file = original.to_frame("pandas"), written
    others = [name for name in scenario.keys if name != "age"]
    found = 0.0
    for row, candidates in file.groupby(others, observed=True).groups.items():
        targets = people.index[(people[others] == list(row)).all(axis=1)]
        for target in targets:
            gaps = (file.loc[candidates, "age"] - people.at[target, "age"]).abs()
            close = gaps.index[gaps == gaps.min()]
            found += (target in close) / len(close)
    return found / len(people)


@pytest.mark.parametrize(
    "method",
    [Noise(0.05, variables=("age",)), Noise(0.5, variables=("age",)), PRAM(0.8, variables=("region",))],
    ids=repr,
)
def test_no_attack_on_the_written_file_finds_more(method: Any) -> None:
    data = survey(600)
    protected = method.protect(data, rng=2)
    found = Reidentification().evaluate(data, protected)
    for scenario in data.schema.scenarios:
        shares = attack(data, protected.to_frame("pandas"), scenario)
        assert shares <= found.parts[scenario.name] + 1e-12
        assert shares <= found.value + 1e-12


def test_a_file_that_one_number_alone_calls_safe_is_not() -> None:
    data = survey()
    alone = Reidentification(variables=("age",)).evaluate(data, data).value
    assert alone < 0.05 < 0.3 < Reidentification().evaluate(data, data).value


def test_a_bound_for_the_single_record_counts_those_above_it() -> None:
    # three towns of 1, 2 and 4 records: chances 1, 1/2, 1/2, 1/4 x 4
    table = pa.table({"town": ["A", "B", "B", "C", "C", "C", "C"]})
    for above, share in ((0.1, 1.0), (0.25, 3 / 7), (0.5, 1 / 7), (1.0, 0.0)):
        found = Reidentification(variables=("town",), above=above).evaluate(table, table)
        assert found.value == pytest.approx(share)
    assert "above 0.5" in Reidentification(above=0.5).about.title
    with pytest.raises(ParameterError, match="above"):
        Reidentification(above=20)


def test_the_scenario_where_most_exceed_the_limit_is_the_worst_for_a_single_record() -> None:
    # "many" finds each of four with chance 1/4; "one" finds one of them surely and the others with 1/3
    schema = Schema(
        (
            Variable("a", "nominal", role="key", categories=("x",)),
            Variable("b", "nominal", role="key", categories=("p", "q")),
        ),
        scenarios=(Scenario("many", ("a",)), Scenario("one", ("b",))),
    )
    data = Microdata.from_frame(pa.table({"a": ["x"] * 4, "b": ["p", "q", "q", "q"]}), schema)
    found = Reidentification(above=0.5).evaluate(data, data)
    assert found.value == 0.25
    assert found.by_record is not None and found.by_record.tolist() == pytest.approx([1.0, 1 / 3, 1 / 3, 1 / 3])


def test_a_record_alone_with_a_continuous_key_has_no_class_to_hide_in() -> None:
    # 20,000 people, 858 of them in the file; who has the register finds a true income at once, and with 2 % noise the
    # nearest income of the region, sex and age is the right person's in three of four cases
    rng = np.random.default_rng(11)
    n, taken = 20_000, np.sort(np.random.default_rng(12).choice(20_000, 858, replace=False))
    region, sex, age = rng.integers(0, 9, n), rng.integers(0, 2, n), rng.integers(16, 86, n)
    income = rng.lognormal(9.8, 0.5, n)
    schema = Schema(
        (
            *(Variable(name, "nominal", "key") for name in ("region", "sex")),
            *(Variable(name, role="key") for name in ("age", "income")),
            Variable("weight"),
        ),
        weight="weight",
        scenarios=(Scenario("register", ("region", "sex", "age", "income"), knows_membership=False),),
    )
    columns = {"region": region, "sex": sex, "age": age.astype(float), "income": income}
    rows = {name: column[taken] for name, column in columns.items()}
    table = pa.table({name: c.astype(str) if name in ("region", "sex") else c for name, c in rows.items()})
    data = Microdata.from_frame(table.append_column("weight", pa.array([n / 858] * 858)), schema)
    assert Reidentification().evaluate(data, data).value == 1
    noisy = data.replace({"income": rows["income"] * np.exp(rng.normal(0, 0.02, 858))})
    found = 0
    for row in range(858):
        alike = (region == rows["region"][row]) & (sex == rows["sex"][row]) & (age == rows["age"][row])
        near = np.flatnonzero(alike)[np.abs(income[alike] - noisy.columns["income"][row]).argmin()]
        found += near == taken[row]
    reported = Reidentification().evaluate(data, noisy).value
    assert 0.5 < found / 858 < 0.95
    assert reported >= 0.8 * found / 858


def test_by_hand_who_knows_everything_tells_apart_whom_the_keys_do_not() -> None:
    # two in each town; the job tells the first two apart, the pay of the others is exchanged, so that it misleads
    table = pa.table({"town": ["A", "A", "B", "B"], "job": ["x", "y", "x", "x"], "pay": [1.0, 2.0, 3.0, 4.0]})
    schema = Schema(
        (Variable("town", "nominal", "key"), Variable("job", "nominal"), Variable("pay", "numeric", "confidential"))
    )
    data = Microdata.from_frame(table, schema)
    swapped = data.replace({"pay": np.array([1.0, 2.0, 4.0, 3.0])})
    assert Reidentification().evaluate(data, swapped).value == 0.5
    found = Reidentification(knows="everything").evaluate(data, swapped)
    # alike in town and job: the first two for sure, the others one of two; the nearest pay finds only the first two
    assert found.value == pytest.approx(0.75)
    assert found.about.title == "Re-identification by who knows all variables"
    assert Reidentification(knows="everything").evaluate(data, data).value == 1.0
    with pytest.raises(ParameterError, match="needs no scenarios"):
        Reidentification(knows="everything", variables=("town",))


def test_a_person_above_the_limit_under_a_lesser_attack_counts() -> None:
    # sex is true, incomes are changed. Who counts by sex finds each of 20 with 1/10; the nearest income finds the one
    # person whose income hardly moved for sure, and fewer on average, for the others were handed on
    sex = np.array(["f", "m"]).repeat(10)
    income = np.arange(20.0) * 100
    moved = income.copy()
    moved[:9], moved[10:] = np.roll(income[:9], 4), np.roll(income[10:], 5)
    schema = Schema((Variable("sex", "nominal", role="key"), Variable("income", role="key")))
    data = Microdata.from_frame(pa.table({"sex": sex, "income": income}), schema)
    changed = replace(data.schema["income"], treatment=Treatment(perturbed=True))
    file = data.recast({"income": (changed, moved)})
    usual, single = Reidentification().evaluate(data, file), Reidentification(above=0.5).evaluate(data, file)
    assert usual.value == pytest.approx(0.1) and usual.by_record == pytest.approx(np.full(20, 0.1))
    assert single.value == pytest.approx(1 / 20)
    assert single.by_record is not None and np.flatnonzero(single.by_record > 0.5).tolist() == [9]
    assert usual.parts["largest chance of a record"] == 1
    drawn = Reidentification(above=0.5, sample=20).evaluate(data, file, rng=1)
    assert drawn.value == pytest.approx(1 / 20)


def test_an_attack_that_is_not_tried_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    town = np.array(["a", "b", "c"]).repeat(4)
    data = Microdata.from_frame(pa.table({"town": town}), Schema((Variable("town", "nominal", role="key"),)))
    blank = np.where(np.arange(12) % 4 == 0, -1, data.columns["town"]).astype(np.int32)
    gone = data.replace({"town": blank}, treatment=Treatment(suppressed=3))

    def said() -> list[str]:
        return [n for n in Reidentification().evaluate(data, gone).notes if "pairs of a person" in n]

    assert said() == []
    monkeypatch.setattr(told_by_others, "MAX_PAIRS", 5)  # three towns by two classes that agree with each
    (note,) = said()
    assert "an attack is not tried, by who weighs records that agree" in note
