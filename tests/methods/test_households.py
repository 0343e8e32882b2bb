"""Households as units: what the members share is masked once, and suppressed for all of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import (
    MDAV,
    PRAM,
    CARTSynthesis,
    CorrelatedNoise,
    GlobalRecoding,
    IndividualRanking,
    KAnonymity,
    LocalSuppression,
    Method,
    Microdata,
    Noise,
    NotApplicable,
    RankSwapping,
    Rounding,
    Schema,
    Shuffling,
    Variable,
    catalogue,
)
from sfumato.table.households import household_level, once_per_household, units

IN_HOMES = Schema(household="home")
SURVEY = sfumato.household_survey(300)
SHARED = ("region", "urbanity", "household_size", "tenure", "rent", "weight")
KEEPING = [
    cls for _, cls in sorted(catalogue.methods().items()) if cls.about.keeps_records and cls.about.kinds != ("date",)
]


def home(schema: Schema = IN_HOMES, **columns: Sequence[object]) -> Microdata:
    return Microdata.from_frame(pa.table(columns), schema)


def same_within(data: Microdata, name: str, unit: np.ndarray) -> bool:
    """By a plain loop: every member of a household has the same value, or none has one."""
    values = [None if value != value or value == -1 else value for value in data.columns[name].tolist()]
    found: dict[int, set[object]] = {}
    for place, value in zip(unit.tolist(), values, strict=True):
        found.setdefault(place, set()).add(value)
    return all(len(members) == 1 for members in found.values())


def test_what_members_share_is_found() -> None:
    assert set(household_level(SURVEY)) == set(SHARED)
    assert household_level(replace(SURVEY, schema=replace(SURVEY.schema, household=None))) == ()


def test_a_gap_does_not_hide_what_members_share_and_one_value_per_household_shows_nothing() -> None:
    data = home(home=[1, 1, 1, 2], rent=[5.0, None, 5.0, 7.0], head=[1.0, None, None, 2.0], age=[1.0, 2.0, 2.0, 3.0])
    assert household_level(data) == ("rent",)


def test_a_level_that_is_declared_counts_for_more_than_what_is_found() -> None:
    said = Schema((Variable("rent", level="record"), Variable("head", level="household")), household="home")
    data = home(said, home=[1, 1, 1, 2], rent=[5.0, 5.0, 5.0, 7.0], head=[1.0, None, None, 2.0])
    assert household_level(data) == ("head",)


def test_one_record_per_household_in_the_order_of_the_file() -> None:
    schema = Schema((Variable("w"),), weight="w", household="home")
    data = home(schema, home=[9, 4, 9, None], w=[1.0, 2.0, 3.0, 4.0], rent=[None, 4.0, 9.0, 1.0])
    homes, place = once_per_household(data, ["rent"])
    assert homes.columns["rent"].tolist() == [9.0, 4.0, 1.0]
    assert homes.columns["w"].tolist() == [2.0, 2.0, 4.0]  # the mean of the members
    assert place.tolist() == [0, 1, 0, 2]
    assert homes.schema.household is None and homes.schema.weight == "w"


def test_members_who_differ_in_what_is_declared_shared_are_refused() -> None:
    said = Schema((Variable("rent", level="household"),), household="home")
    data = home(said, home=[1, 1, 2], rent=[5.0, 6.0, 7.0])
    with pytest.raises(NotApplicable, match=r"Noise: 'rent' is declared .* 1 household has .* \(one in row 2\)"):
        Noise(0.1).protect(data, rng=1)
    with pytest.raises(sfumato.SchemaError, match="level must be one of household, record; got 'person'"):
        Variable("rent", level="person")  # type: ignore[arg-type]


@pytest.mark.parametrize("cls", KEEPING, ids=[cls.__name__ for cls in KEEPING])
def test_what_a_household_shares_stays_shared(cls: type[Method]) -> None:
    unit = units(SURVEY)
    for method in catalogue.default_grid(cls):
        masked = method.protect(SURVEY, rng=3)
        for name in SHARED:
            assert name not in masked.schema or same_within(masked, name, unit), f"{method!r}: {name}"


@pytest.mark.parametrize("cls", KEEPING, ids=[cls.__name__ for cls in KEEPING])
def test_it_also_does_with_gaps_and_a_weight_that_is_masked(cls: type[Method]) -> None:
    rng = np.random.default_rng(1)
    numeric = cls.about.kinds == ("numeric",)
    rent = np.where(rng.random(len(SURVEY)) < 0.2, np.nan, SURVEY.columns["rent"])  # for single members
    weight = SURVEY.columns["weight"] + 50 * SURVEY.columns["weight"].max()  # so that no noise brings it below zero
    data = replace(SURVEY, columns={**SURVEY.columns, "rent": rent, "weight": weight})
    method = catalogue.default_grid(cls)[-1]
    if numeric and getattr(method, "base", None) is None:
        method = replace(method, variables=("rent", "weight", "income"))
    masked = method.protect(data, rng=3)
    gap, unit = np.isnan(rent), units(data)
    for name in ("rent", "weight"):
        if masked.schema[name].kind == "numeric":
            assert not numeric or np.array_equal(masked.missing("rent"), gap)
            for place in np.unique(unit):
                values = masked.columns[name][unit == place]
                assert len(np.unique(values[~np.isnan(values)])) <= 1


def test_other_variables_draw_what_they_drew_and_the_note_says_who_was_masked_once() -> None:
    """Noise draws by variable: that of incomes is the same whether or not there is a household in the schema."""
    apart = replace(SURVEY, schema=replace(SURVEY.schema, household=None))
    with_homes, without = (Noise(0.2, variables=("income", "rent")).protect(data, rng=4) for data in (SURVEY, apart))
    assert np.array_equal(with_homes.columns["income"], without.columns["income"], equal_nan=True)
    assert not np.array_equal(with_homes.columns["rent"], without.columns["rent"], equal_nan=True)
    assert "Noise: masked once per household: rent" in with_homes.notes
    assert not without.notes


def test_household_noise_is_that_of_the_table_of_households() -> None:
    homes, place = once_per_household(SURVEY, ["rent"])
    (stream,) = np.random.default_rng(7).spawn(1)
    expected = Noise(0.3, variables=("rent",)).apply(homes, stream).columns["rent"][place]
    found = Noise(0.3, variables=("rent",)).protect(SURVEY, rng=7).columns["rent"]
    assert np.array_equal(found, expected, equal_nan=True)


def test_swapping_keeps_the_values_that_households_have() -> None:
    before, _ = once_per_household(SURVEY, ["rent"])
    after, _ = once_per_household(RankSwapping(0.1).protect(SURVEY, rng=1), ["rent"])
    assert np.array_equal(np.sort(before.columns["rent"]), np.sort(after.columns["rent"]), equal_nan=True)


def test_microaggregation_makes_groups_of_k_households_and_of_k_records() -> None:
    data = home(
        home=[1, 1, 2, 3, 3, 4],
        rent=[10.0, 10.0, 12.0, 50.0, 50.0, 54.0],
        pay=[1.0, 100.0, 50.0, 101.0, 2.0, 51.0],
    )
    masked = MDAV(2).protect(data)
    assert masked.columns["rent"].tolist() == [11.0, 11.0, 11.0, 52.0, 52.0, 52.0]
    # by hand: 1 is farthest from the mean and goes with 2, 101 is farthest from it and goes with 100
    assert masked.columns["pay"].tolist() == [1.5, 100.5, 50.5, 100.5, 1.5, 50.5]


def test_what_says_itself_which_variables_can_be_told_apart() -> None:
    pram = PRAM(transition={"tenure": _even("tenure"), "sex": _even("sex")})
    masked = pram.protect(SURVEY, rng=2)
    assert same_within(masked, "tenure", units(SURVEY)) and not np.array_equal(
        masked.columns["sex"], SURVEY.columns["sex"]
    )
    both = PRAM(0.5, transition={"tenure": _even("tenure")}, variables=("sex",)).protect(SURVEY, rng=2)
    assert same_within(both, "tenure", units(SURVEY))
    rounded = Rounding({"rent": 100, "income": 1000}, random=True).protect(SURVEY, rng=2)
    assert same_within(rounded, "rent", units(SURVEY))
    assert not same_within(rounded, "income", units(SURVEY))
    shuffled = Shuffling(given=("age", "household_size"), variables=("rent", "income")).protect(SURVEY, rng=2)
    assert same_within(shuffled, "rent", units(SURVEY))


def _even(name: str) -> dict[object, dict[object, float]]:
    """A matrix under which every category becomes each with the same probability."""
    categories = SURVEY.schema[name].categories
    return {one: {other: 1 / len(categories) for other in categories} for one in categories}


def test_the_matrices_of_pram_are_those_of_households() -> None:
    found = PRAM(0.9, variables=("tenure",)).transitions(SURVEY)["tenure"][0]
    homes, _ = once_per_household(SURVEY, ["tenure"])
    total = homes.columns["weight"][homes.columns["tenure"] >= 0].sum()
    assert found.frequencies.sum() == pytest.approx(total)


def test_a_stratum_that_members_do_not_share_is_refused_with_the_reason() -> None:
    with pytest.raises(NotApplicable, match="PRAM: tenure, masked once per household: there is no variable 'sex'"):
        PRAM(0.9, strata=("sex",), variables=("tenure",)).protect(SURVEY, rng=1)


def test_a_chain_keeps_them_together() -> None:
    amounts = ("rent", "income")
    chain = Noise(0.1, variables=amounts) + IndividualRanking(3) + GlobalRecoding(groups=5) + LocalSuppression(2)
    masked = chain.protect(SURVEY, rng=1)
    for name in SHARED:
        assert same_within(masked, name, units(SURVEY))


def test_noise_over_both_levels_has_the_covariance_of_each() -> None:
    """With c = 0.5 noise has half the covariances of the persons' amounts and of the households', and none across."""
    rng = np.random.default_rng(5)
    of_home = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 4000)
    of_person = rng.multivariate_normal([0, 0], [[4, -1], [-1, 1]], 8000)
    names = ("rent", "heating", "pay", "hours")
    columns = [*np.repeat(of_home, 2, axis=0).T, *of_person.T]
    frame = pa.table({"home": np.repeat(np.arange(4000), 2), **dict(zip(names, columns, strict=True))})
    data = Microdata.from_frame(frame, IN_HOMES)
    noise = CorrelatedNoise(0.5).protect(data, rng=1).numeric(names) - data.numeric(names)
    expected = np.array([[0.5, 0.4, 0, 0], [0.4, 0.5, 0, 0], [0, 0, 2, -0.5], [0, 0, -0.5, 0.5]])
    # the standard error of the least exact entry, a variance of 2 over 8,000 records, is 0.03
    assert np.abs(np.cov(noise, rowvar=False) - expected).max() < 0.1


# suppression


def test_what_one_member_loses_all_lose() -> None:
    data = home(
        Schema((Variable("region", "nominal", "key"), Variable("sex", "nominal", "key")), household="home"),
        home=[1, 1, 2, 2, 3, 3, 4, 4],
        region=["N", "N", "S", "S", "S", "S", "S", "S"],
        sex=["f", "m", "f", "m", "f", "m", "f", "m"],
    )
    importance = {"sex": 5.0}
    masked = LocalSuppression(2, importance=importance).protect(data)
    assert masked.to_arrow()["region"].to_pylist() == [None, None, "S", "S", "S", "S", "S", "S"]
    # a household in which one member is rare only: the other loses the region too
    odd = data.take(np.array([0, 1, 2, 3, 4, 5, 6, 7]))
    odd = replace(odd, columns={**odd.columns, "sex": np.array([0, 1, 0, 0, 0, 0, 0, 0], dtype=np.int32)})
    odd = replace(odd, columns={**odd.columns, "region": np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=np.int32)})
    after = LocalSuppression(2, importance={"sex": 5.0}).protect(odd)
    lost = after.missing("region")
    assert same_within(after, "region", units(odd))
    assert lost.tolist() == [False] * 8 or lost[0] == lost[1]
    assert after.schema["region"].treatment.suppressed == lost.sum()


def tables() -> st.SearchStrategy[Microdata]:
    """Small files of persons in households: a region and a kind of dwelling for each household, two keys of persons."""

    def made(rows: list[tuple[int, int, int]], places: list[tuple[int | None, int]]) -> Microdata:
        codes = np.array(rows)
        shared = [places[number] for number in codes[:, 0]]
        schema = Schema(
            tuple(Variable(name, "nominal", "key") for name in ("region", "dwelling", "sex", "age")), household="home"
        )
        return home(
            schema,
            home=codes[:, 0].tolist(),
            region=[None if region is None else f"r{region}" for region, _ in shared],
            dwelling=[f"d{dwelling}" for _, dwelling in shared],
            sex=[f"s{code}" for code in codes[:, 1]],
            age=[f"a{code}" for code in codes[:, 2]],
        )

    member = st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 2))
    place = st.tuples(st.sampled_from([None, 0, 1, 2]), st.integers(0, 1))
    return st.builds(made, st.lists(member, min_size=3, max_size=14), st.lists(place, min_size=6, max_size=6))


@settings(deadline=None, max_examples=40)
@given(tables(), st.sampled_from(["matches", "category"]), st.integers(2, 3))
def test_nothing_suppressed_can_be_read_off_another_member(data: Microdata, missing: str, k: int) -> None:
    """By a plain loop; and the file is k-anonymous afterwards by the rule that was asked for."""
    declared = [replace(data.schema[name], level="household") for name in ("region", "dwelling")]
    declared += [replace(data.schema[name], level="record") for name in ("sex", "age")]  # though members may agree
    data = replace(data, schema=data.schema.replace(*declared))
    after = LocalSuppression(k, missing=missing).protect(data)  # type: ignore[arg-type]
    homes = data.columns["home"].tolist()
    for name in ("region", "dwelling"):
        was, gone = data.missing(name).tolist(), after.missing(name).tolist()
        for one, here in enumerate(homes):
            for other, there in enumerate(homes):
                if here == there and gone[one] and not was[one]:
                    assert gone[other]
        assert after.schema[name].treatment.suppressed == sum(gone) - sum(was)
    if missing == "matches":
        assert KAnonymity(k).evaluate(data, after).value == 0
    else:
        shown = list(zip(*(after.to_arrow()[name].to_pylist() for name in after.schema.analysed()), strict=True))
        assert min(shown.count(row) for row in shown) >= k


def test_a_suppressed_size_that_can_be_counted_is_said() -> None:
    after = LocalSuppression(3, variables=("household_size", "region", "sex", "age")).protect(SURVEY)
    said = [note for note in after.notes if "can be counted" in note]
    assert after.missing("household_size").any() == bool(said)
    assert not said or "'household'" in said[0]


# synthesis


def test_a_variable_that_is_drawn_anew_is_drawn_once_per_household() -> None:
    made = CARTSynthesis(variables=("rent", "tenure", "income"), order=("income", "tenure")).protect(SURVEY, rng=1)
    for name in ("rent", "tenure"):
        assert same_within(made, name, units(SURVEY))
        assert not np.array_equal(made.columns[name], SURVEY.columns[name], equal_nan=True)
    assert made.matched and np.array_equal(made.columns["age"], SURVEY.columns["age"])


def test_households_are_drawn_whole() -> None:
    survey = sfumato.household_survey(800)
    made = CARTSynthesis(10, unit="household").protect(survey, rng=1)
    unit = units(made)
    assert made.schema.household == "household" and not made.matched
    assert len(np.unique(unit)) == 800 and made.columns["household"].min() == 1
    for name in SHARED:
        assert same_within(made, name, unit)
    # the size that is told is the number of members, in every household
    assert np.array_equal(made.columns["household_size"], np.bincount(unit)[unit])
    before, after = (np.bincount(np.bincount(units(data)), minlength=8)[1:8] / 800 for data in (survey, made))
    assert np.abs(before - after).max() < 4 * np.sqrt(0.25 / 800)  # as far as draws of 800 households go
    # who stands first in a household is an adult in the survey, and nearly always here; of all, a fifth are not
    first = np.unique(unit, return_index=True)[1]
    assert (survey.columns["age"] < 18).mean() > 0.15
    assert (made.columns["age"][first] < 18).mean() < 0.01
    assert made.weights().sum() == pytest.approx(survey.weights().sum())
    fewer = CARTSynthesis(10, unit="household", records=50).protect(survey, rng=1)
    assert len(np.unique(units(fewer))) == 50
    assert len(CARTSynthesis(10, unit="household").copies(survey, 2, rng=1)) == 2


def test_households_cannot_be_drawn_without_any_or_in_part() -> None:
    with pytest.raises(NotApplicable, match="CARTSynthesis: unit='household' needs a schema that names the household"):
        CARTSynthesis(unit="household").protect(pa.table({"age": [1.0, 2.0] * 10}))
    with pytest.raises(sfumato.ParameterError, match="leave variables out"):
        CARTSynthesis(unit="household", variables=("age",))


def test_several_records_of_a_person_are_refused_as_an_id_and_taken_as_a_unit() -> None:
    """A panel: a person's sex is masked once; of persons, not of records, two are alike in both years."""
    columns = {
        "person": [1, 1, 2, 2, 3, 3],
        "sex": ["f", "f", "f", "f", "m", "m"],
        "job": ["a", "b", "a", "b", "a", "a"],
    }
    keys = tuple(Variable(name, "nominal", "key") for name in ("sex", "job"))
    with pytest.raises(sfumato.DataError, match="several records per person, name the person as the household"):
        Microdata.from_frame(pa.table(columns), Schema(keys, id="person"))
    panel = Microdata.from_frame(pa.table(columns), Schema(keys, household="person"))
    assert household_level(panel) == ("sex",)
    assert same_within(PRAM(0.5, variables=("sex",)).protect(panel, rng=1), "sex", units(panel))
    assert KAnonymity(2, unit="household").evaluate(panel, panel).value == pytest.approx(1 / 3)
    assert KAnonymity(2).evaluate(panel, panel).value == 0


