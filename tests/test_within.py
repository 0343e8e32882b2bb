"""A method done inside each category of a variable: as by hand, whatever the method."""

import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import (
    MDAV,
    CARTSynthesis,
    GlobalRecoding,
    KAnonymity,
    LocalSuppression,
    Method,
    Microdata,
    Noise,
    NotApplicable,
    ParameterError,
    RankSwapping,
    Rounding,
    Sampling,
    Scenario,
    TopBottomCoding,
    Within,
    catalogue,
)
from sfumato.compare.naming import in_words, short_names
from sfumato.compare.tune import dial, turned
from sfumato.testing import checks
from sfumato.testing.of_methods import spelled
from tables import incomes, persons

KEEPING = [(name, cls) for name, cls in sorted(catalogue.methods().items()) if cls.about.keeps_records]
every_method = pytest.mark.parametrize("cls", [cls for _, cls in KEEPING], ids=[name for name, _ in KEEPING])


def example(cls: type[Method]) -> Method:
    return catalogue.default_grid(cls)[-1]


def fitting(cls: type[Method]) -> Microdata:
    """A table of two regions that the method can work on."""
    if cls.about.kinds != ("numeric",):
        return persons(300)
    data = incomes()
    codes = (np.arange(len(data)) % 2).astype(np.int32)
    variable = sfumato.Variable("sex", kind="nominal", categories=("female", "male"))
    schema = replace(data.schema, variables=(*data.schema.variables, variable))
    return replace(data, schema=schema, columns={**data.columns, "sex": codes})


@every_method
def test_each_block_comes_back_as_if_it_were_the_table(cls: type[Method]) -> None:
    method, data = example(cls), fitting(cls)
    try:
        masked = method.within("sex").protect(data, rng=3)
    except NotApplicable as refusal:
        assert type(method).__name__ in str(refusal)
        return
    assert masked.matched and len(masked) == len(data)
    assert np.array_equal(masked.columns["sex"], data.columns["sex"]) and not masked.schema["sex"].treatment
    if method.about.random:
        return
    for code in (0, 1):
        there = np.flatnonzero(data.columns["sex"] == code)
        alone = spelled(method.protect(data.take(there).without(["sex"])))
        part = spelled(masked.take(there))
        assert alone == {name: part[name] for name in alone}


@every_method
def test_the_contract_holds_by_blocks(cls: type[Method]) -> None:
    for check in checks(example(cls).within("sex"), data=fitting(cls)):
        check()


@every_method
def test_a_further_block_changes_no_other(cls: type[Method]) -> None:
    method, data = example(cls).within("sex"), fitting(cls)
    women = data.take(np.flatnonzero(data.columns["sex"] == 0))
    try:
        whole, alone = method.protect(data, rng=7), method.protect(women, rng=7)
    except NotApplicable:
        return
    assert spelled(whole.take(np.flatnonzero(data.columns["sex"] == 0))) == spelled(alone)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 5), st.integers(0, 1_000))
