"""Singling out, linkability and inference, against plain loops, by hand and by theory."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from sfumato import Inference, Linkability, Measure, Microdata, NotApplicable, ParameterError, SinglingOut
from sfumato.kernels import mixed_distance
from sfumato.risk.attack_and_control import excess, wilson
from sfumato.risk.nearest_links import Bridge, inferred, inferred_by_others, linked, linked_by_others
from sfumato.table.treatment import Treatment
from tables import incomes, numbers, persons

EVERY = [SinglingOut(), Linkability(), Inference()]
every = pytest.mark.parametrize("measure", EVERY, ids=["SinglingOut", "Linkability", "Inference"])
Points = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Codes = np.ndarray[tuple[int], np.dtype[np.int32]]


@pytest.mark.parametrize(("hits", "attacks"), [(0, 20), (3, 20), (20, 20), (517, 1000)])
def test_by_reference_wilson(hits: int, attacks: int) -> None:
    expected = binomtest(hits, attacks).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(wilson(hits / attacks, attacks, 0.95), (expected.low, expected.high), atol=1e-15)


def test_by_hand_excess() -> None:
    assert excess(0.6, 0.2) == pytest.approx(0.5)
    assert excess(0.1, 0.2) == 0 == excess(1.0, 1.0)


@every
def test_by_theory_a_copy_is_found_and_fresh_draws_are_not(measure: Measure) -> None:
    gains, lows = [], []
    for seed in range(6):
        original, fresh = incomes(300, seed=seed), incomes(300, seed=seed + 50)
        found = measure.evaluate(original, fresh, rng=seed)
        gains.append(found.parts["attack"] - found.parts["control"])
        lows.append(found.parts["low"])
    # attack and control have the same expectation; each rate of 300 has a variance of at most a quarter
    assert abs(np.mean(gains)) < 4 * np.sqrt(2 * 0.25 / 300 / 6)
    assert max(lows) == 0
    copy = measure.evaluate(original, original, rng=0)
    assert copy.value > 0.9 and copy.parts["low"] > 0.9 and copy.parts["attacks"] == 300
    assert copy.parts["low"] <= copy.value <= copy.parts["high"]


@every
def test_a_household_is_not_its_own_control(measure: Measure) -> None:
    # twins in one household: with each other as controls nothing would seem to be gained from a copy
    data = incomes(150)
    twins = data.take(np.repeat(np.arange(150), 2))
    table = twins.to_arrow().append_column("household", pa.array(np.repeat(np.arange(150), 2)))
    from sfumato import Schema, Variable

    named = Microdata.from_frame(table, Schema((Variable("household"),), household="household"))
    apart, together = (measure.evaluate(d, d, rng=0).parts["control"] for d in (named, twins))
    assert apart <= together
    if not isinstance(measure, SinglingOut):
        assert apart < 0.5
    single = replace(named, columns={**named.columns, "household": np.zeros(300)})
    with pytest.raises(NotApplicable, match=f"{type(measure).__name__}: all original records are of one"):
        measure.evaluate(single, single)


# singling out


def test_by_hand_a_description_grows_until_it_fits_one() -> None:
    original = Microdata.from_frame(pa.table({"a": ["x", "x", "y", "z"], "b": ["p", "q", "p", "p"]}))
    protected = Microdata.from_frame(pa.table({"a": ["x", "x", "y", "z", "z"], "b": ["q", "q", "p", "p", "q"]}))
    stated = protected.schema.replace(*(v.treated(Treatment(perturbed=True)) for v in protected.schema))
    found = SinglingOut(orders=40).evaluate(original, replace(protected, schema=stated, matched=False), rng=0)
    # a first: x x y z z; y is alone, and so it is in the original. Then b: zp and zq are alone; one original is zp,
    # none zq; xq is not alone. b first: nobody is alone in it; then yp, zp, zq alone: one, one, none.
    assert found.by_record is not None
    assert found.by_record.tolist() == [0, 0, 1, 1, 0]
    assert found.parts["attack"] == pytest.approx(2 / 5)
    assert found.parts["isolated"] == pytest.approx(3 / 5)


def test_by_theory_chance_isolates_one_in_e() -> None:
    # one variable of n equally frequent values: a description fits Poisson(1) of n others, exactly one in 1/e
    rng = np.random.default_rng(0)
    n = 6_000
    tables = [numbers(x=rng.integers(0, n, n).astype(float)) for _ in range(2)]
    tables = [Microdata.from_frame(pa.table({"x": [f"v{int(v):05d}" for v in table.columns["x"]]})) for table in tables]
    found = SinglingOut(orders=4).evaluate(tables[0], replace(tables[1], matched=False), rng=0)
    # alone among n with probability 1/e, and then one original fits with probability 1/e
    assert found.parts["isolated"] == pytest.approx(np.exp(-1), abs=4 * np.sqrt(0.25 / n))
    assert found.parts["attack"] == pytest.approx(np.exp(-2), abs=4 * np.sqrt(0.25 / n))
    # of a half: alone with e^-1/2, one of the other half fits with 1/2 e^-1/2
    assert found.parts["control"] == pytest.approx(np.exp(-1) / 2, abs=4 * np.sqrt(0.25 / n))


def test_a_copy_put_in_several_times_is_found_like_one() -> None:
    data = incomes(300)
    once, thrice = (
        SinglingOut().evaluate(data, replace(data.take(np.tile(np.arange(300), times)), matched=False), rng=0)
        for times in (1, 3)
    )
    assert thrice.value == once.value > 0.5
    assert thrice.by_record is not None and thrice.by_record.shape == (900,)


@pytest.mark.parametrize("size", [100, 1_200])
def test_by_theory_fresh_draws_of_any_size_do_as_well_as_their_control(size: int) -> None:
    gains = []
    for seed in range(30):
        fresh = replace(incomes(size, seed=1_000 + seed), matched=False)
        parts = SinglingOut(classes=10, orders=3).evaluate(incomes(300, seed=seed), fresh, rng=seed).parts
        gains.append(parts["attack"] - parts["control"])
    # two halves of the original, whatever the size of the file, would be off by 0.1 for the larger
    assert abs(np.mean(gains)) < 0.035


# linkability and inference


def apart(one: Points, other: Points) -> Points:
    return np.array([[sum(min(abs(x - y), 1.0) for x, y in zip(a, b, strict=True)) for b in other] for a in one])


def nearest_places(distances: Points, allowed: list[int]) -> list[int]:
    least = min((distances[j] for j in allowed), default=0.0)
    return [j for j in allowed if distances[j] <= least + 1e-9]


def points(rng: np.random.Generator, n: int, coarse: bool) -> Points:
    numeric = rng.integers(0, 3, n) / 2 if coarse else rng.random(n)
    return np.column_stack([numeric, rng.integers(0, 2, n) * 2.0])


def bridged(before: Any, after: Any, units: Any) -> Bridge:
    """Take records as points, and keep no search."""
    people, file = mixed_distance.Points.of(before, units), mixed_distance.Points.of(after)
    return Bridge(people, file, units, lambda _, search: search())


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 14), st.integers(1, 14), st.booleans(), st.booleans())
def test_by_reference_inference_is_a_draw_from_the_nearest(
    seed: int, n: int, m: int, coarse: bool, alone: bool
) -> None:
    rng = np.random.default_rng(seed)
    before, after = points(rng, n, coarse), points(rng, m, coarse)
    truth, shown = (rng.integers(-1, 3, size).astype(np.int32) for size in (n, m))
    units = np.arange(n) if alone else rng.integers(0, max(n // 2, 1), n)
    bridge = bridged(before, after, units)
    found = inferred(bridge, truth, shown)
    distances = apart(before, after)
    for i in range(n):
        nearest = nearest_places(distances[i], list(range(m)))
        expected = np.mean([shown[j] == truth[i] for j in nearest]) if truth[i] >= 0 else 0.0
        assert found[i] == pytest.approx(expected)
    if not alone:
        return  # with households, those who tie with strangers are weighed with them: see below
    others = inferred_by_others(bridge, truth)
    distances = apart(before, before)
    for i in range(n):
        nearest = nearest_places(distances[i], [j for j in range(n) if j != i])
        expected = np.mean([truth[j] == truth[i] for j in nearest]) if truth[i] >= 0 else 0.0
        assert others[i] == pytest.approx(expected)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 12), st.booleans())
def test_by_reference_linking_goes_there_and_back(seed: int, n: int, m: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    first, second = (points(rng, n, coarse) for _ in range(2))
    their_first, their_second = (points(rng, m, coarse) for _ in range(2))
    one, two = (bridged(ours, theirs, np.arange(n)) for ours, theirs in ((first, their_first), (second, their_second)))
    found = linked(one, two)
    out, back = apart(first, their_first), apart(their_second, second)
    for i in range(n):
        bridges = nearest_places(out[i], list(range(m)))
        ends = [nearest_places(back[r], list(range(n))) for r in bridges]
        assert found[i] == pytest.approx(np.mean([(i in end) / len(end) for end in ends]))
    others = linked_by_others(one, two)
    out, back = apart(first, first), apart(second, second)
    for i in range(n):
        bridges = nearest_places(out[i], [r for r in range(n) if r != i])
        ends = [nearest_places(back[r], [j for j in range(n) if j != r]) for r in bridges]
        assert others[i] == pytest.approx(np.mean([(i in end) / len(end) for end in ends]))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 6))
def test_by_reference_relatives_are_passed_over(seed: int, n: int, households: int) -> None:
    rng = np.random.default_rng(seed)
    units = rng.integers(0, households, n)
    if len(np.unique(units)) < 2:
        return
    first, second = rng.random((n, 1)), rng.random((n, 1))  # no ties
    one, two = (bridged(side, side, units) for side in (first, second))
    truth = rng.integers(0, 2, n).astype(np.int32)
    others, links = inferred_by_others(one, truth), linked_by_others(one, two)
    out, back = apart(first, first), apart(second, second)
    for i in range(n):
        bridge = min((j for j in range(n) if units[j] != units[i]), key=lambda j: out[i, j])
        assert others[i] == (truth[bridge] == truth[i])
        end = min((j for j in range(n) if units[j] != units[bridge]), key=lambda j: back[bridge, j])
        assert links[i] == (end == i)


def test_by_hand_inference_takes_the_worst_target_and_says_from_what() -> None:
    data = persons()
    found = Inference().evaluate(data, data)
    assert set(found.by_variable) == {"income", "health"}
    assert found.value == max(found.by_variable.values())
    assert any("is inferred from region, sex, education, age" in note for note in found.notes)
    assert set(Inference().evaluate(incomes(), incomes()).by_variable) == set(incomes().names)
    alone = Inference(targets=("health",)).evaluate(data, data)
    often = max(np.bincount(data.columns["health"])) / len(data)
    assert alone.parts["most frequent value"] == pytest.approx(often)


def test_a_link_needs_two_sources() -> None:
    data = persons()
    found = Linkability().evaluate(data, data)
    assert "one source has region, sex, education, age; the other income, health" in found.notes
    stated = Linkability(first=("age", "income")).evaluate(data, data)
    assert "one source has age, income; the other region, sex, education, health" in stated.notes
    with pytest.raises(NotApplicable, match="Linkability: two variables are needed"):
        Linkability().evaluate(numbers(x=[1.0, 2.0]), numbers(x=[1.0, 2.0]))
    with pytest.raises(NotApplicable, match="Linkability: first names wage, not among"):
        Linkability(first=("wage",)).evaluate(data, data)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"Inference: level must be a share from 0\.5 to below 1"):
        Inference(level=1.0)
    with pytest.raises(ParameterError, match="SinglingOut: orders must be a whole number of at least 1; got 0"):
        SinglingOut(orders=0)
    with pytest.raises(NotApplicable, match="Inference: targets names wage"):
        Inference(targets=("wage",)).evaluate(persons(), persons())
    with pytest.raises(NotApplicable, match="Inference: two variables are needed"):
        Inference().evaluate(numbers(x=[1.0, 2.0]), numbers(x=[1.0, 2.0]))


def test_large_tables_take_the_tree_and_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    data = persons(5_200)
    masked = persons(5_200, seed=1)
    by_tree = [m.evaluate(data, masked).value for m in (Linkability(), Inference(targets=("health",)))]
    monkeypatch.setattr("sfumato.kernels.mixed_distance.worth_compiling", lambda _: False)
    plain = [m.evaluate(data, masked).value for m in (Linkability(), Inference(targets=("health",)))]
    assert by_tree == pytest.approx(plain, rel=1e-12)