# within blocks


def test_blocks_of_what_members_share_keep_them_together() -> None:
    unit, amounts = units(SURVEY), ("rent", "income")
    for method in (
        RankSwapping(0.3, variables=amounts),
        Noise(0.2, variables=amounts) + IndividualRanking(3, variables=amounts),
        LocalSuppression(2, variables=("tenure", "sex", "age")),
    ):
        masked = method.within("urbanity").protect(SURVEY, rng=1)
        for name in ("rent", "tenure"):
            assert same_within(masked, name, unit)
        assert not np.array_equal(masked.columns["income"], SURVEY.columns["income"], equal_nan=True) or isinstance(
            method, LocalSuppression
        )


def test_blocks_that_part_members_cannot_mask_what_they_share() -> None:
    with pytest.raises(NotApplicable, match="the members of a household share 'rent' but not 'sex'"):
        Noise(0.2, variables=("rent",)).within("sex").protect(SURVEY, rng=1)
    chain = Noise(0.2, variables=("rent",)) + Rounding(10, variables=("rent",))
    with pytest.raises(NotApplicable, match="the members of a household share 'rent' but not 'sex'"):
        chain.within("sex").protect(SURVEY, rng=1)
    closed = LocalSuppression(2, variables=("tenure", "age")).within("sex").protect(SURVEY)
    assert same_within(closed, "tenure", units(SURVEY))
    assert Noise(0.2, variables=("income",)).within("sex").protect(SURVEY, rng=1).matched
