"""Re-identification of tables in parts: counts over all records, a sample of them looked for among all protected ones.

With all records in the sample the figures are those in memory; of fewer, they are those of the same sample in memory,
the mean over many samples is the figure of all records, and the standard error is right.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato
from scanned import scanned
from sfumato import Engine, Microdata, NotApplicable, ParameterError, Reidentification, Scenario
from sfumato.engine.engine import NESTED
from sfumato.pair import Pair
from sfumato.pair.sample import Sample
from sfumato.testing.of_measures import agree as same
from tables import numbers, persons
from test_contract_parts import cut, with_gaps
from unseen import error_of_sample, variance_of_unseen

SCENARIOS = (
    Scenario("neighbour", ("region", "sex", "age"), about=("age",)),
    Scenario("register", ("region", "education", "income"), knows_membership=False, k=5),
    Scenario("colleague", ("age", "income"), about=("income",)),
)


def survey(n: int = 240) -> Microdata:
    """Persons with gaps, and three intruders."""
    data = with_gaps(persons(n), 0.04, seed=7)
    return replace(data, schema=replace(data.schema, scenarios=SCENARIOS))


def masked(data: Microdata) -> dict[str, Microdata]:
    """Protected tables of several kinds."""
    round_age = sfumato.Rounding(5, variables=("age",))
    return {
        "noisy": sfumato.Noise(0.3, variables=("age", "income")).protect(data, rng=1),
        "rounded and randomised": (round_age + sfumato.PRAM(0.8, variables=("region",))).protect(data, rng=2),
        "recoded": (sfumato.GlobalRecoding(groups=4, rare=0.1) + sfumato.LocalSuppression(2)).protect(data, rng=3),
        "top-coded": sfumato.TopBottomCoding(0.1, variables=("income",)).protect(data),
    }


DATA = survey()
MASKED = masked(DATA)


@pytest.mark.parametrize("kind", MASKED)
@pytest.mark.parametrize("measure", [Reidentification(), Reidentification(above=0.3)], ids=repr)
def test_all_records_in_the_sample_give_the_figures_in_memory(kind: str, measure: Reidentification) -> None:
    whole = measure.evaluate(DATA, MASKED[kind], rng=1)
    assert "standard error" not in whole.parts
    for ends in ([80, 160], list(range(14, 240, 14)), [0, 5, 5, 240]):
        before, after = cut(DATA, ends), cut(MASKED[kind], ends)
        for order in (slice(None), slice(None, None, -1)):
            found = measure.evaluate_pair(Pair.of(before[order], after[order]), rng=1)
            same(whole, found)
            assert found.by_record is None


@pytest.mark.parametrize("kind", MASKED)
def test_a_sample_is_the_same_in_memory_and_in_any_cut(kind: str) -> None:
    measure = Reidentification(sample=60)
    whole = measure.evaluate(DATA, MASKED[kind], rng=5)
    for ends in ([100], [3, 40, 40, 200]):
        same(whole, measure.evaluate_pair(Pair.of(cut(DATA, ends), cut(MASKED[kind], ends)), rng=5))


def test_on_disk(tmp_path: Path) -> None:
    before = scanned(DATA, tmp_path / "original", 5)
    after = scanned(MASKED["noisy"], tmp_path / "protected", 3)
    whole = Reidentification().evaluate(DATA, MASKED["noisy"], rng=1)
    drawn = Reidentification(sample=50).evaluate(DATA, MASKED["noisy"], rng=1)
    NESTED.clear()
    with Engine("here", memory="64 MiB"):
        same(whole, Reidentification().evaluate(before, after, rng=1))
        same(drawn, Reidentification(sample=50).evaluate(before, after, rng=1))
    assert not NESTED


def test_keys_of_few_combinations_are_judged_for_all_records_whatever_the_sample() -> None:
    keys = ("region", "sex", "education")
    data = persons(400)
    data = replace(data, schema=replace(data.schema, household=None))
    data = data.without(name for name in data.names if name not in keys)  # what tells keys in part is learnt in memory
    protected = sfumato.PRAM(0.7, variables=keys).protect(data, rng=4)
    whole = Reidentification(variables=keys).evaluate(data, protected)
    found = Reidentification(variables=keys, sample=10).evaluate(data, protected, rng=1)
    same(replace(found, measure=whole.measure), whole)


def test_records_alike_are_counted_for_all_where_they_decide() -> None:
    data = persons(300)
    # ages as they were: whoever is alone with his keys is found, and no distance tells more
    whole = Reidentification(variables=("region", "age")).evaluate(data, data)
    found = Reidentification(variables=("region", "age"), sample=20).evaluate(data, data, rng=2)
    assert found.value == pytest.approx(whole.value, rel=1e-12)
    assert found.parts["largest chance of a record"] == whole.parts["largest chance of a record"]
    assert "standard error" not in found.parts
    assert any("counted for all records" in note for note in found.notes)


def test_what_a_sample_adds_to_what_was_counted_for_all() -> None:
    data = persons(240)
    protected = sfumato.Noise(0.3, variables=("income",)).protect(data, rng=1)
    keys = ("region", "age", "income")  # income is perturbed, the others are true
    truth = Reidentification(variables=keys).evaluate(data, protected)
    alike = Reidentification(variables=keys[:2]).evaluate(data, data)  # what the others alone give away
    found = [Reidentification(variables=keys, sample=40).evaluate(data, protected, rng=seed) for seed in range(100)]
    errors = [one.parts["standard error"] for one in found]
    assert truth.by_record is not None and alike.by_record is not None
    difference = (truth.by_record - alike.by_record).var(ddof=1) / 40 * (1 - 40 / 240)
    ahead = [one.value - alike.value for one in found]
    ends = -alike.by_record.max(), 1 - alike.by_record.min()  # of differences: of chances of 0 to 1 from those alike
    unseen = np.mean([variance_of_unseen(mean, 40, 240, *ends) for mean in ahead])
    assert np.mean(np.square(errors)) == pytest.approx(difference + unseen, rel=0.2)
    assert abs(np.mean([one.value for one in found]) - truth.value) < 4 * np.sqrt(difference / 100)


def test_too_many_combinations_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.risk import judged

    data = persons(300)
    measure = Reidentification(variables=("region", "age"), sample=20)
    monkeypatch.setattr(judged, "MAX_CELLS", 10)
    by_sample = measure.evaluate(data, data, rng=2)
    chance = Reidentification(variables=("region", "age")).evaluate(data, data).by_record
    assert chance is not None
    rows = Sample.drawn(300, 20, np.random.default_rng(2)).rows
    assert by_sample.value == pytest.approx(chance[rows].mean(), rel=1e-12)
    assert by_sample.parts["standard error"] == pytest.approx(error_of_sample(chance[rows], 300), rel=1e-12)


def test_over_many_samples_the_mean_is_the_figure_and_the_standard_error_is_right() -> None:
    rng = np.random.default_rng(1)
    before = numbers(x=rng.normal(size=120))
    after = sfumato.Noise(0.03).protect(before, rng=1)
    truth = Reidentification(variables=("x",)).evaluate(before, after)
    assert 0.2 < truth.value < 0.8
    measure, size, draws = Reidentification(variables=("x",), sample=30), 30, 300
    pair = Pair.of(cut(before, [50, 70]), cut(after, [50, 70]))
    found = [measure.evaluate_pair(pair, rng=seed) for seed in range(draws)]
    values = np.array([one.value for one in found])
    errors = np.array([one.parts["standard error"] for one in found])
    # of a sample of m of n without replacement the variance is S^2 / m (1 - m / n), S^2 over all records
    assert truth.by_record is not None
    variance = truth.by_record.var(ddof=1) / size * (1 - size / 120)
    assert abs(values.mean() - truth.value) < 4 * np.sqrt(variance / draws)
    # the squares of standard errors estimate that variance without bias, beside what is said of records never drawn;
    # both have a spread of about 8 % over 300 draws
    unseen = np.mean([variance_of_unseen(value, size, 120) for value in values])
    assert np.mean(errors**2) == pytest.approx(variance + unseen, rel=0.1)
    assert values.var(ddof=1) == pytest.approx(variance, rel=0.35)


def test_who_lives_with_those_drawn_counts() -> None:
    data, protected = DATA, MASKED["noisy"]
    measure = Reidentification(variables=("age", "income"))
    whole = measure.evaluate(data, protected)
    found = replace(measure, sample=80).evaluate(data, protected, rng=3)
    assert whole.by_record is not None
    rows = Sample.drawn(240, 80, np.random.default_rng(3)).rows
    household = data.columns["household"]
    together = [1 - np.prod(1 - whole.by_record[household == household[row]]) for row in rows]
    assert found.parts["records, with their household"] == pytest.approx(np.mean(together), rel=1e-12)
    assert found.value == pytest.approx(whole.by_record[rows].mean(), rel=1e-12)


@pytest.mark.parametrize("wrong", [{"sample": 1}, {"sample": 2.5}, {"sample": 50, "unit": "household"}])
def test_what_is_no_sample_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="sample"):
        Reidentification(**wrong)


def test_households_as_units_need_all_records() -> None:
    measure = Reidentification(unit="household")
    assert measure.about.parts == "memory"
    with pytest.raises(NotApplicable, match="needs all records at once"):
        measure.evaluate_pair(Pair.of(cut(DATA, [100]), cut(MASKED["noisy"], [100])))


def test_where_no_key_was_published_one_guesses(tmp_path: Path) -> None:
    data = persons(300).without(["household"])
    measure = sfumato.Reidentification(variables=("sex",), sample=50)
    protected = data.without(["sex"])
    parts = scanned(data, tmp_path / "o", 3), scanned(protected, tmp_path / "p", 3)
    found = measure.evaluate(*parts, rng=1)
    assert found.value == pytest.approx(measure.evaluate(data, protected, rng=1).value, rel=1e-12)
    assert found.value == pytest.approx(1 / 300)


def test_weights_that_only_the_original_has_are_counted_in_parts_too() -> None:
    data = persons(240)
    weights = np.random.default_rng(2).uniform(5, 60, 240)
    scenario = Scenario("register", ("region", "education"), knows_membership=False)
    schema = replace(data.schema, household=None, weight="weight", scenarios=(scenario,))
    data = Microdata(schema, {**data.columns, "weight": weights})
    file = sfumato.GlobalRecoding(groups=2, variables=("education",)).protect(data).without(["weight"])
    measure = Reidentification(population_model="Benedetti-Franconi", sample=100)
    whole = measure.evaluate(data, file, rng=1)
    found = measure.evaluate_pair(Pair.of(cut(data, [100]), cut(file, [30, 200])), rng=1)
    same(whole, found)
    plain = replace(scenario, knows_membership=True)
    knowing = replace(data, schema=replace(data.schema, scenarios=(plain,)))
    assert whole.value < measure.evaluate(knowing, file, rng=1).value / 5


def test_too_few_alike_are_counted_by_what_is_known_exactly() -> None:
    """Who knows age roughly is among those of the same sex: many; who knows it exactly is among few."""
    data = persons(300)
    for about, keys in ((("age",), ("sex", "age")), ((), ("sex", "age")), (("region",), ("region", "age"))):
        scenarios = (Scenario("neighbour", keys, about=about, k=5),)
        known = replace(data, schema=replace(data.schema, scenarios=scenarios, household=None))
        exact = [data.columns[name].tolist() for name in keys if name not in about]
        alike = Counter(zip(*exact, strict=True))
        expected = np.mean([alike[one] < 5 for one in zip(*exact, strict=True)])
        for sample in (None, 20):
            found = Reidentification(sample=sample).evaluate(known, known, rng=1)
            assert found.tables["scenarios"][0]["violating k"] == pytest.approx(expected)
