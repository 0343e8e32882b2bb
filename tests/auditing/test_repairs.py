"""Repairs before a release: what was leaking no longer does, and nothing else is touched."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import GlobalRecoding, LocalSuppression, Microdata, Scenario, Schema, Variable
from sfumato.auditing.audit import audit
from sfumato.auditing.repairs import prepare, record_order
from sfumato.kernels.raking import raked
from sfumato.table.present import made_missing


def leaking(records: int = 400) -> Microdata:
    """Return persons in households, sorted by region, whose weight, cohort and stratum give region or age away."""
    rng = np.random.default_rng(3)
    homes = np.sort(np.arange(records) // 3)
    region = np.sort(rng.integers(0, 5, homes[-1] + 1))[homes]
    age = rng.integers(18, 80, records).astype(float)
    table = pa.table(
        {
            "person": np.arange(records).astype(float),
            "home": homes.astype(float),
            "weight": (100.0 + 7 * region),
            "region": [f"r{r}" for r in region],
            "age": age,
            "cohort": 2020 - age,
            "sex": rng.choice(["f", "m"], records),
            "pay": np.round(rng.lognormal(8, 1, records)),
        }
    )
    schema = Schema(
        (
            Variable("person", role="identifier"),
            Variable("home", role="identifier"),
            Variable("weight"),
            Variable("region", "nominal", role="key"),
            Variable("age", role="key"),
            Variable("sex", "nominal", role="key"),
        ),
        weight="weight",
        household="home",
        id="person",
    )
    return Microdata.from_frame(table, schema)


def protected(data: Microdata) -> Microdata:
    rng = np.random.default_rng(5)
    blank = rng.random(len(data)) < 0.15
    region = np.where(blank, -1, data.columns["region"]).astype(np.int32)
    made = GlobalRecoding(bins={"age": (30, 50, 65)}).protect(data)
    return made.replace({"region": region}, treatment=sfumato.Treatment(suppressed=int(blank.sum())))


def test_what_leaks_before_the_repairs_does_not_after() -> None:
    data = leaking()
    made = protected(data)
    before = audit(data, made)
    assert {route.name for route in before.routes if route.alarm} >= {"weight", "order", "columns"}
    ready = prepare(data, made, seed=11)
    assert ready.checked.audit is not None and ready.checked.audit.passed, ready.checked.audit
    assert "person" not in ready.table.names and "home" not in ready.table.names
    assert "cohort" not in ready.table.names, "it gives age back"
    assert "pay" in ready.table.names and "sex" in ready.table.names
    said = " ".join(ready.checked.done)
    assert "random order" in said and "raked" in said and "cohort is left out" in said


def test_the_order_is_the_seeds_and_can_be_undone_with_it_alone() -> None:
    data = leaking()
    ready = prepare(data, protected(data), seed=11)
    assert ready.order is not None
    np.testing.assert_array_equal(ready.order, record_order(len(data), 11))
    assert not np.array_equal(ready.order, record_order(len(data), 12))
    back = ready.table.take(np.argsort(ready.order))
    np.testing.assert_array_equal(back.columns["pay"], data.columns["pay"])


def test_what_is_to_be_kept_is_kept() -> None:
    data = leaking()
    ready = prepare(data, protected(data), seed=11, keep_order=True, keep_weights=True)
    assert ready.order is None
    np.testing.assert_array_equal(ready.table.columns["weight"], data.columns["weight"])
    np.testing.assert_array_equal(ready.table.columns["pay"], data.columns["pay"])
    assert ready.checked.audit is not None
    assert {route.name for route in ready.checked.audit.routes if route.alarm} >= {"weight", "order"}


def test_a_household_that_goes_out_has_new_numbers_that_keep_members_together() -> None:
    data = leaking()
    schema = data.schema.replace(replace(data.schema["home"], role="other"))
    data = replace(data, schema=schema)
    ready = prepare(data, protected(data), seed=2, keep_order=True)
    old, new = data.columns["home"], ready.table.columns["home"]
    assert len(np.unique(new)) == len(np.unique(old))
    assert len(np.unique(np.column_stack([old, new]), axis=0)) == len(np.unique(old))
    assert abs(np.corrcoef(old, new)[0, 1]) < 0.3


def test_a_sample_is_audited_against_the_records_it_drew() -> None:
    data = leaking()
    drawn = sfumato.Sampling(0.5).protect(data, rng=1)
    ready = prepare(data, drawn, seed=1)
    assert ready.checked.audit is not None and ready.checked.passed
    assert "Nothing to restore" in ready.checked.audit.verdict, "the records are as they were"
    blank = np.random.default_rng(5).random(len(drawn)) < 0.15
    made = drawn.replace({"region": np.where(blank, -1, drawn.columns["region"]).astype(np.int32)})
    assert made.drawn is not None
    naive = audit(data.take(made.drawn), made)
    assert naive["weight"].alarm and naive["weight"].worst is not None
    true, weights = data.columns["region"][made.drawn], made.weights()
    told = [np.bincount(true[~blank & (weights == weights[row])]).argmax() for row in np.flatnonzero(blank)]
    assert naive["weight"].worst.restored == pytest.approx(np.mean(told == true[blank]))
    ready = prepare(data, made, seed=1)
    assert ready.checked.audit is not None and ready.checked.passed and "weight" in ready.checked.renewed
    assert "random order" in " ".join(ready.checked.done)


def test_a_sample_knows_its_records_through_chains_and_nobody_reads_them_in_a_file(tmp_path: Path) -> None:
    data = leaking()
    chain = sfumato.Noise(0.0, variables=("pay",)) + sfumato.Sampling(0.6) + sfumato.Sampling(0.5) + LocalSuppression(3)
    made = chain.protect(data, rng=2)
    assert made.drawn is not None and len(made.drawn) == len(made)
    np.testing.assert_array_equal(data.columns["pay"][made.drawn], made.columns["pay"])
    within = (
        sfumato.Sampling(0.5)
        .within("region")
        .protect(replace(data, schema=replace(data.schema, household=None)), rng=2)
    )
    assert within.drawn is not None
    np.testing.assert_array_equal(data.columns["pay"][within.drawn], within.columns["pay"])
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.drawn, made.drawn)
    sfumato.write(made, tmp_path / "sample.csv")
    assert sfumato.read(tmp_path / "sample.csv").names == made.names


def test_made_up_records_are_no_sample_even_of_a_sample() -> None:
    data = leaking()
    made = (sfumato.Sampling(0.5) + sfumato.CARTSynthesis(10)).protect(data, rng=1)
    assert made.drawn is None
    ready = prepare(data, made, seed=1)
    assert ready.checked.audit is None and ready.checked.excused
    assert "not those of the original" in ready.checked.unaudited


def test_the_demo_survey_passes_after_recoding_and_suppression() -> None:
    data = sfumato.household_survey(300)
    data = replace(data, schema=replace(data.schema, scenarios=(Scenario("all", ("region", "sex", "age")),)))
    made = (GlobalRecoding(bins={"age": 20}, rare=0.1, variables=("region",)) + LocalSuppression(3)).protect(data)
    ready = prepare(data, made, seed=7)
    assert ready.checked.audit is not None and ready.checked.passed, ready.checked.audit
    weighted, anew = made.weights(), ready.table.take(np.argsort(record_order(len(data), 7))).weights()
    for name in made.schema.analysed("nominal", "ordinal"):
        codes = made.columns[name]
        found, counts = np.unique(codes, return_counts=True)
        for code in found[counts >= 25]:  # rarer categories are taken together
            assert anew[codes == code].sum() == pytest.approx(weighted[codes == code].sum(), rel=1e-4)
    assert anew.sum() == pytest.approx(weighted.sum(), rel=1e-4)


@settings(max_examples=40)
@given(
    st.integers(0, 10_000),
    st.integers(1, 3),
    st.integers(2, 40),
)
def test_raked_weights_keep_every_margin_and_depend_on_the_columns_alone(seed: int, columns: int, records: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, 3, (records, columns))
    weights = rng.uniform(0.5, 20, records)
    new, apart = raked(codes, weights)
    assert apart < 1e-6
    for j in range(columns):
        for code in np.unique(codes[:, j]):
            chosen = codes[:, j] == code
            assert new[chosen].sum() == pytest.approx(weights[chosen].sum(), rel=1e-5)
    for row in np.unique(codes, axis=0):
        alike = (codes == row).all(axis=1)
        assert np.ptp(new[alike]) <= 1e-9 * new.max()


def test_raking_equals_the_closed_form_of_independence() -> None:
    # two columns whose weights are a product already: raking from equal ones reproduces them
    a, b = np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])
    codes = np.array([(i, j) for i in range(2) for j in range(3)])
    new, _ = raked(codes, np.array([a[i] * b[j] for i, j in codes]))
    np.testing.assert_allclose(new, [a[i] * b[j] for i, j in codes], rtol=1e-9)


def test_two_releases_of_one_seed_do_not_stand_in_the_same_order() -> None:
    data = leaking()
    one, other = (prepare(data, protected(data), seed=11, key=key).order for key in ("noise", "swap"))
    assert one is not None and other is not None
    assert (one == other).mean() < 0.05


def test_a_column_of_many_categories_does_not_bring_the_weight_back() -> None:
    # the weight tells the region, and 120 interviewers tell the weight: raking to them would reproduce it
    rng = np.random.default_rng(1)
    records = 1200
    region = rng.integers(0, 6, records // 10).repeat(10)
    table = pa.table(
        {
            "weight": 100.0 + 7 * region,
            "region": [f"r{r}" for r in region],
            "interviewer": [f"i{i}" for i in np.arange(records) // 10],
            "sex": rng.choice(["f", "m"], records),
        }
    )
    schema = Schema((Variable("weight"), Variable("region", "nominal", role="key")), weight="weight")
    data = Microdata.from_frame(table, schema)
    blank = np.isin(np.arange(records) // 10, rng.choice(120, 24, replace=False))
    region_out = np.where(blank, -1, data.columns["region"]).astype(np.int32)
    made = data.replace({"region": region_out}, treatment=sfumato.Treatment(suppressed=int(blank.sum())))
    ready = prepare(data, made, seed=4, keep_order=True)
    new, shown = ready.table.weights(), ~blank
    nearest = np.abs(new[blank][:, None] - new[shown][None, :]).argmin(axis=1)
    restored = (region[shown][nearest] == region[blank]).mean()
    assert restored < 0.4


def test_who_has_no_weight_gets_none_and_small_weights_keep_their_digits() -> None:
    data = leaking()
    weight = data.weights() / data.weights().sum() / 1000
    weight[::7] = 0.0
    data = data.replace({"weight": weight})
    ready = prepare(data, protected(data), seed=11, keep_order=True)
    anew = ready.table.weights()
    assert "weight" in ready.checked.renewed
    np.testing.assert_array_equal(anew == 0, weight == 0)
    assert anew.sum() == pytest.approx(weight.sum(), rel=1e-4)


def test_a_copy_of_the_household_number_does_not_go_out() -> None:
    data = leaking()
    copied = data.to_arrow().append_column("hh", pa.array([f"H{int(h):05}" for h in data.columns["home"]]))
    data = Microdata.from_frame(copied, data.schema)
    ready = prepare(data, protected(data), seed=11)
    assert "hh" not in ready.table.names and "hh" in " ".join(ready.checked.done)


def test_a_blanked_category_is_not_listed_any_more() -> None:
    data = leaking()
    blank = data.columns["region"] == 0
    made = data.replace({"sex": np.where(blank, -1, data.columns["sex"]).astype(np.int32)})
    hidden = made_missing(made, {"region": blank})
    assert len(hidden.schema["region"].categories) == len(data.schema["region"].categories) - 1


def test_an_amount_that_differs_from_household_to_household_is_no_number_of_them() -> None:
    data = leaking()
    income = np.random.default_rng(1).lognormal(10, 1, 1000).round(2)[data.columns["home"].astype(int)]
    shifted, text = data.columns["home"] * 3 + 7, [f"h{int(h) * 31 % 1009}" for h in data.columns["home"]]
    more = data.to_arrow().append_column("hincome", pa.array(income)).append_column("hh", pa.array(shifted))
    data = Microdata.from_frame(more.append_column("code", pa.array(text)), data.schema)
    ready = prepare(data, protected(data), seed=11)
    assert "hincome" in ready.table.names
    assert "hh" not in ready.table.names and "code" not in ready.table.names


def people(records: int = 600) -> pa.Table:
    """Persons in households of two, with a number that says nothing."""
    rng = np.random.default_rng(0)
    home = np.arange(records) // 2
    return pa.table(
        {
            "pid": rng.permutation(records) + 1000,
            "hid": home + 5000,
            "region": rng.choice(list("ABCDEF"), records // 2)[home],
            "sex": rng.choice(["f", "m"], records),
            "pay": rng.permutation(20 * records)[:records].astype(float),  # all different
        }
    )


NAMED = Schema((Variable("region", "nominal", role="key"), Variable("sex", "nominal", role="key")), id="pid")


def goes_out(name: str, values: object, schema: Schema = NAMED) -> bool:
    """Tell whether a column that is added to the persons is in the release."""
    data = Microdata.from_frame(people().append_column(name, pa.array(values)), schema)
    ready = prepare(data, LocalSuppression(3).protect(data), seed=1)
    assert "pay" in ready.table.names, "an amount is no name, though all are different"
    assert (name in ready.table.names) != any(name in said for said in ready.checked.done if "name the units" in said)
    return name in ready.table.names


def test_copies_of_the_id_do_not_go_out() -> None:
    pid = people()["pid"].to_numpy()
    assert not goes_out("pnr", 7 * pid + 3)
    assert not goes_out("order", np.argsort(np.argsort(pid)) ** 2 + 1)  # administrative numbers with gaps
    assert not goes_out("code", [f"P{one}" for one in pid])
    assert not goes_out("mail", [f"no{one:08}@town{one % 7}.org" for one in pid])
    assert not goes_out("partner", np.roll(pid, 1))
    holes = [None if i in (3, 77) else f"P{one}" for i, one in enumerate(pid)]
    assert not goes_out("code", holes)
    wrong = 7 * pid + 3
    wrong[5] = 4
    assert not goes_out("pnr", wrong)


def test_what_only_looks_like_a_copy_of_the_id_goes_out() -> None:
    table = people()
    pid, records = table["pid"].to_numpy(), len(table)
    rng = np.random.default_rng(4)
    assert goes_out("income", rng.lognormal(9, 1, records))
    assert goes_out("cents", np.round(rng.lognormal(9, 1, records), 2) + pid / 1e6)
    assert goes_out("debts", rng.permutation(90_000)[:records])
    assert goes_out("answer", [f"text {one}" for one in rng.permutation(90_000)[:records]])
    assert goes_out("tens", pid // 10)  # coarse: no name, though it goes with it
    kept = (*NAMED.variables, Variable("score", role="confidential"))
    assert goes_out("score", 7 * pid + 3, replace(NAMED, variables=kept)), "what the release is for"


def test_copies_of_the_household_number_with_gaps_do_not_go_out() -> None:
    hid = people()["hid"].to_numpy()
    schema = replace(NAMED, household="hid")
    texts = [None if i == 3 else f"H{one:05}" for i, one in enumerate(hid)]
    assert not goes_out("hid2", texts, schema)
    assert not goes_out("hh_old", [None if i == 5 else 2.0 * one + 1 for i, one in enumerate(hid)], schema)
    rent = np.random.default_rng(1).permutation(9000)[hid - 5000]
    assert goes_out("rent", [None if i == 5 else float(one) for i, one in enumerate(rent)], schema)


def out_of_scope(zero: np.ndarray) -> Microdata:
    """Persons of six regions with weights of these, those of one region blank as suppression blanks rare ones."""
    rng = np.random.default_rng(0)
    records = len(zero)
    region = rng.choice(list("ABCDEF"), records, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    weight = np.round(100 + 50.0 * np.array([ord(one) - 65 for one in region]) + rng.normal(0, 0.001, records), 3)
    table = {"region": region, "age": rng.integers(0, 9, records).astype(str), "sex": rng.choice(["f", "m"], records)}
    table |= {"job": rng.choice(list("abcdefgh"), records), "weight": np.where((region == "F") | zero, 0, weight)}
    keys = tuple(Variable(name, "nominal", role="key") for name in ("region", "age", "job", "sex"))
    return Microdata.from_frame(pa.table(table), Schema(keys, weight="weight"))


def test_weights_of_zero_that_tell_a_region_fail_the_audit() -> None:
    data = out_of_scope(np.zeros(3000, dtype=bool))
    lost = data.columns["region"] == data.schema["region"].categories.index("F")
    blank = lost | (np.random.default_rng(1).random(3000) < 0.3)
    made = made_missing(data, {"region": blank})
    ready = prepare(data, made, seed=1)
    assert "weight" in ready.checked.renewed, "the other weights are raked"
    found = ready.checked.audit
    assert found is not None and not found.passed and "survey weight" in found.verdict
    worst = found["weight"].worst
    assert worst is not None and worst.variable == "region" and worst.evidence == ("weight = 0",)
    assert (worst.restored, worst.values) == (1.0, int(lost.sum())), "all of region F, and nobody else"
    assert "raking leaves a weight of 0 as it is" in found["weight"].repair


def test_weights_of_zero_that_tell_nothing_pass() -> None:
    zero = np.random.default_rng(3).random(3000) < 0.2
    data = out_of_scope(zero)
    seen = data.take(np.flatnonzero(data.columns["region"] != data.schema["region"].categories.index("F")))
    blank = np.random.default_rng(1).random(len(seen)) < 0.3
    ready = prepare(seen, made_missing(seen, {"region": blank}), seed=1)
    assert "weight" in ready.checked.renewed and (ready.table.weights() == 0).any()
    assert ready.checked.passed, ready.checked.audit


def test_what_a_link_takes_away_is_no_secret_that_its_source_gives_back() -> None:
    rng = np.random.default_rng(7)
    age = rng.integers(0, 95, 1500)
    ends = np.array([0, 15, 25, 45, 65])
    group = [f"g{ends[ends <= one].max()}" for one in age]
    table = pa.table({"age": age, "group": group, "sex": rng.choice(["f", "m"], 1500)})
    linked = Variable("group", "nominal", linked="age")
    data = Microdata.from_frame(table, Schema((Variable("age", role="key"), linked)))
    made = GlobalRecoding(bins={"age": 10}).protect(data)
    assert "group" not in made.names and not audit(data, made).passed, "most classes of ages lie in one group"
    ready = prepare(data, made, seed=1)
    assert ready.checked.passed and "group" in ready.checked.left_out
    removed = sfumato.VariableRemoval(variables=("group",)).protect(data)
    assert "age is left out, because it tells group" in prepare(data, removed, seed=1).checked.done, "it was meant"
