"""Chances among a population by hand: intervals of the matches, which model decides, who is lowered by how much."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Microdata, Scenario, Schema, Variable
from sfumato.kernels.population import Spectrum, fitted
from sfumato.pair import Pair
from sfumato.pair.sample import Sample
from sfumato.risk.judged import Chances, JudgedScenario
from sfumato.risk.population import (
    Crowds,
    Matches,
    PopulationModel,
    WithRegister,
    _among_places,
    _by_weights,
    _coded,
    _interval,
    _uniques,
    census,
    matches,
    population_weights,
)
from sfumato.risk.reidentification import _of_the_other, _said_of_sample

NAN = float("nan")


def fit_of(best: float, *others: float) -> Any:
    """A fit to 10 units in 4 classes, of which each further unit is a new class so often; ``others`` are as likely."""

    def model(often: float) -> Any:
        return SimpleNamespace(new_classes=lambda units, seen, more: often * more * (units, seen).count(10) ** 2)

    return SimpleNamespace(
        spectrum=SimpleNamespace(units=10, classes=4),
        model=model(best),
        likely=lambda: [model(one) for one in (best, *others)],
    )


def test_the_interval_of_the_matches_by_hand() -> None:
    """A population of 30 has 20 units more: 4 + .3 x 20 = 10 classes, 5 at least and 40 at most.

    100 records with a chance of .02 each: 2 matches, of which a sample as large has sqrt(100 x .02^2 x 2/3) by chance.
    """
    chances, records = np.array([0.02]), np.array([100.0])
    low, high = _interval(2.0, chances, records, fit_of(0.3, 0.05, 1.8), 3.0)
    drawn, off = 1.96 * np.sqrt(100 * 0.02**2 * 2 / 3) / 2, 0.15 * np.log(3)
    assert low == pytest.approx(2 * np.exp(-np.sqrt(np.log(10 / 5) ** 2 + drawn**2 + off**2)))
    assert high == pytest.approx(2 * np.exp(np.sqrt(np.log(40 / 10) ** 2 + drawn**2 + off**2)))
    # no more records are matched than there are
    assert _interval(2.0, np.array([0.5]), np.array([4.0]), fit_of(0.3, 0.05, 1.8), 3.0)[1] == 4.0
    assert np.isnan(_interval(2.0, chances, records, None, 3.0)).all()
    assert np.isnan(_interval(0.0, chances, records, fit_of(0.3), 3.0)).all()
    # of a census nothing is open but for what the likelihood leaves
    assert _interval(2.0, chances, records, fit_of(0.3, 0.1), 1.0) == pytest.approx((2.0, 2.0))


def test_a_census_has_no_interval_to_speak_of() -> None:
    found = census(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert found.expected == {"census": 3 / 1 + 4 / 2}
    assert (found.low, found.high, found.units) == (5.0, 5.0, 7.0)
    assert found.inverse(np.array([4.0])).tolist() == [0.25]


def test_what_the_models_say_in_a_note() -> None:
    def said(low: float, high: float) -> str:
        expected = {"Pitman-Yor": 12.0, "log-linear": 1234.5}
        return Matches("Pitman-Yor", np.ones(1), expected, low, high, None, 9, 90, ("more",)).said

    assert said(NAN, NAN) == "expected matches by model: Pitman-Yor 12, log-linear 1,234"
    assert said(3.0, 40.0).endswith("log-linear 1,234; Pitman-Yor decides, 95 % between 3 and 40")


def expected_of(f: int, share: float) -> float:
    """E(1/F | f): F - f is negative binomial, summed term by term."""
    from math import comb

    return sum(comb(h - 1, f - 1) * share**f * (1 - share) ** (h - f) / h for h in range(f, 900))


def test_chances_by_the_weights_of_who_looks_alike() -> None:
    """Of one and of two records, each of which stands for ten; a record that is not found stays so."""
    chance, own = np.array([1.0, 0.5, 0.0]), np.array([10.0, 10.0, 10.0])
    expected = [expected_of(1, 0.1), expected_of(2, 0.1), 0.0]
    np.testing.assert_allclose(_by_weights(chance, own, None), expected, rtol=1e-9)
    # the units that those alike stand for are known: 10 and 40
    units = np.array([10.0, 40.0, 7.0])
    found = _by_weights(chance, own, lambda: units)
    np.testing.assert_allclose(found, [expected_of(1, 0.1), expected_of(2, 0.05), 0.0], rtol=1e-9)
    few = _by_weights(np.array([0.5]), np.array([0.25]), None)  # no fewer in the population than in the file
    assert few.tolist() == [0.5]


def test_by_mean_weights_a_class_stands_for_as_many_units_each() -> None:
    """Ten units stand for a hundred: one for ten, two for twenty."""
    one = Matches("Benedetti-Franconi", np.ones(1), {}, NAN, NAN, None, 10, 100, ())
    np.testing.assert_allclose(one.inverse(np.array([1.0, 2.0])), [expected_of(1, 0.1), expected_of(2, 0.1)], rtol=1e-9)
    assert replace(one, decides="census").inverse(np.array([1.0, 2.0])).tolist() == [1, 0.5]


def test_who_looks_alike_is_a_class_whatever_the_keys() -> None:
    """Two records alone and twice two alike, of 60 in all: a spectrum of two classes of one and two of two."""
    chance = np.array([1.0, 1.0, 0.5, 0.5, 0.5, 0.5])
    found, estimate = _among_places(chance, 60.0, alone_stay=False)
    assert estimate is not None
    expected = matches(np.array([1.0, 2.0]), np.array([2.0, 2.0]), 60.0, "Pitman-Yor")
    np.testing.assert_allclose(found, np.repeat(expected.chances, [2, 4]))
    stay, _ = _among_places(chance, 60.0, alone_stay=True)
    np.testing.assert_allclose(stay, [1, 1, *found[2:]])
    same, nothing = _among_places(chance, 6.0, alone_stay=False)
    assert (same.tolist(), nothing) == (chance.tolist(), None)
    # who is not found counts for no class, nor for the population of those found: 6 of 12
    half, _ = _among_places(np.append(chance, np.zeros(6)), 120.0, alone_stay=False)
    np.testing.assert_allclose(half[:6], found)
    assert half[6:].tolist() == [0] * 6


def test_a_chance_that_is_no_reciprocal_is_shared_between_two_crowds() -> None:
    """0.7 = 0.4 x 1 + 0.6 x 1/2: it is neither certain, nor does a register make it more than it was."""
    crowds = Crowds.of(np.array([0.7, 1.0, 1 / 3, 1 / 49, 0.45]))
    assert crowds.fewer.tolist() == [1, 1, 3, 49, 2]
    np.testing.assert_allclose(crowds.share, [0.4, 1, 1, 1, 0.7])  # 0.45 = 0.7 / 2 + 0.3 / 3
    sizes, number = Crowds.of(np.array([0.7, 0.7, 0.45])).records()
    assert (sizes.tolist(), number.tolist()) == ([1, 2, 3], pytest.approx([0.8, 1.9, 0.3]))
    chance = np.concatenate([np.full(20, 0.7), np.full(30, 1 / 3), np.full(6, 1.0)])
    for alone_stay in (False, True):
        for found in (
            _among_places(chance, 560.0, alone_stay=alone_stay)[0],
            _by_weights(chance, np.full(56, 10.0), None, alone_stay=alone_stay),
        ):
            assert (found[:50] < chance[:50]).all()  # rounded to one alone, 0.7 became 1
            assert found[20] < found[0] < found[50]
            assert (found[50] == 1) == alone_stay
    one, two = expected_of(1, 0.1), expected_of(2, 0.1)
    np.testing.assert_allclose(_by_weights(np.array([0.7]), np.array([10.0]), None), 0.4 * one + 0.6 * two)


@given(st.lists(st.floats(1e-4, 1.0), min_size=2, max_size=20))
def test_lowered_chances_keep_their_order_and_never_grow(drawn: list[float]) -> None:
    chance = np.array(sorted(drawn))
    found = _by_weights(chance, np.full(len(chance), 7.0), None)
    assert (found <= chance * (1 + 1e-9)).all()
    assert (np.diff(found) >= -1e-12).all()


def test_a_chance_that_is_no_reciprocal_is_lowered_among_countable_keys_too() -> None:
    one, chance = register("Pitman-Yor"), np.full(60, 0.7)
    found, estimate = one.lowered(chance, ("town", "job"), np.ones(60))
    assert estimate is not None
    alone, two = estimate.inverse(np.array([1.0, 2.0]))
    np.testing.assert_allclose(found, 0.4 * alone + 0.6 * two)


def people(weight: float = 10.0) -> Microdata:
    """Sixty people in twelve towns of different sizes and two jobs."""
    rng = np.random.default_rng(3)
    town = np.minimum(rng.geometric(0.25, 60), 12)
    columns = {"town": [f"t{t}" for t in town], "job": rng.choice(list("xy"), 60), "w": np.full(60, weight)}
    schema = Schema((Variable("town", "nominal", "key"), Variable("job", "nominal", "key")), weight="w")
    return Microdata.from_frame(pa.table(columns), schema)


def register(model: Any, weight: float = 10.0) -> WithRegister:
    data = people(weight)
    return WithRegister(Pair.of(data, data), model, np.full(60, weight))


def test_the_log_linear_model_is_fitted_where_it_is_asked_for() -> None:
    asked = register("log-linear").over(("town", "job"))
    assert asked.decides == "log-linear"
    assert "log-linear" in asked.expected
    other = register("Pitman-Yor").over(("town", "job"))
    assert "log-linear" not in other.expected
    assert other.population == pytest.approx(600)


def test_who_knows_nothing_guesses_among_the_population() -> None:
    one = register("Pitman-Yor")
    chance = np.full(60, 1 / 60)
    found, estimate = one.lowered(chance, (), np.ones(60))
    np.testing.assert_allclose(found, 1 / 600)
    assert estimate is None
    nobody = np.zeros(60)
    assert one.lowered(nobody, ("town",), np.ones(60)) == (nobody, None)
    assert one.of_households(nobody, np.ones(60), ("town",)) == (nobody, None)


def test_a_record_that_is_found_has_the_chance_of_its_own_class() -> None:
    one = register("Pitman-Yor")
    keys = ("town", "job")
    classes = one.pair.protected.classes(keys)
    assert classes.cell_of is not None
    alike = classes.counts[classes.cell_of]
    chance = 1 / alike
    chance[:5] = 0.0
    found, estimate = one.lowered(chance, keys, np.ones(60))
    assert estimate is not None
    assert found[:5].tolist() == [0] * 5
    np.testing.assert_allclose(found[5:], estimate.chances[classes.cell_of][5:])
    # who was found among more than look like it now is one of a class of so many
    more = np.where(np.arange(60) == 7, 1 / (alike + 1), chance)
    changed, _ = one.lowered(more, keys, np.ones(60))
    assert changed[7] == pytest.approx(estimate.inverse(np.array([alike[7] + 1.0]))[0])
    assert (changed[:7] == found[:7]).all()
    by_weights, nothing = register("Benedetti-Franconi").lowered(chance, keys, np.full(60, 10.0))
    assert nothing is None
    assert by_weights[10] == pytest.approx(expected_of(int(alike[10]), 0.1))


def test_continuous_keys_have_no_classes_to_hide_in() -> None:
    rng = np.random.default_rng(1)
    data = Microdata.from_frame(
        pa.table({"pay": rng.lognormal(8, 1, 60), "w": np.full(60, 10.0)}),
        Schema((Variable("pay", role="key"),), weight="w"),
    )
    chance = np.array([1.0] * 30 + [0.5] * 30)
    models: tuple[PopulationModel, ...] = ("Pitman-Yor", "Benedetti-Franconi")
    for model in models:
        one = WithRegister(Pair.of(data, data), model, np.full(60, 10.0))
        for found, _ in (
            one.lowered(chance, ("pay",), np.full(60, 10.0)),
            one.of_households(chance, np.full(60, 10.0), ("pay",)),
        ):
            assert found[:30].tolist() == [1] * 30
            assert (found[30:] < 0.5).all()
    households, _ = register("Benedetti-Franconi").of_households(chance, np.full(60, 10.0), ("town",))
    assert households[0] == pytest.approx(expected_of(1, 0.1))


def test_for_how_many_a_record_stands() -> None:
    data = people(10.0)
    weights, said = population_weights(Pair.of(data, data))
    assert weights is not None
    assert weights.tolist() == [10.0] * 60
    assert said.startswith("expected chance 1/F among the units of the population that the weights 'w' stand for")
    bare = data.without(["w"])
    assert population_weights(Pair.of(bare, bare))[0] is None
    low = people(0.5)
    nothing, why = population_weights(Pair.of(low, low))
    assert nothing is None
    assert why.endswith("the file is taken for a census of the population")


def test_a_sample_of_few_units_is_told_by_the_largest_figure() -> None:
    """299 units are few, 300 are not: below the largest figure decides, whichever model says it."""
    sizes = np.array([1.0, 2.0, 3.0])
    for ones, few in ((154.0, True), (155.0, False)):
        number = np.array([ones, 50.0, 15.0])  # 154 + 100 + 45 = 299
        found = matches(sizes, number, 3_000.0, "Pitman-Yor", weights=sizes * 3.5)
        assert any("below 300 any model" in note for note in found.notes) == few
        largest = max(found.expected, key=lambda name: found.expected[name])
        assert largest == "Benedetti-Franconi"
        assert found.decides == (largest if few else "Pitman-Yor")
        assert found.expected[largest] < 2 * found.expected["Pitman-Yor"]
    assert fitted(Spectrum.of(np.array([1, 1, 2]))) is not None


def test_where_every_record_lacks_a_key_those_alike_are_the_classes() -> None:
    sizes, number = np.array([1.0, 2.0, 4.0]), np.array([30.0, 10.0, 5.0])
    plain = matches(sizes, number, 700.0, "Pitman-Yor")
    none = matches(sizes, number, 700.0, "Pitman-Yor", whole=np.zeros(3, dtype=bool))
    assert none.expected == plain.expected
    assert none.population == plain.population == 700
    # those that are whole are fitted to as many of the population as they are of the file: 50 of 70 units
    some = matches(sizes, number, 700.0, "Pitman-Yor", whole=np.array([True, False, True]))
    assert some.units == 50
    assert some.population == pytest.approx(500)


def test_an_estimate_is_told_with_its_interval_and_with_what_other_models_say() -> None:
    """A mean chance of .1 rests on 20 matches, between 10 and 50, of which other models say 30 and 250."""
    expected = {"A": 20.0, "B": 30.0, "C": 250.0}
    estimate = Matches("A", np.ones(1), expected, 10.0, 50.0, None, 200, 2000, ())

    def told(above: float | None = None, *, knows: bool = False, low: float = 10.0) -> dict[str, float]:
        judged = JudgedScenario(
            Scenario("x", ("a",), knows_membership=knows),
            "alike",
            Chances(np.array([0.0, 0.2])),
            None,
            (),
            other=Chances(np.array([0.5, 0.9])),
            estimate=replace(estimate, low=low),
        )
        return _of_the_other(judged, above)

    assert told() == pytest.approx(
        {
            "share, at least": 0.1 * 10 / 20,
            "share, at most": 0.1 * 50 / 20,
            "share by the model A": 0.1,
            "share by the model B": 0.15,
            "share by the model C": 1.0,  # no more than all
            "knowing who took part": 0.7,
        }
    )
    assert told(0.6) == {"knowing who took part": 0.5}  # of shares beyond a chance there is no interval
    assert told(low=NAN) == pytest.approx({"knowing who took part": 0.7})
    assert told(knows=True) == pytest.approx({"by a register, not knowing who took part": 0.7})


def test_of_two_scenarios_the_one_that_finds_more_decides_and_its_error_reaches_to_the_other() -> None:
    sample = Sample(np.arange(4), 100)
    one = JudgedScenario(
        Scenario("one", ("a",)), "alike", Chances(np.array([0.0, 0.0, 1.0, 1.0]), sample=sample), None, (), None, sample
    )
    two = JudgedScenario(
        Scenario("two", ("b",)), "alike", Chances(np.array([0.0, 0.0, 0.8, 1.0]), sample=sample), None, (), None, sample
    )
    parts, notes = _said_of_sample([one, two], one, None, households=False)
    errors = [judged.error(None) or 0.0 for judged in (one, two)]
    assert parts == {"standard error": pytest.approx(max(errors[0], (0.45 - 0.5) / 1.959964 + errors[1]), rel=1e-5)}
    assert notes[-1].startswith("the largest chance is that of the records drawn")
    assert _said_of_sample([one], one, None, households=True)[1][-1].startswith("those drawn live with too many others")
    whole = JudgedScenario(Scenario("all", ("a",)), "alike", Chances(np.array([0.5])), None, ())
    assert _said_of_sample([whole], whole, None, households=True) == ({}, ())
    parts, notes = _said_of_sample([whole, two], whole, None, households=False)
    assert notes[0].startswith("counted for all records, but another attack may find more")


def test_keys_of_a_file_and_of_a_register_have_the_same_codes() -> None:
    file, register = _coded(np.array([2.5, NAN, 1.0]), np.array([1.0, 2.5, 7.0, NAN]))
    assert (file.tolist(), register.tolist()) == ([1, -1, 0], [0, 1, 2, -1])
    towns = np.array([0, -1], dtype=np.int32)
    assert [one.tolist() for one in _coded(towns, towns[::-1])] == [[0, -1], [-1, 0]]


def test_who_is_alone_in_the_population_by_name() -> None:
    """Thirty records alone, ten classes of two and five of four: 70 units of 700."""
    fit = fitted(Spectrum.of(np.repeat([1, 2, 4], [30, 10, 5])))
    assert fit is not None
    sizes, number = np.array([1.0, 2.0, 4.0]), np.array([30.0, 10.0, 5.0])
    parts = _uniques(matches(sizes, number, 700.0, "Pitman-Yor"), fit)
    alone, one = fit.model.alone(70, 700.0), fit.model.expected_inverse(np.ones(1), 70, 700.0)[0]
    assert parts["population uniques among the records"] == pytest.approx(30 * alone)
    assert parts["expected matches of uniques"] == pytest.approx(30 * one)
    assert parts["population uniques among the records"] < parts["expected matches of uniques"] < 30
    assert (parts["Pitman's theta"], parts["Pitman's a"]) == (fit.model.theta, fit.model.a)