def test_groups_of_mdav_never_cross_a_block(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    region = rng.integers(0, 4, 80)
    noise, tax = rng.normal(size=(2, 80))
    data = pa.table({"region": region.astype(str), "pay": noise + 100 * region, "tax": tax})
    masked = MDAV(k).within("region").protect(data)
    pay = np.array(masked["pay"])
    for value in np.unique(pay):
        assert len(set(region[pay == value])) == 1 and (pay == value).sum() >= min(k, np.bincount(region).min())


def test_suppression_counts_inside_each_block_alone() -> None:
    data = persons(300)
    masked = LocalSuppression(3).within("region").protect(data)
    for code in range(4):
        there = np.flatnonzero(data.columns["region"] == code)
        part = masked.take(there).without(["region"])
        assert KAnonymity(3).evaluate(part, part).value == 0
    lost = masked.schema["age"].treatment.suppressed
    assert lost == int((masked.missing("age") & ~data.missing("age")).sum()) > 0


def test_texts_read_back_and_lists_are_a_grid() -> None:
    for method in (
        MDAV(3).within("region"),
        (MDAV(3) + Noise(0.1)).within("region", "sex"),
        MDAV(3).within("region", least=10) + Rounding(5),
        MDAV(3).within("region").within("sex"),
    ):
        names = {name: getattr(sfumato, name) for name in sfumato.__all__}
        assert catalogue.parse(repr(method)) == [method] == [eval(repr(method), names)]
        assert pickle.loads(pickle.dumps(method)) == method and hash(method) == hash(replace(method))
    assert repr(MDAV(3).within("region")) == "MDAV(k=3).within('region')"
    assert repr((MDAV(3) + Noise(0.1)).within("region")) == "(MDAV(k=3) + Noise(scale=0.1)).within('region')"
    found = catalogue.parse("MDAV(k=[3, 5]).within('region') + Noise([0.1, 0.2])")
    assert len(found) == 4 and all(isinstance(method, Method) for method in found)
    assert len(catalogue.parse("MDAV.within('region')")) == len(catalogue.default_grid(MDAV))


def test_a_missing_value_makes_a_block_and_small_blocks_are_refused() -> None:
    data = pa.table({"region": ["N"] * 4 + [None] * 4 + ["S"], "pay": [1.0, 2, 3, 4, 50, 60, 70, 80, 5]})
    with pytest.raises(NotApplicable, match=r"MDAV: block region = S, records 1: it has fewer records than least=2"):
        MDAV(4).within("region").protect(data)
    masked = MDAV(4).within("region").protect(data.slice(0, 8))
    assert masked["pay"].to_pylist() == [2.5] * 4 + [65.0] * 4
    with pytest.raises(NotApplicable, match=r"block region = N, records 4: it has fewer records than least=5"):
        MDAV(4).within("region", least=5).protect(data.slice(0, 8))
    with pytest.raises(NotApplicable, match=r"LocalSuppression: block region = N, records 4: the table has 4 records"):
        LocalSuppression(5, variables=("pay",)).within("region").protect(data.slice(0, 8))


def test_what_cannot_be_done_by_blocks_is_refused() -> None:
    data = persons()
    with pytest.raises(ParameterError, match="Within: 'region' makes the blocks, so it cannot be masked within them"):
        LocalSuppression(3, variables=("region", "sex")).within("region")
    with pytest.raises(ParameterError, match="Within: by must be a list of variable names"):
        MDAV(3).within()
    with pytest.raises(ParameterError, match="Within: the method inside names its own variables"):
        Within(MDAV(3), ("region",), variables=("age",))
    with pytest.raises(NotApplicable, match="Within: there is no variable 'regoin'"):
        MDAV(3).within("regoin").protect(data)
    with pytest.raises(NotApplicable, match="Within: 'household' is the household of the records"):
        MDAV(3).within("household").protect(data)
    with pytest.raises(NotApplicable, match="Within: block 'income' is continuous"):
        MDAV(3).within("income").protect(data)
    with pytest.raises(ParameterError, match="only methods work by blocks"):
        catalogue.parse("KAnonymity(3).within('region')")
    with pytest.raises(NotApplicable, match="GlobalRecoding: variable 'age' is put into other classes in other blocks"):
        GlobalRecoding(3, variables=("age",)).within("region").protect(data)
    # the same cuts everywhere are no problem
    cut = GlobalRecoding(bins={"age": (30, 60)})
    assert spelled(cut.within("region").protect(data)) == spelled(cut.protect(data))


def test_ends_that_differ_by_block_leave_values_that_need_not_be_true() -> None:
    data = persons(300)
    masked = TopBottomCoding(0.05, variables=("income",)).within("region").protect(data)
    assert masked.schema["income"].treatment.perturbed and masked.schema["income"].treatment.top is None


def test_records_that_are_drawn_or_made_anew() -> None:
    data = persons(300)
    drawn = Sampling(0.5).within("region").protect(replace(data, schema=replace(data.schema, household=None)), rng=1)
    before, after = (np.bincount(table.columns["region"], minlength=4) for table in (data, drawn))
    assert not drawn.matched and (after == np.floor(before / 2 + 0.5)).all()  # half of each region, as with strata
    made = CARTSynthesis().within("region").protect(data, rng=1)
    assert not made.matched and len(np.unique(made.columns["id"])) == len(made)
    assert np.array_equal(np.bincount(made.columns["region"]), before)


def test_scenarios_and_earlier_treatment_stay() -> None:
    data = persons(300)
    scenarios = (Scenario("neighbour", keys=("region", "sex", "age"), k=3),)
    data = replace(data, schema=replace(data.schema, scenarios=scenarios))
    once = LocalSuppression(2).protect(data)
    masked = LocalSuppression(sets="scenarios").within("region").protect(once)
    assert masked.schema.scenarios == scenarios and masked.names == data.names
    lost = masked.schema["age"].treatment.suppressed
    assert lost == int((masked.missing("age") & ~data.missing("age")).sum())


def test_it_is_told_and_tuned_like_any_method() -> None:
    method = LocalSuppression(3).within("region") + (MDAV(3) + Noise(0.1)).within("sex")
    assert in_words(method) == (
        "Key values are blanked where fewer than 3 records look alike, within each region by itself; all numbers are "
        "replaced by the means of 3 records that are near in all of it; noise of 0.1 standard deviations is added to "
        "all numbers, within each sex by itself."
    )
    several = {str(k): (RankSwapping(0.05) + MDAV(k).within("region")) for k in (3, 5)}
    assert len(set(short_names(several).values())) == 2
    assert turned(method, {dial(method, "Noise.scale", (0.1, 0.5)): 0.5}) == (
        LocalSuppression(3).within("region") + (MDAV(3) + Noise(0.5)).within("sex")
    )
